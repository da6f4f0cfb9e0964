package retention

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"onefold/domain/store"
)

// plan counts the old rows by what becomes of them.
func (r rule) plan(ctx context.Context, tx pgx.Tx, args pgx.NamedArgs) (Table, error) {
	t := Table{Name: r.table}
	rows, err := tx.Query(ctx, `SELECT coalesce(why, ''), count(*) FROM (SELECT `+r.stays+` FROM `+r.from+` WHERE `+r.old+`) AS old(why)
		GROUP BY why ORDER BY count(*) DESC, why`, args)
	if err != nil {
		return t, fmt.Errorf("plan %s: %w", r.table, err)
	}
	stays, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Stay])
	if err != nil {
		return t, fmt.Errorf("plan %s: %w", r.table, err)
	}
	for _, s := range stays {
		if s.Why == "" {
			t.Goes = s.Rows
			continue
		}
		t.Stays = append(t.Stays, s)
	}
	return t, nil
}

// removal goes on by @batch rows after (@at, @id), removes those that may go, and says how far it came. A row that somebody else
// holds is stepped over: another run is at it, or it isn't finished after all.
func (r rule) removal() string {
	return strings.NewReplacer(
		"{at}", r.walk.at, "{id}", r.walk.id, "{kind}", r.walk.kind, "{walk}", r.walk.from, "{where}", r.walk.where, "{match}", r.walk.match,
		"{table}", r.table, "{alias}", r.alias, "{from}", r.from, "{old}", r.old, "{stays}", r.stays, "{guard}", r.guard, "{locks}", r.locks,
		"{also}", r.also,
	).Replace(`WITH walked AS MATERIALIZED (
			SELECT {at} AS at, {id} AS id FROM {walk} WHERE {where} AND ({at}, {id}) > (@at::timestamptz, @id::text::{kind})
			ORDER BY {at}, {id} LIMIT @batch
		), doomed AS MATERIALIZED (
			SELECT {alias}.id FROM {from} WHERE {match} AND {old} AND ({stays}) IS NULL{guard} FOR UPDATE OF {locks} SKIP LOCKED
		){also}, gone AS (
			DELETE FROM {table} WHERE id IN (SELECT id FROM doomed) RETURNING 1
		)
		SELECT (SELECT count(*) FROM walked), (SELECT count(*) FROM gone), at, id::text FROM walked ORDER BY at DESC, id DESC LIMIT 1`)
}

// run goes through a whole table, one transaction for each batch.
func (r rule) run(ctx context.Context, db store.DB, args pgx.NamedArgs) (gone int64, err error) {
	sql, batch := r.removal(), int64(args["batch"].(int))
	args["at"], args["id"] = pgtype.Timestamptz{InfinityModifier: pgtype.NegativeInfinity, Valid: true}, first[r.walk.kind]
	for {
		var walked, removed int64
		var at pgtype.Timestamptz
		var id string
		err := store.InTx(ctx, db, func(tx pgx.Tx) error {
			return tx.QueryRow(ctx, sql, args).Scan(&walked, &removed, &at, &id)
		})
		if errors.Is(err, pgx.ErrNoRows) {
			return gone, nil
		}
		if err != nil {
			return gone, fmt.Errorf("remove from %s: %w", r.table, err)
		}
		if gone += removed; walked < batch {
			return gone, nil
		}
		args["at"], args["id"] = at, id
	}
}

// first is before every ID of a type.
var first = map[string]string{"uuid": "00000000-0000-0000-0000-000000000000", "bigint": "0"} //nolint:gochecknoglobals // a table

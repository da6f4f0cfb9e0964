package retention

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"onefold/domain/store"
)

// plan counts the old rows by what becomes of them.
func (r rule) plan(ctx context.Context, tx pgx.Tx, args pgx.NamedArgs) (Table, error) {
	t := Table{Name: r.table}
	rows, err := tx.Query(ctx, `WITH old(why) AS MATERIALIZED (SELECT `+r.stays+` FROM `+r.from+` WHERE `+r.old+`)
		SELECT coalesce(why, ''), count(*) FROM old GROUP BY why ORDER BY count(*) DESC, why`, args)
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

// step is the SQL that finds the next @batch rows of the walk after (@at, @id).
func (r rule) step() string {
	w := r.walk
	return `SELECT ` + w.at + `, ` + w.id + `::text FROM ` + w.from + ` WHERE ` + w.where +
		` AND (` + w.at + `, ` + w.id + `) > (@at::timestamptz, @id::text::` + w.kind + `) ORDER BY ` + w.at + `, ` + w.id + ` LIMIT @batch`
}

// removal is the SQL that removes what may go of those found by @ids: a statement of its own, so that its plan starts from them
// whatever the statistics say about age. A row that somebody else holds is stepped over: another run is at it, or it isn't
// finished after all.
func (r rule) removal() string {
	return strings.NewReplacer(
		"{table}", r.table, "{alias}", r.alias, "{from}", r.from, "{match}", r.walk.match, "{kind}", r.walk.kind,
		"{goes}", r.goes, "{locks}", r.locks, "{also}", r.also,
	).Replace(`WITH doomed AS MATERIALIZED (
			SELECT {alias}.id FROM {from} WHERE {match} = ANY (@ids::text[]::{kind}[]) AND {goes} FOR UPDATE OF {locks} SKIP LOCKED
		){also}, gone AS (
			DELETE FROM {table} WHERE id IN (SELECT id FROM doomed) RETURNING 1
		)
		SELECT count(*) FROM gone`)
}

// place is where a walk has come to.
type place struct {
	At pgtype.Timestamptz
	ID string
}

// run goes through a whole table, one transaction for each batch.
func (r rule) run(ctx context.Context, db store.DB, args pgx.NamedArgs) (gone int64, err error) {
	args["at"], args["id"] = pgtype.Timestamptz{InfinityModifier: pgtype.NegativeInfinity, Valid: true}, first[r.walk.kind]
	for {
		var places []place
		var removed int64
		err := store.InTx(ctx, db, func(tx pgx.Tx) (err error) {
			places, removed, err = r.remove(ctx, tx, args)
			return err
		})
		if err != nil {
			return gone, fmt.Errorf("remove from %s: %w", r.table, err)
		}
		if gone += removed; len(places) < args["batch"].(int) {
			return gone, nil
		}
		last := places[len(places)-1]
		args["at"], args["id"] = last.At, last.ID
	}
}

func (r rule) remove(ctx context.Context, tx pgx.Tx, args pgx.NamedArgs) (places []place, removed int64, err error) {
	// Each row is looked up by its keys, also while the statistics know nothing yet of what has grown old.
	if _, err := tx.Exec(ctx, "SET LOCAL enable_bitmapscan = off"); err != nil {
		return nil, 0, fmt.Errorf("prepare: %w", err)
	}
	rows, err := tx.Query(ctx, r.step(), args)
	if err != nil {
		return nil, 0, fmt.Errorf("walk: %w", err)
	}
	places, err = pgx.CollectRows(rows, pgx.RowToStructByPos[place])
	if err != nil {
		return nil, 0, fmt.Errorf("walk: %w", err)
	}
	ids := make([]string, len(places))
	for i, p := range places {
		ids[i] = p.ID
	}
	args["ids"] = ids
	if err := tx.QueryRow(ctx, r.removal(), args).Scan(&removed); err != nil {
		return nil, 0, fmt.Errorf("delete: %w", err)
	}
	return places, removed, nil
}

// first is before every ID of a type.
var first = map[string]string{"uuid": "00000000-0000-0000-0000-000000000000", "bigint": "0"} //nolint:gochecknoglobals // a table

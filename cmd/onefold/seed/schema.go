package seed

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
)

// stripped is what was taken off the tables for the time of a big load, in the order in which it goes back.
type stripped []string

// strip takes indexes and constraints off the tables that are written to: building an index once is several times faster than
// adding to it row by row, and comparing two columns faster than looking each key up. It happens in the load's transaction, so
// whatever ends it brings them back.
func strip(ctx context.Context, tx pgx.Tx) (stripped, error) {
	names := make([]string, 0, tables)
	for _, l := range layout {
		names = append(names, l.name)
	}
	rows, err := tx.Query(ctx, `WITH mine AS (SELECT oid FROM pg_class WHERE oid = ANY($1::text[]::regclass[]))
		SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname),
			format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)), CASE contype WHEN 'f' THEN 3 ELSE 1 END AS step
		FROM pg_constraint WHERE contype = 'f' AND (conrelid IN (TABLE mine) OR confrelid IN (TABLE mine)) OR contype IN ('p', 'u') AND conrelid IN (TABLE mine)
		UNION ALL
		SELECT format('DROP INDEX %s', indexrelid::regclass), pg_get_indexdef(indexrelid), 2
		FROM pg_index i WHERE indrelid IN (TABLE mine) AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid AND contype IN ('p', 'u'))
		ORDER BY step`, names)
	if err != nil {
		return nil, fmt.Errorf("list indexes: %w", err)
	}
	type pair struct {
		Drop, Add string
		Step      int
	}
	pairs, err := pgx.CollectRows(rows, pgx.RowToStructByPos[pair])
	if err != nil {
		return nil, fmt.Errorf("read indexes: %w", err)
	}
	back := make(stripped, len(pairs))
	for i := range pairs {
		back[i] = pairs[i].Add
	}
	for _, p := range slices.Backward(pairs) { // what refers to keys goes first
		if _, err := tx.Exec(ctx, p.Drop); err != nil {
			return nil, fmt.Errorf("take off index: %w", err)
		}
	}
	return back, nil
}

func (s stripped) restore(ctx context.Context, tx pgx.Tx, progress func(done int)) error {
	for i, add := range s {
		if _, err := tx.Exec(ctx, add); err != nil {
			return fmt.Errorf("put index back: %w", err)
		}
		progress(i + 1)
	}
	return nil
}

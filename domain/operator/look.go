package operator

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/account"
	"onefold/domain/fault"
	"onefold/domain/operation"
	"onefold/domain/store"
)

// Look starts the reconciliation of what waits in a previewed batch, once: one run over all of it, instead of a press for each.
// The preview stays as it is, so that confirming it again finds the same run.
//
// Errors: those of Confirm and Press.
func (d *Desk) Look(ctx context.Context, who account.User, id uuid.UUID, reason string, count int) (operation.Outcome, error) {
	var objects []uuid.UUID
	p := Press{Actor: who, Action: started, Object: id.String(), Reason: tellable(reason)}
	err := store.InTx(ctx, d.Operations.DB, func(tx pgx.Tx) error {
		b, err := lockBatch(ctx, tx, who, id)
		if err != nil {
			return err
		}
		if b.Action != Reconcile || b.Status != "PREVIEW" {
			return fault.Missing("batch")
		}
		if _, err := confirmable(ctx, tx, id, reason, count); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `SELECT object_id FROM batch_items WHERE batch_id = $1 AND status = 'WAITING' ORDER BY position`, id)
		if err != nil {
			return fmt.Errorf("read items of batch: %w", err)
		}
		if objects, err = pgx.CollectRows(rows, pgx.RowTo[uuid.UUID]); err != nil {
			return fmt.Errorf("read items of batch: %w", err)
		}
		return nil
	})
	if err != nil {
		return operation.Outcome{}, d.refuse(ctx, p, id, err)
	}
	return d.Press(ctx, Press{Actor: who, Action: Reconcile, Object: Several, Key: "batch:" + id.String(), Reason: reason, Input: Input{Objects: objects}})
}

// confirmable says how many things of a previewed batch wait, if what the person said of them is enough.
func confirmable(ctx context.Context, tx pgx.Tx, id uuid.UUID, reason string, count int) (waiting int, err error) {
	if err := checkReason(reason, true); err != nil {
		return 0, err
	}
	if err := tx.QueryRow(ctx, `SELECT count(*) FROM batch_items WHERE batch_id = $1 AND status = 'WAITING'`, id).Scan(&waiting); err != nil {
		return 0, fmt.Errorf("count items: %w", err)
	}
	if waiting >= TypedCount && count != waiting {
		return 0, fault.Validation(fault.Field{Field: "count", Rule: fmt.Sprintf("eq=%d", waiting), Message: "must be the number of things"})
	}
	return waiting, nil
}

// Sum is a part of a batch that is alike.
type Sum struct {
	Status string // WAITING, DONE, SKIPPED, FAILED
	Code   string // why it was skipped or failed
	State  string // when the set was frozen
	Money  string // currency; "" for none
	Count  int
	Minor  int64 // of all of it, in minor units
}

// Sums adds up the things of a batch, the most first.
func Sums(ctx context.Context, q store.Querier, id uuid.UUID) ([]Sum, error) {
	rows, err := q.Query(ctx, `SELECT status, coalesce(code, ''), state, coalesce(currency::text, ''), count(*), coalesce(sum(amount_minor), 0)::bigint
		FROM batch_items WHERE batch_id = $1 GROUP BY 1, 2, 3, 4 ORDER BY 5 DESC, 1, 2, 3, 4`, id)
	if err != nil {
		return nil, fmt.Errorf("add up batch: %w", err)
	}
	sums, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Sum])
	if err != nil {
		return nil, fmt.Errorf("add up batch: %w", err)
	}
	return sums, nil
}

// Changed counts what waits in a batch and has another state than when the set was frozen.
func Changed(ctx context.Context, q store.Querier, b Batch) (n int, err error) {
	rows, err := q.Query(ctx, `SELECT object_id::text, state FROM batch_items WHERE batch_id = $1 AND status = 'WAITING'`, b.ID)
	if err != nil {
		return 0, fmt.Errorf("read items of batch: %w", err)
	}
	frozen := map[string]string{}
	var ids []string
	var object, state string
	if _, err := pgx.ForEachRow(rows, []any{&object, &state}, func() error {
		frozen[object], ids = state, append(ids, object)
		return nil
	}); err != nil {
		return 0, fmt.Errorf("read items of batch: %w", err)
	}
	judged, err := actions()[b.Action].look(ctx, q, ids...)
	for _, j := range judged {
		if frozen[j.Object] != j.State || j.Verdict != Safe {
			n++
		}
	}
	return n, err
}

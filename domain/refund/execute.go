package refund

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/money"
	"onefold/domain/operation"
	"onefold/domain/payment"
	"onefold/domain/provider"
)

// Sender carries on CREATE_REFUND and REFUND_ORPHAN operations.
type Sender struct{ Provider provider.Payments }

// Handler is what the executor calls for CREATE_REFUND.
func (s Sender) Handler() operation.Handler { return operation.Handler{External: s.prepare} }

// OrphanHandler is what the executor calls for REFUND_ORPHAN.
func (s Sender) OrphanHandler() operation.Handler {
	return operation.Handler{External: s.prepareOrphan}
}

// prepareOrphan makes the refund of what is left of an orphan, once: the row is found by its operation.
func (s Sender) prepareOrphan(ctx context.Context, tx pgx.Tx, op operation.Operation) (operation.Call, operation.End, error) {
	id, err := payment.OrphanOf(op)
	if err != nil {
		return operation.Call{}, operation.End{}, err
	}
	p, err := payment.LockWithOrder(ctx, tx, id)
	if err != nil {
		return operation.Call{}, operation.End{}, err
	}
	r, err := lock(ctx, tx, `operation_id = $1`, op.ID)
	if errors.Is(err, pgx.ErrNoRows) {
		r, err = ofOrphan(ctx, tx, op, p)
	}
	if err != nil {
		return operation.Call{}, operation.End{}, err
	}
	if r.Amount.Minor <= 0 { // an operator or the provider's dashboard was faster
		return operation.Call{}, operation.Done("payment", p.ID.String()), nil
	}
	return s.submit(ctx, tx, p, r)
}

// ofOrphan makes the refund of what is left of a locked payment; of nothing it makes none.
func ofOrphan(ctx context.Context, tx pgx.Tx, op operation.Operation, p payment.Payment) (Refund, error) {
	gone, err := spent(ctx, tx, p.ID)
	if err != nil || gone >= p.Amount.Minor {
		return Refund{}, err
	}
	r := Refund{
		ID: uuid.Must(uuid.NewV7()), OrderID: p.OrderID, PaymentID: p.ID, OperationID: op.ID, Key: op.Key,
		Amount: money.Amount{Minor: p.Amount.Minor - gone, Currency: p.Amount.Currency},
	}
	b := &pgx.Batch{}
	r.queueCreate(ctx, b, p.Provider, "The order couldn't take this payment.")
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return r, fmt.Errorf("store refund of orphan: %w", err)
	}
	return r, nil
}

func (s Sender) prepare(ctx context.Context, tx pgx.Tx, op operation.Operation) (operation.Call, operation.End, error) {
	var paymentID uuid.UUID
	if err := tx.QueryRow(ctx, `SELECT payment_id FROM refunds WHERE operation_id = $1`, op.ID).Scan(&paymentID); err != nil {
		return operation.Call{}, operation.End{}, fmt.Errorf("find refund's payment: %w", err)
	}
	p, err := payment.LockWithOrder(ctx, tx, paymentID)
	if err != nil {
		return operation.Call{}, operation.End{}, err
	}
	r, err := lock(ctx, tx, `operation_id = $1`, op.ID)
	if err != nil {
		return operation.Call{}, operation.End{}, err
	}
	return s.submit(ctx, tx, p, r)
}

// submit marks a locked refund as being submitted and fixes the call's inputs from stored rows.
func (s Sender) submit(ctx context.Context, tx pgx.Tx, p payment.Payment, r Refund) (operation.Call, operation.End, error) {
	switch r.State {
	case Created:
		if err := r.move(ctx, tx, Submitting, change{}); err != nil {
			return operation.Call{}, operation.End{}, err
		}
	case Submitting, Unknown:
	case Succeeded, Failed:
		return operation.Call{}, r.end(), nil
	}
	in := provider.CreateRefund{Key: r.Key, Reference: r.ID.String(), PaymentID: p.ProviderID, Amount: r.Amount}
	return s.call(r.ID, in), operation.End{}, nil
}

func (s Sender) call(id uuid.UUID, in provider.CreateRefund) operation.Call {
	var undecided *provider.Refund // it is there, and the provider will say later how it ends
	heard := func(said provider.Refund, err error, source string) (operation.Record, error) {
		if err == nil && said.Status == provider.Pending {
			undecided, err = &said, &provider.Error{Kind: provider.NotYet}
		}
		return record(id, said, source), err
	}
	return operation.Call{
		Lookup: func(ctx context.Context) (operation.Record, error) {
			found, err := s.Provider.FindRefund(ctx, in.Reference)
			return heard(found, err, "lookup")
		},
		Send: func(ctx context.Context) (operation.Record, error) {
			made, err := s.Provider.CreateRefund(ctx, in)
			if err != nil && provider.KindOf(err) == provider.Rejected {
				return recordFailure(id, codeOf(err)), nil
			}
			return heard(made, err, "answer")
		},
		Absent: recordFailure(id, "not_at_provider"),
		Postponed: func(ctx context.Context, tx pgx.Tx, post operation.Postponement) error {
			switch {
			case undecided != nil:
				_, err := learn(ctx, tx, id, *undecided, "answer")
				return err
			case post.AnyTry:
				return markUnknown(ctx, tx, id)
			}
			return nil
		},
	}
}

// record stores what an answer or lookup says. A contradiction leaves the outcome unknown to us: a person has to look.
func record(id uuid.UUID, said provider.Refund, source string) operation.Record {
	return func(ctx context.Context, tx pgx.Tx) (operation.End, error) {
		l, err := learn(ctx, tx, id, said, source)
		if err != nil || l.contradiction == "" {
			return l.refund.end(), err
		}
		if l.refund.State.CanMove(Unknown) {
			err = l.refund.move(ctx, tx, Unknown, change{source: source})
		}
		return operation.End{Status: operation.Failed, FailureCode: l.contradiction, ResourceType: "refund", ResourceID: id.String()}, err
	}
}

// recordFailure ends a refund of which it is known that it won't happen.
func recordFailure(id uuid.UUID, code string) operation.Record {
	return func(ctx context.Context, tx pgx.Tx) (operation.End, error) {
		_, r, err := lockAll(ctx, tx, id)
		if err == nil && r.State.CanMove(Failed) {
			err = r.move(ctx, tx, Failed, change{failure: code, source: "answer"})
		}
		return r.end(), err
	}
}

// codeOf is the provider's own word for a refusal.
func codeOf(err error) string {
	var e *provider.Error
	if errors.As(err, &e) && e.Code != "" {
		return e.Code
	}
	return "rejected"
}

func markUnknown(ctx context.Context, tx pgx.Tx, id uuid.UUID) error {
	_, r, err := lockAll(ctx, tx, id)
	if err != nil || !r.State.CanMove(Unknown) {
		return err
	}
	return r.move(ctx, tx, Unknown, change{})
}

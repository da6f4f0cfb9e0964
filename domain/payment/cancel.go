package payment

import (
	"context"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"

	"onefold/domain/operation"
	"onefold/domain/order"
	"onefold/domain/provider"
)

// Closing says how an order stands that somebody wants closed.
type Closing struct {
	Order  order.Order
	Last   Payment                                         // its latest attempt, locked
	Ask    func(context.Context) (provider.Payment, error) // cancels it at the provider; nil if there is nothing to ask
	Look   func(context.Context) (provider.Payment, error) // what became of an earlier Ask
	Unsure bool                                            // an attempt is on its way or its outcome isn't known: look again later
}

// PrepareClosing locks an order and its latest attempt and says what has to be asked before the order may be closed: a pending
// attempt is canceled at the provider first, one that isn't known yet must become known.
func PrepareClosing(ctx context.Context, tx pgx.Tx, op operation.Operation, p provider.Payments) (Closing, error) {
	o, err := order.Lock(ctx, tx, op.OrderID.UUID)
	if err != nil {
		return Closing{}, err
	}
	last, err := lock(ctx, tx, `order_id = $1 AND attempt = (SELECT max(attempt) FROM payments WHERE order_id = $1)`, o.ID)
	if err != nil {
		return Closing{}, err
	}
	c := Closing{Order: o, Last: last}
	switch last.State { //nolint:exhaustive // every other state is final
	case Created, Submitting, Unknown:
		c.Unsure = true
	case Pending:
		// The key is the wish's own: a refusal binds it, and another wish may ask again. A repeat has another one, because a key may
		// answer one error for ever, and to cancel twice is to cancel once.
		key := fmt.Sprintf("payment:cancel:order:%s:%d:%s", o.ID, last.Attempt, op.ID)
		if op.Attempt > 1 {
			key += ":" + strconv.Itoa(op.Attempt)
		}
		c.Look = func(ctx context.Context) (provider.Payment, error) { return p.GetPayment(ctx, last.ProviderID) }
		c.Ask = func(ctx context.Context) (provider.Payment, error) { return p.CancelPayment(ctx, key, last.ProviderID) }
	}
	return c, nil
}

// Learn stores what the provider said about a payment, whoever asked. It returns the payment's state after that.
func Learn(ctx context.Context, tx pgx.Tx, p Payment, said provider.Payment, source string) (State, error) {
	learned, err := learn(ctx, tx, p.ID, said, source)
	if err == nil && learned.contradiction != "" {
		err = order.Flag(ctx, tx, p.OrderID, p.ID, learned.contradiction)
	}
	return learned.payment.State, err
}

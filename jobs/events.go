package jobs

import (
	"context"

	"github.com/jackc/pgx/v5"

	"onefold/domain/checkout"
	"onefold/domain/fulfilment"
	"onefold/domain/outbox"
)

// consequences says what follows from each event, in the relay's transaction. Events without an entry are parked.
var consequences = map[outbox.Type]func(context.Context, pgx.Tx, []outbox.Event) error{ //nolint:gochecknoglobals // a table
	outbox.OrderPlaced:   checkout.NoteDuplicates, // its payment is an operation of its own, inserted with the order
	outbox.OrderPaid:     fulfilment.Plan,
	outbox.OrderRefunded: fulfilment.PlanReversal,
}

package console

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"onefold/domain/checkout"
	"onefold/domain/operation"
	"onefold/domain/order"
)

// Step is something planned.
type Step struct {
	// Kind is reconcile (ask the outside again), lease (a try ends), dispatch (the relay takes it), expire (an unpaid order ends) or
	// key (its result is no longer kept).
	Kind    string
	Subject string // an operation's or event's type
	ID      uuid.UUID
	At      time.Time
	Owner   string // of a lease
	Attempt int    // tries so far
}

// steps lists what comes next by itself, soonest first.
func (in *Intent) steps() []Step {
	var steps []Step
	for _, o := range in.Operations {
		s := Step{Subject: string(o.Type), ID: o.ID, Attempt: o.Attempt}
		switch {
		case o.Status != operation.Processing || o.NextAttemptAt == nil:
			continue
		case o.LeaseExpiresAt != nil && o.LeaseExpiresAt.After(in.Now):
			s.Kind, s.At, s.Owner = "lease", *o.LeaseExpiresAt, o.LeaseOwner
		case o.Attempt > 0:
			s.Kind, s.At = "reconcile", *o.NextAttemptAt
		default:
			s.Kind, s.At = "dispatch", *o.NextAttemptAt
		}
		steps = append(steps, s)
	}
	for _, x := range in.Outbox {
		if x.State == outboxWaiting {
			steps = append(steps, Step{Kind: "dispatch", Subject: x.Type, ID: x.ID, At: x.NextAttemptAt, Attempt: x.Attempts})
		}
	}
	for _, e := range in.Events {
		if e.NextAttemptAt != nil {
			steps = append(steps, Step{Kind: "dispatch", Subject: e.Type, ID: e.ID, At: *e.NextAttemptAt, Attempt: e.Attempts})
		}
	}
	slices.SortStableFunc(steps, soonest)
	return steps
}

func soonest(a, b Step) int { return a.At.Compare(b.At) }

// Foresee adds to Next the ends that no row is due for: of an unpaid order after ttl (0: not known), and of the key's result.
func (in *Intent) Foresee(ttl time.Duration) {
	if o := in.Order; o != nil && o.Status == order.AwaitingPayment && ttl > 0 && in.operation(checkout.ExpireOrder) == nil {
		in.Next = append(in.Next, Step{Kind: "expire", Subject: string(checkout.ExpireOrder), ID: o.ID, At: o.CreatedAt.Add(ttl)})
	}
	if r := in.Root; r != nil && r.ExpiresAt != nil && r.ExpiresAt.After(in.Now) {
		in.Next = append(in.Next, Step{Kind: "key", Subject: string(r.Type), ID: r.ID, At: *r.ExpiresAt})
	}
	slices.SortStableFunc(in.Next, soonest)
}

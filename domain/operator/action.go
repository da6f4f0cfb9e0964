package operator

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/account"
	"onefold/domain/checkout"
	"onefold/domain/operation"
	"onefold/domain/store"
)

// Name of an action, as in addresses and in the audit.
type Name string

// Verdict says whether pressing is wise, and what makes it so.
type Verdict string

// The verdicts. Only Safe may be pressed.
const (
	Safe   Verdict = "SAFE"   // the guard makes a repeat harmless
	Wait   Verdict = "WAIT"   // somebody is at it, or something isn't known yet
	Unsafe Verdict = "UNSAFE" // it would do nothing, or harm
)

// Judgement is what an action finds when it looks at its object.
type Judgement struct {
	Object  string // its ID
	OrderID uuid.NullUUID
	Label   string // for people: a type or reason
	State   string
	Verdict Verdict
	Guard   string     // code of what makes it so; the console has words for it
	Until   *time.Time // for Wait: when to look again, if known
	Minor   *int64     // the money it is about, in minor units
	Money   *string    // its currency
}

// action is a row of the table of what people may do.
type action struct {
	object string // the type of what it acts on
	role   account.Role
	reason bool   // 1–500 characters are required
	bulk   bool   // may be done to many at once
	table  string // whose row is locked before it is judged, found by id; "" locks nothing
	// judge returns the columns of Judgement for the objects $1 (text[]).
	judge string
	check func(ctx context.Context, q store.Querier, in Input) error // of what the form asks for besides a reason; nil: nothing to check
	do    func(ctx context.Context, tx pgx.Tx, d *Desk, p *pressing) error
}

// Kind is what is known of an action without looking at anything.
type Kind struct {
	Name   Name
	Object string
	Role   account.Role // the least that may
	Reason bool
	Bulk   bool
}

// Kinds lists all actions, by name.
func Kinds() []Kind {
	var list []Kind
	for _, name := range slices.Sorted(maps.Keys(actions())) {
		list = append(list, kindOf(name))
	}
	return list
}

func kindOf(name Name) Kind {
	a := actions()[name]
	return Kind{Name: name, Object: a.object, Role: a.role, Reason: a.reason, Bulk: a.bulk}
}

// Type of the operation that a press of the action is. A cancellation is the shopper's, in another name.
func (n Name) Type() operation.Type {
	if n == CancelOrder {
		return checkout.CancelOrder
	}
	return operation.Type("OPERATOR_" + strings.ToUpper(string(n)))
}

// Offer is an action that a page may show for an object.
type Offer struct {
	Kind
	Judgement
	Allowed bool // the person's role is high enough
}

// Offers judges every action on objects of a type for somebody, in one round trip.
func Offers(ctx context.Context, q store.Querier, who account.User, object string, ids ...string) ([]Offer, error) {
	var offers []Offer
	b := &pgx.Batch{}
	for _, k := range Kinds() {
		if k.Object != object || len(ids) == 0 {
			continue
		}
		b.Queue(actions()[k.Name].judge, ids).Query(func(rows pgx.Rows) error {
			judged, err := collect(rows)
			for _, j := range judged {
				offers = append(offers, Offer{Kind: k, Judgement: j, Allowed: who.Role.AtLeast(k.Role)})
			}
			return err
		})
	}
	if err := q.SendBatch(ctx, b).Close(); err != nil {
		return nil, fmt.Errorf("judge actions on %s: %w", object, err)
	}
	return offers, nil
}

// judge looks at objects with an action's eyes; what doesn't exist isn't in the answer.
func (a action) look(ctx context.Context, q store.Querier, ids ...string) ([]Judgement, error) {
	rows, err := q.Query(ctx, a.judge, ids)
	if err != nil {
		return nil, fmt.Errorf("judge %s: %w", a.object, err)
	}
	return collect(rows)
}

// fits says whether what a form asks for is right now.
func (a action) fits(ctx context.Context, q store.Querier, in Input) error {
	if a.check == nil {
		return nil
	}
	return a.check(ctx, q, in)
}

func collect(rows pgx.Rows) ([]Judgement, error) {
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Judgement])
	if err != nil {
		return nil, fmt.Errorf("read judgement: %w", err)
	}
	return list, nil
}

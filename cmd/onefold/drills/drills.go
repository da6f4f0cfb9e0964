// Package drills runs the seed scenarios of CONTRACT section 8 live: it buys over HTTP, misbehaves as clients, networks and
// providers do, and counts afterwards what came of it, in the database and in the provider's ledger.
package drills

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Shop is where the drills run.
type Shop struct {
	Web, Sim string // base addresses
	Token    string // of a shopper
	DB       *pgxpool.Pool
	Watch    func(step string) // hears of every call and wait as it happens; nil: nobody watches
}

// Result is what one drill sent and what came of it.
type Result struct {
	Name     string `json:"name"`
	OK       bool   `json:"ok"`
	Sent     string `json:"sent"`
	Absorbed string `json:"absorbed"`
	Counts   Counts `json:"counts"`
	Error    string `json:"error,omitempty"`

	Orders []string `json:"-"` // that the drill made
	Calls  int      `json:"-"` // technical attempts at what it wanted: requests, deliveries or runs of a job
	Want   int      `json:"-"` // of each of Counts
}

// Counts is what exists for the orders of a drill. Charges are the provider's own record.
type Counts struct {
	Orders   int `json:"orders"`
	Charges  int `json:"charges"`
	Licenses int `json:"licenses"`
	Bonuses  int `json:"bonuses"`
	Mails    int `json:"mails"`
}

type drill struct {
	name string
	want Counts
	run  func(*runner) error
}

// all lists the drills in the order of the contract. Every one buys one licence, however often it tries; the last one means it.
func all() []drill {
	once := Counts{Orders: 1, Charges: 1, Licenses: 1, Bonuses: 1, Mails: 1}
	return []drill{
		{"same-key-twice", once, sameKeyTwice},
		{"parallel", once, parallel},
		{"response-lost", once, responseLost},
		{"other-payload", once, otherPayload},
		{"webhook-twice", once, webhookTwice},
		{"two-events-one-fact", once, twoEventsOneFact},
		{"crash-after-effect", once, crashAfterEffect},
		{"provider-timeout", once, providerTimeout},
		{"out-of-order", once, outOfOrder},
		{"deliberate-repeat", Counts{2, 2, 2, 2, 2}, deliberateRepeat},
	}
}

// Names lists what Run accepts.
func Names() []string {
	var names []string
	for _, d := range all() {
		names = append(names, d.name)
	}
	return names
}

const drillLimit = 30 * time.Second

// Run runs the named drills, or every one for "all" or no name. An error means that a drill couldn't be told to run; failures
// are in the results.
func Run(ctx context.Context, s Shop, names []string) ([]Result, error) {
	everything := len(names) == 0 || slices.Contains(names, "all")
	for _, name := range names {
		if name != "all" && !slices.Contains(Names(), name) {
			return nil, fmt.Errorf("there is no drill %q; there are %v", name, Names())
		}
	}
	var results []Result
	for _, d := range all() {
		if everything || slices.Contains(names, d.name) {
			results = append(results, d.execute(ctx, s))
		}
	}
	return results, nil
}

func (d drill) execute(ctx context.Context, s Shop) Result {
	ctx, cancel := context.WithTimeout(ctx, drillLimit)
	defer cancel()
	r := &runner{Shop: s, ctx: ctx, prefix: "drill-" + d.name + "-" + uuid.NewString()[:8]}
	err := d.run(r)
	if err == nil {
		err = r.await("the expected counts", func() (bool, error) { //nolint:contextcheck // a run carries its context
			counts, err := r.count()
			r.result.Counts = counts
			return counts == d.want, err
		})
	}
	result := r.result
	result.Name, result.OK, result.Orders, result.Want = d.name, err == nil, r.orders, d.want.Orders
	if result.Calls == 0 {
		result.Calls = int(r.posts.Load())
	}
	if err != nil {
		result.Error = err.Error()
		if !errors.Is(err, errDeadline) {
			result.Counts, _ = r.count() //nolint:contextcheck // a run carries its context
		}
	}
	return result
}

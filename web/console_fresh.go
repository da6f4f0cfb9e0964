package web

import (
	"context"
	"net/url"
	"time"

	view "onefold/components/console"
	"onefold/components/path"
	"onefold/domain/console"
	"onefold/domain/store"
)

// streamFresh is how often an open list asks whether there are newer rows than it shows. It never puts them in by itself.
const streamFresh = 10 * time.Second

// fresh tells how many rows of a list came after its page was read.
type fresh struct {
	address string // the list's first page, with its filter
	count   func(ctx context.Context) (int, error)
}

// freshOf is for the list at an address of this console; nil when there is none, or it is read in another order.
func (h *Handlers) freshOf(address, since string) *fresh {
	u, err := url.Parse(address)
	at, wrong := time.Parse(time.RFC3339Nano, since)
	if err != nil || wrong != nil {
		return nil
	}
	v := u.Query()
	q := console.Query{State: v.Get("state"), Type: v.Get("type"), Provider: v.Get("provider"), Limit: "100"}
	f := &fresh{address: path.WithQuery(u.Path, "state", q.State, "type", q.Type, "provider", q.Provider, "limit", v.Get("limit"))}
	switch u.Path {
	case path.ConsoleOperations():
		f.count = after(h.DB, at, q, console.Operations, func(o console.Operation) time.Time { return o.CreatedAt })
	case path.ConsolePayments():
		f.count = after(h.DB, at, q, console.Payments, func(p console.Payment) time.Time { return p.CreatedAt })
	case path.ConsoleInbox():
		f.count = after(h.DB, at, q, console.IncomingEvents, func(e console.IncomingEvent) time.Time { return e.ReceivedAt })
	case path.ConsoleOutbox():
		f.count = after(h.DB, at, q, console.OutboxEvents, func(e console.OutboxEvent) time.Time { return e.CreatedAt })
	default:
		return nil
	}
	return f
}

// after counts on the list's own first page, so that its filter means the same; at most that page.
func after[T any](db store.Querier, since time.Time, q console.Query, read func(context.Context, store.Querier, console.Query) (console.Page[T], error), at func(T) time.Time) func(context.Context) (int, error) {
	return func(ctx context.Context) (n int, err error) {
		ctx, cancel := context.WithTimeout(ctx, requestLimit)
		defer cancel()
		list, err := read(ctx, db, q)
		for _, row := range list.Rows {
			if at(row).After(since) {
				n++
			}
		}
		return n, err
	}
}

// said is the news for the page; nil while there is none.
func (f *fresh) said(ctx context.Context) *view.Fresh {
	n, err := f.count(ctx)
	if err != nil || n == 0 {
		return nil
	}
	return &view.Fresh{N: n, URL: f.address}
}

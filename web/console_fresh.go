package web

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	view "onefold/components/console"
	"onefold/components/path"
	"onefold/domain/console"
	"onefold/domain/operator"
	"onefold/domain/reconcile"
	"onefold/domain/store"
)

// streamFresh is how often an open list asks whether there are newer rows than it shows. It never puts them in by itself.
const streamFresh = 10 * time.Second

// fresh tells how many rows of a list came after its page was read.
type fresh struct {
	address string // the list's first page, with its filter
	count   func(ctx context.Context, since time.Time) (int, error)
}

// reader is whose list it is: what "me" and a day mean in its filter.
type reader struct {
	me   uuid.UUID
	zone *time.Location
}

// freshOf is for the list at an address of this console; nil when there is none.
func (h *Handlers) freshOf(address string, r reader) *fresh {
	u, err := url.Parse(address)
	if err != nil {
		return nil
	}
	v := u.Query()
	for _, aside := range []string{"cursor", "done", "lang", "format"} {
		v.Del(aside)
	}
	f := &fresh{address: u.Path}
	if len(v) > 0 {
		f.address += "?" + v.Encode()
	}
	q := console.Query{State: v.Get("state"), Type: v.Get("type"), Provider: v.Get("provider"), Limit: "100"}
	queue, work := strings.CutPrefix(u.Path, path.ConsoleWork(""))
	switch {
	case u.Path == path.ConsoleOperations():
		f.count = after(listed(h.DB, q, console.Operations), func(o console.Operation) time.Time { return o.CreatedAt })
	case u.Path == path.ConsolePayments():
		f.count = after(listed(h.DB, q, console.Payments), func(p console.Payment) time.Time { return p.CreatedAt })
	case u.Path == path.ConsoleOrders():
		f.count = after(listed(h.DB, q, console.Orders), func(o console.OrderRow) time.Time { return o.CreatedAt })
	case u.Path == path.ConsoleInbox():
		f.count = after(listed(h.DB, q, console.IncomingEvents), func(e console.IncomingEvent) time.Time { return e.ReceivedAt })
	case u.Path == path.ConsoleOutbox():
		f.count = after(listed(h.DB, q, console.OutboxEvents), func(e console.OutboxEvent) time.Time { return e.CreatedAt })
	case u.Path == path.ConsoleAudit():
		f.count = after(h.auditOf(v, r), func(l console.AuditLine) time.Time { return l.At })
	case u.Path == path.ConsoleBatches():
		f.count = after(func(ctx context.Context) ([]operator.Batch, error) { return operator.Batches(ctx, h.DB, batchesListed) }, func(b operator.Batch) time.Time { return b.CreatedAt })
	case u.Path == path.ConsoleReconcile():
		f.count = after(func(ctx context.Context) ([]reconcile.Run, error) { return reconcile.Latest(ctx, h.DB, runsListed) }, func(r reconcile.Run) time.Time { return r.CreatedAt })
	case work:
		f.count = func(ctx context.Context, since time.Time) (int, error) {
			return console.WorkSince(ctx, h.DB, queue, workQuery(v, r.me), since)
		}
	default:
		return nil
	}
	return f
}

func (h *Handlers) auditOf(v url.Values, r reader) func(context.Context) ([]console.AuditLine, error) {
	q := auditQuery(v, r.zone)
	q.Limit = "100"
	return func(ctx context.Context) ([]console.AuditLine, error) {
		list, err := console.Audit(ctx, h.DB, q)
		return list.Rows, err
	}
}

// listed reads the list's own first page, so that its filter means the same.
func listed[T any](db store.Querier, q console.Query, read func(context.Context, store.Querier, console.Query) (console.Page[T], error)) func(context.Context) ([]T, error) {
	return func(ctx context.Context) ([]T, error) {
		list, err := read(ctx, db, q)
		return list.Rows, err
	}
}

// after counts at most what is read.
func after[T any](read func(context.Context) ([]T, error), at func(T) time.Time) func(context.Context, time.Time) (int, error) {
	return func(ctx context.Context, since time.Time) (n int, err error) {
		rows, err := read(ctx)
		for _, row := range rows {
			if at(row).After(since) {
				n++
			}
		}
		return n, err
	}
}

// said is the news for the page; nil while there is none.
func (f *fresh) said(ctx context.Context, since time.Time) *view.Fresh {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	n, err := f.count(ctx, since)
	if err != nil || n == 0 {
		return nil
	}
	return &view.Fresh{N: n, URL: f.address}
}

const localSince = "since"

// dated notes when a list begins to be read, by the clock that dates its rows. Without it the list is told of nothing.
func (h *Handlers) dated(c *fiber.Ctx) error {
	if c.Method() == fiber.MethodGet && h.freshOf(c.OriginalURL(), reader{}) != nil {
		at, err := console.Now(c.UserContext(), h.DB)
		h.unread(c, "clock", err)
		c.Locals(localSince, at)
	}
	return c.Next()
}

// sinceOf is what dated noted; zero for no list.
func sinceOf(c *fiber.Ctx) time.Time {
	at, _ := c.Locals(localSince).(time.Time)
	return at
}

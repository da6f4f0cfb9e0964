package seed

import (
	"time"

	"onefold/domain/money"
)

const (
	// The last orders are placed between today's opening and closing, long enough ago for what follows.
	todayFrom, todayTo = 20 * time.Hour, 4 * time.Hour
	// The others are older than it takes an order to expire.
	pastTo = 26 * time.Hour
)

// stretch is a run of orders that is written in one go.
const stretch = 3000 // a multiple of ordersEach

// edition is a chapter at a time, with what retention left of it.
type edition struct {
	chapter
	now        time.Time
	from       time.Time // of the first order
	shelf      shelf
	operations cut
	events     cut
}

// cut says what the oldest orders lost: all before the order, of that itself some.
type cut struct{ before, of int }

func (c cut) lost(i, size int) int {
	switch {
	case i < c.before:
		return size
	case i == c.before:
		return c.of
	}
	return 0
}

// cutTo finds what the oldest settled orders lose for want rows to remain of all; want 0 means all. At least as many as least remain.
func (c chapter) cutTo(want int, size func(fate) int) (found cut, all, least int) {
	if want == 0 {
		return cut{}, 0, 0
	}
	sizes := make([]int32, c.orders)
	for i := range sizes {
		f := c.fate(i, c.random(i))
		n := size(f)
		sizes[i] = int32(n) //nolint:gosec // a dozen
		if all += n; f.live() || c.orders-i <= c.recent {
			least += n
		}
	}
	excess := all - want
	if excess <= 0 || want < least {
		return cut{}, all, least
	}
	for i, n := range sizes {
		if excess < int(n) {
			return cut{before: i, of: excess}, all, least
		}
		excess -= int(n)
	}
	return cut{}, all, least
}

// when is the time of order number i.
func (e *edition) when(i int) time.Time {
	if past := e.orders - e.recent; i < past {
		span := e.now.Add(-pastTo).Sub(e.from)
		return e.from.Add(time.Duration(float64(span) * float64(i) / float64(past))).Truncate(time.Microsecond)
	}
	share := float64(i-(e.orders-e.recent)) / float64(e.recent)
	return e.now.Add(-todayFrom + time.Duration(float64(todayFrom-todayTo)*share)).Truncate(time.Microsecond)
}

// write tells the orders from lo to hi.
func (e *edition) write(lo, hi int) *rows {
	r := &rows{}
	e.people(r, lo, hi, e.from.Add(-time.Hour))
	for i := lo; i < hi; i++ {
		e.story(r, i).tell()
	}
	return r
}

func (e *edition) story(r *rows, i int) *story {
	random := e.random(i)
	f := e.fate(i, random)
	s := &story{
		rows: r, fate: f, random: random, now: e.now, at: e.when(i), staff: e.person(-1), locale: "en",
		goneOperations: e.operations.lost(i, f.operations()), goneEvents: e.events.lost(i, f.events()),
	}
	n := i/stretch*stretch + random.IntN(min(stretch, e.orders-i/stretch*stretch))
	s.user, s.key = e.person(n/ordersEach), e.key(i)
	s.name, s.email = someone(random)
	if s.plot == nameless {
		s.email = ""
	}
	if random.IntN(10) < 4 {
		s.locale = "ru"
	}
	kind := "license"
	if s.plot == parcelled || s.plot == labelRefused {
		kind = "physical"
	}
	s.item = item{product: e.shelf[kind][random.IntN(len(e.shelf[kind]))], quantity: 1 + random.IntN(8)/6}
	s.total = money.Amount{Minor: s.item.product.price.Minor * int64(s.item.quantity), Currency: s.item.product.price.Currency}
	s.retell()
	if random.IntN(10) < 4 {
		s.cart = s.newID()
	}
	return s
}

// key of order number i: the client's.
func (c chapter) key(i int) string {
	return c.person(-2 - i).String()
}

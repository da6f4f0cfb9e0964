package main

import (
	"flag"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"onefold/domain/checkout"
	"onefold/domain/fault"
	"onefold/domain/fulfilment"
	"onefold/domain/inbox"
	"onefold/domain/money"
	"onefold/domain/order"
	"onefold/domain/outbox"
	"onefold/domain/provider"
	"onefold/domain/refund"
	"onefold/domain/store/storetest"
)

// schedules is how many schedules TestExplore plays unless -rapid.checks says otherwise.
const schedules = "300"

func TestMain(m *testing.M) {
	flag.Parse()
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		_ = checks.Value.Set(schedules)
	}
	storetest.Main(m)
}

// TestExplore plays random schedules over a few orders: repeats, cancellations, refunds, payments and declines, corrected addresses,
// operators who press "look now", faults of every kind at the provider, webhooks delivered twice, late, out of order, in the middle
// of the call they are about, with other facts or never, workers that die between a call and its record, leases that run out, and
// owners that come back late to what somebody else has done meanwhile. Then the faults stop, everything that is due is carried on,
// and the promise is checked: the invariants, and the provider's ledger against the database.
//
// Time is the schedule's own: what is due and what a lease is worth doesn't depend on how fast the machine is, so a schedule can be
// repeated. rapid prints a failing one, shrinks it, and says how to replay it. `make torture N=…` plays more.
func TestExplore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rapid.Check(t, func(t *rapid.T) {
		r := &schedule{world: w, T: t, user: w.somebody(t)}
		r.begin()
		r.place(t) // nothing else can happen before
		if rapid.Bool().Draw(t, "paid") {
			r.paid() // the other half of a story is worth as many schedules
		}
		t.Repeat(map[string]func(*rapid.T){
			"place": r.place, "cancel": r.cancel, "pay again": r.retry, "refund": r.refund, "expire": r.expire, "correct": r.correct,
			"shopper": r.shopper, "shopper too": r.shopper, "work on": r.work, "work more": r.work, "relay on": r.relay, "deliver more": r.deliver,
			"fault": r.fault, "deliver": r.deliver, "lose": r.lose, "forge": r.forge, "press": r.press, "work": r.work, "relay": r.relay,
			"arrive": func(*rapid.T) { r.provider.arrive() },
		})
		r.settle()
		r.check()
	})
	var reached string
	require.NoError(t, w.pool.QueryRow(t.Context(), `SELECT string_agg(format('%s %s', n, what), ', ' ORDER BY what) FROM (
		SELECT status || CASE WHEN needs_review THEN ' under review' ELSE '' END AS what, count(*) AS n FROM orders GROUP BY 1
		UNION ALL SELECT 'payment ' || status, count(*) FROM payments GROUP BY 1
		UNION ALL SELECT 'refund ' || status, count(*) FROM refunds GROUP BY 1
		UNION ALL SELECT 'shipment ' || status, count(*) FROM shipments GROUP BY 1
		UNION ALL SELECT 'event ' || status, count(*) FROM incoming_events GROUP BY 1
		UNION ALL SELECT kind, count(*) FROM journal WHERE kind IN ('operation.late_owner', 'operation.postponed', 'payment.unknown') GROUP BY 1) x`).Scan(&reached))
	t.Log("reached:", reached)
}

// schedule is one run: one shopper with a few orders.
type schedule struct {
	*world
	*rapid.T
	user   uuid.UUID
	orders []uuid.UUID
}

// paid lets everything go well until the money is there and its consequences are planned.
func (r *schedule) paid() {
	for _, id := range r.due() {
		r.execute(id)
	}
	r.post("/control/payments/"+r.text(`SELECT max(provider_payment_id) FROM payments WHERE order_id = ANY($1)`)+"/succeed", "")
	r.mu.Lock()
	came := r.bag
	r.bag = nil
	r.mu.Unlock()
	for _, body := range came {
		r.receive(body)
	}
	r.apply()
	r.relay(nil)
}

// refused fails unless err is an answer that the contract knows; a refusal is as good as a success here.
func (r *schedule) refused(err error) {
	if err == nil {
		return
	}
	e, ok := fault.Of(err)
	require.True(r, ok, "%v", err)
	require.NotEqual(r, fault.Internal, e.Kind, "%v", err)
}

func (r *schedule) place(t *rapid.T) {
	quantity := rapid.IntRange(1, 2).Draw(t, "quantity")
	key := r.user.String() + strconv.Itoa(rapid.IntRange(1, 3).Draw(t, "key"))
	c := checkout.Command{
		UserID: r.user, Key: key, Currency: "RUB", Email: "a@example.com", Locale: "en", Items: []checkout.Item{{ProductID: "pixel-orchard", Quantity: quantity}},
	}
	if rapid.Bool().Draw(t, "parcel") {
		c.Items = append(c.Items, checkout.Item{ProductID: "slate-mug", Quantity: 6 * quantity}) // one parcel or two
		c.Delivery = &order.Delivery{Method: "standard", Address: provider.Address{Name: "Ann", Line1: "1 Road", City: "Town", Postcode: "1000", Country: "DE"}}
	}
	out, err := r.desk.Place(t.Context(), c)
	r.refused(err)
	if err == nil && out.Failure == nil && !out.Replayed {
		r.orders = append(r.orders, out.Result.OrderID)
	}
}

func (r *schedule) anyOrder(t *rapid.T) uuid.UUID {
	if len(r.orders) == 0 {
		t.Skip("no order yet")
	}
	return rapid.SampledFrom(r.orders).Draw(t, "order")
}

func someKey(t *rapid.T) string { return rapid.SampledFrom([]string{"x", "y"}).Draw(t, "key") }

func (r *schedule) cancel(t *rapid.T) {
	_, err := r.desk.Cancel(t.Context(), r.user, r.anyOrder(t), someKey(t))
	r.refused(err)
}

func (r *schedule) retry(t *rapid.T) {
	_, err := r.desk.Retry(t.Context(), r.user, r.anyOrder(t), someKey(t))
	r.refused(err)
}

func (r *schedule) refund(t *rapid.T) {
	var amount *money.Amount
	if rapid.Bool().Draw(t, "part") {
		amount = &money.Amount{Minor: int64(rapid.IntRange(1, 4990).Draw(t, "minor")), Currency: "RUB"}
	}
	_, err := refund.Create(t.Context(), r.desk.Operations, r.user, r.anyOrder(t), someKey(t), amount, "asked for", nil)
	r.refused(err)
}

func (r *schedule) expire(t *rapid.T) {
	_, err := r.pool.Exec(t.Context(), `UPDATE orders SET created_at = created_at - interval '2 days' WHERE id = $1`, r.anyOrder(t))
	require.NoError(t, err)
	_, err = checkout.PlanExpiry(t.Context(), r.pool, 24*time.Hour, 100)
	require.NoError(t, err)
}

// shopper pays or declines at the provider, perhaps long after we closed the order.
func (r *schedule) shopper(t *rapid.T) {
	var payments []string
	err := r.pool.QueryRow(t.Context(), `SELECT coalesce(array_agg(id::text ORDER BY id), '{}') FROM payments WHERE order_id = ANY($1)`, r.orders).Scan(&payments)
	require.NoError(t, err)
	if len(payments) == 0 {
		t.Skip("no payment yet")
	}
	found, err := r.client.FindPayment(t.Context(), rapid.SampledFrom(payments).Draw(t, "payment"))
	if err != nil {
		return // not there, or a fault
	}
	r.post("/control/payments/"+found.ID+"/"+rapid.SampledFrom([]string{"succeed", "succeed", "cancel"}).Draw(t, "does"), "")
}

func (r *schedule) post(path, body string) { r.call(http.MethodPost, path, body) }

func (r *schedule) call(method, path, body string) {
	request, err := http.NewRequestWithContext(r.Context(), method, r.sim+path, strings.NewReader(body))
	require.NoError(r, err)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(r, err)
	require.NoError(r, answer.Body.Close())
}

func (r *schedule) fault(t *rapid.T) {
	on := rapid.SampledFrom([]string{"payments.create", "payments.get", "payments.cancel", "refunds.create", "refunds.get", "shipments.create", "shipments.get"}).Draw(t, "on")
	do := rapid.SampledFrom([]string{
		"drop_after", "error_after", "error_before", "error_sticky", "busy", "rate_limit", "not_found", "garbage", "reject", "hang",
	}).Draw(t, "do")
	if do == "not_found" && !strings.HasSuffix(on, ".get") {
		return
	}
	r.post("/control/faults", fmt.Sprintf(`{"on":%q,"do":%q,"delayMs":1,"booked":%t}`, on, do, rapid.Bool().Draw(t, "booked")))
}

// take removes a webhook from the bag; keep leaves it there for a repeat.
func (r *schedule) take(t *rapid.T, keep bool) ([]byte, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.bag) == 0 {
		return nil, false
	}
	i := rapid.IntRange(0, len(r.bag)-1).Draw(t, "webhook")
	body := r.bag[i]
	if !keep {
		r.bag = append(r.bag[:i:i], r.bag[i+1:]...)
	}
	return body, true
}

func (r *schedule) deliver(t *rapid.T) {
	if body, ok := r.take(t, rapid.Bool().Draw(t, "again")); ok {
		r.receive(body)
	}
}

func (r *schedule) lose(t *rapid.T) { r.take(t, false) }

func (r *schedule) receive(body []byte) {
	event, err := r.client.Translate(body)
	require.NoError(r, err)
	_, err = inbox.Receive(r.Context(), r.pool, r.client.Name(), event, body)
	require.NoError(r, err)
}

// work carries one thing on that nobody owns; the worker may die after the provider answered, or be overtaken there.
func (r *schedule) work(t *rapid.T) {
	r.provider.dies = rapid.IntRange(0, 3).Draw(t, "dies") == 0
	r.provider.slow = rapid.IntRange(0, 3).Draw(t, "slow") == 0
	overtaken := rapid.IntRange(0, 3).Draw(t, "overtaken") == 0
	defer func() { r.provider.dies, r.provider.slow, r.provider.meanwhile = false, false, nil }()
	if rapid.Bool().Draw(t, "time passes") {
		r.timePasses()
	}
	if due := r.due(); len(due) > 0 {
		id := rapid.SampledFrom(due).Draw(t, "operation")
		if overtaken {
			r.provider.meanwhile = func() { r.overtake(t, id) }
		}
		r.execute(id)
	}
	r.apply()
}

// due lists what a worker may take: what isn't leased.
func (r *schedule) due() (due []uuid.UUID) {
	err := r.pool.QueryRow(r.Context(), `SELECT coalesce(array_agg(id ORDER BY created_at, id), '{}') FROM operations
		WHERE status = 'PROCESSING' AND (lease_expires_at IS NULL OR lease_expires_at <= now()) AND order_id = ANY($1)`, r.orders).Scan(&due)
	require.NoError(r, err)
	return due
}

// overtake happens while the owner of id waits for its answer: its lease runs out and another worker does it, or a webhook is faster.
func (r *schedule) overtake(t *rapid.T, id uuid.UUID) {
	r.provider.dies = false
	if rapid.Bool().Draw(t, "by a webhook") {
		r.deliver(t)
		r.apply()
		return
	}
	if rapid.Bool().Draw(t, "in vain") { // the lease still holds
		attempt := `SELECT string_agg(attempt::text, ',' ORDER BY id) FROM operations WHERE order_id = ANY($1)`
		before := r.text(attempt)
		r.execute(id)
		require.Equal(r, before, r.text(attempt), "two owners at once")
		return
	}
	r.timePasses()
	r.execute(id)
	if rapid.Bool().Draw(t, "and its consequences") {
		r.relay(nil)
		for _, other := range r.due() {
			r.execute(other)
		}
	}
}

func (r *schedule) execute(id uuid.UUID) {
	defer func() {
		if v := recover(); v != nil {
			if _, ok := v.(death); !ok {
				panic(v)
			}
		}
	}()
	require.NoError(r, r.executor.Execute(r.Context(), id))
}

func (r *schedule) apply() {
	rows, err := r.pool.Query(r.Context(), `SELECT id FROM incoming_events WHERE status = 'RECEIVED' ORDER BY received_at, id`)
	require.NoError(r, err)
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	require.NoError(r, err)
	for _, id := range ids {
		require.NoError(r, r.applier.Apply(r.Context(), id))
	}
}

// timePasses makes everything due and ends every lease. No call is on its way for so long.
func (r *schedule) timePasses() {
	r.provider.arrive()
	for _, sql := range []string{
		`UPDATE operations SET next_attempt_at = now() - interval '1 second', sent_at = greatest(sent_at - interval '2 minutes', now() - interval '5 minutes'),
			lease_expires_at = CASE WHEN lease_expires_at IS NOT NULL THEN now() - interval '1 second' END WHERE status = 'PROCESSING'`,
		`UPDATE incoming_events SET next_attempt_at = now() - interval '1 second' WHERE status = 'RECEIVED'`,
	} {
		_, err := r.pool.Exec(r.Context(), sql)
		require.NoError(r, err)
	}
}

// relay does what the relay does, without River: the job is only a wake-up.
func (r *schedule) relay(*rapid.T) {
	require.NoError(r, pgx.BeginFunc(r.Context(), r.pool, func(tx pgx.Tx) error {
		events, err := outbox.TakeDue(r.Context(), tx, 500)
		if err != nil {
			return err
		}
		for _, e := range events {
			switch e.Type {
			case outbox.OrderPaid:
				err = fulfilment.Plan(r.Context(), tx, []outbox.Event{e})
			case outbox.OrderRefunded:
				err = fulfilment.PlanReversal(r.Context(), tx, []outbox.Event{e})
			}
			if err == nil {
				err = outbox.Dispatched(r.Context(), tx, []uuid.UUID{e.ID})
			}
			if err != nil {
				return err
			}
		}
		return nil
	}))
}

// begin forgets what an earlier schedule left behind.
func (r *schedule) begin() {
	r.mend()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bag, r.provider.late = nil, nil
}

// mend takes all faults back. Webhooks are sent before the call that caused them is answered, so that the bag holds the same ones
// however fast the machine is; their delays are the schedule's.
func (r *schedule) mend() {
	r.call(http.MethodDelete, "/control/faults", "")
	r.call(http.MethodPost, "/control/faults", `{"on":"webhooks.send","do":"before_response","times":0}`)
}

// settle ends the faults and carries everything on until nothing moves any more.
func (r *schedule) settle() {
	r.mend()
	for range 40 {
		r.timePasses()
		r.relay(nil)
		r.apply()
		var open []uuid.UUID
		err := r.pool.QueryRow(r.Context(), `SELECT coalesce(array_agg(id), '{}') FROM operations p WHERE status = 'PROCESSING' AND order_id = ANY($1)`, r.orders).Scan(&open)
		require.NoError(r, err)
		for _, id := range open {
			r.execute(id)
		}
		if r.quiet() {
			return
		}
	}
	r.Fatalf("operations still move: %s", r.text(`SELECT string_agg(type || ' ' || coalesce(last_error, ''), '; ') FROM operations
		WHERE status = 'PROCESSING' AND order_id = ANY($1)`))
}

// quiet: only pending payments are still watched, because nobody has paid them.
func (r *schedule) quiet() bool {
	return r.text(`SELECT count(*)::text FROM operations p WHERE status = 'PROCESSING' AND order_id = ANY($1) AND type <> 'WATCH_PAYMENT'`) == "0" &&
		r.text(`SELECT count(*)::text FROM outbox_events WHERE dispatched_at IS NULL AND order_id = ANY($1)`) == "0"
}

func (r *schedule) text(sql string) (out string) {
	var text *string
	require.NoError(r, r.pool.QueryRow(r.Context(), sql, r.orders).Scan(&text))
	if text != nil {
		out = *text
	}
	return out
}

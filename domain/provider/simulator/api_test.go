package simulator_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestPaymentLife(t *testing.T) {
	t.Parallel()
	r := start(t)
	made := r.call("POST", "/v1/payments", "k1", order("ref-1"))
	require.Equal(t, 200, made.status)
	id := made.body["id"].(string)
	require.Equal(t, "http://sim.test/pay/"+id, made.body["confirmationUrl"])
	require.Equal(t, object{"amount": "49.90", "currency": "RUB"}, made.body["amount"])
	require.NotContains(t, made.body, "refunded")
	require.NotContains(t, made.body, "key")

	for range 2 {
		got := r.call("POST", "/control/payments/"+id+"/succeed", "", nil)
		require.Equal(t, "succeeded", got.body["status"])
	}
	require.Equal(t, 409, r.call("POST", "/control/payments/"+id+"/cancel", "", nil).status)
	got := r.call("GET", "/v1/payments/"+id, "", nil)
	require.Equal(t, "succeeded", got.body["status"])
	require.NotContains(t, got.body, "confirmationUrl")
	found := r.call("GET", "/v1/payments?reference=ref-1", "", nil)
	require.Equal(t, []any{got.body}, found.body["items"])
	require.Equal(t, "succeeded", r.call("POST", "/v1/payments/"+id+"/cancel", "", nil).body["status"])

	declined, _ := r.payment()
	require.Equal(t, "card_declined", r.call("POST", "/control/payments/"+declined+"/cancel", "", nil).body["failure"])
	r.shop.wait(t, 4)
	require.ElementsMatch(t, []string{"payment.pending", "payment.succeeded", "payment.pending", "payment.canceled"}, r.shop.types())
}

func TestBadInputNamesFieldAndRule(t *testing.T) {
	t.Parallel()
	r := start(t)
	with := func(field string, value any) object {
		in := order("r")
		in[field] = value
		return in
	}
	money := func(amount, currency string) object { return object{"amount": amount, "currency": currency} }
	for _, c := range []struct {
		path, key   string
		body        any
		field, rule string
	}{
		{"/v1/payments", "", order("r"), "Idempotency-Key", "required"},
		{"/v1/payments", "k k", order("r"), "Idempotency-Key", "visible_ascii_1_255"},
		{"/v1/payments", strings.Repeat("k", 256), order("r"), "Idempotency-Key", "visible_ascii_1_255"},
		{"/v1/payments", "k", "{", "body", "json"},
		{"/v1/payments", "k", "{} {}", "body", "json"},
		{"/v1/payments", "k", "\"\xff\"", "body", "json"},
		{"/v1/payments", "k", with("amount", 5), "amount", "form"},
		{"/v1/payments", "k", with("amount", money("0.00", "RUB")), "amount.amount", "positive"},
		{"/v1/payments", "k", with("amount", money("1.001", "RUB")), "amount.amount", "decimal"},
		{"/v1/payments", "k", with("amount", money("-1", "RUB")), "amount.amount", "decimal"},
		{"/v1/payments", "k", with("amount", money("1", "RUR?")), "amount.currency", "iso4217"},
		{"/v1/payments", "k", with("reference", ""), "reference", "required"},
		{"/v1/payments", "k", with("reference", "a\x00b"), "reference", "printable"},
		{"/v1/payments", "k", with("reference", strings.Repeat("r", 256)), "reference", "max=255"},
		{"/v1/payments", "k", with("returnUrl", "javascript:alert(1)"), "returnUrl", "url"},
		{"/v1/payments", "k", with("returnUrl", "http://a;script-src b/"), "returnUrl", "url"},
		{"/v1/refunds", "", object{"amount": money("1", "RUB")}, "paymentId", "required"},
		{"/v1/shipments", "", object{"reference": "r"}, "address.name", "required"},
		{"/control/faults", "", object{"on": "x", "do": "hang"}, "on", "known"},
		{"/control/faults", "", object{"on": "payments.get", "do": "forge"}, "do", "possible"},
		{"/control/faults", "", object{"on": "payments.get", "do": "hang", "refernce": "x"}, "body", "form"},
		{"/control/events", "", object{"event": object{}, "signature": "odd"}, "signature", "one_of=good|bad|old|none"},
		{"/control/events", "", object{"event": object{}, "deliveries": 0}, "deliveries", "range=1..1000"},
	} {
		got := r.call("POST", c.path, c.key, c.body)
		require.Equal(t, 400, got.status, "%v %s", c, got.raw)
		require.Equal(t, "application/problem+json", got.header.Get("Content-Type"))
		first := got.body["errors"].([]any)[0].(object)
		require.Equal(t, c.field, first["field"], "%v", c)
		require.Equal(t, c.rule, first["rule"], "%v", c)
	}
	require.Equal(t, 400, r.call("GET", "/v1/payments", "", nil).status)
	require.Equal(t, 413, r.call("POST", "/v1/payments", "k", `"`+strings.Repeat("x", 256<<10)+`"`).status)
	require.Equal(t, 404, r.call("GET", "/v1/nothing", "", nil).status)
	require.Empty(t, r.ledger().Payments)
	// Bad input binds nothing to the key.
	require.Equal(t, 200, r.call("POST", "/v1/payments", "k", order("r")).status)
}

func TestKeyMeansValuesNotBytes(t *testing.T) {
	t.Parallel()
	r := start(t)
	const one = `{"amount":{"amount":"1.00","currency":"RUB"},"reference":"r","returnUrl":"http://shop.test/"}`
	const same = "\n{ \"returnUrl\":\"http:\\/\\/shop.test/\", \"reference\":\"r\",\"amount\":{\"currency\":\"RUB\", \"amount\":\"1.00\"} }"
	first := r.call("POST", "/v1/payments", "k", one)
	require.False(t, first.replayed)
	again := r.call("POST", "/v1/payments", "k", same)
	require.True(t, again.replayed)
	require.Equal(t, first.body, again.body)
	other := r.call("POST", "/v1/payments", "k", strings.Replace(one, `"r"`, `"R"`, 1))
	require.Equal(t, 409, other.status)
	require.Equal(t, "key_reused", other.body["code"])
	require.Equal(t, []string{"booked", "replayed", "key_reused"}, r.outcomes("payments.create"))
	// A replay shows the present state.
	r.succeed(first.body["id"].(string))
	require.Equal(t, "succeeded", r.call("POST", "/v1/payments", "k", one).body["status"])
	// Another kind of call has its own keys.
	require.Equal(t, 200, r.call("POST", "/v1/refunds", "k", object{
		"paymentId": first.body["id"], "amount": object{"amount": "1.00", "currency": "RUB"}, "reference": "back",
	}).status)
}

func TestOneKeyFromManyCallers(t *testing.T) {
	t.Parallel()
	r := start(t)
	var mu sync.Mutex
	seen := map[int]int{}
	var wg sync.WaitGroup
	for range 40 {
		wg.Go(func() {
			got := r.call("POST", "/v1/payments", "k", order("r"))
			mu.Lock()
			defer mu.Unlock()
			seen[got.status]++
			if got.status == 409 {
				require.Equal(t, "busy", got.body["code"])
			}
		})
	}
	wg.Wait()
	require.Equal(t, 40, seen[200]+seen[409], "%v", seen)
	l := r.ledger()
	require.Len(t, l.Payments, 1)
	booked := 0
	for _, c := range l.Calls {
		if c.Booked {
			booked++
		}
	}
	require.Equal(t, 1, booked)
}

func TestStickyError(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before []object
		sticky object
		booked int
	}{
		"nothing booked": {nil, object{}, 0},
		"books itself":   {nil, object{"booked": true}, 1},
		"booked before":  {[]object{{"on": "payments.create", "do": "drop_after"}}, object{}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := start(t)
			for _, f := range c.before {
				r.fault(f)
				require.Zero(t, r.call("POST", "/v1/payments", "k", order("r")).status)
			}
			c.sticky["on"], c.sticky["do"], c.sticky["status"] = "payments.create", "error_sticky", 502
			r.fault(c.sticky)
			for range 3 {
				require.Equal(t, 502, r.call("POST", "/v1/payments", "k", order("r")).status)
			}
			r.reopen()
			require.Equal(t, 502, r.call("POST", "/v1/payments", "k", order("r")).status, "for ever")
			require.Equal(t, 409, r.call("POST", "/v1/payments", "k", order("other")).status)
			require.Len(t, r.call("GET", "/v1/payments?reference=r", "", nil).body["items"], c.booked)
			require.Len(t, r.ledger().Payments, c.booked)
			require.Equal(t, 200, r.call("POST", "/v1/payments", "k2", order("r2")).status)
		})
	}
}

func TestFaultsAreUsedAsAsked(t *testing.T) {
	t.Parallel()
	r := start(t)
	id := r.fault(object{"on": "payments.create", "do": "error_before", "times": 2, "status": 503, "reference": "mine"})
	require.Equal(t, 200, r.call("POST", "/v1/payments", "other", order("other")).status)
	require.Equal(t, 503, r.call("POST", "/v1/payments", "k", order("mine")).status)
	require.Equal(t, 503, r.call("POST", "/v1/payments", "k", order("mine")).status)
	require.Equal(t, 200, r.call("POST", "/v1/payments", "k", order("mine")).status)
	require.InDelta(t, 2, r.call("GET", "/control/faults/"+id, "", nil).body["used"], 0)

	endless := r.fault(object{"on": "payments.get", "do": "not_found", "times": 0, "reference": "mine"})
	for range 3 {
		require.Equal(t, 404, r.call("GET", "/v1/payments?reference=mine", "", nil).status)
	}
	require.Len(t, r.call("GET", "/control/faults", "", nil).body["items"], 2)
	require.Equal(t, 204, r.call("DELETE", "/control/faults/"+endless, "", nil).status)
	require.Equal(t, 404, r.call("DELETE", "/control/faults/"+endless, "", nil).status)
	require.Equal(t, 200, r.call("GET", "/v1/payments?reference=mine", "", nil).status)
	r.fault(object{"on": "refunds.create", "do": "rate_limit", "delayMs": 2500})
	limited := r.call("POST", "/v1/refunds", "", object{"paymentId": "x", "amount": object{"amount": "1", "currency": "RUB"}})
	require.Equal(t, 429, limited.status)
	require.Equal(t, "3", limited.header.Get("Retry-After"))
	require.Equal(t, 204, r.call("DELETE", "/control/faults", "", nil).status)
	require.Empty(t, r.call("GET", "/control/faults", "", nil).body["items"])
}

func TestDelayKeepsTheKeyBusy(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.fault(object{"on": "payments.create", "do": "delay", "delayMs": 400})
	slow := make(chan answer)
	begun := time.Now()
	go func() { slow <- r.call("POST", "/v1/payments", "k", order("r")) }()
	require.Eventually(t, func() bool { return len(r.ledger().Payments) == 1 }, 2*time.Second, 5*time.Millisecond, "booked first")
	during := r.call("POST", "/v1/payments", "k", order("r"))
	require.Equal(t, 409, during.status)
	require.Equal(t, "busy", during.body["code"])
	require.Equal(t, 200, (<-slow).status)
	require.GreaterOrEqual(t, time.Since(begun), 400*time.Millisecond)
	require.True(t, r.call("POST", "/v1/payments", "k", order("r")).replayed)
}

func TestRefunds(t *testing.T) {
	t.Parallel()
	r := start(t)
	id, _ := r.payment()
	r.succeed(id)
	refund := func(amount, currency, reference string) answer {
		return r.call("POST", "/v1/refunds", "", object{
			"paymentId": id, "reference": reference, "amount": object{"amount": amount, "currency": currency},
		})
	}
	require.Equal(t, "currency_mismatch", refund("1.00", "USD", "").body["code"])
	require.Equal(t, "refund_exceeds_payment", refund("49.91", "RUB", "").body["code"])
	require.Equal(t, 200, refund("20.00", "RUB", "ours").status)
	require.Equal(t, 200, refund("20.00", "RUB", "").status, "in the dashboard")
	require.Equal(t, 422, refund("9.91", "RUB", "ours").status)
	require.Equal(t, object{"amount": "40.00", "currency": "RUB"}, r.call("GET", "/v1/payments/"+id, "", nil).body["refunded"])
	require.Len(t, r.call("GET", "/v1/refunds?reference=ours", "", nil).body["items"], 1)
	require.Len(t, r.call("GET", "/v1/refunds?paymentId="+id, "", nil).body["items"], 2)

	r.fault(object{"on": "refunds.create", "do": "pending"})
	open := refund("9.90", "RUB", "late")
	require.Equal(t, "pending", open.body["status"])
	require.Equal(t, 422, refund("0.01", "RUB", "").status, "it is taken while pending")
	for range 2 {
		ended := r.call("POST", "/control/refunds/"+open.body["id"].(string)+"/fail", "", nil)
		require.Equal(t, "refund_failed", ended.body["failure"])
	}
	require.Equal(t, 409, r.call("POST", "/control/refunds/"+open.body["id"].(string)+"/succeed", "", nil).status)
	require.Equal(t, 200, refund("9.90", "RUB", "").status, "a failed refund gives the money back")
	r.shop.wait(t, 6)
	require.ElementsMatch(t, []string{
		"payment.pending", "payment.succeeded", "refund.succeeded", "refund.succeeded", "refund.failed", "refund.succeeded",
	}, r.shop.types())
}

func TestRefundsAtTheSameTimeNeverExceedThePayment(t *testing.T) {
	t.Parallel()
	r := start(t)
	id, _ := r.payment()
	r.succeed(id)
	var wg sync.WaitGroup
	for range 12 {
		wg.Go(func() {
			r.call("POST", "/v1/refunds", uuid.NewString(), object{"paymentId": id, "amount": object{"amount": "10.00", "currency": "RUB"}})
		})
	}
	wg.Wait()
	require.Len(t, r.ledger().Refunds, 4)
}

func TestShipments(t *testing.T) {
	t.Parallel()
	r := start(t)
	in := object{"reference": "s-1", "parcels": 2, "address": object{
		"name": "Ada", "line1": "Lenina 1", "city": "Omsk", "postcode": "644000", "country": "RU",
	}}
	first := r.call("POST", "/v1/shipments", "k", in)
	require.Equal(t, 200, first.status, first.raw)
	require.True(t, r.call("POST", "/v1/shipments", "k", in).replayed)
	id := first.body["id"].(string)
	for range 2 {
		require.Equal(t, "delivered", r.call("POST", "/control/shipments/"+id+"/deliver", "", nil).body["status"])
	}
	require.Equal(t, id, r.shop.wait(t, 1)[0].Object["id"])
	require.Equal(t, []string{"shipment.delivered"}, r.shop.types())
	r.fault(object{"on": "shipments.create", "do": "reject"})
	in["reference"] = "s-2"
	require.Equal(t, "address_rejected", r.call("POST", "/v1/shipments", "k2", in).body["code"])
	require.Len(t, r.ledger().Shipments, 1)
}

func TestReset(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.fault(object{"on": "webhooks.send", "do": "hold", "times": 0})
	id, _ := r.payment()
	require.Equal(t, 204, r.call("POST", "/control/reset", "", nil).status)
	require.Equal(t, 404, r.call("GET", "/v1/payments/"+id, "", nil).status)
	require.Empty(t, r.call("GET", "/control/faults", "", nil).body["items"])
	require.InDelta(t, 0, r.call("POST", "/control/release", "", nil).body["released"], 0)
	l := r.ledger()
	require.Empty(t, l.Payments)
	require.Len(t, l.Calls, 1)
	r.shop.wait(t, 0)
}

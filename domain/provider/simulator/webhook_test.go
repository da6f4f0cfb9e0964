package simulator_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRefusedWebhookComesAgainWithTheSameID(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.shop.answers(500, 302, 404)
	id, _ := r.payment()
	got := r.shop.wait(t, 4)
	for _, h := range got {
		require.True(t, h.Authentic)
		require.Equal(t, got[0].ID, h.ID)
		require.Equal(t, id, h.Object["id"])
	}
	require.Greater(t, got[3].At.Sub(got[2].At), got[1].At.Sub(got[0].At)/2, "intervals grow")
	require.Equal(t, []string{"500", "302", "404", "200"}, r.outcomes("webhooks.send"))
}

func TestWebhookFaults(t *testing.T) {
	t.Parallel()
	for do, check := range map[string]func(t *testing.T, r *rig, id string){
		"duplicate": func(t *testing.T, r *rig, _ string) {
			t.Helper()
			got := r.shop.wait(t, 2)
			require.Equal(t, got[0].ID, got[1].ID)
		},
		"second_event": func(t *testing.T, r *rig, _ string) {
			t.Helper()
			got := r.shop.wait(t, 2)
			require.NotEqual(t, got[0].ID, got[1].ID)
			require.Equal(t, got[0].Object, got[1].Object)
			require.Equal(t, got[0].Type, got[1].Type)
		},
		"reorder": func(t *testing.T, r *rig, id string) {
			t.Helper()
			r.shop.wait(t, 0)
			r.succeed(id)
			r.shop.wait(t, 2)
			require.Equal(t, []string{"payment.succeeded", "payment.pending"}, r.shop.types())
		},
		"hold": func(t *testing.T, r *rig, id string) {
			t.Helper()
			r.succeed(id)
			r.shop.wait(t, 1)
			r.reopen() // a held webhook stays held
			r.shop.wait(t, 1)
			require.InDelta(t, 1, r.call("POST", "/control/release", "", nil).body["released"], 0)
			r.shop.wait(t, 2)
			require.Equal(t, []string{"payment.succeeded", "payment.pending"}, r.shop.types())
		},
		"lose": func(t *testing.T, r *rig, _ string) {
			t.Helper()
			r.shop.wait(t, 0)
			require.Equal(t, []string{"lose"}, r.outcomes("webhooks.send"))
			r.reopen()
			r.shop.wait(t, 0)
		},
		"forge": func(t *testing.T, r *rig, _ string) {
			t.Helper()
			require.False(t, r.shop.wait(t, 1)[0].Authentic)
			require.Equal(t, []string{"401"}, r.outcomes("webhooks.send"))
		},
		"wrong_amount": func(t *testing.T, r *rig, id string) {
			t.Helper()
			got := r.shop.wait(t, 1)[0]
			require.True(t, got.Authentic)
			require.Equal(t, id, got.Object["id"])
			require.Equal(t, object{"amount": "49.91", "currency": "RUB"}, got.Object["amount"])
		},
		"wrong_currency": func(t *testing.T, r *rig, _ string) {
			t.Helper()
			require.Equal(t, object{"amount": "49.90", "currency": "USD"}, r.shop.wait(t, 1)[0].Object["amount"])
		},
		"unknown_object": func(t *testing.T, r *rig, id string) {
			t.Helper()
			got := r.shop.wait(t, 1)[0]
			require.True(t, got.Authentic)
			require.NotEqual(t, id, got.Object["id"])
		},
		"garbage": func(t *testing.T, r *rig, _ string) {
			t.Helper()
			got := r.shop.wait(t, 1)[0]
			require.True(t, got.Authentic)
			require.Empty(t, got.ID)
		},
		"error_before": func(t *testing.T, r *rig, _ string) {
			t.Helper()
			r.shop.wait(t, 1)
			require.Equal(t, []string{"error_before", "200"}, r.outcomes("webhooks.send"))
		},
		"error_after": func(t *testing.T, r *rig, _ string) {
			t.Helper()
			got := r.shop.wait(t, 2)
			require.Equal(t, got[0].ID, got[1].ID)
			require.Equal(t, []string{"error_after", "200"}, r.outcomes("webhooks.send"))
		},
	} {
		t.Run(do, func(t *testing.T) {
			t.Parallel()
			r := start(t)
			r.fault(object{"on": "webhooks.send", "do": do})
			id, _ := r.payment()
			check(t, r, id)
		})
	}
}

func TestDelayedWebhook(t *testing.T) {
	t.Parallel()
	r := start(t)
	begun := time.Now()
	r.fault(object{"on": "webhooks.send", "do": "delay", "delayMs": 300})
	r.payment()
	require.GreaterOrEqual(t, r.shop.wait(t, 1)[0].At.Sub(begun), 300*time.Millisecond)
}

func TestWebhookBeforeTheResponse(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.fault(object{"on": "webhooks.send", "do": "before_response"})
	id, _ := r.payment()
	got := r.shop.hooks() // no waiting
	require.Len(t, got, 1)
	require.Equal(t, id, got[0].Object["id"])
	require.Equal(t, "payments.create", r.ledger().Calls[0].On, "the effect is in the ledger first")
	r.shop.wait(t, 1)
}

func TestWebhookFilterByPaymentCoversItsRefunds(t *testing.T) {
	t.Parallel()
	r := start(t)
	id, reference := r.payment()
	r.succeed(id)
	r.shop.wait(t, 2)
	r.fault(object{"on": "webhooks.send", "do": "lose", "reference": reference})
	require.Equal(t, 200, r.call("POST", "/v1/refunds", "", object{
		"paymentId": id, "amount": object{"amount": "1.00", "currency": "RUB"}, "reference": "back",
	}).status)
	r.shop.wait(t, 2)
}

func TestUndeliveredWebhooksSurviveRestarts(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.shop.answers(500, 500, 500)
	id, _ := r.payment()
	require.Eventually(t, func() bool { return len(r.shop.hooks()) > 0 }, 2*time.Second, time.Millisecond)
	r.reopen()
	require.Equal(t, "pending", r.call("GET", "/v1/payments/"+id, "", nil).body["status"])
	require.Eventually(t, func() bool {
		sent := r.outcomes("webhooks.send")
		return len(sent) > 0 && sent[len(sent)-1] == "200"
	}, 15*time.Second, 10*time.Millisecond)
	for _, h := range r.shop.hooks() {
		require.Equal(t, r.shop.hooks()[0].ID, h.ID)
	}
}

func TestControlEvents(t *testing.T) {
	t.Parallel()
	r := start(t)
	event := object{"id": "evt_own", "type": "payment.succeeded", "object": object{"id": "pay_x"}}
	send := func(in object) []any {
		got := r.call("POST", "/control/events", "", in)
		require.Equal(t, 200, got.status, got.raw)
		return got.body["statuses"].([]any)
	}
	require.Equal(t, []any{200., 200., 200.}, send(object{"event": event, "deliveries": 3}))
	for _, h := range r.shop.wait(t, 3) {
		require.True(t, h.Authentic)
		require.Equal(t, "evt_own", h.ID)
	}
	for _, signature := range []string{"bad", "old", "none"} {
		require.Equal(t, []any{401.}, send(object{"event": event, "signature": signature}))
	}
	require.Equal(t, []any{200.}, send(object{"event": "{not json"}), "a string is sent as its content")
	r.shop.wait(t, 7)
	r.shop.web.Close()
	require.Equal(t, []any{0.}, send(object{"event": event}), "nobody listens")
}

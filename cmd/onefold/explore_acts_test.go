package main

import (
	"encoding/json"
	"strconv"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"onefold/domain/fulfilment"
	"onefold/domain/provider"
)

// correct is support storing another address for parcels that the carrier refused.
func (r *schedule) correct(t *rapid.T) {
	err := fulfilment.Correct(t.Context(), r.pool, r.anyOrder(t), provider.Address{
		Name: "Ann", Line1: strconv.Itoa(rapid.IntRange(1, 3).Draw(t, "house")) + " Road", City: "Town", Postcode: "1000", Country: "DE",
	})
	r.refused(err)
}

// press is an operator who wants something looked at now, whatever its next look and whoever owns it.
func (r *schedule) press(t *rapid.T) {
	_, err := r.pool.Exec(t.Context(), `UPDATE operations SET next_attempt_at = now() WHERE status = 'PROCESSING' AND order_id = $1`, r.anyOrder(t))
	require.NoError(t, err)
	for _, id := range r.due() {
		if rapid.Bool().Draw(t, "at once") {
			r.execute(id)
		}
	}
}

// forge delivers an authentic event that tells something else than the one it was made from: the same fact under another ID, another
// payload under the same ID, or facts that contradict ours.
func (r *schedule) forge(t *rapid.T) {
	body, ok := r.take(t, true)
	if !ok {
		return
	}
	var event map[string]any
	require.NoError(t, json.Unmarshal(body, &event))
	object, _ := event["object"].(map[string]any)
	amount, _ := object["amount"].(map[string]any)
	what := rapid.SampledFrom([]string{"second event", "other payload", "wrong amount", "wrong currency", "unknown object", "second payment"}).Draw(t, "what")
	if what != "other payload" {
		event["id"] = "evt_" + uuid.NewString()
	}
	switch what {
	case "other payload":
		event["createdAt"] = "2026-01-01T00:00:00Z"
	case "wrong amount", "wrong currency":
		if amount == nil {
			return // a parcel has none
		}
		if amount["amount"] = "1.00"; what == "wrong currency" {
			amount["currency"] = "USD"
		}
	case "unknown object":
		object["id"], object["reference"] = "pay_"+uuid.NewString(), uuid.NewString()
	case "second payment":
		// The first authentic word about money is believed; only while it claims none, a look can still find the right payment.
		var known bool
		err := r.pool.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM payments WHERE id::text = $1 AND provider_payment_id IS NOT NULL)`, object["reference"]).Scan(&known)
		require.NoError(t, err)
		if !known && object["status"] != "pending" {
			return
		}
		object["id"] = "pay_" + uuid.NewString()
	}
	told, err := json.Marshal(event)
	require.NoError(t, err)
	r.receive(told)
}

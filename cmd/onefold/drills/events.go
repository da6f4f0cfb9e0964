package drills

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/google/uuid"
)

// bought places one order and returns it with the provider's ID of its payment.
func (r *runner) bought() (orderID, paymentID string, err error) {
	a, err := r.place(r.prefix, orderBody(1))
	if err != nil {
		return "", "", err
	}
	if err := expect(a.Status == http.StatusCreated, "the order got %d %s", a.Status, a.Body); err != nil {
		return "", "", err
	}
	paymentID, err = r.payable(a.field("orderId"))
	return a.field("orderId"), paymentID, err
}

// event sends a webhook about a payment as it is now, or with another status, under an ID of its own.
func (r *runner) event(id, kind, paymentID, status string, deliveries int) error {
	a, err := r.send(http.MethodGet, r.Sim+"/v1/payments/"+paymentID, nil, "")
	if err != nil {
		return err
	}
	var object map[string]any
	if err := json.Unmarshal(a.Body, &object); err != nil {
		return fmt.Errorf("read payment: %w", err)
	}
	object["status"] = status
	return r.control(http.MethodPost, "/control/events", map[string]any{
		"deliveries": deliveries, "signature": "good",
		"event": map[string]any{"id": id, "type": kind, "createdAt": object["createdAt"], "object": object},
	})
}

func (r *runner) fault(on, do, reference string) error {
	return r.control(http.MethodPost, "/control/faults", map[string]any{"on": on, "do": do, "times": 1, "reference": reference})
}

// reference is our name of an order's only payment at the provider.
func (r *runner) reference(orderID string) (id string, err error) {
	err = r.DB.QueryRow(r.ctx, `SELECT id::text FROM payments WHERE order_id = $1`, orderID).Scan(&id)
	if err != nil {
		return "", fmt.Errorf("read payment: %w", err)
	}
	return id, nil
}

const deliveries = 20

func webhookTwice(r *runner) error {
	orderID, paymentID, err := r.bought()
	if err != nil {
		return err
	}
	reference, err := r.reference(orderID)
	if err != nil {
		return err
	}
	if err := r.fault("webhooks.send", "lose", reference); err != nil { // the provider's own; ours replaces it
		return err
	}
	if err := r.pay(orderID); err != nil {
		return err
	}
	id := "evt_" + uuid.NewString()
	if err := r.event(id, "payment.succeeded", paymentID, "succeeded", deliveries); err != nil {
		return err
	}
	if err := r.fulfilled(orderID); err != nil {
		return err
	}
	r.result.Sent = fmt.Sprintf("1 event, delivered %d times at one moment", deliveries)
	var counted, paid int
	if err := r.await("every delivery", func() (bool, error) {
		err := r.DB.QueryRow(r.ctx, `SELECT deliveries, (SELECT count(*) FROM outbox_events WHERE order_id = $2 AND event_type = 'ORDER_PAID')
			FROM incoming_events WHERE event_id = $1`, id, orderID).Scan(&counted, &paid)
		return counted == deliveries, err
	}); err != nil {
		return err
	}
	r.result.Absorbed, r.result.Calls = fmt.Sprintf("%d repeats", counted-1), counted
	return expect(paid == 1, "%d ORDER_PAID events", paid)
}

// verdicts lists what became of a payment's events of one type.
func (r *runner) verdicts(paymentID, kind string) (list []string, err error) {
	err = r.DB.QueryRow(r.ctx, `SELECT coalesce(array_agg(status ORDER BY status), '{}') FROM incoming_events
		WHERE object_id = $1 AND event_type = $2 AND status <> 'RECEIVED'`, paymentID, kind).Scan(&list)
	if err != nil {
		return nil, fmt.Errorf("read verdicts: %w", err)
	}
	return list, nil
}

func twoEventsOneFact(r *runner) error {
	orderID, paymentID, err := r.bought()
	if err != nil {
		return err
	}
	if err := r.pay(orderID); err != nil {
		return err
	}
	if err := r.fulfilled(orderID); err != nil {
		return err
	}
	if err := r.event("evt_"+uuid.NewString(), "payment.succeeded", paymentID, "succeeded", 1); err != nil {
		return err
	}
	r.result.Sent, r.result.Absorbed, r.result.Calls = "2 events with their own IDs about one payment", "1 event: NO_CHANGE", 2
	return r.await("both verdicts", func() (bool, error) {
		list, err := r.verdicts(paymentID, "payment.succeeded")
		return len(list) == 2 && list[0] == "APPLIED" && list[1] == "NO_CHANGE", err
	})
}

func outOfOrder(r *runner) error {
	orderID, paymentID, err := r.bought()
	if err != nil {
		return err
	}
	if err := r.pay(orderID); err != nil {
		return err
	}
	if err := r.fulfilled(orderID); err != nil {
		return err
	}
	id := "evt_" + uuid.NewString()
	if err := r.event(id, "payment.pending", paymentID, "pending", 1); err != nil {
		return err
	}
	r.result.Sent, r.result.Absorbed, r.result.Calls = "payment.succeeded, then an older payment.pending", "1 event: STALE", 2
	return r.await("the verdict", func() (bool, error) {
		var event, order, payment string
		err := r.DB.QueryRow(r.ctx, `SELECT e.status, o.status, p.status FROM incoming_events e, orders o, payments p
			WHERE e.event_id = $1 AND o.id = $2 AND p.order_id = o.id`, id, orderID).Scan(&event, &order, &payment)
		return event == "STALE" && order == "FULFILLED" && payment == "SUCCEEDED", err
	})
}

// providerTimeout: the provider books the payment, hangs up, and loses its webhook. The executor looks before it repeats.
func providerTimeout(r *runner) error {
	if err := r.fault("payments.create", "drop_after", ""); err != nil {
		return err
	}
	if err := r.fault("webhooks.send", "lose", ""); err != nil { // or payment.pending would tell us first
		return err
	}
	orderID, paymentID, err := r.bought()
	if err != nil {
		return err
	}
	r.result.Sent = "1 call whose answer the provider lost after booking, and the next look"
	var tries, objects int
	err = r.DB.QueryRow(r.ctx, `SELECT attempt, (SELECT count(DISTINCT provider_key) FROM payments WHERE order_id = $1)
		FROM operations WHERE order_id = $1 AND type = 'CREATE_PAYMENT'`, orderID).Scan(&tries, &objects)
	if err != nil {
		return fmt.Errorf("read tries: %w", err)
	}
	r.result.Absorbed, r.result.Calls = fmt.Sprintf("%d tries found payment %s by one key", tries, paymentID), tries
	if err := expect(tries > 1 && objects == 1, "%d tries, %d keys", tries, objects); err != nil {
		return err
	}
	return r.finish()
}

// crashAfterEffect leaves the job as a worker leaves it that dies after the licence is written and before the job is done, and
// lets River run it again. (The e2e suite does the same with kill -9.)
func crashAfterEffect(r *runner) error {
	orderID, _, err := r.bought()
	if err != nil {
		return err
	}
	if err := r.finish(); err != nil {
		return err
	}
	before, err := r.licenses(orderID)
	if err != nil {
		return err
	}
	var job int64
	err = r.DB.QueryRow(r.ctx, `UPDATE river_job SET state = 'available', finalized_at = NULL, scheduled_at = now() WHERE kind = 'issue_licenses'
		AND args->>'operation_id' = (SELECT id::text FROM operations WHERE order_id = $1 AND type = 'ISSUE_LICENSES') RETURNING id`, orderID).Scan(&job)
	if err != nil {
		return fmt.Errorf("give the job back: %w", err)
	}
	r.result.Sent, r.result.Absorbed, r.result.Calls = "1 licence job, run again after its effect", "1 run: the licence is there", 2
	if err := r.await("the second run", func() (bool, error) {
		var done bool
		err := r.DB.QueryRow(r.ctx, `SELECT state = 'completed' AND attempt > 1 FROM river_job WHERE id = $1`, job).Scan(&done)
		return done, err
	}); err != nil {
		return err
	}
	after, err := r.licenses(orderID)
	if err != nil {
		return err
	}
	return expect(before == after && before != "", "licences were %q and are %q", before, after)
}

func (r *runner) licenses(orderID string) (keys string, err error) {
	err = r.DB.QueryRow(r.ctx, `SELECT coalesce(string_agg(license_key, ',' ORDER BY order_item_id, unit), '') FROM licenses WHERE order_id = $1`, orderID).Scan(&keys)
	if err != nil {
		return "", fmt.Errorf("read licences: %w", err)
	}
	return keys, nil
}

package fulfilment_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"onefold/domain/fulfilment"
	"onefold/domain/inbox"
	"onefold/domain/order"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/provider"
	"onefold/domain/store/storetest"
)

const ship = fulfilment.ShipParcel

// CASES C31 a: the carrier has made the label and its answer is lost.
func TestC31aLostAnswerAdoptsTheLabel(t *testing.T) {
	t.Parallel()
	for _, lost := range []string{"drop_after", "error_after", "garbage"} {
		d := newDepot(t)
		id := d.paid(t, 1)
		d.fault(t, "shipments.create", lost, 1)
		d.work(t, ship)
		require.Equal(t, "UNKNOWN PROCESSING", d.only(t, id).State+" "+d.only(t, id).Operation)
		require.Len(t, d.labels(t), 1)
		d.clean(t)
		d.work(t, ship, ship)
		d.otherEffects(t)
		require.Equal(t, "PAID", d.status(t, id))
		d.finish(t)
		require.Equal(t, "FULFILLED", d.status(t, id))
		d.shipped(t, id, 1)
		require.Contains(t, d.mailer.Accepted()[0].Text, d.labels(t)[0].Tracking)
	}
}

// CASES C31 b: two dispatches and the operator's button at one moment.
func TestC31bTwoDispatchesAtABarrier(t *testing.T) {
	t.Parallel()
	d := newDepot(t)
	id := d.paid(t, 1)
	op := d.running(t, ship)[0]
	codes := make([]string, 12)
	together(12, func(i int) {
		if i%3 == 2 {
			codes[i] = d.correct(t, id, "Other Street 2")
			return
		}
		if err := d.executor.Execute(t.Context(), op); err != nil {
			t.Errorf("execute: %v", err)
		}
	})
	for i, c := range codes {
		require.Equal(t, i%3 == 2, c == "ORDER_STATE", "the button is refused while nothing has failed")
	}
	d.finish(t)
	d.shipped(t, id, 1)
	require.Equal(t, "Main Street 1", d.labels(t)[0].Address.Line1)
}

// CASES C31 c: the carrier refuses the address; an operator corrects it, twice and at one moment; nobody needs SQL.
func TestC31cRefusedAddressIsCorrected(t *testing.T) {
	t.Parallel()
	d := newDepot(t)
	id := d.paid(t, 1)
	d.otherEffects(t)
	d.fault(t, "shipments.create", "reject", 1)
	d.work(t, ship, ship)
	p := d.only(t, id)
	require.Equal(t, []string{"FAILED", "address_rejected", "FAILED", "SHIPMENT_FAILED"}, []string{p.State, p.Failure, p.Operation, p.Code})
	d.finish(t)
	require.Equal(t, "PAID", d.status(t, id), "a person has to look")
	require.Empty(t, d.labels(t))
	require.Contains(t, d.mailer.Accepted()[0].Text, "tracking number will be", "the receipt doesn't wait for people")
	d.clean(t)

	require.Equal(t, "VALIDATION_FAILED", d.correct(t, id, ""))
	together(8, func(int) { require.Empty(t, d.correct(t, id, "Main Street 2")) })
	require.Empty(t, d.correct(t, id, "Main Street 3"), "nothing was sent yet")
	require.Len(t, d.running(t, ship), 1)
	d.clean(t)
	together(4, func(int) {
		for _, op := range d.running(t, ship) {
			if err := d.executor.Execute(t.Context(), op); err != nil {
				t.Errorf("execute: %v", err)
			}
		}
	})
	require.Equal(t, "ORDER_STATE", d.correct(t, id, "Main Street 4"), "it is bought")
	d.shipped(t, id, 1)
	require.Equal(t, 2, d.only(t, id).Attempt)
	require.Equal(t, "Main Street 3", d.labels(t)[0].Address.Line1)
	require.Equal(t, "FULFILLED", d.status(t, id), "the refused attempt doesn't hold the order up")
	require.Equal(t, 1, paymenttest.Count(t, d.db, `SELECT count(*) FROM operations WHERE key = $1 AND status = 'COMPLETED'`, "delivery:create:order:"+id.String()+":1:2"))
}

// CASES C31 d: killed between the call and its record; another process takes the lease over, and the late owner changes nothing.
func TestC31dKilledBetweenCallAndRecord(t *testing.T) {
	t.Parallel()
	d := newDepot(t)
	id := d.paid(t, 1)
	op := d.running(t, ship)[0]
	stuck := &door{Client: d.client, reached: make(chan struct{}), open: make(chan struct{})}
	late := make(chan error, 1)
	go func() { late <- d.worker(stuck).Execute(t.Context(), op) }()
	<-stuck.reached
	require.NoError(t, d.executor.Execute(t.Context(), op), "leased by the other")
	require.Equal(t, "SUBMITTING", d.only(t, id).State)
	paymenttest.MakeDue(t, d.db)
	d.work(t, ship)
	d.shipped(t, id, 1)
	close(stuck.open)
	require.NoError(t, <-late)
	d.shipped(t, id, 1)
	require.Equal(t, 1, paymenttest.Count(t, d.db, `SELECT count(*) FROM journal WHERE kind = 'operation.late_owner' AND operation_id = $1`, op))
	require.Equal(t, 1, paymenttest.Count(t, d.db, `SELECT count(*) FROM journal WHERE kind = 'shipment.succeeded' AND order_id = $1`, id))
}

// CASES C31 e: the carrier can't be asked: the outcome stays unknown, nothing is bought again, and no button may.
func TestC31eLookupDownStaysUnknown(t *testing.T) {
	t.Parallel()
	d := newDepot(t)
	id := d.paid(t, 1)
	d.fault(t, "shipments.create", "drop_after", 1)
	for _, do := range []string{"error_before", "busy", "rate_limit", "garbage", "drop_after", "error_before"} {
		d.fault(t, "shipments.get", do, 1)
	}
	for range 7 {
		d.work(t, ship)
		require.Equal(t, "UNKNOWN PROCESSING", d.only(t, id).State+" "+d.only(t, id).Operation)
		require.Equal(t, "ORDER_STATE", d.correct(t, id, "Main Street 2"))
	}
	require.Len(t, d.labels(t), 1)
	d.clean(t)
	d.work(t, ship)
	d.shipped(t, id, 1)
}

// CASES C31 f: one label for each parcel number, whichever answer is lost.
func TestC31fTwoParcels(t *testing.T) {
	t.Parallel()
	d := newDepot(t)
	id := d.paid(t, 11)
	d.otherEffects(t)
	d.fault(t, "shipments.create", "drop_after", 1)
	require.Len(t, d.running(t, ship), 2)
	d.work(t, ship)
	require.Equal(t, "PAID", d.status(t, id))
	d.finish(t)
	require.Equal(t, "FULFILLED", d.status(t, id))
	d.shipped(t, id, 2)
	list := d.parcels(t, id)
	require.NotEqual(t, list[0].Tracking, list[1].Tracking)
	for _, p := range list {
		require.Contains(t, d.mailer.Accepted()[0].Text, p.Tracking)
	}
	require.Equal(t, 2, paymenttest.Count(t, d.db, `SELECT count(*) FROM shipments WHERE provider_key IN ($1, $2)`,
		"delivery:create:order:"+id.String()+":1", "delivery:create:order:"+id.String()+":2"))
}

// The opposite wedge: the key is spoilt at the carrier for ever. Once it is proved that nothing arrived, another one may be tried.
func TestC31gASpoiltKeyIsNotTheEnd(t *testing.T) {
	t.Parallel()
	d := newDepot(t)
	id := d.paid(t, 1)
	d.fault(t, "shipments.create", "error_sticky", 1)
	for range 4 {
		d.work(t, ship)
		require.Equal(t, "UNKNOWN", d.only(t, id).State)
	}
	d.work(t, ship)
	require.Equal(t, "FAILED not_at_carrier", d.only(t, id).State+" "+d.only(t, id).Failure)
	d.clean(t)
	require.Empty(t, d.correct(t, id, "Main Street 1"))
	d.finish(t)
	d.shipped(t, id, 1)
	require.Equal(t, "FULFILLED", d.status(t, id))
}

// What wasn't sent when all of the money went back is not sent any more; what may have been is looked for.
func TestARefundedOrderIsNotShipped(t *testing.T) {
	t.Parallel()
	t.Run("planned", func(t *testing.T) {
		t.Parallel()
		d := newDepot(t)
		id := d.paid(t, 11)
		d.refund(t, id)
		d.finish(t)
		require.Empty(t, d.labels(t))
		require.Empty(t, d.parcels(t, id))
		require.Equal(t, 2, paymenttest.Count(t, d.db, `SELECT count(*) FROM journal WHERE order_id = $1 AND kind = 'effect.skipped' AND detail ->> 'type' = 'SHIP_PARCEL'`, id))
		d.clean(t)
	})
	t.Run("correction planned", func(t *testing.T) {
		t.Parallel()
		d := newDepot(t)
		id := d.paid(t, 1)
		d.fault(t, "shipments.create", "reject", 1)
		d.work(t, ship)
		require.Empty(t, d.correct(t, id, "Main Street 2"))
		d.refund(t, id)
		d.finish(t)
		require.Empty(t, d.labels(t))
		require.Equal(t, "ORDER_STATE", d.correct(t, id, "Main Street 3"))
		d.clean(t)
	})
	t.Run("unknown, and not there", func(t *testing.T) {
		t.Parallel()
		d := newDepot(t)
		id := d.paid(t, 1)
		d.fault(t, "shipments.create", "error_before", 1)
		d.work(t, ship)
		d.refund(t, id)
		for range 4 {
			require.Equal(t, "UNKNOWN", d.only(t, id).State)
			d.work(t, ship)
		}
		require.Equal(t, "FAILED order_refunded COMPLETED", d.only(t, id).State+" "+d.only(t, id).Failure+" "+d.only(t, id).Operation)
		require.Empty(t, d.labels(t))
		d.clean(t)
	})
	t.Run("unknown, and there", func(t *testing.T) {
		t.Parallel()
		d := newDepot(t)
		id := d.paid(t, 1)
		d.fault(t, "shipments.create", "drop_after", 1)
		d.work(t, ship)
		d.refund(t, id)
		d.work(t, ship)
		d.shipped(t, id, 1)
		require.Equal(t, "REFUNDED", d.status(t, id))
	})
}

// reworded is a webhook under another event ID, with members of its object replaced.
func reworded(t *testing.T, body []byte, object map[string]any) []byte {
	t.Helper()
	var e map[string]any
	require.NoError(t, json.Unmarshal(body, &e))
	e["id"] = "evt_" + uuid.NewString()
	maps.Copy(e["object"].(map[string]any), object)
	out, err := json.Marshal(e)
	require.NoError(t, err)
	return out
}

func TestDeliveryIsNotedOnce(t *testing.T) {
	t.Parallel()
	d := newDepot(t)
	id := d.paid(t, 1)
	d.work(t, ship)
	d.control(t, "/control/shipments/"+d.labels(t)[0].ID+"/deliver", "")
	body := d.hook(t)
	status, _ := d.hear(t, body)
	require.Equal(t, inbox.Applied, status)
	require.True(t, d.only(t, id).Delivered)
	for range 2 {
		status, _ = d.hear(t, reworded(t, body, nil))
		require.Equal(t, inbox.NoChange, status)
	}
	require.Equal(t, 1, paymenttest.Count(t, d.db, `SELECT count(*) FROM journal WHERE order_id = $1 AND kind = 'shipment.delivered'`, id))
	status, reason := d.hear(t, reworded(t, body, map[string]any{"id": "shp_other"}))
	require.Equal(t, "QUARANTINED second_label", string(status)+" "+reason)
	d.shipped(t, id, 1)

	stranger := reworded(t, body, map[string]any{"id": "shp_stranger", "reference": uuid.NewString()})
	status, _ = d.hear(t, stranger)
	require.Equal(t, inbox.Received, status, "it may be ours, and early")
	status, reason = d.hear(t, stranger)
	require.Equal(t, "QUARANTINED unknown_object", string(status)+" "+reason)
	d.clean(t)
}

// A carrier's event is knowledge: it ends an attempt whose answer was lost, and calls a person to one that had failed.
func TestAnEventIsKnowledge(t *testing.T) {
	t.Parallel()
	d := newDepot(t)
	id := d.paid(t, 1)
	d.otherEffects(t)
	d.fault(t, "shipments.create", "drop_after", 1)
	d.work(t, ship)
	d.control(t, "/control/shipments/"+d.labels(t)[0].ID+"/deliver", "")
	body := d.hook(t)
	status, _ := d.hear(t, body)
	require.Equal(t, inbox.Applied, status)
	require.True(t, d.only(t, id).Delivered)
	d.finish(t)
	require.Equal(t, "FULFILLED", d.status(t, id))
	d.shipped(t, id, 1)

	second := d.paid(t, 1)
	d.fault(t, "shipments.create", "reject", 1)
	d.work(t, ship)
	var reference string
	paymenttest.Read(t, d.db, `SELECT id::text FROM shipments WHERE order_id = $1`, []any{second}, &reference)
	status, reason := d.hear(t, reworded(t, body, map[string]any{"id": "shp_2", "reference": reference}))
	require.Equal(t, "QUARANTINED label_after_failed", string(status)+" "+reason)
	require.Equal(t, 1, paymenttest.Count(t, d.db, `SELECT count(*) FROM orders WHERE id = $1 AND needs_review`, second))
	d.clean(t)
}

// The receipt waits for tracking numbers, but not for a carrier that is silent for hours.
func TestTheReceiptWaitsForLabelsForAMinute(t *testing.T) {
	t.Parallel()
	d := newDepot(t)
	d.paid(t, 1)
	d.otherEffects(t)
	d.work(t, fulfilment.SendNotification)
	require.Zero(t, d.mailer.Sends())
	d.exec(t, `UPDATE operations SET created_at = now() - interval '61 seconds' WHERE type = 'SEND_NOTIFICATION'`)
	d.work(t, fulfilment.SendNotification)
	require.Contains(t, d.mailer.Accepted()[0].Text, "tracking number will be")
	d.finish(t)
	require.Equal(t, 1, d.mailer.Sends())
	d.clean(t)
}

func TestCorrectOnlyWhatIsThere(t *testing.T) {
	t.Parallel()
	d := newDepot(t)
	require.Equal(t, "NOT_FOUND", d.correct(t, uuid.New(), "Main Street 2"))
	id := d.paid(t, 1)
	require.Equal(t, "ORDER_STATE", d.correct(t, id, "Main Street 2"), "nothing was tried yet")
	var line string
	paymenttest.Read(t, d.db, `SELECT delivery -> 'address' ->> 'line1' FROM orders WHERE id = $1`, []any{id}, &line)
	require.Equal(t, "Main Street 1", line)
}

// The machine is total, agrees with the schema, and never steps back.
func TestTheShipmentMachine(t *testing.T) {
	t.Parallel()
	allowed := map[string]bool{
		"CREATED SUBMITTING": true, "SUBMITTING UNKNOWN": true, "SUBMITTING SUCCEEDED": true, "SUBMITTING FAILED": true,
		"UNKNOWN SUCCEEDED": true, "UNKNOWN FAILED": true,
	}
	for _, from := range fulfilment.ShipmentStates() {
		for _, to := range fulfilment.ShipmentStates() {
			require.Equal(t, allowed[string(from)+" "+string(to)], from.CanMove(to), "%s → %s", from, to)
		}
	}
	var check string
	paymenttest.Read(t, storetest.Tx(t), `SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'shipments_status_check'`, nil, &check)
	for _, s := range fulfilment.ShipmentStates() {
		require.Contains(t, check, "'"+string(s)+"'")
	}
	require.Equal(t, len(fulfilment.ShipmentStates()), strings.Count(check, "::text,")+1)
}

func TestAnAddressIsNormalisedAndJudgedFieldByField(t *testing.T) {
	t.Parallel()
	var broken []string
	got := order.NormalAddress(provider.Address{Name: " Ann  Smith ", Line2: strings.Repeat("x", 201), Country: "de", City: "a\x00"}, func(field, rule, _ string) {
		broken = append(broken, field+" "+rule)
	})
	require.Equal(t, "Ann Smith", got.Name)
	require.Equal(t, "DE", got.Country)
	require.Equal(t, []string{
		"delivery.address.line1 required", "delivery.address.line2 max=200", "delivery.address.city max=200", "delivery.address.postcode required",
	}, broken)
}

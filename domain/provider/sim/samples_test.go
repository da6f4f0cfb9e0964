package sim_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"onefold/domain/provider"
	"onefold/domain/provider/providertest"
)

func event(kind string, object map[string]any) []byte {
	data, _ := json.Marshal(map[string]any{"id": "evt_1", "type": kind, "createdAt": "2026-11-29T10:00:00Z", "object": object})
	return data
}

func paymentObject(p provider.Payment, status provider.Status, failure string) map[string]any {
	return map[string]any{
		"id": p.ID, "status": status, "amount": p.Amount, "reference": p.Reference, "createdAt": p.CreatedAt, "failure": failure,
		"somethingNew": []int{1},
	}
}

func paymentSample(status provider.Status, failure string) providertest.Sample {
	kind := "payment." + string(status)
	return providertest.Sample{
		Name: kind,
		Body: func(p provider.Payment, _ provider.Refund) []byte {
			return event(kind, paymentObject(p, status, failure))
		},
		Want: func(p provider.Payment, _ provider.Refund) provider.Event {
			p.Status, p.FailureCode, p.ConfirmationURL = status, failure, ""
			return provider.Event{Type: kind, ObjectID: p.ID, Object: provider.Object{Payment: &p}}
		},
	}
}

func refundSample(status provider.Status, failure string) providertest.Sample {
	kind := "refund." + string(status)
	return providertest.Sample{
		Name: kind,
		Body: func(_ provider.Payment, r provider.Refund) []byte {
			return event(kind, map[string]any{
				"id": r.ID, "status": status, "paymentId": r.PaymentID, "amount": r.Amount, "createdAt": r.CreatedAt, "failure": failure,
			})
		},
		Want: func(_ provider.Payment, r provider.Refund) provider.Event {
			r.Status, r.FailureCode, r.Reference = status, failure, "" // made in the dashboard
			return provider.Event{Type: kind, ObjectID: r.ID, Object: provider.Object{Refund: &r}}
		},
	}
}

func shipmentSample() providertest.Sample {
	s := provider.Shipment{ID: "shp_1", Reference: "r-1", Tracking: "TP1", Delivered: true}
	return providertest.Sample{
		Name: "shipment.delivered",
		Body: func(provider.Payment, provider.Refund) []byte {
			return event("shipment.delivered", map[string]any{"id": s.ID, "status": "delivered", "reference": s.Reference, "tracking": s.Tracking, "parcels": 1})
		},
		Want: func(provider.Payment, provider.Refund) provider.Event {
			return provider.Event{Type: "shipment.delivered", ObjectID: s.ID, Object: provider.Object{Shipment: &s}}
		},
	}
}

// bareSample: another kind of object, or a word that isn't known yet.
func bareSample(kind string) providertest.Sample {
	return providertest.Sample{
		Name: kind,
		Body: func(provider.Payment, provider.Refund) []byte {
			return event(kind, map[string]any{"id": "x_1", "status": 5})
		},
		Want: func(provider.Payment, provider.Refund) provider.Event {
			return provider.Event{Type: kind, ObjectID: "x_1"}
		},
	}
}

func samples() []providertest.Sample {
	return []providertest.Sample{
		paymentSample(provider.Pending, ""), paymentSample(provider.Succeeded, ""), paymentSample(provider.Canceled, "card_declined"),
		refundSample(provider.Succeeded, ""), refundSample(provider.Failed, "refund_failed"),
		shipmentSample(), bareSample("shipment.lost"), bareSample("payment.disputed"), bareSample("refund.pending"), bareSample("account.updated"),
	}
}

func nonsense() [][]byte {
	good := `{"id":"evt_1","type":"payment.succeeded","createdAt":"2026-11-29T10:00:00Z","object":{"id":"pay_1","status":"succeeded",` +
		`"amount":{"amount":"1.00","currency":"RUB"},"reference":"r"}}`
	out := [][]byte{}
	for _, change := range [][2]string{
		{`"evt_1"`, `""`},
		{`"id":"evt_1",`, ``},
		{`"evt_1"`, `"evt\u0000"`},
		{`"evt_1"`, `7`},
		{`"evt_1"`, `"` + strings.Repeat("e", 256) + `"`},
		{`"payment.succeeded"`, `""`},
		{`"type":"payment.succeeded",`, ``},
		{`"payment.succeeded"`, `"payment\nsucceeded"`},
		{`"pay_1"`, `""`},
		{`"pay_1"`, `"pay\u0000"`},
		{`"pay_1"`, `{}`},
		{`"pay_1"`, `"` + strings.Repeat("p", 256) + `"`},
		{`"2026-11-29T10:00:00Z"`, `"yesterday"`},
		{`"succeeded",`, `"won",`},
		{`"1.00"`, `1.00`},
		{`"1.00"`, `"-1.00"`},
		{`"1.00"`, `"1.001"`},
		{`"1.00"`, `"1e3"`},
		{`"RUB"`, `"XYZ"`},
		{`"r"`, `"r","confirmationUrl":"javascript:alert(1)"`},
		{`"r"`, `"r\u0000"`},
		{`}}`, `}}}`},
		{`"r"`, "\"r\xff\""},
	} {
		body := strings.Replace(good, change[0], change[1], 1)
		if body == good {
			panic(fmt.Sprintf("no change: %v", change))
		}
		out = append(out, []byte(body))
	}
	return append(out, []byte(`{"id":"evt_1","type":"payment.succeeded","createdAt":"2026-11-29T10:00:00Z"}`),
		[]byte(`{"id":"evt_1","type":"odd","createdAt":"2026-11-29T10:00:00Z","object":null}`))
}

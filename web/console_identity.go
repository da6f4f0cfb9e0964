package web

import (
	"context"
	"fmt"
	"strconv"

	view "onefold/components/console"
	"onefold/components/i18n"
	"onefold/domain/console"
	"onefold/domain/inbox"
)

// identities lists every ID of an intent, those first that people ask about. All of them lead back to its page.
func identities(ctx context.Context, in console.Intent) []view.Identity {
	list := asked(in)
	for _, p := range in.Payments {
		list = append(list, paymentIDs(ctx, p)...)
	}
	for _, r := range in.Refunds {
		list = append(list, view.Identity{Kind: "refund", Value: r.ID.String(), Entity: "refund", State: r.Status, Note: r.Amount.String()})
	}
	for _, s := range in.Shipments {
		list = append(list, shipmentIDs(ctx, s)...)
	}
	for _, e := range in.Events {
		id := view.Identity{Kind: "event", Value: e.EventID, Entity: "inbox", State: string(e.Status), Minor: e.Status != inbox.Applied && e.Status != inbox.Quarantined}
		if e.Deliveries > 1 {
			id.Note = fmt.Sprintf("× %d", e.Deliveries)
		}
		list = append(list, id)
	}
	if in.Order != nil && in.Order.CartID.Valid {
		list = append(list, view.Identity{Kind: "cart", Value: in.Order.CartID.UUID.String(), Minor: true})
	}
	if in.Order != nil && in.Order.Email != "" {
		list = append(list, view.Identity{Kind: "user", Value: in.Order.Email, Masked: true})
	}
	return append(list, minorIDs(ctx, in)...)
}

// asked are the IDs of the intent itself.
func asked(in console.Intent) (list []view.Identity) {
	if o := in.Order; o != nil {
		list = append(list, view.Identity{Kind: "order", Value: o.ID.String(), Entity: "order", State: string(o.Status), Note: number(&o.Number)})
		if in.Root == nil { // retention has removed its operation; the ID still leads here
			list = append(list, view.Identity{Kind: "operation", Value: o.OperationID.String()})
		}
	}
	if l := in.Lead; l != nil {
		list = append(list, view.Identity{Kind: "lead", Value: l.ID.String()})
		if in.Root == nil {
			list = append(list, view.Identity{Kind: "operation", Value: l.OperationID.String()})
		}
	}
	if op := in.Root; op != nil {
		list = append(list, view.Identity{Kind: "operation", Value: op.ID.String(), Entity: "operation", State: string(op.Status), Note: string(op.Type)},
			view.Identity{Kind: "key", Value: op.Key})
	}
	return list
}

func paymentIDs(ctx context.Context, p console.Payment) []view.Identity {
	note := i18n.T(ctx, "intent.attempt", p.Attempt)
	if p.FailureCode != "" {
		note += " · " + p.FailureCode
	}
	list := []view.Identity{{Kind: "payment", Value: p.ID.String(), Entity: "payment", State: string(p.Status), Note: note}}
	if p.ProviderPaymentID != "" {
		list = append(list, view.Identity{Kind: "provider_payment", Value: p.ProviderPaymentID, Note: p.Provider})
	}
	return list
}

func shipmentIDs(ctx context.Context, s console.Shipment) []view.Identity {
	note := i18n.T(ctx, "intent.parcel", s.Parcel)
	if s.Attempt > 1 {
		note += " · " + i18n.T(ctx, "intent.attempt", s.Attempt)
	}
	if s.FailureCode != "" {
		note += " · " + s.FailureCode
	}
	list := []view.Identity{{Kind: "shipment", Value: s.ID.String(), Entity: "shipment", State: s.Status, Note: note}}
	if s.Tracking != "" {
		list = append(list, view.Identity{Kind: "tracking", Value: s.Tracking, Note: s.ProviderShipmentID})
	}
	return list
}

// minorIDs are shown on demand.
func minorIDs(ctx context.Context, in console.Intent) (list []view.Identity) {
	add := func(id view.Identity) {
		id.Minor = true
		list = append(list, id)
	}
	for _, o := range in.Operations {
		if in.Root != nil && o.ID == in.Root.ID {
			continue
		}
		add(view.Identity{Kind: "operation", Value: o.ID.String(), Entity: "operation", State: string(o.Status), Note: string(o.Type)})
		add(view.Identity{Kind: "key", Value: o.Key, Note: string(o.Type)})
	}
	for _, x := range in.Outbox {
		add(view.Identity{Kind: "outbox", Value: x.ID.String(), Entity: "outbox", State: x.State, Note: x.Type})
	}
	for _, l := range in.Licenses {
		id := view.Identity{Kind: "license", Value: l.Key, Masked: true}
		if l.RevokedAt != nil {
			id.Note = i18n.T(ctx, "intent.licenses.revoked")
		}
		add(id)
	}
	for _, t := range in.Traces {
		add(view.Identity{Kind: "trace", Value: t})
	}
	for _, j := range in.Jobs {
		add(view.Identity{Kind: "job", Value: strconv.FormatInt(j, 10)})
	}
	return list
}

package sim

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"onefold/domain/provider"
)

// Translate reads an authentic webhook. An event about another kind of object has its ID but no Object.
func (c *Client) Translate(body []byte) (provider.Event, error) {
	var in struct {
		ID        string          `json:"id"`
		Type      string          `json:"type"`
		CreatedAt time.Time       `json:"createdAt"`
		Object    json.RawMessage `json:"object"`
	}
	if !utf8.Valid(body) {
		return provider.Event{}, provider.Errorf(provider.Garbage, "the body is not UTF-8")
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return provider.Event{}, provider.Errorf(provider.Garbage, "the body is not an event: %w", err)
	}
	var object struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(in.Object, &object); err != nil {
		return provider.Event{}, provider.Errorf(provider.Garbage, "the event has no object: %w", err)
	}
	for _, id := range []string{in.ID, in.Type, object.ID} {
		if id == "" || !usable(id) {
			return provider.Event{}, provider.Errorf(provider.Garbage, "the event's id, type or object.id is missing or unusable")
		}
	}
	e := provider.Event{ID: in.ID, Type: in.Type, ObjectID: object.ID, CreatedAt: in.CreatedAt}
	if err := translateObject(&e, in.Object); err != nil {
		return provider.Event{}, &provider.Error{Kind: provider.Garbage, Err: err}
	}
	return e, nil
}

// translateObject adds the object of the event types that CONTRACT section 4 names; others stay without.
func translateObject(e *provider.Event, data []byte) error {
	switch {
	case isOneOf(e.Type, "payment.", provider.Pending, provider.Succeeded, provider.Canceled):
		var in payment
		if err := json.Unmarshal(data, &in); err != nil {
			return fmt.Errorf("read payment: %w", err)
		}
		out, err := in.translate()
		if err != nil {
			return err
		}
		e.Object.Payment = &out
	case isOneOf(e.Type, "refund.", provider.Succeeded, provider.Failed):
		var in refund
		if err := json.Unmarshal(data, &in); err != nil {
			return fmt.Errorf("read refund: %w", err)
		}
		out, err := in.translate()
		if err != nil {
			return err
		}
		e.Object.Refund = &out
	case e.Type == "shipment.delivered":
		var in shipment
		if err := json.Unmarshal(data, &in); err != nil {
			return fmt.Errorf("read shipment: %w", err)
		}
		out, err := in.translate()
		if err != nil {
			return err
		}
		e.Object.Shipment = &out
	}
	return nil
}

func isOneOf(kind, prefix string, words ...provider.Status) bool {
	rest, found := strings.CutPrefix(kind, prefix)
	for _, word := range words {
		if found && rest == string(word) {
			return true
		}
	}
	return false
}

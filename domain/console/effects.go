package console

import (
	"time"

	"onefold/domain/fulfilment"
	"onefold/domain/operation"
)

// Attempt is one technical try of the intent.
type Attempt struct {
	At    time.Time
	Guard string // what absorbed it; "" for the one that did the work
}

// Effect is one kind of consequence.
type Effect struct {
	Kind  string // licenses, bonus, mail, shipment or refund
	Count int
	State string // DONE, WAITING, UNKNOWN or FAILED
}

// isRepeat says that a journal row is another try of the same intent. A reused key with other content is not.
func isRepeat(kind string) bool {
	return kind == "operation.replayed" || kind == "operation.in_progress"
}

func (in *Intent) attempts() []Attempt {
	var list []Attempt
	var root operation.ID
	switch {
	case in.Root != nil:
		root, list = in.Root.ID, append(list, Attempt{At: in.Root.CreatedAt})
	case in.Order != nil:
		root, list = in.Order.OperationID, append(list, Attempt{At: in.Order.CreatedAt})
	}
	for _, e := range in.Timeline {
		if isRepeat(e.Kind) && e.OperationID.UUID == root {
			list = append(list, Attempt{At: e.At, Guard: e.Guard})
		}
	}
	return list
}

const (
	done    = "DONE"
	waiting = "WAITING"
	unknown = "UNKNOWN"
	failed  = "FAILED"
)

// effects lists what follows from the money, from the rows of the effects themselves; what has none yet, from its operation.
func (in *Intent) effects() []Effect {
	var list []Effect
	add := func(kind string, n int, t operation.Type) {
		state := ""
		if n > 0 {
			state = done
		}
		if o := in.operation(t); o != nil {
			switch o.Status {
			case operation.Processing:
				state = waiting
			case operation.Failed:
				state = failed
			case operation.Completed:
			}
		}
		if state != "" {
			list = append(list, Effect{kind, n, state})
		}
	}
	sent := 0
	for _, n := range in.Notifications {
		if n.SentAt != nil {
			sent++
		}
	}
	add("licenses", len(in.Licenses), fulfilment.IssueLicenses)
	add("bonus", len(in.Bonus), fulfilment.AccrueBonus)
	add("mail", sent, fulfilment.SendNotification)
	for _, s := range in.Shipments {
		list = append(list, Effect{"shipment", 1, outside(s.Status)})
	}
	for _, r := range in.Refunds {
		list = append(list, Effect{"refund", 1, outside(r.Status)})
	}
	return list
}

func (in *Intent) operation(t operation.Type) *Operation {
	for i, o := range in.Operations {
		if o.Type == t {
			return &in.Operations[i]
		}
	}
	return nil
}

// outside reads the state of a refund or shipment.
func outside(status string) string {
	switch status {
	case "SUCCEEDED":
		return done
	case unknown, failed:
		return status
	}
	return waiting
}

package console

import "strings"

// Lane says where an entry of the timeline happened.
type Lane string

// The lanes, in the order in which a request travels.
const (
	LaneHTTP      Lane = "http"         // a request came, or was answered without doing anything
	LaneOperation Lane = "operation"    // an operation was planned, or ended
	LaneDB        Lane = "db"           // a row of ours changed
	LaneOutbox    Lane = "outbox"       // a fact was written down, and its consequences planned
	LaneJob       Lane = "job"          // a worker
	LaneTo        Lane = "provider_out" // something left for the outside
	LaneFrom      Lane = "provider_in"  // the outside answered, or didn't
	LaneInbox     Lane = "inbox"        // the outside spoke by itself
	LaneReconcile Lane = "reconcile"    // the outside was asked again
	LaneOperator  Lane = "operator"     // a person pressed a button
	LaneMail      Lane = "mail"
)

// Lanes lists them in that order.
func Lanes() []Lane {
	return []Lane{
		LaneHTTP, LaneOperation, LaneDB, LaneOutbox, LaneJob, LaneTo, LaneFrom, LaneInbox, LaneReconcile, LaneOperator, LaneMail,
	}
}

// laneOf places a kind; source says how the outside was heard.
func laneOf(kind, source string) Lane {
	switch kind {
	case "operation.replayed", "operation.key_reused", "operation.in_progress":
		return LaneHTTP
	case "operation.postponed":
		return LaneFrom
	case "operation.late_owner", "operation.already_settled":
		return LaneJob
	}
	what, state, _ := strings.Cut(kind, ".")
	switch what {
	case "payment", "refund", "shipment":
		return laneOfOutside(state, source)
	case "order", "license", "bonus", "effect":
		return LaneDB
	case "inbox":
		return LaneInbox
	case "outbox":
		return LaneOutbox
	case "mail", "notification":
		return LaneMail
	case "operator", "audit", "user", "press":
		return LaneOperator
	case "reconcile":
		return LaneReconcile
	case "provider":
		return LaneFrom
	case "job":
		return LaneJob
	case "http":
		return LaneHTTP
	}
	return LaneOperation
}

// laneOfOutside places the moves of what lives outside, too: by who told us.
func laneOfOutside(state, source string) Lane {
	switch {
	case state == "submitting":
		return LaneTo
	case source == "answer" || source == "cancel" || state == "unknown":
		return LaneFrom
	case source == "lookup" || source == "watch":
		return LaneReconcile
	}
	return LaneDB // made here, or moved by an event, which has its own line
}

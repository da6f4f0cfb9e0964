// Package refund sends money back.
//
//	CREATED ─▶ SUBMITTING ─▶ SUCCEEDED | FAILED
//	               │               ▲
//	               ▼               │
//	            UNKNOWN ───────────┘
//
// A refund begins in one of three ways: an operator asks for it (REFUND_ORDER, which inserts the row and CREATE_REFUND), money
// came that its order couldn't take (REFUND_ORPHAN), or somebody made it at the provider without us and an event tells of it
// (EXTERNAL_REFUND, which begins and ends in that event's transaction). The reference at the provider is refunds.id.
//
// What the database decides: one refund per operation, one_refund_per_provider_object, and refunds_within_capture on the payment.
// What a refund may come to is decided under the order's lock from stored rows: all refunds that haven't failed count as spent,
// also those whose outcome isn't known. A refund that the provider hasn't decided yet is looked at until it has.
package refund

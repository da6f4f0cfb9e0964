// Package payment keeps payment attempts and everything that is known about them.
//
//	CREATED ─▶ SUBMITTING ─▶ PENDING ─▶ SUCCEEDED ─▶ PARTIALLY_REFUNDED ─▶ REFUNDED
//	                │  ▲        ▲  └──▶ CANCELED | FAILED
//	                ▼  │        │
//	              UNKNOWN ──────┴─────▶ SUCCEEDED | CANCELED | FAILED
//
// What the database decides: one_open_payment allows an order one attempt that isn't final; one_payment_per_provider_object
// ties a provider's object to one attempt; refunds_within_capture bounds refunds. A move is one conditional UPDATE under the
// locks operation, order, payment; its journal row is in the same batch.
//
// Money that its order can't take (a second success, one after the order was closed, one of an attempt that had ended
// otherwise) makes the attempt an orphan: orphaned_at is set and REFUND_ORPHAN (domain/refund) sends it back, once. The state of
// an attempt that had ended stays CANCELED or FAILED, since no step leads back from there; what came in and went back is in
// orphaned_at and refunded_minor.
//
// UNKNOWN ends only through knowledge: an answer from behind the provider's idempotency layer, a lookup, or an event. An
// event that claims something about money (amount, currency, reference) that differs from ours changes nothing but a flag.
package payment

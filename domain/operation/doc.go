// Package operation keeps one row per intent and makes sure that an intent has one result.
//
//	                    ┌────────────── work refused for good ──────────────▶ FAILED
//	claim ─▶ PROCESSING ┤
//	                    └────────────── work done / answer known ───────────▶ COMPLETED
//
// Local operations (an order) are claimed, worked and completed in one transaction by Runner: nobody ever sees them half
// done, and a crash leaves nothing. External operations (a payment at a provider, a mail) are inserted PROCESSING by the
// transaction that makes them necessary and carried on by Executor until the answer is known.
//
// What the database decides:
//   - operations_identity: who is first. A twin waits for it (bounded by lock_timeout) and then reads its result.
//   - two advisory locks, for the length of a claim's transaction, tell requests in flight apart before the winner's row can
//     be seen: one named by identity and fingerprint, which the first of equal requests holds while the others wait, and one named by the identity alone,
//     which only one of them can hold. Holding the first and missing the second for longer than a transaction needs to give
//     its locks back (0.1 s) proves that the same key is running with other content: IDEMPOTENCY_KEY_REUSED, without waiting
//     for its end. They decide nothing else.
//   - attempt and lease_expires_at: who may call outside. Every closing write carries the attempt it was leased with; a late
//     owner changes zero rows. All times are the database's.
//   - next_attempt_at: when somebody looks again. A PROCESSING row always has one (CHECK), so nothing is forgotten when a
//     job or a process dies.
package operation

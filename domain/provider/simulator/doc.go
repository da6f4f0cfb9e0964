// Package simulator is a payment company, a carrier and a mail server in one process, for demos and tests. It behaves as a good
// provider does (idempotency keys, signed webhooks with retries, a hosted page) and can be told to misbehave in every way real
// ones have been seen to. Nothing of it is known to onefold but its HTTP interface: the adapter is domain/provider/sim.
//
// # The ledger
//
// The ledger is a bbolt file of its own and the ground truth for tests. Every effect, its webhook and the row of the call are
// committed in one transaction BEFORE the answer is sent, so a killed client, a killed simulator or a dropped socket never
// leaves an effect that the ledger doesn't show. Concurrent requests share an fsync. Faults live in memory only.
//
// # Shapes
//
// Payment {id,status,amount,refunded?,reference,description?,returnUrl,metadata?,confirmationUrl?,failure?,createdAt}, status
// pending | succeeded | canceled; refunded is cumulative and confirmationUrl is there while pending. Refund
// {id,status,paymentId,amount,reference?,failure?,createdAt}, status pending | succeeded | failed; no reference = made in the
// dashboard. Shipment {id,status,reference,tracking,address,parcels,createdAt}, status created | delivered. Money is
// {amount,currency}. A query by reference answers {"items":[…]}, oldest first, empty when there is none; so do lists of faults.
// Refunds can also be listed by paymentId. POST /control/events answers {"statuses":[200,…]}, 0 for no answer.
// Errors are problem+json {type,title,status,code,detail,errors?:[{field,rule,message}]}; codes that an adapter needs: busy,
// key_reused, rate_limited, not_found; any other code of a 400, 402 or 422 is a final refusal.
//
// # Idempotency
//
// A key belongs to one kind of call. Required for payments.create, optional elsewhere. A repeat answers with the same object in
// its present state and `Idempotent-Replayed: true`. Final refusals are results and replay too; a 400 for bad input binds
// nothing. While the first call hasn't been answered, its key is busy.
//
// # Faults
//
// The oldest fault that matches is used, one per call. times defaults to 1, 0 means until removed; percent lets it hit only that
// share of what matches, by a dice that seed repeats. reference names the object's reference (for refunds also the payment's; for
// mails the recipient or Message-ID). drop_after, error_after, hang, delay and garbage book first and answer badly; error_before,
// busy, rate_limit and not_found do nothing; reject is a final refusal under that key. error_sticky books nothing unless
// "booked":true; what was booked before stays booked. hang ends when the caller leaves, or after delayMs. refunds.create also has
// `pending`: the refund stays open until POST /control/refunds/{id}/succeed|fail. POST /control/shipments/{id}/deliver sends
// shipment.delivered.
//
// Webhooks: reorder keeps an event back until another one of the same payment was sent (10 s at most); forge and garbage are
// sent once; error_before and error_after make the first delivery fail without or after being sent; before_response delivers
// before the call that caused the event is answered. Mail: error_before answers 451 and stores nothing, reject 550, error_after
// and drop_after store and close before the 250.
package simulator

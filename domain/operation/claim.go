package operation

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"onefold/domain/crash"
	"onefold/domain/fault"
	"onefold/domain/journal"
	"onefold/domain/store"
	"onefold/domain/trace"
)

// Runner executes local operations.
type Runner struct {
	DB        store.DB
	Retention time.Duration // how long a key and its result are kept after the end
	Wait      time.Duration // how long a request waits for its twin; keep it below the pool's lock timeout
}

// Claim is a request to do something once.
type Claim struct {
	Identity    Identity
	Fingerprint string
	// Final lists the fault codes that are results of this type: they bind the key and replay. Every other error binds
	// nothing, and the same key may try again.
	Final []string
	// Describe takes the command apart, so that people can compare two requests of one key; it is only called when a row is
	// written. Nil means that the command has nothing but its target.
	Describe func(f *Fields)
	// Reads adds statements to the claim's round trip; their results are there when Work starts. Nil means none. They may run
	// more than once.
	Reads func(b *pgx.Batch)
}

// Running is a claimed operation inside its transaction.
type Running struct {
	ID        ID
	Now       time.Time // the transaction's time by the database's clock
	claim     Claim
	retention time.Duration
	completed bool
}

// Work does the thing inside the claim's transaction. It may call Complete to save a round trip; if not, Run completes.
type Work func(tx pgx.Tx, op *Running) (Result, error)

// errRaced means that another row got the identity although the advisory locks said nobody would: run again and find it.
var errRaced = errors.New("identity was taken meanwhile")

// Complete queues the operation's row, which appears finished: a local operation is never seen half done.
func (op *Running) Complete(ctx context.Context, b *pgx.Batch, r Result) {
	op.completed = true
	queueEnded(ctx, b, op.claim, r, nil, op.retention)
}

// queueEnded inserts a finished row: COMPLETED with its resource, or FAILED with the code of its refusal.
func queueEnded(ctx context.Context, b *pgx.Batch, c Claim, r Result, failure *string, retention time.Duration) {
	i, status := c.Identity, Completed
	if failure != nil {
		status = Failed
	}
	b.Queue(`INSERT INTO operations (id, user_id, type, target, key, request_hash, status, attempt, order_id, resource_type, resource_id,
			response_code, response_body, failure_code, trace_id, request_fields, completed_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, 1, $8, nullif($9, ''), nullif($10, ''), $11, $12, $13, $14, $16, now(), now() + $15::interval)
		ON CONFLICT ON CONSTRAINT operations_identity DO NOTHING`,
		i.ID(), i.User, i.Type, i.Target, i.Key, c.Fingerprint, status, uuid.NullUUID{UUID: r.OrderID, Valid: r.OrderID != uuid.Nil},
		r.ResourceType, r.ResourceID, r.Code, r.Body, failure, trace.ID(ctx), retention, c.fields()).Exec(once)
}

// once insists that a statement wrote its row.
func once(tag pgconn.CommandTag) error {
	if tag.RowsAffected() == 0 {
		return errRaced
	}
	return nil
}

// Run executes work once for the claim's identity, or returns the result of the earlier execution.
//
// Errors: IDEMPOTENCY_KEY_REUSED (other fingerprint, also while the first still runs), OPERATION_IN_PROGRESS (the twin did
// not end within lock_timeout), and whatever work returns. After a COMMIT whose answer was lost it simply runs again: the
// identity finds what the first try left behind, waiting for it if it is still on its way.
func (r *Runner) Run(ctx context.Context, c Claim, work Work) (Outcome, error) {
	out, err := r.run(ctx, c, work)
	if err != nil {
		r.recordAbsorbed(ctx, c, err)
	}
	return out, err
}

// triesAtMost bounds how often a request starts again because others came and went before it.
const triesAtMost = 20

// cutsAtMost bounds how often it starts again because the answer to its COMMIT was lost.
const cutsAtMost = 3

func (r *Runner) run(ctx context.Context, c Claim, work Work) (Outcome, error) {
	earlier, err := r.look(ctx, c)
	if err != nil {
		return Outcome{}, err
	}
	if earlier.found {
		return r.replay(ctx, r.DB, c, earlier)
	}
	cut := 0 // commits whose answer was lost
	for range triesAtMost {
		out, err := r.try(ctx, c, work)
		switch {
		case errors.Is(err, store.ErrCommitUnknown):
			if cut++; cut == cutsAtMost {
				return Outcome{}, unavailable(c, err)
			}
			continue
		case errors.Is(err, errRaced):
			stepAside(ctx)
			continue
		}
		out.Replayed = out.Replayed && cut == 0
		return out, err
	}
	return Outcome{}, inProgress(c.Identity.ID())
}

// unavailable is the answer when the database decided nothing: the same request may succeed later.
func unavailable(c Claim, cause error) error {
	return &fault.Error{
		Kind: fault.Unavailable, Code: "TEMPORARILY_UNAVAILABLE", Message: "Please send the same request again.",
		RetryAfter: time.Second, OperationID: c.Identity.ID().String(), Err: cause,
	}
}

// stepAside lets whoever was first store what came of it, instead of racing it for the identity.
func stepAside(ctx context.Context) {
	pause := time.NewTimer(time.Duration(1+rand.IntN(10)) * time.Millisecond) //nolint:gosec // jitter, not a secret
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-ctx.Done():
	}
}

const recordSQL = `SELECT status, request_hash, order_id, resource_type, resource_id, response_code, response_body, failure_code, trace_id, coalesce(expires_at < now(), false)
	FROM operations WHERE id = $1`

// look reads the row without any lock: most repeats come when the first try is long over.
func (r *Runner) look(ctx context.Context, c Claim) (earlier record, err error) {
	if err := earlier.scan(r.DB.QueryRow(ctx, recordSQL, c.Identity.ID())); err != nil {
		return earlier, fmt.Errorf("read operation: %w", err)
	}
	return earlier, nil
}

func (r *Runner) try(ctx context.Context, c Claim, work Work) (Outcome, error) {
	var out Outcome
	err := store.InTx(ctx, r.DB, func(tx pgx.Tx) error {
		won, now, err := r.claimOrReplay(ctx, tx, c, &out)
		if err != nil || !won {
			return err
		}
		op := &Running{ID: c.Identity.ID(), Now: now, claim: c, retention: r.Retention}
		result, err := work(tx, op)
		if refusal := finalRefusal(c, err); refusal != nil {
			out, err = r.refuse(ctx, tx, c, refusal)
			return err
		}
		if err != nil {
			return fmt.Errorf("%w%w", errWorking, err)
		}
		out = Outcome{ID: op.ID, Result: result, TraceID: trace.ID(ctx)}
		if err := op.finish(ctx, tx, result); err != nil {
			return err
		}
		crash.Point(crash.BeforeCommit, string(c.Identity.Type))
		return nil
	})
	switch {
	case err == nil:
		crash.Point(crash.AfterCommit, string(c.Identity.Type))
		return out, nil
	case store.IsLockTimeout(err):
		return Outcome{}, waitedInVain(c, err)
	}
	return Outcome{}, err
}

// errWorking marks errors that came after the claim; it adds no text.
var errWorking = errors.New("")

func (op *Running) finish(ctx context.Context, tx pgx.Tx, result Result) error {
	if op.completed {
		return nil
	}
	b := &pgx.Batch{}
	op.Complete(ctx, b, result)
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("complete operation: %w", err)
	}
	return nil
}

// finalRefusal is err if it is a result that binds the key, else nil.
func finalRefusal(c Claim, err error) *fault.Error {
	e, ok := fault.Of(err)
	if ok && e.Kind == fault.Conflict && slices.Contains(c.Final, e.Code) {
		return e
	}
	return nil
}

// claimOrReplay takes the identity, or fills replayed with what an earlier try left there.
func (r *Runner) claimOrReplay(ctx context.Context, tx pgx.Tx, c Claim, replayed *Outcome) (won bool, now time.Time, err error) {
	for {
		var earlier record
		won, now, err = r.claim(ctx, tx, c, &earlier)
		switch {
		case err != nil:
			return false, now, err
		case earlier.found:
			*replayed, err = r.replay(ctx, tx, c, earlier)
			return false, now, err
		case won:
			return true, now, nil
		case !earlier.alone:
			return false, now, errRaced // the twin we waited for left nothing; whoever is first now runs
		}
		if err := outlast(ctx, tx, c.Identity.ID()); err != nil {
			return false, now, err
		}
	}
}

// outlast tells a key that runs with other content from one whose runner is just going away. A transaction that ends gives its
// locks back one by one, so a twin can hold the first while the second is still on its way; it needs microseconds for that.
// After success the identity is ours to claim.
func outlast(ctx context.Context, tx pgx.Tx, id ID) error {
	_, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1) FROM set_config('lock_timeout', '100ms', true)`, lockNumber(id))
	if store.IsLockTimeout(err) {
		return keyReused(id)
	}
	if err != nil {
		return fmt.Errorf("wait for identity: %w", err)
	}
	return nil
}

// record is an operation's row as a claim finds it.
type record struct {
	Operation
	found bool
	hash  string
	alone bool // no equal request was in flight
	stale bool // kept longer than promised; retention will remove it
}

// claim locks the identity and looks for its row. The first of equal requests holds their lock; the others wait for it together
// and then read, side by side, what it left. won is false when somebody else holds the identity.
func (r *Runner) claim(ctx context.Context, tx pgx.Tx, c Claim, earlier *record) (won bool, now time.Time, err error) {
	id := c.Identity.ID()
	b := &pgx.Batch{}
	b.Queue(`SELECT CASE WHEN pg_try_advisory_xact_lock($1) THEN 'first' ELSE pg_advisory_xact_lock_shared($1)::text END = 'first'
		FROM set_config('lock_timeout', $2, true)`,
		lockNumber(uuid.NewSHA1(id, []byte(c.Fingerprint))), strconv.FormatInt(max(r.Wait.Milliseconds(), 1), 10)).
		QueryRow(func(row pgx.Row) error { return row.Scan(&earlier.alone) })
	b.Queue(`SELECT pg_try_advisory_xact_lock($1), now()`, lockNumber(id)).QueryRow(func(row pgx.Row) error {
		return row.Scan(&won, &now)
	})
	b.Queue(recordSQL, id).QueryRow(earlier.scan)
	if c.Reads != nil {
		c.Reads(b)
	}
	b.Queue(`SET LOCAL lock_timeout TO DEFAULT`)
	if len(c.Final) > 0 {
		b.Queue(`SAVEPOINT before_work`) // a final refusal goes back to here and keeps the locks
	}
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return false, now, fmt.Errorf("claim operation: %w", err)
	}
	return won && earlier.alone, now, nil
}

func (e *record) scan(row pgx.Row) error {
	var orderID uuid.NullUUID
	var kind, resource, body, failure *string
	var code *int
	err := row.Scan(&e.Status, &e.hash, &orderID, &kind, &resource, &code, &body, &failure, &e.TraceID, &e.stale)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	e.found, e.FailureCode = true, value(failure)
	e.Result = Result{OrderID: orderID.UUID, ResourceType: value(kind), ResourceID: value(resource), Code: value(code), Body: value(body)}
	return err
}

func lockNumber(id uuid.UUID) int64 {
	return int64(binary.BigEndian.Uint64(id[8:])) //nolint:gosec // all 64 bits are meant
}

// replay answers from the stored row.
func (r *Runner) replay(ctx context.Context, q store.Querier, c Claim, earlier record) (Outcome, error) {
	id := c.Identity.ID()
	if earlier.hash != c.Fingerprint {
		return Outcome{}, keyReused(id)
	}
	if earlier.stale && earlier.Status == Completed { // the same answer as after retention has removed the row
		return Outcome{}, Expired(id, earlier.Result.ResourceType+" "+earlier.Result.ResourceID)
	}
	if earlier.Status == Processing { // a system intent's row
		return Outcome{}, inProgress(id)
	}
	return earlier.outcome(id), journal.Append(ctx, q, journal.Entry{
		Kind: "operation.replayed", OperationID: id, OrderID: earlier.Result.OrderID, Detail: map[string]any{"guard": "operations_identity"},
	})
}

func (e record) outcome(id ID) Outcome {
	out := Outcome{ID: id, Result: e.Result, TraceID: e.TraceID, Replayed: true}
	if e.Status == Failed {
		out.Failure = &fault.Error{Kind: fault.Conflict, Code: e.FailureCode, Message: e.Result.Body, OperationID: id.String()}
	}
	return out
}

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// refuse undoes the work and stores the refusal as the key's result, under the same locks: a twin never gets in between.
func (r *Runner) refuse(ctx context.Context, tx pgx.Tx, c Claim, refusal *fault.Error) (Outcome, error) {
	id := c.Identity.ID()
	b := &pgx.Batch{}
	b.Queue(`ROLLBACK TO SAVEPOINT before_work`)
	queueEnded(ctx, b, c, Result{Code: 409, Body: refusal.Message}, &refusal.Code, r.Retention)
	journal.Queue(ctx, b, journal.Entry{Kind: "operation.failed", OperationID: id, Detail: map[string]any{"code": refusal.Code}})
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return Outcome{}, fmt.Errorf("store refusal: %w", err)
	}
	failure := *refusal
	failure.OperationID = id.String()
	return Outcome{ID: id, Failure: &failure, TraceID: trace.ID(ctx)}, nil
}

// recordAbsorbed keeps what was turned away: support looks at it, and nothing else remembers it. It is written outside the
// transaction that was rolled back, so a failure here only loses the note.
func (r *Runner) recordAbsorbed(ctx context.Context, c Claim, err error) {
	var kind string
	detail := map[string]any{"guard": "operations_identity", "fingerprint": c.Fingerprint}
	switch fault.KindOf(err) { //nolint:exhaustive // only these two are absorbed repeats
	case fault.KeyReused:
		kind = "operation.key_reused"
		r.compare(ctx, c, detail)
	case fault.InProgress:
		kind = "operation.in_progress"
	default:
		return
	}
	_ = journal.Append(ctx, r.DB, journal.Entry{
		Kind: kind, OperationID: c.Identity.ID(), Detail: detail,
	})
}

// compare notes where the request is another one than the first. While that one still runs its row can't be seen: then all of this
// request's fields are there, without the other side.
func (r *Runner) compare(ctx context.Context, c Claim, detail map[string]any) {
	var first map[string]string
	err := r.DB.QueryRow(ctx, `SELECT request_fields FROM operations WHERE id = $1`, c.Identity.ID()).Scan(&first)
	if err != nil || first == nil {
		detail["first_unseen"] = true
	}
	detail["differs"] = Differences(first, c.fields())
}

func keyReused(id ID) error {
	e := fault.New(fault.KeyReused, "IDEMPOTENCY_KEY_REUSED", "This Idempotency-Key was already used for another request. Nothing was changed.")
	e.OperationID = id.String()
	return e
}

// Expired is the answer to a key whose operation retention has removed while what it made is still there: the same key never
// makes a second one. made names it, e.g. "order 0198…".
func Expired(id ID, made string) error {
	e := fault.New(fault.Gone, "IDEMPOTENCY_KEY_EXPIRED", "This key's result is no longer kept. It made "+made+".")
	e.OperationID = id.String()
	return e
}

func inProgress(id ID) error {
	e := fault.New(fault.InProgress, "OPERATION_IN_PROGRESS", "The first request with this key is still running.")
	e.OperationID, e.RetryAfter = id.String(), time.Second
	return e
}

// waitedInVain tells a twin that did not end in time from a row lock that somebody else holds.
func waitedInVain(c Claim, cause error) error {
	if errors.Is(cause, errWorking) {
		return unavailable(c, cause)
	}
	return inProgress(c.Identity.ID())
}

package operation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"onefold/domain/crash"
	"onefold/domain/journal"
	"onefold/domain/provider"
	"onefold/domain/store"
	"onefold/domain/trace"
)

// End is how a system operation ends.
type End struct {
	Status       Status // Completed or Failed
	ResourceType string
	ResourceID   string
	FailureCode  string // for Failed
	// For a person's operation that needs the outside, what its request is answered, now and in every replay.
	Code int
	Body string        // for Failed: the message
	Keep time.Duration // how long the key and its result are kept; 0 means as long as the row
}

// Done is the end of an operation that made or found the resource.
func Done(kind, id string) End { return End{Status: Completed, ResourceType: kind, ResourceID: id} }

// Record writes what a call taught, in one transaction with the operation's end.
type Record func(ctx context.Context, tx pgx.Tx) (End, error)

// Call is one prepared conversation with the outside. Lookup and Send make one exchange each and return provider errors.
type Call struct {
	// Lookup finds what an earlier send left behind. Nil means that the outside has no lookup.
	Lookup func(ctx context.Context) (Record, error)
	// Send acts, always with the stored key. A final refusal is a Record too, not an error.
	Send func(ctx context.Context) (Record, error)
	// Absent records that nothing ever arrived, once a lookup has proved it. Nil means that absence never ends the operation.
	Absent Record
	// Postponed notes on the aggregate that this try brought no knowledge. Nil means that there is nothing to note.
	Postponed func(ctx context.Context, tx pgx.Tx, p Postponement) error
}

// Postponement says what may have reached the outside.
type Postponement struct {
	ThisTry bool // false if this try's call provably never left or was refused before it was looked at
	AnyTry  bool // this or an earlier one
}

// Handler carries on the operations of one type; exactly one of its fields is set.
type Handler struct {
	// Local does everything in one transaction, under the operation's row lock.
	Local func(ctx context.Context, tx pgx.Tx, op Operation) (End, error)
	// External prepares a call in the transaction that takes the lease. Returning a nil Send means that nothing is left to
	// ask: end then says how the operation ends.
	External func(ctx context.Context, tx pgx.Tx, op Operation) (Call, End, error)
}

// Executor carries system operations on until their outcome is known (DESIGN section 3, steps 4–6).
type Executor struct {
	DB       store.DB
	Handlers map[Type]Handler
	Lease    time.Duration // how long one try may own the operation; must exceed the longest call
	Owner    string        // this process, for people
	// ConclusiveAfter is the age of the last send from which on "nothing there" is proof; far above any call's limit.
	// 0 means one minute.
	ConclusiveAfter time.Duration
}

// Execute tries operation id once. A nil error means that the row says what comes next: ended, owned by somebody else, or
// due again. An error means that the database failed; the row is due again when its lease ends.
func (x *Executor) Execute(ctx context.Context, id ID) error {
	var op Operation
	var call Call
	var before history
	err := store.InTx(ctx, x.DB, func(tx pgx.Tx) (err error) {
		op, before, err = x.lease(ctx, tx, id)
		if err != nil {
			return err
		}
		trace.Note(ctx, slog.String("idempotency_key", op.Key), slog.String("order_id", op.OrderID.UUID.String()))
		ctx := trace.Resume(ctx, op.TraceID)
		h := x.Handlers[op.Type]
		switch {
		case h.Local != nil:
			end, err := h.Local(ctx, tx, op)
			if err != nil {
				return err
			}
			crash.Point(crash.BeforeCommit, string(op.Type))
			return Settle(ctx, tx, op, end)
		case h.External != nil:
			var end End
			if call, end, err = h.External(ctx, tx, op); err == nil && call.Send == nil {
				return Settle(ctx, tx, op, end)
			}
			return err
		}
		return fmt.Errorf("no handler for operation type %s", op.Type)
	})
	if errors.Is(err, errNotOurs) {
		return nil
	}
	if err != nil {
		return err
	}
	if call.Send == nil {
		crash.Point(crash.AfterEffect, string(op.Type))
		return nil
	}
	crash.Point(crash.AfterClaim, string(op.Type))
	ctx = trace.Resume(ctx, op.TraceID)
	record, absent, err := x.converse(ctx, call, before)
	crash.Point(crash.AfterCall, string(op.Type))
	// What the call taught is kept, also if this job ran out of time or was told to stop meanwhile.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), concludeWithin)
	defer cancel()
	err = x.keep(ctx, op, call, learned{record: record, sentBefore: before.sent, absent: absent, err: err})
	crash.Point(crash.AfterRecord, string(op.Type))
	return err
}

const concludeWithin = 5 * time.Second

// keep concludes again while the database can't be reached or has lost the answer to a COMMIT, until ctx ends: what was learned
// is worth more than another call. The lease's fence makes that harmless.
func (x *Executor) keep(ctx context.Context, op Operation, call Call, l learned) error {
	for pause := 50 * time.Millisecond; ; pause *= 2 {
		err := x.conclude(ctx, op, call, l)
		if !store.IsUnavailable(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}

// history is what earlier tries left behind, by the database's clock.
type history struct {
	sent     bool          // one may have reached the outside
	since    time.Duration // the last one that may have
	absences int           // lookups that found nothing, since the outside last knew of it
}

// conclusiveAbsences is how many lookups must have found nothing before one more may end an operation.
const conclusiveAbsences = 3

// converse looks before it repeats: only "nothing there" lets the same key be sent again. It is proof of absence when the last
// send is too old to be still on its way and repeating the key brought nothing either; then it is not sent again.
func (x *Executor) converse(ctx context.Context, call Call, before history) (record Record, absent bool, err error) {
	if before.sent && call.Lookup != nil {
		record, err := call.Lookup(ctx)
		if err == nil || provider.KindOf(err) != provider.NotFound {
			return record, false, err
		}
		if call.Absent != nil && before.absences >= conclusiveAbsences && before.since > x.conclusiveAfter() {
			return call.Absent, true, nil
		}
		absent = true
	}
	record, err = call.Send(ctx)
	return record, absent, err
}

func (x *Executor) conclusiveAfter() time.Duration {
	if x.ConclusiveAfter > 0 {
		return x.ConclusiveAfter
	}
	return time.Minute
}

var errNotOurs = errors.New("operation is finished or leased by somebody else")

// lease takes the operation for this try: attempt + 1 is the fencing token of every later write. A dispatched row is due again after a
// lease at most; one that is due later was carried on meanwhile, and this job is left over from a queue that was too long.
func (x *Executor) lease(ctx context.Context, tx pgx.Tx, id ID) (Operation, history, error) {
	op := Operation{ID: id, Status: Processing}
	var before history
	var since *time.Duration
	err := tx.QueryRow(ctx, `UPDATE operations o
		SET attempt = attempt + 1, lease_expires_at = clock_timestamp() + $2::interval, lease_owner = $3,
			sent_at = clock_timestamp(), next_attempt_at = clock_timestamp() + $2::interval
		FROM (SELECT id, sent_at FROM operations WHERE id = $1 FOR UPDATE) AS old
		WHERE o.id = old.id AND o.status = 'PROCESSING' AND (o.lease_expires_at IS NULL OR o.lease_expires_at <= clock_timestamp())
			AND o.next_attempt_at <= clock_timestamp() + $2::interval
		RETURNING o.user_id, o.type, o.target, o.key, o.attempt, o.order_id, o.trace_id, o.created_at, o.absences, clock_timestamp() - old.sent_at`,
		id, x.Lease, x.Owner).
		Scan(&op.User, &op.Type, &op.Target, &op.Key, &op.Attempt, &op.OrderID, &op.TraceID, &op.CreatedAt, &before.absences, &since)
	if errors.Is(err, pgx.ErrNoRows) {
		return op, before, errNotOurs
	}
	if err != nil {
		return op, before, fmt.Errorf("lease operation: %w", err)
	}
	if since != nil {
		before.sent, before.since = true, *since
	}
	return op, before, nil
}

// learned is what a try brought: a record, or an error that says what it proves.
type learned struct {
	record     Record
	sentBefore bool // an earlier try may have reached the outside
	absent     bool // the lookup found nothing
	err        error
}

// conclude stores what the call taught, if the lease is still ours.
func (x *Executor) conclude(ctx context.Context, op Operation, call Call, l learned) error {
	return store.InTx(ctx, x.DB, func(tx pgx.Tx) error {
		var attempt int
		var status Status
		err := tx.QueryRow(ctx, `SELECT attempt, status FROM operations WHERE id = $1 FOR UPDATE`, op.ID).Scan(&attempt, &status)
		if err != nil {
			return fmt.Errorf("read lease: %w", err)
		}
		if attempt != op.Attempt || status != Processing {
			kind := "operation.late_owner" // the lease is somebody else's by now
			if attempt == op.Attempt {
				kind = "operation.already_settled" // an event was faster than the answer
			}
			return journal.Append(ctx, tx, journal.Entry{
				Kind: kind, OperationID: op.ID, OrderID: op.OrderID.UUID,
				Detail: map[string]any{"attempt": op.Attempt, "owner_attempt": attempt, "status": status, "guard": "lease"},
			})
		}
		if l.err == nil {
			end, err := l.record(ctx, tx)
			if err != nil {
				return err
			}
			return Settle(ctx, tx, op, end)
		}
		return postpone(ctx, tx, op, call, l)
	})
}

// postpone schedules the next look. Only a first try that provably never left may forget that it was sent.
func postpone(ctx context.Context, tx pgx.Tx, op Operation, call Call, l learned) error {
	kind := provider.KindOf(l.err)
	didNothing := kind == provider.NotSent || kind == provider.RateLimited || kind == provider.Auth
	// The outside knows of it: what was not found before proves nothing any more. A lookup that failed changes neither way.
	known := kind == provider.InProgress || kind == provider.KeyReused || kind == provider.NotYet
	p := Postponement{ThisTry: !didNothing, AnyTry: !didNothing || l.sentBefore}
	if call.Postponed != nil {
		if err := call.Postponed(ctx, tx, p); err != nil {
			return err
		}
	}
	var advice time.Duration
	if e, ok := errors.AsType[*provider.Error](l.err); ok {
		advice = e.RetryAfter
	}
	var looks int
	if err := tx.QueryRow(ctx, `SELECT looks FROM operations WHERE id = $1`, op.ID).Scan(&looks); err != nil {
		return fmt.Errorf("read looks: %w", err)
	}
	wait := max(Backoff(looks), advice)
	if _, err := tx.Exec(ctx, `UPDATE operations SET looks = looks + 1, absences = CASE WHEN $6 THEN 0 WHEN $5 THEN absences + 1 ELSE absences END, lease_expires_at = NULL, last_error = $2,
		sent_at = CASE WHEN $3 THEN NULL ELSE sent_at END, next_attempt_at = clock_timestamp() + $4::interval WHERE id = $1`,
		op.ID, storable(l.err.Error()), !p.AnyTry, wait, l.absent, known); err != nil {
		return fmt.Errorf("schedule next look: %w", err)
	}
	return journal.Append(ctx, tx, journal.Entry{
		Kind: "operation.postponed", OperationID: op.ID, OrderID: op.OrderID.UUID,
		Detail: map[string]any{"error": kind, "sent": p.AnyTry, "attempt": op.Attempt, "next_in_seconds": wait.Seconds()},
	})
}

// storable keeps somebody else's error text from being refused by Postgres, which would lose the next look with it.
func storable(text string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", "\ufffd"), "\ufffd")
}

// Backoff is the pause before look number n (from 0): 0.5 s doubling to one hour, each ± 20 % so that an outage's victims
// don't return together. It never ends: age raises alarms, not outcomes (DESIGN rule 6).
func Backoff(n int) time.Duration {
	pause := min(500*time.Millisecond<<min(n, 13), time.Hour)
	return time.Duration(float64(pause) * (0.8 + 0.4*rand.Float64())) //nolint:gosec // jitter, not a secret
}

package operator

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/account"
	"onefold/domain/checkout"
	"onefold/domain/fault"
	"onefold/domain/journal"
	"onefold/domain/money"
	"onefold/domain/operation"
	"onefold/domain/provider"
	"onefold/domain/store"
)

// Desk is where people press buttons.
type Desk struct {
	Operations *operation.Runner
	Checkout   *checkout.Desk
	Jobs       Jobs             // nil: jobs can't be touched
	Limits     map[string]int64 // refunds above it, in minor units by currency, take two people; a currency that isn't named always does
	Wake       func()           // tells the relay that something is due; never blocks
}

// Jobs is the job engine, in our transaction.
type Jobs interface {
	Retry(ctx context.Context, tx pgx.Tx, id int64) error
	Cancel(ctx context.Context, tx pgx.Tx, id int64) error
}

// Press is one wish of one person to act on one thing.
type Press struct {
	Actor  account.User
	Action Name
	Object string // its ID
	Key    string // made by the server with the form: N presses of one form are one action
	Reason string
	Input  Input
}

// Input is what a form may ask for besides a reason; each action reads its own fields.
type Input struct {
	Amount   *money.Amount     `json:",omitempty"` // refund: nil means all that is left
	Expected *money.Amount     `json:",omitempty"` // refund: what was left when the form was made; nil isn't compared
	Address  *provider.Address `json:",omitempty"` // correct_address
	Text     string            `json:",omitempty"` // ticket, tag, judge_duplicate's verdict, settle_payment's provider ID
	Assignee uuid.UUID         `json:",omitzero"`  // assign; Nil takes it off
	Was      *string           `json:",omitempty"` // assign, ticket, tag: what the form showed; nil isn't compared
	Until    time.Time         `json:",omitzero"`  // snooze; zero wakes it
	For      time.Duration     `json:",omitzero"`  // silence
	Objects  []uuid.UUID       `json:",omitempty"` // reconcile of Several
}

// pressing is a press that is being done.
type pressing struct {
	Press
	op     *operation.Running
	found  Judgement
	result operation.Result
	audit  record
}

const maxReason = 500 // characters

func checkReason(reason string, required bool) error {
	if n := utf8.RuneCountInString(reason); n > maxReason || (required && n == 0) || !store.Storable(reason) {
		return fault.Validation(fault.Field{Field: "reason", Rule: "required,max=500", Message: "must have 1 to 500 characters"})
	}
	return nil
}

// tellable is a reason as the audit may keep it: nothing of one that is too long, or that the database can't hold.
func tellable(reason string) string {
	if checkReason(reason, false) != nil {
		return ""
	}
	return reason
}

// Press does an action once per form, and writes every press into the audit.
//
// Errors: FORBIDDEN (the role isn't enough), VALIDATION_FAILED (reason, input), NOT_FOUND, ACTION_WAIT and ACTION_UNSAFE (the
// verdict, with the guard as the field's rule), BALANCE_CHANGED, and those of operation.Runner.Run.
func (d *Desk) Press(ctx context.Context, p Press) (operation.Outcome, error) {
	a, known := actions()[p.Action]
	if !known {
		return operation.Outcome{}, fault.Missing("action")
	}
	p.Reason = strings.TrimSpace(p.Reason)
	identity := operation.Identity{User: p.Actor.ID, Type: p.Action.Type(), Target: a.object + ":" + p.Object, Key: p.Key}
	wrong := checkReason(p.Reason, a.reason)
	p.Reason = tellable(p.Reason)
	if !p.Actor.Role.AtLeast(a.role) {
		err := account.Needs(a.role)
		return operation.Outcome{}, errors.Join(err, d.note(ctx, p, a, identity.ID(), refused, err.Code))
	}
	if !a.names(p.Object) {
		err := fault.Missing(a.object)
		return operation.Outcome{}, errors.Join(err, d.note(ctx, p, a, identity.ID(), refused, err.Code))
	}
	if wrong != nil {
		return operation.Outcome{}, errors.Join(wrong, d.note(ctx, p, a, identity.ID(), refused, "VALIDATION_FAILED"))
	}
	out, err := d.run(ctx, p, a, identity)
	switch {
	case err != nil && fault.KindOf(err) != fault.Internal && fault.KindOf(err) != fault.Unavailable:
		e, _ := fault.Of(err)
		return out, errors.Join(err, d.note(ctx, p, a, identity.ID(), refused, e.Code))
	case err != nil:
		return out, err
	case out.Replayed:
		return out, d.note(ctx, p, a, identity.ID(), replayed, "")
	}
	d.Wake()
	return out, nil
}

var alarmName = regexp.MustCompile(`^[a-z_]{1,50}$`)

// names says whether a text can be the ID of what the action acts on.
func (a action) names(object string) bool {
	switch a.object {
	case "job":
		_, err := strconv.ParseInt(object, 10, 64)
		return err == nil
	case "alarm":
		return alarmName.MatchString(object)
	}
	id, err := uuid.Parse(object)
	return (err == nil && id.String() == object) || ((object == Everything || object == Several) && a.judge == judgeReconcile)
}

func (d *Desk) run(ctx context.Context, p Press, a action, identity operation.Identity) (operation.Outcome, error) {
	if a.do == nil {
		return d.cancelOrder(ctx, p, a)
	}
	fingerprint, err := operation.Fingerprint(1, struct {
		Reason string
		Input  Input
	}{operation.Text(p.Reason), p.Input})
	if err != nil {
		return operation.Outcome{}, err
	}
	done := false
	claim := operation.Claim{Identity: identity, Fingerprint: fingerprint, Reads: func(b *pgx.Batch) {
		b.Queue(`SELECT EXISTS (SELECT FROM audit_actions WHERE operation_id = $1 AND outcome = 'DONE')`, identity.ID()).
			QueryRow(func(row pgx.Row) error { return row.Scan(&done) })
	}}
	return d.Operations.Run(ctx, claim, func(tx pgx.Tx, op *operation.Running) (operation.Result, error) {
		if done { // the audit remembers it longer than the operation does
			return operation.Result{}, operation.Expired(op.ID, "an action that the audit tells of")
		}
		pr := &pressing{Press: p, op: op}
		if err := pr.judge(ctx, tx, a); err != nil {
			return operation.Result{}, err
		}
		if err := a.fits(ctx, tx, p.Input); err != nil {
			return operation.Result{}, err
		}
		pr.result = operation.Result{OrderID: pr.found.OrderID.UUID, ResourceType: a.object, ResourceID: p.Object, Code: 200}
		if err := a.do(ctx, tx, d, pr); err != nil {
			return operation.Result{}, err
		}
		return pr.result, pr.close(ctx, tx, a)
	})
}

// judge locks the object and looks at it with the action's eyes; only SAFE goes on.
func (p *pressing) judge(ctx context.Context, tx pgx.Tx, a action) error {
	if a.table != "" {
		if _, err := tx.Exec(ctx, `SELECT FROM `+a.table+` WHERE id = $1::text::uuid FOR UPDATE`, p.Object); err != nil {
			return fmt.Errorf("lock %s: %w", a.object, err)
		}
	}
	judged, err := a.look(ctx, tx, p.Object)
	if err != nil {
		return err
	}
	if len(judged) != 1 {
		return fault.Missing(a.object)
	}
	p.found = judged[0]
	return p.found.refusal()
}

// refusal is nil when the verdict is SAFE.
func (j Judgement) refusal() error {
	if j.Verdict == Safe {
		return nil
	}
	e := fault.New(fault.Conflict, "ACTION_"+string(j.Verdict), "Nothing was changed: "+j.Guard+".")
	e.Fields = []fault.Field{{Field: "verdict", Rule: j.Guard, Message: j.State}}
	if j.Until != nil {
		e.RetryAfter = max(time.Until(*j.Until), time.Second)
	}
	return e
}

// close writes what was done: the audit with the rows it touched, and a line of the journal, where the intent's page finds it.
func (p *pressing) close(ctx context.Context, tx pgx.Tx, a action) error {
	p.audit.outcome, p.audit.operationID = done, p.op.ID
	if err := p.audit.write(ctx, tx, p.Press, a.object, p.found.OrderID); err != nil {
		return err
	}
	return journal.Append(ctx, tx, journal.Entry{
		Kind: "operator." + string(p.Action), OperationID: p.op.ID, OrderID: p.found.OrderID.UUID,
		Detail: map[string]any{"object": a.object + " " + p.Object, "by": p.Actor.Email, "role": p.Actor.Role, "reason": p.Reason},
	})
}

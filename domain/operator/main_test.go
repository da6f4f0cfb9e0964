package operator_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"onefold/domain/account"
	"onefold/domain/checkout"
	"onefold/domain/fault"
	"onefold/domain/fulfilment"
	"onefold/domain/money"
	"onefold/domain/operation"
	"onefold/domain/operator"
	"onefold/domain/order"
	"onefold/domain/outbox"
	"onefold/domain/payment"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/provider"
	"onefold/domain/refund"
	"onefold/domain/store"
	"onefold/domain/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// bench is a desk with one person of each role, a provider and a mail server that are doubles, and an executor driven by hand.
type bench struct {
	db       store.DB
	desk     *operator.Desk
	provider *paymenttest.Provider
	mail     *paymenttest.Mailer
	executor *operation.Executor
	people   map[account.Role]account.User
}

func setup(t *testing.T) *bench {
	t.Helper()
	b := &bench{db: storetest.DB(t), provider: &paymenttest.Provider{}, mail: &paymenttest.Mailer{}, people: map[account.Role]account.User{}}
	run := &operation.Runner{DB: b.db, Retention: time.Hour, Wait: 2 * time.Second}
	b.desk = &operator.Desk{
		Operations: run, Limits: map[string]int64{"RUB": 100_00}, Wake: func() {}, Jobs: &jobs{},
		Checkout: &checkout.Desk{Operations: run, Provider: paymenttest.Name, Wake: func() {}},
	}
	mail := fulfilment.Mail{Mailer: b.mail, Domain: "shop.example", OrderURL: func(uuid.UUID) string { return "https://shop.example/" }}.Handler()
	b.executor = &operation.Executor{DB: b.db, Lease: time.Minute, Owner: "test", ConclusiveAfter: time.Nanosecond, Handlers: map[operation.Type]operation.Handler{
		payment.CreatePayment: paymenttest.Creator(b.provider).Handler(), payment.WatchPayment: payment.Watcher{Provider: b.provider}.Handler(),
		payment.SettlePayment: payment.Settler{Provider: b.provider}.Handler(), refund.CreateRefund: refund.Sender{Provider: b.provider}.Handler(),
		payment.RefundOrphan: refund.Sender{Provider: b.provider}.OrphanHandler(), fulfilment.ReverseEffects: fulfilment.Reversal(),
		checkout.CancelOrder:        checkout.Closer{Provider: b.provider, To: order.Canceled, Keep: time.Hour}.Handler(),
		fulfilment.SendNotification: mail, fulfilment.ResendNotification: mail,
		fulfilment.IssueLicenses: fulfilment.License(), fulfilment.AccrueBonus: fulfilment.Bonus(),
	}}
	for _, role := range []account.Role{account.Shopper, account.Viewer, account.Support, account.Operator, account.Approver, account.Admin} {
		b.people[role] = b.person(t, role)
	}
	return b
}

func (b *bench) person(t *testing.T, role account.Role) account.User {
	t.Helper()
	u := account.User{ID: uuid.New(), Role: role}
	u.Email = u.ID.String() + "@shop.example"
	b.exec(t, `INSERT INTO users (id, email, role) VALUES ($1, $2, $3)`, u.ID, u.Email, u.Role)
	return u
}

func (b *bench) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	_, err := b.db.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

func (b *bench) count(t *testing.T, sql string, args ...any) int {
	t.Helper()
	return paymenttest.Count(t, b.db, sql, args...)
}

func (b *bench) press(role account.Role, action operator.Name, object string, input ...operator.Input) operator.Press {
	p := operator.Press{Actor: b.people[role], Action: action, Object: object, Key: uuid.NewString(), Reason: "because"}
	if len(input) > 0 {
		p.Input = input[0]
	}
	return p
}

// done presses and insists that it worked.
func (b *bench) done(t *testing.T, p operator.Press) operation.Outcome {
	t.Helper()
	out, err := b.desk.Press(t.Context(), p)
	require.NoError(t, err)
	return out
}

// refused presses and returns the code of the refusal.
func (b *bench) refused(t *testing.T, p operator.Press) string {
	t.Helper()
	_, err := b.desk.Press(t.Context(), p)
	e, ok := fault.Of(err)
	require.True(t, ok, "%v", err)
	return e.Code
}

// work carries on everything that is due, until nothing is.
func (b *bench) work(t *testing.T) {
	t.Helper()
	for range 20 {
		n := 0
		require.NoError(t, store.InTx(t.Context(), b.db, func(tx pgx.Tx) error {
			events, err := outbox.TakeDue(t.Context(), tx, 100)
			if err != nil {
				return err
			}
			for _, e := range events {
				n++
				follow := map[outbox.Type]func(context.Context, pgx.Tx, []outbox.Event) error{
					outbox.OrderPlaced: checkout.NoteDuplicates, outbox.OrderPaid: fulfilment.Plan, outbox.OrderRefunded: fulfilment.PlanReversal,
				}[e.Type]
				if err := follow(t.Context(), tx, []outbox.Event{e}); err != nil {
					return err
				}
				if err := outbox.Dispatched(t.Context(), tx, []uuid.UUID{e.ID}); err != nil {
					return err
				}
			}
			return nil
		}))
		var due []operation.Due
		require.NoError(t, store.InTx(t.Context(), b.db, func(tx pgx.Tx) (err error) {
			due, err = operation.TakeDue(t.Context(), tx, time.Minute, 100)
			return err
		}))
		for _, d := range due {
			require.NoError(t, b.executor.Execute(t.Context(), d.ID))
		}
		if n+len(due) == 0 {
			return
		}
		b.exec(t, `UPDATE operations SET next_attempt_at = now() WHERE status = 'PROCESSING' AND type IN ('SEND_NOTIFICATION') AND lease_expires_at IS NULL AND attempt < 3`)
	}
}

// paid is an order over 149.70 RUB that is paid and fulfilled.
func (b *bench) paid(t *testing.T) paymenttest.Order {
	t.Helper()
	o := paymenttest.NewOrder(t, b.db, paymenttest.Wish{Email: "ann@example.com"})
	b.work(t)
	b.provider.Say(o.Reference(), provider.Succeeded)
	paymenttest.MakeDue(t, b.db)
	b.work(t)
	require.Equal(t, "FULFILLED", b.order(t, o.ID))
	return o
}

func (b *bench) order(t *testing.T, id uuid.UUID) (status string) {
	t.Helper()
	paymenttest.Read(t, b.db, `SELECT status FROM orders WHERE id = $1`, []any{id}, &status)
	return status
}

func (b *bench) payment(t *testing.T, id uuid.UUID) (status string) {
	t.Helper()
	paymenttest.Read(t, b.db, `SELECT status FROM payments WHERE id = $1`, []any{id}, &status)
	return status
}

// unknown is an order whose payment isn't known and won't be looked at soon; booked says whether the provider has it.
func (b *bench) unknown(t *testing.T, booked bool) paymenttest.Order {
	t.Helper()
	b.provider.OnCreate = func(_ context.Context, _ int, _ provider.CreatePayment, book paymenttest.Book) (provider.Payment, error) {
		if booked {
			book()
		}
		return provider.Payment{}, provider.Errorf(provider.Unknown, "connection closed")
	}
	o := paymenttest.NewOrder(t, b.db, paymenttest.Wish{})
	require.NoError(t, b.executor.Execute(t.Context(), o.Payment))
	require.Equal(t, "UNKNOWN", b.payment(t, o.PaymentID))
	b.exec(t, `UPDATE operations SET next_attempt_at = now() + interval '1 hour' WHERE id = $1`, o.Payment)
	return o
}

// audit lists the outcomes of an object's lines, oldest first.
func (b *bench) audit(t *testing.T, object string) (outcomes []string) {
	t.Helper()
	rows, err := b.db.Query(t.Context(), `SELECT outcome FROM audit_actions WHERE object_id = $1 ORDER BY at, id`, object)
	require.NoError(t, err)
	outcomes, err = pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return outcomes
}

func rub(minor int64) *money.Amount { return &money.Amount{Minor: minor, Currency: "RUB"} }

// jobs is the job engine's double.
type jobs struct {
	mu      sync.Mutex
	retried []int64
}

func (j *jobs) Retry(_ context.Context, _ pgx.Tx, id int64) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.retried = append(j.retried, id)
	return nil
}

func (j *jobs) Cancel(context.Context, pgx.Tx, int64) error { return nil }

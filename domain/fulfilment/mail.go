package fulfilment

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/journal"
	"onefold/domain/money"
	"onefold/domain/operation"
	"onefold/domain/order"
	"onefold/domain/provider"
	"onefold/domain/trace"
)

// Mail sends the receipt with the licence keys and tracking numbers.
type Mail struct {
	Mailer   provider.Mailer
	Domain   string                         // right side of the Message-ID
	OrderURL func(orderID uuid.UUID) string // link in the text
}

// Handler is what the executor calls, for SEND_NOTIFICATION and RESEND_NOTIFICATION.
func (m Mail) Handler() operation.Handler { return operation.Handler{External: m.prepare} }

// Receipt is the kind of the mail that a paid order's shopper gets.
const Receipt = "order-paid"

// mailKind of a notification stands in its business key, mail:<kind>:order:<id>.
func mailKind(key string) string { return strings.Split(key, ":")[1] }

// Resend plans the receipt once more, as a notification of its own with its own Message-ID: one per wish. The order must be locked.
func Resend(ctx context.Context, b *pgx.Batch, wish operation.ID, orderID uuid.UUID) operation.ID {
	plan := operation.Plan{
		Type: ResendNotification, Key: fmt.Sprintf("mail:%s-again-%s:order:%s", Receipt, wish, orderID), OrderID: orderID, Trace: trace.ID(ctx),
	}
	operation.Enqueue(b, plan)
	return operation.Identity{User: operation.System, Type: plan.Type, Key: plan.Key}.ID()
}

// sendsAtMost bounds technical repeats: a lost SMTP answer leads to one repeat with the same Message-ID, never to more.
const sendsAtMost = 2

// prepare claims the notification before it is sent. Without a recipient there is nothing to send, and that is known.
func (m Mail) prepare(ctx context.Context, tx pgx.Tx, op operation.Operation) (operation.Call, operation.End, error) {
	o, err := order.Lock(ctx, tx, op.OrderID.UUID)
	if err != nil {
		return operation.Call{}, operation.End{}, err
	}
	if o.State == order.Refunded {
		end, err := needless(ctx, tx, op)
		return operation.Call{}, end, err
	}
	open, err := missing(ctx, tx, o.ID)
	if err != nil {
		return operation.Call{}, operation.End{}, err
	}
	if len(open) > 0 {
		return operation.Call{Send: incomplete("the licences are not issued yet")}, operation.End{}, nil
	}
	if waits, err := waitsForParcels(ctx, tx, op); err != nil || waits {
		return operation.Call{Send: incomplete("a parcel has no label yet")}, operation.End{}, err
	}
	msg, err := m.compose(ctx, tx, op, o)
	if err != nil {
		return operation.Call{}, operation.End{}, err
	}
	if msg.To == "" {
		return operation.Call{}, operation.Done("order", o.ID.String()), completing(ctx, tx, op)
	}
	var sends int
	err = tx.QueryRow(ctx, `INSERT INTO notifications AS n (dedupe_key, order_id, kind, recipient, message_id, sends)
		VALUES ($1, $2, $6, $3, $4, 1)
		ON CONFLICT (dedupe_key) DO UPDATE SET sends = n.sends + 1 WHERE n.sends < $5 RETURNING sends`,
		op.Key, o.ID, msg.To, msg.ID, sendsAtMost, mailKind(op.Key)).Scan(&sends)
	if errors.Is(err, pgx.ErrNoRows) {
		end, err := giveUp(ctx, tx, op, "MAIL_UNCONFIRMED")
		return operation.Call{}, end, err
	}
	if err != nil {
		return operation.Call{}, operation.End{}, fmt.Errorf("claim notification: %w", err)
	}
	return operation.Call{
		Send: func(ctx context.Context) (operation.Record, error) {
			err := m.Mailer.Send(ctx, msg)
			if err != nil && provider.KindOf(err) == provider.Rejected {
				return recordRefused(op, err), nil
			}
			return recordSent(op, msg), err
		},
		Postponed: func(ctx context.Context, tx pgx.Tx, p operation.Postponement) error {
			if p.ThisTry {
				return nil
			}
			_, err := tx.Exec(ctx, `UPDATE notifications SET sends = sends - 1 WHERE dedupe_key = $1`, op.Key)
			if err != nil {
				return fmt.Errorf("give notification back: %w", err)
			}
			return nil
		},
	}, operation.End{}, nil
}

// incomplete puts the mail off: something in its text is missing, so nothing is sent and nothing is counted.
func incomplete(why string) func(context.Context) (operation.Record, error) {
	return func(context.Context) (operation.Record, error) {
		return nil, provider.Errorf(provider.NotSent, "%s", why)
	}
}

// parcelPatience is how long a receipt waits for tracking numbers. A carrier may be silent for hours; the page has them later.
const parcelPatience = time.Minute

// waitsForParcels reports that a label may still come in time for the receipt.
func waitsForParcels(ctx context.Context, tx pgx.Tx, op operation.Operation) (waits bool, err error) {
	err = tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM operations WHERE order_id = $1 AND type = $2 AND status = 'PROCESSING')
		AND clock_timestamp() < $3::timestamptz + $4::interval`, op.OrderID, ShipParcel, op.CreatedAt, parcelPatience).Scan(&waits)
	if err != nil {
		return false, fmt.Errorf("look for labels: %w", err)
	}
	return waits, nil
}

func recordSent(op operation.Operation, msg provider.Message) operation.Record {
	return func(ctx context.Context, tx pgx.Tx) (operation.End, error) {
		if _, err := order.Lock(ctx, tx, op.OrderID.UUID); err != nil {
			return operation.End{}, err
		}
		b := &pgx.Batch{}
		b.Queue(`UPDATE notifications SET sent_at = now() WHERE dedupe_key = $1`, op.Key)
		journal.Queue(ctx, b, journal.Entry{
			Kind: "mail.sent", OperationID: op.ID, OrderID: op.OrderID.UUID, Detail: map[string]any{"message_id": msg.ID},
		})
		if err := tx.SendBatch(ctx, b).Close(); err != nil {
			return operation.End{}, fmt.Errorf("record mail: %w", err)
		}
		return operation.Done("order", op.OrderID.UUID.String()), completing(ctx, tx, op)
	}
}

func recordRefused(op operation.Operation, cause error) operation.Record {
	return func(ctx context.Context, tx pgx.Tx) (operation.End, error) {
		if _, err := order.Lock(ctx, tx, op.OrderID.UUID); err != nil {
			return operation.End{}, err
		}
		err := journal.Append(ctx, tx, journal.Entry{
			Kind: "mail.refused", OperationID: op.ID, OrderID: op.OrderID.UUID, Detail: map[string]any{"error": cause.Error()},
		})
		if err != nil {
			return operation.End{}, err
		}
		return giveUp(ctx, tx, op, "MAIL_REFUSED")
	}
}

// giveUp ends a mail that nobody will try again. People find it in their queue; what was bought is there without it, so the locked
// order doesn't wait.
func giveUp(ctx context.Context, tx pgx.Tx, op operation.Operation, code string) (operation.End, error) {
	if _, err := tx.Exec(ctx, `UPDATE notifications SET given_up_at = now() WHERE dedupe_key = $1 AND sent_at IS NULL`, op.Key); err != nil {
		return operation.End{}, fmt.Errorf("give up notification: %w", err)
	}
	end := operation.End{Status: operation.Failed, FailureCode: code, ResourceType: "order", ResourceID: op.OrderID.UUID.String()}
	return end, completing(ctx, tx, op)
}

type receipt struct {
	number   int64
	email    string
	locale   string
	total    money.Amount
	licenses []string // "name: key"
	parcels  int      // planned, whatever became of them
	tracking []string // of those that have one
}

func (m Mail) compose(ctx context.Context, tx pgx.Tx, op operation.Operation, o order.Order) (provider.Message, error) {
	r := receipt{total: o.Total}
	var units int
	err := tx.QueryRow(ctx, `SELECT number, coalesce(email, ''), locale,
			array(SELECT i.name || ': ' || l.license_key FROM licenses l JOIN order_items i ON i.id = l.order_item_id
				WHERE l.order_id = o.id AND l.revoked_at IS NULL ORDER BY i.id, l.unit LIMIT 100),
			(SELECT coalesce(sum(quantity), 0) FROM order_items i WHERE i.order_id = o.id AND i.kind = 'physical'),
			array(SELECT tracking FROM shipments s WHERE s.order_id = o.id AND tracking IS NOT NULL ORDER BY parcel LIMIT 100)
		FROM orders o WHERE id = $1`, o.ID).Scan(&r.number, &r.email, &r.locale, &r.licenses, &units, &r.tracking)
	if err != nil {
		return provider.Message{}, fmt.Errorf("read receipt: %w", err)
	}
	words := receiptWords["en"]
	if w, ok := receiptWords[r.locale]; ok {
		words = w
	}
	r.parcels = parcelsOf(units)
	return provider.Message{
		ID: strings.ReplaceAll(op.Key, ":", ".") + "@" + m.Domain, To: r.email, Subject: fmt.Sprintf(words.subject, r.number),
		Text: r.text(words, m.OrderURL(o.ID)),
	}, nil
}

// text leaves out what the order doesn't have.
func (r receipt) text(w words, url string) string {
	parts := []string{fmt.Sprintf(w.thanks, r.number, r.total.Display(r.locale))}
	if len(r.licenses) > 0 {
		parts = append(parts, w.licenses+"\n"+strings.Join(r.licenses, "\n"))
	}
	if len(r.tracking) > 0 {
		parts = append(parts, w.tracking+"\n"+strings.Join(r.tracking, "\n"))
	}
	if r.parcels > len(r.tracking) {
		parts = append(parts, w.later)
	}
	return strings.Join(append(parts, fmt.Sprintf(w.order, url)), "\n\n") + "\n"
}

type words struct{ subject, thanks, licenses, tracking, later, order string }

var receiptWords = map[string]words{ //nolint:gochecknoglobals // a table
	"en": {
		subject:  "Payment received: order %d",
		thanks:   "Thank you. We received your payment for order %d: %s.",
		licenses: "Your licences:",
		tracking: "Tracking numbers of your parcels:",
		later:    "The tracking number will be on your order’s page as soon as the parcel is on its way.",
		order:    "Your order: %s",
	},
	"ru": {
		subject:  "Оплата получена: заказ %d",
		thanks:   "Спасибо. Мы получили оплату заказа %d: %s.",
		licenses: "Ваши лицензии:",
		tracking: "Номера для отслеживания посылок:",
		later:    "Номер для отслеживания появится на странице заказа, когда посылка отправится.",
		order:    "Ваш заказ: %s",
	},
}

package catalog

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"onefold/domain/fault"
	"onefold/domain/money"
	"onefold/domain/store"
)

// NormalPromo is the one spelling a promo code is stored and compared by: trimmed, upper case.
func NormalPromo(code string) string { return strings.ToUpper(strings.TrimSpace(code)) }

// Promo is what became of a promo code that somebody wants to use.
type Promo struct {
	Percent int  // off the subtotal, 1 to 100; 0 when the code is unknown
	Known   bool // there is such a code
	Used    bool // one use was taken
}

// Refusal is nil when the code was used; Invalid naming promoCode when it is unknown; Conflict PROMO_USED when all its uses
// are taken.
func (p Promo) Refusal() error {
	switch {
	case p.Used:
		return nil
	case p.Known:
		return fault.New(fault.Conflict, "PROMO_USED", "This promo code has been used up.")
	default:
		return fault.Validation(fault.Field{Field: "promoCode", Rule: "unknown", Message: "There is no such promo code."})
	}
}

// QueuePromo takes one use of the code, if there is one left; promo is filled when the batch is closed. The code's row stays
// locked until COMMIT. In one transaction it comes before QueueReserve: that is the lock order.
func QueuePromo(b *pgx.Batch, code string, promo *Promo) {
	b.Queue(`
		WITH used AS (UPDATE promo_codes SET uses = uses + 1 WHERE code = $1 AND uses < max_uses RETURNING code)
		SELECT p.percent_off, EXISTS (SELECT FROM used) FROM promo_codes p WHERE p.code = $1`,
		NormalPromo(code)).QueryRow(func(row pgx.Row) error {
		*promo = Promo{Known: true}
		err := row.Scan(&promo.Percent, &promo.Used)
		if errors.Is(err, pgx.ErrNoRows) {
			*promo = Promo{}
			return nil
		}
		if err != nil {
			return fmt.Errorf("use promo code: %w", err)
		}
		return nil
	})
}

// UsePromo is QueuePromo on its own: the percentage off, or the Refusal.
func UsePromo(ctx context.Context, tx store.Querier, code string) (percent int, err error) {
	var promo Promo
	var b pgx.Batch
	QueuePromo(&b, code, &promo)
	if err := tx.SendBatch(ctx, &b).Close(); err != nil {
		return 0, err //nolint:wrapcheck // the queued function has wrapped it
	}
	return promo.Percent, promo.Refusal()
}

// ReleasePromo gives one use back. As with Release, which comes after it, the caller's
// conditional move of the order makes it happen once.
func ReleasePromo(ctx context.Context, tx store.Querier, code string) error {
	if _, err := tx.Exec(ctx, `UPDATE promo_codes SET uses = uses - 1 WHERE code = $1`, NormalPromo(code)); err != nil {
		return fmt.Errorf("release promo code: %w", err)
	}
	return nil
}

// Discount is percent of subtotal (which is not negative) in minor units, rounded half up; never less than nothing nor more
// than subtotal, whatever percent says.
func Discount(subtotal money.Amount, percent int) money.Amount {
	p := int64(min(max(percent, 0), 100))
	whole, rest := subtotal.Minor/100, subtotal.Minor%100 // apart, so that no product overflows
	return money.Amount{Minor: whole*p + (rest*p+50)/100, Currency: subtotal.Currency}
}

// PreviewPromo is the percentage a code would take off, without using it; the same refusals as UsePromo.
func PreviewPromo(ctx context.Context, q store.Querier, code string) (percent int, err error) {
	var left bool
	err = q.QueryRow(ctx, `SELECT percent_off, uses < max_uses FROM promo_codes WHERE code = $1`, NormalPromo(code)).Scan(&percent, &left)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, Promo{}.Refusal()
	}
	if err != nil {
		return 0, fmt.Errorf("preview promo code: %w", err)
	}
	return percent, Promo{Known: true, Used: left}.Refusal()
}

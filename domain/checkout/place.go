package checkout

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/cart"
	"onefold/domain/catalog"
	"onefold/domain/fault"
	"onefold/domain/journal"
	"onefold/domain/money"
	"onefold/domain/operation"
	"onefold/domain/order"
	"onefold/domain/outbox"
	"onefold/domain/payment"
)

// CreateOrder is the type of the operation that places an order.
const CreateOrder operation.Type = "CREATE_ORDER"

// Desk places orders.
type Desk struct {
	Operations *operation.Runner
	Provider   string // name of the payment provider of new attempts
	Wake       func() // tells the relay that something is due; never blocks
}

// Place makes one order for one identity (user, CREATE_ORDER, key), with its first payment attempt, or returns the order that
// an earlier try made.
//
// Errors: VALIDATION_FAILED, OUT_OF_STOCK and PROMO_USED (results of an API key: they replay; a cart's key stays open),
// CART_ALREADY_ORDERED, CART_CHANGED (the cart is not what the shopper saw), IDEMPOTENCY_KEY_EXPIRED (the order is there, its
// operation was cleaned away), and those of operation.Runner.Run.
func (d *Desk) Place(ctx context.Context, c Command) (operation.Outcome, error) {
	c, err := c.normalised()
	if err != nil {
		return operation.Outcome{}, err
	}
	fingerprint, err := c.fingerprint()
	if err != nil {
		return operation.Outcome{}, err
	}
	claim := operation.Claim{
		Identity:    operation.Identity{User: c.UserID, Type: CreateOrder, Key: c.Key},
		Fingerprint: fingerprint, Describe: c.describe,
	}
	if c.Cart == nil {
		claim.Final = []string{"OUT_OF_STOCK", "PROMO_USED"}
	}
	known := basis{}
	claim.Reads = func(b *pgx.Batch) { known.queue(b, claim.Identity.ID(), c) }
	return d.Operations.Run(ctx, claim, func(tx pgx.Tx, op *operation.Running) (operation.Result, error) {
		return d.place(ctx, tx, op, c, known)
	})
}

// basis is what an order depends on, read in the claim's round trip.
type basis struct {
	existing uuid.UUID // the order that this key made before its operation was cleaned away
	products map[string]catalog.Product
}

func (k *basis) queue(b *pgx.Batch, operationID operation.ID, c Command) {
	k.products = map[string]catalog.Product{}
	order.QueueByOperation(b, operationID, &k.existing)
	catalog.QueuePrices(b, productIDs(c.Items), c.Currency, c.Locale, k.products)
}

func (d *Desk) place(ctx context.Context, tx pgx.Tx, op *operation.Running, c Command, known basis) (operation.Result, error) {
	o, err := priced(ctx, tx, op, c, known)
	if err != nil {
		return operation.Result{}, err
	}
	attempt := payment.New{ID: newID(), OrderID: o.ID, Attempt: 1, Amount: o.Total, Provider: d.Provider}
	body, err := json.Marshal(fresh(o, attempt))
	if err != nil {
		return operation.Result{}, fmt.Errorf("write order: %w", err)
	}
	result := operation.Result{OrderID: o.ID, ResourceType: "order", ResourceID: o.ID.String(), Code: 201, Body: string(body)}

	b := &pgx.Batch{}
	order.QueueCreate(b, o)
	event := outbox.Queue(ctx, b, outbox.OrderPlaced, "order.placed:"+o.ID.String(), o.ID)
	payment.QueueCreate(ctx, b, attempt, journal.Entry{
		Kind: "order.awaiting_payment", OutboxID: event, OperationID: op.ID, OrderID: o.ID, PaymentID: attempt.ID,
		Detail: map[string]any{"total": o.Total.String(), "to": order.AwaitingPayment},
	})
	op.Complete(ctx, b, result)
	var short []catalog.Short
	catalog.QueueReserve(b, lines(c.Items), &short) // last: its rows stay locked until COMMIT
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return operation.Result{}, fmt.Errorf("store order: %w", err)
	}
	return result, catalog.OutOfStock(short)
}

// priced works out the order and its total, and takes a promo use.
func priced(ctx context.Context, tx pgx.Tx, op *operation.Running, c Command, known basis) (order.New, error) {
	if known.existing != uuid.Nil {
		return order.New{}, operation.Expired(op.ID, "order "+known.existing.String())
	}
	o := order.New{
		ID: newID(), UserID: c.UserID, OperationID: op.ID, Email: c.Email, Name: c.Name, Locale: c.Locale, PromoCode: c.PromoCode,
		Subtotal: money.Amount{Currency: c.Currency}, CreatedAt: op.Now,
	}
	if err := addLines(&o, c, known.products); err != nil {
		return o, err
	}
	percent := 0
	if c.PromoCode != "" {
		var err error
		if percent, err = catalog.UsePromo(ctx, tx, c.PromoCode); err != nil {
			return o, err
		}
	}
	o.Discount = catalog.Discount(o.Subtotal, percent)
	o.Total = money.Amount{Minor: o.Subtotal.Minor - o.Discount.Minor, Currency: c.Currency}
	if c.Delivery != nil {
		delivery, err := json.Marshal(c.Delivery)
		if err != nil {
			return o, fmt.Errorf("write delivery: %w", err)
		}
		o.Delivery = delivery
	}
	if c.Cart != nil {
		o.CartID = c.Cart.CartID
		return o, closeCart(ctx, tx, *c.Cart, o.Total)
	}
	return o, nil
}

// addLines adds what was ordered. Goods that have to be carried need to know where to.
func addLines(o *order.New, c Command, products map[string]catalog.Product) error {
	var broken []fault.Field
	physical := false
	for _, item := range c.Items {
		p, ok := products[item.ProductID]
		if !ok {
			broken = append(broken, fault.Field{
				Field: c.sentAs(item.ProductID), Rule: "known", Message: item.ProductID + " is not sold in " + o.Subtotal.Currency,
			})
			continue
		}
		physical = physical || p.Kind == catalog.Physical
		o.Lines = append(o.Lines, order.Line{
			ID: newID(), ProductID: p.ID, Kind: string(p.Kind), Name: p.Name, Quantity: item.Quantity, Price: p.Price,
		})
		o.Subtotal.Minor += p.Price.Minor * int64(item.Quantity)
	}
	switch {
	case physical && c.Delivery == nil:
		broken = append(broken, fault.Field{Field: "delivery", Rule: "required", Message: "is required for physical products"})
	case physical && c.Delivery.Method != order.Standard:
		broken = append(broken, fault.Field{Field: "delivery.method", Rule: "known", Message: "must be " + order.Standard})
	}
	if len(broken) > 0 {
		return fault.Validation(broken...)
	}
	return nil
}

// closeCart makes the cart this order's. The conditional close decides between two tabs with different keys.
func closeCart(ctx context.Context, tx pgx.Tx, seen Agreed, total money.Amount) error {
	closed, err := cart.Close(ctx, tx, seen.CartID)
	if err != nil {
		return err
	}
	if !closed {
		return alreadyOrdered(ctx, tx, seen.CartID)
	}
	now, err := cart.Lines(ctx, tx, seen.CartID)
	if err != nil {
		return err
	}
	if cart.Basket(now) != seen.Basket || total != seen.Total {
		return fault.New(fault.Conflict, "CART_CHANGED", "Your basket changed since this page was made. Nothing was ordered.")
	}
	return nil
}

func alreadyOrdered(ctx context.Context, tx pgx.Tx, cartID uuid.UUID) error {
	id, found, err := order.ByCart(ctx, tx, cartID)
	if err != nil {
		return err
	}
	if !found {
		return fault.Missing("basket")
	}
	return &fault.Error{
		Kind: fault.Conflict, Code: "CART_ALREADY_ORDERED", Message: "This basket was ordered already.",
		Fields: []fault.Field{{Field: "orderId", Rule: "ordered", Message: id.String()}},
	}
}

func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

func productIDs(items []Item) []string {
	ids := make([]string, len(items))
	for i, item := range items {
		ids[i] = item.ProductID
	}
	return ids
}

func lines(items []Item) []catalog.Line {
	out := make([]catalog.Line, len(items))
	for i, item := range items {
		out[i] = catalog.Line(item)
	}
	return out
}

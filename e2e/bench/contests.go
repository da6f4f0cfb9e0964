package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/valyala/fasthttp"

	"onefold/domain/catalog"
	"onefold/domain/journal"
	"onefold/domain/money"
	"onefold/domain/operation"
	"onefold/domain/order"
	"onefold/domain/outbox"
	"onefold/domain/payment"
	"onefold/domain/store"
)

func (l *lab) contests() []contest {
	return []contest{
		{name: ordersName, do: func(_ context.Context, i int) error {
			return l.order(uuid.NewString(), i+int(uuid.New()[0]), fasthttp.StatusCreated)
		}},
		{name: unprotectedName, do: func(_ context.Context, i int) error {
			return l.post("http://"+l.plain+"/orders", nil, orderBody(i), fasthttp.StatusCreated)
		}},
		{name: rowsName, do: l.rows},
		{name: replaysName, do: func(_ context.Context, i int) error { return l.order(l.replayKey[i], i, fasthttp.StatusCreated) }},
		{name: webhooksName, do: func(context.Context, int) error {
			body := event()
			return l.post("http://"+l.web+"/webhooks/sim", map[string]string{"Onefold-Signature": signature(body)}, body, fasthttp.StatusOK)
		}},
		{name: insertsName, do: func(context.Context, int) error {
			body := event()
			_ = signature(body) // the same work for the client
			return l.post("http://"+l.plain+"/events", nil, body, fasthttp.StatusOK)
		}},
	}
}

// rows writes what an order writes, with one batch in one transaction and no HTTP.
func (l *lab) rows(ctx context.Context, i int) error {
	ctx = context.WithoutCancel(ctx)
	amount := money.Amount{Minor: 4990, Currency: "RUB"}
	user := uuid.New()
	identity := operation.Identity{User: user, Type: "CREATE_ORDER", Key: uuid.NewString()}
	o := order.New{
		ID: uuid.Must(uuid.NewV7()), UserID: user, OperationID: identity.ID(), Locale: "en", Subtotal: amount, Discount: money.Amount{Currency: "RUB"}, Total: amount,
		Lines: []order.Line{{ID: uuid.Must(uuid.NewV7()), ProductID: fmt.Sprintf("bench-%d", (i+int(user[0]))%products), Kind: "license", Name: "Bench", Quantity: 1, Price: amount}},
	}
	return store.InTx(ctx, l.pool, func(tx pgx.Tx) error {
		b := &pgx.Batch{}
		b.Queue(`INSERT INTO operations (id, user_id, type, key, request_hash, status, resource_type, resource_id, trace_id, order_id, completed_at, response_code, response_body)
			VALUES ($1, $2, 'CREATE_ORDER', $3, 'v1', 'COMPLETED', 'order', $4, 'bench', $5, now(), 201, repeat('x', 700))`, o.OperationID, user, identity.Key, o.ID.String(), o.ID)
		o.CreatedAt = time.Now()
		order.QueueCreate(b, o)
		payment.QueueCreate(ctx, b, payment.New{ID: uuid.Must(uuid.NewV7()), OrderID: o.ID, Attempt: 1, Amount: amount, Provider: "sim"})
		outbox.Queue(ctx, b, outbox.OrderPlaced, "order.placed:"+o.ID.String(), o.ID)
		journal.Queue(ctx, b, journal.Entry{Kind: "order.awaiting_payment", OperationID: o.OperationID, OrderID: o.ID})
		var short []catalog.Short
		catalog.QueueReserve(b, []catalog.Line{{ProductID: o.Lines[0].ProductID, Quantity: 1}}, &short)
		return tx.SendBatch(ctx, b).Close()
	})
}

// serveUnprotected is what a shop without onefold does: decode, insert order, item and outbox row, answer. No key, no price from
// the catalogue, no stock.
func serveUnprotected(ctx context.Context, databaseURL string) error {
	pool, err := store.Open(ctx, databaseURL, store.Options{MaxConns: 24, Name: "unprotected"})
	if err != nil {
		return err
	}
	defer pool.Close()
	app := fiber.New(fiber.Config{DisableStartupMessage: true, Immutable: true})
	app.Get("/readyz", func(c *fiber.Ctx) error { return c.SendString("ready") })
	app.Post("/orders", func(c *fiber.Ctx) error { return placeUnprotected(c, pool) })
	app.Post("/events", func(c *fiber.Ctx) error {
		var e struct{ ID string }
		if err := json.Unmarshal(c.BodyRaw(), &e); err != nil {
			return err
		}
		if _, err := pool.Exec(ctx, `INSERT INTO plain_events (id, event_id, payload) VALUES ($1, $2, $3)`, uuid.Must(uuid.NewV7()), e.ID, c.BodyRaw()); err != nil {
			return err
		}
		return c.JSON(fiber.Map{"received": true})
	})
	go func() {
		<-ctx.Done()
		_ = app.Shutdown()
	}()
	return app.Listen(os.Getenv("BENCH_ADDR"))
}

func placeUnprotected(c *fiber.Ctx, pool *pgxpool.Pool) error {
	var body struct {
		Items []struct {
			ProductID string
			Quantity  int
		}
	}
	if err := json.Unmarshal(c.BodyRaw(), &body); err != nil {
		return err
	}
	if len(body.Items) != 1 {
		return errors.New("one item")
	}
	id := uuid.Must(uuid.NewV7())
	err := store.InTx(c.UserContext(), pool, func(tx pgx.Tx) error {
		b := &pgx.Batch{}
		b.Queue(`INSERT INTO plain_orders (id, user_id, status, total_minor) VALUES ($1, $2, 'AWAITING_PAYMENT', 4990)`, id, id)
		b.Queue(`INSERT INTO plain_items (id, order_id, product_id, quantity) VALUES ($1, $2, $3, $4)`, uuid.Must(uuid.NewV7()), id, body.Items[0].ProductID, body.Items[0].Quantity)
		b.Queue(`INSERT INTO plain_outbox (id, order_id, payload) VALUES ($1, $2, '{"type":"ORDER_PLACED"}')`, uuid.Must(uuid.NewV7()), id)
		return tx.SendBatch(c.UserContext(), b).Close()
	})
	if err != nil {
		return err
	}
	return c.Status(fiber.StatusCreated).JSON(fiber.Map{"orderId": id})
}

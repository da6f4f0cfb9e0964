package console_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"onefold/domain/checkout"
	"onefold/domain/console"
	"onefold/domain/lead"
	"onefold/domain/provider"
)

func (w *world) resolve(t *testing.T, text string) []console.Hit {
	t.Helper()
	hits, err := console.Resolve(t.Context(), w.db, text)
	require.NoError(t, err)
	return hits
}

func (w *world) text(t *testing.T, sql string, args ...any) (out string) {
	t.Helper()
	require.NoError(t, w.db.QueryRow(t.Context(), sql, args...).Scan(&out))
	return out
}

func TestEveryKindOfIDLeadsToTheOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	out := w.bought(t, uuid.New())
	id := out.Result.OrderID
	w.exec(t, `INSERT INTO river_job (id, args, kind, max_attempts, queue) VALUES (99, jsonb_build_object('operation_id', $1::text), 'create_payment', 3, 'q'),
		(98, jsonb_build_object('incoming_event_id', (SELECT id FROM incoming_events)), 'apply_event', 3, 'q')`, out.ID.String())
	for what, c := range map[string]struct{ text, kind string }{
		"order":            {id.String(), "order"},
		"number":           {w.text(t, `SELECT number::text FROM orders`), "order"},
		"number with sign": {"№" + w.text(t, `SELECT number::text FROM orders`), "order"},
		"operation":        {out.ID.String(), "order"},
		"other operation":  {w.text(t, `SELECT id::text FROM operations WHERE type = 'ACCRUE_BONUS'`), "operation"},
		"key":              {"key-1", "key"},
		"business key":     {"payment:create:order:" + id.String() + ":1", "key"},
		"payment":          {w.text(t, `SELECT id::text FROM payments`), "payment"},
		"provider payment": {w.text(t, `SELECT provider_payment_id FROM payments`), "provider_payment"},
		"event":            {w.text(t, `SELECT id::text FROM incoming_events`), "event"},
		"provider event":   {"evt_key-1", "event"},
		"outbox event":     {w.text(t, `SELECT id::text FROM outbox_events WHERE event_type = 'ORDER_PAID'`), "outbox"},
		"trace":            {out.TraceID, "trace"},
		"traceparent":      {"00-" + strings.ToUpper(out.TraceID) + "-00f067aa0ba902b7-01", "trace"},
		"webhook's trace":  {w.text(t, `SELECT trace_id FROM incoming_events`), "trace"},
		"job":              {"4711", "job"},
		"waiting job":      {"99", "job"},
		"event's job":      {"98", "job"},
		"e-mail":           {"Anna@Example.com", "user"},
		"spaces, quotes":   {" \t“key-1”,\n", "key"},
		"URL":              {"https://shop.example/console/intents/" + id.String() + "?lane=job#e-12", "order"},
		"URL below it":     {"http://127.0.0.1:8080/api/orders/" + id.String() + "/payments", "order"},
		"URL with query":   {"https://shop.example/console/search?q=evt_key-1", "event"},
	} {
		hits := w.resolve(t, c.text)
		require.Len(t, hits, 1, what)
		require.Equal(t, c.kind, hits[0].Kind, what)
		require.Equal(t, id, hits[0].OrderID.UUID, what)
		require.Equal(t, "order", hits[0].Entity, what)
		require.Equal(t, "FULFILLED", hits[0].State, what)
		require.Equal(t, w.text(t, `SELECT number::text FROM orders`), hits[0].Label, what)
	}
	for _, text := range []string{
		"", "  ", "nothing", uuid.NewString(), "123456789", "99999999999999999999", "\x00", "a\x00b", "\xff", "key", "%", "https://shop.example/",
		strings.Repeat("0", 32), strings.Repeat("x", 10_000), "b@example.com", "';--",
	} {
		require.Empty(t, w.resolve(t, text), "%.50q", text)
	}
}

func TestAmbiguousIDsAreSeveralHits(t *testing.T) {
	t.Parallel()
	w, anna, boris := newWorld(t), uuid.New(), uuid.New()
	first, second := w.place(t, anna, "same"), w.place(t, boris, "same")
	hits := w.resolve(t, "same")
	require.Len(t, hits, 2)
	require.Equal(t, second.Result.OrderID, hits[0].OrderID.UUID, "newest first")
	require.Equal(t, first.Result.OrderID, hits[1].OrderID.UUID)
	require.Len(t, w.resolve(t, "anna@example.com"), 2)

	w.exec(t, `UPDATE operations SET key = (SELECT number::text FROM orders WHERE id = $1) WHERE id = $2`, first.Result.OrderID, second.ID)
	hits = w.resolve(t, w.text(t, `SELECT number::text FROM orders WHERE id = $1`, first.Result.OrderID))
	require.Len(t, hits, 2)
	require.Equal(t, "order", hits[0].Kind)
	require.Equal(t, "key", hits[1].Kind)
}

func TestResolveWithoutAnOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := command(uuid.New(), "none-left")
	c.Items = []checkout.Item{{ProductID: "aurora-synth", Quantity: 1}}
	out, err := w.desk.Place(traced(t), c)
	require.NoError(t, err)
	hits := w.resolve(t, "none-left")
	require.Len(t, hits, 1)
	require.Equal(t, out.ID, hits[0].OperationID.UUID)
	require.False(t, hits[0].OrderID.Valid)
	require.Equal(t, []string{"CREATE_ORDER", "operation", "FAILED"}, []string{hits[0].Label, hits[0].Entity, hits[0].State})

	stray := w.deliver(t, "evt_stray", provider.Payment{ID: "pay_of_somebody", Status: provider.Succeeded})
	hits = w.resolve(t, "evt_stray")
	require.Len(t, hits, 1)
	require.Equal(t, stray, hits[0].EventID.UUID)
	require.Equal(t, "RECEIVED", hits[0].State)

	w.exec(t, `DROP TABLE river_job CASCADE`)
	require.Empty(t, w.resolve(t, "99"))
}

func TestMoreFormsLeadToTheIntent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	out := w.bought(t, uuid.New())
	id := out.Result.OrderID
	w.exec(t, `UPDATE orders SET cart_id = gen_random_uuid()`)
	for what, c := range map[string]struct{ text, kind string }{
		"UUID without hyphens": {strings.ReplaceAll(id.String(), "-", ""), "order"},
		"UUID in capitals":     {strings.ToUpper(id.String()), "order"},
		"URN":                  {"urn:uuid:" + id.String(), "order"},
		"braces":               {"{" + id.String() + "}", "order"},
		"log field":            {"order_id=" + id.String(), "order"},
		"JSON member":          {`"operationId": "` + out.ID.String() + `",`, "order"},
		"header":               {"Idempotency-Key: key-1", "key"},
		"line of a log":        {`{"time":"2026-11-30","msg":"applied","provider_event_id":"evt_key-1","job_id":5}`, "event"},
		"sentence":             {"the customer says that order " + id.String() + " was charged twice", "order"},
		"basket":               {w.text(t, `SELECT cart_id::text FROM orders`), "cart"},
		"licence key":          {strings.ToLower(w.text(t, `SELECT license_key FROM licenses LIMIT 1`)), "license"},
	} {
		hits := w.resolve(t, c.text)
		require.Len(t, hits, 1, what)
		require.Equal(t, c.kind, hits[0].Kind, what)
		require.Equal(t, id, hits[0].OrderID.UUID, what)
	}
}

func TestEnquiriesAreFoundAndOutliveTheirOperation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	out, err := lead.Create(traced(t), w.desk.Operations, uuid.New(), "ask", lead.Enquiry{Name: "Anna", Email: "anna@example.com", Message: "Hello?"})
	require.NoError(t, err)
	for _, text := range []string{out.Result.ResourceID, out.ID.String(), "ask"} {
		hits := w.resolve(t, text)
		require.Len(t, hits, 1, text)
		require.Equal(t, out.ID, hits[0].OperationID.UUID)
	}
	in := w.find(t, uuid.MustParse(out.Result.ResourceID))
	require.Equal(t, out.ID, in.Root.ID)
	require.Equal(t, out.Result.ResourceID, in.Lead.ID.String())
	w.exec(t, `DELETE FROM operations`)
	require.Len(t, w.resolve(t, out.Result.ResourceID), 1)
	for _, id := range []string{out.Result.ResourceID, out.ID.String()} {
		require.NotNil(t, w.find(t, uuid.MustParse(id)).Lead, "the enquiry is the intent now")
	}
}

func TestNearHitsBeginAlike(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.bought(t, uuid.New()).Result.OrderID
	near := func(text string) (found []string) {
		t.Helper()
		list, err := console.Nearest(t.Context(), w.db, text)
		require.NoError(t, err)
		for _, n := range list {
			found = append(found, n.Kind+" "+n.Value)
		}
		return found
	}
	require.Contains(t, near(id.String()[:20]), "order "+id.String())
	require.Contains(t, near(id.String()[:8]+"…"+id.String()[32:]), "order "+id.String(), "as a narrow column shows it")
	require.Contains(t, near(id.String()[:35]+"g"), "order "+id.String(), "mistyped at its end")
	require.Contains(t, near("evt_ke"), "event evt_key-1")
	require.Contains(t, near("key-"), "key key-1")
	require.Contains(t, near("anna@exam"), "user a•••@example.com", "masked")
	for _, text := range []string{"", "ke", "zzzz", "\x00", "%%%%", "'; DROP TABLE orders", strings.Repeat("x", 5000)} {
		require.Empty(t, near(text), "%.20q", text)
	}
}

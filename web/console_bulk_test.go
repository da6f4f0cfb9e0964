package web_test

import (
	"maps"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"onefold/domain/account"
	"onefold/domain/console"
	"onefold/domain/operator"
	"onefold/web"
)

// crowded puts something into every queue.
func (f *floor) crowded() {
	f.t.Helper()
	sold, open, review := f.sold("key-1"), f.placed("key-2"), f.placed("key-3")
	f.write(`UPDATE payments SET status = 'UNKNOWN' WHERE order_id = $1`, open)
	f.write(`UPDATE operations SET status = 'FAILED', failure_code = 'BROKEN', last_error = 'no' WHERE order_id = $1 AND type = 'ACCRUE_BONUS'`, sold)
	f.write(`INSERT INTO operations (id, user_id, type, target, key, request_hash, status, created_at, trace_id, next_attempt_at)
		SELECT gen_random_uuid(), user_id, 'WATCH_PAYMENT', 'x', 'x', '', 'PROCESSING', now() - interval '1 hour', trace_id, now() - interval '1 hour'
		FROM operations WHERE user_id = '00000000-0000-0000-0000-000000000001' LIMIT 1`)
	f.write(`UPDATE orders SET needs_review = true, review_reason = 'X' WHERE id = $1`, review)
	f.write(`INSERT INTO possible_duplicates (order_id, earlier_id) VALUES ($1, $2)`, review, open)
	f.write(`UPDATE payments SET orphaned_at = now() WHERE order_id = $1`, sold)
	f.parkedLong()
	f.write(`INSERT INTO approvals (id, action, object_id, order_id, input, reason, requested_by) SELECT gen_random_uuid(), 'refund', $1, $1, '{"Amount": {"amount": "1.00", "currency": "RUB"}}', 'r', id FROM users LIMIT 1`, sold)
	f.write(`INSERT INTO river_job (kind, args, max_attempts, state, attempt, finalized_at, queue, priority) VALUES ('execute', '{"id": "x"}', 5, 'discarded', 5, now(), 'default', 1)`)
	f.write(`INSERT INTO incoming_events (id, provider, event_id, event_type, object_id, payload, payload_hash, status, reason, processed_at, trace_id)
		SELECT gen_random_uuid(), provider, 'evt_q', event_type, object_id, payload, payload_hash, 'QUARANTINED', 'r', now(), trace_id FROM incoming_events LIMIT 1`)
	f.write(`INSERT INTO incoming_events (id, provider, event_id, event_type, object_id, payload, payload_hash, status, attempts, next_attempt_at, trace_id)
		SELECT gen_random_uuid(), provider, 'evt_w', event_type, object_id, payload, payload_hash, 'RECEIVED', 3, now() + interval '1 hour', trace_id FROM incoming_events LIMIT 1`)
}

// bulk sends a queue's bulk form and returns the preview's address.
func (s *shop) bulk(queue string, action operator.Name, fill func(page *goquery.Document, form url.Values)) string {
	s.t.Helper()
	a := s.get("/console/work/"+queue, "")
	form := a.form(s.t, "/console/bulk/preview")
	form.Set("action", string(action))
	fill(a.page(s.t), form)
	a = s.post("/console/bulk/preview", form)
	require.Equal(s.t, http.StatusSeeOther, a.Status, "%s: %s", queue, a.Body)
	return a.Header.Get("Location")
}

// start confirms a previewed batch, twice.
func (s *shop) start(batch string) {
	s.t.Helper()
	form := s.get(batch, "").form(s.t, "/console/bulk")
	form.Set("reason", "my shift")
	for range 2 {
		require.Equal(s.t, batch, s.post("/console/bulk", form).Header.Get("Location"))
	}
}

func TestEveryQueueAssignsAndSnoozesItsRows(t *testing.T) {
	t.Parallel()
	var desk *operator.Desk
	f := newFloor(t, func(h *web.Handlers) {
		desk = &operator.Desk{Operations: h.Desk.Operations, Checkout: h.Desk, Wake: h.Wake}
		h.Operator = desk
	})
	f.crowded()
	b := f.as(account.Support)
	step := func(batch string) {
		id := uuid.MustParse(batch[len("/console/batches/"):])
		require.NoError(t, desk.Step(t.Context(), id))
	}
	for _, queue := range console.QueueNames() {
		selected := b.bulk(queue, operator.Assign, func(page *goquery.Document, form url.Values) {
			key := page.Find(testID("pick")).First().AttrOr("value", "")
			form["selected"] = []string{key, key}
			form.Set("to", page.Find(testID("bulk-to")+" option").First().AttrOr("value", "?"))
		})
		preview := b.page(selected, http.StatusOK)
		require.Contains(t, preview.Find(testID("batch-input")).Text(), "support-", "the preview says to whom: %s", queue)
		require.Equal(t, 1, preview.Find(testID("batch-item")).Length(), queue)
		b.start(selected)
		step(selected)
		require.Equal(t, "DONE", b.page(selected, http.StatusOK).Find(testID("batch")).AttrOr("data-status", ""), queue)
		mine := b.page("/console/work/"+queue+"?assignee=me", http.StatusOK)
		require.GreaterOrEqual(t, mine.Find(testID("work-row")).Length(), 1, queue)
	}
	require.Equal(t, len(console.QueueNames()), f.count(`SELECT count(*) FROM audit_actions WHERE action = 'assign' AND outcome = 'DONE' AND reason = 'my shift'`))
	require.Equal(t, len(console.QueueNames()), f.count(`SELECT count(*) FROM audit_actions WHERE action = 'batch' AND outcome = 'DONE'`))
	for _, queue := range console.QueueNames() {
		page := b.page("/console/work/"+queue, http.StatusOK)
		if page.Find(testID("work-row")).Length() == 0 {
			continue // another queue's batch was about the same order
		}
		all := b.bulk(queue, operator.Snooze, func(page *goquery.Document, form url.Values) {
			form.Set("all", "1")
			form.Set("until", page.Find(testID("bulk-until")+" option").First().AttrOr("value", "?"))
		})
		require.Contains(t, b.page(all, http.StatusOK).Find(testID("batch-input")).Text(), "Until ", queue)
		b.start(all)
		step(all)
		page = b.page("/console/work/"+queue, http.StatusOK)
		require.Equal(t, 1, page.Find(testID("empty")).Length(), "%s: %s", queue, page.Find(testID("work-row")).Text())
	}
	for _, n := range b.page("/console", http.StatusOK).Find(".tiles [data-count]").EachIter() {
		require.Equal(t, "0", n.AttrOr("data-count", ""), "nothing is counted that is snoozed")
	}
	list := b.page("/console/batches", http.StatusOK)
	require.Contains(t, list.Find(testID("batch-row")).Text(), "Until ")
	require.Equal(t, 1, f.as(account.Viewer).page("/console/batches", http.StatusOK).Find("main h1").Length())
}

func TestABulkFormIsReadWithCare(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	f.crowded()
	b := f.as(account.Support)
	form := b.get("/console/work/failed_jobs", "").form(t, "/console/bulk/preview")
	form.Set("all", "1")
	for status, more := range map[int][]string{
		http.StatusNotFound:   {"action", "recover"}, // another queue's
		http.StatusBadRequest: {"action", "snooze", "until", "soon"},
		http.StatusForbidden:  {"action", "settle_review", "queue", "orders_in_review"},
	} {
		wrong := maps.Clone(form)
		for i := 0; i < len(more); i += 2 {
			wrong.Set(more[i], more[i+1])
		}
		require.Equal(t, status, b.post("/console/bulk/preview", wrong).Status, more)
	}
	form.Set("action", "assign")
	form.Set("to", "nobody")
	require.Equal(t, http.StatusBadRequest, b.post("/console/bulk/preview", form).Status)
	form.Set("to", uuid.NewString())
	require.Equal(t, http.StatusBadRequest, b.post("/console/bulk/preview", form).Status, "not one of the staff")
	form.Del("all")
	form["selected"] = []string{uuid.NewString()}
	form.Set("to", "")
	require.Equal(t, http.StatusBadRequest, b.post("/console/bulk/preview", form).Status, "that row has left the queue")

	batch := b.bulk("failed_jobs", operator.Snooze, func(_ *goquery.Document, form url.Values) {
		form.Set("all", "1")
		form.Set("until", time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	})
	confirm := b.get(batch, "").form(t, "/console/bulk")
	confirm.Set("reason", "late")
	f.write(`UPDATE batches SET input = '{"Until": "2026-01-01T00:00:00Z"}'`)
	late := b.post("/console/bulk", confirm)
	require.Equal(t, http.StatusUnprocessableEntity, late.Status)
	require.Contains(t, late.page(t).Find(testID("error-summary")).Text(), "next 30 days")
	viewer := f.as(account.Viewer).page("/console/work/failed_jobs", http.StatusOK)
	require.Equal(t, 2, viewer.Find(testID("bulk-bar")+" select[disabled]").Length())
}

package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"onefold/domain/account"
	"onefold/domain/operation"
	"onefold/domain/operator"
	"onefold/domain/outbox"
)

// form opens the page of an action and returns its form, with the reason filled in.
func (s *shop) actForm(address string) url.Values {
	s.t.Helper()
	a := s.get(address, "")
	if a.Status == http.StatusSeeOther { // the key stands in the address from now on
		a = s.get(a.Header.Get("Location"), "")
	}
	require.Equal(s.t, http.StatusOK, a.Status, a.Body)
	form := a.form(s.t, address)
	form.Set("reason", "asked for by the customer")
	return form
}

// token is the form token of a page that everybody may open.
func (s *shop) token() string {
	s.t.Helper()
	return s.get("/sign-in", "").form(s.t, "/sign-in").Get("csrf")
}

// press sends a form that the page wouldn't show: only the server is left to refuse it.
func (s *shop) press(action operator.Name, object string, more ...string) answer {
	s.t.Helper()
	form := url.Values{"csrf": {s.token()}, "key": {uuid.NewString()}, "reason": {"tried"}}
	for i := 0; i < len(more); i += 2 {
		form.Set(more[i], more[i+1])
	}
	return s.post("/console/act/"+string(action)+"/"+object, form)
}

func (s *shop) audited(action operator.Name, outcome string) int {
	s.t.Helper()
	return s.count(`SELECT count(*) FROM audit_actions WHERE action = $1 AND outcome = $2`, action, outcome)
}

func done(t *testing.T, a answer) uuid.UUID {
	t.Helper()
	require.Equal(t, http.StatusSeeOther, a.Status, a.Body)
	u, err := url.Parse(a.Header.Get("Location"))
	require.NoError(t, err)
	id, err := uuid.Parse(u.Query().Get("done"))
	require.NoError(t, err, u)
	return id
}

func TestC37_OneRefundHoweverOftenItIsPressed(t *testing.T) {
	t.Parallel()
	refunds := func(f *floor, order string) int {
		return f.count(`SELECT count(*) FROM refunds WHERE order_id = $1`, order)
	}
	left := func(f *floor, order string) (n int) {
		return f.count(`SELECT p.amount_minor - coalesce((SELECT sum(amount_minor) FROM refunds r WHERE r.payment_id = p.id), 0) FROM payments p WHERE order_id = $1`, order)
	}
	t.Run("a: one form twice, by two processes", func(t *testing.T) {
		t.Parallel()
		f := newFloor(t)
		order := f.sold("key-1")
		one := f.as(account.Operator)
		form := one.actForm("/console/act/refund/" + order)
		form.Set("amount", "4.00")
		other := openShop(t, f.db).browser()
		other.client.Jar = one.client.Jar
		answers := make([]answer, 8)
		var wg sync.WaitGroup
		for i := range answers {
			wg.Go(func() { answers[i] = []*shop{one, other}[i%2].post("/console/act/refund/"+order, form) })
		}
		wg.Wait()
		for _, a := range answers {
			require.Equal(t, done(t, answers[0]), done(t, a))
		}
		require.Equal(t, 1, refunds(f, order))
		require.Equal(t, 1, f.audited(operator.Refund, "DONE"))
		require.Equal(t, 7, f.audited(operator.Refund, "REPLAYED"))
		require.Equal(t, 1, f.count(`SELECT count(*) FROM refunds WHERE amount_minor = 400`))
	})
	t.Run("b: two operators, c: a stale form", func(t *testing.T) {
		t.Parallel()
		f := newFloor(t)
		order := f.sold("key-1")
		ann, bob := f.as(account.Operator), f.as(account.Operator)
		first, second := ann.actForm("/console/act/refund/"+order), bob.actForm("/console/act/refund/"+order)
		first.Set("amount", "4.00")
		second.Set("amount", "4.00")
		done(t, ann.post("/console/act/refund/"+order, first))
		stale := bob.post("/console/act/refund/"+order, second)
		require.Equal(t, http.StatusConflict, stale.Status)
		require.Contains(t, stale.Body, "What is left has changed")
		fresh := stale.form(t, "/console/act/refund/"+order)
		require.NotEqual(t, second.Get("key"), fresh.Get("key"))
		require.NotEqual(t, second.Get("expected"), fresh.Get("expected"), "the page shows what is true now")
		require.Equal(t, http.StatusConflict, bob.post("/console/act/refund/"+order, second).Status, "also when sent again")
		require.Equal(t, 1, refunds(f, order))
		require.Equal(t, 2, f.count(`SELECT count(*) FROM audit_actions WHERE action = 'refund' AND outcome = 'REFUSED' AND code = 'BALANCE_CHANGED'`))
		fresh.Set("amount", "1.00")
		fresh.Set("reason", "looked again")
		done(t, bob.post("/console/act/refund/"+order, fresh))
		require.Equal(t, 2, refunds(f, order))
	})
	t.Run("d: all of it twice", func(t *testing.T) {
		t.Parallel()
		f := newFloor(t)
		order := f.sold("key-1")
		b := f.as(account.Operator)
		form := b.actForm("/console/act/refund/" + order)
		amount, _, _ := strings.Cut(form.Get("expected"), " ")
		form.Set("amount", amount)
		first, again := b.post("/console/act/refund/"+order, form), b.post("/console/act/refund/"+order, form)
		require.Equal(t, done(t, first), done(t, again))
		require.Equal(t, 1, refunds(f, order))
		require.Zero(t, left(f, order))
		nothing := b.press(operator.Refund, order, "amount", "1.00", "expected", "1.00 RUB")
		require.Equal(t, http.StatusConflict, nothing.Status)
		require.Contains(t, nothing.Body, "everything went back already")
		require.Equal(t, 1, refunds(f, order))
	})
	t.Run("e: cancel, mail, note", func(t *testing.T) {
		t.Parallel()
		f := newFloor(t)
		order := f.sold("key-1")
		b := f.as(account.Operator)
		for _, action := range []operator.Name{operator.ResendMail, operator.AddNote} {
			address := "/console/act/" + string(action) + "/" + order
			form := b.actForm(address)
			for range 3 {
				done(t, b.post(address, form))
			}
			require.Equal(t, 1, f.audited(action, "DONE"), action)
			require.Equal(t, 2, f.audited(action, "REPLAYED"), action)
		}
		require.Equal(t, 1, f.count(`SELECT count(*) FROM operations WHERE type = 'RESEND_NOTIFICATION'`))
		require.Equal(t, 1, f.count(`SELECT count(*) FROM case_notes`))
		require.Equal(t, http.StatusConflict, b.press(operator.CancelOrder, order).Status, "it is paid")
	})
}

func TestC38_RetryAndRedeliverAgainstLiveWork(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	order := f.sold("key-1")
	before := f.count(`SELECT (SELECT count(*) FROM licenses) + (SELECT count(*) FROM bonus_entries) + (SELECT count(*) FROM notifications)`)
	b := f.as(account.Operator)
	f.write(`INSERT INTO operations (id, user_id, type, key, request_hash, status, attempt, lease_expires_at, lease_owner, next_attempt_at, trace_id, order_id)
		VALUES ('00000000-0000-4000-8000-00000000000a', $1, 'ACCRUE_BONUS', 'live', 'v1:x', 'PROCESSING', 3, now() + interval '1 minute', 'worker-1', now(), $2, $3)`,
		operation.System, strings.Repeat("a", 32), order)
	live := "00000000-0000-4000-8000-00000000000a"

	a := b.press(operator.Recover, live) // a: running
	require.Equal(t, http.StatusConflict, a.Status)
	require.Contains(t, a.Body, "somebody is at it; the lease ends")
	require.NotEmpty(t, a.Header.Get("Retry-After"))
	require.Equal(t, 1, f.count(`SELECT count(*) FROM operations WHERE id = $1 AND attempt = 3 AND lease_owner = 'worker-1' AND lease_expires_at > now()`, live), "its lease is untouched")

	finished := f.ids(`SELECT id FROM operations WHERE type = 'ISSUE_LICENSES'`)[0] // b: completed
	a = b.press(operator.Recover, finished.String())
	require.Equal(t, http.StatusConflict, a.Status)
	require.Contains(t, a.Body, "it has ended")
	event := f.ids(`SELECT id FROM incoming_events`)[0]
	a = b.press(operator.Reprocess, event.String())
	require.Equal(t, http.StatusConflict, a.Status)
	require.Contains(t, a.Body, "it was processed already")
	fact := f.ids(`SELECT id FROM outbox_events WHERE event_type = $1`, outbox.OrderPaid)[0]
	require.Equal(t, http.StatusConflict, b.press(operator.Redispatch, fact.String()).Status)

	f.write(`INSERT INTO river_job (id, args, kind, max_attempts, queue, state, finalized_at) VALUES (1, '{"n": 1}', 'apply_event', 3, 'q', 'discarded', now())`) // c: a newer twin
	f.write(`INSERT INTO river_job (id, args, kind, max_attempts, queue, state) VALUES (2, '{"n": 1}', 'apply_event', 3, 'q', 'available')`)
	a = b.press(operator.RetryJob, "1")
	require.Equal(t, http.StatusConflict, a.Status)
	require.Contains(t, a.Body, "a newer job carries on the same row")

	f.write(`UPDATE outbox_events SET parked_at = now(), dispatched_at = NULL WHERE id = $1`, fact) // d: five times quickly
	f.write(`UPDATE operations SET lease_expires_at = NULL WHERE id = $1`, live)
	form := url.Values{"csrf": {b.token()}, "key": {uuid.NewString()}}
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() {
			if got := b.post("/console/act/redispatch/"+fact.String(), form); got.Status != http.StatusSeeOther {
				t.Errorf("%d %s", got.Status, got.Body)
			}
		})
	}
	wg.Wait()
	require.Equal(t, 1, f.audited(operator.Redispatch, "DONE"))
	f.write(`DELETE FROM operations WHERE id = $1`, live)
	f.work()
	require.Equal(t, before, f.count(`SELECT (SELECT count(*) FROM licenses) + (SELECT count(*) FROM bonus_entries) + (SELECT count(*) FROM notifications)`), "effects are as they were")

	viewer := f.as(account.Support) // f: without the right
	for _, press := range []struct {
		action operator.Name
		object string
	}{{operator.Recover, finished.String()}, {operator.Reprocess, event.String()}, {operator.Redispatch, fact.String()}, {operator.RetryJob, "1"}} {
		require.Equal(t, http.StatusForbidden, viewer.press(press.action, press.object).Status, press.action)
		require.Equal(t, 1, f.count(`SELECT count(*) FROM audit_actions WHERE action = $1 AND outcome = 'REFUSED' AND code = 'FORBIDDEN' AND object_id = $2`, press.action, press.object))
	}
}

// C38 e: many at once, of which some may not be touched: a result per row.
func TestC38_ManyAtOnce(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	f.sold("key-1")
	f.write(`INSERT INTO operations (id, user_id, type, key, request_hash, status, next_attempt_at, trace_id, created_at, lease_expires_at)
		SELECT gen_random_uuid(), $1, 'ACCRUE_BONUS', 'k' || n, 'v1:x', 'PROCESSING', now() + interval '1 hour', $2, now() - interval '1 hour',
			CASE WHEN n % 4 = 0 THEN now() + interval '1 hour' END FROM generate_series(1, 100) n`, operation.System, strings.Repeat("a", 32))
	b := f.as(account.Operator)
	page := b.get("/console/work/stuck_operations", "")
	form := page.form(t, "/console/bulk/preview")
	form.Set("all", "1")
	form.Set("action", "recover")
	a := b.post("/console/bulk/preview", form)
	require.Equal(t, http.StatusSeeOther, a.Status, a.Body)
	batch := a.Header.Get("Location")
	preview := b.page(batch, http.StatusOK)
	require.Equal(t, 10, preview.Find(testID("batch-item")).Length())
	require.Contains(t, preview.Find(testID("batch-skipped")).Text(), "somebody is at it")
	confirm := b.get(batch, "").form(t, "/console/bulk")
	confirm.Set("reason", "the worker was replaced")
	wrong := b.post("/console/bulk", confirm)
	require.Equal(t, http.StatusUnprocessableEntity, wrong.Status, "75 have to be typed")
	require.Contains(t, wrong.Body, "the worker was replaced", "what was typed is kept")
	confirm.Set("count", "75")
	for range 2 {
		require.Equal(t, batch, b.post("/console/bulk", confirm).Header.Get("Location"))
	}
	id := uuid.MustParse(strings.TrimPrefix(batch, "/console/batches/"))
	desk := &operator.Desk{Operations: &operation.Runner{DB: f.db, Retention: 1 << 40, Wait: 1 << 30}, Wake: func() {}}
	f.write(`UPDATE operations SET lease_expires_at = now() + interval '1 hour' WHERE key = 'k1'`) // meanwhile
	for range 6 {
		require.NoError(t, desk.Step(t.Context(), id))
	}
	run := b.page(batch, http.StatusOK)
	require.Equal(t, "DONE", run.Find(testID("batch")).AttrOr("data-status", ""))
	require.Equal(t, 74, f.audited(operator.Recover, "DONE"))
	require.Equal(t, "74", strings.TrimSpace(run.Find(`[data-testid="batch.DONE"]`).Text()))
	require.Equal(t, "26", strings.TrimSpace(run.Find(`[data-testid="batch.SKIPPED"]`).Text()))
	_, polls := run.Find("#batch").Attr("hx-trigger")
	require.False(t, polls, "a finished batch is looked at no more")
	require.Contains(t, b.page("/console/batches", http.StatusOK).Find(testID("batch-row")).Text(), "74 / 100")
	require.Equal(t, http.StatusForbidden, f.as(account.Support).post("/console/bulk/preview", url.Values{
		"csrf": {f.token()}, "queue": {"stuck_operations"}, "action": {"recover"}, "all": {"1"},
	}).Status)
}

// What somebody else wrote since the form was made isn't overwritten unseen: the page comes back with what it says now.
func TestAStaleCaseFormComesBackWithWhatIsTrueNow(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	order := f.sold("key-1")
	ann, bob := f.as(account.Support), f.as(account.Support)
	address := "/console/act/tag/" + order
	hers, his := ann.actForm(address), bob.actForm(address)
	hers.Set("tags", "vip")
	his.Set("tags", "late")
	done(t, ann.post(address, hers))
	a := bob.post(address, his)
	require.Equal(t, http.StatusConflict, a.Status)
	require.Contains(t, a.page(t).Find(testID("refused")).Text(), "Somebody else has changed it")
	require.Equal(t, "vip", a.page(t).Find(testID("field-tags")).AttrOr("value", ""))
	again := a.form(t, address)
	again.Set("tags", "vip, late")
	done(t, bob.post(address, again))
	require.Equal(t, 1, f.count(`SELECT count(*) FROM cases WHERE tags = '{late,vip}'`))
	mine := bob.get("/console/intents/"+order, "").form(t, "/console/act/assign/"+order)
	done(t, ann.post("/console/act/assign/"+order, ann.get("/console/intents/"+order, "").form(t, "/console/act/assign/"+order)))
	require.Equal(t, http.StatusConflict, bob.post("/console/act/assign/"+order, mine).Status, "she has taken it on already")
}

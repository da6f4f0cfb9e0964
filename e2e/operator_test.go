//go:build e2e

package e2e

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// staff is somebody of a role at the console, without scripts.
func (s *shop) staff(role string) *surfer {
	s.t.Helper()
	who := buyer{email: role + "-" + newKey() + "@example.com", password: "correct horse battery"}
	run(s.t, who.password+"\n", s.observer.env(), "user", "add", "--email", who.email, "--role", role)
	v := s.surfer()
	require.Equal(s.t, 303, v.signIn("/console/sign-in", who).status)
	return v
}

// presses an action's button, n times, and returns where the last press leads.
func (v *surfer) act(page, action, object string, n int, more ...string) string {
	v.t.Helper()
	form := v.form(page, "/console/act/"+action+"/"+object)
	for i := 0; i < len(more); i += 2 {
		form.Set(more[i], more[i+1])
	}
	at := ""
	for range n {
		a := v.post("/console/act/"+action+"/"+object, form)
		require.Equal(v.t, 303, a.status, "%s", a)
		at = a.header.Get("Location")
	}
	return at
}

// open is the page of an action, whose address carries the form's key.
func (v *surfer) actPage(action, object string) string {
	v.t.Helper()
	a := v.must("GET", v.base+"/console/act/"+action+"/"+object, "", "", nil)
	require.Equal(v.t, 303, a.status, "%s", a)
	return a.header.Get("Location")
}

// CASES C27 c: an operator opens the list, retries one row, then all: each goes out once, with the ID it had.
func TestC27_CAnOperatorRetriesParkedRows(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 1)
	orders := []order{s.buy(one(license)), s.buy(one(other)), s.buy(one(license))}
	for _, o := range orders {
		s.until(s.pay(o), "FULFILLED")
	}
	s.settled()
	before := s.effects()
	s.exec(`UPDATE outbox_events SET parked_at = now(), dispatched_at = NULL, last_error = 'nobody knows 17', attempts = 8 WHERE event_type = 'ORDER_PAID'`)
	ids := s.texts(`SELECT id FROM outbox_events WHERE parked_at IS NOT NULL ORDER BY created_at, id`)
	require.Len(t, ids, 3)
	v := s.staff("operator")
	v.act("/console/work/parked_events", "redispatch", ids[0], 5)
	eventually(t, "it goes out", func() bool { return s.count(`SELECT count(*) FROM outbox_events WHERE parked_at IS NOT NULL`) == 2 })
	require.Equal(t, 1, s.count(`SELECT count(*) FROM audit_actions WHERE action = 'redispatch' AND outcome = 'DONE' AND object_id = $1`, ids[0]))
	require.Equal(t, 4, s.count(`SELECT count(*) FROM audit_actions WHERE action = 'redispatch' AND outcome = 'REPLAYED'`))

	form := v.form("/console/work/parked_events", "/console/bulk/preview")
	form.Set("all", "1")
	form.Set("action", "redispatch")
	a := v.post("/console/bulk/preview", form)
	require.Equal(t, 303, a.status, "%s", a)
	batch := a.header.Get("Location")
	require.Equal(t, 2, s.count(`SELECT count(*) FROM outbox_events WHERE parked_at IS NOT NULL`), "a preview does nothing")
	confirm := v.form(batch, "/console/bulk")
	confirm.Set("reason", "the type is known now")
	for range 2 {
		require.Equal(t, 303, v.post("/console/bulk", confirm).status)
	}
	eventually(t, "all have gone out", func() bool { return s.count(`SELECT count(*) FROM outbox_events WHERE dispatched_at IS NULL`) == 0 })
	eventually(t, "the batch is done", func() bool {
		return strings.Contains(string(v.must("GET", v.base+batch, "", "", nil).body), `data-status="DONE"`)
	})
	require.Equal(t, 3, s.count(`SELECT count(*) FROM audit_actions WHERE action = 'redispatch' AND outcome = 'DONE'`))
	require.Equal(t, ids, s.texts(`SELECT id FROM outbox_events WHERE event_type = 'ORDER_PAID' ORDER BY created_at, id`))
	s.settled()
	require.Equal(t, before, s.effects(), "what was done already isn't done again")
	s.proven()
}

// CASES C33 2: "send again" sends one more mail, however often it is pressed; no job decides about it.
func TestC33_TheReceiptIsSentAgain(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 1)
	o := s.until(s.pay(s.buy(one(license))), "FULFILLED")
	s.settled()
	require.Len(t, s.sim.ledger().Mails, 1)
	v := s.staff("support")
	page := v.actPage("resend_mail", o.OrderID.String())
	at := v.act(page, "resend_mail", o.OrderID.String(), 3, "reason", "it went astray")
	eventually(t, "the second mail arrives", func() bool { return len(s.sim.ledger().Mails) == 2 })
	require.Contains(t, string(v.must("GET", v.base+at, "", "", nil).body), `data-again="2"`)
	s.settled()
	s.exec(`DELETE FROM river_job`)
	s.again()
	s.settled()
	require.Len(t, s.sim.ledger().Mails, 2)
	require.NotEqual(t, s.sim.ledger().Mails[0].MessageID, s.sim.ledger().Mails[1].MessageID)
	require.Len(t, s.licenses(), 1)
	require.Equal(t, 1, s.count(`SELECT count(*) FROM audit_actions WHERE action = 'resend_mail' AND outcome = 'DONE'`))
	s.proven()
}

// CASES C37 with workers and a provider: one form, eight presses, one refund there; C38 a and b beside it.
func TestC37_OneRefundAtTheProvider(t *testing.T) {
	t.Parallel()
	s := open(t, 2, 1)
	o := s.until(s.pay(s.buy(one(license))), "FULFILLED")
	s.settled()
	v := s.staff("operator")
	id := o.OrderID.String()
	page := v.actPage("refund", id)
	form := v.form(page, "/console/act/refund/"+id)
	form.Set("amount", "1.00")
	form.Set("reason", "half of it was broken")
	bases := []string{"http://" + s.addrs[0], "http://" + s.addrs[1]}
	jar := v.http.Jar
	for _, base := range bases { // the same cookies, also at the other process
		u, _ := url.Parse(base)
		first, _ := url.Parse(bases[0])
		jar.SetCookies(u, jar.Cookies(first))
	}
	together(8, func(i int) {
		w := &surfer{client: v.client, base: bases[i%2]}
		w.post("/console/act/refund/"+id, form)
	})
	eventually(t, "the refund is known", func() bool { return s.count(`SELECT count(*) FROM refunds WHERE status = 'SUCCEEDED'`) == 1 })
	s.settled()
	require.Len(t, s.sim.outside().Refunds, 1)
	require.Equal(t, 1, s.count(`SELECT count(*) FROM audit_actions WHERE action = 'refund' AND outcome = 'DONE'`))
	require.Equal(t, 7, s.count(`SELECT count(*) FROM audit_actions WHERE action = 'refund' AND outcome = 'REPLAYED'`))
	stale := url.Values{"csrf": form["csrf"], "expected": form["expected"], "key": {newKey()}, "amount": {"1.00"}, "reason": {"an hour later"}}
	a := v.post("/console/act/refund/"+id, stale)
	require.Equal(t, 409, a.status)
	require.Contains(t, string(a.body), "What is left has changed")
	require.Len(t, s.sim.outside().Refunds, 1)
	s.proven()
}

// UX point 20: reconciling an unknown payment shows its result within ten seconds; pressed twice it is one run, with one audit entry.
func TestReconcileShowsItsResult(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 1)
	s.sim.breaks(fault{On: "webhooks.send", Do: "lose", Times: 1}) // or it would tell what the answer didn't
	s.sim.breaks(fault{On: "payments.create", Do: "drop_after", Times: 1})
	mend := s.sim.breaks(fault{On: "payments.get", Do: "error_before", Times: 0})
	o := s.untilPayment(s.buy(one(license)), "UNKNOWN")
	eventually(t, "nobody looks by himself", func() bool {
		s.exec(`UPDATE operations SET next_attempt_at = now() + interval '1 hour' WHERE type = 'CREATE_PAYMENT' AND lease_expires_at IS NULL AND status = 'PROCESSING'`)
		return s.count(`SELECT count(*) FROM operations WHERE type = 'CREATE_PAYMENT' AND next_attempt_at > now() + interval '50 minutes'`) == 1
	})
	v := s.staff("support")
	id := o.last().PaymentID.String()
	at := ""
	within(t, 10*time.Second, func() {
		at = v.act("/console/work/unknown_payments", "reconcile", id, 2)
		eventually(t, "the page shows the result", func() bool {
			return strings.Contains(string(v.must("GET", v.base+at, "", "", nil).body), `data-result="UNREACHABLE"`)
		})
	})
	require.Contains(t, string(v.must("GET", v.base+at, "", "", nil).body), `data-finished="true"`)
	require.Equal(t, 1, s.count(`SELECT count(*) FROM reconcile_runs WHERE scope = 'one'`))
	require.Equal(t, 1, s.count(`SELECT count(*) FROM audit_actions WHERE action = 'reconcile' AND outcome = 'DONE'`))
	mend()
	s.hurry()
	s.until(s.pay(o), "FULFILLED")
	s.proven()
}

// CASES C37 d and C38 c through a browser: a double click on Refund is one refund; what may not be pressed can't be clicked.
func TestC37_DoubleClickInTheBrowser(t *testing.T) {
	t.Parallel()
	s := &stage{scene: &scene{demo: openDemo(t), browser: startBrowser(t)}, orders: map[string]order{}}
	o := s.makeOrder(t)
	s.await(o, "PENDING")
	s.sim.decide(s.text(`SELECT provider_payment_id FROM payments WHERE id = $1`, o.last().PaymentID), "succeed")
	eventually(t, "the order is fulfilled", func() bool { return s.text(`SELECT status FROM orders WHERE id = $1`, o.OrderID) == "FULFILLED" })
	v := s.visit(t)
	v.signIn(s.login("operator"))
	v.goTo("/go/" + o.OrderID.String())
	v.click("act-refund")
	v.arrive("/console/act/refund/")
	v.do(chromedp.SendKeys(chromedp.CSS(`[name="reason"]`), "sent back"))
	v.do(chromedp.DoubleClick(testid("act-submit"), chromedp.NodeVisible))
	v.arrive("done=")
	require.Contains(t, v.text("done"), "Refund")
	eventually(t, "the refund is known", func() bool { return s.count(`SELECT count(*) FROM refunds WHERE status = 'SUCCEEDED'`) == 1 })
	require.Len(t, s.sim.outside().Refunds, 1)
	v.goTo("/console/intents/" + o.OrderID.String())
	require.Equal(t, 1, v.has(`button[data-testid="act-refund"][disabled]`), "nothing is left to refund")
	require.Contains(t, v.now("verdict-refund"), "everything went back already")
	v.goTo("/console/audit?action=refund")
	require.Equal(t, 1, v.has(`[data-testid="audit-row"][data-outcome="DONE"]`))
	w := s.visit(t)
	w.signIn(s.login("viewer"))
	w.goTo("/console/intents/" + o.OrderID.String())
	require.Zero(t, w.has(`form[action^="/console/act"]`))
	require.Contains(t, w.now("actions"), "needs the role")
}

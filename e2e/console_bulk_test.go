//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// UX section F.3, point 21, in a browser: the preview tells count, amount and what is skipped; "all matching" freezes the set; more
// than 50 want their number typed; two presses start one batch; its page tells what was done, skipped and failed, and tries the failed
// ones alone.
func TestManyAtOnceInTheBrowser(t *testing.T) {
	t.Parallel()
	const many, contradicting = 55, 3
	s := open(t, 1, 1)
	s.sim.breaks(fault{On: "payments.create", Do: "drop_after", Times: 0})
	s.sim.breaks(fault{On: "payments.get", Do: "error_before", Times: 0})
	s.sim.breaks(fault{On: "webhooks.send", Do: "lose", Times: 0})
	for range many {
		s.buy(one(license))
	}
	eventually(t, "nothing is known", func() bool { return s.count(`SELECT count(*) FROM payments WHERE status = 'UNKNOWN'`) == many })
	s.exec(`UPDATE operations SET status = 'FAILED', failure_code = 'amount_mismatch', completed_at = now(), next_attempt_at = NULL, lease_expires_at = NULL
		WHERE id IN (SELECT operation_id FROM payments ORDER BY id LIMIT $1)`, contradicting)
	d := &desk{shop: s, browser: startBrowser(t), people: map[string]buyer{}}
	v := d.login(t, "operator")

	v.goTo("/console/work/unknown_payments")
	v.do(chromedp.Click(chromedp.CSS(`label[for="bulk-all"]`)))
	v.click("bulk-reconcile")
	v.see("batch-form")
	_, batch, _ := strings.Cut(v.at(), "/console/batches/")
	require.Contains(t, v.text("batch-title"), fmt.Sprintf("× %d", many-contradicting))
	require.Equal(t, "129,480.00\u00a0RUB", v.text("batch-amount"), "52 × 2,490.00")
	require.Contains(t, v.text("batch-skipped"), "contradict")
	require.Equal(t, 10, v.has(`[data-testid="batch-item"]`), "the first ten are shown")

	s.buy(one(license))
	eventually(t, "one more is unknown", func() bool { return s.count(`SELECT count(*) FROM payments WHERE status = 'UNKNOWN'`) == many+1 })
	v.goTo("/console/batches/" + batch)
	require.Contains(t, v.text("batch-title"), fmt.Sprintf("× %d", many-contradicting), "the set stays as it was")

	confirm := func(count string) {
		v.do(chromedp.SetValue(chromedp.CSS(`[name="count"]`), count), chromedp.DoubleClick(testid("batch-start"), chromedp.NodeVisible))
	}
	v.do(chromedp.SendKeys(chromedp.CSS(`[name="reason"]`), "the provider is back"))
	v.expect("status of 422")
	confirm("5")
	v.see("error-summary")
	require.Equal(t, "the provider is back", js[string](v, `document.querySelector('[name="reason"]').value`), "nothing that was typed is lost")
	require.Zero(t, s.count(`SELECT count(*) FROM audit_actions WHERE action = 'reconcile' AND outcome = 'DONE'`))

	confirm(fmt.Sprint(many - contradicting))
	v.arrive("/console/reconcile/")
	require.Equal(t, 1, s.count(`SELECT count(*) FROM reconcile_runs WHERE started_by IS NOT NULL AND total = $1`, many-contradicting), "two presses are one run")

	// Rows that are pressed one by one. Whoever started it loses the right meanwhile: each press is refused.
	all := s.count(`SELECT count(*) FROM payments WHERE status = 'UNKNOWN'`)
	role := func(name string) { s.exec(`UPDATE users SET role = $1 WHERE email LIKE 'operator-%'`, name) }
	tally := func(what string) string { return strings.TrimSpace(v.text("batch." + what)) }
	v.goTo("/console/work/unknown_payments")
	v.do(chromedp.Click(chromedp.CSS(`label[for="bulk-all"]`)))
	v.click("bulk-assign")
	v.see("batch-form")
	_, batch, _ = strings.Cut(v.at(), "/console/batches/")
	v.do(chromedp.SendKeys(chromedp.CSS(`[name="reason"]`), "my shift"))
	s.work[0].stop(syscall.SIGTERM)
	confirm(fmt.Sprint(all))
	v.do(chromedp.WaitVisible(chromedp.CSS(`[data-testid="batch"][data-status="RUNNING"]`)))
	require.Equal(t, 1, s.count(`SELECT count(*) FROM batches WHERE status = 'RUNNING'`), "two presses are one batch")
	role("viewer")
	s.startWorker("")
	v.do(chromedp.WaitVisible(chromedp.CSS(`[data-testid="batch"][data-status="DONE"]`)))
	require.Equal(t, []string{"0", fmt.Sprint(all)}, []string{tally("DONE"), tally("FAILED")})

	role("operator")
	v.goTo("/console/batches/" + batch)
	v.click("batch-retry")
	v.see("batch-form")
	require.Contains(t, v.text("batch-title"), fmt.Sprintf("× %d", all), "the failed ones alone")
	require.NotContains(t, v.at(), batch)
	v.do(chromedp.SendKeys(chromedp.CSS(`[name="reason"]`), "and still mine"))
	confirm(fmt.Sprint(all))
	v.do(chromedp.WaitVisible(chromedp.CSS(`[data-testid="batch"][data-status="DONE"]`)))
	require.Equal(t, []string{fmt.Sprint(all), "0"}, []string{tally("DONE"), tally("FAILED")})
	require.Equal(t, all, s.count(`SELECT count(*) FROM audit_actions WHERE action = 'assign' AND outcome = 'DONE'`), "each once")
}

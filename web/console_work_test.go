package web_test

import (
	"encoding/csv"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"onefold/components/i18n"
	"onefold/domain/account"
	"onefold/domain/console"
	"onefold/domain/operator"
	"onefold/web"
)

var guardsOf = regexp.MustCompile(`(?:THEN|ELSE|'(?:SAFE|WAIT|UNSAFE)',) '([a-z_]+)'`)

// Whatever an action may say has words in both languages, and so has every action.
func TestEveryGuardAndActionHasWords(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../domain/operator/*.go")
	require.NoError(t, err)
	guards := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range guardsOf.FindAllStringSubmatch(string(text), -1) {
			guards++
			require.True(t, i18n.Has("guard."+m[1]), "%s: guard.%s", file, m[1])
		}
	}
	require.Greater(t, guards, 40)
	bulk := map[string]bool{}
	for _, k := range operator.Kinds() {
		require.True(t, i18n.Has("act."+string(k.Name)), k.Name)
		require.True(t, i18n.Has("act."+string(k.Name)+".text"), k.Name)
		require.True(t, i18n.Has("kind."+k.Object), k.Object)
		bulk[string(k.Name)] = k.Bulk
		require.True(t, !k.Bulk || i18n.Has("batch.danger."+string(k.Name)), "what is dangerous about many of %s", k.Name)
	}
	for _, queue := range console.QueueNames() {
		for _, word := range []string{"queue." + queue, "queue." + queue + ".lead", "queue." + queue + ".empty"} {
			require.True(t, i18n.Has(word), word)
		}
		for _, action := range console.WorkActions(queue) {
			require.Contains(t, bulk, action, "%s offers what is no action", queue)
		}
	}
}

func TestAQueueShowsWhatItsTileCounts(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	sold, open := f.sold("key-1"), f.placed("key-2")
	f.write(`UPDATE payments SET status = 'UNKNOWN' WHERE order_id = $1`, open)
	f.write(`UPDATE operations SET status = 'FAILED', failure_code = 'BROKEN', last_error = 'no mailbox anna@example.com' WHERE order_id = $1 AND type = 'ACCRUE_BONUS'`, sold)
	v, o := f.as(account.Viewer), f.as(account.Operator)
	overview := v.page("/console", http.StatusOK)
	for _, queue := range console.QueueNames() {
		page := v.page("/console/work/"+queue, http.StatusOK)
		tile := overview.Find(testID("queue-" + queue))
		require.Equal(t, "/console/work/"+queue, tile.AttrOr("href", ""), queue)
		n := page.Find(testID("work-row")).Length()
		require.Equal(t, tile.AttrOr("data-count", "?"), strconv.Itoa(n), queue)
		require.Equal(t, strconv.Itoa(n), page.Find(testID("work-count")).AttrOr("data-count", ""), queue)
		require.Equal(t, n == 0, page.Find(testID("empty")).Length() == 1, queue)
		require.Equal(t, n > 0, page.Find("button[disabled]").Length() > 0, "a viewer may press nothing: %s", queue)
		require.Zero(t, page.Find(`form[action^="/console/act"]`).Length())
	}
	page := o.page("/console/work/unknown_payments", http.StatusOK)
	row := page.Find(testID("work-row"))
	require.Equal(t, 1, row.Length())
	require.Equal(t, 1, page.Find(`form[action^="/console/act/reconcile"]`).Length())
	require.Equal(t, "provider_asked_first", row.Find(testID("verdict-settle_payment")).AttrOr("data-guard", ""))
	failed := o.page("/console/work/failed_effects", http.StatusOK)
	require.NotContains(t, failed.Text(), "anna@")
	groups := o.page("/console/work/failed_effects?group=1", http.StatusOK).Find(testID("work-group"))
	require.Equal(t, 1, groups.Length())
	link, _ := groups.Find("a").Attr("href")
	require.Equal(t, 1, o.page(link, http.StatusOK).Find(testID("work-row")).Length(), link)

	for _, broken := range []string{"?colour=red", "?state=PAID", "?state=UNKNOWN&state=UNKNOWN", "?assignee=her", "?limit=3", "?cursor=x", "?group=2", "?format=xls", "?tag=a%00"} {
		require.Equal(t, http.StatusBadRequest, o.get("/console/work/unknown_payments"+broken, "").Status, broken)
	}
	require.Equal(t, http.StatusNotFound, o.get("/console/work/nothing", "").Status)
	require.Contains(t, o.page("/console/work/unknown_payments?tag=vip", http.StatusOK).Find(testID("empty")).Text(), "filter")
}

func TestAFilterIsExportedAndTheAuditKnows(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	order := f.sold("=1+1")
	f.placed("key-2")
	f.write(`UPDATE orders SET needs_review = true, review_reason = '=HYPERLINK("x")' WHERE id = $1`, order)
	v := f.as(account.Viewer)
	for address, rows := range map[string]int{
		"/console/operations?format=csv&type=CREATE_ORDER": 2, "/console/payments?format=csv&state=SUCCEEDED": 1, "/console/orders?format=csv&state=FULFILLED": 1, "/console/inbox?format=csv": 1,
		"/console/outbox?format=csv&type=ORDER_PAID": 1, "/console/work/orders_in_review?format=csv": 1,
	} {
		a := v.get(address, "")
		require.Equal(t, http.StatusOK, a.Status, a.Body)
		require.Equal(t, "text/csv; charset=utf-8", a.Header.Get("Content-Type"))
		table, err := csv.NewReader(strings.NewReader(a.Body)).ReadAll()
		require.NoError(t, err)
		require.Len(t, table, rows+1, address)
		for _, cell := range table[1] {
			require.False(t, strings.HasPrefix(cell, "="), "no formula: %s", cell)
		}
	}
	require.Equal(t, 6, f.count(`SELECT count(*) FROM audit_actions WHERE action = 'export' AND outcome = 'DONE'`))
	require.Equal(t, http.StatusBadRequest, v.get("/console/payments?format=xls", "").Status)
	a := v.get("/console/audit?format=csv&action=export", "")
	require.Equal(t, 8, strings.Count(a.Body, "\n")+1, "six and its own line, under the names")
}

func TestTheAuditTellsWhoDidWhatToWhichRow(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	order := f.sold("key-1")
	f.write(`UPDATE orders SET needs_review = true, review_reason = 'AMOUNT_DIFFERS' WHERE id = $1`, order)
	b := f.as(account.Operator)
	form := b.actForm("/console/act/settle_review/" + order)
	form.Set("reason", "the bank confirmed it")
	id := done(t, b.post("/console/act/settle_review/"+order, form))
	done(t, b.post("/console/act/settle_review/"+order, form))
	f.as(account.Viewer).press(operator.SettleReview, order)

	page := b.page("/console/audit?object="+order, http.StatusOK)
	rows := page.Find(testID("audit-row"))
	require.Equal(t, []string{"REFUSED", "REPLAYED", "DONE"}, []string{rows.Eq(0).AttrOr("data-outcome", ""), rows.Eq(1).AttrOr("data-outcome", ""), rows.Eq(2).AttrOr("data-outcome", "")})
	line := rows.Eq(2).Text()
	for _, part := range []string{"the bank confirmed it", "needs_review", "AMOUNT_DIFFERS", "orders", id.String(), "operator"} {
		require.Contains(t, line, part)
	}
	for filter, n := range map[string]int{
		"outcome=DONE": 1, "outcome=REFUSED": 1, "action=settle_review": 3, "action=refund": 0, "person=nobody@example.com": 0, "from=2020-01-01&to=2020-01-02": 0, "from=2020-01-01": 3,
	} {
		require.Equal(t, n, b.page("/console/audit?"+filter, http.StatusOK).Find(testID("audit-row")).Length(), filter)
	}
	for _, broken := range []string{"outcome=PERHAPS", "from=yesterday", "colour=red", "limit=1", "cursor=x", "person=%00"} {
		require.Equal(t, http.StatusBadRequest, b.get("/console/audit?"+broken, "").Status, broken)
	}
	result := b.page("/console/intents/"+order+"?done="+id.String(), http.StatusOK)
	require.Equal(t, "1", result.Find(testID("done")).AttrOr("data-again", ""), "pressed before: the same result")

	for _, table := range []string{"audit_actions", "audit_rows"} {
		for _, sql := range []string{"UPDATE " + table + " SET action = 'x'", "DELETE FROM " + table, "TRUNCATE " + table + " CASCADE"} {
			sql = strings.Replace(sql, "audit_rows SET action", "audit_rows SET table_name", 1)
			_, err := f.db.Exec(t.Context(), sql)
			require.ErrorContains(t, err, "append only", sql)
		}
	}
}

func TestApprovalsTakeTwoPeople(t *testing.T) {
	t.Parallel()
	f := newFloor(t, func(h *web.Handlers) {
		h.Operator = &operator.Desk{Operations: h.Desk.Operations, Checkout: h.Desk, Limits: map[string]int64{"RUB": 100}, Wake: h.Wake}
	})
	order := f.sold("key-1")
	ann, bob := f.as(account.Approver), f.as(account.Approver)
	form := ann.actForm("/console/act/refund/" + order)
	form.Set("amount", "4.00")
	a := ann.post("/console/act/refund/"+order, form)
	done(t, a)
	require.Contains(t, ann.page(a.Header.Get("Location"), http.StatusOK).Find(testID("done")).Text(), "A second person decides")
	require.Zero(t, f.count(`SELECT count(*) FROM refunds`))
	id := f.ids(`SELECT id FROM approvals`)[0].String()
	own := ann.page("/console/work/approvals", http.StatusOK)
	require.Equal(t, 1, own.Find(`[data-testid=act-approve][disabled]`).Length())
	require.Contains(t, own.Find(testID("why-approve")).Text(), "somebody else decides")
	refused := ann.press(operator.Approve, id)
	require.Equal(t, http.StatusForbidden, refused.Status)
	require.Contains(t, refused.Body, "somebody else has to decide")
	page := bob.get("/console/act/approve/"+id+"?key="+uuid.NewString(), "")
	require.Contains(t, page.Body, "4.00 RUB")
	yes := page.form(t, "/console/act/approve/"+id)
	for range 2 {
		done(t, bob.post("/console/act/approve/"+id, yes))
	}
	require.Equal(t, 1, f.count(`SELECT count(*) FROM refunds WHERE amount_minor = 400`))
	require.Equal(t, http.StatusConflict, bob.press(operator.Reject, id).Status)
}

func TestReconcilingSelectedRowsIsOneRun(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	f.placed("key-1")
	f.placed("key-2")
	f.write(`UPDATE payments SET status = 'UNKNOWN'`)
	f.write(`UPDATE operations SET status = 'PROCESSING', completed_at = NULL, resource_type = NULL, resource_id = NULL, next_attempt_at = now() + interval '1 hour', expires_at = NULL
		WHERE type = 'CREATE_PAYMENT'`)
	b := f.as(account.Support)
	form := b.get("/console/work/unknown_payments", "").form(t, "/console/bulk/preview")
	form["selected"] = []string{}
	for _, id := range f.ids(`SELECT id FROM payments`) {
		form.Add("selected", id.String())
	}
	form.Set("action", "reconcile")
	batch := b.post("/console/bulk/preview", form).Header.Get("Location")
	require.NotEmpty(t, b.page(batch, http.StatusOK).Find(testID("batch-amount")).Text())
	confirm := b.get(batch, "").form(t, "/console/bulk")
	confirm.Set("reason", "the provider was down")
	first, again := b.post("/console/bulk", confirm), b.post("/console/bulk", confirm)
	require.Equal(t, done(t, first), done(t, again))
	require.Equal(t, 1, f.count(`SELECT count(*) FROM reconcile_runs WHERE total = 2`))
	run := b.page(first.Header.Get("Location"), http.StatusOK)
	require.Equal(t, 2, run.Find(testID("run-item")).Length())
	require.Equal(t, "every 1s", run.Find("#run").AttrOr("hx-trigger", ""))
	require.Equal(t, 1, b.page("/console/reconcile", http.StatusOK).Find(testID("run-row")).Length())
	nothing := b.get("/console/work/unknown_payments", "").form(t, "/console/bulk/preview")
	nothing.Set("action", "reconcile")
	require.Equal(t, http.StatusBadRequest, b.post("/console/bulk/preview", nothing).Status, "nothing is selected")
}

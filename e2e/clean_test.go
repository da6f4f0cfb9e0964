//go:build e2e

package e2e

import (
	"regexp"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
)

// assertClean waits until nothing is due any more, proves the invariants, and compares the provider's ledger with the database.
// repeats is how many mails may have been handed over twice (after kills between SMTP's yes and our note of it).
func (s *shop) assertClean(repeats int) {
	s.t.Helper()
	s.settled()
	out, errs, status := outcome(s.t, "", s.observer.env(), "check", "--json")
	require.Equal(s.t, 0, status, "onefold check: %s%s", out, errs)
	assertLedger(s.observer, s.sim.ledger(), repeats)
	for _, p := range append(append([]*process{}, s.web...), s.work...) {
		assertHealthyLog(s.observer, p)
	}
}

// settled waits for the end of everything that is under way. What waits for a payer or for a date is not.
func (s *shop) settled() {
	s.t.Helper()
	eventually(s.t, "nothing is due", func() bool {
		return s.count(`SELECT (SELECT count(*) FROM operations WHERE status = 'PROCESSING' AND type NOT IN ('WATCH_PAYMENT', 'EXPIRE_ORDER')) +
			(SELECT count(*) FROM incoming_events WHERE status = 'RECEIVED') +
			(SELECT count(*) FROM outbox_events WHERE dispatched_at IS NULL AND parked_at IS NULL) +
			(SELECT count(*) FROM orders WHERE status = 'PAID')`) == 0
	})
}

func assertLedger(o *observer, truth ledger, repeats int) {
	o.t.Helper()
	seen := map[string]bool{}
	for _, c := range truth.Payments {
		require.False(o.t, seen[c.Reference], "the provider has two payments for %s", c.Reference)
		seen[c.Reference] = true
		require.Equal(o.t, 1, o.count(`SELECT count(*) FROM payments WHERE id = $1 AND provider_key = $2`, c.Reference, c.Key),
			"the provider has a payment without a row: %+v", c)
		captured := o.count(`SELECT count(*) FROM payments WHERE id = $1 AND provider_payment_id = $2
			AND amount_minor = $3 AND currency = $4 AND status IN ('SUCCEEDED','PARTIALLY_REFUNDED','REFUNDED')`,
			c.Reference, c.ID, c.minor(), c.Amount.Currency)
		require.Equal(o.t, c.Status == "succeeded", captured == 1, "ledger and database differ about %+v", c)
	}
	for _, id := range o.texts(`SELECT id::text FROM payments WHERE provider_payment_id IS NOT NULL`) {
		require.True(o.t, seen[id], "payment %s is not in the ledger", id)
	}
	require.Zero(o.t, o.count(`SELECT count(*) FROM orders o WHERE status = 'FULFILLED' AND (
			(SELECT count(*) FROM licenses l WHERE l.order_id = o.id) <> (SELECT sum(quantity) FROM order_items i WHERE i.order_id = o.id)
			OR (SELECT count(*) FROM bonus_entries b WHERE b.order_id = o.id) <> 1
			OR (SELECT count(*) FROM payments p WHERE p.order_id = o.id AND p.status = 'SUCCEEDED') <> 1
			OR (SELECT count(*) FROM outbox_events e WHERE e.order_id = o.id AND e.event_type = 'ORDER_PAID') <> 1
			OR (SELECT count(*) FROM notifications n WHERE n.order_id = o.id) <> (o.email <> '')::int)`), "an effect is missing or double")
	assertMails(o, truth, repeats)
}

// assertMails: a letter per paid order, with its licences; a repeat carries the same Message-ID.
func assertMails(o *observer, truth ledger, repeats int) {
	o.t.Helper()
	byID := map[string]int{}
	for _, m := range truth.Mails {
		byID[strings.Trim(m.MessageID, "<>")]++
	}
	expected := o.texts(`SELECT message_id FROM notifications WHERE sent_at IS NOT NULL`)
	for _, id := range expected {
		require.Contains(o.t, byID, strings.Trim(id, "<>"), "a mail is noted as sent and never arrived")
	}
	claimed := o.texts(`SELECT message_id FROM notifications`) // one whose confirmation never came isn't noted as sent
	for id, n := range byID {
		require.True(o.t, slices.ContainsFunc(claimed, func(known string) bool { return strings.Trim(known, "<>") == id }), "mail %s is nobody's", id)
		require.LessOrEqual(o.t, n, 2, "mail %s", id)
	}
	require.LessOrEqual(o.t, len(truth.Mails), len(expected)+repeats, "more mails than orders and kills")
}

// harmful are errors that show a guard was an exception instead of a row: they must never be what a client got.
var harmful = regexp.MustCompile(`SQLSTATE (25P02|23505|40P01|40001)|panic`)

func assertHealthyLog(o *observer, p *process) {
	o.t.Helper()
	for line := range strings.Lines(p.log()) {
		require.NotRegexp(o.t, harmful, line, p.name)
	}
}

//go:build e2e

package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// verdict is what a soak came to, from the provider's ledger and from the database.
type verdict struct {
	charges, chargesPaid, refunds, shipments, mails, licences, bonuses int
	repeats, answersLost                                               int // of mails
	ends                                                               []string
	lost, doubled                                                      []string
	money                                                              []string // differences between ledger and database
}

// truth is the ledger with everything in it.
type truth struct {
	Payments, Refunds, Shipments []charge
	Mails                        []struct{ MessageID string }
}

func (s *soak) judge(faults map[string]int) (v verdict) {
	s.t.Helper()
	book := decode[truth](s.t, s.sim.control("GET", "/ledger", nil, 200))
	v.charges, v.refunds, v.shipments, v.mails = len(book.Payments), len(book.Refunds), len(book.Shipments), len(book.Mails)
	v.licences, v.bonuses = s.count(`SELECT count(*) FROM licenses`), s.count(`SELECT count(*) FROM bonus_entries WHERE kind = 'ACCRUAL'`)
	v.ends = s.texts(`SELECT count(*) || ' ' || status || CASE WHEN status = 'PAID' THEN ', mail left to a person' ELSE '' END FROM orders GROUP BY status ORDER BY 1 DESC`)
	v.acknowledged(s)
	v.compare(s, "payments", book.Payments, `SELECT id::text, coalesce(provider_payment_id, ''), amount_minor, provider_key, CASE
		WHEN orphaned_at IS NOT NULL OR status IN ('SUCCEEDED', 'PARTIALLY_REFUNDED', 'REFUNDED') THEN 'succeeded' WHEN status = 'PENDING' THEN 'pending'
		WHEN status IN ('CANCELED', 'FAILED') THEN 'canceled' ELSE status END FROM payments`)
	v.compare(s, "refunds", book.Refunds, `SELECT id::text, coalesce(provider_refund_id, ''), amount_minor, provider_key, lower(status) FROM refunds`)
	v.compare(s, "shipments", book.Shipments, `SELECT id::text, coalesce(provider_shipment_id, ''), 0, provider_key,
		CASE status WHEN 'SUCCEEDED' THEN 'created' ELSE lower(status) END FROM shipments`)
	for _, c := range book.Payments {
		if c.Status == "succeeded" {
			v.chargesPaid++
		}
	}
	v.letters(s, book, faults)
	v.everyOrder(s)
	return v
}

// acknowledged orders are there, and no others.
func (v *verdict) acknowledged(s *soak) {
	known := map[string]bool{}
	for _, id := range s.texts(`SELECT id::text FROM orders`) {
		known[id] = true
	}
	for i, id := range s.orders {
		if !known[id.String()] {
			v.lost = append(v.lost, fmt.Sprintf("order %s of purchase %d", id, i))
		}
		delete(known, id.String())
	}
	for id := range known {
		v.doubled = append(v.doubled, "order "+id+", which nobody was told of")
	}
}

// compare holds one table against one page of the ledger: each row of one is at most one row of the other, and they agree.
func (v *verdict) compare(s *soak, what string, book []charge, sql string) {
	type row struct {
		id, provider, key, status string
		minor                     int64
	}
	ours := map[string]row{}
	rows, err := s.db.Query(s.t.Context(), sql)
	require.NoError(s.t, err)
	defer rows.Close()
	for rows.Next() {
		var r row
		require.NoError(s.t, rows.Scan(&r.id, &r.provider, &r.minor, &r.key, &r.status))
		ours[r.id] = r
	}
	require.NoError(s.t, rows.Err())
	seen := map[string]bool{}
	for _, c := range book {
		r, known := ours[c.Reference]
		switch {
		case seen[c.Reference]:
			v.doubled = append(v.doubled, fmt.Sprintf("%s: the provider has two for %s", what, c.Reference))
		case !known:
			v.lost = append(v.lost, fmt.Sprintf("%s: %+v is nobody's", what, c))
		case r.provider != c.ID && (c.Status == "succeeded" || c.Status == "created"):
			v.lost = append(v.lost, fmt.Sprintf("%s: %+v is %+v here", what, c, r))
		case r.provider != "" && (r.status != c.Status || what != "shipments" && r.minor != c.minor()) || r.key != c.Key && c.Key != "":
			v.money = append(v.money, fmt.Sprintf("%s: %+v is %+v here", what, c, r))
		}
		seen[c.Reference] = true
	}
	for id, r := range ours {
		if r.provider != "" && !seen[id] {
			v.lost = append(v.lost, fmt.Sprintf("%s: the provider has no %+v", what, r))
		}
	}
}

// letters: what is noted as sent has arrived, and a repeat carries the same Message-ID, once, after a lost answer.
func (v *verdict) letters(s *soak, book truth, faults map[string]int) {
	arrived := map[string]int{}
	for _, m := range book.Mails {
		arrived[strings.Trim(m.MessageID, "<>")]++
	}
	for _, do := range []string{"drop_after", "error_after", "hang", "delay"} {
		v.answersLost += faults["smtp.send "+do]
	}
	for _, id := range s.texts(`SELECT message_id FROM notifications WHERE sent_at IS NOT NULL`) {
		if arrived[strings.Trim(id, "<>")] == 0 {
			v.lost = append(v.lost, "mail "+id)
		}
	}
	for id, n := range arrived {
		v.repeats += n - 1
		if n > 2 {
			v.doubled = append(v.doubled, fmt.Sprintf("mail %s came %d times", id, n))
		}
	}
	if v.repeats > v.answersLost {
		v.doubled = append(v.doubled, fmt.Sprintf("%d mails repeated, though only %d answers were lost", v.repeats, v.answersLost))
	}
}

// everyOrder is paid and fulfilled, paid back, or honestly unpaid. Only a mail may be left to a person.
func (v *verdict) everyOrder(s *soak) {
	v.doubled = append(v.doubled, s.texts(`SELECT 'licences of order ' || i.order_id FROM order_items i LEFT JOIN licenses l ON l.order_item_id = i.id
			GROUP BY i.id HAVING count(l.unit) > CASE i.kind WHEN 'license' THEN i.quantity ELSE 0 END
		UNION ALL SELECT 'charges of order ' || order_id FROM payments WHERE status IN ('SUCCEEDED', 'PARTIALLY_REFUNDED', 'REFUNDED')
			OR (orphaned_at IS NOT NULL AND refunded_minor < amount_minor) GROUP BY order_id HAVING count(*) > 1
		UNION ALL SELECT 'bonuses of order ' || order_id FROM bonus_entries GROUP BY order_id, kind HAVING count(*) > 1
		UNION ALL SELECT 'mails of order ' || order_id FROM notifications GROUP BY order_id HAVING count(*) > 1
		UNION ALL SELECT 'parcels of order ' || s.order_id FROM shipments s GROUP BY s.order_id HAVING count(*) > (SELECT ceil(sum(quantity) / 10.0)
			FROM order_items i WHERE i.order_id = s.order_id AND kind = 'physical')`)...)
	v.lost = append(v.lost, s.texts(`WITH o AS (SELECT o.*,
			(SELECT coalesce(sum(quantity) FILTER (WHERE kind = 'license'), 0) FROM order_items i WHERE i.order_id = o.id) AS units,
			(SELECT ceil(coalesce(sum(quantity) FILTER (WHERE kind = 'physical'), 0) / 10.0) FROM order_items i WHERE i.order_id = o.id) AS parcels,
			(SELECT count(*) FROM licenses l WHERE l.order_id = o.id) AS licences,
			(SELECT count(*) FROM shipments s WHERE s.order_id = o.id AND status = 'SUCCEEDED') AS shipped,
			(SELECT count(*) FROM bonus_entries b WHERE b.order_id = o.id AND kind = 'ACCRUAL') AS bonuses,
			(SELECT count(*) FROM notifications n WHERE n.order_id = o.id AND sent_at IS NOT NULL) AS mails,
			(SELECT count(*) FROM operations op WHERE op.order_id = o.id AND type = 'SEND_NOTIFICATION' AND op.status = 'FAILED') AS mail_failed,
			(SELECT count(*) FROM payments p WHERE p.order_id = o.id AND p.status IN ('SUCCEEDED', 'PARTIALLY_REFUNDED', 'REFUNDED')) AS captured,
			(SELECT count(*) FROM payments p WHERE p.order_id = o.id AND p.orphaned_at IS NOT NULL AND p.refunded_minor < p.amount_minor
				AND NOT EXISTS (SELECT FROM refunds r WHERE r.payment_id = p.id AND r.status = 'FAILED')) AS kept
			FROM orders o)
		SELECT format('order %s is %s: %s of %s licences, %s of %s parcels, %s bonus, %s mail, %s payment, %s orphan', id, status, licences, units, shipped, parcels,
			bonuses, mails, captured, kept) FROM o
		WHERE kept > 0 OR CASE status
			WHEN 'FULFILLED' THEN licences <> units OR shipped <> parcels OR bonuses <> 1 OR mails + mail_failed <> 1 OR captured <> 1
			WHEN 'PARTIALLY_REFUNDED' THEN licences <> units OR shipped <> parcels OR bonuses <> 1 OR mails + mail_failed <> 1 OR captured <> 1
			WHEN 'PAID' THEN true -- nothing holds a paid order up
			WHEN 'REFUNDED' THEN captured <> 1
			ELSE captured + licences + shipped + bonuses + mails > 0 END`)...)
}

func (v *verdict) require(t *testing.T) {
	t.Helper()
	require.Empty(t, v.lost, "lost")
	require.Empty(t, v.doubled, "doubled")
	require.Empty(t, v.money, "ledger and database differ")
}

// table is for the README.
func (s *soak) table(v verdict, faults map[string]int, took time.Duration) string {
	var b strings.Builder
	total := 0
	by := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(faults)) {
		on, do, _ := strings.Cut(name, " ")
		by[on] = append(by[on], fmt.Sprintf("%s %d", do, faults[name]))
		total += faults[name]
	}
	line := func(what string, format string, args ...any) {
		fmt.Fprintf(&b, "| %s | %s |\n", what, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(&b, "\n| soak, seed %d | |\n| --- | --- |\n", s.seed)
	line("purchases", "%d", s.n)
	line("requests", "%d, of them %d cut off by the client, %d intents sent twice at once, %d keys sent again with other content", s.requests.Load(), s.cut.Load(), s.doubled.Load(), s.reused.Load())
	line("replays", "%d", s.replays.Load())
	line("shoppers who gave up", "%d after %s without knowing; all known at the end", s.gaveUp.Load(), soakPatience)
	line("faults", "%d", total)
	for _, on := range slices.Sorted(maps.Keys(by)) {
		line("… "+on, "%s", strings.Join(by[on], ", "))
	}
	line("orders", "%s", strings.Join(v.ends, "; "))
	line("charges", "%d, of them %d paid", v.charges, v.chargesPaid)
	line("refunds", "%d", v.refunds)
	line("shipments", "%d", v.shipments)
	line("licences", "%d", v.licences)
	line("bonuses", "%d", v.bonuses)
	line("mails", "%d, of them %d repeats after %d answers lost or late; %d given up by the rule and listed for a person", v.mails, v.repeats, v.answersLost,
		s.count(`SELECT count(*) FROM notifications WHERE given_up_at IS NOT NULL`))
	line("webhooks", "%s", strings.Join(s.texts(`SELECT count(*) || ' ' || status FROM incoming_events GROUP BY status ORDER BY count(*) DESC`), "; "))
	line("**lost**", "**%d**", len(v.lost))
	line("**doubled**", "**%d**", len(v.doubled))
	line("time", "%s", took.Round(time.Second))
	return b.String() + "\n"
}

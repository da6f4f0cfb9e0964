//go:build e2e

package e2e

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/PuerkitoBio/goquery"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// scaled is how often a case is repeated: few times by default, ONEFOLD_CASES times as often where somebody has the time.
func scaled(rounds int) int {
	if n, err := strconv.Atoi(os.Getenv("ONEFOLD_CASES")); err == nil && n > 0 {
		return rounds * n
	}
	return rounds
}

// people of a role, each with an API token and no password.
func (s *shop) crowd(role string, n int) []buyer {
	s.t.Helper()
	all := make([]buyer, n)
	for i := range all {
		id := uuid.New()
		all[i] = buyer{email: id.String() + "@example.com", token: "of_" + id.String()}
		hash := sha256.Sum256([]byte(all[i].token))
		s.exec(`INSERT INTO users (id, email, role) VALUES ($1, $2, $3)`, id, all[i].email, role)
		s.exec(`INSERT INTO api_tokens (token_hash, user_id) VALUES ($1, $2)`, hash[:], id)
	}
	return all
}

func (s *shop) operator() buyer { return s.crowd("operator", 1)[0] }

// refund asks for money back; amount "" is all that is left.
func (s *shop) refund(by buyer, o order, key, amount string) answer {
	s.t.Helper()
	body := map[string]any{"reason": "test"}
	if amount != "" {
		body["amount"] = map[string]string{"amount": amount, "currency": "RUB"}
	}
	return s.must("POST", s.api(0, "/orders/"+o.OrderID.String()+"/refunds"), by.token, key, body)
}

// cancel asks web i to cancel an order.
func (s *shop) cancel(i int, o order, key string) answer {
	s.t.Helper()
	return s.must("POST", s.api(i, "/orders/"+o.OrderID.String()+"/cancel"), s.ann.token, key, nil)
}

// cup is something that has to be carried.
const cup = "cup"

func (s *shop) carried() {
	s.t.Helper()
	s.product(cup, cup, 100000)
	s.exec(`UPDATE products SET kind = 'physical' WHERE id = $1`, cup)
}

// buyCups orders what travels in parcels of ten.
func (s *shop) buyCups(n int) order {
	s.t.Helper()
	a := s.must("POST", s.api(0, "/orders"), s.ann.token, newKey(), map[string]any{
		"items": []item{{cup, n}}, "currency": "RUB", "delivery": map[string]any{"method": "standard", "address": map[string]string{
			"name": "Ann", "line1": "Main Street 1", "city": "Berlin", "postcode": "10115", "country": "DE",
		}},
	})
	require.Equal(s.t, 201, a.status, "%s", a)
	return decode[order](s.t, a)
}

// outside is the rest of the ledger.
type outside struct {
	Refunds   []struct{ ID, Status, PaymentID, Reference, Key string }
	Shipments []struct{ ID, Reference, Tracking, Key string }
}

func (m *simulator) outside() outside {
	m.t.Helper()
	return decode[outside](m.t, m.control("GET", "/ledger", nil, 200))
}

// callsOf are all exchanges of one kind, oldest first.
func (m *simulator) callsOf(on string) (all []call) {
	m.t.Helper()
	for _, c := range m.ledger().Calls {
		if c.On == on {
			all = append(all, c)
		}
	}
	return all
}

func keysOf(calls []call) map[string]int {
	keys := map[string]int{}
	for _, c := range calls {
		keys[c.Key]++
	}
	return keys
}

// proven waits until nothing is due and proves the invariants and the logs; what the ledger must hold is the test's to say.
func (s *shop) proven() {
	s.t.Helper()
	s.settled()
	s.checked()
}

// checked is proven while something still waits.
func (s *shop) checked() {
	s.t.Helper()
	out, errs, status := outcome(s.t, "", s.observer.env(), "check", "--json")
	require.Equal(s.t, 0, status, "onefold check: %s%s", out, errs)
	for _, p := range append(append([]*process{}, s.web...), s.work...) {
		assertHealthyLog(s.observer, p)
	}
}

// hurry lets the next look of everything come now: time passes quickly here. Leases are left alone.
func (s *shop) hurry() {
	s.t.Helper()
	s.exec(`UPDATE operations SET next_attempt_at = now() WHERE status = 'PROCESSING' AND lease_expires_at IS NULL
		AND looks > 0 AND next_attempt_at > now() + interval '100 ms'`)
	s.exec(`UPDATE outbox_events SET next_attempt_at = now() WHERE dispatched_at IS NULL AND parked_at IS NULL`)
	s.exec(`UPDATE incoming_events SET next_attempt_at = now() WHERE status = 'RECEIVED' AND reason IS NOT NULL
		AND next_attempt_at > now() + interval '100 ms'`)
}

// soon is eventually in hurried time.
func (s *shop) soon(what string, ok func() bool) {
	s.t.Helper()
	eventually(s.t, what, func() bool {
		s.hurry()
		return ok()
	})
}

// again makes the ORDER_PAID events of all orders due once more.
func (s *shop) again() {
	s.t.Helper()
	s.exec(`UPDATE outbox_events SET dispatched_at = NULL, next_attempt_at = now() WHERE event_type = 'ORDER_PAID'`)
	s.settled()
}

// licenses are all keys, oldest orders first.
func (s *shop) licenses() []string {
	s.t.Helper()
	return s.texts(`SELECT license_key FROM licenses ORDER BY order_item_id, unit`)
}

// effects are the effects of all orders, for comparing before and after.
func (s *shop) effects() string {
	s.t.Helper()
	return s.text(`SELECT concat_ws(E'\n',
		(SELECT string_agg(concat(o.id, o.status, o.needs_review), ',' ORDER BY o.id) FROM orders o),
		(SELECT string_agg(l.license_key || (l.revoked_at IS NULL), ',' ORDER BY l.license_key) FROM licenses l),
		(SELECT string_agg(concat(b.order_id, b.kind, b.points), ',' ORDER BY b.order_id, b.kind) FROM bonus_entries b),
		(SELECT string_agg(concat(n.message_id, n.sends), ',' ORDER BY n.message_id) FROM notifications n),
		(SELECT string_agg(concat(s.id, s.status, s.tracking), ',' ORDER BY s.id) FROM shipments s),
		(SELECT string_agg(concat(r.id, r.status, r.amount_minor), ',' ORDER BY r.id) FROM refunds r),
		(SELECT string_agg(concat(p.id, p.reserved), ',' ORDER BY p.id) FROM products p))`)
}

// freeze is SIGSTOP.
func (p *process) freeze() {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(syscall.SIGSTOP))
	p.t.Cleanup(func() { _ = p.cmd.Process.Signal(syscall.SIGCONT) }) // it goes on, at the latest, when the test ends
	eventually(p.t, p.name+" stands still", p.frozen)
}

func (p *process) frozen() bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return false
	}
	_, rest, _ := bytes.Cut(stat, []byte(") "))
	return len(rest) > 0 && rest[0] == 'T'
}

// thaw is SIGCONT.
func (p *process) thaw() {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(syscall.SIGCONT))
}

// startFreezing starts a worker that stands still at a crash point. It goes on, at the latest, when the test ends.
func (s *shop) startFreezing(at string) *process {
	s.t.Helper()
	p := s.startWorker(at + ":stop")
	s.t.Cleanup(func() { _ = p.cmd.Process.Signal(syscall.SIGCONT) })
	return p
}

// surfer is a browser without scripts: cookies, links and forms.
type surfer struct {
	client
	base string
}

func (s *shop) surfer() *surfer {
	s.t.Helper()
	c := newClient(s.t)
	jar, err := cookiejar.New(nil)
	require.NoError(s.t, err)
	c.http.Jar = jar
	return &surfer{client: c, base: "http://" + s.addrs[0]}
}

// form reads the fields of the form with this address from a page.
func (v *surfer) form(page, action string) url.Values {
	v.t.Helper()
	a := v.must("GET", v.base+page, "", "", nil)
	require.Equal(v.t, 200, a.status, "%s: %s", page, tail(a.String()))
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(a.body))
	require.NoError(v.t, err)
	fields := url.Values{}
	doc.Find(`form[action="` + action + `"]`).First().Find("input[name]").Each(func(_ int, in *goquery.Selection) {
		fields.Set(in.AttrOr("name", ""), in.AttrOr("value", ""))
	})
	require.NotEmpty(v.t, fields, "no form %s on %s", action, page)
	return fields
}

func (v *surfer) post(path string, fields url.Values) answer {
	v.t.Helper()
	r, err := http.NewRequest(http.MethodPost, v.base+path, strings.NewReader(fields.Encode()))
	require.NoError(v.t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := v.http.Do(r)
	require.NoError(v.t, err)
	defer response.Body.Close()
	var body bytes.Buffer
	_, err = body.ReadFrom(response.Body)
	require.NoError(v.t, err)
	return answer{status: response.StatusCode, header: response.Header, body: body.Bytes()}
}

// fill puts one licence into the basket and returns the checkout's address.
func (v *surfer) fill() string {
	v.t.Helper()
	a := v.post("/cart/items", v.form("/products/"+license, "/cart/items"))
	require.Equal(v.t, 303, a.status, "%s", a)
	a = v.must("GET", v.base+"/checkout", "", "", nil)
	require.Equal(v.t, 303, a.status, "%s", a)
	return a.header.Get("Location")
}

func (v *surfer) signIn(page string, b buyer) answer {
	v.t.Helper()
	fields := v.form(page, page)
	fields.Set("email", b.email)
	fields.Set("password", b.password)
	return v.post(page, fields)
}

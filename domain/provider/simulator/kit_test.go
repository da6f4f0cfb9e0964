package simulator_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"onefold/domain/provider/sim"
	"onefold/domain/provider/simulator"
)

const secret = "whsec_test"

func TestMain(m *testing.M) {
	runIfChild()
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

type object = map[string]any

// rig is a simulator with a shop that receives its webhooks.
type rig struct {
	t      *testing.T
	file   string
	server *simulator.Server
	web    *httptest.Server
	shop   *shop
	stop   context.CancelFunc
	done   chan struct{}
}

func start(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, file: filepath.Join(t.TempDir(), "sim.db"), shop: newShop(t)}
	r.open()
	t.Cleanup(r.close)
	return r
}

func (r *rig) open() {
	r.t.Helper()
	server, err := simulator.Open(simulator.Config{
		DataFile: r.file, WebhookURL: r.shop.web.URL, Secret: secret, PublicURL: "http://sim.test",
	})
	require.NoError(r.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	r.server, r.stop, r.done, r.web = server, cancel, make(chan struct{}), httptest.NewServer(server.Handler())
	go func() {
		defer close(r.done)
		server.Run(ctx)
	}()
}

func (r *rig) close() {
	r.stop()
	<-r.done
	r.web.Close()
	require.NoError(r.t, r.server.Close())
}

func (r *rig) reopen() {
	r.t.Helper()
	r.close()
	r.open()
}

type answer struct {
	status   int
	replayed bool
	header   http.Header
	body     object
	raw      string
}

// call makes one request; a body that is a string is sent as it is. Status 0: no answer.
func (r *rig) call(method, path, key string, body any) answer {
	r.t.Helper()
	data, isText := []byte(nil), false
	if text, ok := body.(string); ok {
		data, isText = []byte(text), true
	}
	if !isText && body != nil {
		var err error
		data, err = json.Marshal(body)
		require.NoError(r.t, err)
	}
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.web.URL+path, io.NopCloser(bytes.NewReader(data)))
	require.NoError(r.t, err)
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	got, err := client.Do(req)
	if err != nil {
		return answer{}
	}
	defer func() { _ = got.Body.Close() }()
	text, err := io.ReadAll(got.Body)
	require.NoError(r.t, err)
	out := answer{
		status: got.StatusCode, replayed: got.Header.Get("Idempotent-Replayed") == "true", header: got.Header, raw: string(text),
	}
	_ = json.Unmarshal(text, &out.body)
	return out
}

func (r *rig) fault(fields object) string {
	r.t.Helper()
	got := r.call("POST", "/control/faults", "", fields)
	require.Equal(r.t, 201, got.status, got.raw)
	return got.body["id"].(string)
}

func order(reference string) object {
	return object{
		"amount": object{"amount": "49.90", "currency": "RUB"}, "reference": reference, "returnUrl": "http://shop.test/orders/1",
		"description": "Order 1", "metadata": object{"orderId": "1"},
	}
}

// pay makes a payment and returns its ID and reference.
func (r *rig) payment() (id, reference string) {
	r.t.Helper()
	reference = uuid.NewString()
	got := r.call("POST", "/v1/payments", uuid.NewString(), order(reference))
	require.Equal(r.t, 200, got.status, got.raw)
	return got.body["id"].(string), reference
}

func (r *rig) succeed(id string) {
	r.t.Helper()
	require.Equal(r.t, 200, r.call("POST", "/control/payments/"+id+"/succeed", "", nil).status)
}

type ledger struct {
	Payments, Refunds, Shipments, Mails []object
	Calls                               []struct {
		On, Key, Reference, Outcome, ID string
		Booked                          bool
		Status                          int
	}
}

func (r *rig) ledger() (out ledger) {
	r.t.Helper()
	require.NoError(r.t, json.Unmarshal([]byte(r.call("GET", "/control/ledger", "", nil).raw), &out))
	return out
}

func (r *rig) outcomes(on string) (out []string) {
	r.t.Helper()
	for _, c := range r.ledger().Calls {
		if c.On == on {
			out = append(out, c.Outcome)
		}
	}
	return out
}

// shop receives webhooks, and can be told how to answer the next ones.
type shop struct {
	web *httptest.Server
	mu  sync.Mutex
	got []hook
	say []int
}

type hook struct {
	ID, Type  string
	Authentic bool
	Object    object
	At        time.Time
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{}
	adapter := sim.New(sim.Config{Secrets: []string{secret}})
	s.web = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h := hook{Authentic: adapter.Authenticate(r.Header, body, time.Now()) == nil, At: time.Now()}
		_ = json.Unmarshal(body, &h)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.got = append(s.got, h)
		status := http.StatusOK
		if len(s.say) > 0 {
			status, s.say = s.say[0], s.say[1:]
		}
		if !h.Authentic {
			status = http.StatusUnauthorized
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(s.web.Close)
	return s
}

func (s *shop) answers(statuses ...int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.say = statuses
}

func (s *shop) hooks() []hook {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]hook(nil), s.got...)
}

func (s *shop) types() (out []string) {
	for _, h := range s.hooks() {
		out = append(out, h.Type)
	}
	return out
}

// wait returns the hooks once there are n, and proves that no more come soon.
func (s *shop) wait(t *testing.T, n int) []hook {
	t.Helper()
	require.Eventually(t, func() bool { return len(s.hooks()) >= n }, 8*time.Second, 5*time.Millisecond, "want %d webhooks", n)
	time.Sleep(30 * time.Millisecond)
	got := s.hooks()
	require.Len(t, got, n)
	return got
}

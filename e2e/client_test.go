//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// client speaks HTTP and stays with its test.
type client struct {
	t    *testing.T
	http *http.Client
}

func newClient(t *testing.T) client {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	return client{t: t, http: &http.Client{
		Transport: transport, Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

type answer struct {
	status int
	header http.Header
	body   []byte
}

// code is the problem document's code; "" without one.
func (a answer) code() string {
	var p struct{ Code string }
	_ = json.Unmarshal(a.body, &p)
	return p.Code
}

func (a answer) replayed() bool { return a.header.Get("Idempotent-Replayed") == "true" }

func (a answer) String() string { return fmt.Sprintf("%d %v %s", a.status, a.header, a.body) }

// try is one exchange; key "" sends none.
func (c client) try(method, url, token, key string, body any) (answer, error) {
	var content io.Reader
	if raw, ok := body.([]byte); ok {
		content = bytes.NewReader(raw)
	} else if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return answer{}, err
		}
		content = bytes.NewReader(data)
	}
	r, err := http.NewRequest(method, url, content)
	if err != nil {
		return answer{}, err
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	response, err := c.http.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	return answer{status: response.StatusCode, header: response.Header, body: data}, err
}

func (c client) must(method, url, token, key string, body any) answer {
	c.t.Helper()
	a, err := c.try(method, url, token, key, body)
	require.NoError(c.t, err)
	return a
}

// Bodies and answers of the API.
type (
	item struct {
		ProductID string `json:"productId"`
		Quantity  int    `json:"quantity"`
	}
	wish struct {
		Items     []item `json:"items"`
		Currency  string `json:"currency"`
		PromoCode string `json:"promoCode,omitempty"`
	}
	order struct {
		OrderID     uuid.UUID `json:"orderId"`
		Status      string    `json:"status"`
		OperationID uuid.UUID `json:"operationId"`
		Items       []struct{ Licenses []string }
		Payments    []payment `json:"payments"`
	}
	payment struct {
		PaymentID         uuid.UUID `json:"paymentId"`
		Attempt           int       `json:"attempt"`
		Status            string    `json:"status"`
		ConfirmationURL   string    `json:"confirmationUrl"`
		ProviderPaymentID string    `json:"providerPaymentId"`
	}
)

func one(product string) wish { return wish{Items: []item{{product, 1}}, Currency: "RUB"} }

func (o order) last() payment { return o.Payments[len(o.Payments)-1] }

func decode[T any](t testing.TB, a answer) (v T) {
	t.Helper()
	require.NoError(t, json.Unmarshal(a.body, &v), "%s", a)
	return v
}

func newKey() string { return uuid.NewString() }

func (s *shop) api(i int, path string) string { return "http://" + s.addrs[i] + "/api" + path }

// place sends an order to web 0.
func (s *shop) place(b buyer, key string, w wish) answer {
	s.t.Helper()
	return s.must("POST", s.api(0, "/orders"), b.token, key, w)
}

// buy places an order that must be the first with its key.
func (s *shop) buy(w wish) order {
	s.t.Helper()
	a := s.place(s.ann, newKey(), w)
	require.Equal(s.t, 201, a.status, "%s", a)
	require.False(s.t, a.replayed())
	return decode[order](s.t, a)
}

func (s *shop) see(o order) order {
	s.t.Helper()
	a := s.must("GET", s.api(0, "/orders/"+o.OrderID.String()), s.ann.token, "", nil)
	require.Equal(s.t, 200, a.status, "%s", a)
	return decode[order](s.t, a)
}

// until waits for an order state.
func (s *shop) until(o order, status string) order {
	s.t.Helper()
	now := o
	eventually(s.t, "order is "+status, func() bool {
		now = s.see(o)
		return now.Status == status
	})
	return now
}

// untilPayment waits for a state of the order's last payment.
func (s *shop) untilPayment(o order, status string) order {
	s.t.Helper()
	now := o
	eventually(s.t, "payment is "+status, func() bool {
		now = s.see(o)
		return now.last().Status == status
	})
	return now
}

// pay lets the shopper pay at the provider.
func (s *shop) pay(o order) order {
	s.t.Helper()
	now := s.untilPayment(o, "PENDING")
	s.sim.decide(now.last().ProviderPaymentID, "succeed")
	return now
}

// together runs f n times at one barrier and waits for all.
func together(n int, f func(i int)) {
	var ready, done sync.WaitGroup
	ready.Add(n)
	gate := make(chan struct{})
	for i := range n {
		done.Go(func() {
			ready.Done()
			<-gate
			f(i)
		})
	}
	ready.Wait()
	close(gate)
	done.Wait()
}

// within fails if f takes longer.
func within(t testing.TB, limit time.Duration, f func()) {
	t.Helper()
	start := time.Now()
	f()
	require.Less(t, time.Since(start), limit)
}

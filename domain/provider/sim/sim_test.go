package sim_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"onefold/domain/provider"
	"onefold/domain/provider/providertest"
	"onefold/domain/provider/sim"
	"onefold/domain/provider/simulator"
	"onefold/domain/trace"
)

const (
	secret     = "whsec_present"
	nextSecret = "whsec_next"
	timeout    = 400 * time.Millisecond
)

func TestConformance(t *testing.T) {
	t.Parallel()
	providertest.Run(t, func(t *testing.T) providertest.Harness {
		t.Helper()
		base := start(t)
		return providertest.Harness{
			Payments: client(base, timeout), Delivery: client(base, timeout), Dead: client(deadAddress(t), timeout), Timeout: timeout,
			Inject: func(t *testing.T, on providertest.On, f providertest.Fault) {
				t.Helper()
				inject(t, base, string(on), f)
			},
			Pay: func(t *testing.T, id string) { t.Helper(); post(t, base+"/control/payments/"+id+"/succeed", nil) },
			Exchanges: func(t *testing.T) int {
				t.Helper()
				return len(readLedger(t, base).Calls)
			},
			Effects: func(t *testing.T) (int, int, int) {
				t.Helper()
				l := readLedger(t, base)
				return len(l.Payments), len(l.Refunds), len(l.Shipments)
			},
			Sign:     signed,
			Samples:  samples(),
			Nonsense: nonsense(),
			Rules:    providertest.Rules{Currency: "RUB", Tolerance: 300 * time.Second},
		}
	})
}

func client(base string, limit time.Duration) *sim.Client {
	return sim.New(sim.Config{BaseURL: base, Secrets: []string{secret, nextSecret}, Timeout: limit})
}

func start(t *testing.T) string {
	t.Helper()
	server, err := simulator.Open(simulator.Config{DataFile: filepath.Join(t.TempDir(), "sim.db"), PublicURL: "http://sim.test"})
	require.NoError(t, err)
	web := httptest.NewServer(server.Handler())
	t.Cleanup(func() {
		require.NoError(t, server.Close()) // ends hanging answers, which web.Close would wait for
		web.Close()
	})
	return web.URL
}

func deadAddress(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return "http://" + l.Addr().String()
}

func post(t *testing.T, url string, body any) {
	t.Helper()
	data, err := json.Marshal(body)
	require.NoError(t, err)
	answer, err := http.Post(url, "application/json", bytes.NewReader(data))
	require.NoError(t, err)
	text, _ := io.ReadAll(answer.Body)
	require.NoError(t, answer.Body.Close())
	require.Less(t, answer.StatusCode, 300, string(text))
}

func inject(t *testing.T, base, on string, f providertest.Fault) {
	t.Helper()
	do := map[providertest.Fault]string{
		providertest.Drop: "drop_after", providertest.Broken: "error_after", providertest.Refused: "error_before",
		providertest.Hang: "hang", providertest.Garbage: "garbage", providertest.Busy: "busy", providertest.Reject: "reject",
		providertest.Limited: "rate_limit", providertest.Denied: "error_before", providertest.Vanished: "not_found",
	}[f]
	status := 0
	if f == providertest.Denied {
		status = http.StatusUnauthorized
	}
	post(t, base+"/control/faults", map[string]any{"on": on, "do": do, "status": status})
}

type ledger struct {
	Payments, Refunds, Shipments []json.RawMessage
	Calls                        []struct{ On, Key, Reference, Outcome, TraceID string }
}

func readLedger(t *testing.T, base string) (out ledger) {
	t.Helper()
	answer, err := http.Get(base + "/control/ledger")
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	require.NoError(t, json.NewDecoder(answer.Body).Decode(&out))
	return out
}

func v1(key, stamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(stamp + "."))
	mac.Write(body)
	return "v1=" + hex.EncodeToString(mac.Sum(nil))
}

func signed(body []byte, at time.Time, by providertest.Signer) http.Header {
	stamp := fmt.Sprint(at.Unix())
	value := map[providertest.Signer]string{
		providertest.Good:    "t=" + stamp + "," + v1(secret, stamp, body),
		providertest.Next:    "t=" + stamp + "," + v1(nextSecret, stamp, body),
		providertest.Several: "t=" + stamp + "," + v1("other", stamp, body) + ",v0=ab," + v1(secret, stamp, body),
		providertest.Bad:     "t=" + stamp + "," + v1("other", stamp, body),
		providertest.Mangled: stamp + ";" + v1(secret, stamp, body),
	}[by]
	if value == "" {
		return http.Header{}
	}
	return http.Header{"Onefold-Signature": {value}}
}

func TestSignatureHeaderForms(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	stamp, body := "1800000000", []byte("x")
	good := v1(secret, stamp, body)
	for _, value := range []string{
		"", "t=" + stamp, good, "t=," + good, "t=-1," + good, "t=" + stamp + ",t=" + stamp + "," + good, "t=+1800000000," + good,
		"t=" + stamp + "," + strings.Replace(good, "v1", "v2", 1), "t=" + stamp + "," + good[:len(good)-2], "t=9999999999999," + good,
		"t=" + stamp + ",v1=," + strings.Repeat("v1=00,", 1000) + good,
	} {
		err := client("http://127.0.0.1:1", 0).Authenticate(http.Header{"Onefold-Signature": {value}}, body, now)
		require.Equal(t, provider.Auth, provider.KindOf(err), value)
	}
	// Without a secret, or with an empty one, nobody is authentic.
	for _, secrets := range [][]string{nil, {""}} {
		c := sim.New(sim.Config{Secrets: secrets})
		err := c.Authenticate(http.Header{"Onefold-Signature": {"t=" + stamp + "," + v1("", stamp, body)}}, body, now)
		require.Equal(t, provider.Auth, provider.KindOf(err))
	}
}

// TestForeignAnswers: what a proxy or a broken server says is not the provider's decision.
func TestForeignAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		kind   provider.Kind
	}{
		"html 400":       {400, "<h1>Bad gateway config</h1>", provider.Unknown},
		"html 404":       {404, "not here", provider.Unknown},
		"html 409":       {409, "", provider.Unknown},
		"html 403":       {403, "blocked", provider.Auth},
		"redirect":       {302, "", provider.Unknown},
		"201":            {201, `{}`, provider.Unknown},
		"bad gateway":    {502, "oops", provider.Unknown},
		"empty 200":      {200, "", provider.Unknown},
		"null 200":       {200, "null", provider.Unknown},
		"other object":   {200, `{"id":"p","status":"pending","amount":{"amount":"1.00","currency":"RUB"},"reference":"other"}`, provider.Unknown},
		"unknown status": {200, `{"id":"p","status":"new","amount":{"amount":"1.00","currency":"RUB"},"reference":"r"}`, provider.Unknown},
		"no amount":      {200, `{"id":"p","status":"pending","reference":"r"}`, provider.Unknown},
		"float amount":   {200, `{"id":"p","status":"pending","amount":{"amount":1.0,"currency":"RUB"},"reference":"r"}`, provider.Unknown},
		"no id":          {200, `{"status":"pending","amount":{"amount":"1.00","currency":"RUB"},"reference":"r"}`, provider.Unknown},
		"too large":      {200, `{"id":"` + strings.Repeat("x", 1<<20) + `"}`, provider.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				calls++
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}))
			defer web.Close()
			_, err := client(web.URL, time.Second).CreatePayment(t.Context(), provider.CreatePayment{Key: "k", Reference: "r"})
			require.Equal(t, c.kind, provider.KindOf(err), "%v", err)
			require.Equal(t, 1, calls)
		})
	}
}

func TestTwoObjectsUnderOneReferenceStayUnknown(t *testing.T) {
	t.Parallel()
	base := start(t)
	c := client(base, time.Second)
	for _, key := range []string{"k1", "k2"} {
		_, err := c.CreateShipment(t.Context(), provider.CreateShipment{
			Key: key, Reference: "r", Parcels: 1,
			Address: provider.Address{Name: "A", Line1: "B", City: "C", Postcode: "1", Country: "RU"},
		})
		require.NoError(t, err)
	}
	_, err := c.FindShipment(t.Context(), "r")
	require.Equal(t, provider.Unknown, provider.KindOf(err))
}

func TestTraceIsForwarded(t *testing.T) {
	t.Parallel()
	base := start(t)
	ctx := trace.Resume(t.Context(), "0af7651916cd43dd8448eb211c80319c")
	_, err := client(base, time.Second).FindPayment(ctx, "r")
	require.Equal(t, provider.NotFound, provider.KindOf(err))
	require.Equal(t, "0af7651916cd43dd8448eb211c80319c", readLedger(t, base).Calls[0].TraceID)
}

package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAReplayIsTheFirstAnswer(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	token := s.shopper()
	first := s.order(token, "k", pixel)
	id := first.placed(t)
	require.Equal(t, "application/json", first.Header.Get("Content-Type"))
	require.EqualValues(t, 1, s.wakes.Load())
	// What happened since doesn't show: it is the answer, not the order.
	s.exec(`UPDATE orders SET needs_review = true, review_reason = 'second_payment'`)
	s.exec(`UPDATE products SET name_en = 'Renamed', on_hand = reserved`)
	s.exec(`UPDATE product_prices SET price_minor = 1`)
	for range 3 {
		s.order(token, "k", pixel).replays(t, first)
	}
	require.Equal(t, 1, s.orders())
	require.EqualValues(t, 1, s.wakes.Load())
	require.Contains(t, s.get("/api/orders/"+id, token).Body, `"needsReview":true`)

	changed := s.order(token, "k", basket(item("pixel-orchard", 2)))
	p := changed.refused(t, http.StatusConflict, "IDEMPOTENCY_KEY_REUSED")
	require.Equal(t, first.Header.Get("Operation-Id"), p.OperationID)
	require.Equal(t, first.Header.Get("Operation-Id"), changed.Header.Get("Operation-Id"))
	require.Empty(t, changed.Header.Get("Location"))
	require.Equal(t, 1, s.orders())
	s.order(token, "k", pixel).replays(t, first)
}

// composed and decomposed are the same letter in NFC and NFD.
const (
	composed   = "\u00e9"
	decomposed = "e\u0301"
)

func TestWhatTheFingerprintOverlooks(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	token := s.shopper()
	address := `{"name":"Zo` + composed + ` Mach","line1":"1 Rue","city":"Ly` + composed + `n","postcode":"69001","country":"FR"}`
	first := s.order(token, "k", `{"items":[{"productId":"pixel-orchard","quantity":3},{"productId":"lumen-notes","quantity":1}],`+
		`"currency":"RUB","promoCode":"WELCOME10","delivery":{"method":"courier","address":`+address+`}}`)
	first.placed(t)
	delivery := `"delivery":{"method":"courier","address":` + address + `}`
	items := `"items":[{"productId":"pixel-orchard","quantity":3},{"productId":"lumen-notes","quantity":1}]`
	for name, body := range map[string]string{
		"order of members": `{"promoCode":"WELCOME10",` + delivery + `,"currency":"RUB","items":[{"quantity":3,"productId":"pixel-orchard"},{"quantity":1,"productId":"lumen-notes"}]}`,
		"white space":      "\n\t{ " + strings.ReplaceAll(items, ",", " ,\n ") + `, "currency" : "RUB","promoCode":"WELCOME10",` + delivery + "}  \n",
		"1.0 and 1e0":      `{"items":[{"productId":"pixel-orchard","quantity":3.0},{"productId":"lumen-notes","quantity":1e0}],"currency":"RUB","promoCode":"WELCOME10",` + delivery + `}`,
		"NFD":              `{` + items + `,"currency":"RUB","promoCode":"WELCOME10",` + strings.ReplaceAll(delivery, composed, decomposed) + `}`,
		"escapes":          `{` + items + `,"currency":"RUB","promoCode":"\u0057ELCOME10",` + strings.ReplaceAll(delivery, composed, `\u00e9`) + `}`,
		"padding":          `{` + items + `,"currency":" RUB ","promoCode":" WELCOME10 ",` + strings.ReplaceAll(delivery, `"1 Rue"`, `"  1   Rue\t"`) + `}`,
		"letter case":      `{` + items + `,"currency":"rub","promoCode":"welcome10",` + strings.ReplaceAll(delivery, `"FR"`, `"fr"`) + `}`,
		"order of items":   `{"items":[{"productId":"lumen-notes","quantity":1},{"productId":"pixel-orchard","quantity":3}],"currency":"RUB","promoCode":"WELCOME10",` + delivery + `}`,
		"split items":      `{"items":[{"productId":"pixel-orchard","quantity":1},{"productId":"lumen-notes","quantity":1},{"productId":"pixel-orchard","quantity":2}],"currency":"RUB","promoCode":"WELCOME10",` + delivery + `}`,
		"unknown fields":   `{` + items + `,"currency":"RUB","promoCode":"WELCOME10","price":"0.01","total":{"amount":"0.01","currency":"RUB"},"x":[{"y":null}],` + delivery + `}`,
		"empty line2":      `{` + items + `,"currency":"RUB","promoCode":"WELCOME10",` + strings.ReplaceAll(delivery, `"city"`, `"line2":" ","city"`) + `}`,
	} {
		s.order(token, "k", body, "Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01").replays(t, first, name)
	}
	for name, body := range map[string]string{
		"quantity":   `{"items":[{"productId":"pixel-orchard","quantity":2},{"productId":"lumen-notes","quantity":1}],"currency":"RUB","promoCode":"WELCOME10",` + delivery + `}`,
		"product":    `{"items":[{"productId":"pixel-orchard","quantity":3}],"currency":"RUB","promoCode":"WELCOME10",` + delivery + `}`,
		"currency":   `{` + items + `,"currency":"USD","promoCode":"WELCOME10",` + delivery + `}`,
		"promo code": `{` + items + `,"currency":"RUB",` + delivery + `}`,
		"address":    `{` + items + `,"currency":"RUB","promoCode":"WELCOME10",` + strings.ReplaceAll(delivery, `"1 Rue"`, `"2 Rue"`) + `}`,
		"delivery":   `{` + items + `,"currency":"RUB","promoCode":"WELCOME10"}`,
	} {
		s.order(token, "k", body).refused(t, http.StatusConflict, "IDEMPOTENCY_KEY_REUSED", name)
	}
	require.Equal(t, 1, s.orders())
}

func TestAClientsPriceIsNeverUsed(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	a := s.order(s.shopper(), "k", `{"items":[{"productId":"pixel-orchard","quantity":2,"price":{"amount":"0.01","currency":"RUB"}}],`+
		`"currency":"RUB","total":"0.01","price":1}`)
	a.placed(t)
	var o struct {
		Total struct{ Amount, Currency string }
	}
	a.into(t, &o)
	require.Equal(t, "99.80", o.Total.Amount)
}

func TestAmountsHaveTheirCurrencysDigits(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	token := s.shopper()
	for currency, amount := range map[string]string{"RUB": "49.90", "USD": "4.99", "JPY": "700", "KWD": "1.500"} {
		a := s.order(token, currency, `{"items":[{"productId":"pixel-orchard","quantity":1}],"currency":"`+currency+`"}`)
		a.placed(t)
		require.Contains(t, a.Body, `"total":{"amount":"`+amount+`","currency":"`+currency+`"}`)
		require.Contains(t, s.get("/api/products?currency="+strings.ToLower(currency), token).Body, `{"amount":"`+amount+`","currency":"`+currency+`"}`)
	}
}

func TestFinalRefusalsReplayAndANewKeyTriesAnew(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	token := s.shopper()
	s.order(token, "winner", `{"items":[{"productId":"pixel-orchard","quantity":1}],"currency":"RUB","promoCode":"ONCE50"}`).placed(t)
	sold, used := basket(item("aurora-synth", 1)), `{"items":[{"productId":"pixel-orchard","quantity":1}],"currency":"RUB","promoCode":"once50"}`
	for body, code := range map[string]string{sold: "OUT_OF_STOCK", used: "PROMO_USED"} {
		first := s.order(token, code, body)
		p := first.refused(t, http.StatusConflict, code)
		require.Equal(t, first.Header.Get("Operation-Id"), p.OperationID)
		require.Equal(t, first.Header.Get("Trace-Id"), p.TraceID)
		require.Empty(t, first.Header.Get("Idempotent-Replayed"))
		s.order(token, code, body).replays(t, first)
	}
	s.exec(`UPDATE products SET on_hand = 10 WHERE id = 'aurora-synth'`)
	s.exec(`UPDATE promo_codes SET max_uses = 10 WHERE code = 'ONCE50'`)
	for body, code := range map[string]string{sold: "OUT_OF_STOCK", used: "PROMO_USED"} {
		require.Equal(t, "true", s.order(token, code, body).Header.Get("Idempotent-Replayed"), "the result stands")
		s.order(token, code, pixel).refused(t, http.StatusConflict, "IDEMPOTENCY_KEY_REUSED")
		s.order(token, code+"-again", body).placed(t)
	}
	require.Equal(t, 3, s.orders())
}

// C04 b: the size of an answer is no reason to run twice.
func TestAHugeAnswerReplaysInFull(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	token := s.shopper()
	s.exec(`INSERT INTO products (id, kind, name_en, name_ru, blurb_en, blurb_ru, on_hand)
		SELECT 'p-' || n, 'license', repeat('A long name. ', 170), '', '', '', 1 FROM generate_series(1, 500) n`)
	s.exec(`INSERT INTO product_prices (product_id, currency, price_minor) SELECT 'p-' || n, 'RUB', 100 FROM generate_series(1, 500) n`)
	items := make([]string, 500)
	for i := range items {
		items[i] = item(fmt.Sprintf("p-%d", i+1), 1)
	}
	first := s.order(token, "k", basket(items...))
	id := first.placed(t)
	require.Greater(t, len(first.Body), 1<<20)
	s.order(token, "k", basket(items...)).replays(t, first)
	require.Equal(t, 500, s.count(`SELECT count(*) FROM order_items`))
	require.Greater(t, len(s.get("/api/orders/"+id, token).Body), 1<<20)
}

// What can be mended must not be frozen (C04 c, d).
func TestWhatBindsNothingToTheKey(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	token := s.shopper()
	huge := `{"items":[],"x":"` + strings.Repeat("x", 256<<10) + `"}`
	for i, c := range []struct {
		token, body, code string
		status            int
		headers           []string
	}{
		{token, `{"items":[{"productId":"pixel-orchard","quantity":0}],"currency":"RUB"}`, "VALIDATION_FAILED", 422, nil},
		{token, `{"items":[{"productId":"nothing","quantity":1}],"currency":"RUB"}`, "VALIDATION_FAILED", 422, nil},
		{token, `{"items":[{"productId":"pixel-orchard","quantity":1}],"currency":"RUB","promoCode":"NONE"}`, "VALIDATION_FAILED", 422, nil},
		{token, `{`, "MALFORMED_BODY", 400, nil},
		{token, huge, "PAYLOAD_TOO_LARGE", 413, nil},
		{token, pixel, "MALFORMED_BODY", 400, []string{"Content-Encoding", "gzip"}},
		{"of_expired", pixel, "UNAUTHENTICATED", 401, nil},
	} {
		key := fmt.Sprintf("k%d", i)
		for range 2 {
			s.order(c.token, key, c.body, c.headers...).refused(t, c.status, c.code)
		}
		require.Zero(t, s.count(`SELECT count(*) FROM operations WHERE key = $1`, key), c.code)
		s.order(token, key, pixel).placed(t)
	}
}

// A retry after retention is refused for as long as the order exists (CONTRACT section 2).
func TestAnExpiredKeyMakesNoSecondOrder(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	token := s.shopper()
	first := s.order(token, "k", pixel)
	id := first.placed(t)
	s.exec(`DELETE FROM operations WHERE type = 'CREATE_ORDER'`)
	for _, body := range []string{pixel, pixel, basket(item("pixel-orchard", 2))} {
		a := s.order(token, "k", body)
		p := a.refused(t, http.StatusGone, "IDEMPOTENCY_KEY_EXPIRED")
		require.Equal(t, first.Header.Get("Operation-Id"), a.Header.Get("Operation-Id"))
		require.Contains(t, p.Detail, id)
	}
	require.Equal(t, 1, s.orders())
}

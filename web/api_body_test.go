package web_test

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBodiesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	token := s.shopper()
	for name, c := range map[string]struct{ body, field string }{
		"empty":                     {"", ""},
		"white space":               {" \n", ""},
		"cut off":                   {`{"items":[{"productId":"pixel-orchard"`, ""},
		"two values":                {pixel + pixel, ""},
		"something after it":        {pixel + " x", ""},
		"an array":                  {"[" + pixel + "]", ""},
		"a string":                  {`"order"`, ""},
		"a form":                    {"productId=pixel-orchard&quantity=1", ""},
		"single quotes":             {`{'items':[]}`, ""},
		"trailing comma":            {`{"items":[],"currency":"RUB",}`, ""},
		"NaN":                       {`{"items":[{"productId":"pixel-orchard","quantity":NaN}],"currency":"RUB"}`, ""},
		"leading zero":              {`{"items":[{"productId":"pixel-orchard","quantity":01}],"currency":"RUB"}`, ""},
		"byte order mark":           {"\ufeff" + pixel, ""},
		"invalid UTF-8":             {`{"items":[{"productId":"pixel-orchard` + "\xff" + `","quantity":1}],"currency":"RUB"}`, ""},
		"invalid UTF-8, unknown":    {`{"items":[{"productId":"pixel-orchard","quantity":1}],"currency":"RUB","x":"` + "\xc3\x28" + `"}`, ""},
		"half a surrogate":          {`{"items":[{"productId":"\ud800","quantity":1}],"currency":"RUB"}`, ""},
		"NUL between":               {"{\x00\"items\":[]}", ""},
		"raw NUL in a string":       {"{\"items\":[],\"currency\":\"RU\x00B\"}", ""},
		"name twice":                {`{"currency":"RUB","items":[{"productId":"pixel-orchard","quantity":1}],"currency":"USD"}`, "currency"},
		"name twice, inside":        {`{"currency":"RUB","items":[{"productId":"pixel-orchard","quantity":1,"quantity":2}]}`, "items[0].quantity"},
		"name twice, escaped":       {`{"currency":"RUB","items":[{"productId":"pixel-orchard","quantity":1,"\u0071uantity":2}]}`, "items[0].quantity"},
		"name twice, unknown":       {`{"currency":"RUB","items":[],"x":{"y":1,"y":1}}`, "x.y"},
		"items no list":             {`{"items":{},"currency":"RUB"}`, "items"},
		"item no object":            {`{"items":[{"productId":"pixel-orchard","quantity":1},7],"currency":"RUB"}`, "items[1]"},
		"quantity a string":         {`{"items":[{"productId":"pixel-orchard","quantity":"1"}],"currency":"RUB"}`, "items[0].quantity"},
		"quantity with a fraction":  {`{"items":[{"productId":"pixel-orchard","quantity":1.5}],"currency":"RUB"}`, "items[0].quantity"},
		"quantity null":             {`{"items":[{"productId":"pixel-orchard","quantity":null}],"currency":"RUB"}`, "items[0].quantity"},
		"product a number":          {`{"items":[{"productId":5,"quantity":1}],"currency":"RUB"}`, "items[0].productId"},
		"currency an object":        {`{"items":[],"currency":{}}`, "currency"},
		"city a list":               {`{"items":[],"currency":"RUB","delivery":{"address":{"city":["x"]}}}`, "delivery.address.city"},
		"delivery a string":         {`{"items":[],"currency":"RUB","delivery":"courier"}`, "delivery"},
		"deep, in an unknown field": {`{"x":` + strings.Repeat("[", 120<<10) + strings.Repeat("]", 120<<10) + `}`, ""},
		"deep and cut off":          {strings.Repeat(`{"items":`, 25<<10), ""},
	} {
		a := s.order(token, "k", c.body)
		p := a.refused(t, http.StatusBadRequest, "MALFORMED_BODY", name)
		require.NotEmpty(t, a.Header.Get("Operation-Id"))
		if c.field == "" {
			continue
		}
		require.Len(t, p.Errors, 1, name)
		require.Equal(t, c.field, p.Errors[0].Field, name)
	}
	require.Zero(t, s.count(`SELECT count(*) FROM operations`))
	s.order(token, "k", pixel).placed(t)
}

func TestEveryBrokenRuleIsNamedByField(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	token := s.shopper()
	long := strings.Repeat("ü", 201)
	for name, c := range map[string]struct {
		body   string
		fields []string
	}{
		"nothing":         {`{}`, []string{"items", "currency"}},
		"null":            {`null`, []string{"items", "currency"}},
		"no items":        {`{"items":[],"currency":"RUB"}`, []string{"items"}},
		"no such money":   {`{"items":[` + item("pixel-orchard", 1) + `],"currency":"XXY"}`, []string{"currency"}},
		"zero":            {basket(item("pixel-orchard", 0)), []string{"items[0].quantity"}},
		"negative":        {basket(item("pixel-orchard", -1)), []string{"items[0].quantity"}},
		"too many":        {basket(item("pixel-orchard", 10000)), []string{"items[0].quantity"}},
		"far too many":    {basket(item("pixel-orchard", "1e300")), []string{"items[0].quantity"}},
		"beyond floats":   {basket(item("pixel-orchard", "1e999")), []string{"items[0].quantity"}},
		"beyond int64":    {basket(item("pixel-orchard", "9223372036854775808")), []string{"items[0].quantity"}},
		"too many by sum": {basket(item("pixel-orchard", 9999), item("pixel-orchard", 1)), []string{"items[1].quantity"}},
		"no product":      {basket(`{"quantity":1}`, item("pixel-orchard", 1)), []string{"items[0].productId"}},
		"several":         {basket(item("", 1), item("pixel-orchard", 0)), []string{"items[0].productId", "items[1].quantity"}},
		"NUL":             {basket(`{"productId":"pixel\u0000orchard","quantity":1}`), []string{"items[0].productId"}},
		"NUL in the promo code": {
			`{"items":[` + item("pixel-orchard", 1) + `],"currency":"RUB","promoCode":"A\u0000"}`, []string{"promoCode"},
		},
		"unknown promo code": {`{"items":[` + item("pixel-orchard", 1) + `],"currency":"RUB","promoCode":"NOPE"}`, []string{"promoCode"}},
		"unknown product":    {basket(item("pixel-orchard", 1), item("nothing", 1)), []string{"items[1].productId"}},
		"in the sent order":  {basket(item("zz-unknown", 1), item("pixel-orchard", 1)), []string{"items[0].productId"}},
		"not sold in it":     {`{"items":[` + item("pixel-orchard", 1) + `],"currency":"GBP"}`, []string{"items[0].productId"}},
		"too many items":     {basket(strings.Split(strings.Repeat(item("pixel-orchard", 1)+";", 1001), ";")[:1001]...), []string{"items"}},
		"delivery half given": {
			`{"items":[` + item("pixel-orchard", 1) + `],"currency":"RUB","delivery":{"method":"courier","address":{"name":"` + long +
				`","line1":"1","city":"L\u0000","postcode":"1","country":"Germany"}}}`,
			[]string{"delivery.address.name", "delivery.address.city", "delivery.address.country"},
		},
		"delivery empty": {
			`{"items":[` + item("pixel-orchard", 1) + `],"currency":"RUB","delivery":{}}`,
			[]string{
				"delivery.method", "delivery.address.name", "delivery.address.line1", "delivery.address.city", "delivery.address.postcode",
				"delivery.address.country",
			},
		},
	} {
		p := s.order(token, "k", c.body).refused(t, http.StatusUnprocessableEntity, "VALIDATION_FAILED", name)
		var fields []string
		for _, e := range p.Errors {
			fields = append(fields, e.Field)
			require.NotContains(t, e.Message, "\x00")
		}
		require.ElementsMatch(t, c.fields, fields, name)
	}
	require.Zero(t, s.count(`SELECT count(*) FROM operations`))
	require.Zero(t, s.orders())
	s.get("/api/products?currency=nope", token).refused(t, http.StatusUnprocessableEntity, "VALIDATION_FAILED")
}

// padded is an order of exactly n bytes.
func padded(n int) string {
	frame := `{"items":[{"productId":"pixel-orchard","quantity":1}],"currency":"RUB","x":""}`
	return strings.Replace(frame, `""}`, `"`+strings.Repeat("x", n-len(frame))+`"}`, 1)
}

func TestTheLimitOfABody(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	token := s.shopper()
	s.order(token, "fits", padded(256<<10)).placed(t)
	for name, size := range map[string]int{"one byte more": 256<<10 + 1, "5 MB": 5 << 20} {
		s.order(token, "k", padded(size)).refused(t, http.StatusRequestEntityTooLarge, "PAYLOAD_TOO_LARGE", name)
	}
	// Beyond 8 MiB nothing is even read.
	addr := s.listen()
	headers := "Authorization: Bearer " + token + "\r\nIdempotency-Key: k\r\n"
	a := s.raw(addr, http.MethodPost, "/api/orders", headers, padded(9<<20))
	a.refused(t, http.StatusRequestEntityTooLarge, "PAYLOAD_TOO_LARGE")
	secured(t, a)
	require.Equal(t, 1, s.orders())
	require.Equal(t, 1, s.count(`SELECT count(*) FROM operations WHERE type = 'CREATE_ORDER'`))
}

// A small gzip can be a gigabyte, so that none is opened (RELIABILITY A2.5).
func TestCompressedBodiesAreRefused(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	token := s.shopper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write(bytes.Repeat([]byte(" "), 64<<20))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	for _, coding := range []string{"gzip", "deflate", "br", "gzip, gzip"} {
		s.order(token, "k", packed.String(), "Content-Encoding", coding).refused(t, http.StatusBadRequest, "MALFORMED_BODY", coding)
	}
	require.Zero(t, s.count(`SELECT count(*) FROM operations`))
}

package web

import (
	"bytes"
	stdjson "encoding/json"
	"net/url"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"onefold/domain/fault"
)

// FuzzBody: a body is refused as MALFORMED_BODY, or means the same however it is laid out and in whatever order its members come.
func FuzzBody(f *testing.F) {
	f.Add([]byte(`{"items":[{"productId":"pixel-orchard","quantity":1.0}],"currency":"RUB"}`))
	f.Add([]byte(`{"currency":"RUB","items":[],"delivery":{"method":"standard","address":{"name":"Ann","line1":"1 Road","country":"DE"}}}`))
	f.Add([]byte(`{"items":[{"quantity":1e400}],"x":{"y":1,"y":1}}`))
	f.Add([]byte(`{"items":[{"productId":"\ud800"}],"currency":"` + "\xff" + `"}`))
	app := fiber.New(fiber.Config{Immutable: true}) // as in server.go
	f.Fuzz(func(t *testing.T, data []byte) {
		body, err := bodyOf(app, data)
		if err != nil {
			e, ok := fault.Of(err)
			require.True(t, ok)
			require.Equal(t, "MALFORMED_BODY", e.Code)
			return
		}
		var members map[string]any
		decoder := stdjson.NewDecoder(bytes.NewReader(data))
		decoder.UseNumber()
		if decoder.Decode(&members) != nil {
			return // null, which is an empty body
		}
		sorted, err := stdjson.MarshalIndent(members, " ", "\t")
		require.NoError(t, err)
		again, err := bodyOf(app, sorted)
		require.NoError(t, err, "%s", sorted)
		require.Equal(t, body, again)
	})
}

func bodyOf(app *fiber.App, data []byte) (body orderBody, err error) {
	c := app.AcquireCtx(&fasthttp.RequestCtx{})
	defer app.ReleaseCtx(c)
	c.Request().SetBody(data)
	err = readJSON(c, &body)
	return body, err
}

// FuzzCheckoutForm: whatever a browser sends, what was typed is kept as it was typed, and only a price we sell in is one.
func FuzzCheckoutForm(f *testing.F) {
	f.Add("email=ann%40example.com&name=Ann&promo=WELCOME10&basket=b&total=49.90+RUB")
	f.Add("email=a&email=b&line1=%D0%9C&city=&total=1e9+RUB&again=1")
	f.Add("name=%00%ff&total=%F0%9F%98%80&x=%zz;y")
	app := fiber.New(fiber.Config{Immutable: true}) // as in server.go
	f.Fuzz(func(t *testing.T, sent string) {
		form := formOf(app, sent)
		again := formOf(app, url.Values{
			"email": {form.Email}, "name": {form.Name}, "promo": {form.Promo}, "line1": {form.Line1}, "line2": {form.Line2}, "city": {form.City},
			"postcode": {form.Postcode}, "country": {form.Country}, "basket": {form.Basket}, "total": {form.Total}, "seen": {form.Seen},
		}.Encode())
		again.Again = form.Again
		require.Equal(t, form, again)
		if code, known := form.currency(); known {
			require.True(t, sold(code))
		}
		require.Equal(t, form.Line1, form.delivery().Address.Line1)
	})
}

func formOf(app *fiber.App, sent string) checkoutForm {
	c := app.AcquireCtx(&fasthttp.RequestCtx{})
	defer app.ReleaseCtx(c)
	c.Request().Header.SetMethod(fiber.MethodPost)
	c.Request().Header.SetContentType(fiber.MIMEApplicationForm)
	c.Request().SetBodyString(sent)
	return readCheckoutForm(c)
}

package web_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/stretchr/testify/require"

	"onefold/domain/fulfilment"
	"onefold/domain/invariant"
	"onefold/domain/provider"
	"onefold/domain/provider/sim"
	"onefold/domain/provider/simulator"
)

// carrier lets the floor's parcels go to a real simulator.
func (f *floor) carrier() {
	f.t.Helper()
	outside, err := simulator.Open(simulator.Config{DataFile: filepath.Join(f.t.TempDir(), "ledger.db"), PublicURL: "http://sim.test"})
	require.NoError(f.t, err)
	server := httptest.NewServer(outside.Handler())
	f.t.Cleanup(func() {
		server.Close()
		require.NoError(f.t, outside.Close())
	})
	f.executor.Handlers[fulfilment.ShipParcel] = fulfilment.Carrier{Delivery: sim.New(sim.Config{BaseURL: server.URL})}.Handler()
}

func (a answer) page(t *testing.T) *goquery.Document {
	t.Helper()
	page, err := goquery.NewDocumentFromReader(strings.NewReader(a.Body))
	require.NoError(t, err)
	return page
}

// A mug and a licence, through the form: asked for an address only because of the mug, mended twice, ordered once, shipped once.
func TestAPhysicalOrderThroughTheForm(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	f.carrier()
	b := f.browser()
	b.put("lumen-notes")
	address, _ := b.checkout()
	require.Zero(t, b.get(address, "").page(t).Find("#line1, #country").Length(), "a licence needs no address")
	b.put("slate-mug")
	address, form := b.checkout()
	page := b.get(address, "").page(t)
	require.Equal(t, 8, page.Find("[data-testid=checkout-form] input:not([type=hidden]), [data-testid=checkout-form] select").Length())
	require.Contains(t, page.Find(".summary").Text(), "Free")

	for lang, words := range map[string][]string{
		"en": {"Enter an e-mail address for the receipt", "Enter the recipient’s name", "Enter the street and house", "Enter the postcode", "Enter the city", "Choose the country"},
		"ru": {"Укажите адрес эл. почты для чека", "Укажите имя получателя", "Укажите улицу и дом", "Укажите индекс", "Укажите город", "Выберите страну"},
	} {
		empty := b.post(address+"?lang="+lang, url.Values{"csrf": form["csrf"], "key": form["key"], "basket": form["basket"], "total": form["total"], "line2": {"Flat 7"}})
		require.Equal(t, http.StatusUnprocessableEntity, empty.Status)
		page = empty.page(t)
		var said []string
		page.Find("[data-testid=error-summary] a").Each(func(_ int, a *goquery.Selection) { said = append(said, a.Text()) })
		require.Equal(t, words, said)
		require.Equal(t, "Flat 7", page.Find("#line2").AttrOr("value", ""))
		require.Equal(t, "true", page.Find("#country").AttrOr("aria-invalid", ""))
	}
	for name, value := range map[string]string{"name": "Ann Smith", "line1": "Main Street 1", "line2": "", "city": "Berlin", "postcode": "10115", "country": "XX"} {
		form.Set(name, value)
	}
	odd := b.post(address, form)
	require.Equal(t, http.StatusUnprocessableEntity, odd.Status)
	require.Equal(t, "Choose a country from the list", odd.page(t).Find("[data-testid=error-summary] a").Text())
	require.Zero(t, f.orders())

	form.Set("country", "DE")
	first := b.post(address, form)
	require.Equal(t, http.StatusSeeOther, first.Status, first.Body)
	require.Equal(t, first.Header.Get("Location"), b.post(address, form).Header.Get("Location"), "twice is once")
	form.Set("line1", "Main Street 2")
	other := b.post(address, form)
	require.Equal(t, http.StatusConflict, other.Status)
	require.Contains(t, other.Body, "Main Street 2, 10115 Berlin, Germany")
	require.Equal(t, 1, f.orders())

	order := first.Header.Get("Location")
	f.work()
	f.deliver("evt", strings.TrimPrefix(order, "/orders/"), provider.Succeeded)
	f.work()
	page = b.get(order, "").page(t)
	require.Equal(t, "underway", page.Find("[data-testid=parcel-1]").AttrOr("data-state", ""))
	require.Regexp(t, "^TP", page.Find("[data-testid=tracking]").Text())
	require.Equal(t, []string{"A•••", "•••", "Berlin", "Germany"}, page.Find("#order-side .address-line").Map(func(_ int, l *goquery.Selection) string { return l.Text() }), "a guest's address is masked")
	require.Equal(t, 1, page.Find("[data-testid=license-key]").Length())
	for _, step := range []string{"keys", "shipped", "fulfilled"} {
		require.False(t, page.Find(".progress [data-step="+step+"]").HasClass("ahead"), step)
	}
	require.Equal(t, 1, f.count(`SELECT count(*) FROM orders WHERE status = 'FULFILLED'`))
	findings, err := invariant.Check(t.Context(), f.db, invariant.Config{})
	require.NoError(t, err)
	for _, finding := range findings {
		require.True(t, finding.OK, "%s: %v", finding.Name, finding.Examples)
	}
}

// The same by API, where the description is held against every answer.
func TestAPhysicalOrderByAPI(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	f.carrier()
	token := f.shopper()
	mugs := basket(item("slate-mug", 11))
	p := f.order(token, "k", mugs).refused(t, http.StatusUnprocessableEntity, "VALIDATION_FAILED")
	require.Equal(t, "delivery", p.Errors[0].Field)
	with := func(delivery string) string { return strings.TrimSuffix(mugs, "}") + `,"delivery":` + delivery + "}" }
	home := `{"name":"Ann","line1":"Main Street 1","city":"Berlin","postcode":"10115","country":"DE"}`
	p = f.order(token, "k", with(`{"method":"pigeon","address":`+home+`}`)).refused(t, http.StatusUnprocessableEntity, "VALIDATION_FAILED")
	require.Equal(t, "delivery.method", p.Errors[0].Field)
	p = f.order(token, "k", with(`{"method":"standard","address":{"name":"Ann","line1":"1","postcode":"1","country":"DE"}}`)).refused(t, http.StatusUnprocessableEntity, "VALIDATION_FAILED")
	require.Equal(t, "delivery.address.city", p.Errors[0].Field)
	id := f.order(token, "k", with(`{"method":"standard","address":`+home+`}`)).placed(t)
	f.work()
	f.deliver("evt", id, provider.Succeeded)
	f.work()
	var o struct {
		Status    string
		Items     []struct{ Kind string }
		Shipments []struct {
			Parcel           int
			Status, Tracking string
		}
	}
	f.get("/api/orders/"+id, token).into(t, &o)
	require.Equal(t, "FULFILLED", o.Status)
	require.Equal(t, "physical", o.Items[0].Kind)
	require.Len(t, o.Shipments, 2)
	for i, s := range o.Shipments {
		require.Equal(t, i+1, s.Parcel)
		require.Equal(t, "SUCCEEDED", s.Status)
		require.NotEmpty(t, s.Tracking)
	}
	operator := f.as("operator")
	intent := operator.get("/console/intents/"+id, "")
	require.Equal(t, http.StatusOK, intent.Status)
	require.Contains(t, intent.Body, o.Shipments[1].Tracking)
	require.Contains(t, intent.Body, "parcel 2")
	require.Contains(t, operator.get("/go/"+o.Shipments[0].Tracking, "").Header.Get("Location"), id)
}

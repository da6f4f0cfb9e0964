package web_test

import (
	"net/http"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/stretchr/testify/require"

	"onefold/domain/account"
)

func TestPreferencesChangeEveryPage(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	v := s.as(account.Viewer)
	s.order(s.shopper(), "key-1", pixel).placed(t)
	save := func(changes map[string]string) int {
		form := v.get("/console/prefs", "").form(t, "/console/prefs")
		for name, value := range changes {
			form.Set(name, value)
		}
		return v.post("/console/prefs", form).Status
	}
	require.Equal(t, http.StatusSeeOther, save(map[string]string{"zone": "Europe/Moscow", "clock": "12", "density": "comfortable", "keys": "off", "theme": "dark", "refresh": "off"}))
	doc := v.page("/console/operations", http.StatusOK)
	require.Contains(t, doc.Find("tbody time").First().AttrOr("title", ""), "UTC+3")
	require.Regexp(t, `[AP]M`, doc.Find("tbody time").First().AttrOr("title", ""))
	doc.Find("time").Each(func(_ int, at *goquery.Selection) {
		require.Regexp(t, "Z$", at.AttrOr("datetime", ""), "machines read UTC")
	})
	require.Equal(t, "dark", doc.Find("html").AttrOr("data-theme", ""))
	require.Equal(t, []string{"comfortable", "off"}, []string{doc.Find(".bar").AttrOr("data-density", ""), doc.Find(".bar").AttrOr("data-keys", "")})
	require.Zero(t, v.page("/console", http.StatusOK).Find("#live[hx-trigger]").Length(), "nothing looks again by itself")
	require.Equal(t, http.StatusUnprocessableEntity, save(map[string]string{"zone": "Nowhere/Town"}))
	require.Equal(t, http.StatusUnprocessableEntity, save(map[string]string{"refresh": "1"}))
	require.Equal(t, http.StatusSeeOther, save(map[string]string{"lang": "ru", "zone": "UTC", "refresh": "30"}))
	doc = v.page("/console", http.StatusOK)
	require.Equal(t, "ru", doc.Find("html").AttrOr("lang", ""))
	require.Equal(t, "true", doc.Find(testID("zone-switch")+" button[value=UTC]").AttrOr("aria-pressed", ""))
	require.Equal(t, "every 30s", doc.Find("#live").AttrOr("hx-trigger", ""))
	require.Equal(t, "system", s.as(account.Viewer).page("/console", http.StatusOK).Find("html").AttrOr("data-theme", ""), "another's are another's")
}

func TestTheSwitchesOfTheBarChangeOneThing(t *testing.T) {
	t.Parallel()
	v := newShop(t).as(account.Viewer)
	form := v.get("/console/payments", "").form(t, "/console/prefs")
	form.Set("zone", "UTC")
	a := v.post("/console/prefs", form)
	require.Equal(t, "/console/payments", a.Header.Get("Location"), "back to where one was")
	form.Del("zone")
	form.Set("refresh", "60")
	v.post("/console/prefs", form)
	doc := v.page("/console/prefs", http.StatusOK)
	require.Equal(t, "UTC", doc.Find("#zone").AttrOr("value", ""))
	require.Equal(t, "60", doc.Find("input[name=refresh][checked]").AttrOr("value", ""))
	form.Set("lang", "ru")
	v.post("/prefs", form)
	require.Equal(t, "ru", v.page("/console", http.StatusOK).Find("html").AttrOr("lang", ""), "the menu's switch is remembered, too")
}

func TestViewsAreSavedAndCarryTheirNumber(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	f.placed("key-1")
	f.exec(`UPDATE payments SET status = 'UNKNOWN' WHERE status = 'PENDING'`)
	v, other := f.as(account.Support), f.as(account.Viewer)
	address := v.page("/console", http.StatusOK).Find(testID("queue-unknown_payments")).AttrOr("href", "")
	form := v.get(address, "").form(t, "/console/views")
	form.Set("name", "My unknowns")
	for range 2 {
		require.Equal(t, address, v.post("/console/views", form).Header.Get("Location"))
	}
	link := v.page("/console/operations", http.StatusOK).Find(".rail a:contains('My unknowns')")
	require.Equal(t, 1, link.Length())
	require.Equal(t, address, link.AttrOr("href", ""))
	require.Equal(t, "1", link.Find(".pill").Text())
	require.Zero(t, other.page("/console", http.StatusOK).Find(".rail a:contains('My unknowns')").Length())
	form.Set("shared", "true")
	v.post("/console/views", form)
	require.Equal(t, 1, other.page("/console", http.StatusOK).Find(".rail a:contains('My unknowns')").Length())
	require.Zero(t, other.page("/console/views", http.StatusOK).Find("form[action$='/remove']").Length(), "only mine can be removed")
	form.Set("address", "https://evil.example/")
	require.NotEqual(t, http.StatusSeeOther, v.post("/console/views", form).Status)
	remove := v.page("/console/views", http.StatusOK).Find("form[action$='/remove']").AttrOr("action", "")
	for range 2 {
		require.Equal(t, http.StatusSeeOther, v.post(remove, form).Status)
	}
	require.Zero(t, v.page("/console", http.StatusOK).Find(".rail a:contains('My unknowns')").Length())
}

func TestUsersAndHelpAreThereForEverybody(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	v := s.as(account.Viewer)
	s.as(account.Admin)
	doc := v.page("/console/users", http.StatusOK)
	require.Equal(t, 2, doc.Find(testID("person-row")).Length())
	require.Greater(t, doc.Find(testID("right-row")).Length(), 10)
	require.NotRegexp(t, `right\.[a-z]`, doc.Find("main").Text())
	for _, lang := range []string{"en", "ru"} {
		doc = v.page("/console/help?lang="+lang, http.StatusOK)
		require.Greater(t, doc.Find(testID("meaning")).Length(), 35)
		require.Equal(t, 12, doc.Find(testID("lane")).Length())
		require.NotRegexp(t, `(meaning|runbook|lane|key|entity|queue|alarm)\.[a-z_]+`, doc.Find("main").Text())
		doc.Find(testID("runbook")).Each(func(_ int, r *goquery.Selection) { require.Greater(t, len(r.Text()), 60) })
	}
}

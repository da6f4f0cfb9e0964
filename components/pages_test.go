package components_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/stretchr/testify/require"

	"onefold/components/i18n"
	"onefold/components/shop"
)

// each runs f on every sample page in both languages.
func each(t *testing.T, f func(t *testing.T, doc *goquery.Document, p page, html string)) {
	t.Helper()
	for _, l := range i18n.Langs() {
		for _, p := range pages(l) {
			t.Run(string(l)+"/"+p.name, func(t *testing.T) {
				t.Parallel()
				html := render(t, l, p)
				doc, err := goquery.NewDocumentFromReader(bytes.NewReader(html))
				require.NoError(t, err)
				require.Equal(t, string(l), doc.Find("html").AttrOr("lang", ""))
				f(t, doc, p, string(html))
			})
		}
	}
}

// The content policy allows our own files only: anything inline would be dead or a hole.
func TestNothingInline(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, doc *goquery.Document, _ page, html string) {
		t.Helper()
		require.Zero(t, doc.Find("[style], style").Length(), "inline style")
		require.NotContains(t, html, "javascript:")
		require.NotContains(t, html, "data:image")
		doc.Find("script").Each(func(_ int, s *goquery.Selection) {
			require.NotEmpty(t, s.AttrOr("src", ""), "inline script")
		})
		doc.Find("*").Each(func(_ int, s *goquery.Selection) {
			for _, a := range s.Nodes[0].Attr {
				require.NotRegexp(t, `^(on|hx-on)`, a.Key)
				if strings.HasPrefix(a.Key, "hx-") {
					require.NotContains(t, a.Val, "js:")
				}
				if a.Key == "hx-trigger" {
					require.NotContains(t, a.Val, "[", "trigger filter")
				}
			}
		})
	})
}

func TestFormsAreSafeToRepeat(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, doc *goquery.Document, _ page, _ string) {
		t.Helper()
		doc.Find("form").Each(func(_ int, s *goquery.Selection) {
			if s.AttrOr("method", "get") != "post" {
				require.Zero(t, s.Find("[name=csrf]").Length(), "a token in an address")
				return
			}
			require.Equal(t, 1, s.Find("input[name=csrf][value=csrf-token]").Length(), "csrf")
			if _, ok := s.Attr("hx-post"); ok {
				require.Equal(t, s.AttrOr("action", ""), s.AttrOr("hx-post", "?"), "works the same without htmx")
				require.Equal(t, "this:drop", s.AttrOr("hx-sync", ""))
				require.NotEmpty(t, s.AttrOr("hx-disable", ""))
			}
		})
	})
}

func TestPagesAreWellFormed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, doc *goquery.Document, p page, html string) {
		t.Helper()
		require.Equal(t, 1, doc.Find("h1").Length(), "one h1")
		require.Equal(t, 1, doc.Find("main#main").Length(), "one main")
		require.NotEmpty(t, strings.TrimSpace(strings.TrimSuffix(doc.Find("head title").Text(), "· onefold")))
		seen := map[string]bool{}
		doc.Find("[id]").Each(func(_ int, s *goquery.Selection) {
			id := s.AttrOr("id", "")
			require.False(t, seen[id], "id %q twice", id)
			seen[id] = true
		})
		doc.Find("input:not([type=hidden])").Each(func(_ int, s *goquery.Selection) {
			labelled := s.AttrOr("aria-label", "") != "" || doc.Find("label[for='"+s.AttrOr("id", "?")+"']").Length() == 1
			require.True(t, labelled, "input %q has a label", s.AttrOr("name", ""))
		})
		doc.Find("time").Each(func(_ int, s *goquery.Selection) {
			require.Regexp(t, `^\d{4}-\d\d-\d\dT[\d:.]+Z$`, s.AttrOr("datetime", ""))
		})
		require.NotRegexp(t, `%!|\bEXTRA\b`, html, "a broken message")
	})
}

var keyLike = regexp.MustCompile(`\b(catalogue|product|cart|checkout|order|orders|conflict|error|nav|console|col|intent|search|sign_in|status|next|effect|lane|theme|lang|time|field|pager|copy|notice|journal|act|guard|queue|run|batch|work|alike|lease|bulk|audit|kind|case)\.[a-z_]+(\.[a-z_A-Z]+)*\b`)

func TestNoUntranslatedKeyOnAnyPage(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, doc *goquery.Document, _ page, _ string) {
		t.Helper()
		doc.Find("code, script, [title]").RemoveAttr("title")
		doc.Find("code").Remove()
		text := doc.Find("body").Text()
		for _, found := range keyLike.FindAllString(text, -1) {
			require.Contains(t, []string{"payment.succeeded"}, found)
		}
		if doc.Find("html").AttrOr("lang", "") == "ru" {
			require.Regexp(t, `[а-я]`, text)
		}
	})
}

func TestPollingEndsWithTheState(t *testing.T) {
	t.Parallel()
	for _, s := range states {
		doc := orderDoc(t, s)
		live := doc.Find("#order-live")
		card := live.Find("[data-testid=order-status]")
		require.Equal(t, string(s), card.AttrOr("data-state", ""))
		trigger, polls := live.Attr("hx-trigger")
		require.Equal(t, !s.Final(), polls, s)
		require.Zero(t, live.Find("[hx-trigger]").Length())
		if polls {
			require.Equal(t, "every 2s", trigger)
			require.Equal(t, "outerHTML", live.AttrOr("hx-swap", ""))
			require.Equal(t, 1, card.Find("[data-testid=check-again]").Length(), "works without script")
		}
	}
}

func TestUnknownOffersNoWayToPay(t *testing.T) {
	t.Parallel()
	for _, s := range []shop.State{shop.Unknown, shop.UnknownLong} {
		card := orderDoc(t, s).Find("[data-testid=order-status]")
		require.Contains(t, card.Text(), "You do not need to pay again")
		require.Zero(t, card.Find("form, [data-testid=continue-to-payment]").Length())
	}
}

func TestCheckoutAsksLittleAndKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	form := checkout(i18n.English, shop.CheckoutForm{
		Delivery: true,
		Email:    shop.Typed{Value: "ada@", Error: "Enter an e-mail address"},
		Country:  shop.Typed{Value: "DE"},
	})
	html := render(t, i18n.English, page{body: shop.Checkout(guestPage(), form)})
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(html))
	require.NoError(t, err)
	inputs := doc.Find("[data-testid=checkout-form] input:not([type=hidden]), [data-testid=checkout-form] select")
	require.LessOrEqual(t, inputs.Length(), 8)
	require.Equal(t, "ada@", doc.Find("#email").AttrOr("value", ""))
	require.Equal(t, "DE", doc.Find("#country option[selected]").AttrOr("value", ""))
	require.Equal(t, "true", doc.Find("#email").AttrOr("aria-invalid", ""))
	require.Equal(t, "#email", doc.Find("[data-testid=error-summary] a").AttrOr("href", ""))
	require.True(t, strings.HasPrefix(doc.Find("title").Text(), "Error: "))
	for _, name := range []string{"csrf", "key", "basket", "total"} {
		require.NotEmpty(t, doc.Find("[data-testid=checkout-form] input[name="+name+"]").AttrOr("value", ""), name)
	}
}

func orderDoc(t *testing.T, s shop.State) *goquery.Document {
	t.Helper()
	html := render(t, i18n.English, page{body: shop.Order(shopPage(), order(i18n.English, s))})
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(html))
	require.NoError(t, err)
	return doc
}

package simulator_test

import (
	"fmt"
	"net"
	"net/smtp"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/stretchr/testify/require"
)

// mailer starts the mail side of a rig and returns a function that sends one letter.
func mailer(t *testing.T, r *rig) func(to, message string) error {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server, done := r.server, make(chan error, 1)
	go func() { done <- server.ServeSMTP(l) }()
	t.Cleanup(func() {
		require.NoError(t, l.Close())
		require.NoError(t, <-done)
	})
	return func(to, message string) error {
		return smtp.SendMail(l.Addr().String(), nil, "shop@shop.test", []string{to}, []byte(message))
	}
}

func letter(id string) string {
	return strings.ReplaceAll(fmt.Sprintf(`From: Shop <shop@shop.test>
To: a@b.test
Subject: =?utf-8?q?=D0=97=D0=B0=D0=BA=D0=B0=D0=B7_1?=
Message-ID: <%s@shop.test>
Content-Type: multipart/alternative; boundary=xx

--xx
Content-Type: text/html; charset=utf-8

<b>html</b>
--xx
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: quoted-printable

=D0=9F=D1=80=D0=B8=D0=B2=D0=B5=D1=82 <script>alert(1)</script>
See http://shop.test/orders/1?a=3D1&b=3D2.
--xx--
`, id), "\n", "\r\n")
}

func TestMailIsKeptAndShown(t *testing.T) {
	t.Parallel()
	r := start(t)
	send := mailer(t, r)
	require.Contains(t, r.call("GET", "/mailbox", "", nil).raw, "No mail yet")
	require.NoError(t, send("a@b.test", letter("m1")))
	require.NoError(t, send("c@d.test", "no header at all"))
	mails := r.ledger().Mails
	require.Len(t, mails, 2)
	require.Equal(t, "shop@shop.test", mails[0]["from"])
	require.Equal(t, []any{"a@b.test"}, mails[0]["to"])
	require.Equal(t, "Заказ 1", mails[0]["subject"])
	require.Equal(t, "<m1@shop.test>", mails[0]["messageId"])
	require.Equal(t, "Привет <script>alert(1)</script>\nSee http://shop.test/orders/1?a=1&b=2.", strings.TrimSpace(mails[0]["body"].(string)))
	require.NotEmpty(t, mails[0]["at"])

	list, err := goquery.NewDocumentFromReader(strings.NewReader(r.call("GET", "/mailbox", "", nil).raw))
	require.NoError(t, err)
	require.Equal(t, 2, list.Find("[data-testid=mail]").Length())
	path, _ := list.Find("[data-testid=mail]").Last().Attr("href")
	page := r.call("GET", path, "", nil)
	require.NotContains(t, page.raw, "<script")
	require.Contains(t, page.header.Get("Content-Security-Policy"), "default-src 'none'")
	shown, err := goquery.NewDocumentFromReader(strings.NewReader(page.raw))
	require.NoError(t, err)
	require.Contains(t, shown.Find("[data-testid=letter-body]").Text(), "Привет <script>alert(1)</script>")
	link, _ := shown.Find("[data-testid=letter-body] a").Attr("href")
	require.Equal(t, "http://shop.test/orders/1?a=1&b=2", link)
	require.Equal(t, 404, r.call("GET", "/mailbox/nothing", "", nil).status)
}

func TestMailFaults(t *testing.T) {
	t.Parallel()
	for do, c := range map[string]struct {
		says string // part of the error; "" = accepted
		kept int
	}{
		"error_before": {"451", 0},
		"reject":       {"550", 0},
		"error_after":  {"EOF", 1},
		"drop_after":   {"EOF", 1},
		"hang":         {"EOF", 1},
		"delay":        {"", 1},
	} {
		t.Run(do, func(t *testing.T) {
			t.Parallel()
			r := start(t)
			send := mailer(t, r)
			r.fault(object{"on": "smtp.send", "do": do, "reference": "a@b.test", "delayMs": 200})
			require.NoError(t, send("other@b.test", letter("m0")))
			begun := time.Now()
			err := send("a@b.test", letter("m1"))
			if c.says == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.says)
			}
			if do == "hang" || do == "delay" {
				require.GreaterOrEqual(t, time.Since(begun), 200*time.Millisecond)
			}
			require.Len(t, r.ledger().Mails, 1+c.kept)
			require.NoError(t, send("a@b.test", letter("m1")))
			require.Len(t, r.ledger().Mails, 2+c.kept)
			require.Equal(t, []string{"booked", do, "booked"}, r.outcomes("smtp.send"))
		})
	}
}

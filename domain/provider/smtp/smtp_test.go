package smtp_test

import (
	"bufio"
	"io"
	"log"
	"mime"
	"net"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	server "github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"onefold/domain/provider"
	"onefold/domain/provider/smtp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// mailServer takes mail unless its script refuses or cuts.
type mailServer struct {
	onMail, onRcpt func(c net.Conn) error
	onData         func(c net.Conn, take func()) error
	onReset        func(c net.Conn)

	mu    sync.Mutex
	taken []string
}

func (s *mailServer) start(t *testing.T) *smtp.Client {
	t.Helper()
	return s.startWithin(t, 5*time.Second)
}

func (s *mailServer) startWithin(t *testing.T, timeout time.Duration) *smtp.Client {
	t.Helper()
	srv := server.NewServer(server.BackendFunc(func(c *server.Conn) (server.Session, error) {
		return &session{s: s, conn: c.Conn()}, nil
	}))
	srv.Domain, srv.EnableSMTPUTF8 = "mail.example", true
	srv.ErrorLog = log.New(io.Discard, "", 0)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = srv.Serve(listener)
	}()
	t.Cleanup(func() {
		_ = srv.Close()
		<-ended
	})
	return client(t, listener.Addr().String(), timeout)
}

func client(t *testing.T, addr string, timeout time.Duration) *smtp.Client {
	t.Helper()
	c, err := smtp.New(smtp.Config{Addr: addr, From: "shop@example.com", Timeout: timeout})
	require.NoError(t, err)
	return c
}

func (s *mailServer) mails() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.taken...)
}

type session struct {
	s    *mailServer
	conn net.Conn
	data bool
}

func (m *session) Mail(string, *server.MailOptions) error { return script(m.s.onMail, m.conn) }
func (m *session) Rcpt(string, *server.RcptOptions) error { return script(m.s.onRcpt, m.conn) }
func (m *session) Logout() error                          { return nil }

func (m *session) Reset() {
	if m.data && m.s.onReset != nil {
		m.s.onReset(m.conn)
	}
}

func script(fn func(net.Conn) error, c net.Conn) error {
	if fn == nil {
		return nil
	}
	return fn(c)
}

func (m *session) Data(r io.Reader) error {
	content, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	m.data = true
	take := func() {
		m.s.mu.Lock()
		defer m.s.mu.Unlock()
		m.s.taken = append(m.s.taken, string(content))
	}
	if m.s.onData != nil {
		return m.s.onData(m.conn, take)
	}
	take()
	return nil
}

var message = provider.Message{
	ID: "mail.order-paid.order.1@shop.example", To: "ann@example.com", Subject: "Оплата получена: заказ 7", Text: "Ключ: A-B\n.\n.dots\nДлинная строка " + strings.Repeat("ж", 2000) + "\n",
}

func TestAMailArrivesAsItWasWritten(t *testing.T) {
	t.Parallel()
	s := &mailServer{}
	c := s.start(t)
	for range 2 {
		require.NoError(t, c.Send(t.Context(), message))
	}
	require.Len(t, s.mails(), 2)
	for _, raw := range s.mails() {
		m, err := mail.ReadMessage(bufio.NewReader(strings.NewReader(raw)))
		require.NoError(t, err)
		require.Equal(t, "<"+message.ID+">", m.Header.Get("Message-Id"), "a repeat carries the same")
		require.Equal(t, "<ann@example.com>", m.Header.Get("To"))
		require.Equal(t, "<shop@example.com>", m.Header.Get("From"))
		subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
		require.NoError(t, err)
		require.Equal(t, message.Subject, subject)
		require.NotContains(t, raw, "Bcc")
	}
}

func TestWhatEachAnswerProves(t *testing.T) {
	t.Parallel()
	refuse := func(code int) func(net.Conn) error {
		return func(net.Conn) error { return &server.SMTPError{Code: code, Message: "no"} }
	}
	drop := func(c net.Conn) error { return c.Close() }
	for name, c := range map[string]struct {
		server *mailServer
		kind   provider.Kind
		taken  int
	}{
		"sender refused":            {&mailServer{onMail: refuse(550)}, provider.Rejected, 0},
		"sender refused for now":    {&mailServer{onMail: refuse(451)}, provider.NotSent, 0},
		"recipient refused":         {&mailServer{onRcpt: refuse(550)}, provider.Rejected, 0},
		"recipient refused for now": {&mailServer{onRcpt: refuse(450)}, provider.NotSent, 0},
		"cut at the sender":         {&mailServer{onMail: drop}, provider.NotSent, 0},
		"cut at the recipient":      {&mailServer{onRcpt: drop}, provider.NotSent, 0},
		"content refused":           {&mailServer{onData: func(net.Conn, func()) error { return refuse(554)(nil) }}, provider.Rejected, 0},
		"content refused for now":   {&mailServer{onData: func(net.Conn, func()) error { return refuse(452)(nil) }}, provider.NotSent, 0},
		"cut before the answer":     {&mailServer{onData: func(c net.Conn, _ func()) error { return c.Close() }}, provider.Unknown, 0},
		"taken, answer lost": {&mailServer{onData: func(c net.Conn, take func()) error {
			take()
			return c.Close()
		}}, provider.Unknown, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := c.server.start(t).Send(t.Context(), message)
			var e *provider.Error
			require.ErrorAs(t, err, &e, "%v", err)
			require.Equal(t, c.kind, e.Kind, "%v", err)
			require.Len(t, c.server.mails(), c.taken)
		})
	}
}

// The mail is accepted; only the goodbye failed.
func TestCutAfterTheAnswer(t *testing.T) {
	t.Parallel()
	s := &mailServer{onReset: func(c net.Conn) { _ = c.Close() }}
	require.NoError(t, s.start(t).Send(t.Context(), message))
	require.Len(t, s.mails(), 1)
}

func TestAServerThatIsAway(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := listener.Addr().String()
	require.NoError(t, listener.Close())
	require.Equal(t, provider.NotSent, provider.KindOf(client(t, addr, time.Second).Send(t.Context(), message)))
}

// A server that takes the mail and doesn't answer: the wait is bounded, and the outcome isn't known.
func TestAServerThatHangs(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := &mailServer{onData: func(_ net.Conn, take func()) error {
		take()
		<-release
		return nil
	}}
	defer close(release)
	c := s.startWithin(t, 300*time.Millisecond)
	start := time.Now()
	err := c.Send(t.Context(), message)
	require.Equal(t, provider.Unknown, provider.KindOf(err), "%v", err)
	require.Less(t, time.Since(start), 4*time.Second)
}

func TestBadInputs(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"", "mail.example", "mail.example:smtp"} {
		_, err := smtp.New(smtp.Config{Addr: addr})
		require.Error(t, err)
	}
	bad := message
	for _, to := range []string{"", "no address", "a@b\r\nBcc: x@example.com"} {
		bad.To = to
		require.Equal(t, provider.Rejected, provider.KindOf(client(t, "127.0.0.1:1", time.Second).Send(t.Context(), bad)), to)
	}
}

package simulator

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"github.com/emersion/go-smtp"
	bolt "go.etcd.io/bbolt"
)

const (
	mailLimit   = 1 << 20
	smtpTimeout = time.Minute
)

func newMailServer(s *Server) *smtp.Server {
	server := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) {
		return &mailSession{s: s, conn: c.Conn()}, nil
	}))
	server.Domain = "simulator.invalid"
	server.MaxMessageBytes = mailLimit
	server.ReadTimeout = smtpTimeout
	server.WriteTimeout = smtpTimeout
	server.EnableSMTPUTF8 = true
	server.ErrorLog = mailLog{s}
	return server
}

// ServeSMTP takes mail on the listener until Close or the listener's end. It takes mail from anybody for anybody, and delivers none.
func (s *Server) ServeSMTP(l net.Listener) error {
	if err := s.smtp.Serve(l); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("serve mail: %w", err)
	}
	return nil
}

type mailLog struct{ s *Server }

func (l mailLog) Printf(format string, v ...any) {
	l.s.log.Debug("mail", "text", fmt.Sprintf(format, v...))
}
func (l mailLog) Println(v ...any) { l.s.log.Debug("mail", "text", fmt.Sprint(v...)) }

// mailSession is one SMTP connection.
type mailSession struct {
	s    *Server
	conn net.Conn
	from string
	to   []string
}

func (m *mailSession) Reset()        { m.from, m.to = "", nil }
func (m *mailSession) Logout() error { return nil }

func (m *mailSession) Mail(from string, _ *smtp.MailOptions) error {
	m.from = from
	return nil
}

func (m *mailSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	m.to = append(m.to, to)
	return nil
}

// Data stores the mail before it is accepted, unless a fault forbids it.
func (m *mailSession) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return err //nolint:wrapcheck // the library's own errors carry the SMTP answer
	}
	row := readMail(raw)
	row.ID, row.From, row.To, row.At = newID("mail_"), m.from, slices.Clone(m.to), m.s.now().UTC()
	f := m.s.faults.take(smtpSend, append(slices.Clone(m.to), row.MessageID)...)
	refused := refusedMail(f)
	if err := m.s.bookMail(row, f, refused == nil); err != nil {
		m.s.log.Error("store mail", "error", err)
		return &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: "Cannot store the message"}
	}
	if refused != nil {
		return refused
	}
	return m.misanswer(f)
}

func refusedMail(f fault) error {
	switch f.Do {
	case errorBefore:
		code := f.statusOr(400, 451)
		return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCode{code / 100, 3, 0}, Message: "Try again later"}
	case reject:
		code := f.statusOr(500, 550)
		return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "No such recipient"}
	}
	return nil
}

func (s *Server) bookMail(row mail, f fault, keep bool) error {
	return s.db.Batch(func(tx *bolt.Tx) error { //nolint:wrapcheck // wrapped where it arises
		if keep {
			if err := put(tx, bMails, row.ID, row); err != nil {
				return err
			}
		}
		return s.logCall(tx, call{on: smtpSend, key: row.MessageID, references: row.To},
			reply{outcome: outcomeOf(f, "booked"), id: row.ID, booked: keep})
	})
}

// misanswer is for a stored mail: the sender may never hear of it.
func (m *mailSession) misanswer(f fault) error {
	wait := f.delay()
	if f.Do == hang && wait == 0 {
		wait = maxDelay
	}
	if f.Do == hang || f.Do == delay {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-m.s.closing:
		}
	}
	if f.Do == hang || f.Do == dropAfter || f.Do == errorAfter {
		return m.conn.Close() //nolint:wrapcheck // nobody is left to read it
	}
	return nil
}

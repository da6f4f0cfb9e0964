// Package smtp hands mail to a mail server with go-mail.
package smtp

import (
	"context"
	"errors"
	"fmt"
	"net"
	netmail "net/mail"
	"strconv"
	"time"

	"github.com/wneessen/go-mail"

	"onefold/domain/provider"
)

// Config of a mail server. Credentials are optional.
type Config struct {
	Addr     string // host:port
	From     string
	Username string
	Password string
	Timeout  time.Duration // of the whole conversation; default 10 s
}

// Client sends one message per conversation.
type Client struct {
	cfg  Config
	host string
	port int
}

// New checks the address; it connects only when it sends.
func New(cfg Config) (*Client, error) {
	host, portText, err := net.SplitHostPort(cfg.Addr)
	if err != nil {
		return nil, fmt.Errorf("read SMTP address: %w", err)
	}
	port, err := strconv.Atoi(portText)
	if err != nil {
		return nil, fmt.Errorf("read SMTP port: %w", err)
	}
	if _, err := netmail.ParseAddress(cfg.From); err != nil {
		return nil, fmt.Errorf("read sender address: %w", err)
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 10 * time.Second
	}
	return &Client{cfg: cfg, host: host, port: port}, nil
}

// Send implements provider.Mailer. Until DATA is sent nothing can have been accepted (NotSent); a permanent refusal is
// Rejected; a conversation that breaks later is Unknown.
func (c *Client) Send(ctx context.Context, m provider.Message) error {
	msg := mail.NewMsg()
	if err := msg.From(c.cfg.From); err != nil {
		return provider.Errorf(provider.Rejected, "sender: %w", err)
	}
	if err := msg.To(m.To); err != nil {
		return provider.Errorf(provider.Rejected, "recipient refused by its form")
	}
	msg.SetMessageIDWithValue(m.ID)
	msg.Subject(m.Subject)
	msg.SetBodyString(mail.TypeTextPlain, m.Text)
	client, err := c.client()
	if err != nil {
		return provider.Errorf(provider.NotSent, "set up mail client: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	if err := client.DialWithContext(ctx); err != nil {
		return provider.Errorf(provider.NotSent, "reach mail server: %w", err)
	}
	defer client.Close()
	if err := client.Send(msg); err != nil {
		return classify(err)
	}
	return nil
}

func (c *Client) client() (*mail.Client, error) {
	options := []mail.Option{mail.WithPort(c.port), mail.WithTimeout(c.cfg.Timeout), mail.WithTLSPolicy(mail.TLSOpportunistic)}
	if c.cfg.Username != "" {
		options = append(options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(c.cfg.Username), mail.WithPassword(c.cfg.Password))
	}
	client, err := mail.NewClient(c.host, options...)
	if err != nil {
		return nil, fmt.Errorf("make mail client: %w", err)
	}
	return client, nil
}

// classify reads go-mail's reason. Without the final dot of DATA nothing can have been accepted; after it only a numbered
// answer is knowledge.
func classify(err error) error {
	var e *mail.SendError
	if !errors.As(err, &e) {
		return provider.Errorf(provider.Unknown, "send mail: %w", err)
	}
	switch {
	case e.Reason == mail.ErrSMTPReset:
		return nil // accepted; only the tidying up failed
	case e.ErrorCode() >= 500:
		return &provider.Error{Kind: provider.Rejected, Code: strconv.Itoa(e.ErrorCode()), Err: err}
	case e.Reason == mail.ErrSMTPDataClose && e.ErrorCode() == 0:
		return provider.Errorf(provider.Unknown, "no answer to mail: %w", err)
	}
	return provider.Errorf(provider.NotSent, "mail server refused for now: %w", err)
}

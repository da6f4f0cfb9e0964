package paymenttest

import (
	"context"
	"sync"

	"onefold/domain/provider"
)

// Mailer is a scripted provider.Mailer.
type Mailer struct {
	// OnSend answers send number n (from 1); accept stands for the server's taking the message. Nil accepts.
	OnSend func(ctx context.Context, n int, accept func()) error

	mu       sync.Mutex
	sends    int
	accepted []provider.Message
}

// Send implements provider.Mailer.
func (m *Mailer) Send(ctx context.Context, msg provider.Message) error {
	m.mu.Lock()
	m.sends++
	n, script := m.sends, m.OnSend
	m.mu.Unlock()
	accept := func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.accepted = append(m.accepted, msg)
	}
	if script == nil {
		accept()
		return nil
	}
	return script(ctx, n, accept)
}

// Accepted lists what the mail server took, oldest first.
func (m *Mailer) Accepted() []provider.Message {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]provider.Message(nil), m.accepted...)
}

// Sends counts the conversations so far.
func (m *Mailer) Sends() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sends
}

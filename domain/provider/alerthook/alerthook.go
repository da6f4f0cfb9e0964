// Package alerthook hands alerts to a webhook of the operators' own choice (chat, pager): JSON by POST, no signature, any 2xx is a
// receipt. The address comes from configuration only.
package alerthook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Poster posts to one address.
type Poster struct {
	url    string
	client *http.Client
}

// New makes a poster; a call is given up after ten seconds, and redirects are not followed.
func New(url string) *Poster {
	return &Poster{url: url, client: &http.Client{
		Timeout: 10 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Post sends one body. id names it in the header Alert-Id: a repeat after a lost answer carries the same one.
func (p *Poster) Post(ctx context.Context, id string, body any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("write alert: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(raw))
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Alert-Id", id)
	answer, err := p.client.Do(r)
	if err != nil {
		return fmt.Errorf("post alert: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("the webhook answered %d", answer.StatusCode)
	}
	return nil
}

package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"time"

	"onefold/domain/provider"
	"onefold/domain/trace"
)

const answerLimit = 1 << 20

// exchange makes exactly one HTTP exchange and reads a 200 into out. key "" sends none, in nil no body.
func (c *Client) exchange(ctx context.Context, method, path, key string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	connected := false // set in this goroutine, before anything can be written
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected = true }})
	req, err := c.request(ctx, method, path, key, in)
	if err != nil {
		return &provider.Error{Kind: provider.NotSent, Err: err}
	}
	answer, err := c.http.Do(req)
	if err != nil && !connected {
		return &provider.Error{Kind: provider.NotSent, Err: fmt.Errorf("connect to simulator: %w", err)}
	}
	if err != nil {
		return &provider.Error{Kind: provider.Unknown, Err: fmt.Errorf("call simulator: %w", err)}
	}
	defer func() { _ = answer.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(answer.Body, answerLimit+1))
	if err != nil {
		return &provider.Error{Kind: provider.Unknown, Err: fmt.Errorf("read answer: %w", err)}
	}
	if len(data) > answerLimit {
		return unreadable("it is larger than 1 MiB")
	}
	if answer.StatusCode != http.StatusOK {
		return refusal(answer, data)
	}
	if err := json.Unmarshal(data, out); err != nil {
		return &provider.Error{Kind: provider.Unknown, Err: fmt.Errorf("read answer: %w", err)}
	}
	return nil
}

func (c *Client) request(ctx context.Context, method, path, key string, in any) (*http.Request, error) {
	var data []byte
	if in != nil {
		var err error
		if data, err = json.Marshal(in); err != nil {
			return nil, fmt.Errorf("write request: %w", err)
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, once{bytes.NewReader(data)})
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	req.ContentLength = int64(len(data))
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "onefold")
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	if parent := trace.Parent(ctx); parent != "" {
		req.Header.Set("traceparent", parent)
	}
	return req, nil
}

// once is a body that can be read once and says nothing about itself. Without it net/http would silently send a request again
// that met a closed connection: every GET, and every POST that carries an Idempotency-Key.
type once struct{ io.Reader }

// refusal reads an answer that isn't 200. Only a body in the simulator's own form counts as its decision: a proxy in between
// says 400, 403 or 404 too.
func refusal(answer *http.Response, data []byte) error {
	var p struct {
		Code   string `json:"code"`
		Detail string `json:"detail"`
	}
	own := json.Unmarshal(data, &p) == nil && p.Code != ""
	e := &provider.Error{Kind: provider.Unknown, Code: p.Code, Err: fmt.Errorf("status %d: %s", answer.StatusCode, p.Detail)}
	if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil && seconds > 0 && seconds <= 24*60*60 {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	switch status := answer.StatusCode; {
	case status == http.StatusTooManyRequests:
		e.Kind = provider.RateLimited
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		e.Kind = provider.Auth
	case !own:
	case status == http.StatusConflict && p.Code == "busy":
		e.Kind = provider.InProgress
	case status == http.StatusConflict && p.Code == "key_reused":
		e.Kind = provider.KeyReused
	case status == http.StatusNotFound && p.Code == "not_found":
		e.Kind = provider.NotFound
	case status == http.StatusBadRequest || status == http.StatusPaymentRequired || status == http.StatusUnprocessableEntity:
		e.Kind = provider.Rejected
	}
	return e
}

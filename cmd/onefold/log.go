package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"regexp"

	"github.com/google/uuid"

	"onefold/domain/trace"
)

// newLogger writes structured lines that carry the trace and every ID known to their context, and hides what must not be seen.
func newLogger(w io.Writer, format, level string) (*slog.Logger, error) {
	var lowest slog.Level
	if err := lowest.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("read log level: %w", err)
	}
	options := &slog.HandlerOptions{Level: lowest, ReplaceAttr: redact}
	var h slog.Handler = slog.NewJSONHandler(w, options)
	if format == "text" {
		h = slog.NewTextHandler(w, options)
	}
	return slog.New(contextHandler{h}), nil
}

type contextHandler struct{ slog.Handler }

// Handle adds the context's IDs.
func (h contextHandler) Handle(ctx context.Context, r slog.Record) error {
	r = r.Clone()
	r.AddAttrs(trace.Attrs(ctx)...)
	return h.Handler.Handle(ctx, r)
}

// WithAttrs keeps the wrapper.
func (h contextHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return contextHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup keeps the wrapper.
func (h contextHandler) WithGroup(name string) slog.Handler {
	return contextHandler{h.Handler.WithGroup(name)}
}

// unwanted finds secrets and personal data that an error text from elsewhere may carry: mail addresses, bearer and API
// tokens, passwords in addresses, long digit runs that could be a card, licence keys. It finds UUIDs as well, so that one made
// of digits isn't taken for a card.
var unwanted = regexp.MustCompile(`[\w.+-]+@[\w-]+(\.[\w-]+)+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?i:bearer)\s+\S+|of_[A-Za-z0-9_-]{16,}|://[^/\s:@]+:[^/\s@]+@|\b(?:\d[ -]?){13,19}\b|\b(?:[0-9A-HJKMNP-TV-Z]{5}-){4}[0-9A-HJKMNP-TV-Z]{5}\b`)

func redact(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindString && a.Key != slog.TimeKey {
		a.Value = slog.StringValue(hide(a.Value.String()))
	}
	if err, ok := a.Value.Any().(error); ok {
		a.Value = slog.StringValue(hide(err.Error()))
	}
	return a
}

func hide(text string) string {
	return unwanted.ReplaceAllStringFunc(text, func(found string) string {
		if uuid.Validate(found) == nil {
			return found
		}
		return "[hidden]"
	})
}

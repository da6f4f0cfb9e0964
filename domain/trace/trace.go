// Package trace carries the W3C trace of a request or job through contexts, and the IDs that belong to it into every log line.
package trace

import (
	"context"
	"crypto/rand"
	"log/slog"
	"slices"
	"sync"

	"go.opentelemetry.io/otel/propagation"
	oteltrace "go.opentelemetry.io/otel/trace"
)

// Start continues the trace of a W3C traceparent header; "" or a malformed one starts a new trace.
func Start(ctx context.Context, traceparent string) context.Context {
	ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": traceparent})
	parent := oteltrace.SpanContextFromContext(ctx)
	return withSpan(ctx, parent.TraceID())
}

// Resume continues a stored trace by its 32 hex digits, as jobs do; a malformed one starts a new trace.
func Resume(ctx context.Context, id string) context.Context {
	traceID, err := oteltrace.TraceIDFromHex(id)
	if err != nil {
		traceID = oteltrace.TraceID{}
	}
	return withSpan(ctx, traceID)
}

func withSpan(ctx context.Context, traceID oteltrace.TraceID) context.Context {
	var spanID oteltrace.SpanID
	if !traceID.IsValid() {
		_, _ = rand.Read(traceID[:])
	}
	_, _ = rand.Read(spanID[:])
	return oteltrace.ContextWithSpanContext(ctx, oteltrace.NewSpanContext(oteltrace.SpanContextConfig{
		TraceID: traceID, SpanID: spanID, TraceFlags: oteltrace.FlagsSampled,
	}))
}

// ID is the trace's 32 hex digits; all zeros outside a trace.
func ID(ctx context.Context) string {
	return oteltrace.SpanContextFromContext(ctx).TraceID().String()
}

// Parent is the traceparent header for an outgoing call.
func Parent(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier["traceparent"]
}

type attrsKey struct{}

// With adds IDs to every later log line of this context. The names are those of CONTRACT section 6: operation_id,
// idempotency_key, order_id, payment_id, provider_event_id, job_id.
func With(ctx context.Context, attrs ...slog.Attr) context.Context {
	old, _ := ctx.Value(attrsKey{}).([]slog.Attr)
	return context.WithValue(ctx, attrsKey{}, append(slices.Clip(old), attrs...))
}

type notesKey struct{}

type notes struct {
	mu    sync.Mutex
	attrs []slog.Attr
}

// Gather starts collecting what Note adds: one log line can then carry IDs that were learned deep inside.
func Gather(ctx context.Context) context.Context {
	return context.WithValue(ctx, notesKey{}, &notes{})
}

// Note adds IDs to every later log line of the request or job that Gather began; outside one it does nothing. A later value
// replaces an earlier one; empty values and the zero UUID are left out.
func Note(ctx context.Context, attrs ...slog.Attr) {
	n, ok := ctx.Value(notesKey{}).(*notes)
	if !ok {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, a := range attrs {
		if text := a.Value.String(); text == "" || text == "00000000-0000-0000-0000-000000000000" {
			continue
		}
		n.attrs = append(slices.DeleteFunc(n.attrs, func(old slog.Attr) bool { return old.Key == a.Key }), a)
	}
}

// Attrs returns trace_id and what With and Note added.
func Attrs(ctx context.Context) []slog.Attr {
	var all []slog.Attr
	if oteltrace.SpanContextFromContext(ctx).TraceID().IsValid() {
		all = append(all, slog.String("trace_id", ID(ctx)))
	}
	fixed, _ := ctx.Value(attrsKey{}).([]slog.Attr)
	all = append(all, fixed...)
	if n, ok := ctx.Value(notesKey{}).(*notes); ok {
		n.mu.Lock()
		defer n.mu.Unlock()
		all = append(all, n.attrs...)
	}
	return all
}

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"onefold/domain/trace"
)

// logged is the line that write makes.
func logged(t *testing.T, write func(log *slog.Logger)) (line map[string]any, text string) {
	t.Helper()
	var out bytes.Buffer
	log, err := newLogger(&out, "json", "info")
	require.NoError(t, err)
	write(log)
	text = out.String()
	require.NoError(t, json.Unmarshal(out.Bytes(), &line), text)
	return line, text
}

func TestLogHidesSecretsWhereverTheyStand(t *testing.T) {
	t.Parallel()
	for name, secret := range map[string]string{
		"mail address":         "ada.lovelace+shop@mail.example.com",
		"API token":            "of_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG",
		"bearer token":         "Bearer abc.def",
		"password of database": "postgres://onefold:hunter2@db/onefold",
		"card":                 "4242 4242 4242 4242",
		"card with hyphens":    "4242-4242-4242-4242",
		"card in one":          "4242424242424242",
		"licence key":          "0A1B2-C3D4E-F5G6H-J7K8M-N9PQR",
	} {
		cause := fmt.Errorf("refused: %w", errors.New("for "+secret+" it is"))
		_, text := logged(t, func(log *slog.Logger) {
			log.With("fixed", "x "+secret).WithGroup("g").Error("message of "+secret, "text", secret, "error", cause, "number", 7)
		})
		for _, part := range []string{secret, "hunter2", "abc.def", "lovelace"} {
			require.NotContains(t, text, part, name)
		}
		require.Contains(t, text, `"number":7`)
		require.Contains(t, text, "[hidden]")
	}
}

// Support searches by these, so none of them may be taken for a card.
func TestLogKeepsIDs(t *testing.T) {
	t.Parallel()
	for _, id := range []string{
		"01934567-1234-7123-8123-123456789012", "019a3c5e-7f21-7c3d-9b1a-0f6d2c4b8e90", "12345678123456781234567812345678", "payment:create:order:5814:1", "evt_1",
	} {
		line, _ := logged(t, func(log *slog.Logger) { log.Info("request", "order_id", id, "path", "/api/orders/"+id+"/payments") })
		require.Equal(t, id, line["order_id"])
		require.Equal(t, "/api/orders/"+id+"/payments", line["path"])
	}
}

func TestLogCarriesWhatTheContextKnows(t *testing.T) {
	t.Parallel()
	ctx := trace.Gather(trace.Start(t.Context(), "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"))
	ctx = trace.With(ctx, slog.Int64("job_id", 5))
	trace.Note(ctx, slog.String("payment_id", "p1"))
	line, _ := logged(t, func(log *slog.Logger) { log.InfoContext(ctx, "job") })
	require.Equal(t, "4bf92f3577b34da6a3ce929d0e0e4736", line["trace_id"])
	require.InEpsilon(t, 5, line["job_id"], 0)
	require.Equal(t, "p1", line["payment_id"])
	line, _ = logged(t, func(log *slog.Logger) { log.Info("start") })
	require.NotContains(t, line, "trace_id")
}

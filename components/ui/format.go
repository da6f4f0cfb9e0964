package ui

import (
	"context"
	"strings"
	"time"

	"onefold/components/i18n"
)

// before and after are the words of a message around its only argument.
func before(ctx context.Context, key string) string {
	words, _, _ := strings.Cut(i18n.T(ctx, key, "\x00"), "\x00")
	return words
}

func after(ctx context.Context, key string) string {
	_, words, _ := strings.Cut(i18n.T(ctx, key, "\x00"), "\x00")
	return words
}

// stamp is the machine's form of a time: UTC, always.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// Middle shortens an ID for a narrow column: "0192f3a1…9c4e". The whole one belongs in a title or a copy button.
func Middle(id string) string {
	r := []rune(id)
	if len(r) <= 16 {
		return id
	}
	return string(r[:8]) + "…" + string(r[len(r)-4:])
}

package shop

import (
	"context"

	"onefold/components/i18n"
	"onefold/components/ui"
)

func (m ErrorModel) title(ctx context.Context) string {
	if m.Title != "" {
		return m.Title
	}
	return i18n.T(ctx, "error."+m.code()+".title")
}

func (m ErrorModel) text(ctx context.Context) string {
	if m.Detail != "" {
		return m.Detail
	}
	return i18n.T(ctx, "error."+m.code()+".text")
}

func (m ErrorModel) icon() string {
	switch m.code() {
	case "404":
		return "search"
	case "403":
		return "lock"
	case "410", "429", "503":
		return "clock"
	default:
		return "alert"
	}
}

func (m ErrorModel) tone() ui.Tone {
	switch m.code() {
	case "500":
		return ui.Bad
	case "404":
		return ui.Neutral
	default:
		return ui.Warn
	}
}

func (m Money) words(ctx context.Context) string {
	switch m {
	case MoneyNone:
		return i18n.T(ctx, "error.money.none")
	case MoneyLooked:
		return i18n.T(ctx, "error.money.looked")
	default:
		return i18n.T(ctx, "error.money.once")
	}
}

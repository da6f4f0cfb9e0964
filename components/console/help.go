package console

import (
	"context"

	"onefold/components/i18n"
)

// text is what the thing is, what happens by itself, and what a person does.
func (r Runbook) text(ctx context.Context) string {
	if key := "runbook." + r.Name; i18n.Has(key) {
		return i18n.T(ctx, key)
	}
	return i18n.T(ctx, "runbook.other")
}

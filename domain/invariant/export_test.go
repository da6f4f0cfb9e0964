package invariant

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Evaluate is Check inside a transaction of the test's own.
func Evaluate(ctx context.Context, tx pgx.Tx, cfg Config) ([]Finding, error) {
	w := newWork(cfg)
	if err := w.do(ctx, tx); err != nil {
		return nil, err
	}
	return w.findings(), nil
}

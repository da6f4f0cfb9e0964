package account

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"onefold/domain/fault"
	"onefold/domain/store"
)

// Failures in a row after which each further try has to wait 1, 2, 4 … seconds, at most 15 minutes. An hour without a
// failure forgets them. An address behind one office or proxy is many people, so it is given more.
const (
	freePerEmail = 5
	freePerIP    = 20
)

// subjects are the counters a try belongs to, in the order their rows are locked.
func subjects(email, ip string) []string {
	var s []string
	if validEmail(email) { // anything else matches nobody and would only fill the table
		s = append(s, "email:"+email)
	}
	if ip != "" {
		s = append(s, "ip:"+ip)
	}
	return s
}

// countTry adds a failure to every counter, or to none and returns RATE_LIMITED when one of them still has to wait.
// The clock is clock_timestamp(): now() would be older than what a twin has just written.
func countTry(ctx context.Context, db store.DB, email, ip string) error {
	all := subjects(email, ip)
	if len(all) == 0 {
		return nil
	}
	return store.InTx(ctx, db, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			INSERT INTO login_throttle AS t (subject, failures)
			SELECT s, 1 FROM unnest($1::text[]) AS s ORDER BY s
			ON CONFLICT (subject) DO UPDATE SET (failures, retry_at) = (
				SELECT n, clock_timestamp() + CASE WHEN n < free THEN interval '0'
					ELSE make_interval(secs => least(900, power(2, least(n - free, 10)))) END
				FROM (SELECT
					CASE WHEN t.retry_at < clock_timestamp() - interval '1 hour' THEN 1 ELSE t.failures + 1 END AS n,
					CASE WHEN t.subject LIKE 'ip:%' THEN $3::int ELSE $2::int END AS free) AS next)
			WHERE t.retry_at <= clock_timestamp() RETURNING subject`, all, freePerEmail, freePerIP)
		if err != nil {
			return fmt.Errorf("count sign-in: %w", err)
		}
		counted, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return fmt.Errorf("count sign-in: %w", err)
		}
		if len(counted) == len(all) {
			return nil
		}
		return throttled(ctx, tx, all, counted)
	})
}

// throttled is the refusal, with the wait of the counters that refused.
func throttled(ctx context.Context, q store.Querier, all, counted []string) error {
	limited := fault.New(fault.Unavailable, "RATE_LIMITED", "Too many tries. Wait a little, then try again.")
	err := q.QueryRow(ctx, `
		SELECT greatest(max(retry_at) - clock_timestamp(), interval '0') FROM login_throttle
		WHERE subject = ANY($1) AND subject <> ALL($2)`, all, counted).Scan(&limited.RetryAfter)
	if err != nil {
		return fmt.Errorf("read sign-in delay: %w", err)
	}
	limited.RetryAfter = limited.RetryAfter.Truncate(time.Second) + time.Second
	return limited
}

// forgiveTry takes the count of a successful try back. The IP keeps its earlier failures: somebody with one account of
// their own must not clear the way to other people's.
func forgiveTry(ctx context.Context, q store.Querier, email, ip string) error {
	var b pgx.Batch
	b.Queue(`DELETE FROM login_throttle WHERE subject = $1`, "email:"+email)
	b.Queue(`UPDATE login_throttle SET failures = greatest(failures - 1, 0), retry_at = clock_timestamp() WHERE subject = $1`, "ip:"+ip)
	if err := q.SendBatch(ctx, &b).Close(); err != nil {
		return fmt.Errorf("forgive sign-in: %w", err)
	}
	return nil
}

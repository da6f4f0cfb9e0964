package alarm

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/store"
)

// Range is how far back the charts look.
type Range struct {
	Name string // as the address says it
	span int    // of the counters, in minutes
	step time.Duration
	n    int // points, at most 120
}

// Ranges lists what can be looked at; the first is the default.
func Ranges() []Range {
	return []Range{
		{"1h", 1, time.Minute, 60}, {"6h", 1, 5 * time.Minute, 72}, {"24h", 15, 15 * time.Minute, 96}, {"7d", 15, 2 * time.Hour, 84},
	}
}

// RangeOf finds a range by its name; "" is the default.
func RangeOf(name string) (Range, bool) {
	if name == "" {
		return Ranges()[0], true
	}
	i := slices.IndexFunc(Ranges(), func(r Range) bool { return r.Name == name })
	if i < 0 {
		return Range{}, false
	}
	return Ranges()[i], true
}

// Charts are the counters of a range.
type Charts struct {
	From   time.Time // of the first point
	Step   time.Duration
	Points int
	counts map[string]map[string][]float64 // series → label → points
}

// Of is a line of a series; nil if nothing was counted.
func (c Charts) Of(series, label string) []float64 { return c.counts[series][label] }

// Labels of a series, sorted.
func (c Charts) Labels(series string) []string { return slices.Sorted(maps.Keys(c.counts[series])) }

// Total of a line.
func (c Charts) Total(series, label string) (sum float64) {
	for _, v := range c.Of(series, label) {
		sum += v
	}
	return sum
}

// Read reads the charts of a range up to the minute that hasn't ended.
func Read(ctx context.Context, q store.Querier, r Range) (Charts, error) {
	c := Charts{Step: r.step, Points: r.n, counts: map[string]map[string][]float64{}}
	err := q.QueryRow(ctx, `SELECT date_bin($1::interval, clock_timestamp(), 'epoch') - ($2::int - 1) * $1::interval`, r.step, r.n).Scan(&c.From)
	if err != nil {
		return c, fmt.Errorf("read clock: %w", err)
	}
	rows, err := q.Query(ctx, `SELECT series, label, (extract(epoch FROM at - $1::timestamptz) / $2::float8)::int, sum(n)::float8 FROM (
			SELECT series, label, date_bin($3::interval, at, 'epoch') AS at, n FROM rollups WHERE series = ANY($4) AND span = $5 AND at >= $1
		) AS r GROUP BY 1, 2, 3`, c.From, r.step.Seconds(), r.step, []string{Operations, Payments, Providers, Absorbed, Latency}, r.span)
	if err != nil {
		return c, fmt.Errorf("read counters: %w", err)
	}
	return c, c.fill(rows)
}

// hour is the number of points of Recent.
const hour = 60

// Recent is how full each queue was in the last hour, a point a minute; a minute that nobody looked at is as the one before.
func Recent(ctx context.Context, q store.Querier) (map[string][]float64, error) {
	rows, err := q.Query(ctx, `SELECT label, $2 - 1 - (extract(epoch FROM date_trunc('minute', clock_timestamp()) - at) / 60)::int, n::float8
		FROM rollups WHERE series = $1 AND span = 1 AND at > clock_timestamp() - interval '1 hour' ORDER BY label, at`, Queue, hour)
	if err != nil {
		return nil, fmt.Errorf("read samples: %w", err)
	}
	lines := map[string][]float64{}
	var label string
	var i int
	var n float64
	_, err = pgx.ForEachRow(rows, []any{&label, &i, &n}, func() error {
		if lines[label] == nil {
			lines[label] = make([]float64, hour)
		}
		for ; i >= 0 && i < hour; i++ {
			lines[label][i] = n
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read samples: %w", err)
	}
	return lines, nil
}

func (c Charts) fill(rows pgx.Rows) error {
	var series, label string
	var i int
	var n float64
	_, err := pgx.ForEachRow(rows, []any{&series, &label, &i, &n}, func() error {
		if c.counts[series] == nil {
			c.counts[series] = map[string][]float64{}
		}
		if c.counts[series][label] == nil {
			c.counts[series][label] = make([]float64, c.Points)
		}
		if i >= 0 && i < c.Points {
			c.counts[series][label][i] += n
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read counters: %w", err)
	}
	return nil
}

// Percentile estimates a percentile (0 < p < 1) of the answers at each point, in milliseconds; 0 where nobody asked.
func (c Charts) Percentile(p float64) []float64 {
	type bucket struct {
		bound float64
		n     []float64
	}
	var buckets []bucket
	for label, n := range c.counts[Latency] {
		if bound, err := strconv.ParseFloat(label, 64); err == nil {
			buckets = append(buckets, bucket{bound, n})
		}
	}
	slices.SortFunc(buckets, func(a, b bucket) int { return cmp.Compare(a.bound, b.bound) })
	out := make([]float64, c.Points)
	for i := range out {
		total := 0.0
		for _, b := range buckets {
			total += b.n[i]
		}
		seen, lower := 0.0, 0.0
		for _, b := range buckets {
			if seen+b.n[i] >= total*p && b.n[i] > 0 {
				out[i] = lower + (b.bound-lower)*(total*p-seen)/b.n[i]
				break
			}
			seen, lower = seen+b.n[i], b.bound
		}
	}
	return out
}

// AbsorbedToday counts what was absorbed in the last 24 hours, by layer.
func AbsorbedToday(ctx context.Context, q store.Querier) (map[string]int64, error) {
	rows, err := q.Query(ctx, `SELECT label, sum(n)::bigint FROM rollups WHERE series = $1 AND span = 15 AND at > clock_timestamp() - interval '1 day' GROUP BY 1`, Absorbed)
	if err != nil {
		return nil, fmt.Errorf("count absorbed: %w", err)
	}
	layers := map[string]int64{}
	var layer string
	var n int64
	if _, err = pgx.ForEachRow(rows, []any{&layer, &n}, func() error { layers[layer] = n; return nil }); err != nil {
		return nil, fmt.Errorf("count absorbed: %w", err)
	}
	return layers, nil
}

// Client is somebody who used keys for more than one request.
type Client struct {
	UserID      uuid.UUID
	Email       string    // "" for a guest
	Count       int64     // refusals in 24 hours
	At          time.Time // of the latest
	OperationID uuid.UUID // whose key it was
}

// Reusers lists who reused keys in the last 24 hours, the most first.
func Reusers(ctx context.Context, q store.Querier, most int) ([]Client, error) {
	rows, err := q.Query(ctx, `SELECT k.user_id, coalesce(u.email, ''), r.n, k.at, k.operation_id FROM (
			SELECT label::uuid AS user_id, sum(n)::bigint AS n FROM rollups WHERE series = $1 AND span = 15 AND at > clock_timestamp() - interval '1 day' GROUP BY 1
		) AS r JOIN key_reuse k USING (user_id) LEFT JOIN users u ON u.id = k.user_id ORDER BY r.n DESC, k.at DESC LIMIT $2`, ReusedBy, most)
	if err != nil {
		return nil, fmt.Errorf("list clients: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Client])
	if err != nil {
		return nil, fmt.Errorf("list clients: %w", err)
	}
	return list, nil
}

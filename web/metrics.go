package web

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"onefold/domain/alarm"
	"onefold/domain/store"
)

// Metrics are this process's numbers for Prometheus; all names begin with onefold_.
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	absorbed *prometheus.CounterVec
	violated *prometheus.GaugeVec
	handler  http.Handler
	latency  latency
}

// NewMetrics makes an empty set.
func NewMetrics() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "onefold_http_requests_total", Help: "Answers by route, method and status.",
		}, []string{"method", "route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "onefold_http_request_seconds", Help: "Time to answer.", Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
		}, []string{"route"}),
		absorbed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "onefold_duplicates_absorbed_total", Help: "Repeats that changed nothing, by the layer that absorbed them.",
		}, []string{"layer"}),
		violated: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "onefold_invariant_violations", Help: "Violations that the workers' latest check found, by the invariant's number; absent until there was one.",
		}, []string{"number"}),
	}
	m.registry.MustRegister(m.requests, m.seconds, m.absorbed, m.violated,
		prometheus.WrapCollectorWithPrefix("onefold_", collectors.NewGoCollector()),
		prometheus.WrapCollectorWithPrefix("onefold_", collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})))
	m.handler = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
	return m
}

func (m *Metrics) count(method, route string, status int, elapsed time.Duration) {
	m.requests.WithLabelValues(method, route, strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(route).Observe(elapsed.Seconds())
	if !background(route) {
		m.latency.add(elapsed)
	}
}

func (h *Handlers) metrics(c *fiber.Ctx) error {
	h.Metrics.prove(c.UserContext(), h.DB)
	return adaptor.HTTPHandler(h.Metrics.handler)(c)
}

// prove reads what is known about the invariants: every process tells the same. What can't be read is absent, not 0.
func (m *Metrics) prove(ctx context.Context, db store.DB) {
	known, err := alarm.Proof(ctx, db)
	if err != nil || !known.Known() {
		m.violated.Reset()
		return
	}
	for _, i := range known {
		m.violated.WithLabelValues(strconv.Itoa(i.Number)).Set(float64(i.Violations))
	}
}

func (h *Handlers) healthz(c *fiber.Ctx) error { return c.SendString("ok\n") }

// readyz says whether this process can do its work; the text never shows anything inside.
func (h *Handlers) readyz(c *fiber.Ctx) error {
	if err := h.Ready(); err != nil {
		return err
	}
	return c.SendString("ready\n")
}

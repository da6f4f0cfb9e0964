package web

import (
	"net/http"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics are this process's numbers for Prometheus; all names begin with onefold_.
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	absorbed *prometheus.CounterVec
	handler  http.Handler
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
	}
	m.registry.MustRegister(m.requests, m.seconds, m.absorbed,
		prometheus.WrapCollectorWithPrefix("onefold_", collectors.NewGoCollector()),
		prometheus.WrapCollectorWithPrefix("onefold_", collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})))
	m.handler = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
	return m
}

func (m *Metrics) count(method, route string, status int, elapsed time.Duration) {
	m.requests.WithLabelValues(method, route, strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(route).Observe(elapsed.Seconds())
}

func (h *Handlers) metrics(c *fiber.Ctx) error { return adaptor.HTTPHandler(h.Metrics.handler)(c) }

func (h *Handlers) healthz(c *fiber.Ctx) error { return c.SendString("ok\n") }

// readyz says whether this process can do its work; the text never shows anything inside.
func (h *Handlers) readyz(c *fiber.Ctx) error {
	if err := h.Ready(); err != nil {
		return err
	}
	return c.SendString("ready\n")
}

package web

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	view "onefold/components/console"
	"onefold/components/i18n"
	"onefold/components/layout"
	"onefold/domain/alarm"
	"onefold/domain/console"
)

const (
	streamsPerBrowser = 3 // a browser opens six connections to a host at most: the pages need some themselves
	streamPoll        = 2 * time.Second
	streamPing        = 15 * time.Second // a browser that left is only noticed by writing to it
	streamLife        = 5 * time.Minute  // then the browser comes again, with the role it has then
	streamTurn        = 5 * time.Second  // that long one of too many open pages waits for its next turn
)

// news is what open pages are told of: the numbers of the rail and what fires.
type news struct {
	queues []layout.RailItem
	firing []layout.Firing
	none   bool // nothing can be read: pages that say "live" would lie
}

// listener is one open page; over is closed when a newer page of the same browser needs its place.
type listener struct {
	browser string
	news    chan news
	over    chan struct{}
}

// streams feeds all open pages of this process from one poll, which runs only while there are any.
type streams struct {
	mu    sync.Mutex
	pages []*listener // oldest first
	stop  context.CancelFunc
}

// join adds a page of a browser and starts the poll for the first one. Its oldest page gives way when it has too many: that
// one may have been closed long ago, and if it wasn't, it comes again.
func (s *streams) join(browser string, poll func(ctx context.Context)) *listener {
	s.mu.Lock()
	defer s.mu.Unlock()
	page := &listener{browser: browser, news: make(chan news, 1), over: make(chan struct{})}
	s.pages = append(s.pages, page)
	if len(s.pages) == 1 {
		var ctx context.Context
		ctx, s.stop = context.WithCancel(context.Background())
		go poll(ctx)
	}
	theirs := slices.DeleteFunc(slices.Clone(s.pages), func(l *listener) bool { return l.browser != browser })
	if len(theirs) > streamsPerBrowser {
		close(theirs[0].over)
		s.remove(theirs[0])
	}
	return page
}

func (s *streams) leave(page *listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(page)
}

// remove takes out a page that is in, and ends the poll after the last one.
func (s *streams) remove(page *listener) {
	at := slices.Index(s.pages, page)
	if at < 0 {
		return
	}
	s.pages = slices.Delete(s.pages, at, at+1)
	if len(s.pages) == 0 {
		s.stop()
	}
}

// tell gives every page the latest; one that hasn't read the one before gets this instead.
func (s *streams) tell(n news) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, page := range s.pages {
		select {
		case <-page.news:
		default:
		}
		page.news <- n
	}
}

// consoleStream: GET /console/stream. What the browser needs is copied before the handler ends; the writer runs after it.
func (h *Handlers) consoleStream(c *fiber.Ctx) error {
	browser, _ := c.Locals(localBrowser).(string)
	page := h.streams.join(strings.Clone(browser), h.poll)
	locale, section := h.locale(c), strings.Clone(c.Query("section"))
	list := h.freshOf(strings.Clone(c.Query("list")), reader{me: currentUser(c).ID, zone: locale.Zone})
	since, err := time.Parse(time.RFC3339Nano, c.Query("since"))
	if err != nil {
		list = nil
	}
	c.Set(fiber.HeaderContentType, "text/event-stream")
	c.Set(fiber.HeaderCacheControl, "no-store")
	c.Set("X-Accel-Buffering", "no")
	c.Response().SetBodyStreamWriter(func(w *bufio.Writer) {
		defer h.streams.leave(page)
		h.stream(w, page, locale, section, list, since)
	})
	return nil
}

// stream writes what is new until the browser leaves, its place or its time is over, or the process ends.
func (h *Handlers) stream(w *bufio.Writer, page *listener, locale i18n.Locale, section string, list *fresh, since time.Time) {
	ping, life := time.NewTicker(streamPing), time.NewTimer(cmp.Or(h.StreamLife, streamLife))
	look := time.NewTicker(streamFresh)
	defer look.Stop()
	defer ping.Stop()
	defer life.Stop()
	var said []byte
	var told view.Fresh
	id := 0
	say := func(what templ.Component) (out bytes.Buffer) {
		locale.Now = h.Now()
		_ = what.Render(i18n.With(context.Background(), locale), &out) // a buffer refuses nothing
		return out
	}
	send := func(text string) {
		id++
		_, _ = fmt.Fprintf(w, "id: %d\nretry: 1000\ndata: %s\n\n", id, strings.ReplaceAll(text, "\n", "\ndata: "))
	}
	_, _ = w.WriteString(": open\n\n") // the first news comes with the next poll: the last poll's may be older than the page
	for {
		if w.Flush() != nil {
			return
		}
		select {
		case <-h.Done:
			return
		case <-life.C:
			return
		case <-page.over:
			_, _ = fmt.Fprintf(w, "event: turn\nretry: %d\ndata: over\n\n", streamTurn.Milliseconds())
			return
		case <-ping.C:
			_, _ = w.WriteString(": ping\n\n")
		case n := <-page.news:
			if n.none {
				return
			}
			out := say(view.News(section, n.queues, n.firing))
			if !bytes.Equal(out.Bytes(), said) {
				said = out.Bytes()
				send(out.String())
			}
		case <-look.C:
			if list == nil {
				continue
			}
			if n := list.said(context.Background(), since); n != nil && *n != told {
				told = *n
				out := say(view.ListNews(told))
				send(out.String())
			}
		}
	}
}

// poll reads the numbers for all open pages until ctx ends. When they can't be read twice, the pages are let go: they say so, and
// come again until they are let in.
func (h *Handlers) poll(ctx context.Context) {
	pause := time.NewTicker(streamPoll)
	defer pause.Stop()
	failed := 0
	for {
		if n, err := h.readNews(ctx); err == nil {
			failed = 0
			h.streams.tell(n)
		} else if ctx.Err() == nil {
			if failed++; failed > 1 {
				h.streams.tell(news{none: true})
			}
			h.Logger.LogAttrs(ctx, slog.LevelWarn, "news not read", slog.String("error", err.Error()))
		}
		select {
		case <-ctx.Done():
			return
		case <-h.Done:
			return
		case <-pause.C:
		}
	}
}

func (h *Handlers) readNews(ctx context.Context) (n news, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	queues, err := console.Queues(ctx, h.DB)
	if err != nil {
		return n, err
	}
	firing, err := alarm.Firing(ctx, h.DB)
	return news{queues: h.queueItems(queues), firing: firingModels(firing)}, err
}

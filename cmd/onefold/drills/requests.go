package drills

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
)

// finish pays the drill's one order and waits for its effects.
func (r *runner) finish() error {
	if len(r.orders) == 0 {
		return errors.New("no order was made")
	}
	for _, id := range r.orders {
		if err := r.pay(id); err != nil {
			return err
		}
		if err := r.fulfilled(id); err != nil {
			return err
		}
	}
	return nil
}

func expect(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}

func sameKeyTwice(r *runner) error {
	first, err := r.place(r.prefix, orderBody(1))
	if err != nil {
		return err
	}
	second, err := r.place(r.prefix, orderBody(1))
	if err != nil {
		return err
	}
	r.result.Sent, r.result.Absorbed = "2 requests with one key", "1 replay"
	if err := expect(first.Status == http.StatusCreated && second.Status == http.StatusCreated && second.Replayed && !first.Replayed &&
		string(first.Body) == string(second.Body), "answers differ: %d %s, then %d %s", first.Status, first.Body, second.Status, second.Body); err != nil {
		return err
	}
	return r.finish()
}

const twins = 50

func parallel(r *runner) error {
	var start, done sync.WaitGroup
	start.Add(1)
	answers, errs := make([]answer, twins), make([]error, twins)
	for i := range twins {
		done.Go(func() {
			start.Wait()
			answers[i], errs[i] = r.api(http.MethodPost, "/api/orders", r.prefix, orderBody(1))
		})
	}
	start.Done()
	done.Wait()
	first, replays, waiting := 0, 0, 0
	for i, a := range answers {
		switch {
		case errs[i] != nil:
			return errs[i]
		case a.Status == http.StatusCreated && a.Replayed:
			replays++
		case a.Status == http.StatusCreated:
			first++
		case a.field("code") == "OPERATION_IN_PROGRESS":
			waiting++
		default:
			return fmt.Errorf("unexpected answer %d %s", a.Status, a.Body)
		}
	}
	r.result.Sent = fmt.Sprintf("%d requests with one key at one moment", twins)
	r.result.Absorbed = fmt.Sprintf("%d replays, %d told to wait", replays, waiting)
	if err := expect(first == 1, "%d first executions", first); err != nil {
		return err
	}
	if _, err := r.place(r.prefix, orderBody(1)); err != nil {
		return err
	}
	return r.finish()
}

// responseLost sends a whole request and closes the socket without reading a byte of the answer.
func responseLost(r *runner) error {
	address, err := url.Parse(r.Web)
	if err != nil {
		return fmt.Errorf("read web address: %w", err)
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(r.ctx, "tcp", address.Host)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	body := orderBody(1)
	request := bufio.NewWriter(conn)
	fmt.Fprintf(request, "POST /api/orders HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nIdempotency-Key: %s\r\nContent-Length: %d\r\n\r\n%s",
		address.Host, r.Token, r.prefix, len(body), body)
	if err := errors.Join(request.Flush(), conn.Close()); err != nil {
		return fmt.Errorf("send and hang up: %w", err)
	}
	r.posts.Add(1)
	if r.Watch != nil {
		r.Watch("POST /api/orders → hung up before the answer")
	}
	if err := r.await("the order that nobody heard of", func() (bool, error) {
		c, err := r.count()
		return c.Orders == 1, err
	}); err != nil {
		return err
	}
	again, err := r.place(r.prefix, body)
	if err != nil {
		return err
	}
	r.result.Sent, r.result.Absorbed = "1 request, connection closed before the answer, 1 retry", "1 replay"
	if err := expect(again.Status == http.StatusCreated && again.Replayed, "the retry got %d %s", again.Status, again.Body); err != nil {
		return err
	}
	return r.finish()
}

func otherPayload(r *runner) error {
	if _, err := r.place(r.prefix, orderBody(1)); err != nil {
		return err
	}
	other, err := r.api(http.MethodPost, "/api/orders", r.prefix, orderBody(2))
	if err != nil {
		return err
	}
	r.result.Sent, r.result.Absorbed = "1 request, then its key with another quantity", "1 refused: IDEMPOTENCY_KEY_REUSED"
	if err := expect(other.Status == http.StatusConflict && other.field("code") == "IDEMPOTENCY_KEY_REUSED", "got %d %s", other.Status, other.Body); err != nil {
		return err
	}
	return r.finish()
}

func deliberateRepeat(r *runner) error {
	for _, suffix := range []string{"-a", "-b"} {
		a, err := r.place(r.prefix+suffix, orderBody(1))
		if err != nil {
			return err
		}
		if err := expect(a.Status == http.StatusCreated && !a.Replayed, "got %d %s", a.Status, a.Body); err != nil {
			return err
		}
	}
	r.result.Sent, r.result.Absorbed = "2 equal requests with two keys", "nothing: two purchases were meant"
	return r.finish()
}

package drills

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// runner is one drill's run: its keys share a prefix and its orders are counted at the end.
type runner struct {
	Shop
	ctx    context.Context //nolint:containedctx // a run is one call
	prefix string
	orders []string
	posts  atomic.Int32 // orders that were asked for, also those that nobody answered
	result Result
}

type answer struct {
	Status   int
	Replayed bool
	Body     []byte
}

func (a answer) field(name string) string {
	var all map[string]any
	_ = json.Unmarshal(a.Body, &all)
	text, _ := all[name].(string)
	return text
}

const product = "lumen-notes"

func orderBody(quantity int) string {
	return fmt.Sprintf(`{"items":[{"productId":%q,"quantity":%d}],"currency":"RUB"}`, product, quantity)
}

// place sends one POST /api/orders. The order it is about is counted at the end.
func (r *runner) place(key, body string) (answer, error) {
	a, err := r.api(http.MethodPost, "/api/orders", key, body)
	if id := a.field("orderId"); err == nil && id != "" {
		r.know(id)
	}
	return a, err
}

func (r *runner) know(id string) {
	if slices.Contains(r.orders, id) {
		return
	}
	r.orders = append(r.orders, id)
}

func (r *runner) api(method, path, key, body string) (answer, error) {
	header := http.Header{"Authorization": {"Bearer " + r.Token}, "Content-Type": {"application/json"}}
	if key != "" {
		header.Set("Idempotency-Key", key)
		r.posts.Add(1)
	}
	return r.send(method, r.Web+path, header, body)
}

func (r *runner) control(method, path string, body any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("write control call: %w", err)
	}
	a, err := r.send(method, r.Sim+path, http.Header{"Content-Type": {"application/json"}}, string(raw))
	if err == nil && a.Status >= http.StatusBadRequest {
		err = fmt.Errorf("simulator refused %s: %s", path, a.Body)
	}
	return err
}

func (r *runner) send(method, url string, header http.Header, body string) (answer, error) {
	request, err := http.NewRequestWithContext(r.ctx, method, url, bytes.NewBufferString(body))
	if err != nil {
		return answer{}, fmt.Errorf("make request: %w", err)
	}
	request.Header = header
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return answer{}, fmt.Errorf("send request: %w", err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, fmt.Errorf("read answer: %w", err)
	}
	a := answer{Status: response.StatusCode, Replayed: response.Header.Get("Idempotent-Replayed") == "true", Body: raw}
	r.say(method, request.URL.Path, a)
	return a, nil
}

// say tells whoever watches of a call, without IDs, so that equal ones can be counted.
func (r *runner) say(method, path string, a answer) {
	if r.Watch == nil {
		return
	}
	if i := strings.IndexFunc(path, func(c rune) bool { return c >= '0' && c <= '9' }); i > len("/v1") {
		path = path[:strings.LastIndex(path[:i], "/")+1] + "…"
	}
	words := fmt.Sprintf("%s %s → %d", method, path, a.Status)
	switch code := a.field("code"); {
	case a.Replayed:
		words += " replayed"
	case code != "":
		words += " " + code
	}
	r.Watch(words)
}

var errDeadline = errors.New("did not come in time")

// await asks until what is true; the drill's own limit ends it.
func (r *runner) await(what string, ask func() (bool, error)) error {
	if r.Watch != nil {
		r.Watch("wait for " + what)
	}
	pause := time.NewTicker(50 * time.Millisecond)
	defer pause.Stop()
	for {
		done, err := ask()
		if err != nil && r.ctx.Err() == nil {
			return err
		}
		if done {
			return nil
		}
		select {
		case <-r.ctx.Done():
			return fmt.Errorf("%s %w", what, errDeadline)
		case <-pause.C:
		}
	}
}

// payable waits for an order's payment to exist at the provider and returns the provider's ID of it.
func (r *runner) payable(orderID string) (id string, err error) {
	err = r.await("the payment at the provider", func() (bool, error) {
		err := r.DB.QueryRow(r.ctx, `SELECT coalesce(provider_payment_id, '') FROM payments WHERE order_id = $1 AND status IN ('PENDING','SUCCEEDED')
			UNION ALL SELECT '' LIMIT 1`, orderID).Scan(&id)
		return id != "", err
	})
	return id, err
}

// pay lets the provider's shopper pay an order.
func (r *runner) pay(orderID string) error {
	id, err := r.payable(orderID)
	if err != nil {
		return err
	}
	return r.control(http.MethodPost, "/control/payments/"+id+"/succeed", nil)
}

func (r *runner) fulfilled(orderID string) error {
	return r.await("FULFILLED", func() (bool, error) {
		var status string
		err := r.DB.QueryRow(r.ctx, `SELECT status FROM orders WHERE id = $1`, orderID).Scan(&status)
		return status == "FULFILLED", err
	})
}

// count counts what exists for the drill's orders: ours from the database, charges and mails from the provider's ledger.
func (r *runner) count() (Counts, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), 5*time.Second)
	defer cancel()
	var c Counts
	var payments []string
	err := r.DB.QueryRow(ctx, `WITH mine AS (SELECT o.id FROM orders o JOIN operations p ON p.id = o.operation_id WHERE p.key LIKE $1 || '%')
		SELECT (SELECT count(*) FROM mine), (SELECT count(*) FROM licenses WHERE order_id IN (TABLE mine)),
			(SELECT count(*) FROM bonus_entries WHERE order_id IN (TABLE mine)),
			ARRAY(SELECT id::text FROM payments WHERE order_id IN (TABLE mine)),
			(SELECT coalesce(sum(sends), 0) FROM notifications WHERE sent_at IS NOT NULL AND order_id IN (TABLE mine))`, r.prefix).
		Scan(&c.Orders, &c.Licenses, &c.Bonuses, &payments, &c.Mails)
	if err != nil {
		return c, fmt.Errorf("count: %w", err)
	}
	for _, reference := range payments {
		n, err := r.charges(ctx, reference)
		if err != nil {
			return c, err
		}
		c.Charges += n
	}
	return c, nil
}

// charges asks the provider how many payments with our reference succeeded there.
func (r *runner) charges(ctx context.Context, reference string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.Sim+"/v1/payments?reference="+reference, nil)
	if err != nil {
		return 0, fmt.Errorf("make request: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, fmt.Errorf("ask provider: %w", err)
	}
	defer response.Body.Close()
	var list struct {
		Items []struct{ Status string }
	}
	if err := json.NewDecoder(response.Body).Decode(&list); err != nil {
		return 0, fmt.Errorf("read provider's answer: %w", err)
	}
	n := 0
	for _, p := range list.Items {
		if p.Status == "succeeded" {
			n++
		}
	}
	return n, nil
}

//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// purchase is one shopper with one intent to buy, and what becomes of it. Its dice decides what the shopper does; where the network
// cuts, nobody knows.
type purchase struct {
	*soak
	i     int
	dice  *rand.Rand
	buyer buyer
	order seen
	paid  bool
}

// seen is an order as its shopper sees it.
type seen struct {
	order
	Fulfilment []effectSeen
}

type effectSeen struct{ Type, Status string }

// errGaveUp: the outcome isn't known yet, and nobody says that it is.
var errGaveUp = errors.New("gave up")

func (p *purchase) chance(percent int) bool { return p.dice.IntN(100) < percent }

func (p *purchase) live() error {
	if err := p.place(); err != nil {
		return err
	}
	if p.chance(4) {
		_, err := p.command("/cancel", p.buyer.token, nil) // before or after the provider heard of the payment
		if err != nil {
			return err
		}
	}
	for range 30 {
		stays, err := p.pay()
		if err != nil || stays {
			return err
		}
		if p.paid {
			return p.afterwards()
		}
	}
	return fmt.Errorf("never decided: %+v", p.order)
}

// place sends the order until there is an answer, perhaps twice at once, perhaps once more later, perhaps with other content.
func (p *purchase) place() error {
	w := map[string]any{"currency": "RUB"}
	items := []item{{license, 1 + p.dice.IntN(3)}}
	if kind := p.dice.IntN(4); kind < 2 {
		if kind == 0 {
			items = nil
		}
		items = append(items, item{mug, 1 + p.dice.IntN(12)})
		w["delivery"] = map[string]any{"method": "standard", "address": map[string]string{
			"name": "Ann", "line1": strconv.Itoa(p.i) + " Road", "city": "Town", "postcode": "1000", "country": "DE",
		}}
	}
	w["items"] = items
	key := "soak-" + strconv.FormatUint(p.seed, 10) + "-" + strconv.Itoa(p.i)
	a, err := p.insist("/orders", p.buyer.token, key, w, p.chance(20))
	if err != nil {
		return err
	}
	if a.status != 201 {
		return fmt.Errorf("place: %s", a)
	}
	if err := json.Unmarshal(a.body, &p.order); err != nil {
		return err
	}
	p.orders[p.i] = p.order.OrderID
	if p.chance(10) {
		if again, err := p.insist("/orders", p.buyer.token, key, w, false); err != nil || !bytes.Equal(again.body, a.body) || again.status != 201 {
			return fmt.Errorf("replay: %w, %s instead of %s", err, again, a)
		}
	}
	if p.chance(5) {
		w["items"] = []item{{other, 1}}
		if reused, err := p.insist("/orders", p.buyer.token, key, w, false); err != nil || reused.code() != "IDEMPOTENCY_KEY_REUSED" {
			return fmt.Errorf("other content: %w, %s", err, reused)
		}
		p.reused.Add(1)
	}
	return nil
}

// pay brings one attempt to its end; stays says that the shopper leaves it at that.
func (p *purchase) pay() (stays bool, err error) {
	err = p.until(func() bool {
		switch p.order.last().Status {
		case "CREATED", "SUBMITTING", "UNKNOWN":
			return p.order.Status != "AWAITING_PAYMENT"
		}
		return true
	})
	if err != nil || p.order.Status == "CANCELED" {
		return true, err
	}
	last := p.order.last()
	if last.Status == "FAILED" || last.Status == "CANCELED" {
		if p.chance(8) {
			return true, nil // unpaid, and everybody knows
		}
		a, err := p.command("/payments", p.buyer.token, nil)
		if a.status == 409 {
			time.Sleep(time.Second) // something of ours is still under way
		}
		return a.code() == "PAYMENT_UNRESOLVED", err // a false event put it under review: a person looks first
	}
	switch d := p.dice.IntN(100); {
	case d < 5: // walks away
		return true, nil
	case d < 9: // changes the mind
		_, err = p.command("/cancel", p.buyer.token, nil)
		return true, err
	case d < 12: // pays and cancels at the same time
		decided := make(chan error)
		go func() { decided <- p.decide(last.ProviderPaymentID, "succeed") }()
		_, err = p.command("/cancel", p.buyer.token, nil)
		err = errors.Join(err, <-decided)
	case d < 20:
		err = p.decide(last.ProviderPaymentID, "cancel")
	default:
		err = p.decide(last.ProviderPaymentID, "succeed")
	}
	if err == nil { // until what was decided has arrived
		err = p.until(func() bool { return p.order.Status != "AWAITING_PAYMENT" || p.order.last().Status != "PENDING" })
	}
	p.paid = p.order.Status != "AWAITING_PAYMENT" && p.order.Status != "CANCELED"
	return p.order.Status == "CANCELED", err
}

// afterwards waits for the goods. What the carrier refuses, and now and then what was fine, is paid back by an operator.
func (p *purchase) afterwards() error {
	err := p.until(func() bool {
		return len(p.order.Fulfilment) > 0 && !slices.ContainsFunc(p.order.Fulfilment, func(e effectSeen) bool { return e.Status == "PROCESSING" })
	})
	if err != nil {
		return err
	}
	refused := slices.ContainsFunc(p.order.Fulfilment, func(e effectSeen) bool { return e.Type == "SHIP_PARCEL" && e.Status == "FAILED" })
	switch {
	case refused || p.chance(4):
		return p.refundAll()
	case p.chance(4):
		_, err = p.command("/refunds", p.operator, map[string]any{"amount": map[string]string{"amount": "1.00", "currency": "RUB"}, "reason": "a scratch"})
	}
	return err
}

// refundAll asks again under a new key only after a refusal that is certain.
func (p *purchase) refundAll() error {
	for range 12 {
		a, err := p.command("/refunds", p.operator, map[string]any{"reason": "asked for"})
		if err != nil || a.status != 202 {
			return err
		}
		var failed bool
		var made struct{ RefundID string }
		if err := json.Unmarshal(a.body, &made); err != nil {
			return err
		}
		err = p.untilDone(func() (bool, error) {
			status := ""
			err := p.db.QueryRow(p.t.Context(), `SELECT status FROM refunds WHERE id = $1`, made.RefundID).Scan(&status)
			failed = status == "FAILED"
			return failed || status == "SUCCEEDED", err
		})
		if err != nil || !failed {
			return err
		}
	}
	return fmt.Errorf("no refund came through")
}

// command sends a command about the order with a new key; what it answers is final.
func (p *purchase) command(path, token string, body any) (answer, error) {
	a, err := p.insist("/orders/"+p.order.OrderID.String()+path, token, newKey(), body, p.chance(20))
	if err == nil && a.status >= 400 && a.status != 409 && a.status != 422 {
		err = fmt.Errorf("%s: %s", path, a)
	}
	return a, err
}

// insist does what the README tells a client: without a final answer the same request again, with the same key. twice sends it at
// the same time to both web processes, as a double click does.
func (p *purchase) insist(path, token, key string, body any, twice bool) (answer, error) {
	if !twice {
		return p.again(0, path, token, key, body)
	}
	p.doubled.Add(1)
	var twin answer
	var twinErr error
	done := make(chan struct{})
	go func() {
		defer close(done)
		twin, twinErr = p.again(1, path, token, key, body)
	}()
	a, err := p.again(0, path, token, key, body)
	<-done
	if err != nil || twinErr != nil {
		return a, fmt.Errorf("twins: %w, %w", err, twinErr)
	}
	if (a.status < 300 || twin.status < 300) && (a.status != twin.status || !bytes.Equal(a.body, twin.body)) {
		return a, fmt.Errorf("twins differ: %s and %s", a, twin)
	}
	return a, nil
}

func (p *purchase) again(web int, path, token, key string, body any) (answer, error) {
	content, err := json.Marshal(body)
	if err != nil {
		return answer{}, err
	}
	var a answer
	for deadline := time.Now().Add(soakPatience); time.Now().Before(deadline); web++ {
		limit := 30 * time.Second
		if rand.IntN(10) == 0 {
			limit = time.Duration(rand.IntN(40)) * time.Millisecond // the answer is lost, or the request
			p.cut.Add(1)
		}
		a, err = p.exchange("POST", p.api(web%2, path), token, key, content, limit)
		if err == nil && a.status < 500 && a.status != 429 && a.code() != "OPERATION_IN_PROGRESS" {
			if a.replayed() {
				p.replays.Add(1)
			}
			return a, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	if err == nil && a.code() == "OPERATION_IN_PROGRESS" {
		return a, errGaveUp
	}
	return a, fmt.Errorf("no answer in %s: %w, %s", soakPatience, err, a)
}

func (p *purchase) exchange(method, url, token, key string, body []byte, limit time.Duration) (answer, error) {
	ctx, cancel := context.WithTimeout(p.t.Context(), limit)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	p.requests.Add(1)
	response, err := p.crowd.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	return answer{status: response.StatusCode, header: response.Header, body: data}, err
}

// decide is the payer at the provider. That it was decided before is an answer, too.
func (p *purchase) decide(paymentID, decision string) error {
	a, err := p.exchange("POST", p.sim.base+"/control/payments/"+paymentID+"/"+decision, "", "", nil, time.Minute)
	if err == nil && a.status != 200 && a.status != 409 {
		err = fmt.Errorf("decide: %s", a)
	}
	return err
}

// until looks at the order, ever more seldom, until ok.
func (p *purchase) until(ok func() bool) error {
	return p.untilDone(func() (bool, error) {
		a, err := p.exchange("GET", p.api(p.i%2, "/orders/"+p.order.OrderID.String()), p.buyer.token, "", nil, 30*time.Second)
		if err != nil || a.status != 200 {
			return false, nil //nolint:nilerr // no answer says nothing: again
		}
		var now seen
		if err := json.Unmarshal(a.body, &now); err != nil {
			return false, err
		}
		p.order = now
		return ok(), nil
	})
}

func (p *purchase) untilDone(ok func() (bool, error)) error {
	pause := 100 * time.Millisecond
	for deadline := time.Now().Add(soakPatience); time.Now().Before(deadline); time.Sleep(pause) {
		if done, err := ok(); done || err != nil {
			return err
		}
		pause = min(pause*3/2, 3*time.Second)
	}
	return fmt.Errorf("%w after %s: %+v", errGaveUp, soakPatience, p.order)
}

//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// CASES C01: the key alone is no identity.
func TestC01KeyBelongsToUserOperationAndTarget(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 1)
	key := newKey()
	mine := s.place(s.ann, key, one(license))
	require.Equal(t, 201, mine.status, "%s", mine)
	theirs := s.place(s.bob, key, one(other))
	require.Equal(t, 201, theirs.status, "%s", theirs)
	require.False(t, theirs.replayed())
	require.NotContains(t, string(theirs.body), decode[order](t, mine).OrderID.String())

	o := s.untilPayment(decode[order](t, mine), "PENDING")
	s.sim.decide(o.last().ProviderPaymentID, "cancel")
	s.untilPayment(o, "CANCELED")
	retry := s.must("POST", s.api(0, "/orders/"+o.OrderID.String()+"/payments"), s.ann.token, key, nil)
	require.Equal(t, 202, retry.status, "%s", retry)
	require.Contains(t, retry.header.Get("Location"), "/api/payments/")
	require.NotContains(t, string(retry.body), `"items"`, "never an order's body")

	foreign := s.must("POST", s.api(0, "/orders/"+o.OrderID.String()+"/payments"), s.bob.token, newKey(), nil)
	require.Equal(t, 404, foreign.status, "%s", foreign)
	require.Equal(t, 404, s.must("GET", s.api(0, "/orders/"+o.OrderID.String()), s.bob.token, "", nil).status)
	s.assertClean(0)
}

func TestC01KeysThatAreNoneLeaveNoRow(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 1)
	send := func(header ...string) answer {
		w := postOrder(t, s.addrs[0], one(license), append([]string{bearer(s.ann)}, header...)...)
		require.NoError(t, w.finish())
		a, err := w.answer()
		require.NoError(t, err)
		return a
	}
	for name, c := range map[string]struct {
		header []string
		code   string
	}{
		"none":            {nil, "IDEMPOTENCY_KEY_MISSING"},
		"empty":           {[]string{"Idempotency-Key:"}, "IDEMPOTENCY_KEY_MISSING|IDEMPOTENCY_KEY_INVALID"},
		"only spaces":     {[]string{"Idempotency-Key:    "}, "IDEMPOTENCY_KEY_MISSING|IDEMPOTENCY_KEY_INVALID"},
		"256 characters":  {[]string{keyed(strings.Repeat("k", 256))}, "IDEMPOTENCY_KEY_INVALID"},
		"NUL":             {[]string{keyed("a\x00b")}, "IDEMPOTENCY_KEY_INVALID|BAD_REQUEST"},
		"TAB":             {[]string{keyed("a\tb")}, "IDEMPOTENCY_KEY_INVALID"},
		"a space":         {[]string{keyed("a b")}, "IDEMPOTENCY_KEY_INVALID"},
		"e-acute":         {[]string{keyed("é")}, "IDEMPOTENCY_KEY_INVALID"},
		"two lines":       {[]string{keyed("K"), keyed("K2")}, "IDEMPOTENCY_KEY_INVALID"},
		"two equal lines": {[]string{keyed("K"), keyed("K")}, "IDEMPOTENCY_KEY_INVALID"},
	} {
		a := send(c.header...)
		require.Equal(t, 400, a.status, "%s: %s", name, a)
		require.Contains(t, strings.Split(c.code, "|"), a.code(), "%s: %s", name, a)
	}
	require.Zero(t, s.count(`SELECT (SELECT count(*) FROM operations) + (SELECT count(*) FROM orders)`))

	first := send(keyed("Case-Matters"))
	require.Equal(t, 201, first.status, "%s", first)
	requireReplay(t, first, send("Idempotency-Key:   Case-Matters  "))
	requireReplay(t, first, send(keyed(`"Case-Matters"`))) // a quoted Structured-Field string means its content
	letters := send(keyed("case-matters"))
	require.Equal(t, 201, letters.status, "%s", letters)
	require.False(t, letters.replayed())
	long := send(keyed(strings.Repeat("k", 255)))
	require.Equal(t, 201, long.status, "%s", long)
	require.Equal(t, 3, s.count(`SELECT count(*) FROM orders`))
	s.assertClean(0)
}

// CASES C04 a, c, d: what is kept with a key, and what binds nothing to it.
func TestC04WhatAKeyRemembers(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 1)
	t.Run("a: status, body, Location and type are repeated, transport headers are not", func(t *testing.T) {
		key := newKey()
		first := s.place(s.ann, key, one(license))
		again := s.place(s.ann, key, one(license))
		requireReplay(t, first, again)
		require.NotEqual(t, first.header.Get("Trace-Id"), again.header.Get("Trace-Id"), "each answer has its own trace")
		require.Empty(t, again.header.Values("Set-Cookie"))
		require.Len(t, again.header.Values("Date"), 1)
	})
	for name, c := range map[string]struct {
		token  string
		body   any
		status int
	}{
		"c: broken rule":     {s.ann.token, wish{Items: []item{{license, 0}}, Currency: "RUB"}, 422},
		"c: unknown product": {s.ann.token, one("no-such-thing"), 422},
		"c: unreadable body": {s.ann.token, []byte(`{"items":`), 400},
		"d: no session":      {"", one(license), 401},
		"d: unknown token":   {"of_unknown", one(license), 401},
		"too large":          {s.ann.token, []byte(`{"items":"` + strings.Repeat("x", 300<<10) + `"}`), 413},
	} {
		t.Run(name+" binds nothing", func(t *testing.T) {
			key := newKey()
			refused := s.must("POST", s.api(0, "/orders"), c.token, key, c.body)
			require.Equal(t, c.status, refused.status, "%s", refused)
			require.Zero(t, s.count(`SELECT count(*) FROM operations WHERE key = $1`, key))
			fixed := s.place(s.ann, key, one(license))
			require.Equal(t, 201, fixed.status, "%s", fixed)
			require.False(t, fixed.replayed())
		})
	}
	s.assertClean(0)
}

// A final business refusal is a result: it replays although the reason is gone.
func TestBusinessRefusalReplays(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 1)
	s.product("last", "last", 100)
	s.exec(`UPDATE products SET on_hand = 0 WHERE id = 'last'`)
	key := newKey()
	first := s.place(s.ann, key, one("last"))
	require.Equal(t, 409, first.status, "%s", first)
	require.Equal(t, "OUT_OF_STOCK", first.code())
	s.exec(`UPDATE products SET on_hand = 5 WHERE id = 'last'`)
	again := s.place(s.ann, key, one("last"))
	require.Equal(t, string(first.body), string(again.body))
	require.Equal(t, 409, again.status)
	require.True(t, again.replayed())
	require.Equal(t, 201, s.place(s.ann, newKey(), one("last")).status)
	s.assertClean(0)
}

// CASES C04 b: an answer of more than a megabyte is kept whole.
func TestC04bLargeAnswerIsReplayedWhole(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 1)
	var w wish
	w.Currency = "RUB"
	for i := range 500 {
		id := fmt.Sprintf("bulk-%03d", i)
		s.product(id, id+strings.Repeat("<", 400), 100+i) // six bytes each in JSON, one in the mail
		w.Items = append(w.Items, item{id, 1 + i%3})
	}
	key := newKey()
	first := s.place(s.ann, key, w)
	require.Equal(t, 201, first.status, "%s", tail(first.String()))
	require.Greater(t, len(first.body), 1<<20)
	again := s.place(s.ann, key, w)
	require.True(t, string(first.body) == string(again.body) && again.replayed(), "the replay differs")
	require.Equal(t, 1, s.count(`SELECT count(*) FROM orders`))
	o := s.pay(decode[order](t, first))
	s.until(o, "FULFILLED")
	s.assertClean(0)
}

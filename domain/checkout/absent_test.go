package checkout_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"onefold/domain/payment/paymenttest"
)

// look lets the next try of everything happen, as if its time had come.
func (c *counter) look(t *testing.T) {
	t.Helper()
	paymenttest.MakeDue(t, c.db)
	c.carryOn(t)
}

func TestC14d_NothingBookedEndsOnlyByProof(t *testing.T) {
	t.Parallel()
	c := withProvider(t)
	c.control(t, "/control/faults", `{"on":"payments.create","do":"error_sticky","times":0}`)
	id := c.pending(t, "k")
	for range 5 {
		_, p, _ := c.states(t, id)
		require.Equal(t, "UNKNOWN", p, "young: not found proves nothing")
		_, err := c.desk.Retry(t.Context(), c.user, id, "x")
		require.Equal(t, "PAYMENT_UNRESOLVED", code(t, err))
		c.look(t)
	}
	c.executor.ConclusiveAfter = time.Nanosecond // the last send is old now
	c.look(t)
	o, p, review := c.states(t, id)
	require.Equal(t, []string{"AWAITING_PAYMENT", "FAILED"}, []string{o, p})
	require.False(t, review)

	c.control(t, "/control/reset", "")
	out, err := c.desk.Retry(t.Context(), c.user, id, "x")
	require.NoError(t, err)
	require.Equal(t, 202, out.Result.Code)
	c.carryOn(t)
	_, p, _ = c.states(t, id)
	require.Equal(t, "PENDING", p)
	require.Equal(t, 2, paymenttest.Count(t, c.db, `SELECT count(DISTINCT provider_key) FROM payments WHERE order_id = $1`, id))
}

// Lookups that fail in between prove nothing, neither way: they make nobody wait for ever.
func TestAFailedLookupDoesNotBeginTheProofAgain(t *testing.T) {
	t.Parallel()
	c := withProvider(t)
	c.executor.ConclusiveAfter = time.Nanosecond
	c.control(t, "/control/faults", `{"on":"payments.create","do":"error_before","times":0}`)
	id := c.pending(t, "k")
	for range 3 {
		c.look(t) // nothing there
		_, p, _ := c.states(t, id)
		require.Equal(t, "UNKNOWN", p)
		c.control(t, "/control/faults", `{"on":"payments.get","do":"error_before","times":1}`)
		c.look(t) // no answer
		_, p, _ = c.states(t, id)
		require.Equal(t, "UNKNOWN", p)
	}
	c.look(t)
	_, p, _ := c.states(t, id)
	require.Equal(t, "FAILED", p)
}

func TestC14c_BookedBehindAStickyErrorIsFound(t *testing.T) {
	t.Parallel()
	c := withProvider(t)
	c.executor.ConclusiveAfter = time.Nanosecond
	c.control(t, "/control/faults", `{"on":"payments.create","do":"error_sticky","times":0,"booked":true}`)
	c.control(t, "/control/faults", `{"on":"payments.get","do":"not_found","times":2}`)
	id := c.pending(t, "k")
	for range 3 {
		_, p, _ := c.states(t, id)
		require.Equal(t, "UNKNOWN", p)
		c.look(t)
	}
	_, p, _ := c.states(t, id)
	require.Equal(t, "PENDING", p, "a lookup that lied twice is not proof")
	require.Equal(t, 1, paymenttest.Count(t, c.db, `SELECT count(DISTINCT provider_payment_id) FROM payments WHERE order_id = $1`, id))
}

package web_test

import (
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// together sends the same thing n times at one barrier.
func together(t *testing.T, n int, send func(i int) (answer, error)) []answer {
	t.Helper()
	answers, failures := make([]answer, n), make([]error, n)
	barrier := make(chan struct{})
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			<-barrier
			answers[i], failures[i] = send(i)
		})
	}
	close(barrier)
	group.Wait()
	for _, err := range failures {
		require.NoError(t, err)
	}
	return answers
}

// C09: losing the race for a key is an ordinary answer.
func TestFortyEqualRequestsAtOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	token := s.shopper()
	s.listen()
	for _, key := range []string{"round-1", "round-2", "round-3"} {
		place := func(int) (answer, error) {
			return s.try(http.MethodPost, "/api/orders", pixel, "Authorization", "Bearer "+token, "Idempotency-Key", key)
		}
		var first *answer
		var replays []answer
		for _, a := range together(t, 40, place) {
			switch {
			case a.Status == http.StatusCreated && a.Header.Get("Idempotent-Replayed") == "":
				require.Nil(t, first, "one makes it")
				first = &a
			case a.Status == http.StatusCreated:
				replays = append(replays, a)
			default:
				a.refused(t, http.StatusConflict, "OPERATION_IN_PROGRESS")
			}
		}
		require.NotNil(t, first)
		for _, a := range replays {
			a.replays(t, *first)
		}
		for _, a := range together(t, 40, place) {
			a.replays(t, *first)
		}
	}
	require.Equal(t, 3, s.orders())
	require.Equal(t, 3, s.count(`SELECT reserved FROM products WHERE id = 'pixel-orchard'`))
}

func TestManyShoppersAndTheLastOne(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.exec(`UPDATE products SET on_hand = 1 WHERE id = 'ink-and-iron'`)
	tokens := make([]string, 20)
	for i := range tokens {
		tokens[i] = s.shopper()
	}
	s.listen()
	won := 0
	for _, a := range together(t, len(tokens), func(i int) (answer, error) {
		return s.try(http.MethodPost, "/api/orders", basket(item("ink-and-iron", 1)), "Authorization", "Bearer "+tokens[i], "Idempotency-Key", "k")
	}) {
		if a.Status == http.StatusCreated {
			won++
			continue
		}
		a.refused(t, http.StatusConflict, "OUT_OF_STOCK")
	}
	require.Equal(t, 1, won)
	require.Equal(t, 1, s.orders())
}

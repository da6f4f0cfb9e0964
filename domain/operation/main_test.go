package operation_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"onefold/domain/operation"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/store"
	"onefold/domain/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

func runner(db store.DB) *operation.Runner {
	return &operation.Runner{DB: db, Retention: 720 * time.Hour, Wait: time.Second}
}

func claimOf(key, content string) operation.Claim {
	return operation.Claim{Identity: operation.Identity{User: uuid.NameSpaceDNS, Type: "TEST", Key: key}, Fingerprint: content, Final: []string{"SOLD_OUT"}}
}

// effect is work whose every committed execution leaves one row.
func effect(tx pgx.Tx, _ *operation.Running) (operation.Result, error) {
	_, err := tx.Exec(context.Background(), `INSERT INTO journal (kind, trace_id) VALUES ('test.effect', 'x')`)
	id := uuid.NewString() // differs per execution: only a replay answers the same
	return operation.Result{ResourceType: "thing", ResourceID: id, Code: 201, Body: `{"id":"` + id + `"}`}, err
}

func effects(t *testing.T, db store.Querier) int {
	t.Helper()
	return paymenttest.Count(t, db, `SELECT count(*) FROM journal WHERE kind = 'test.effect'`)
}

func rows(t *testing.T, db store.Querier) int {
	t.Helper()
	return paymenttest.Count(t, db, `SELECT count(*) FROM operations`)
}

// together runs fn n times at one barrier.
func together(n int, fn func(i int)) {
	var done sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		done.Go(func() {
			<-start
			fn(i)
		})
	}
	close(start)
	done.Wait()
}

// blocked waits until n sessions of this database wait for a lock.
func blocked(t *testing.T, db store.Querier, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		return paymenttest.Count(t, db, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) >= n
	}, 5*time.Second, 2*time.Millisecond, "nobody waits for a lock")
}

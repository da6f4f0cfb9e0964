package simulator_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"onefold/domain/money"
	"onefold/domain/provider"
	"onefold/domain/provider/sim"
	"onefold/domain/provider/simulator"
)

const childFile = "SIMULATOR_TEST_CHILD_FILE"

// runIfChild turns this process into a simulator that the crash test kills.
func runIfChild() {
	file := os.Getenv(childFile)
	if file == "" {
		return
	}
	server, err := simulator.Open(simulator.Config{DataFile: file, WebhookURL: os.Getenv("SHOP"), Secret: secret, PublicURL: "http://sim.test"})
	if err != nil {
		panic(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println("http://" + l.Addr().String())
	go server.Run(context.Background())
	panic(http.Serve(l, server.Handler()))
}

// TestKilledWhileWorking: whoever got an answer finds the payment in the ledger after kill -9, and every event arrives.
func TestKilledWhileWorking(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	file := filepath.Join(t.TempDir(), "sim.db")
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	child.Env = append(os.Environ(), childFile+"="+file, "SHOP="+s.web.URL)
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	base, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)

	client := sim.New(sim.Config{BaseURL: strings.TrimSpace(base), Timeout: 2 * time.Second})
	var mu sync.Mutex
	known := map[string]string{} // reference → ID
	var next atomic.Int64
	var killed atomic.Bool
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for !killed.Load() {
				name := fmt.Sprint("k", next.Add(1))
				made, err := client.CreatePayment(context.Background(), provider.CreatePayment{
					Key: name, Reference: name, Amount: money.Amount{Minor: 100, Currency: "RUB"}, ReturnURL: "http://shop.test/",
				})
				if err != nil {
					time.Sleep(10 * time.Millisecond)
					continue
				}
				mu.Lock()
				known[name] = made.ID
				mu.Unlock()
			}
		})
	}
	require.Eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(known) > 50
	}, 30*time.Second, time.Millisecond)
	require.NoError(t, child.Process.Kill())
	killed.Store(true)
	wg.Wait()
	_ = child.Wait()

	r := &rig{t: t, file: file, shop: s}
	r.open()
	t.Cleanup(r.close)
	stored := map[string]string{}
	for _, p := range r.ledger().Payments {
		require.NotContains(t, stored, p["reference"])
		stored[p["reference"].(string)] = p["id"].(string)
	}
	for name, id := range known {
		require.Equal(t, id, stored[name])
	}
	require.Eventually(t, func() bool {
		told := map[any]bool{}
		for _, h := range s.hooks() {
			told[h.Object["id"]] = true
		}
		return len(told) == len(stored)
	}, 10*time.Second, 20*time.Millisecond, "every payment's event arrives")
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"onefold/domain/account"
	"onefold/domain/console"
	"onefold/domain/store"
)

// visit is one page or search of the console, with addresses that take turns.
type visit struct {
	name      string
	addresses []string
	took      []time.Duration
}

// measureConsole asks every page of the console, as an admin, one after the other, and prints how long each took. The database
// should have been filled by `onefold seed`; what it holds isn't changed but for one new user.
func measureConsole(ctx context.Context, binary, database string, times int) error {
	pool, err := store.Open(ctx, database, store.Options{MaxConns: 2, Name: "bench"})
	if err != nil {
		return err
	}
	defer pool.Close()
	browser, stop, err := enter(ctx, binary, database, pool)
	if err != nil {
		return err
	}
	defer stop()
	visits, err := consoleVisits(ctx, pool)
	if err != nil {
		return err
	}
	for n := range times + 1 {
		for i := range visits {
			v := &visits[i]
			took, err := browser.get(ctx, v.addresses[n%len(v.addresses)])
			if err != nil {
				return fmt.Errorf("%s: %w", v.name, err)
			}
			if n > 0 { // the first prepares statements
				v.took = append(v.took, took)
			}
		}
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "\n%d times, ms\tmedian\t95 %%\tmost\t\n", times)
	for _, v := range visits {
		slices.Sort(v.took)
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t\n", v.name, ms(v.took[len(v.took)/2]), ms(v.took[len(v.took)*95/100]), ms(v.took[len(v.took)-1]))
	}
	return w.Flush()
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d.Microseconds())/1000) }

// consoleVisits samples IDs at random places of the tables.
func consoleVisits(ctx context.Context, pool *pgxpool.Pool) ([]visit, error) {
	list := []visit{}
	page := func(name string, addresses ...string) { list = append(list, visit{name: name, addresses: addresses}) }
	for _, address := range []string{
		"", "/operations", "/payments", "/inbox", "/outbox", "/reconcile", "/batches", "/audit", "/alarms", "/drills", "/prefs", "/views",
		"/retention", "/users", "/help", "/operations?state=FAILED", "/operations?type=CREATE_PAYMENT", "/orders", "/orders?state=EXPIRED", "/orders?state=REFUNDED", "/payments?state=SUCCEEDED", "/payments?state=CANCELED", "/inbox?state=APPLIED", "/inbox?state=STALE",
		"?range=7d",
	} {
		page("/console"+address, "/console"+address)
	}
	for _, queue := range console.QueueNames() {
		page("/console/work/"+queue, "/console/work/"+queue)
	}
	for _, kind := range []struct{ name, table, column, page string }{
		{"order", "orders", "id::text", "/console/intents/"},
		{"order's number", "orders", "number::text", ""},
		{"operation", "operations", "id::text", ""},
		{"idempotency key", "operations", "key", ""},
		{"trace", "operations", "trace_id", ""},
		{"payment", "payments", "id::text", ""},
		{"provider's payment", "payments", "coalesce(provider_payment_id, id::text)", ""},
		{"provider's event", "incoming_events", "event_id", ""},
	} {
		ids, err := sample(ctx, pool, kind.table, kind.column)
		if err != nil {
			return nil, err
		}
		var searches, pages []string
		for _, id := range ids {
			searches = append(searches, "/console/search?q="+url.QueryEscape(id))
			pages = append(pages, kind.page+id)
		}
		page("search by "+kind.name, searches...)
		if kind.page != "" {
			page(kind.page+"…", pages...)
		}
	}
	page("search for nothing", "/console/search?q="+uuid.NewString(), "/console/search?q=nothing-like-this")
	return list, nil
}

func sample(ctx context.Context, pool *pgxpool.Pool, table, column string) ([]string, error) {
	rows, err := pool.Query(ctx, fmt.Sprintf(`SELECT %s FROM %s TABLESAMPLE SYSTEM (0.1) ORDER BY random() LIMIT 40`, column, table))
	if err != nil {
		return nil, fmt.Errorf("sample %s: %w", table, err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err == nil && len(ids) == 0 {
		err = errors.New("too few rows: fill the database with onefold seed")
	}
	if err != nil {
		return nil, fmt.Errorf("sample %s: %w", table, err)
	}
	return ids, nil
}

type browser struct {
	http.Client
	base string
}

func (b *browser) get(ctx context.Context, path string) (time.Duration, error) {
	start := time.Now()
	status, _, err := b.do(ctx, http.MethodGet, path, nil)
	if err == nil && status != http.StatusOK && status != http.StatusSeeOther {
		err = fmt.Errorf("GET %s: %d", path, status)
	}
	return time.Since(start), err
}

func (b *browser) do(ctx context.Context, method, path string, form url.Values) (status int, body string, err error) {
	request, err := http.NewRequestWithContext(ctx, method, b.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		return 0, "", fmt.Errorf("make request: %w", err)
	}
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	answer, err := b.Do(request)
	if err != nil {
		return 0, "", fmt.Errorf("ask: %w", err)
	}
	defer answer.Body.Close()
	all, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, "", fmt.Errorf("read answer: %w", err)
	}
	return answer.StatusCode, string(all), nil
}

// enter starts a web process and signs in.
func enter(ctx context.Context, binary, database string, pool *pgxpool.Pool) (*browser, func(), error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, nil, err
	}
	email, password := "bench-"+uuid.NewString()[:8]+"@example.com", "bench-password"
	if _, err := account.Create(ctx, pool, email, password, account.Admin); err != nil {
		return nil, nil, err
	}
	cmd := exec.Command(binary, "serve", "--web")
	cmd.Env, cmd.Stderr = settings(database, address), os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, nil, fmt.Errorf("start %s: %w", binary, err)
	}
	stop := func() { _, _ = cmd.Process.Signal(syscall.SIGTERM), cmd.Wait() }
	b := &browser{base: "http://" + address}
	b.Jar, _ = cookiejar.New(nil)
	b.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if err = up(ctx, address); err == nil {
		err = b.signIn(ctx, email, password)
	}
	if err != nil {
		stop()
		return nil, nil, err
	}
	return b, stop, nil
}

var csrf = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

func (b *browser) signIn(ctx context.Context, email, password string) error {
	_, page, err := b.do(ctx, http.MethodGet, "/console/sign-in", nil)
	if err != nil {
		return err
	}
	token := csrf.FindStringSubmatch(page)
	if token == nil {
		return errors.New("the sign-in page has no token")
	}
	status, _, err := b.do(ctx, http.MethodPost, "/console/sign-in", url.Values{"csrf": {token[1]}, "email": {email}, "password": {password}})
	if err == nil && status != http.StatusSeeOther {
		err = fmt.Errorf("sign in: %d", status)
	}
	return err
}

package checkout_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// proxy is a wire between a pool and Postgres that cuts one COMMIT, exactly before or after the server gets it.
type proxy struct {
	listener net.Listener
	server   string
	done     sync.WaitGroup

	mu    sync.Mutex
	cut   cut
	cuts  int
	conns []net.Conn
}

type cut int

const (
	never cut = iota
	before
	after // the server has committed, its answer is lost
)

// wire listens and returns the database's URL through the proxy.
func wire(t *testing.T, database string) (*proxy, string) {
	t.Helper()
	u, err := url.Parse(database)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{listener: listener, server: u.Host}
	p.done.Go(p.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		p.mu.Lock()
		for _, c := range p.conns {
			_ = c.Close()
		}
		p.mu.Unlock()
		p.done.Wait()
	})
	u.Host = listener.Addr().String()
	q := u.Query()
	q.Set("sslmode", "disable")
	u.RawQuery = q.Encode()
	return p, u.String()
}

// arm makes the next n COMMITs fail.
func (p *proxy) arm(c cut, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut, p.cuts = c, n
}

func (p *proxy) next() cut {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cuts == 0 {
		return never
	}
	p.cuts--
	return p.cut
}

func (p *proxy) left() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cuts
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		answers := make(chan cut, 1)
		p.done.Go(func() { p.requests(client, server, answers) })
		p.done.Go(func() { p.answers(client, server, answers) })
	}
}

// requests forwards the client's messages one by one; only the first has no type byte.
func (p *proxy) requests(client, server net.Conn, answers chan<- cut) {
	defer server.Close()
	defer client.Close()
	header := 4
	for {
		head := make([]byte, header)
		if _, err := io.ReadFull(client, head); err != nil {
			return
		}
		body := make([]byte, int(binary.BigEndian.Uint32(head[header-4:]))-4)
		if _, err := io.ReadFull(client, body); err != nil {
			return
		}
		if head[0] == 'Q' && strings.EqualFold(strings.TrimRight(string(body), "\x00;"), "commit") {
			switch p.next() {
			case before:
				return
			case after:
				answers <- after
			case never:
			}
		}
		if _, err := server.Write(append(head, body...)); err != nil {
			return
		}
		header = 5
	}
}

// answers forwards what the server says, until the answer to a cut COMMIT, which it swallows.
func (p *proxy) answers(client, server net.Conn, cuts <-chan cut) {
	defer server.Close()
	defer client.Close()
	chunk := make([]byte, 32<<10)
	for {
		n, err := server.Read(chunk)
		if err != nil {
			return
		}
		select {
		case <-cuts:
			if bytes.Contains(chunk[:n], []byte("COMMIT\x00")) {
				return
			}
		default:
		}
		if _, err := client.Write(chunk[:n]); err != nil {
			return
		}
	}
}

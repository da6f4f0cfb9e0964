//go:build e2e

package e2e

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// line is the network between onefold and Postgres. It can be slow, be cut, swallow everything, and lose a COMMIT exactly before
// or after the server gets it, which no general proxy can.
type line struct {
	listener net.Listener
	server   string
	done     sync.WaitGroup

	mu      sync.Mutex
	lose    func(commit int) loss // nil loses nothing; called with the number of the COMMIT, from 1
	commits int
	lost    map[loss]int
	delay   time.Duration // of every message, both ways
	silent  chan struct{} // closed when the line speaks again; nil while it does
	conns   map[net.Conn]bool
}

type loss int

const (
	nothing loss = iota
	request      // COMMIT never reaches the server
	reply        // the server has committed, its word is lost
)

// wireTo listens and returns the database's address through the line.
func wireTo(t *testing.T, database string) (*line, string) {
	t.Helper()
	u, err := url.Parse(database)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l := &line{listener: listener, server: u.Host, lost: map[loss]int{}, conns: map[net.Conn]bool{}}
	l.done.Go(l.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		l.set(func() { l.quiet(false) })
		l.cut()
		l.done.Wait()
	})
	u.Host = listener.Addr().String()
	q := u.Query()
	q.Set("sslmode", "disable")
	u.RawQuery = q.Encode()
	return l, u.String()
}

// set changes how the line is.
func (l *line) set(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
}

// quiet, in set, makes the line swallow everything, or speak again.
func (l *line) quiet(on bool) {
	switch {
	case on && l.silent == nil:
		l.silent = make(chan struct{})
	case !on && l.silent != nil:
		close(l.silent)
		l.silent = nil
	}
}

// cut ends all connections there are.
func (l *line) cut() {
	l.set(func() {
		for c := range l.conns {
			_ = c.Close()
		}
	})
}

func (l *line) accept() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", l.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		l.set(func() { l.conns[client], l.conns[server] = true, true })
		lost := make(chan struct{}, 1)
		end := sync.OnceFunc(func() {
			_, _ = client.Close(), server.Close()
			l.set(func() { delete(l.conns, client); delete(l.conns, server) })
		})
		l.done.Go(func() { defer end(); l.requests(client, server, lost) })
		l.done.Go(func() { defer end(); l.replies(client, server, lost) })
	}
}

// requests forwards the client's messages one by one; only the first has no type byte.
func (l *line) requests(client, server net.Conn, lost chan<- struct{}) {
	for header := 4; ; header = 5 {
		head := make([]byte, header)
		if _, err := io.ReadFull(client, head); err != nil {
			return
		}
		body := make([]byte, int(binary.BigEndian.Uint32(head[header-4:]))-4)
		if _, err := io.ReadFull(client, body); err != nil {
			return
		}
		if head[0] == 'Q' && strings.EqualFold(strings.TrimRight(string(body), "\x00;"), "commit") {
			switch l.commit() {
			case request:
				return
			case reply:
				lost <- struct{}{}
			case nothing:
			}
		}
		l.pause()
		if _, err := server.Write(append(head, body...)); err != nil {
			return
		}
	}
}

// commit decides about one COMMIT.
func (l *line) commit() (what loss) {
	l.set(func() {
		if l.commits++; l.lose != nil {
			what = l.lose(l.commits)
		}
		l.lost[what]++
	})
	return what
}

// replies forwards what the server says, until its word about a lost COMMIT.
func (l *line) replies(client, server net.Conn, lost <-chan struct{}) {
	for chunk := make([]byte, 32<<10); ; {
		n, err := server.Read(chunk)
		if err != nil {
			return
		}
		if len(lost) > 0 && bytes.Contains(chunk[:n], []byte("COMMIT\x00")) {
			return
		}
		l.pause()
		if _, err := client.Write(chunk[:n]); err != nil {
			return
		}
	}
}

// pause holds a message back for as long as the line is slow or silent.
func (l *line) pause() {
	var delay time.Duration
	var silent <-chan struct{}
	l.set(func() { delay, silent = l.delay, l.silent })
	if silent != nil {
		<-silent
	}
	time.Sleep(delay)
}

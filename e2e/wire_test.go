//go:build e2e

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// wire is one HTTP exchange on a connection of its own: the test decides what leaves, and when.
type wire struct {
	conn net.Conn
	rest string // the last byte, kept back until finish
}

// postOrder writes POST /api/orders by hand, header lines as they are, all but its last byte.
func postOrder(t testing.TB, addr string, body wish, header ...string) *wire {
	t.Helper()
	data, err := json.Marshal(body)
	require.NoError(t, err)
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	request := fmt.Sprintf("POST /api/orders HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n\r\n%s",
		addr, len(data), strings.Join(header, "\r\n"), data)
	_, err = io.WriteString(conn, request[:len(request)-1])
	require.NoError(t, err)
	return &wire{conn: conn, rest: request[len(request)-1:]}
}

// finish sends the last byte: from here on the server works.
func (w *wire) finish() error {
	_, err := io.WriteString(w.conn, w.rest)
	return err
}

// hangUp closes the socket without reading the answer.
func (w *wire) hangUp() { _ = w.conn.Close() }

func (w *wire) answer() (answer, error) {
	response, err := http.ReadResponse(bufio.NewReader(w.conn), nil)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return answer{status: response.StatusCode, header: response.Header, body: body}, err
}

func bearer(b buyer) string { return "Authorization: Bearer " + b.token }

func keyed(key string) string { return "Idempotency-Key: " + key }

package admin

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

// pipes is a listener of in-process connections, which follow the bubble's clock.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// serveOnPipes serves answer on a listener of pipes, and returns a dialer.
func serveOnPipes(t *testing.T, answer http.HandlerFunc) (connect func() net.Conn) {
	guard := &guard{next: answer}
	guard.access.Store(&Access{})
	server := newServer(guard, zap.NewNop())
	listener := make(pipes)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	return func() net.Conn {
		here, there := net.Pipe()
		listener <- there
		synctest.Wait()
		return here
	}
}

const anyRequest = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"

// A silent connection is closed, before its first request and after.
func TestIdleAdminConnectionsEnd(t *testing.T) {
	for name, said := range map[string]string{
		"nothing": "", "half a request": "GET / HTTP/1.1\r\nHost: loc",
		"a request":                  anyRequest,
		"a request without its body": "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nabc",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				here := serveOnPipes(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.ReadAll(r.Body) })()
				ended := make(chan time.Duration)
				began := time.Now()
				go func() {
					_, _ = io.Copy(io.Discard, here)
					ended <- time.Since(began)
				}()
				if said != "" {
					_, err := io.WriteString(here, said)
					require.NoError(t, err)
				}
				require.LessOrEqual(t, <-ended, answerTimeout+idleTimeout) // by the bubble's clock
			})
		})
	}
}

// A new connection is answered however many are idle, and few are kept. Connections with
// requests under way are kept.
func TestAdminConnectionsAreBounded(t *testing.T) {
	for _, c := range []struct {
		name        string
		idle, busy  int
		wantEnded   int
		wantAnswers bool
	}{
		{"all idle", 40, 0, 33, true},
		{"some busy", 40, maxConnections - 1, 40, true},
		{"all busy", 0, maxConnections, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				finish := make(chan struct{})
				connect := serveOnPipes(t, func(_ http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/slow" {
						<-finish
					}
				})
				var ended, answered, busy atomic.Int32
				for i := range c.busy + c.idle {
					conn := connect()
					if i < c.busy {
						_, err := io.WriteString(conn, "GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
						require.NoError(t, err)
						go func() {
							_, _ = http.ReadResponse(bufio.NewReader(conn), nil)
							busy.Add(1)
						}()
					} else {
						go func() {
							_, _ = io.Copy(io.Discard, conn)
							ended.Add(1)
						}()
					}
					synctest.Wait()
				}
				last := connect()
				go func() {
					if _, err := io.WriteString(last, anyRequest); err != nil {
						return
					}
					if _, err := http.ReadResponse(bufio.NewReader(last), nil); err == nil {
						answered.Add(1)
					}
				}()
				synctest.Wait() // no time passes
				require.Equal(t, c.wantEnded, int(ended.Load()))
				require.Equal(t, c.wantAnswers, answered.Load() == 1)
				require.Zero(t, busy.Load())
				close(finish)
				synctest.Wait()
				require.Equal(t, c.busy, int(busy.Load()), "busy connections are not evicted")
			})
		})
	}
}

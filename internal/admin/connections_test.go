package admin

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/worldd/worldd/internal/must"
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

// pipeFrom is the server's end of a pipe from an address.
type pipeFrom struct {
	net.Conn
	address net.Addr
}

func (p pipeFrom) RemoteAddr() net.Addr { return p.address }

// serveOnPipes serves answer on a listener of pipes, and returns a dialer.
func serveOnPipes(t *testing.T, access Access, answer http.HandlerFunc) (connect func() net.Conn) {
	connectFrom := serveOnPipesFrom(t, access, answer)
	return func() net.Conn {
		c := connectFrom(net.IPv4(127, 0, 0, 1))
		synctest.Wait()
		return c
	}
}

// serveOnPipesFrom is serveOnPipes for dialers of several addresses.
func serveOnPipesFrom(t *testing.T, access Access, answer http.HandlerFunc) (connectFrom func(net.IP) net.Conn) {
	guard := &guard{next: answer, log: zap.NewNop(), audit: zap.NewNop()}
	guard.access.Store(&access)
	server := newServer(guard, zap.NewNop())
	listener := make(pipes)
	go func() { _ = server.Serve(pacedListener{listener, &guard.connections}) }()
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	return func(ip net.IP) net.Conn {
		here, there := net.Pipe()
		listener <- pipeFrom{there, &net.TCPAddr{IP: ip}}
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
				here := serveOnPipes(t, Access{}, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.ReadAll(r.Body) })()
				ended := make(chan time.Duration)
				began := time.Now()
				go func() {
					_, _ = io.Copy(io.Discard, here)
					ended <- time.Since(began)
				}()
				if said != "" {
					must.Get(io.WriteString(here, said))
				}
				require.LessOrEqual(t, <-ended, answerTimeout+idleTimeout) // by the bubble's clock
			})
		})
	}
}

// exchange sends a request and returns the status of its response.
func exchange(c net.Conn, text string) (status int) {
	go func() { _, _ = io.WriteString(c, text) }()
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0
	}
	return response.StatusCode
}

const probe = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"

// A new connection is answered, however many are waiting, and few are kept. Connections with
// running authorized requests are kept, and leave space for probes.
func TestAdminConnectionsAreBounded(t *testing.T) {
	for _, c := range []struct {
		name       string
		idle, busy int
		wantEnded  int
		wantStatus int // of one more request, not a probe
	}{
		{"all idle", 40, 0, 30, http.StatusOK},
		{"some busy", 40, maxRequests - 1, 37, http.StatusOK},
		{"all busy", 40, maxRequests, 38, http.StatusServiceUnavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				finish := make(chan struct{})
				connect := serveOnPipes(t, Access{}, func(_ http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/slow" {
						<-finish
					}
				})
				var ended, busy atomic.Int32
				for i := range c.busy + c.idle {
					conn := connect()
					go func() {
						if i < c.busy {
							exchange(conn, "GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
							busy.Add(1)
						} else {
							_, _ = io.Copy(io.Discard, conn)
							ended.Add(1)
						}
					}()
					synctest.Wait()
				}
				began := time.Now()
				require.Equal(t, http.StatusOK, exchange(connect(), probe))
				require.Equal(t, c.wantStatus, exchange(connect(), anyRequest))
				synctest.Wait()
				require.LessOrEqual(t, time.Since(began), 2*minStay, "by the bubble's clock")
				require.Equal(t, c.wantEnded, int(ended.Load()))
				require.Zero(t, busy.Load())
				close(finish)
				synctest.Wait()
				require.Equal(t, c.busy, int(busy.Load()), "busy connections are not evicted")
			})
		})
	}
}

// Requests to the game leave an operator's requests three places, however long the game takes. A signal that finds no
// place says that it has not run.
func TestRequestsToTheGameAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		finish := make(chan struct{})
		connect := serveOnPipes(t, Access{}, func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/" {
				<-finish
			}
		})
		var busy sync.WaitGroup
		begin := func(request string) {
			conn := connect()
			busy.Go(func() { exchange(conn, request) })
			synctest.Wait()
		}
		requireSignalRefused := func() {
			conn := connect()
			go func() { _, _ = io.WriteString(conn, aSignal) }()
			response := must.Get(http.ReadResponse(bufio.NewReader(conn), nil))
			require.Equal(t, http.StatusTooManyRequests, response.StatusCode)
			require.Equal(t, "application/json", response.Header.Get("Content-Type"))
			require.Contains(t, string(must.Get(io.ReadAll(response.Body))), `{"code":"rate-limited","ran":"no",`)
		}
		begin(aGamePage)
		for range maxRequests - 1 {
			begin(aSignal)
		}
		require.Equal(t, http.StatusOK, exchange(connect(), anyRequest), "an operator's")
		requireSignalRefused()
		require.Equal(t, http.StatusServiceUnavailable, exchange(connect(), aGamePage))
		for range 3 {
			begin("GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
		}
		require.Equal(t, http.StatusServiceUnavailable, exchange(connect(), anyRequest))
		requireSignalRefused()
		close(finish)
		busy.Wait()
	})
}

const (
	aSignal   = "POST /signals/grant HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}"
	aGamePage = "GET /game/page HTTP/1.1\r\nHost: localhost\r\n\r\n"
)

// Nothing keeps probes from their answers: neither requests whose bodies do not arrive, with or
// without a token, nor clients that do not read public pages.
func TestProbesAreAnswered(t *testing.T) {
	const token = "0123456789abcdef"
	for name, said := range map[string]string{
		"a body without a token":   "POST /drain HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n",
		"a body in chunks":         "POST /drain HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n",
		"a body with a token":      "POST /drain HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token + "\r\nContent-Length: 100\r\n\r\nabc",
		"a body of another origin": "POST /drain HTTP/1.1\r\nHost: localhost\r\nOrigin: http://else.example\r\nContent-Length: 100\r\n\r\n",
		"a probe with a body":      "POST /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n",
		"a page that is not read":  "GET /live.js HTTP/1.1\r\nHost: localhost\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				connect := serveOnPipes(t, Access{Token: token}, func(w http.ResponseWriter, r *http.Request) {
					_, _ = w.Write(make([]byte, 1<<20))
				})
				for range 3 * maxConnections {
					conn := connect()
					go func() { _, _ = io.WriteString(conn, said) }()
					synctest.Wait()
				}
				began := time.Now()
				require.Equal(t, http.StatusOK, exchange(connect(), probe))
				require.LessOrEqual(t, time.Since(began), minStay, "by the bubble's clock")
			})
		})
	}
}

// A flood of connections that come back whenever they are closed keeps probes from their answers
// neither at another address, however slow the probe's link is, nor at the same one.
func TestProbesAreAnsweredInAFlood(t *testing.T) {
	const attackers = 100
	attacker, other := net.IPv4(192, 0, 2, 1), net.IPv4(192, 0, 2, 2)
	for _, c := range []struct {
		name  string
		probe net.IP
		says  time.Duration // after it has connected
	}{
		{"from another address", other, time.Second},
		{"from the same address", attacker, minStay / 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				connect := serveOnPipesFrom(t, Access{Token: "0123456789abcdef"}, func(http.ResponseWriter, *http.Request) {})
				probed := make(chan struct{})
				var flood sync.WaitGroup
				for range attackers {
					flood.Go(func() {
						for {
							conn := connect(attacker)
							go func() {
								_, _ = io.WriteString(conn, "POST /drain HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n")
							}()
							_, _ = io.Copy(io.Discard, conn)
							select {
							case <-probed:
								return
							default:
							}
						}
					})
				}
				answered := 0
				for range 10 {
					conn := connect(c.probe)
					time.Sleep(c.says)
					if exchange(conn, probe) == http.StatusOK {
						answered++
					}
				}
				close(probed)
				flood.Wait()
				require.Equal(t, 10, answered)
			})
		})
	}
}

// A request without credentials is refused before its body arrives. A request with credentials
// waits for its body, up to maxBody bytes.
func TestBodiesOfAdminRequests(t *testing.T) {
	const token = "0123456789abcdef"
	const head = "POST /sessions/1/kick HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
	const authorized = head + "Authorization: Bearer " + token + "\r\n"
	for _, c := range []struct {
		name, said string
		wantStatus int
		wantAfter  time.Duration
	}{
		{"no token", head + "Content-Length: 10\r\n\r\n", http.StatusUnauthorized, 0},
		{"no token, chunks", head + "Transfer-Encoding: chunked\r\n\r\n", http.StatusUnauthorized, 0},
		{"a form", authorized + "Content-Length: 10\r\n\r\nreason=bad", http.StatusOK, 0},
		{"half a form", authorized + "Content-Length: 10\r\n\r\nreason", http.StatusRequestTimeout, bodyTimeout},
		{"a long form", authorized + "Content-Length: 5000\r\n\r\n" + strings.Repeat("x", 5000), http.StatusRequestEntityTooLarge, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				connect := serveOnPipes(t, Access{Token: token}, func(w http.ResponseWriter, r *http.Request) {
					if r.FormValue("reason") != "bad" {
						http.Error(w, "no reason", http.StatusBadRequest)
					}
				})
				conn, began := connect(), time.Now()
				require.Equal(t, c.wantStatus, exchange(conn, c.said))
				require.Equal(t, c.wantAfter, time.Since(began))
				_, _ = io.Copy(io.Discard, conn) // until the connection ends
			})
		})
	}
}

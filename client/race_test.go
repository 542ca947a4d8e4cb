package client

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
)

// addressNetwork is a network of names and addresses in virtual time.
type addressNetwork struct {
	names map[string]lookup        // by network
	links map[string]time.Duration // by address: until the handshake is done; below 0: until an error
	began time.Time

	mu      sync.Mutex
	log     []string
	dropped []string // addresses whose attempt was ended
	closed  []string // connections that came second
	failed  int
}

type lookup struct {
	after time.Duration
	ips   string
}

func (w *addressNetwork) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, fmt.Sprintf("%d ", time.Since(w.began).Milliseconds())+fmt.Sprintf(format, args...))
}

var errUnreachable = errors.New("network is unreachable")

// run races to host within a second, and returns what happened, by milliseconds.
func (w *addressNetwork) run(t *testing.T, host string) (conn string, err error) {
	synctest.Test(t, func(t *testing.T) {
		w.began = time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		resolve := func(ctx context.Context, network, _ string) (ips []netip.Addr, err error) {
			l := w.names[network]
			select {
			case <-time.After(l.after):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			for ip := range strings.FieldsSeq(l.ips) {
				ips = append(ips, netip.MustParseAddr(ip))
			}
			if len(ips) == 0 {
				return nil, errors.New("no such host")
			}
			return ips, nil
		}
		r := race[netip.Addr, string]{
			delay: attemptDelay,
			dial: func(ctx context.Context, ip netip.Addr) (string, error) {
				w.note("dial %v", ip)
				after, up := w.links[ip.String()]
				if !up {
					after = time.Hour
				}
				select {
				case <-time.After(max(after, -after)):
				case <-ctx.Done():
					w.mu.Lock()
					defer w.mu.Unlock()
					w.dropped = append(w.dropped, ip.String())
					return "", fmt.Errorf("%v: %w", ip, ctx.Err())
				}
				if after < 0 {
					w.mu.Lock()
					defer w.mu.Unlock()
					w.failed++
					return "", fmt.Errorf("%v: %w", ip, errUnreachable)
				}
				return ip.String(), nil
			},
			close: func(conn string) { w.closed = append(w.closed, conn) },
		}
		answers, lookups := lookUp(ctx, resolve, host)
		conn, err = r.connectFirst(ctx, answers, lookups)
		w.note("end")
	})
	return conn, err
}

const ms = time.Millisecond

func TestRace(t *testing.T) {
	for name, c := range map[string]struct {
		six, four lookup
		links     map[string]time.Duration
		conn      string
		log       string // milliseconds, and what happened
	}{
		"both work: IPv6 first": {
			lookup{5 * ms, "2001:db8::1"},
			lookup{5 * ms, "192.0.2.1"},
			map[string]time.Duration{"2001:db8::1": 40 * ms, "192.0.2.1": 20 * ms},
			"2001:db8::1",
			"5 dial 2001:db8::1, 45 end",
		},
		"IPv6 is silent": {
			lookup{5 * ms, "2001:db8::1"},
			lookup{5 * ms, "192.0.2.1"},
			map[string]time.Duration{"192.0.2.1": 20 * ms},
			"192.0.2.1",
			"5 dial 2001:db8::1, 255 dial 192.0.2.1, 275 end",
		},
		"IPv6 has no route": {
			lookup{5 * ms, "2001:db8::1"},
			lookup{6 * ms, "192.0.2.1"},
			map[string]time.Duration{"2001:db8::1": -2 * ms, "192.0.2.1": 20 * ms},
			"192.0.2.1",
			"5 dial 2001:db8::1, 7 dial 192.0.2.1, 27 end",
		},
		"IPv4 has no route": {
			lookup{5 * ms, "2001:db8::1"},
			lookup{0, "192.0.2.1"},
			map[string]time.Duration{"2001:db8::1": 40 * ms, "192.0.2.1": -1 * ms},
			"2001:db8::1",
			"5 dial 2001:db8::1, 45 end",
		},
		"AAAA comes within the resolution delay": {
			lookup{30 * ms, "2001:db8::1"},
			lookup{0, "192.0.2.1"},
			map[string]time.Duration{"2001:db8::1": 40 * ms},
			"2001:db8::1",
			"30 dial 2001:db8::1, 70 end",
		},
		"AAAA comes late": {
			lookup{90 * ms, "2001:db8::1"},
			lookup{0, "192.0.2.1"},
			map[string]time.Duration{"2001:db8::1": 40 * ms},
			"2001:db8::1",
			"50 dial 192.0.2.1, 300 dial 2001:db8::1, 340 end",
		},
		"AAAA does not exist": {
			lookup{10 * ms, ""},
			lookup{0, "192.0.2.1"},
			map[string]time.Duration{"192.0.2.1": 40 * ms},
			"192.0.2.1",
			"10 dial 192.0.2.1, 50 end",
		},
		"A comes after AAAA has failed": {
			lookup{0, "2001:db8::1"},
			lookup{400 * ms, "192.0.2.1"},
			map[string]time.Duration{"2001:db8::1": -10 * ms, "192.0.2.1": 40 * ms},
			"192.0.2.1",
			"0 dial 2001:db8::1, 400 dial 192.0.2.1, 440 end",
		},
		"families alternate": {
			lookup{0, "2001:db8::1 2001:db8::2"},
			lookup{1, "192.0.2.1 192.0.2.2"},
			map[string]time.Duration{"192.0.2.2": 10 * ms},
			"192.0.2.2",
			"0 dial 2001:db8::1, 250 dial 192.0.2.1, 500 dial 2001:db8::2, 750 dial 192.0.2.2, 760 end",
		},
	} {
		w := &addressNetwork{names: map[string]lookup{"ip6": c.six, "ip4": c.four}, links: c.links}
		conn, err := w.run(t, "game.test")
		require.NoError(t, err, name)
		require.Equal(t, c.conn, conn, name)
		require.Equal(t, c.log, strings.Join(w.log, ", "), name)
		require.Empty(t, w.closed, name)
		for _, ip := range w.dropped {
			require.NotEqual(t, conn, ip, name)
		}
		require.Equal(t, strings.Count(c.log, "dial")-1, len(w.dropped)+w.failed, name)
	}
}

// If two addresses answer at the same time, one connection is closed.
func TestRaceIsATie(t *testing.T) {
	w := &addressNetwork{
		names: map[string]lookup{"ip6": {0, "2001:db8::1"}, "ip4": {1, "192.0.2.1"}},
		links: map[string]time.Duration{"2001:db8::1": 270 * ms, "192.0.2.1": 20 * ms},
	}
	conn := must.Get(w.run(t, "game.test"))
	require.Len(t, append(w.closed, w.dropped...), 1)
	require.NotContains(t, append(w.closed, w.dropped...), conn)
}

// The error of a lost race names what each address answered, or the name that was not found.
func TestRaceIsLost(t *testing.T) {
	w := &addressNetwork{
		names: map[string]lookup{"ip6": {0, "2001:db8::1"}, "ip4": {0, "192.0.2.1"}},
		links: map[string]time.Duration{"2001:db8::1": -ms, "192.0.2.1": -ms},
	}
	_, err := w.run(t, "game.test")
	require.ErrorIs(t, err, errUnreachable)
	require.ErrorContains(t, err, "2001:db8::1: ")
	require.ErrorContains(t, err, "192.0.2.1: ")
	w.links = map[string]time.Duration{"192.0.2.1": -ms}
	_, err = w.run(t, "game.test")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, err, errUnreachable)
	w.names = nil
	require.EqualError(t, must.Fail(w.run(t, "game.test")), "no such host")
}

// An address is dialled without a resolver, and no host is this machine.
func TestRaceOfAddresses(t *testing.T) {
	for host, want := range map[string]string{"192.0.2.1": "192.0.2.1", "::ffff:192.0.2.1": "192.0.2.1", "fe80::1%eth0": "fe80::1%eth0", "": "127.0.0.1"} {
		w := &addressNetwork{links: map[string]time.Duration{want: ms, "::1": -ms}}
		conn, err := w.run(t, host)
		require.NoError(t, err, host)
		require.Equal(t, want, conn, host)
	}
}

// server is an address of a game, in virtual time.
type server struct {
	after time.Duration // until the handshake is done, or fails; 0: nothing answers
	fails error
}

// namedLink is a connection to the address of that name.
type namedLink struct {
	Conn
	name   string
	closed *[]string
}

func (l namedLink) Close(wire.Code, []byte) error {
	*l.closed = append(*l.closed, l.name)
	return nil
}

// A silent address costs a client half a second: then it asks the next one too, and one that refuses costs no time.
func TestServersRace(t *testing.T) {
	full := &wire.Error{Code: wire.ServerFull}
	for name, c := range map[string]struct {
		servers []server
		tried   int
		log     string
		err     error
	}{
		"the first answers":             {[]server{{40 * ms, nil}, {40 * ms, nil}}, 1, "0 a, 40 a answers", nil},
		"a machine is lost":             {[]server{{}, {40 * ms, nil}, {40 * ms, nil}}, 2, "0 a, 500 b, 540 b answers", nil},
		"two machines are lost":         {[]server{{}, {}, {40 * ms, nil}}, 3, "0 a, 500 b, 1000 c, 1040 c answers", nil},
		"far away":                      {[]server{{600 * ms, nil}, {200 * ms, nil}}, 1, "0 a, 500 b, 600 a answers", nil},
		"the next one is nearer":        {[]server{{900 * ms, nil}, {200 * ms, nil}, {}}, 2, "0 a, 500 b, 700 b answers", nil},
		"full":                          {[]server{{40 * ms, full}, {40 * ms, nil}}, 2, "0 a, 40 b, 80 b answers", nil},
		"full, and the others are lost": {[]server{{40 * ms, full}, {}, {}}, 3, "0 a, 40 b, 540 c, 4540 end", full},
		"all are lost":                  {[]server{{}, {}}, 2, "0 a, 500 b, 4500 end", context.DeadlineExceeded},
		"a wrong certificate":           {[]server{{600 * ms, nil}, {40 * ms, errCertificate}, {}}, 1, "0 a, 500 b, 540 c, 600 a answers", nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := &addressNetwork{began: time.Now()}
			var addrs []string
			for i := range c.servers {
				addrs = append(addrs, string(rune('a'+i)))
			}
			first, err := openFirst(t.Context(), addrs, func(ctx context.Context, address string) (namedLink, error) {
				w.note("%s", address)
				at := c.servers[address[0]-'a']
				if at.after == 0 {
					at.after = time.Hour
				}
				select {
				case <-time.After(at.after):
					return namedLink{name: address, closed: &w.closed}, at.fails
				case <-ctx.Done():
					return namedLink{}, ctx.Err()
				}
			})
			if c.err == nil {
				require.NoError(t, err, name)
				require.Equal(t, first.address, first.link.name, name)
				w.note("%s answers", first.address)
			} else {
				require.ErrorIs(t, err, c.err, name)
				w.note("end")
			}
			require.Equal(t, c.log, strings.Join(w.log, ", "), name)
			require.Equal(t, c.tried, first.tried, name)
			require.Empty(t, w.closed, name)
		})
	}
}

// If two servers answer at the same time, one connection is closed.
func TestServersTie(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var closed []string
		first := must.Get(openFirst(t.Context(), []string{"a", "b"}, func(_ context.Context, address string) (namedLink, error) {
			time.Sleep(map[string]time.Duration{"a": addressDelay + 40*ms, "b": 40 * ms}[address])
			return namedLink{name: address, closed: &closed}, nil
		}))
		require.Len(t, closed, 1)
		require.NotEqual(t, first.address, closed[0])
	})
}

// A client tries all its addresses, the present one first. From a server elsewhere it returns to the last one before.
func TestOrderOfAttempts(t *testing.T) {
	a := addresses{all: []string{"a", "b", "c"}}
	require.Equal(t, []string{"b", "c", "a"}, a.from("b"))
	require.Equal(t, "c", a.after("b"))
	require.Equal(t, []string{"elsewhere", "c", "a", "b"}, a.from("elsewhere"))

	c := &Client{addresses: a, config: Config{Addr: "a"}}
	c.noteTried(reached[Conn]{tried: 3})
	require.Equal(t, "a", c.config.Addr, "none has answered")
	require.Equal(t, 2, c.outage.attempts, "besides this one")
	c.noteTried(reached[Conn]{address: "b", tried: 2})
	require.Equal(t, "b", c.config.Addr)
	require.Equal(t, 3, c.outage.attempts)
}

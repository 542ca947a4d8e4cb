package client_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// fleet is a network of servers, by address. A server without an error sends a Welcome.
type fleet struct {
	t       *testing.T
	now     time.Duration
	ends    map[string]error // why each server ends before its Welcome
	silent  map[string]bool  // addresses that do not answer: each attempt costs a dial's time
	frozen  map[string]bool  // servers that accept connections and say nothing
	welcome wire.Welcome
	tried   []string
	hellos  []wire.Hello
	links   []*fleetLink
}

type fleetLink struct {
	dialServer
	fleet  *fleet
	frames wire.FrameReader
}

var errSilent = errors.New("no answer")

func (f *fleet) Now() time.Duration { return f.now }
func (f *fleet) Wait() error        { f.now += 10 * time.Millisecond; return nil }

func (f *fleet) Connect(address string) (client.Conn, error) {
	f.tried = append(f.tried, address)
	if f.silent[address] {
		f.now += 3 * time.Second
		return nil, errSilent
	}
	l := &fleetLink{fleet: f}
	f.links = append(f.links, l)
	l.in.Err = f.ends[address]
	if l.in.Err == nil && !f.frozen[address] {
		l.in.Stream = wire.AppendMessage(nil, f.welcome)
	}
	return l, nil
}

func (l *fleetLink) SendStream(b []byte) error {
	l.frames.Feed(b)
	for {
		kind, body, ok, err := l.frames.Next()
		require.NoError(l.fleet.t, err)
		if !ok {
			return nil
		}
		if kind == wire.TypeHello {
			l.fleet.hellos = append(l.fleet.hellos, must.Get(wire.Parse[wire.Hello](body)))
		}
	}
}

func newFleet(t *testing.T, s *schema.Schema) *fleet {
	f := &fleet{t: t, ends: map[string]error{}, silent: map[string]bool{}, frozen: map[string]bool{}, welcome: stage.Welcome(s)}
	f.welcome.Secret = make([]byte, wire.SecretBytes)
	return f
}

func (f *fleet) config(s *schema.Schema, addrs ...string) client.Config {
	return client.Config{Schema: s, Simulation: f, Addr: addrs[0], Addrs: addrs[1:]}
}

// end ends the newest connection.
func (f *fleet) end(why error) { f.links[len(f.links)-1].in.Err = why }

// until updates a client until it is in a state, and returns the addresses that it has tried since.
func (f *fleet) until(c *client.Client, state client.State) []string {
	before := len(f.tried)
	for c.State() == client.Joined && state == client.Joined {
		require.NoError(f.t, f.step(c))
	}
	for c.State() != state {
		err := f.step(c)
		require.True(f.t, err == nil || state == client.Ended, "%v", err)
	}
	return f.tried[before:]
}

func (f *fleet) step(c *client.Client) error {
	f.now += 10 * time.Millisecond
	return c.Update()
}

func movedTo(address string) error { return must.Get(wire.MovedTo(address, []byte("back"))) }

// Dial tries each address once, and returns from a dead server elsewhere to its own addresses.
func TestDialTriesAddresses(t *testing.T) {
	draining, full, kicked := &wire.Error{Code: wire.Draining}, &wire.Error{Code: wire.ServerFull}, &wire.Error{Code: wire.Kicked}
	for _, c := range []struct {
		name   string
		ends   map[string]error
		silent []string
		frozen []string
		giveUp time.Duration
		tried  []string
		want   error
	}{
		{name: "the first answers", tried: []string{"a:1"}},
		{name: "silent", silent: []string{"a:1"}, tried: []string{"a:1", "b:1"}},
		{name: "silent, without reconnecting", silent: []string{"a:1"}, giveUp: -1, tried: []string{"a:1", "b:1"}},
		{name: "frozen", frozen: []string{"a:1"}, tried: []string{"a:1", "b:1"}},
		{name: "sent to a frozen server", ends: map[string]error{"a:1": movedTo("c:1")}, frozen: []string{"c:1"}, tried: []string{"a:1", "c:1", "a:1", "c:1", "a:1", "c:1", "a:1", "c:1"}, want: &wire.Error{Code: wire.Timeout}},
		{name: "all frozen", frozen: []string{"a:1", "b:1"}, tried: []string{"a:1", "b:1", "a:1", "b:1"}, want: &wire.Error{Code: wire.Timeout}},
		{name: "shuts down", ends: map[string]error{"a:1": draining}, tried: []string{"a:1", "b:1"}},
		{name: "full", ends: map[string]error{"a:1": full}, tried: []string{"a:1", "b:1"}},
		{name: "refused", ends: map[string]error{"a:1": kicked}, tried: []string{"a:1"}, want: kicked},
		{name: "all silent", silent: []string{"a:1", "b:1"}, tried: []string{"a:1", "b:1"}, want: errSilent},
		{name: "all shut down", ends: map[string]error{"a:1": draining, "b:1": draining}, tried: []string{"a:1", "b:1", "a:1", "b:1"}, want: draining},
		{name: "sent on", ends: map[string]error{"a:1": movedTo("c:1")}, tried: []string{"a:1", "c:1"}},
		{name: "sent to a dead server", ends: map[string]error{"a:1": movedTo("c:1")}, silent: []string{"c:1"}, tried: []string{"a:1", "c:1", "a:1", "c:1", "a:1", "c:1", "a:1", "c:1"}, want: errSilent},
		{name: "sent to a dead server by all but one", ends: map[string]error{"a:1": draining, "b:1": movedTo("a:1")}, tried: []string{"a:1", "b:1", "a:1", "b:1", "a:1", "b:1", "a:1"}, want: draining},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := schema.NewWithBody()
			f := newFleet(t, s)
			if c.ends != nil {
				f.ends = c.ends
			}
			for _, address := range c.silent {
				f.silent[address] = true
			}
			for _, address := range c.frozen {
				f.frozen[address] = true
			}
			config := f.config(s, "a:1", "b:1")
			config.GiveUp = c.giveUp
			own, err := client.Dial(t.Context(), config)
			require.Equal(t, c.tried, f.tried)
			if c.want != nil {
				require.ErrorIs(t, err, c.want)
				return
			}
			require.NoError(t, err)
			require.NoError(t, own.Close())
		})
	}
}

// A lost session is looked for at its server first, and then at all addresses in turn, which may learn its secret. No other server does.
func TestReconnectTriesAddresses(t *testing.T) {
	s := schema.NewWithBody()
	f := newFleet(t, s)
	c := must.Get(client.Dial(t.Context(), f.config(s, "a:1", "b:1")))
	defer func() { require.NoError(t, c.Close()) }()
	f.welcome.SchemaText = ""
	secret := func() bool { return len(f.hellos[len(f.hellos)-1].Secret) > 0 }
	require.False(t, secret())

	f.end(&wire.Error{Code: wire.Timeout})
	require.Equal(t, []string{"a:1"}, f.until(c, client.Joined), "its server again")
	require.True(t, secret())

	f.silent["a:1"] = true
	f.end(&wire.Error{Code: wire.Timeout})
	require.Equal(t, []string{"a:1", "b:1"}, f.until(c, client.Joined))
	require.True(t, secret())

	f.silent["a:1"] = false
	f.end(&wire.Error{Code: wire.Draining})
	require.Equal(t, []string{"a:1"}, f.until(c, client.Joined), "a server that shuts down is left")
	require.True(t, secret())

	f.ends["a:1"] = movedTo("b:1")
	f.end(&wire.Error{Code: wire.Timeout})
	require.Equal(t, []string{"a:1", "b:1"}, f.until(c, client.Joined))
	require.True(t, secret(), "within the list")
	require.Equal(t, "back", string(f.hellos[len(f.hellos)-1].Token))

	f.end(movedTo("a:1"))
	delete(f.ends, "a:1")
	require.Equal(t, []string{"a:1"}, f.until(c, client.Joined))
	require.False(t, secret(), "a session that was redirected has ended")

	f.end(movedTo("c:1"))
	require.Equal(t, []string{"c:1"}, f.until(c, client.Joined))
	require.False(t, secret(), "a server elsewhere")

	f.end(&wire.Error{Code: wire.Moved})
	require.Equal(t, []string{"c:1"}, f.until(c, client.Joined), "asked again: the close has overtaken the message with the address")

	f.now += 2 * time.Second // redirections in a row are bounded
	f.ends["c:1"] = movedTo("d:1")
	f.end(&wire.Error{Code: wire.Timeout})
	require.Equal(t, []string{"c:1", "d:1"}, f.until(c, client.Joined))
	require.False(t, secret(), "a server elsewhere")

	there := must.Get(wire.MovedTo("c:1", nil))
	there.Detail = wire.SessionThere
	f.ends["d:1"], f.ends["c:1"] = there, nil
	f.end(&wire.Error{Code: wire.Timeout})
	require.Equal(t, []string{"d:1", "c:1"}, f.until(c, client.Joined))
	require.True(t, secret(), "the room has moved there")

	there = must.Get(wire.MovedTo("d:1", nil))
	there.Detail = wire.SessionThere
	delete(f.ends, "d:1")
	f.end(there)
	require.Equal(t, []string{"d:1"}, f.until(c, client.Joined))
	require.True(t, secret(), "the room has moved there with its sessions")

	f.silent["d:1"] = true
	f.end(&wire.Error{Code: wire.Timeout})
	require.Equal(t, []string{"d:1", "a:1"}, f.until(c, client.Joined), "back to its addresses")
}

// The token of a redirection is good for one connection: after that a client without FreshToken presents its own again.
func TestTokenOfARedirectionIsUsedOnce(t *testing.T) {
	s := schema.NewWithBody()
	f := newFleet(t, s)
	config := f.config(s, "a:1")
	config.Token = []byte("own")
	c := must.Get(client.Dial(t.Context(), config))
	defer func() { require.NoError(t, c.Close()) }()
	f.welcome.SchemaText = ""
	tokens := func() (texts []string) {
		for _, h := range f.hellos {
			texts = append(texts, string(h.Token))
		}
		f.hellos = nil
		return texts
	}
	require.Equal(t, []string{"own"}, tokens())

	f.end(movedTo("b:1"))
	require.Equal(t, []string{"b:1"}, f.until(c, client.Joined))
	f.end(&wire.Error{Code: wire.Timeout})
	require.Equal(t, []string{"b:1"}, f.until(c, client.Joined))
	require.Equal(t, []string{"back", "own"}, tokens())

	f.ends["c:1"] = &wire.Error{Code: wire.Timeout, Detail: "the pass was used"}
	f.end(movedTo("c:1"))
	require.Equal(t, []string{"c:1", "a:1"}, f.until(c, client.Joined))
	require.Equal(t, []string{"own"}, tokens(), "the first has closed the connection before the Hello")
}

// A client whose pass is void still asks for the room that the pass was for, with its own token. If that does not open the room, or if the room is gone, it
// asks for the room of its config.
func TestVoidPass(t *testing.T) {
	s := schema.NewWithBody()
	for _, refusal := range []wire.Code{wire.OK, wire.Unauthorized, wire.NoRoom, wire.RoomClosed} {
		f := newFleet(t, s)
		f.welcome.Room = "lobby"
		config := f.config(s, "a:1")
		config.Room, config.Token = "lobby", []byte("own")
		c := must.Get(client.Dial(t.Context(), config))
		f.welcome.SchemaText = ""
		moved := must.Get(wire.MovedTo("c:1", []byte("pass")))
		moved.Detail = wire.RoomIs + "match/1"
		f.ends["c:1"] = &wire.Error{Code: wire.Timeout, Detail: "the pass was used"}
		f.end(moved)
		want := []string{"a:1", "c:1", "a:1"}
		if refusal != wire.OK {
			f.ends["a:1"] = &wire.Error{Code: refusal}
			want = append(want, "a:1")
			for len(f.tried) < 3 {
				require.NoError(t, f.step(c))
			}
			delete(f.ends, "a:1") // of the next connection
		}
		f.hellos = nil
		f.until(c, client.Joined)
		require.Equal(t, want, f.tried, refusal)
		asked := f.hellos[len(f.hellos)-1]
		require.Equal(t, "own", string(asked.Token))
		require.Empty(t, asked.Secret, "another server must not learn it")
		require.Equal(t, map[bool]string{true: "match/1", false: "lobby"}[refusal == wire.OK], asked.Room, refusal)
		require.NoError(t, c.Close())
	}
}

// Dead addresses do not use up GiveUp: every round asks all of them, and delays grow with the rounds.
func TestGiveUpWithAddresses(t *testing.T) {
	s := schema.NewWithBody()
	f := newFleet(t, s)
	c := must.Get(client.Dial(t.Context(), f.config(s, "a:1", "b:1", "c:1", "d:1")))
	for _, address := range []string{"a:1", "b:1", "c:1", "d:1"} {
		f.silent[address] = true
	}
	f.end(&wire.Error{Code: wire.Timeout})
	tried := f.until(c, client.Ended)
	require.Greater(t, len(tried), 12)
	for i := range len(tried) - 4 {
		require.Equal(t, tried[i], tried[i+4], "the same order in each round: %v", tried)
	}
	require.ElementsMatch(t, []string{"a:1", "b:1", "c:1", "d:1"}, tried[:4])
}

// Clients of one server that has failed spread over the others. The order depends on Config.Random alone.
func TestOrderOfAddresses(t *testing.T) {
	s := schema.NewWithBody()
	second := func(random *rand.Rand) string {
		f := newFleet(t, s)
		f.silent["a:1"] = true
		config := f.config(s, "a:1", "b:1", "a:1", "c:1", "d:1")
		config.Random = random
		require.NoError(t, must.Get(client.Dial(t.Context(), config)).Close())
		return f.tried[1]
	}
	times := map[string]int{}
	for seed := range uint64(30) {
		address := second(rand.New(rand.NewPCG(seed, 0)))
		require.Equal(t, address, second(rand.New(rand.NewPCG(seed, 0))))
		times[address]++
		require.Equal(t, "b:1", second(nil), "a simulation without a source: as listed")
	}
	require.Len(t, times, 3)
	_, err := client.Dial(t.Context(), client.Config{Addr: "a:1", Addrs: []string{"nowhere"}})
	require.ErrorContains(t, err, "further address")
	require.ErrorContains(t, client.Config{Addr: "a:1", Addrs: make([]string, 40)}.Validate(), fmt.Sprint("at most ", 32))
}

package cookbook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/host"
	"github.com/worldd/worldd/server/outbox"
	"github.com/worldd/worldd/world"
)

// A whole service: accounts in the lobby, matches of two, and the way back with the prize.
var (
	serviceProtocol = schema.New()
	guests          = schema.Define[Guest](serviceProtocol, "guest")
	queueCommand    = schema.DefineCommand[Queue](serviceProtocol, "queue")
	strikeCommand   = schema.DefineCommand[Strike](serviceProtocol, "strike")
)

type (
	// Guest is on an entity for each session, in both kinds of rooms. In a match it travels: no account changes there.
	Guest struct {
		User   string `net:"-"`
		Loaded bool   `net:"owner"`
		Coins  int64  `net:"owner"`
		Prize  int64  `net:"owner"` // of the match that is over
		Waits  bool
		Match  uint64 `net:"-"` // to which the guest is called; 0: none
	}
	Queue  struct{} // for a match
	Strike struct{} // the first one wins
)

// deed is an effect on an account, or with Loads the question what is in it.
type deed struct {
	User  string
	Guest world.Entity
	Loads bool
	Coins int64
}

// place is the common part of the lobby and of a match: guests, who carry their Guest from room to room.
type place struct {
	world  *world.World
	room   *server.Room // nil in a replay
	guests *world.Component[Guest]
	kind   world.KindID
}

// protocolOf returns what crosses the wire in rooms with one command. Clients find it in serviceProtocol, by name.
func protocolOf[Args any](command schema.DefinedCommand[Args]) *schema.Schema {
	s := schema.New()
	schema.Define[Guest](s, guests.Name())
	schema.DefineCommand[Args](s, command.Name())
	return s
}

func newPlace(g server.Generations) *place {
	w := host.Must(world.New(world.Config{FirstGeneration: g.First, LastGeneration: g.Last}))
	return &place{world: w, guests: host.Must(server.Register(w, guests)), kind: host.Must(w.AddKind(world.Kind{Name: "guest"}))}
}

func (p *place) game(protocol *schema.Schema, enter func(world.Entity) error, command server.Command) *server.RoomGame {
	return &server.RoomGame{Attach: func(r *server.Room) { p.room = r }, WorldConfig: server.WorldConfig{
		World: p.world, Schema: protocol, Hooks: server.Hooks{
			Join: func(s *server.Session) (world.Entity, error) {
				e, err := p.world.Spawn(p.kind, world.Vec3{}, world.Vec3{})
				g, _ := s.Value().(Guest)
				g.User, g.Waits, g.Match = s.User(), false, 0
				p.guests.Set(e, g)
				if err == nil {
					err = enter(e)
				}
				if err != nil {
					p.world.Destroy(e)
				}
				return e, err
			},
			Leave: func(s *server.Session) {
				s.SetValue(*p.guests.Get(s.Entity()))
				p.world.Destroy(s.Entity())
			},
			SaveSession: func(s *server.Session, b []byte) []byte { return append(b, host.Must(json.Marshal(s.Value()))...) },
			RestoreSession: func(s *server.Session, saved []byte) error {
				var g Guest // nothing for a session that is in a room: its Guest is in the world
				err := json.Unmarshal(saved, &g)
				s.SetValue(g)
				return err
			},
			Commands: []server.Command{command},
		},
	}}
}

// serviceLobby keeps the accounts of its guests: one room, so an account is never in two worlds.
type serviceLobby struct {
	*place
	out *outbox.Outbox[deed]
}

func newServiceLobby(q server.RoomRequest, bank *ledger) (*server.RoomGame, error) {
	l := &serviceLobby{place: newPlace(q.Generations)}
	l.out = host.Must(outbox.New[deed](l.world, "deed", 1000))
	g := l.game(protocolOf(queueCommand), l.enter, server.OnCommand(queueCommand, func(s *server.Session, _ world.Entity, _ Queue) error {
		if !l.guests.Get(s.Entity()).Loaded {
			return &server.Rejection{Text: "your account comes soon"}
		}
		l.guests.Mut(s.Entity()).Waits = true
		return nil
	}))
	ctx, stop := context.WithCancel(context.Background())
	g.Attach, g.Ended = func(r *server.Room) {
		l.room = r
		go outbox.Work(ctx, r, l.out, bank.apply, l.settle)
	}, stop
	g.RestoreRun = func(img *world.Image) error {
		err := l.world.RestoreRun(img)
		for e := range l.guests.All() {
			l.world.Destroy(e) // its player has no session in this run
		}
		return err
	}
	return g, errors.Join(l.world.AddSystem(world.After, "call", l.call), l.world.AddSystem(world.After, "send", l.send))
}

// enter asks for the account of a new guest, and pays the prize to one who returns. If the outbox is closed, a guest who returns
// waits in the match.
func (l *serviceLobby) enter(e world.Entity) error {
	g := l.guests.Mut(e)
	if g.Loaded && g.Prize == 0 {
		return nil
	}
	if l.out.Put(deed{User: g.User, Guest: e, Loads: !g.Loaded, Coins: g.Prize}) != nil {
		return &wire.Error{Code: wire.ServerFull, Detail: "the bank is closed: try again"}
	}
	g.Coins, g.Prize = g.Coins+g.Prize, 0
	return nil
}

func (l *serviceLobby) settle(d outbox.Entry[deed], coins int64) {
	if g := l.guests.Mut(d.Value.Guest); g != nil && d.Value.Loads {
		g.Loaded, g.Coins = true, coins
	}
}

// call pairs two who wait. It reads no session, so a replay repeats it.
func (l *serviceLobby) call(w *world.World) {
	var pair []world.Entity
	for e, g := range l.guests.All() {
		if g.Waits && len(pair) < 2 {
			pair = append(pair, e)
		}
	}
	for _, e := range pair {
		if g := l.guests.Mut(e); len(pair) == 2 {
			g.Waits, g.Match = false, w.Tick()
		}
	}
}

// send moves those who were called in this tick.
func (l *serviceLobby) send(w *world.World) {
	for s := range l.room.Sessions() {
		if g := l.guests.Get(s.Entity()); g.Match == w.Tick() {
			_ = s.Move(fmt.Sprint("match/", g.Match)) // refused: the guest queues again
		}
	}
}

// newServiceMatch makes a match that pays five coins to the first who strikes. Its guests return as soon as there is a prize.
func newServiceMatch(q server.RoomRequest) (*server.RoomGame, error) {
	m := newPlace(q.Generations)
	won := func() bool {
		for _, g := range m.guests.All() {
			if g.Prize > 0 {
				return true
			}
		}
		return false
	}
	game := m.game(protocolOf(strikeCommand), func(world.Entity) error { return nil }, server.OnCommand(strikeCommand, func(s *server.Session, _ world.Entity, _ Strike) error {
		if won() {
			return &server.Rejection{Text: "too late"}
		}
		m.guests.Mut(s.Entity()).Prize = 5
		return nil
	}))
	return game, m.world.AddSystem(world.After, "return", func(w *world.World) {
		there := slices.Collect(m.room.Sessions())
		if len(there) == 0 && w.Tick() > 600 {
			_ = m.room.End("the match is over")
		}
		for _, s := range there {
			if won() || len(there) == 1 && w.Tick() > 600 { // nobody to play with
				_ = s.Move("lobby")
			}
		}
	})
}

// serviceRooms are the rooms of the service.
func serviceRooms(bank *ledger) *server.RoomsConfig {
	return &server.RoomsConfig{Default: "lobby", Kinds: map[string]server.RoomKind{
		"lobby": {Pinned: true, Create: server.ForGame, New: func(q server.RoomRequest) (*server.RoomGame, error) { return newServiceLobby(q, bank) }},
		"match": {Create: server.ForGame, Visibility: server.Private, New: newServiceMatch},
	}}
}

// End of the service.

// ledger stands for a database. Each second answer is lost after the transaction.
type ledger struct {
	mu       sync.Mutex
	applied  map[outbox.ID]bool
	accounts map[string]int64
	calls    int
}

func (l *ledger) apply(_ context.Context, deeds []outbox.Entry[deed]) ([]int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	coins := make([]int64, len(deeds))
	for i, d := range deeds {
		if !l.applied[d.ID] {
			l.accounts[d.Value.User] += d.Value.Coins
		}
		l.applied[d.ID], coins[i] = true, l.accounts[d.Value.User]
	}
	l.calls++
	if l.calls%2 == 1 {
		return nil, errors.New("the answer is lost")
	}
	return coins, nil
}

// Two players play three matches. Each prize is in its winner's account once, and the lobby shows it.
func TestService(t *testing.T) {
	bank := &ledger{applied: map[outbox.ID]bool{}, accounts: map[string]int64{"ann": 100}}
	admit := func(_ context.Context, token []byte) (server.Admission, error) {
		return server.Admission{User: string(token)}, nil
	}
	ctx, s := serve(t, server.Config{Rooms: serviceRooms(bank), Admit: admit, OneSessionPerUser: true}, func(*server.Server) {})
	join := func(user string) *client.Client {
		for {
			c, err := client.Dial(ctx, client.Config{Addr: s.Addr().String(), Fingerprint: s.Fingerprint(), Schema: serviceProtocol, Token: []byte(user)})
			if err == nil {
				t.Cleanup(func() { _ = c.Close() })
				return c
			}
			require.NoError(t, ctx.Err(), "%v", err) // the outbox opens with the room
		}
	}
	players := []*client.Client{join("ann"), join("bob")}
	await := func(done func(c *client.Client) bool) {
		for i := 0; i < len(players); {
			for _, c := range players {
				require.NoError(t, errors.Join(c.Wait(ctx), c.Update()))
			}
			for i = 0; i < len(players) && done(players[i]); i++ {
			}
		}
	}
	own := func(c *client.Client) Guest {
		g, _ := client.Of(guests).Get(c.Replica().Entity(c.Controlled()))
		return g
	}
	won := map[string]int64{"ann": 100}
	for n := range 3 {
		await(func(c *client.Client) bool { return c.Welcome().Room == "lobby" && own(c).Loaded })
		for i, user := range []string{"ann", "bob"} {
			require.Equal(t, won[user], own(players[i]).Coins)
			_, err := client.Do(players[i], queueCommand, 0, Queue{})
			require.NoError(t, err)
		}
		await(func(c *client.Client) bool { return c.Welcome().Room != "lobby" })
		_, err := client.Do(players[n%2], strikeCommand, 0, Strike{})
		require.NoError(t, err)
		won[[]string{"ann", "bob"}[n%2]] += 5
	}
	await(func(c *client.Client) bool { return c.Welcome().Room == "lobby" && own(c).Loaded })
	require.Eventually(t, func() bool {
		bank.mu.Lock()
		defer bank.mu.Unlock()
		return bank.accounts["ann"] == 110 && bank.accounts["bob"] == 5
	}, 60e9, 1e7)
	require.Equal(t, map[string]int64{"ann": 110, "bob": 5}, won)
}

// The service stays small enough to copy. Half of an earlier one, without server/outbox and schemas by kind, is 286 lines.
func TestServiceIsSmall(t *testing.T) {
	source, err := os.ReadFile("service_test.go")
	require.NoError(t, err)
	service, _, found := strings.Cut(string(source), "// End of the service.\n")
	require.True(t, found)
	lines := 0
	for line := range strings.Lines(service[strings.Index(service, "// A whole service"):]) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "//") {
			lines++
		}
	}
	require.LessOrEqual(t, lines, 180)
}

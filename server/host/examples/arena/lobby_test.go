package main

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/loadtest/rig"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// crowd is the players of a server.
type crowd struct {
	*testing.T
	ctx     context.Context
	config  client.Config // how to reach the server
	players []*Player
}

// building is a server with a lobby and matches, and the players in it.
type building struct {
	*crowd
	server  *server.Server
	mu      sync.Mutex
	lobby   *Lobby
	matches map[string]*MatchRoom // by room
	crashes map[string]bool       // by room: its next step panics
	opening chan struct{}         // has a value for each lobby that may be made
}

// openBuilding starts a server. change changes its rooms.
func openBuilding(t *testing.T, change func(*server.RoomsConfig)) *building {
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
	b := &building{crowd: &crowd{T: t, ctx: ctx}, matches: map[string]*MatchRoom{}, crashes: map[string]bool{}, opening: make(chan struct{}, 1)}
	b.opening <- struct{}{}
	c := server.RoomsConfig{Kinds: kinds(), Default: "lobby"}
	delete(c.Kinds, "arena")
	for name, k := range c.Kinds {
		k.New = b.makeRoom
		c.Kinds[name] = k
	}
	change(&c)
	s, err := server.Listen(server.Config{Listen: "127.0.0.1:0", Rooms: &c, Admit: func(_ context.Context, token []byte) (server.Admission, error) {
		return server.Admission{User: string(token)}, nil
	}})
	require.NoError(t, err)
	b.server = s
	b.config = client.Config{Addr: s.Addr().String(), Fingerprint: s.Fingerprint()}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	t.Cleanup(func() {
		b.disperse()
		stop()
		require.NoError(t, <-ended)
	})
	return b
}

func (b *building) makeRoom(q server.RoomRequest) (game *server.RoomGame, err error) {
	if q.Kind == "lobby" {
		<-b.opening
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if q.Kind == "lobby" {
		l, err := NewLobby(1, q.Generations)
		b.lobby = l
		b.addCrash(l.world, q.Name)
		return &server.RoomGame{WorldConfig: l.Config(), Attach: func(r *server.Room) { l.room = r }}, err
	}
	m, err := NewMatch(1, q.Generations, TickHz*60)
	if err != nil {
		return nil, err
	}
	b.matches[q.Name] = m
	b.addCrash(m.world, q.Name)
	return &server.RoomGame{WorldConfig: m.Config(), RestoreRun: m.RestoreRun, Attach: func(r *server.Room) { m.room, m.host = r, r }, Ended: func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.matches, q.Name)
	}}, nil
}

// addCrash makes a world panic when the test wants it.
func (b *building) addCrash(w *world.World, room string) {
	require.NoError(b, w.AddSystem(world.Before, "crash", func(*world.World) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.crashes[room] {
			delete(b.crashes, room)
			panic("the room crashes")
		}
	}))
}

// crash makes the next step of a room panic.
func (b *building) crash(room string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.crashes[room] = true
}

// hasCrashed reports whether the panic has come.
func (b *building) hasCrashed(room string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.crashes[room]
}

// enter joins players of the lobby.
func (c *crowd) enter(names ...string) (joined []*Player) {
	for _, name := range names {
		p, err := Join(name, func(config client.Config) (*client.Client, error) {
			config.Addr, config.Fingerprint, config.InsecureDev, config.Room = c.config.Addr, c.config.Fingerprint, c.config.InsecureDev, c.config.Room
			config.Token = []byte(name)
			return client.Dial(c.ctx, config)
		})
		require.NoError(c, err)
		joined = append(joined, p)
	}
	c.players = append(c.players, joined...)
	return joined
}

// until plays until done.
func (c *crowd) until(what string, done func() bool) {
	for n := 0; !done(); n++ {
		for _, p := range c.players {
			require.NoError(c, p.Frame())
		}
		require.NoError(c, c.players[n%len(c.players)].client.Wait(c.ctx), "waiting until %s", what)
	}
}

// leave ends a player's session.
func (c *crowd) leave(p *Player) {
	require.NoError(c, p.client.Close())
	c.players = slices.DeleteFunc(c.players, func(o *Player) bool { return o == p })
}

// disperse ends all sessions.
func (c *crowd) disperse() {
	for _, p := range c.players {
		_ = p.client.Close()
	}
}

func (b *building) match(room string) *MatchRoom {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.matches[room]
}

// inMatch changes a match between two ticks.
func (b *building) inMatch(room string, change func(*MatchRoom)) {
	m := b.match(room)
	require.NoError(b, m.room.Do(b.ctx, func(*world.World) error {
		change(m)
		return nil
	}))
}

// timeIsUp ends what a match waits for: its players, or the end of the fight.
func (m *MatchRoom) timeIsUp() {
	for e := range m.match.All() {
		m.match.Mut(e).Ends = 0
	}
}

// recall ends the wait of the visitors whom no match took.
func (b *building) recall() {
	require.NoError(b, b.lobby.room.Do(b.ctx, func(*world.World) error {
		for e, t := range b.lobby.tickets.All() {
			if t.Match != 0 {
				b.lobby.tickets.Mut(e).Match = 0
			}
		}
		return nil
	}))
}

// waitNoLonger makes the present visitors of the lobby as impatient as two players must be.
func (b *building) waitNoLonger() {
	require.NoError(b, b.lobby.room.Do(b.ctx, func(w *world.World) error {
		for e := range b.lobby.tickets.All() {
			b.lobby.tickets.Mut(e).Since -= patience
		}
		return nil
	}))
}

func room(p *Player) string { return p.client.Welcome().Room }

func inMatch(p *Player) bool { return strings.HasPrefix(room(p), "match/") }

func inLobby(p *Player) bool { return room(p) == "lobby" }

func all(players []*Player, is func(*Player) bool) func() bool {
	return func() bool { return !slices.ContainsFunc(players, func(p *Player) bool { return !is(p) }) }
}

func flies(p *Player) bool { _, ok := p.Own(); return ok }

// Four players make a match, and those who want to watch go along. Then all are in the lobby again, and those who
// waited meanwhile are first.
func TestLobby(t *testing.T) {
	t.Parallel()
	b := openBuilding(t, func(*server.RoomsConfig) {})
	watcher := b.enter("watcher")[0]
	watcher.Watch = true
	b.until("the watcher has said so", func() bool { return watcher.asked == ToWatch && len(watcher.others) == 0 })
	first := b.enter("ann", "bob", "eve", "joe")
	b.until("the first match has ships", all(first, flies))
	b.until("the watcher is there", func() bool { return inMatch(watcher) })
	match := room(watcher)
	require.True(t, all(first, func(p *Player) bool { return room(p) == match })())
	watcher.Watch = false
	b.until("the watcher may not play", func() bool { return slices.Contains(watcher.Lines, errBarred.Text) })
	late := b.enter("sue")[0]
	b.until("sue sees herself wait", func() bool { return strings.Contains((&Terminal{Player: late}).Picture(), "lobby  1 wait to play") })
	b.until("the match has begun", func() bool { round, _ := watcher.Match(); return round == fight })
	another := b.enter("another")[0]
	another.Watch = true
	b.until("another is there, as fights are listed", func() bool { return room(another) == match })
	require.True(t, inLobby(late))
	require.False(t, flies(watcher) || flies(another))

	b.inMatch(match, (*MatchRoom).timeIsUp)
	b.until("the second match", func() bool {
		second := 0
		for _, p := range append(first, late, watcher) { // four of these six play
			if inMatch(p) && room(p) != match {
				second++
			}
		}
		return inMatch(late) && second == seats
	})
	require.Regexp(t, `<referee> (ann|bob|eve|joe) wins the round`, strings.Join(watcher.Lines, "\n")) // the one that was there first
	b.until("the first match has ended", func() bool { return b.match(match) == nil })
}

// A visitor who watches or leaves is out of the queue, and one whose connection breaks is not called meanwhile.
func TestLeavesTheQueue(t *testing.T) {
	l, err := NewLobby(1, server.Generations{})
	require.NoError(t, err)
	r, err := rig.New(1, rig.Config{Server: server.Config{WorldConfig: l.Config()}})
	require.NoError(t, err)
	t.Cleanup(r.Close)
	var players []*Player
	for _, name := range []string{"ann", "bob", "eve"} {
		p, c, err := joinRig(r, name)
		require.NoError(t, err)
		c.EachFrame(30, p.Frame)
		players = append(players, p)
	}
	called := func() (names []string) {
		for _, v := range l.tickets.All() {
			if v.Match != 0 {
				names = append(names, v.Name)
			}
		}
		return names
	}
	players[0].Watch = true
	require.NoError(t, r.RunFor(time.Second))
	r.Clients()[1].Break()
	r.Clients()[1].SetLink(rig.Link{Loss: 1})
	for e, v := range l.tickets.All() {
		require.Equal(t, v.Name == "ann", v.Wants == ToWatch, v.Name)
		l.tickets.Mut(e).Since = 0
	}
	require.NoError(t, r.RunFor(patience*time.Second/TickHz-2*time.Second))
	require.Empty(t, called(), "eve is alone")
	r.Clients()[1].SetLink(rig.Link{})
	require.NoError(t, r.RunUntil(5*time.Second, func() bool { return players[1].client.State() == client.Joined }))
	require.NoError(t, r.RunUntil(time.Second, func() bool { return len(called()) == 3 }))
	require.NoError(t, r.RunFor(callTicks*time.Second/TickHz+time.Second/2))
	require.NotEmpty(t, called(), "the call is repeated")

	require.NoError(t, r.Clients()[2].Close())
	require.NoError(t, r.RunFor(callTicks*time.Second/TickHz+time.Second))
	require.Empty(t, called(), "bob is alone")
	require.Equal(t, 2, l.world.Stats().Entities)
}

// A match begins without a player who does not arrive, and ends if only one is left.
func TestPlayerNeverArrives(t *testing.T) {
	t.Parallel()
	b := openBuilding(t, func(*server.RoomsConfig) {})
	players := b.enter("ann", "bob", "eve")
	b.until("three wait", all(players, func(p *Player) bool { return len(p.others) == 0 && p.asked == ToPlay }))
	b.waitNoLonger()
	b.until("three have ships", all(players, flies))
	match := room(players[0])
	b.inMatch(match, (*MatchRoom).timeIsUp)
	b.until("they fight", all(players, func(p *Player) bool { round, _ := p.Match(); return round == fight }))
	b.leave(players[2])
	b.leave(players[1])
	b.until("ann is in the lobby", all(players[:1], inLobby))
}

// A match that a backend has filled waits for its players as long as they have seats, and then ends.
func TestMatchWithSeats(t *testing.T) {
	t.Parallel()
	b := openBuilding(t, func(*server.RoomsConfig) {})
	reserve := func(room string, lasts time.Duration, users ...string) {
		require.NoError(t, b.server.ReserveSeats(b.ctx, room, users, lasts))
	}
	tick := func() (now uint64) {
		b.inMatch("match/1", func(m *MatchRoom) { now = m.world.Tick() })
		return now
	}
	reserve("match/1", session.MaxSeatTime, "ann", "bob")
	b.inMatch("match/1", (*MatchRoom).timeIsUp)
	b.config.Room = "match/1"
	ann := b.enter("ann")
	b.until("ann has a ship", all(ann, flies))
	came := tick()
	b.until("ann waits for bob", func() bool { return tick() > came+2*TickHz })
	require.True(t, all(ann, inMatch)())
	bob := b.enter("bob")
	b.until("they fight", func() bool { round, _ := bob[0].Match(); return round == fight && flies(bob[0]) })

	b.leave(ann[0])
	b.until("bob is in the lobby", all(bob, inLobby))
	b.until("the match has ended", func() bool { return b.match("match/1") == nil })
	reserve("match/2", session.MaxSeatTime, "ann")
	b.inMatch("match/2", (*MatchRoom).timeIsUp)
	reserve("match/2", 0, "ann")
	b.until("the match without seats has ended", func() bool { return b.match("match/2") == nil })
}

// A match that crashes leads its players back to the lobby, where they queue again.
func TestMatchCrashes(t *testing.T) {
	t.Parallel()
	b := openBuilding(t, func(*server.RoomsConfig) {})
	players := b.enter("ann", "bob", "eve", "joe")
	b.until("they play", all(players, flies))
	match := room(players[0])
	b.crash(match)
	b.until("they play another match", all(players, func(p *Player) bool { return inMatch(p) && room(p) != match }))
	require.Nil(t, b.match(match))
}

// A match that is over while the lobby has crashed waits for it, and its players return with their sessions.
func TestMatchOutlastsTheLobby(t *testing.T) {
	t.Parallel()
	b := openBuilding(t, func(*server.RoomsConfig) {})
	players := b.enter("ann", "bob", "eve", "joe")
	b.until("they play", all(players, flies))
	match, sessions := room(players[0]), map[uint64]bool{}
	for _, p := range players {
		sessions[p.client.Welcome().Session] = true
	}
	b.crash("lobby")
	b.until("the lobby has crashed", func() bool { return b.hasCrashed("lobby") })
	var over uint64
	tick := func() (now uint64) {
		b.inMatch(match, func(m *MatchRoom) { now = m.world.Tick() })
		return now
	}
	b.inMatch(match, (*MatchRoom).timeIsUp)
	over = tick()
	b.until("the match has tried to send its players back", func() bool { return tick() > over+2*TickHz })
	close(b.opening)
	b.until("all are in the lobby", all(players, inLobby))
	for _, p := range players {
		require.True(t, sessions[p.client.Welcome().Session], "the same session")
	}
	b.until("the match has ended", func() bool { return b.match(match) == nil })
}

// When no more rooms are possible, visitors are told and keep their places.
func TestTooManyMatches(t *testing.T) {
	t.Parallel()
	b := openBuilding(t, func(c *server.RoomsConfig) { c.MaxRooms = 2 }) // the lobby, and a match
	first := b.enter("a1", "a2", "a3", "a4")
	b.until("the first match", all(first, flies))
	second := b.enter("b1", "b2", "b3", "b4")
	told := func(p *Player) bool {
		return slices.Contains(p.Lines, "<referee> no match can begin now; you keep your place")
	}
	b.until("the others are told", all(second, told))
	b.inMatch(room(first[0]), (*MatchRoom).timeIsUp)
	b.until("the first are in the lobby", all(first, inLobby))
	b.recall()
	b.until("the second match", all(second, flies))
	require.True(t, all(first, inLobby)())
}

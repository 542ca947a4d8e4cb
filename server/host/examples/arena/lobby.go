package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/host"
	"github.com/worldd/worldd/world"
)

const (
	seats     = 4           // of a match
	patience  = TickHz * 10 // after which two players make a match, in the lobby and in the match
	callTicks = TickHz * 5  // after which a called visitor waits again: the match could not take them

	warmUp, fight, over = 0, 1, 2 // the rounds of a match
)

// Lobby is a world in which visitors wait for a match, to play or to watch. The queue is in the world, as all
// state of rules: after a crash each visitor has the same place.
type Lobby struct {
	world   *world.World
	room    *server.Room // nil in a replay, which has no sessions
	tickets *world.Component[Ticket]
	visitor world.KindID
	queue   []world.Entity // scratch
}

// NewLobby makes a lobby.
func NewLobby(seed uint64, g server.Generations) (*Lobby, error) {
	w := host.Must(world.New(world.Config{TickHz: TickHz, Seed: seed, MaxEntities: 1024, FirstGeneration: g.First, LastGeneration: g.Last}))
	l := &Lobby{world: w, tickets: host.Must(server.Register(w, Tickets)), visitor: host.Must(w.AddKind(world.Kind{Name: "visitor"}))}
	return l, errors.Join(w.AddSystem(world.After, "call", l.call), w.AddSystem(world.After, "send", l.send))
}

// Config returns the world and its rules.
func (l *Lobby) Config() server.WorldConfig {
	return server.WorldConfig{World: l.world, Schema: LobbyProtocol(), Grace: grace, Hooks: server.Hooks{
		Join: l.join, Leave: l.leave, MoveRefused: l.refused,
		Away:           func(s *server.Session) { l.tickets.Mut(seatOf(s)).Away = true },
		Back:           func(s *server.Session) { l.tickets.Mut(seatOf(s)).Away = false },
		SaveSession:    saveSession,
		RestoreSession: func(s *server.Session, saved []byte) error { return restoreSession(s, saved, l.tickets.Has) },
		Commands: []server.Command{
			server.OnCommand(PlayCommand, func(s *server.Session, _ world.Entity, _ Play) error { return l.wait(s, ToPlay) }),
			server.OnCommand(WatchCommand, func(s *server.Session, _ world.Entity, _ Watch) error { return l.wait(s, ToWatch) }),
			server.OnCommand(TalkCommand, func(s *server.Session, _ world.Entity, said Talk) error { return relay(l.room, s, said) }),
		},
	}}
}

// join gives a visitor a ticket: the ticket with which a match refused them, or a new one.
func (l *Lobby) join(s *server.Session) (world.Entity, error) {
	if err := checkName(s); err != nil {
		return 0, err
	}
	e, err := l.world.Spawn(l.visitor, world.Vec3{}, world.Vec3{})
	t, _ := s.Value().(Ticket)
	t.Name, t.Match = s.Name(), 0
	l.tickets.Set(e, t)
	s.SetValue(e)
	return 0, err
}

// leave gives the visitor the ticket along: the match reads who comes to play.
func (l *Lobby) leave(s *server.Session) {
	e := seatOf(s)
	if t := l.tickets.Get(e); t != nil {
		s.SetValue(*t)
	}
	l.world.Destroy(e)
}

// wait puts the visitor at the end of the queue for players or for spectators. A spectator moves to a present match, if there is one.
func (l *Lobby) wait(s *server.Session, want uint8) error {
	if t := l.tickets.Mut(seatOf(s)); t.Wants != want {
		t.Wants, t.Since = want, uint32(l.world.Tick())
	}
	if want == ToWatch {
		_ = s.Move("match?stage=fight") // fails if there is none: then call calls the visitor to the next match
	}
	return nil
}

// call calls the players who have waited longest to a match, and all who want to watch. It reads no session,
// so a replay repeats it.
func (l *Lobby) call(w *world.World) {
	l.queue = l.queue[:0]
	now := uint32(w.Tick())
	for e, t := range l.tickets.All() {
		if t.Match != 0 && now-t.Match >= callTicks {
			l.tickets.Mut(e).Match = 0
		}
		if t.Wants == ToPlay && t.Match == 0 && !t.Away {
			l.queue = append(l.queue, e)
		}
	}
	slices.SortStableFunc(l.queue, func(a, b world.Entity) int { return cmp.Compare(l.tickets.Get(a).Since, l.tickets.Get(b).Since) })
	if n := len(l.queue); n < 2 || n < seats && now-l.tickets.Get(l.queue[0]).Since < patience {
		return
	}
	for e, t := range l.tickets.All() {
		if slices.Contains(l.queue[:min(len(l.queue), seats)], e) || t.Wants == ToWatch && t.Match == 0 {
			l.tickets.Mut(e).Match = now // its number: no other match is called in this tick
		}
	}
}

// send moves those whom call has called in this tick. It changes nothing in the world.
func (l *Lobby) send(w *world.World) {
	for s := range l.room.Sessions() {
		if n := l.tickets.Get(seatOf(s)).Match; uint64(n) == w.Tick() {
			if err := s.Move(fmt.Sprint("match/", n)); err != nil {
				l.refused(s, "", err)
			}
		}
	}
}

// refused tells a visitor that the match takes nobody: the server is full, for example. call repeats its call.
func (l *Lobby) refused(s *server.Session, _ string, _ error) {
	_ = s.Send(Chat{"referee", "no match can begin now; you keep your place"})
}

// MatchRoom is an arena for one match. Its players warm up until all have come, fight once, and return.
type MatchRoom struct {
	*Arena
	room  *server.Room // nil in a replay
	lasts uint32       // ticks
}

// NewMatch makes a match of so many ticks.
func NewMatch(seed uint64, g server.Generations, lasts uint32) (m *MatchRoom, err error) {
	m = &MatchRoom{lasts: lasts}
	m.Arena, err = makeArena(seed, g, Match{warmUp, patience}, m.umpire)
	return m, err
}

// Config returns the world and its rules.
func (m *MatchRoom) Config() server.WorldConfig {
	c := m.Arena.Config()
	c.Hooks.Join = m.join
	return c
}

// join gives a ship to those whom the lobby or a backend has sent to play. The others may only watch.
func (m *MatchRoom) join(s *server.Session) (world.Entity, error) {
	ticket, fromLobby := s.Value().(Ticket)
	_, err := m.Arena.join(s)
	switch {
	case err == nil && (ticket.Wants == ToPlay || !fromLobby && m.round() == warmUp): // until the fight the room is private
		m.seat.Mut(seatOf(s)).Respawn = m.world.Tick() + 1
	case err == nil:
		m.seat.Mut(seatOf(s)).Barred = true
	}
	return 0, err
}

// round returns the present round.
func (m *MatchRoom) round() uint16 {
	for _, now := range m.match.All() {
		return now.Round
	}
	return over
}

// umpire begins the match when its players have come, and ends it when the time is up or one player is left. It waits for
// players with reserved seats.
func (m *MatchRoom) umpire(_ *Arena, w *world.World) {
	players := 0
	for _, t := range m.seat.All() {
		if t.Ship != 0 || t.Respawn != 0 {
			players++
		}
	}
	for e, now := range m.match.All() {
		due := w.Tick() >= uint64(now.Ends)
		switch {
		case now.Round == warmUp && (players == seats || due && players > 1):
			m.match.Set(e, Match{fight, uint32(w.Tick()) + m.lasts})
			m.resetKills()
			must(m.room.SetListing(server.Listing{Visibility: server.Listed, Attributes: map[string]string{"stage": "fight"}}))
		case now.Round == fight && (due || players < 2):
			m.match.Set(e, Match{over, uint32(w.Tick())})
			m.endRound()
			must(m.room.SetListing(server.Listing{Visibility: server.Private}))
		case w.Tick()%TickHz == 0 && (now.Round == over || now.Round == warmUp && due && m.room.Seats() == 0):
			m.sendBack()
		}
	}
}

// sendBack moves everybody to the lobby, and ends the room once all have left. It changes nothing in the world.
func (m *MatchRoom) sendBack() {
	waiting := slices.Collect(m.room.Sessions())
	for _, s := range waiting {
		_ = s.Move("lobby") // waits until the lobby is open; if it fails, for example since the lobby is full, in a second again
	}
	if len(waiting) == 0 {
		must(m.room.End("the match is over"))
	}
}

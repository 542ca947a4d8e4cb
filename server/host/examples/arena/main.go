package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/loadtest/bot"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/host"
	"github.com/worldd/worldd/world"
)

func main() {
	host.Main(host.Definition{
		Name: "arena", About: "Ships in a windy arena.", Rooms: &server.RoomsConfig{Kinds: kinds(), Default: "arena", Carry: carryTicket, Arrive: readTicket},
		Bots: &bot.Player{New: newBot, Metrics: []bot.Metric{{Name: matchesEnded}, {Name: hops}}},
		New:  newRoom,
		Commands: []any{&struct {
			Play playCommand `cmd:"" help:"Play in this terminal, against bots or over the network."`
		}{}},
	})
}

// kinds returns the kinds of rooms.
func kinds() map[string]server.RoomKind {
	return map[string]server.RoomKind{
		"arena": {Pinned: true}, // "arena/7" is made for the first client that names it
		"lobby": {Pinned: true, Create: server.ForGame},
		// A match is private until the fight begins. Then anybody may watch it.
		"match": {Create: server.ForGame, Visibility: server.Private, Choose: chooseFight},
	}
}

// chooseFight lets those who want to watch a match join the fullest one, but makes none for them.
func chooseFight(seek server.RoomSeek) (string, error) {
	for _, r := range seek.Rooms {
		if r.Free > 0 {
			return r.Name, nil
		}
	}
	return "", errors.New("there is no fight to watch")
}

func newRoom(o host.Options) (*host.Instance, error) {
	switch o.Room.Kind {
	case "lobby":
		return newLobby(o)
	case "match":
		return newMatch(o)
	}
	return newArena(o)
}

func newLobby(o host.Options) (*host.Instance, error) {
	l, err := NewLobby(o.SeedOr(1), o.Room.Generations)
	if err != nil {
		return nil, err
	}
	return &host.Instance{WorldConfig: l.Config(), Avatars: []world.KindID{l.visitor}, Attach: func(r *server.Room) { l.room = r }}, nil
}

func newMatch(o host.Options) (*host.Instance, error) {
	lasts := uint32(TickHz * 60)
	if o.Demo {
		lasts = TickHz * 5
	}
	m, err := NewMatch(o.SeedOr(1), o.Room.Generations, lasts)
	if err != nil {
		return nil, err
	}
	return &host.Instance{WorldConfig: m.Config(), Attach: func(r *server.Room) { m.room, m.host = r, r }, RestoreRun: m.RestoreRun}, nil
}

func newArena(o host.Options) (*host.Instance, error) {
	a, err := New(o.SeedOr(1), o.Room.Generations)
	if err != nil {
		return nil, err
	}
	return &host.Instance{WorldConfig: a.Config(), Seed: 1, Attach: func(r *server.Room) { a.Attach(r) }, RestoreRun: a.RestoreRun}, nil
}

// Bots hop between the open arenas of these numbers, if they are in one, at times up to twice hopEvery apart. hops counts that.
const (
	openArenas = 8
	hopEvery   = 5 * time.Second
	hops       = "hops"
)

// matchesEnded counts the matches from which bots have come back to the lobby.
const matchesEnded = "matches_ended"

// newBot makes a bot of a player. The bot also checks the rules that it can see.
func newBot(seat bot.Seat) (bot.Behavior, error) {
	p, config := NewPlayer(seat.Name)
	b := NewBot(p, seat.Rand.Uint64())
	hop := time.Now().Add(hopEvery)
	state := func(s client.StateChange) {
		if s.Moved && inOpenArena(p) {
			seat.Count(hops, 1)
		}
		if (s.Moved || s.NewWorld) && p.client.Welcome().Room == "lobby" {
			seat.Count(matchesEnded, 1)
		}
		config.State(s)
	}
	return bot.Behavior{
		Schema: config.Schema, Events: config.Events, State: state, Joined: p.Joined,
		Input: func(*bot.Frame) any {
			p.Show()
			b.Think()
			return &p.Stick
		},
		Act: func(f *bot.Frame) error {
			p.TakePart()
			if f.Now.After(hop) && inOpenArena(p) {
				hop = f.Now.Add(time.Second + time.Duration(seat.Rand.Int64N(int64(2*hopEvery))))
				send(p, HopCommand, Hop{uint8(seat.Rand.IntN(openArenas))})
			}
			return nil
		},
		Check: func(*bot.Frame) error {
			for s := range p.Ships() {
				if s.Hull > FullHull {
					return fmt.Errorf("%v has %d points", s.Handle, s.Hull)
				}
			}
			if own, ok := p.Own(); ok && own.Pilot.Name != seat.Name {
				return fmt.Errorf("the ship of %q is flown by %q", seat.Name, own.Pilot.Name)
			}
			return nil
		},
	}, nil
}

// inOpenArena reports whether a player is in one of several open arenas.
func inOpenArena(p *Player) bool {
	return p.client != nil && strings.HasPrefix(p.client.Welcome().Room, openArena)
}

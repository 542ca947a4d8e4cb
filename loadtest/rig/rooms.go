package rig

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// makeRooms makes a server of several rooms.
func (r *Rig) makeRooms() error {
	c := &r.config
	r.made.queries = map[*session.Core]wire.RoomQuery{}
	var err error
	r.router, err = session.NewRouter(session.RouterConfig{
		Admit: c.Server.Admit, Random: c.Server.Random, OneSessionPerUser: c.Server.OneSessionPerUser, PanicEnds: true, Versions: c.Server.Versions,
		Join: func(_ context.Context, name, _ string, _ session.Admission) (*session.Core, error) {
			if name == "" {
				return r.core, nil
			}
			return r.findRoom(name)
		},
		Post: r.post,
		Move: func(name string, _ *session.Session) (*session.Core, error) { return r.findRoom(name) },
		Find: func(_ context.Context, query, _ string, _ session.Admission) (*session.Place, error) {
			return r.findPlace(query, nil)
		},
		FindForMove: func(query string, s *session.Session) (string, *session.Place, error) {
			place, err := r.findPlace(query, s)
			if err != nil {
				return "", nil, err
			}
			return place.Room().Config().Room, place, nil
		},
	})
	if err != nil {
		return err
	}
	if r.core, err = c.Server.NewRoom(r.router); err != nil {
		return err
	}
	for _, room := range c.Rooms {
		if _, err := r.addRoom(room); err != nil {
			return err
		}
	}
	return nil
}

// post delivers a message of a room to others.
func (r *Rig) post(l session.Letter) {
	for _, c := range append([]*session.Core{r.core}, r.rooms...) {
		name := c.Config().Room
		kind, _, _ := strings.Cut(name, "/")
		if name == l.To || l.To == "" && name != l.From && (l.Kind == "" || l.Kind == kind) && c.Listens(l.Name) {
			c.Deliver(l)
		}
	}
}

// addRoom adds a room to the server.
func (r *Rig) addRoom(c server.Config) (*session.Core, error) {
	c.Random, c.PanicEnds = r.config.Server.Random, true
	core, err := c.NewRoom(r.router)
	if err != nil {
		return nil, err
	}
	own := core.World().Config()
	for _, other := range append([]*session.Core{r.core}, r.rooms...) {
		its := other.World().Config()
		switch {
		case own.TickHz != its.TickHz:
			return nil, fmt.Errorf("rig: room %q makes %d ticks a second, room %q %d: want the same", c.Room, own.TickHz, other.Config().Room, its.TickHz)
		case own.FirstGeneration <= its.LastGeneration && its.FirstGeneration <= own.LastGeneration:
			return nil, fmt.Errorf("rig: rooms %q and %q share generations: want disjoint ranges (world.Config.FirstGeneration, LastGeneration)", c.Room, other.Config().Room)
		case c.Room == other.Config().Room:
			return nil, fmt.Errorf("rig: two rooms are named %q", c.Room)
		}
	}
	r.rooms = append(r.rooms, core)
	return core, nil
}

// firstMade is the block of generations of the first room of MakeRoom: tests number their own rooms from 0.
const firstMade = 1000

// madeRooms are the rooms of Config.MakeRoom.
type madeRooms struct {
	queries map[*session.Core]wire.RoomQuery // their kinds and attributes
	blocks  uint32                           // blocks of generations used so far
}

// findRoom returns a room, which it makes if there is none.
func (r *Rig) findRoom(name string) (*session.Core, error) {
	core := r.Room(name)
	if core != nil {
		return core, nil
	}
	kind, id, err := server.ParseRoomName(name)
	if err != nil || r.config.MakeRoom == nil {
		return nil, &wire.Error{Code: wire.NoRoom, Detail: fmt.Sprintf("no room %q", name)}
	}
	return r.makeRoom(server.RoomRequest{Name: name, Kind: kind, ID: id})
}

// makeRoom makes a room by Config.MakeRoom.
func (r *Rig) makeRoom(q server.RoomRequest) (*session.Core, error) {
	first := (firstMade + r.made.blocks) * world.RunGenerations
	r.made.blocks++
	q.Generations = server.Generations{First: first + 1, Last: first + world.RunGenerations - 1}
	w, err := r.config.MakeRoom(q)
	if err != nil {
		return nil, err
	}
	core, err := r.addRoom(server.Config{WorldConfig: w, Room: q.Name})
	if err == nil {
		r.made.queries[core] = wire.RoomQuery{Kind: q.Kind, Attributes: q.Attributes}
	}
	return core, err
}

// findPlace holds a place in a room of MakeRoom that suits a query, other than the room of from, which may be nil.
func (r *Rig) findPlace(text string, from *session.Session) (*session.Place, error) {
	q, err := wire.ParseRoomQuery(text)
	if err != nil || r.config.MakeRoom == nil {
		return nil, &wire.Error{Code: wire.NoRoom, Detail: fmt.Sprintf("no room suits %q", text)}
	}
	var best *session.Core
	most := -1
	for _, c := range r.rooms {
		its, made := r.made.queries[c]
		sessions, kept, free := c.Places()
		if made && its.Kind == q.Kind && q.Matches(its.Attributes) && free > 0 && sessions+kept > most && (from == nil || from.Room() != c.Config().Room) {
			best, most = c, sessions+kept
		}
	}
	for id := 1; best == nil; id++ {
		name := fmt.Sprintf("%s/%d", q.Kind, id)
		if r.Room(name) == nil {
			if best, err = r.makeRoom(server.RoomRequest{Name: name, Kind: q.Kind, ID: fmt.Sprint(id), Attributes: q.Attributes}); err != nil {
				return nil, err
			}
		}
	}
	place := best.HoldPlace()
	if place == nil {
		return nil, &wire.Error{Code: wire.ServerFull}
	}
	return place, nil
}

// Room returns the server's room with a name, or nil.
func (r *Rig) Room(name string) *session.Core {
	for _, c := range append([]*session.Core{r.core}, r.rooms...) {
		if c.Config().Room == name {
			return c
		}
	}
	return nil
}

// EndRoom ends a room of Config.Rooms or MakeRoom: its sessions end with Draining.
func (r *Rig) EndRoom(name string) {
	r.rooms = slices.DeleteFunc(r.rooms, func(c *session.Core) bool {
		if c.Config().Room != name {
			return false
		}
		c.Shutdown()
		c.Close()
		delete(r.made.queries, c)
		return true
	})
}

package rig

import (
	"context"
	"fmt"
	"slices"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
)

// makeRooms makes a server of several rooms.
func (r *Rig) makeRooms() error {
	c := &r.config
	find := func(name string) (*session.Core, error) {
		if core := r.Room(name); core != nil {
			return core, nil
		}
		return nil, &wire.Error{Code: wire.NoRoom, Detail: fmt.Sprintf("no room %q", name)}
	}
	var err error
	r.router, err = session.NewRouter(session.RouterConfig{
		Admit: c.Server.Admit, Random: c.Server.Random, OneSessionPerUser: c.Server.OneSessionPerUser, PanicEnds: true, Versions: c.Server.Versions,
		Join: func(_ context.Context, name, _ string, _ session.Admission) (*session.Core, error) {
			if name == "" {
				return r.core, nil
			}
			return find(name)
		},
		Move: func(name string, _ *session.Session) (*session.Core, error) { return find(name) },
	})
	if err != nil {
		return err
	}
	if r.core, err = c.Server.NewRoom(r.router); err != nil {
		return err
	}
	all := []*session.Core{r.core}
	for _, room := range c.Rooms {
		room.Random, room.PanicEnds = c.Server.Random, true
		core, err := room.NewRoom(r.router)
		if err != nil {
			return err
		}
		own := core.World().Config()
		for _, other := range all {
			its := other.World().Config()
			switch {
			case own.TickHz != its.TickHz:
				return fmt.Errorf("rig: room %q makes %d ticks a second, room %q %d: want the same", room.Room, own.TickHz, other.Config().Room, its.TickHz)
			case own.FirstGeneration <= its.LastGeneration && its.FirstGeneration <= own.LastGeneration:
				return fmt.Errorf("rig: rooms %q and %q share generations: want disjoint ranges (world.Config.FirstGeneration, LastGeneration)", room.Room, other.Config().Room)
			case room.Room == other.Config().Room:
				return fmt.Errorf("rig: two rooms are named %q", room.Room)
			}
		}
		all = append(all, core)
	}
	r.rooms = all[1:]
	return nil
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

// EndRoom ends one of Config.Rooms: its sessions end with Draining.
func (r *Rig) EndRoom(name string) {
	r.rooms = slices.DeleteFunc(r.rooms, func(c *session.Core) bool {
		if c.Config().Room != name {
			return false
		}
		c.Shutdown()
		c.Close()
		return true
	})
}

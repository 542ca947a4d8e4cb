package session

import (
	"cmp"
	"maps"
	"slices"

	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// Stats counts what sessions did. It belongs to the goroutine that calls Tick.
type Stats struct {
	Joined          uint64
	Lost            uint64 // connections of sessions that then waited for their clients
	Resumed         uint64 // times that a client came again to its session
	Ended           uint64 // and connections without one
	Refused         uint64 // connections: no session began
	HellosHeld      uint64 // put off by a tick, as often as that
	Turns           uint64 // of sessions to be sent a snapshot, and
	TurnsMissed     uint64 // of these, that came while there had been no time yet for the one before
	Inputs          uint64 // applied, and
	InputsLate      uint64 // of these, after their tick
	InputsMissed    uint64 // came after their tick, when a newer one was there
	InputsEarly     uint64 // came too long before their tick, as often as they came
	InputsDropped   uint64 // datagrams beyond what one tick takes from one session
	Commands        uint64
	Executed        uint64
	Rejected        uint64
	Resyncs         uint64
	ResyncsDropped  uint64    // asked for beyond the rate of a session
	CommandVerdicts [4]uint64 // by wire.Verdict of the target
	Rejections      map[wire.Code]uint64
	Closed          map[wire.Code]uint64
	Panics          [hooks]uint64 // contained, by Hook
}

// Stats returns the counters since the start.
func (c *Core) Stats() Stats {
	s := c.stats
	s.Closed, s.Rejections = maps.Clone(s.Closed), maps.Clone(s.Rejections)
	s.Panics[HookAdmit] = c.admitPanics.Load()
	return s
}

// Replication returns replication's counters since the start.
func (c *Core) Replication() replication.Stats { return c.replicator.Stats() }

func (c *Core) countClosed(code wire.Code) {
	if c.stats.Closed == nil {
		c.stats.Closed = map[wire.Code]uint64{}
	}
	c.stats.Closed[code]++
}

// Info describes one session, or a connection without one, as of a tick.
type Info struct {
	ID         uint64
	Name, User string
	Joined     bool // false: a connection without a session
	Away       bool // its client may resume it
	Entity     world.Entity
	// Age and Silent are seconds of the world's time, since the session began and since
	// its last datagram.
	Age, Silent float64
	Interest    int // entities in its interest set
	Budget      int // bytes that it may be sent now; negative after a burst of structure
	// Conn is the connection over which the client is reached; nil: none.
	Conn Conn
}

// Infos describes sessions and connections without one with ids above after, in order
// of their ids, at most limit of them. It belongs to the goroutine that calls Tick.
func (c *Core) Infos(after uint64, limit int) []Info {
	all := make([]Info, 0, min(len(c.sessions)+len(c.peers), 2*limit))
	hz := float64(c.world.TickHz())
	for _, s := range c.sessions {
		if s.id <= after || s.over {
			continue
		}
		if len(all) == limit {
			break
		}
		info := Info{
			ID: s.id, Name: s.name, User: s.user, Joined: true, Away: s.peer == nil,
			Entity: s.entity, Interest: s.viewer.InterestSize(), Budget: s.viewer.Budget(),
			Age: float64(c.world.Tick()-s.since) / hz, Silent: float64(s.silence) / hz,
		}
		if s.peer != nil {
			info.Conn = s.peer.conn
		}
		all = append(all, info)
	}
	joined := len(all)
	for _, p := range c.peers {
		if p.id > after && !p.closed && len(all) < joined+limit {
			all = append(all, Info{ID: p.id, Age: float64(p.age) / hz, Conn: p.conn})
		}
	}
	slices.SortFunc(all, func(a, b Info) int { return cmp.Compare(a.ID, b.ID) })
	return all[:min(len(all), limit)]
}

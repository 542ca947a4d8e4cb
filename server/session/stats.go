package session

import (
	"cmp"
	"maps"
	"slices"

	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// Stats holds counters since the start. Only the goroutine that calls Tick may use it.
type Stats struct {
	Joined           uint64
	Lost             uint64 // connections that broke and left their sessions away
	Resumed          uint64
	Restored         uint64 // sessions that continue after a crash, at the start
	MovedIn          uint64 // sessions that came from other rooms
	MovedOut         uint64 // sessions that went to other rooms, including those that returned
	MovesRefused     uint64 // sessions that stayed, since the other room was full, draining, or its Join refused them
	Ended            uint64 // ended sessions, and ended connections without a session
	Refused          uint64 // connections refused before a session began
	HellosHeld       uint64 // Hellos postponed, counted once per tick
	SnapshotsDue     uint64
	SnapshotsSkipped uint64               // part of SnapshotsDue: the session's previous snapshot had not been encoded
	SnapshotsHeld    uint64               // part of SnapshotsDue: the connection had not sent the previous snapshot
	Inputs           uint64               // applied inputs
	InputsLate       uint64               // part of Inputs: applied after their tick
	InputsMissed     uint64               // late, and dropped for a newer input
	InputsEarly      uint64               // dropped as too far ahead, counted per datagram
	InputsDropped    uint64               // datagrams beyond a session's bound per tick
	Views            [viewOutcomes]uint64 // moments that Session.View returned, by ViewOutcome
	Commands         uint64
	Executed         uint64
	Rejected         uint64
	Calls            uint64 // posted functions and signals that ran
	CallsFailed      uint64 // part of Calls: the function returned an error, or panicked
	Resyncs          uint64
	ResyncsDropped   uint64 // Resyncs beyond a session's rate limit
	// PredictionFaults counts the Resyncs of clients that simulate, including dropped ones:
	// an audit failed, or the client could not compute the bodies in view in time.
	PredictionFaults uint64
	// CommandVerdicts counts targets by wire.Verdict. Provisional targets count as
	// wire.Provisional, although Results call them Stale.
	CommandVerdicts      [5]uint64
	ProvisionalsBound    uint64 // provisional handles that became entities
	ProvisionalsRejected uint64
	Rejections           map[wire.Code]uint64
	Closed               map[wire.Code]uint64
	Panics               [hooks]uint64 // contained panics, by Hook
	Slow                 [hooks]uint64 // calls that took longer than a tick, by Hook
}

// Stats returns a copy of the counters.
func (c *Core) Stats() Stats {
	s := c.stats
	s.Closed, s.Rejections = maps.Clone(s.Closed), maps.Clone(s.Rejections)
	s.Panics, s.Slow = c.countPanics(), c.timer.counts
	return s
}

// Replication returns the replication counters.
func (c *Core) Replication() replication.Stats { return c.replicator.Stats() }

func (s *Stats) countVerdict(target world.Entity, v wire.Verdict) {
	if wire.IsProvisional(target) {
		v = wire.Provisional
	}
	s.CommandVerdicts[v]++
}

// countResult counts a command's Result.
func (s *Stats) countResult(code wire.Code) {
	s.Commands++
	if code == wire.OK {
		s.Executed++
		return
	}
	s.Rejected++
	countCode(&s.Rejections, code)
}

func (s *Stats) countClosed(code wire.Code) { countCode(&s.Closed, code) }

// countCode counts code in a map, which it makes if needed.
func countCode(counts *map[wire.Code]uint64, code wire.Code) {
	if *counts == nil {
		*counts = map[wire.Code]uint64{}
	}
	(*counts)[code]++
}

// Info describes a session, or a connection without one, at a tick.
type Info struct {
	ID         uint64
	Name, User string
	Joined     bool // false: a connection without a session
	Away       bool // its client may resume it
	Entity     world.Entity
	// Age and Silent are seconds of world time since the session began and since its last
	// datagram.
	Age, Silent float64
	Interest    int     // entities in its interest set
	Budget      int     // bytes that may be sent now; negative after a burst of structure
	Loss        float64 // see replication.ViewerStats.Loss
	// Conn is the current connection; nil: away.
	Conn Conn
}

// Infos describes sessions, and connections without a session, in ascending order of id: at
// most limit, with ids above after. Only the goroutine that calls Tick may call it.
func (c *Core) Infos(after uint64, limit int) []Info {
	all := make([]Info, 0, min(len(c.sessions)+len(c.peers), 2*limit))
	hz := float64(c.world.TickHz())
	for _, s := range c.sessions {
		if s.id <= after || s.isOver() {
			continue
		}
		if len(all) == limit {
			break
		}
		viewer := s.viewer.Stats()
		info := Info{
			ID: s.id, Name: s.name, User: s.user, Joined: true, Away: s.peer == nil,
			Entity: s.entity, Interest: viewer.Interest, Budget: viewer.Budget, Loss: viewer.Loss,
			Age: float64(c.world.Tick()-s.startTick) / hz, Silent: float64(s.silentTicks) / hz,
		}
		if s.peer != nil {
			info.Conn = s.peer.transport()
		}
		all = append(all, info)
	}
	joined := len(all)
	for _, p := range c.peers {
		if p.id > after && !p.closed && len(all) < joined+limit {
			all = append(all, Info{ID: p.id, Age: float64(p.age) / hz, Conn: p.transport()})
		}
	}
	slices.SortFunc(all, func(a, b Info) int { return cmp.Compare(a.ID, b.ID) })
	return all[:min(len(all), limit)]
}

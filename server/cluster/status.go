package cluster

import (
	"cmp"
	"slices"
	"time"
)

// Counters count since the node was opened.
type Counters struct {
	Renewals     uint64 // of the lease, acknowledged
	Takes        uint64 // of rooms
	Lost         uint64 // rooms that another node may have taken
	Fences       uint64 // tombstones that this node wrote
	Fenced       uint64 // tombstones of this node
	Conflicts    uint64 // swaps that came too late
	Unknown      uint64 // requests without a clear answer
	LateAnswers  uint64 // answers after the deadline, which own nothing
	WatchesStuck uint64
	Frozen       uint64 // times that the directory was replaced
}

func (c *Counters) add(o outcome) {
	switch o {
	case conflict:
		c.Conflicts++
	case unknown, refused:
		c.Unknown++
	}
}

// Status describes a cluster as one of its nodes knows it.
type Status struct {
	Node        string
	Incarnation string
	Directory   string // its identity
	// Foreign says why the directory is not the known one. All rooms stand still until it is adopted. Empty: it is the known one.
	Foreign string
	// Margin is how long the node's rooms may run without another renewal. It is negative while they stand still.
	Margin     time.Duration
	Nodes      []NodeStatus  // by name
	Rooms      []RoomStatus  // that are open or kept, by name
	Images     []ImageStatus // by room
	FreeBlocks int
	Counters   Counters
}

// NodeStatus is a node as its record shows it.
type NodeStatus struct {
	Name   string
	Addrs  []string
	Dead   bool
	Silent time.Duration // since its record changed
}

// RoomStatus is a room as its record shows it.
type RoomStatus struct {
	Name  string
	Node  string // that runs it; empty: none, but a stored run keeps its block
	Epoch uint64
	Block int
}

// ImageStatus is the newest image of a room, as its record shows it.
type ImageStatus struct {
	Room string
	*Image
}

// status describes what the machine knows.
func (m *machine) status(now time.Duration) Status {
	s := Status{
		Node: m.settings.name, Incarnation: m.lease.incarnation, Directory: m.identity.known, Foreign: m.identity.reason,
		Margin: m.until() - now, FreeBlocks: m.blocks.countFree(), Counters: m.counters,
	}
	for _, p := range m.peers.list {
		s.Nodes = append(s.Nodes, NodeStatus{Name: p.name, Addrs: p.record.Addrs, Dead: p.record.Dead, Silent: now - p.since})
	}
	for _, r := range m.rooms.all {
		if r.record.State == roomOpen || r.record.State == roomKept {
			s.Rooms = append(s.Rooms, RoomStatus{Name: r.name, Node: r.record.Node, Epoch: r.record.Epoch, Block: r.record.Block})
		}
		if r.record.Image != nil {
			s.Images = append(s.Images, ImageStatus{r.name, r.record.Image})
		}
	}
	s.sort()
	return s
}

// sort sorts nodes, rooms and images by name.
func (s *Status) sort() {
	slices.SortFunc(s.Nodes, func(a, b NodeStatus) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(s.Rooms, func(a, b RoomStatus) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(s.Images, func(a, b ImageStatus) int { return cmp.Compare(a.Room, b.Room) })
}

// FewCopies returns the rooms whose newest image fewer living nodes have than want, or than live.
func (s *Status) FewCopies(want int) (few []ImageStatus) {
	living := map[string]bool{}
	for _, n := range s.Nodes {
		if !n.Dead {
			living[n.Name] = true
		}
	}
	for _, i := range s.Images {
		have := 0
		for _, node := range i.Nodes {
			if living[node] {
				have++
			}
		}
		if have < min(want, len(living)) && !i.Any {
			few = append(few, i)
		}
	}
	return few
}

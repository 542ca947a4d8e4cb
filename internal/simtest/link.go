package simtest

import (
	"math/rand/v2"
	"slices"
)

// Conditions describe one direction of a network. The zero value is perfect: packets
// arrive at the time they are sent.
type Conditions struct {
	// Loss, Duplicate and Reorder are probabilities per packet, 0 to 1.
	Loss, Duplicate, Reorder float64
	// DelayMin and DelayMax bound the uniformly distributed delay, inclusive. A
	// DelayMax below DelayMin means DelayMin.
	DelayMin, DelayMax int64
	// ReorderExtra is added to a reordered packet's delay; packets sent meanwhile
	// overtake it. At 0, Reorder has no effect.
	ReorderExtra int64
}

// delay maps a random number in [0, 1) to a delay.
func (c Conditions) delay(random float64) int64 {
	if c.DelayMax <= c.DelayMin {
		return c.DelayMin
	}
	return c.DelayMin + int64(random*float64(c.DelayMax-c.DelayMin+1))
}

// LinkStats counts packets since the link was made.
type LinkStats struct {
	Sent       int // calls of Send
	Lost       int // packets sent that will never arrive
	Duplicated int // copies made by the link, not included in Sent
	Reordered  int // packets and copies held back by ReorderExtra
	Delivered  int // packets and copies returned by Receive
	Pending    int // packets and copies in flight
}

// A Link carries packets one way. The package comment lists its invariants.
type Link struct {
	conditions Conditions
	rng        *rand.Rand
	inFlight   []packet // ordered by due, then by time of sending
	lastDue    int64    // arrival of the newest packet that was not reordered
	stats      LinkStats
}

type packet struct {
	due  int64
	data []byte
}

// NewLink returns an empty link whose randomness depends on seed alone.
func NewLink(seed uint64, c Conditions) *Link {
	return &Link{conditions: c, rng: rand.New(rand.NewPCG(seed, 0))}
}

// Send copies p into flight at time now, or loses it.
func (l *Link) Send(now int64, p []byte) {
	// Always draw the same number of random numbers (L3).
	lost, copied := l.rng.Float64(), l.rng.Float64()
	var late, held [2]float64
	for i := range late {
		late[i], held[i] = l.rng.Float64(), l.rng.Float64()
	}

	l.stats.Sent++
	if lost < l.conditions.Loss {
		l.stats.Lost++
		return
	}
	l.put(now, p, late[0], held[0])
	if copied < l.conditions.Duplicate {
		l.stats.Duplicated++
		l.put(now, p, late[1], held[1])
	}
}

func (l *Link) put(now int64, p []byte, late, held float64) {
	due := max(now+l.conditions.delay(late), l.lastDue)
	if held < l.conditions.Reorder && l.conditions.ReorderExtra > 0 {
		due += l.conditions.ReorderExtra
		l.stats.Reordered++
	} else {
		l.lastDue = due
	}
	// Insert after all packets due at the same time, to keep the order of sending.
	at := len(l.inFlight)
	for at > 0 && l.inFlight[at-1].due > due {
		at--
	}
	l.inFlight = slices.Insert(l.inFlight, at, packet{due: due, data: slices.Clone(p)})
	l.stats.Pending++
}

// Receive returns the packets due at time now in order of arrival, or nil. The caller
// owns them.
func (l *Link) Receive(now int64) [][]byte {
	var arrived [][]byte
	for _, p := range l.inFlight {
		if p.due > now {
			break
		}
		arrived = append(arrived, p.data)
	}
	l.inFlight = slices.Delete(l.inFlight, 0, len(arrived))
	l.stats.Delivered += len(arrived)
	l.stats.Pending -= len(arrived)
	return arrived
}

// SetConditions sets the conditions for later packets (L4). Packets sent after a stall
// do not overtake stalled ones.
func (l *Link) SetConditions(c Conditions) { l.conditions = c }

// Quiet reports whether no packet is in flight.
func (l *Link) Quiet() bool { return len(l.inFlight) == 0 }

// Stats returns the counts so far.
func (l *Link) Stats() LinkStats { return l.stats }

package simtest

import (
	"math/rand/v2"
	"slices"
)

// Conditions describe one direction of a network. The zero value is a perfect
// wire: everything sent at a time is received at that same time.
type Conditions struct {
	// Loss, Duplicate and Reorder are probabilities per packet, 0 to 1.
	Loss, Duplicate, Reorder float64
	// DelayMin and DelayMax bound the way from Send to Receive, both included,
	// evenly spread. A DelayMax below DelayMin means DelayMin.
	DelayMin, DelayMax int64
	// ReorderExtra is added to the delay of a reordered packet; packets sent
	// meanwhile overtake it. At 0, Reorder does nothing.
	ReorderExtra int64
}

// delay turns a die from [0, 1) into a delay.
func (c Conditions) delay(die float64) int64 {
	if c.DelayMax <= c.DelayMin {
		return c.DelayMin
	}
	return c.DelayMin + int64(die*float64(c.DelayMax-c.DelayMin+1))
}

// LinkStats counts packets since the link was made.
type LinkStats struct {
	Sent       int // calls of Send
	Lost       int // of those, never to arrive
	Duplicated int // copies made by the link, on top of Sent
	Reordered  int // packets and copies held back by ReorderExtra
	Delivered  int // packets and copies handed out by Receive
	Pending    int // packets and copies under way
}

// A Link carries packets one way. See the package comment for its invariants.
type Link struct {
	conditions Conditions
	dice       *rand.Rand
	underWay   []packet // by due, then in order of sending
	lastDue    int64    // arrival of the newest packet that was not reordered
	stats      LinkStats
}

type packet struct {
	due  int64
	data []byte
}

// NewLink returns an empty link whose dice depend on seed alone.
func NewLink(seed uint64, c Conditions) *Link {
	return &Link{conditions: c, dice: rand.New(rand.NewPCG(seed, 0))}
}

// Send puts a copy of p under way at time now, or loses it.
func (l *Link) Send(now int64, p []byte) {
	// Always the same number of dice, whether or not they matter: L3.
	lost, copied := l.dice.Float64(), l.dice.Float64()
	var late, held [2]float64
	for i := range late {
		late[i], held[i] = l.dice.Float64(), l.dice.Float64()
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
	// Behind everything that is due at the same time: equal times keep the
	// order of sending.
	at := len(l.underWay)
	for at > 0 && l.underWay[at-1].due > due {
		at--
	}
	l.underWay = slices.Insert(l.underWay, at, packet{due: due, data: slices.Clone(p)})
	l.stats.Pending++
}

// Receive returns every packet that is due at time now, in order of arrival,
// and nil if there is none. The caller owns what it is given.
func (l *Link) Receive(now int64) [][]byte {
	var arrived [][]byte
	for _, p := range l.underWay {
		if p.due > now {
			break
		}
		arrived = append(arrived, p.data)
	}
	l.underWay = slices.Delete(l.underWay, 0, len(arrived))
	l.stats.Delivered += len(arrived)
	l.stats.Pending -= len(arrived)
	return arrived
}

// SetConditions replaces the conditions for everything sent from now on (L4).
// Packets sent after a stall do not overtake those that are still stalled.
func (l *Link) SetConditions(c Conditions) { l.conditions = c }

// Quiet reports whether nothing is under way.
func (l *Link) Quiet() bool { return len(l.underWay) == 0 }

// Stats returns the counts so far.
func (l *Link) Stats() LinkStats { return l.stats }

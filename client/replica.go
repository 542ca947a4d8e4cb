package client

import (
	"iter"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/replication/wire"
)

// Observer is told what happens to the replica, as it happens. Every field may
// be nil. An *Entity is valid until its Leave or Destroy.
type Observer struct {
	// Enter: e came into interest; or, if it was there, it came anew, with another
	// set of components, as this client's own or no more, or after a fault.
	Enter func(e *Entity)
	// Update: e has newer state. It is told when all rows of the datagram are there.
	Update func(e *Entity)
	// Leave: h is out of this client's interest, and may well live: Hidden.
	Leave func(h bulk.Handle, why wire.Reason)
	// Destroy: h is gone for good: Stale. It is called for every handle that
	// the client was ever sent, in interest or out.
	Destroy func(h bulk.Handle, why wire.Reason)
}

// Replica is the client's copy of its interest set, and its memory of every
// handle it was ever sent. It does no input or output: bytes go in, verdicts
// come out. It belongs to one goroutine.
type Replica struct {
	codec    *rowcodec.Codec
	floor    uint32 // generations below it are of an earlier run (H5)
	maxSlots uint32
	limits   limits
	observer Observer

	cells       cells
	entities    []*Entity // the live ones, in no order
	entityBytes int       // theirs, with their states
	room        int       // bytes that the message being checked may still take
	living      int       // entities after the records of it that were checked
	applied     uint32    // structure records applied
	proven      uint32    // the highest structure number of a snapshot applied
	acks        ackWindow
	tick        uint32 // of the newest snapshot, and
	before      uint32 // of the newest of an earlier tick
	span        uint32 // how many ticks of states are kept for Component.At
	shown       uint32 // the moment of the newest frame
	held        []heldDatagram
	rows        []decodedRow    // of the datagram being read
	arena       []uint32        // their words
	coded       rowcodec.Past   // what a row is coded from
	anchor      rowcodec.Anchor // of
	anchored    int             // the row at this place, in
	anchorPart  int             // this component
	reader      bitio.Reader
	warmed      uint32     // a sum of words, so that they are read
	entering    []entering // of the Structure message that is applied, of which
	entered     int        // so many have been, and
	foreseen    []foreseen // what it makes of the cells
	stats       ReplicaStats
}

// ReplicaStats counts what the replica saw.
type ReplicaStats struct {
	Snapshots  uint64 // State datagrams applied
	Frames     uint64 // of those, that were the first of a newer tick: moments that the game was shown
	Duplicates uint64 // dropped: applied before, or too old to tell
	Held       uint64 // overtook their structure and waited
	Overflowed uint64 // dropped unacknowledged: too many waited
	Unreadable uint64 // dropped unacknowledged: a row's entity left, died or entered anew since, or its baseline is gone
	Faults     uint64 // fold mismatches: refused whole
	Rows       uint64 // rows that became current
	RowsLate   uint64 // rows older than what was current
	Enters     uint64
	Leaves     uint64
	Destroys   uint64
}

func newReplica(c *rowcodec.Codec, floor, maxSlots uint32, l limits, o Observer) *Replica {
	return &Replica{codec: c, floor: floor, maxSlots: maxSlots, limits: l, observer: o}
}

// Applier feeds a Replica by hand, without a Session: for tests and simulations of
// replication. A Session's Replica is fed only by its Session.
type Applier struct{ *Replica }

// NewApplier makes an empty replica with the default limits of Config. floor
// and maxSlots are the Welcome's: handles of a generation below floor are of an
// earlier run of the server and Stale (H5), and slots are below maxSlots. The
// codec's schema and tables are the server's.
func NewApplier(c *rowcodec.Codec, floor, maxSlots uint32, o Observer) *Applier {
	return &Applier{newReplica(c, floor, maxSlots, SessionConfig{}.limits(), o)}
}

// ApplyStructure applies the body of a Structure message whole or not at all, then
// the datagrams that waited for it. An error is the server's fault and final: the
// stream is reliable, so nothing that follows could be right.
func (a *Applier) ApplyStructure(body []byte) error { return a.applyStructure(body) }

// ApplyState applies a State datagram whole or not at all. It returns an error for
// bytes that are no State datagram, and otherwise what became of it.
func (a *Applier) ApplyState(datagram []byte) (Outcome, error) {
	_, outcome, err := a.applyState(datagram)
	return outcome, err
}

// Lookup returns the verdict on h, and the entity if h is Live:
//
//	Live     in view
//	Hidden   out of view; it may well live
//	Pending  not here yet, or never issued
//	Stale    destroyed; final
//
// h may be any value; one that can never name an entity is Stale.
func (r *Replica) Lookup(h bulk.Handle) (*Entity, wire.Verdict) {
	if !h.Valid() || h.Generation() < r.floor || h.Index() >= r.maxSlots {
		return nil, wire.Stale
	}
	c := r.cells.peek(h.Index())
	if c == nil {
		return nil, wire.Pending
	}
	v := c.resolve(h)
	if v != wire.Live {
		return nil, v
	}
	return c.entity, v
}

// Resolve returns Lookup's verdict on h.
func (r *Replica) Resolve(h bulk.Handle) wire.Verdict {
	_, v := r.Lookup(h)
	return v
}

// Entity returns Lookup's entity, nil unless h is Live.
func (r *Replica) Entity(h bulk.Handle) *Entity {
	e, _ := r.Lookup(h)
	return e
}

// All yields the live entities, in no particular order. The replica must not
// be fed meanwhile.
func (r *Replica) All() iter.Seq[*Entity] {
	return func(yield func(*Entity) bool) {
		for _, e := range r.entities {
			if !yield(e) {
				return
			}
		}
	}
}

// Len is the number of live entities.
func (r *Replica) Len() int { return len(r.entities) }

// Tick is the newest tick of which a snapshot was applied.
func (r *Replica) Tick() uint32 { return r.tick }

// Structure is the number of structure records applied.
func (r *Replica) Structure() uint32 { return r.applied }

// SnapshotStructure is the structure number of the snapshots applied, the highest of
// them: whatever the server knew when it made that snapshot, its records have been
// applied. Structure may be ahead of it, by a part of what the next snapshot tells.
func (r *Replica) SnapshotStructure() uint32 { return r.proven }

// Ack is what the server is to be told: what was applied (H6).
func (r *Replica) Ack() wire.Ack {
	return wire.Ack{Seen: r.acks.newest != 0, Newest: r.acks.newest, Mask: r.acks.mask, Structure: r.applied}
}

// Stats returns the counters since the start.
func (r *Replica) Stats() ReplicaStats { return r.stats }

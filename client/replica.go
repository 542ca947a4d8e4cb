package client

import (
	"cmp"
	"iter"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client/internal/bodies"
	"github.com/worldd/worldd/client/internal/work"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// Observer holds callbacks for changes of the replica. Each may be nil. An *Entity is
// valid until its Leave or Destroy.
type Observer struct {
	// Enter is called when e enters the interest set. For an entity in view it is
	// called again when its set of components or its ownership changes, or after a
	// resync.
	Enter func(e *Entity)
	// Update is called when the server sent a newer state of e, after all rows of the datagram
	// were applied, and when a string or []byte of e has changed. It is not called for motion
	// that the client computes (Config.Simulate).
	Update func(e *Entity)
	// Leave is called when h leaves the interest set: it is Hidden, and may be alive.
	Leave func(h bulk.Handle, why wire.Reason)
	// Destroy is called when h becomes Stale, for every handle that the server sent, in view or
	// not. cause is the game's reason. It is 0 if the game gave none, or if the client learns
	// of the death from the slot's next entity.
	Destroy func(h bulk.Handle, cause uint8)
	// Diverge is called when the states that the client computed for entities differ from the
	// server's of the same tick (Config.Simulate): a bug on either side. The client asks the
	// server to send all states again. Diverge is not called again before the states agree.
	Diverge func(tick uint32, entities []bulk.Handle)
}

// Replica is the client's copy of its interest set, and its record of every handle that the
// server sent. Only its Session changes it. It belongs to one goroutine.
type Replica struct {
	entities entities
	check    structureCheck
	rows     stateRows
	held     []heldDatagram
	events   eventQueue
	timeline timeline
	memory   memory

	applied       uint32 // structure records applied
	fence         uint32 // snapshots with a lower structure number are of an earlier room
	structureTick uint32 // of the newest Structure message
	ended         bool   // the world is gone: the rest of the message being applied is dropped

	provisional *provisionals // the Session's
	budget      *work.Budget  // the Session's
	stats       ReplicaStats
}

// ReplicaStats says what the replica has applied, and counts what it received, to tell a bad
// link from a fault.
type ReplicaStats struct {
	AppliedInput  uint32 // tick of the newest input that the server had applied at Tick, 0 if none: see SetInput
	StructureTick uint32 // all events, texts and deaths up to this tick are applied; less than Tick while the stream waits for a lost packet
	// SnapshotStructure is the highest structure number of the snapshots applied. Everything
	// that the server had sent when it made that snapshot is applied. Ack.Structure, the number
	// of structure records applied, may be higher by records for the next snapshot.
	SnapshotStructure uint32
	Ack               wire.Ack // of what was applied (H6), for tests that check the protocol
	Bytes             int      // memory of cells, entities with their states, waiting datagrams and scratch; Config.MaxBytes bounds it

	Snapshots  uint64 // State datagrams applied
	Frames     uint64 // State datagrams applied that were the first of their tick
	Duplicates uint64 // dropped: applied before, or too old to tell
	Held       uint64 // overtook their structure, and waited for it
	Overflowed uint64 // dropped unacknowledged: too many waited
	Unreadable uint64 // dropped unacknowledged: the entity of a row left, died or re-entered since, or a baseline is gone
	Faults     uint64 // rejected: the fold does not match
	Rows       uint64 // rows that became current
	RowsLate   uint64 // rows older than the current state
	Enters     uint64
	Leaves     uint64
	Destroys   uint64
	Events     uint64
	Texts      uint64 // changes of strings and []byte
	Motion     MotionStats
}

// replicaOptions are the options of newReplica. Zero pointers are for a replica without a
// Session.
type replicaOptions struct {
	layout      *layout
	issued      handleRange
	interval    uint32 // ticks between two snapshots; 0: unknown
	plain       bool   // rows have no baselines
	limits      limits
	observer    Observer
	events      *Events
	provisional *provisionals
	budget      *work.Budget
	stats       ReplicaStats // starting values of the counters
}

func newReplica(o replicaOptions) *Replica {
	r := &Replica{
		provisional: cmp.Or(o.provisional, &provisionals{}), budget: cmp.Or(o.budget, &work.Budget{}), stats: o.stats,
		memory: memory{max: o.limits.bytes}, timeline: timeline{snapshotTicks: snapshotTicks{interval: o.interval}},
	}
	r.entities = entities{layout: o.layout, issued: o.issued, observer: o.observer, stats: &r.stats}
	r.events = eventQueue{events: o.events, schema: o.layout.schema, bodies: o.layout.messages.Events, stats: &r.stats}
	r.check = structureCheck{entities: &r.entities, events: &r.events, provisional: r.provisional, memory: &r.memory, maxEntities: o.limits.entities}
	r.rows = stateRows{entities: &r.entities, memory: &r.memory, codec: o.layout.codec, width: o.layout.values, plain: o.plain}
	return r
}

// simulateBodies makes r, which is empty, compute bodies.
func (r *Replica) simulateBodies(tickHz int) error {
	b, err := bodies.New(bodies.Config{
		Schema: r.Schema(), TickHz: tickHz, Replica: simulatedReplica{r}, Budget: r.budget, Stats: bodies.Stats(r.stats.Motion),
	})
	r.entities.computeBodies(b)
	return err
}

// Resolve returns the verdict on h:
//
//	Live     in view
//	Hidden   out of view; it may well live
//	Pending  not here yet, or never issued
//	Stale    destroyed; final
//
// h may be any value; a value that can never name an entity is Stale. For a provisional handle
// the verdict is Provisional before its answer, Stale if it was rejected, and otherwise its
// entity's; see Session.Provisional.
func (r *Replica) Resolve(h bulk.Handle) wire.Verdict {
	_, v := r.lookUp(h)
	return v
}

// Entity returns the entity that h names, nil unless h is Live.
func (r *Replica) Entity(h bulk.Handle) *Entity {
	e, _ := r.lookUp(h)
	return e
}

func (r *Replica) lookUp(h bulk.Handle) (*Entity, wire.Verdict) {
	if wire.IsProvisional(h) {
		entity, v := r.provisional.entityOf(h)
		if entity == 0 {
			return nil, v
		}
		h = entity
	}
	return r.entities.findEntity(h)
}

// All yields the live entities in no particular order. Do not call Update while
// iterating.
func (r *Replica) All() iter.Seq[*Entity] {
	return func(yield func(*Entity) bool) {
		for _, e := range r.entities.all {
			if !yield(e) {
				return
			}
		}
	}
}

// Len returns the number of live entities.
func (r *Replica) Len() int { return len(r.entities.all) }

// Schema returns the server's schema, with the types of the components, events and
// commands that Config.Schema declares. Read only.
func (r *Replica) Schema() *schema.Schema { return r.entities.layout.schema }

// Tick returns the tick of the newest snapshot applied; 0 before the first, when entities may exist without states.
func (r *Replica) Tick() uint32 { return r.timeline.tick }

// acknowledgement returns the acknowledgement of what was applied (H6).
func (r *Replica) acknowledgement() wire.Ack {
	acks := &r.timeline.acks
	return wire.Ack{Seen: acks.newest != 0, Newest: acks.newest, Mask: acks.mask, Structure: r.applied}
}

// Stats returns what was applied, and the counters since the start.
func (r *Replica) Stats() ReplicaStats {
	n := r.stats
	n.AppliedInput, n.StructureTick, n.SnapshotStructure = r.timeline.input, r.structureTick, r.timeline.proven
	n.Ack, n.Bytes = r.acknowledgement(), r.bytes()
	if b := r.entities.bodies; b != nil {
		n.Motion = MotionStats(b.Stats())
	}
	return n
}

package client

import (
	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client/internal/bodies"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world/motion"
)

// MotionStats counts the work of a client with Config.Simulate.
type MotionStats struct {
	Clean    int    // bodies in view that the client computes now
	Owed     uint64 // exact states received in rows
	Steps    uint64 // body-ticks computed, of bodies that were awake
	Rerun    uint64 // share of Steps in past ticks, for states older than the others
	Audited  uint64 // audits that could be checked
	Faults   uint64 // audits that failed
	Behind   uint64 // snapshots to whose tick computing could not catch up in time
	Overruns uint64 // times that computing took too long and paused until a Resync
}

// simulatedReplica adapts a Replica to bodies.Replica.
type simulatedReplica struct{ *Replica }

// IndexOf implements bodies.Replica.
func (r simulatedReplica) IndexOf(h bulk.Handle) (index uint32, inView bool) {
	e := r.Entity(h)
	if e == nil {
		return 0, false
	}
	return e.index, true
}

// Structure implements bodies.Replica.
func (r simulatedReplica) Structure() uint32 { return r.applied }

// WillBeInView implements bodies.Replica.
func (r simulatedReplica) WillBeInView(h bulk.Handle) bool {
	return r.check.willBeInView(h)
}

// AppendAudited implements bodies.Replica.
func (r simulatedReplica) AppendAudited(dst []bodies.Audited, seq uint32) []bodies.Audited {
	for _, e := range r.entities.all {
		if wire.Audited(e.handle, seq) {
			dst = append(dst, bodies.Audited{Index: e.index, Tick: e.states.tick})
		}
	}
	return dst
}

// Diverged implements bodies.Replica.
func (r simulatedReplica) Diverged(tick uint32, entities []bulk.Handle) {
	if f := r.entities.observer.Diverge; f != nil {
		f(tick, entities)
	}
}

// isComputed reports whether the client computes the body of e.
func (e *Entity) isComputed() bool {
	return e.layout.bodies != nil && e.layout.bodies.Computes(e.index)
}

// Exact returns the newest state of e's body that the client computed or received, and the tick
// after which the server's body had it, to the bit. It returns false without Config.Simulate,
// and for entities that the server sends as ordinary rows.
func (e *Entity) Exact() (s motion.State, tick uint32, ok bool) {
	if e.layout.bodies == nil {
		return s, 0, false
	}
	return e.layout.bodies.Newest(e.index)
}

// isBody reports whether component n of e is the body that this package computes.
func (e *Entity) isBody(n int) bool {
	return e.layout.bodies != nil && n == e.layout.bodies.Component()
}

// newestValues returns the newest values of component n of e. For the body of an exact entity
// they are computed, and valid until the next call.
func (e *Entity) newestValues(n int) []uint32 {
	if e.isBody(n) {
		if s, _, ok := e.Exact(); ok {
			return e.layout.bodies.Quantise(&s)
		}
	}
	return e.valuesOf(n, int(e.states.newest))
}

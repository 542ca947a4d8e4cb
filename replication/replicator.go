package replication

import (
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/fault"
	"github.com/worldd/worldd/internal/invariants"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// Replicator makes frames of one world and holds its viewers. It belongs to
// the goroutine that owns the world.
type Replicator struct {
	world   *world.World
	config  Config
	frame   *Frame
	viewers []*Viewer
	stats   Stats
	kinds   []world.Kind
	floor   uint32 // the world's first generation
	// unplaced holds the slots of entities without a body: they are nowhere,
	// so they are relevant to everybody.
	unplaced bulk.Bitset
}

// New makes a Replicator. Every component of the schema must be registered in
// the world under the same name and type, except BodyComponent.
func New(w *world.World, s *wire.Schema, c Config) (*Replicator, error) {
	c = c.WithDefaults()
	if err := c.Validate(w.TickHz()); err != nil {
		return nil, err
	}
	bound, err := bind(w, s)
	if err != nil {
		return nil, err
	}
	f := newFrame(s, bound)
	f.issued = func(h bulk.Handle) bool { return w.Status(h) != bulk.Unissued }
	return &Replicator{world: w, config: c, frame: f, floor: w.Config().FirstGeneration}, nil
}

// Config returns the configuration in force, defaults filled in.
func (r *Replicator) Config() Config { return r.config }

// Due says whether a viewer is to be sent a snapshot of the present tick. Phases
// spread the viewers over the ticks of one send interval: a third of them in
// each of three ticks is a third of the peak.
func (r *Replicator) Due(phase uint64) bool {
	return (r.world.Tick()+phase)%uint64(r.world.TickHz()/r.config.SnapshotHz) == 0
}

// AfterStep tells every viewer of the entities that the last step destroyed.
// It is called after every step, replicated or not: between two frames a slot
// may change hands more than once, and each tenant is another handle (H4, R5).
func (r *Replicator) AfterStep() {
	if fault.FramesOnly && !r.Due(0) {
		return
	}
	for _, h := range r.world.Destroyed() {
		r.frame.vacate(h)
		r.unplaced.Clear(h.Index())
		for _, v := range r.viewers {
			v.destroyed(h)
		}
	}
}

// Capture makes the frame of the present tick. Snapshots are taken of it.
func (r *Replicator) Capture() {
	for slot := range r.world.Dirty().All() {
		if _, _, placed := r.world.Body(slot); !placed {
			r.unplaced.Set(slot)
		} else {
			r.unplaced.Clear(slot)
		}
	}
	r.frame.capture(r.world)
	r.stats.Frames++
}

// priorityOf is the priority of a kind; kinds are only ever added.
func (r *Replicator) priorityOf(k world.KindID) float32 {
	if int(k) >= len(r.kinds) {
		r.kinds = r.world.Kinds()
	}
	if p := r.kinds[k].Priority; p > 0 {
		return p
	}
	return 1
}

// AddViewer makes a viewer that looks from where focus is.
func (r *Replicator) AddViewer(focus bulk.Handle) *Viewer {
	v := &Viewer{replicator: r, focus: focus, index: map[uint32]int{}, toldDead: map[uint32]uint32{}}
	v.teach = v.Teach
	v.near = func(h world.Entity, at world.Vec3) bool {
		if r.frame.tenantOf(h) != nil { // else it was spawned since: R1
			d := at.Sub(v.center)
			v.want(h, d.Dot(d))
		}
		return true
	}
	r.viewers = append(r.viewers, v)
	return v
}

// RemoveViewer forgets v.
func (r *Replicator) RemoveViewer(v *Viewer) {
	if i := slices.Index(r.viewers, v); i >= 0 {
		r.viewers = slices.Delete(r.viewers, i, i+1)
	}
}

// Stats returns the counters since the start.
func (r *Replicator) Stats() Stats { return r.stats }

// audit runs the full check of v in builds with invariants.
func (r *Replicator) audit(v *Viewer) {
	if invariants.Enabled {
		invariants.Check(v.CheckInvariants())
	}
}

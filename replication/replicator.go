package replication

import (
	"fmt"
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/invariants"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/world"
)

// Replicator makes frames of one world and holds its viewers. It belongs to
// the goroutine that owns the world.
type Replicator struct {
	world   *world.World
	config  Config
	frame   *frame
	viewers []*Viewer
	frames  uint64 // captured
	kinds   []world.Kind
	floor   uint32 // the world's first generation
	// interval is how many ticks there are from one snapshot to the next, at least.
	interval uint32
	// unplaced holds the slots of entities without a body: they are nowhere,
	// so they are relevant to everybody.
	bodiless bulk.Bitset
	grid     grid
	changes  changeLog
	replaced changeLog // of the changes, those that gave the slot another tenant or none
	// deaths are the handles that were destroyed, from number forgotten on;
	// viewers that know of them have yet to tell their clients.
	deaths        []bulk.Handle
	deathsDropped uint64
	workspaces    []*workspace // by worker
	workers       workerPool
}

// New makes a Replicator, the only one of its world: it takes what is World.Dirty. A
// world that is restored wants a new one. Every component of the schema must be
// registered in the world under the same name and type, except schema.BodyComponent.
func New(w *world.World, s *schema.Schema, c Config) (*Replicator, error) {
	c = c.WithDefaults()
	if err := c.Validate(w.TickHz()); err != nil {
		return nil, err
	}
	bound, err := bind(w, s)
	if err != nil {
		return nil, err
	}
	if err := rowcodec.CheckRows(s); err != nil {
		return nil, fmt.Errorf("replication: %w", err)
	}
	f := newFrame(rowcodec.New(s, c.Tables), bound)
	f.coded = c.Coded
	f.issued = func(h bulk.Handle) bool { return w.Status(h) != bulk.Unissued }
	r := &Replicator{
		world: w, config: c, frame: f, floor: w.Config().FirstGeneration,
		interval: uint32(w.TickHz() / c.SnapshotHz),
		grid:     newGrid(w.Config().HalfExtent, c.EnterRadius),
	}
	for range c.Workers {
		r.workspaces = append(r.workspaces, &workspace{})
	}
	return r, nil
}

// Codec is what rows are coded with.
func (r *Replicator) Codec() *rowcodec.Codec { return r.frame.codec }

// Config returns the configuration in force, defaults filled in.
func (r *Replicator) Config() Config { return r.config }

// Tick is the world's present tick as the protocol counts it.
func (r *Replicator) Tick() uint32 { return uint32(r.world.Tick() - r.config.TickBase) }

// SetBudget changes Config.BudgetBytesPerSecond for all viewers, from their next
// snapshots on.
func (r *Replicator) SetBudget(bytesPerSecond int) { r.config.BudgetBytesPerSecond = bytesPerSecond }

// Due says whether it is a viewer's turn to be sent a snapshot in the present tick:
// as often a second as Config.SnapshotHz says. Phases spread the viewers over the
// ticks of one send interval: a third of them in each of three ticks is a third of
// the peak. Two turns of one viewer are never closer to each other than an interval
// of whole ticks.
func (r *Replicator) Due(phase uint64) bool {
	moment := r.world.Tick() + phase
	return r.turnsBefore(moment+1) != r.turnsBefore(moment)
}

// due is how many turns a viewer has before a tick: the line of their rate, rounded
// up, so that two of them are a tick closer than on average at most.
func (r *Replicator) turnsBefore(tick uint64) uint64 {
	hz := uint64(r.world.TickHz())
	return (tick*uint64(r.config.SnapshotHz) + hz - 1) / hz
}

// AfterStep takes in which entities the last step destroyed. It is called after
// every step, replicated or not: between two frames a slot may change hands more
// than once, and each tenant is another handle (H4, R5).
func (r *Replicator) AfterStep() {
	r.grid.capture = r.changes.captures + 1
	for _, h := range r.world.Destroyed() {
		slot := h.Index()
		r.frame.vacate(h)
		r.bodiless.Clear(slot)
		r.grid.remove(slot)
		r.changes.openSet().Set(slot)
		r.replaced.openSet().Set(slot)
		r.deaths = append(r.deaths, h)
	}
	r.dropSeenDeaths()
}

// forget drops the deaths that all viewers have told their clients of.
func (r *Replicator) dropSeenDeaths() {
	seen := r.deathsDropped + uint64(len(r.deaths))
	for _, v := range r.viewers {
		if len(r.deaths) > maxDeaths {
			v.recordDeaths()
		}
		seen = min(seen, v.deathsSeen)
	}
	r.deaths = slices.Delete(r.deaths, 0, int(seen-r.deathsDropped))
	r.deathsDropped = seen
}

// Capture makes the frame of the present tick. Snapshots are taken of it.
func (r *Replicator) Capture() {
	changed := r.changes.close()
	r.grid.capture = r.changes.captures
	changed.SetOr(changed, r.world.Dirty())
	r.frame.capture(r.world, r.Tick())
	for word, mask := range bulk.Or(changed) {
		for slot := range bulk.Bits(word<<6, mask) {
			r.updateGrid(slot)
		}
	}
	replaced := r.replaced.close()
	for _, slot := range r.frame.replaced {
		replaced.Set(slot)
	}
	r.grid.updateHeights()
	r.frames++
}

// place notes where the tenant of a slot is, if it has one.
func (r *Replicator) updateGrid(slot uint32) {
	if int(slot) >= len(r.frame.tenants) {
		return
	}
	t := &r.frame.tenants[slot]
	if int(t.kind) >= len(r.kinds) {
		r.kinds = r.world.Kinds() // kinds are only ever added
	}
	switch {
	case r.frame.summaries[slot].handle == 0: // AfterStep took it out
	case t.hasBody:
		r.bodiless.Clear(slot)
		r.grid.put(slot, t.position)
	default:
		r.bodiless.Set(slot)
		r.grid.remove(slot)
	}
}

// priorityOf is the priority of a kind that is in the frame.
func (r *Replicator) kindPriority(k world.KindID) float32 {
	if p := r.kinds[k].Priority; p > 0 {
		return p
	}
	return 1
}

// AddViewer makes a viewer that looks from where focus is.
func (r *Replicator) AddViewer(focus bulk.Handle) *Viewer {
	v := &Viewer{
		replicator: r, work: r.workspaces[0], focus: focus,
		lastCapture: r.changes.captures, deathsSeen: r.deathsDropped + uint64(len(r.deaths)),
	}
	v.teachFunc, v.requestFunc, v.allowedFunc = v.Teach, v.requestEnters, v.allowedByRules
	r.viewers = append(r.viewers, v)
	return v
}

// RemoveViewer forgets v, which is not used after.
func (r *Replicator) RemoveViewer(v *Viewer) {
	if i := slices.Index(r.viewers, v); i >= 0 {
		r.viewers = slices.Delete(r.viewers, i, i+1)
	}
}

// Stats returns the counters since the start.
func (r *Replicator) Stats() Stats {
	s := Stats{Frames: r.frames}
	for _, w := range r.workspaces {
		s.add(&w.stats)
	}
	return s
}

// audit runs the full check of v in builds with invariants.
func (r *Replicator) audit(v *Viewer) {
	if invariants.Audits {
		invariants.Check(v.CheckInvariants())
	}
}

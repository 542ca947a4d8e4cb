package replication

import (
	"fmt"
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/invariants"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/world"
)

// Replicator makes frames of one world and holds its viewers. It belongs to the
// goroutine that owns the world.
type Replicator struct {
	world   *world.World
	reader  *world.ChangeReader
	config  Config
	frame   *frame
	viewers []*Viewer
	frames  uint64 // number of frames captured
	floor   uint32 // the world's first generation
	ceiling uint32 // the world's last generation
	// interval is the minimum number of ticks between two snapshots of a viewer.
	interval uint32
	// maxEventTicks is the age in ticks above which an unreliable event is late.
	maxEventTicks uint32
	// bodiless holds the slots of entities without a body. They have no position and
	// are relevant to every viewer.
	bodiless    bulk.Bitset
	grid        grid
	changes     slotChanges
	deaths      deathLog
	clean       *clean            // nil if clients cannot simulate (newClean)
	event       rowschema.Payload // scratch
	dirty       []uint32          // scratch of Capture: the slots to read
	prefetchSum uint32            // keeps the compiler from dropping Capture's prefetches
	workers     workerPool
}

// New makes a Replicator of a world; Close it after use. A restored world needs a new
// Replicator. Every component of the schema must be registered in the world under the same
// name and type, except schema.BodyComponent.
func New(w *world.World, s *schema.Schema, c Config) (*Replicator, error) {
	c = c.WithDefaults()
	if err := c.Validate(w.TickHz()); err != nil {
		return nil, err
	}
	bound, err := bindComponents(w, s)
	if err != nil {
		return nil, err
	}
	if err := rowcodec.CheckRows(s); err != nil {
		return nil, fmt.Errorf("replication: %w", err)
	}
	clean := newClean(w, s, c.TickBase)
	r := &Replicator{
		world: w, reader: w.NewChangeReader(), config: c, clean: clean,
		frame: newFrame(w, rowcodec.New(s, c.Tables), bound, clean),
		floor: w.Config().FirstGeneration, ceiling: w.Config().LastGeneration,
		interval:      uint32(w.TickHz() / c.SnapshotHz),
		maxEventTicks: uint32(maxEventAge.Nanoseconds() * int64(w.TickHz()) / 1e9),
		grid:          newGrid(w.Config().HalfExtent, c.EnterRadius),
	}
	r.workers.addWorkspaces(r)
	return r, nil
}

// Schema returns the schema of rows.
func (r *Replicator) Schema() *schema.Schema { return r.frame.schema }

// Config returns the configuration in force, with defaults filled in.
func (r *Replicator) Config() Config { return r.config }

// Tick returns the world's present tick in the protocol's count.
func (r *Replicator) Tick() uint32 { return uint32(r.world.Tick() - r.config.TickBase) }

// SetBudget changes Config.BudgetBytesPerSecond for all viewers, from their next
// snapshots on.
func (r *Replicator) SetBudget(bytesPerSecond int) { r.config.BudgetBytesPerSecond = bytesPerSecond }

// Due reports whether a viewer with this phase gets a snapshot in the present tick,
// Config.SnapshotHz times a second. Phases spread the viewers over the ticks of one send
// interval, which lowers the peak load. Two snapshots of one viewer are at least one whole
// interval apart.
func (r *Replicator) Due(phase uint64) bool {
	moment := r.world.Tick() + phase
	return r.turnsBefore(moment+1) != r.turnsBefore(moment)
}

// turnsBefore returns how many snapshots are due before a tick. Rounded up, so that two
// snapshots are at most one tick closer than on average.
func (r *Replicator) turnsBefore(tick uint64) uint64 {
	hz := uint64(r.world.TickHz())
	return (tick*uint64(r.config.SnapshotHz) + hz - 1) / hz
}

// AfterStep records the entities that the last step destroyed. Call it after every step,
// even without a Capture: between two frames a slot may have several tenants, each with its
// own handle (H4, R5).
func (r *Replicator) AfterStep() {
	for h, cause := range r.world.Destroyed() {
		slot := h.Index()
		r.frame.vacateSlot(h)
		r.bodiless.Clear(slot)
		r.grid.removeBody(slot)
		r.changes.vacateSlot(slot)
		r.deaths.addDeath(death{h, cause})
	}
	r.dropSeenDeaths()
	r.frame.noteTeleports(r.world, r.Tick())
	if r.clean != nil && r.clean.viewers > 0 {
		r.changes.noteOwing(r.clean.recordStep(r.world, r.frame.schema, r.Tick()))
	}
}

// dropSeenDeaths drops the deaths that every viewer has recorded.
func (r *Replicator) dropSeenDeaths() {
	seen := r.deaths.count()
	for _, v := range r.viewers {
		if len(r.deaths.deaths) > maxDeaths {
			v.knowledge.recordDeaths(r.ownWorkspace(), &v.members, &v.outbox)
		}
		seen = min(seen, v.knowledge.deathsSeen)
	}
	r.deaths.dropFirst(seen)
}

// canIssue reports whether the world can ever issue h. If not, h is Stale to every client.
func (r *Replicator) canIssue(h bulk.Handle) bool {
	return h.Valid() && h.Generation() >= r.floor && h.Generation() <= r.ceiling
}

// RemoveViewer removes v, which must not be used afterwards.
func (r *Replicator) RemoveViewer(v *Viewer) {
	if i := slices.Index(r.viewers, v); i >= 0 {
		r.viewers = slices.Delete(r.viewers, i, i+1)
		if v.simulation != nil {
			r.clean.removeViewer()
		}
	}
}

// Stats returns the counters since the start.
func (r *Replicator) Stats() Stats {
	s := Stats{Frames: r.frames}
	for _, w := range r.workers.workspaces {
		s.addCounters(&w.stats)
	}
	return s
}

// auditViewer checks v in builds with invariants, while no other worker refreshes a row.
func (r *Replicator) auditViewer(v *Viewer) {
	if invariants.Audits {
		r.frame.stale.lock.Lock()
		defer r.frame.stale.lock.Unlock()
		invariants.Check(v.CheckInvariants())
	}
}

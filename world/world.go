package world

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/world/motion"
)

// Entity names an entity: a weak handle into the world's pool of slots. It is
// the same number on the wire and on every client.
type Entity = bulk.Handle

// seedStream is the second word of the random generator's seed, so that a world
// and some other user of the same seed do not draw the same numbers.
const seedStream = 0x776f726c64640001

// World is one simulated world. It belongs to one goroutine; the functions that
// only read (Get, Position, Within, StateHash, ...) may run in several at once
// while nobody writes.
type World struct {
	cfg     Config
	motion  motion.Stepper
	tick    uint64
	running bool // inside Step

	pcg  *rand.PCG
	rand *rand.Rand

	pool        *bulk.Pool[entity]
	rowOf       []int32  // by slot: row of the body, or noRow
	generations []uint32 // by slot: newest ever issued
	doomed      bulk.Bitset
	unmarked    bulk.Bitset // spawned, and not marked as dirty yet, nor its components as changed
	dirty       bulk.Bitset // slots that changed since the last Next of any reader
	readers     []*ChangeReader
	wheel       wheel
	expiring    bulk.Bitset // slots that are in the wheel

	kinds      []kind
	components []column
	presences  []*bulk.Bitset // of the components
	deferred   deferred
	added      []*system // in the order of AddSystem
	systems    []*system // in the order in which they run
	current    string    // name of the one that runs
	clock      func() time.Duration
	stats      []SystemStats // memory of Stats

	solid       bool    // some kind is
	solidRadius float32 // of the largest solid kind
	radius      float32 // of the largest kind
	contacts    contacts
	mover       Mover
	moving      Moving
	wakeList    []int32 // memory of rouse

	bodies     bodies
	sleepState sleepState
	order      order
	grid       grid
	effects    effects
	volumes    volumes
	workers    *workers
	moveBlocks func(c *chunk, block int) // moveBlock; bound once, since binding allocates
	copyBlocks func(c *chunk, block int) // copyBlock, likewise
	copied     *rowImage                 // by copyBlocks
	events     events
	counts     counts
	history    history
	preparing  *Image // by PrepareImage

	recorder *Recorder // nil: nobody records
}

// entity is what the pool keeps by slot.
type entity struct {
	expires uint64 // last tick, 0 for none
	next    uint32 // neighbours in the wheel bucket, slot+1; 0 for none
	prev    uint32
	kind    KindID
}

type counts struct {
	spawned, destroyed, reused, quarantined uint64
}

// New makes an empty world. The error is the caller's, and lists everything that
// Config.Validate complains about.
func New(cfg Config) (*World, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	pool, err := bulk.NewPool[entity](bulk.Options{MaxSlots: cfg.MaxEntities, FirstGeneration: cfg.FirstGeneration})
	if err != nil {
		return nil, fmt.Errorf("world: entities: %w", err)
	}
	w := &World{cfg: cfg, pool: pool}
	w.motion = motion.New(motion.Params{
		TickHz: cfg.TickHz, Gravity: cfg.Gravity, HalfExtent: cfg.HalfExtent, Bounds: cfg.Bounds,
		RestSpeed: cfg.RestSpeed, RestTicks: uint32(cfg.RestTicks),
	})
	w.pcg = rand.NewPCG(cfg.Seed, seedStream)
	w.rand = rand.New(w.pcg)
	w.bodies.init(cfg.Compaction)
	w.grid = newGrid(cfg)
	w.history.reset(cfg.HistoryTicks, 0)
	if w.effects, err = newEffects(); err != nil {
		return nil, err
	}
	w.workers = newWorkers(cfg.Workers)
	w.moveBlocks, w.copyBlocks = w.moveBlock, w.copyBlock
	return w, nil
}

// Close ends the goroutines of a world with several workers; it has none
// otherwise. A closed world still works, in the goroutine that calls Step.
func (w *World) Close() { w.workers.close() }

// Config returns the configuration with its defaults filled in. Its Gravity is the
// number that bodies fall by: 0 if there is none, which New would take for the
// default.
func (w *World) Config() Config { return w.cfg }

// Tick returns the number of steps begun: inside a step it is that step's own
// number, and 1 is the first.
func (w *World) Tick() uint64 { return w.tick }

// TickHz returns the steps per simulated second.
func (w *World) TickHz() int { return w.cfg.TickHz }

// Rand returns the world's random generator. It is part of the state: what is
// drawn from it is the same in every world with the same seed and the same
// draws before.
func (w *World) Rand() *rand.Rand { return w.rand }

// Live returns the live slots. Read only.
func (w *World) Live() *bulk.Bitset { return w.pool.Live() }

// Slots returns the number of slots ever used: every slot is below it.
func (w *World) Slots() uint32 { return w.pool.Slots() }

// HandleAt returns the handle of the slot's tenant, zero when it has none.
func (w *World) HandleAt(slot uint32) Entity { return w.pool.HandleAt(slot) }

// Status says whether the entity is live, was once, or was never issued. A
// doomed entity is live until the end of the step.
func (w *World) Status(e Entity) bulk.Status { return w.pool.Status(e) }

// Stats counts what is in the world and what has happened to it.
type Stats struct {
	Entities    int    // live
	Awake       int    // bodies that the next step will move
	Asleep      int    // bodies that it will not
	Effects     int    // in the field
	Spawned     uint64 // ever
	Destroyed   uint64 // ever
	Reused      uint64 // spawns into a slot that had a tenant before
	Quarantined uint64 // times a body's velocity was not finite, and the body was stopped where it was
	Retired     int    // slots that have used up their generations (H4)

	Systems     []SystemStats       // in the order in which they run; valid until the next Stats
	Interpreted []InterpretedEffect // by name, at most maxInterpretedNames; valid until the next Stats
}

// Stats returns the counts of this moment. Awake and Asleep count pending words
// as done, as Awake(e) does.
func (w *World) Stats() Stats {
	awake := w.bodies.awakeAfterFlush()
	return Stats{
		Entities:    w.pool.Len(),
		Awake:       awake,
		Asleep:      w.bodies.len() - awake,
		Effects:     w.effects.pool.Len(),
		Spawned:     w.counts.spawned,
		Destroyed:   w.counts.destroyed,
		Reused:      w.counts.reused,
		Quarantined: w.counts.quarantined,
		Retired:     w.pool.Retired(),
		Systems:     w.systemStats(),
		Interpreted: w.interpretedEffects(),
	}
}

// The errors of this package; what is returned wraps one of them and says what
// to do. All of them are the caller's, or of a file that the caller brought: the
// world itself has nothing that fails.
var (
	// ErrFull: a limit of the configuration or of the package is reached.
	ErrFull = errors.New("world: full")
	// ErrName: a name is empty or taken.
	ErrName = errors.New("world: name")
	// ErrType: a component type cannot be stored.
	ErrType = errors.New("world: type")
	// ErrUnknown: a kind or component does not belong to this world.
	ErrUnknown = errors.New("world: unknown")
	// ErrValue: a number is not finite or out of its range.
	ErrValue = errors.New("world: value")
	// ErrImage: the bytes are no image, or a damaged one. Take an older copy.
	ErrImage = errors.New("world: image damaged")
	// ErrImageVersion: the image was written by another version of this package.
	ErrImageVersion = errors.New("world: image of another version")
	// ErrImageWorld: the image is of a world that was set up in another way:
	// other settings, kinds or component types.
	ErrImageWorld = errors.New("world: image of another world")
)

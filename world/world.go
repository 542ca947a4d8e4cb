package world

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/world/motion"
)

// Entity names an entity: a weak handle into the world's pool of slots. Clients use the
// same number.
type Entity = bulk.Handle

// seedStream is the second half of the random generator's seed. It keeps the world's
// numbers different from other users of the same seed.
const seedStream = 0x776f726c64640001

// World is one simulated world. It belongs to one goroutine; functions that only read
// (Get, Position, Within, StateHash, ...) may run concurrently while nothing writes.
type World struct {
	cfg     Config
	motion  motion.Stepper
	tick    uint64
	running bool       // inside Step
	marked  uint64     // calls of markSpawned
	claim   *StepClaim // claim of the only caller that may step; nil: any caller may
	moved   bool       // inside Step, after the motion of bodies has begun

	pcg  *rand.PCG
	rand *rand.Rand

	pool        *bulk.Pool[entity]
	rowOf       []int32  // by slot: row of the body, or noRow
	generations []uint32 // by slot: newest issued generation
	doomed      bulk.Bitset
	disturbed   []uint64       // by slot: see SlotView.Disturbed
	spawned     []spawned      // by slot: see SlotView.SpawnState; empty without exact kinds
	disturbing  uint64         // tick of disturbances that happen now: the present tick or, between steps, the next
	recent      [2]bulk.Bitset // slots disturbed in disturbing and in the tick before, by the tick's parity
	teleported  [2]bulk.Bitset // slots teleported in disturbing and in the tick before, by the tick's parity
	causes      []uint8        // by slot: cause of a doomed entity's destruction, or 0
	unmarked    bulk.Bitset    // spawned slots whose dirty and changed bits are not set yet
	dirty       bulk.Bitset    // slots that changed since the last Next of any reader, other than by motion
	movedSlots  bulk.Bitset    // slots that motion changed since the last Next of any reader
	readers     []*ChangeReader
	wheel       wheel
	expiring    bulk.Bitset // slots in the timing wheel

	kinds       []kind
	components  []column
	program     Program
	formerNames map[string]int       // component IDs by former name
	migrations  map[int][]*migration // migrations by component ID
	timers      []int                // IDs of the components that hold the calls of Timers
	presences   []*bulk.Bitset       // of the components
	deferred    deferred
	added       []*system // in order of AddSystem
	systems     []*system // in running order
	current     string    // name of the running system
	clock       func() time.Duration
	stats       []SystemStats       // scratch of Stats
	trace       func(system string) // nil: see TraceSystems

	solid       bool    // some kind is Solid
	solidRadius float32 // largest radius of a solid kind
	radius      float32 // largest radius of a kind
	contacts    contacts
	mover       *mover  // nil: the world's own motion
	wakeList    []int32 // scratch of requestGroupWake
	rested      []int32 // scratch of requestSleepOfRested

	bodies     bodies
	sleepState sleepState
	order      order
	grid       grid
	effects    effects
	volumes    volumes
	workers    *workers
	moveBlocks func(c *chunk, block int) // moveBlock, bound once because binding allocates
	copyBlocks func(c *chunk, block int) // copyBlock, bound once
	copied     *rowImage                 // destination of copyBlocks
	events     events
	counts     counts
	history    history
	preparing  *Image // destination of PrepareImage

	encoders []*callEncoder // of the recorder and the journal
	recorder *Recorder      // nil: not recording
	journal  *Journal       // nil: no journal
}

// entity is the pool's record of a slot.
type entity struct {
	expires uint64 // last tick; 0 for none
	next    uint32 // neighbours in the timing wheel's bucket as slot+1; 0 for none
	prev    uint32
	kind    KindID
}

type counts struct {
	spawned, destroyed, reused, quarantined uint64
}

// New creates an empty world. The error lists everything that Config.Validate rejects.
func New(cfg Config) (*World, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	pool, err := bulk.NewPool[entity](bulk.Options{MaxSlots: cfg.MaxEntities, FirstGeneration: cfg.FirstGeneration, LastGeneration: cfg.LastGeneration})
	if err != nil {
		return nil, fmt.Errorf("world: entities: %w", err)
	}
	w := &World{cfg: cfg, pool: pool, disturbing: 1}
	w.motion = motion.New(motion.Params{
		TickHz: cfg.TickHz, Gravity: cfg.Gravity, HalfExtent: cfg.HalfExtent, Bounds: cfg.Bounds,
		RestSpeed: cfg.RestSpeed, RestTicks: cfg.restTicks(),
	})
	w.pcg = rand.NewPCG(cfg.Seed, seedStream)
	w.rand = rand.New(w.pcg)
	w.bodies.init(cfg.Compaction)
	w.grid = newGrid(cfg)
	w.history.reset(cfg, 0)
	if w.effects, err = newEffects(); err != nil {
		return nil, err
	}
	w.workers = newWorkers(cfg.Workers)
	w.moveBlocks, w.copyBlocks = w.moveBlock, w.copyBlock
	return w, nil
}

// Close stops the worker goroutines, if Config.Workers is above 1. A closed world still
// works, on the goroutine that calls Step.
func (w *World) Close() { w.workers.close() }

// Config returns the configuration, including defaults. Gravity is the effective value: 0
// for none (New would replace 0 by the default).
func (w *World) Config() Config { return w.cfg }

// Tick returns the number of steps begun. Inside a step it is the step's own number;
// the first is 1.
func (w *World) Tick() uint64 { return w.tick }

// TickHz returns the steps per simulated second.
func (w *World) TickHz() int { return w.cfg.TickHz }

// Rand returns the world's random generator. It is part of the state: worlds with the
// same seed and the same previous draws return the same numbers.
func (w *World) Rand() *rand.Rand { return w.rand }

// Live returns the live slots.
func (w *World) Live() bulk.BitsetView { return w.pool.Live() }

// Status reports whether the entity is live, was live once, or was never issued. A doomed
// entity is live until the end of the step.
func (w *World) Status(e Entity) bulk.Status { return w.pool.Status(e) }

// Stats holds counters of a world's contents and history.
type Stats struct {
	Entities    int    // live
	Awake       int    // bodies that the next step will move
	Asleep      int    // bodies that the next step will not move
	Effects     int    // in the field
	Spawned     uint64 // ever
	Destroyed   uint64 // ever
	Reused      uint64 // spawns into a slot that had been used before
	Quarantined uint64 // times a body was stopped because its velocity was not finite
	Retired     int    // slots without generations left (H4)

	Systems     []SystemStats       // in running order; valid until the next Stats
	Interpreted []InterpretedEffect // by name, at most 16; valid until the next Stats
}

// Stats returns the current counts. Awake and Asleep include pending requests, as
// World.Awake does.
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

// Versions of the images and journals that this package writes. It reads older ones, and programs with lower versions do not
// read these.
const (
	ImageVersion   = imageVersion
	JournalVersion = journalVersion
)

// Errors returned by this package wrap one of these and say what to do. The caller, or a
// file that the caller supplied, is at fault.
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
	// ErrImage: the bytes are not an image, or fail its checksums. Use an older copy.
	ErrImage = errors.New("world: image damaged")
	// ErrImageVersion: the image was written by a newer version of this package. Keep it.
	ErrImageVersion = errors.New("world: image of another version")
	// ErrImageWorld: the image's checksums are right, but this world cannot continue it: it
	// has other settings, kinds, component types or limits. Keep it, and use the program
	// that wrote it.
	ErrImageWorld = errors.New("world: image of another program or world")
)

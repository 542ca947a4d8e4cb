package world

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/worldd/worldd/bulk"
)

// maxCells bounds the memory of the grid: 4 Mi cells are 64 MiB.
const maxCells = 1 << 22

// maxMaxEntities bounds Config.MaxEntities.
const maxMaxEntities = 1 << 24

// maxTickHz bounds Config.TickHz.
const maxTickHz = 1000

// maxWorkers bounds the goroutines and the memory of their chunks, 16 KiB each.
const maxWorkers = 64

// Config describes a world. The zero value of a field selects its default.
type Config struct {
	TickHz          int        // steps per second of simulated time; default 60
	Seed            uint64     // seed of Rand
	MaxEntities     int        // maximum number of slots; default 65,536
	FirstGeneration uint32     // first generation of every slot, odd; default 1. A restored server passes one above all issued generations (H5)
	LastGeneration  uint32     // last generation of every slot, odd; a slot then retires (H4). Default and at most bulk.MaxGeneration. Worlds of one process have disjoint ranges
	CellMetres      float32    // edge of a grid cell; default 8. For contacts, a few radii of solid bodies are best; for wide queries, larger cells
	HalfExtent      Vec3       // bodies stay within +-X, +-Z, and 0 to Y; default 512, 256, 512
	Gravity         float32    // m/s2 downwards; default 9.81, negative means none
	RestSpeed       float32    // m/s up to which a body rests; above twice this speed it counts as moving; default 0.08
	RestSeconds     float32    // rest after which a body falls asleep, in whole ticks but at least one; default 0.5
	HistoryTicks    int        // ticks that PositionAt and queries at a Moment look back, at most 1200; costs 16 bytes per slot, and 24 per tick for each moving body; default none
	Bounds          Bounds     // treatment of bodies that move out of the world; default BoundsClamp
	Compaction      Compaction // method of moving rows when bodies fall asleep or wake; default Exchange
	Workers         int        // goroutines that step bodies, including the caller's; default 1. Above 1, call Close
}

func (c Config) withDefaults() Config {
	c.TickHz = cmp.Or(c.TickHz, 60)
	c.MaxEntities = cmp.Or(c.MaxEntities, 65536)
	c.FirstGeneration = cmp.Or(c.FirstGeneration, 1)
	c.LastGeneration = cmp.Or(c.LastGeneration, bulk.MaxGeneration)
	c.CellMetres = cmp.Or(c.CellMetres, 8)
	c.HalfExtent = cmp.Or(c.HalfExtent, Vec3{X: 512, Y: 256, Z: 512})
	switch {
	case c.Gravity == 0:
		c.Gravity = 9.81
	case c.Gravity < 0:
		c.Gravity = 0
	}
	c.Workers = cmp.Or(c.Workers, 1)
	c.RestSpeed = cmp.Or(c.RestSpeed, 0.08)
	c.RestSeconds = cmp.Or(c.RestSeconds, 0.5)
	return c
}

// Validate returns all errors of the configuration, joined, or nil if New accepts it.
func (c Config) Validate() error {
	negativeGravity := c.Gravity < 0
	c = c.withDefaults()
	var all []error
	complain := func(bad bool, format string, args ...any) {
		if bad {
			all = append(all, fmt.Errorf("world: config: "+format, args...))
		}
	}
	complain(c.TickHz < 1 || c.TickHz > maxTickHz, "TickHz is %d; choose 1 to %d", c.TickHz, maxTickHz)
	complain(c.MaxEntities < 1 || c.MaxEntities > maxMaxEntities, "MaxEntities is %d; choose 1 to %d", c.MaxEntities, maxMaxEntities)
	complain(c.FirstGeneration&1 == 0, "FirstGeneration is %d; it must be odd", c.FirstGeneration)
	complain(c.LastGeneration&1 == 0 || c.LastGeneration < c.FirstGeneration || c.LastGeneration > bulk.MaxGeneration, "LastGeneration is %d; it must be odd, at least FirstGeneration, %d, and at most %d", c.LastGeneration, c.FirstGeneration, uint32(bulk.MaxGeneration))
	complain(!within(c.CellMetres, 0.01, 1e5), "CellMetres is %v; choose 0.01 to 100000", c.CellMetres)
	e := c.HalfExtent
	extent := within(e.X, 0.01, 1e6) && within(e.Y, 0.01, 1e6) && within(e.Z, 0.01, 1e6)
	complain(!extent, "HalfExtent is %v; each component must be 0.01 to 1000000 metres (all zero for the default)", e)
	if extent && within(c.CellMetres, 0.01, 1e5) {
		cells := float64(cellCount(e.X, c.CellMetres)) * float64(cellCount(e.Z, c.CellMetres))
		complain(cells > maxCells, "the grid would have %.0f cells, more than %d; raise CellMetres or lower HalfExtent", cells, maxCells)
	}
	complain(!negativeGravity && !within(c.Gravity, 0, 1000), "Gravity is %v; choose at most 1000 m/s2, negative for none", c.Gravity)
	complain(!within(c.RestSpeed, 1e-6, MaxSpeed), "RestSpeed is %v; choose 0.000001 to %d m/s", c.RestSpeed, MaxSpeed)
	complain(!within(c.RestSeconds, 1e-6, 1e5) || c.TickHz > 0 && c.restTicks() > maxRestTicks,
		"RestSeconds is %v; choose at most %d ticks, which are %v s", c.RestSeconds, maxRestTicks, float32(maxRestTicks)/float32(c.TickHz))
	complain(c.Workers < 1 || c.Workers > maxWorkers, "Workers is %d; choose 1 to %d", c.Workers, maxWorkers)
	complain(c.Bounds > BoundsDestroy, "Bounds is %d; choose BoundsClamp, BoundsBounce or BoundsDestroy", c.Bounds)
	complain(c.Compaction > InPlace, "Compaction is %d; choose Exchange, Stable or InPlace", c.Compaction)
	complain(c.HistoryTicks < 0 || c.HistoryTicks > 1200, "HistoryTicks is %d; choose 0 to 1200", c.HistoryTicks)
	return errors.Join(all...)
}

// maxRestTicks bounds rest timers.
const maxRestTicks = math.MaxUint16

// restTicks returns RestSeconds in ticks.
func (c *Config) restTicks() uint32 {
	return uint32(max(math.Round(float64(c.RestSeconds)*float64(c.TickHz)), 1))
}

// within reports whether x is in [low, high]; false for NaN.
func within(x, low, high float32) bool { return x >= low && x <= high }

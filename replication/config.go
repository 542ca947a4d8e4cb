package replication

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/rowcodec"
)

// Tables are the probability tables of the row codec. The value is opaque and may be
// shared.
type Tables = rowcodec.Tables

// ParseTables reads a file written by worldd train. An error is a *wire.Error with the code
// BadMessage: the file is damaged, or was written by another version.
func ParseTables(file []byte) (*Tables, error) { return rowcodec.ParseTables(file) }

// Config sets what viewers see, and bounds its cost. Zero fields take their defaults.
type Config struct {
	// EnterRadius is the distance in metres from a viewer's centre within which an
	// entity enters its interest set. An entity without a body has no position and is
	// within the radius of every viewer. Default 48.
	EnterRadius float32
	// LeaveRadius is the distance in metres beyond which an entity leaves the interest set.
	// The gap to EnterRadius is hysteresis: entities near the edge do not enter and leave
	// repeatedly. Default 1.2 times EnterRadius.
	LeaveRadius float32
	// SnapshotHz is the number of snapshots per second and viewer, at most the tick rate.
	// If it does not divide the tick rate, the ticks between two snapshots differ by one.
	// Default 20. At 30, clients draw changes 15 ms earlier, rows take 50 % more bytes (8 %
	// if clients compute most bodies), and the server takes 17 % more CPU.
	SnapshotHz int
	// BudgetBytesPerSecond bounds the bytes sent to one viewer, structure and state
	// together. Destroys and leaves are charged to the budget, but sent even if it is
	// exhausted. One snapshot carries at most four datagrams of state, 4,800 bytes. Default
	// 64,000.
	BudgetBytesPerSecond int
	// SendOnce turns off copies. By default, when a viewer's link loses 2.5 % of its
	// packets or more, State datagrams of up to 600 bytes are sent twice until the loss is
	// below 1 %, if the budget has bytes to spare.
	SendOnce bool
	// Always is the set of slots whose entities are relevant to every viewer at any
	// distance, for example the Presence of a component. Each snapshot reads it. Default
	// none.
	Always bulk.BitsetView
	// Private is the set of slots whose entities only their owners see (Viewer.Own).
	// Default none.
	Private bulk.BitsetView
	// Tables define the codes of rows. Clients must have the same tables (see ParseTables).
	// Default: the tables of this protocol version.
	Tables *Tables
	// TickBase is subtracted from the world's ticks to get the protocol's 32-bit ticks:
	// without a base, a world at 60 Hz would exceed them after 828 days. session.Core sets
	// it once per run. Default 0.
	TickBase uint64
	// Workers is the number of goroutines that make snapshots in Replicator.Snapshots, the
	// caller included. Workers do not share coded rows, so two use somewhat more CPU time
	// than one. Above 1, call Close at the end. Default 1.
	Workers int
}

// WithDefaults returns c with every zero field replaced by its default.
func (c Config) WithDefaults() Config {
	c.EnterRadius = cmp.Or(c.EnterRadius, 48)
	c.LeaveRadius = cmp.Or(c.LeaveRadius, 1.2*c.EnterRadius)
	c.SnapshotHz = cmp.Or(c.SnapshotHz, 20)
	c.BudgetBytesPerSecond = cmp.Or(c.BudgetBytesPerSecond, 64_000)
	c.Workers = cmp.Or(c.Workers, 1)
	if c.Tables == nil {
		c.Tables = rowcodec.DefaultTables()
	}
	return c
}

// Validate reports everything that is wrong with c, for a world of tickHz.
func (c Config) Validate(tickHz int) error {
	c = c.WithDefaults()
	var errs []error
	require := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("replication: "+format, args...))
		}
	}
	require(c.EnterRadius > 0, "enter radius is %v m, want a positive number", c.EnterRadius)
	require(c.LeaveRadius >= c.EnterRadius, "leave radius is %v m, want at least the enter radius %v m", c.LeaveRadius, c.EnterRadius)
	require(c.SnapshotHz >= 1 && c.SnapshotHz <= tickHz, "snapshot rate is %d Hz, want 1 to the tick rate, %d Hz", c.SnapshotHz, tickHz)
	minBudget := c.SnapshotHz * minDatagramBytes
	require(c.BudgetBytesPerSecond >= minBudget, "budget is %d bytes/s, want at least %d (%d bytes for each of %d snapshots)",
		c.BudgetBytesPerSecond, minBudget, minDatagramBytes, c.SnapshotHz)
	require(c.Workers >= 1 && c.Workers <= maxWorkers, "%d workers, want 1 to %d", c.Workers, maxWorkers)
	require(c.Workers <= 1 || !c.Tables.IsSampled(), "rows are sampled with %d workers, want 1", c.Workers)
	return errors.Join(errs...)
}

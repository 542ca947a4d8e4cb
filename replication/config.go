package replication

import (
	"errors"
	"fmt"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/replication/schema"
)

// Tables are the numbers that rows are coded with. The value is opaque and may be
// shared.
type Tables = rowcodec.Tables

// ParseTables reads a file that worldd train wrote. An error is a *wire.Error with the
// code BadMessage: the file is damaged, or of another version.
func ParseTables(file []byte) (*Tables, error) { return rowcodec.ParseTables(file) }

// Config says what viewers see and what it may cost. The zero value of a field
// means its default.
type Config struct {
	// EnterRadius is the distance in metres from a viewer's centre within which
	// an entity enters its interest set. One without a body is nowhere, and near to
	// everybody. Default 48.
	EnterRadius float32
	// LeaveRadius is the distance beyond which it leaves again; the gap to
	// EnterRadius is the hysteresis that keeps border walkers from flapping.
	// Default 1.2 times EnterRadius.
	LeaveRadius float32
	// SnapshotHz is how often a second a viewer is sent a snapshot, at most as often
	// as the world ticks. Where it does not divide the tick rate, the ticks between
	// two snapshots differ by one. Default 20.
	SnapshotHz int
	// BudgetBytesPerSecond bounds what one viewer is sent, structure and state
	// together. Destroys and leaves are always sent and are charged. The state of one
	// snapshot is four datagrams at most, so 4,800 bytes. Default 64,000.
	BudgetBytesPerSecond int
	// Always is the set of slots whose entities are relevant to every viewer at
	// any distance, say the Presence of a component. It is read at each snapshot.
	// Default none.
	Always *bulk.Bitset
	// Private is the set of slots whose entities only viewers see that own them
	// (Viewer.Own). Default none.
	Private *bulk.Bitset
	// Tables code rows; clients must have the same tables. ParseTables reads a file that
	// worldd train wrote. Default the tables of this version of the protocol.
	Tables *Tables
	// TickBase is taken off the world's ticks to make those of the protocol, which
	// have 32 bits: at 60 Hz a world outgrows them after 828 days. server.Core sets
	// it, once for a run. Default 0.
	TickBase uint64
	// Workers is how many goroutines make snapshots in Replicator.Snapshots, the
	// caller's included. Each codes rows for its own share of the viewers, so that
	// two take some more processor time than one. Default 1. More than 1 wants a
	// Close.
	Workers int
	// Coded is told of every row that is coded, once for all viewers that have
	// the same past of it, for training tables. Both are valid during the call.
	// It wants one worker. nil: nobody asks.
	Coded func(row schema.Row, past *rowcodec.Past)
}

// WithDefaults returns c with every zero field replaced by its default.
func (c Config) WithDefaults() Config {
	if c.EnterRadius == 0 {
		c.EnterRadius = 48
	}
	if c.LeaveRadius == 0 {
		c.LeaveRadius = 1.2 * c.EnterRadius
	}
	if c.SnapshotHz == 0 {
		c.SnapshotHz = 20
	}
	if c.BudgetBytesPerSecond == 0 {
		c.BudgetBytesPerSecond = 64_000
	}
	if c.Workers == 0 {
		c.Workers = 1
	}
	if c.Tables == nil {
		c.Tables = rowcodec.DefaultTables()
	}
	return c
}

// Validate reports everything that is wrong with c, for a world of tickHz.
func (c Config) Validate(tickHz int) error {
	c = c.WithDefaults()
	var errs []error
	if !(c.EnterRadius > 0) {
		errs = append(errs, fmt.Errorf("replication: enter radius is %v m, want a positive number", c.EnterRadius))
	}
	if !(c.LeaveRadius >= c.EnterRadius) {
		errs = append(errs, fmt.Errorf("replication: leave radius is %v m, want at least the enter radius %v m", c.LeaveRadius, c.EnterRadius))
	}
	if c.SnapshotHz < 1 || c.SnapshotHz > tickHz {
		errs = append(errs, fmt.Errorf("replication: snapshot rate is %d Hz, want 1 to the tick rate, %d Hz", c.SnapshotHz, tickHz))
	}
	if least := c.SnapshotHz * minSnapshotBytes; c.BudgetBytesPerSecond < least {
		errs = append(errs, fmt.Errorf("replication: budget is %d bytes/s, want at least %d (%d bytes for each of %d snapshots)",
			c.BudgetBytesPerSecond, least, minSnapshotBytes, c.SnapshotHz))
	}
	if c.Workers < 1 || c.Workers > maxWorkers {
		errs = append(errs, fmt.Errorf("replication: %d workers, want 1 to %d", c.Workers, maxWorkers))
	}
	if c.Workers > 1 && c.Coded != nil {
		errs = append(errs, fmt.Errorf("replication: %d workers and Coded, which is told by one", c.Workers))
	}
	return errors.Join(errs...)
}

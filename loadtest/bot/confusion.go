package bot

import (
	"fmt"

	"github.com/worldd/worldd/bulk"
)

// ReportedConfusions is the number of confusions that a report lists; others are counted.
const ReportedConfusions = 32

// Confusion is a contradiction between earlier and present information about a handle:
// somewhere between the server's pool and this client's replica, the handle was confused with
// another.
type Confusion struct {
	Bot        int         `json:"bot"`
	Tick       uint32      `json:"tick"` // newest tick that the bot had seen
	Handle     bulk.Handle `json:"handle"`
	Remembered uint64      `json:"remembered"` // remembered identity of the handle; 0: none
	Seen       uint64      `json:"seen"`       // identity that came with the answer; 0: none
	What       string      `json:"what"`       // the broken invariant, and how
}

// String returns a one-line summary.
func (c Confusion) String() string {
	return fmt.Sprintf("bot %d, tick %d, %v: %s (identity remembered %016x, seen %016x)",
		c.Bot, c.Tick, c.Handle, c.What, c.Remembered, c.Seen)
}

package bot

import (
	"fmt"

	"github.com/worldd/worldd/bulk"
)

// Confusion is a contradiction between what a bot was told earlier about a handle and
// what it is told now: somewhere between the server's pool and this client's replica, a
// handle was confused with another.
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

package bot

import (
	"fmt"

	"github.com/worldd/worldd/bulk"
)

// Confusion is one contradiction between what a bot was told of a handle and
// what it is told now: somewhere between the server's pool and this client's
// replica a handle lied.
type Confusion struct {
	Bot        int         `json:"bot"`
	Tick       uint32      `json:"tick"` // the newest that the bot had seen
	Handle     bulk.Handle `json:"handle"`
	Remembered uint64      `json:"remembered"` // identity of the handle in memory; 0: none
	Seen       uint64      `json:"seen"`       // identity that came with the answer; 0: none
	What       string      `json:"what"`       // which invariant, and how
}

// String is one line for people.
func (c Confusion) String() string {
	return fmt.Sprintf("bot %d, tick %d, %v: %s (identity remembered %016x, seen %016x)",
		c.Bot, c.Tick, c.Handle, c.What, c.Remembered, c.Seen)
}

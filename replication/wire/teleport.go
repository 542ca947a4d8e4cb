package wire

import (
	"iter"

	"github.com/worldd/worldd/internal/bitio"
)

// Teleport says that the entity of a State datagram's row was teleported: receivers do not
// interpolate between its states before Age ticks before the datagram and those from then on.
type Teleport struct {
	Row uint32 // index of the row
	Age uint32 // ticks from the first tick in which the entity was there to the datagram
}

// AppendTeleport appends a teleport for StateHeader.Teleports. Rows ascend; next is 1 + the row
// of the teleport before, or 0.
func AppendTeleport(b []byte, next uint32, t Teleport) []byte {
	return bitio.AppendUvarint(bitio.AppendUvarint(b, t.Row-next), t.Age)
}

// TeleportBytes returns the size of teleports in a State header.
func TeleportBytes(teleports []byte) int {
	switch n := len(teleports); {
	case n == 0:
		return 0
	case n < 1<<7:
		return 1 + n
	default:
		return 2 + n // at most MaxDatagram
	}
}

// StateTeleports yields the teleports in a parsed StateHeader, by ascending rows.
func (h StateHeader) StateTeleports() iter.Seq[Teleport] {
	return func(yield func(Teleport) bool) {
		next := uint32(0)
		for c := bitio.NewCursor(h.Teleports); len(c.Rest()) > 0; {
			t := readTeleport(&c, next)
			if !yield(t) {
				return
			}
			next = t.Row + 1
		}
	}
}

func readTeleport(c *bitio.Cursor, next uint32) Teleport {
	return Teleport{Row: next + c.Uvarint(MaxRows-1, "rows before a teleport"), Age: c.Uvarint(1<<32-1, "age of a teleport")}
}

// checkTeleports checks the teleports of a State datagram whose rows have been counted.
func checkTeleports(c *bitio.Cursor, h *StateHeader) {
	inner, next := bitio.NewCursor(h.Teleports), uint32(0)
	for ok := true; ok; ok = len(inner.Rest()) > 0 {
		t := readTeleport(&inner, next)
		if inner.Err() != nil {
			c.FailWith(inner.Err())
			return
		}
		if t.Row >= uint32(h.Rows) || t.Age >= h.Tick {
			c.Fail("a teleport of row %d of %d, %d ticks before tick %d", t.Row, h.Rows, t.Age, h.Tick)
		}
		next = t.Row + 1
	}
}

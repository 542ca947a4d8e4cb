package replication

import (
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// teleportSeconds is how long after a teleport rows still say so. By then, every client that
// still acknowledges has acknowledged a later state.
const teleportSeconds = idleSeconds

// teleports holds the ticks in which entities were teleported. A row that may be the first
// which its client receives since then says so.
type teleports struct {
	ticks  []uint32 // by slot: tick of the newest teleport; 0: none
	newest uint32   // tick of the newest teleport of all; 0: none
	window uint32   // teleportSeconds in ticks
	slots  []uint32 // scratch
}

// noteTeleports records the teleports of the last step.
func (f *frame) noteTeleports(w *world.World, tick uint32) { f.teleports.recordStep(w, tick) }

// recordStep records the teleports of the last step.
func (t *teleports) recordStep(w *world.World, tick uint32) {
	t.slots = w.Slots().AppendTeleported(t.slots[:0])
	for _, slot := range t.slots {
		if n := int(slot) + 1 - len(t.ticks); n > 0 {
			t.ticks = append(t.ticks, make([]uint32, n)...)
		}
		t.ticks[slot], t.newest = tick, tick
	}
}

// appendRows appends the teleports of rows in a datagram of a tick. It depends on the coding
// keys alone, so that viewers may share datagrams (R9): a row in full, whose baseline is
// unknown, tells of each teleport within the window.
func (t *teleports) appendRows(b []byte, keys []codingKey, tick uint32) []byte {
	if t.newest == 0 || tick-t.newest > t.window {
		return b
	}
	next := uint32(0)
	for i, k := range keys {
		if int(k.slot()) >= len(t.ticks) {
			break
		}
		at := t.ticks[k.slot()]
		age := tick - at
		if at == 0 || age > t.window || k.age() != 0 && age >= k.age() {
			continue
		}
		b = wire.AppendTeleport(b, next, wire.Teleport{Row: uint32(i), Age: age})
		next = uint32(i) + 1
	}
	return b
}

package world

import (
	"slices"

	"github.com/worldd/worldd/bulk"
)

// ChangeReader reports the slots that changed: the entity was spawned or moved, or a
// component was set, removed or opened with Mut. The readers of a world are independent:
// each reports every change once, however rarely Next is called.
type ChangeReader struct {
	w       *World      // nil once closed
	taken   bulk.Bitset // the result of the last Next
	written bulk.Bitset // the subset of taken that something other than motion changed
	// Changes, and their written subset, that another reader's Next took from the world.
	pending, pendingWritten bulk.Bitset
}

// NewChangeReader adds a reader whose first Next returns every live slot except reserved
// ones. A reader takes half a byte per slot, and slows the Next of other readers: Close it
// after use.
func (w *World) NewChangeReader() *ChangeReader {
	r := &ChangeReader{w: w}
	r.pending.SetAndNot(w.pool.Live(), w.deferred.reserved.View())
	r.pendingWritten.CopyFrom(r.pending.View())
	w.readers = append(w.readers, r)
	return r
}

// Next returns the slots that may have changed since the previous Next and are still live.
// After Restore it returns every live slot. The set is valid until the next call. A warm
// Next does not allocate. Next panics if the reader is closed.
func (r *ChangeReader) Next() bulk.BitsetView {
	w := r.w
	if w == nil {
		panic("world: Next of a closed ChangeReader")
	}
	w.markSpawned()
	// The sets exchange their memory, so that a single reader copies little.
	r.taken.Reset()
	r.written.Reset()
	w.movedSlots, r.taken = r.taken, w.movedSlots
	w.dirty, r.written = r.written, w.dirty
	r.taken.SetOr(r.taken.View(), r.written.View())
	for _, other := range w.readers {
		if other != r {
			other.pending.SetOr(other.pending.View(), r.taken.View())
			other.pendingWritten.SetOr(other.pendingWritten.View(), r.written.View())
		}
	}
	if r.pending.Any() {
		r.taken.SetOr(r.taken.View(), r.pending.View())
		r.written.SetOr(r.written.View(), r.pendingWritten.View())
		r.pending.Reset()
		r.pendingWritten.Reset()
	}
	return r.taken.View()
}

// Written returns the slots of the last Next that something other than motion changed. In
// all other slots, only the position or the velocity of a body changed.
func (r *ChangeReader) Written() bulk.BitsetView { return r.written.View() }

// Close removes the reader from its world.
func (r *ChangeReader) Close() {
	if r.w == nil {
		return
	}
	r.w.readers = slices.DeleteFunc(r.w.readers, func(other *ChangeReader) bool { return other == r })
	r.w = nil
}

// forgetChanges removes destroyed slots from the changes not yet read (W7).
func (w *World) forgetChanges(word uint32, mask uint64) {
	w.dirty.SetWord(word, w.dirty.Word(word)&^mask)
	w.movedSlots.SetWord(word, w.movedSlots.Word(word)&^mask)
	for _, r := range w.readers {
		r.pending.SetWord(word, r.pending.Word(word)&^mask)
		r.pendingWritten.SetWord(word, r.pendingWritten.Word(word)&^mask)
	}
}

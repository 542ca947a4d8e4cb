package bot

import (
	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/scenes/messages"
)

// Heard counts checks of names, renames, causes of death and events.
type Heard struct {
	Reliable   uint64 `json:"reliable_events"`
	Unreliable uint64 `json:"unreliable_events"`
	Names      uint64 `json:"names"`   // of avatars that entered or were renamed
	Renames    uint64 `json:"renames"` // answered renames
	Causes     uint64 `json:"causes"`  // causes of destruction
}

func (h *Heard) add(o Heard) {
	h.Reliable += o.Reliable
	h.Unreliable += o.Unreliable
	h.Names += o.Names
	h.Renames += o.Renames
	h.Causes += o.Causes
}

// hearing is the oracle's memory of events and names.
type hearing struct {
	heard    Heard
	names    map[bulk.Handle]*nameMemory // of avatars that the server showed
	awaited  []bulk.Handle               // avatars whose announced name has not arrived yet
	taught   window[bulk.Handle]         // handles that reliable events and answers named
	unsure   bool                        // the server may have named handles that are not in taught
	poked    window[bulk.Handle]         // newest targets of this bot's pokes
	flashes  window[uint32]              // serials of flashes
	scored   uint32                      // count of the newest score
	avatar   bulk.Handle                 // avatar of this bot, once it has renamed itself
	renamed  int                         // revision of the newest name that this bot has sent
	answered uint32                      // count in the newest answer to a rename
	patience uint32                      // structure ticks within which an announced name must arrive
	until    uint32                      // structure tick up to which the server may have refused events
	pending  []flash                     // flashes whose snapshot is being applied
}

// flash is an unreliable event, and the number of snapshots applied before it.
type flash struct {
	serial, tick uint32
	snapshots    uint64
}

func newHearing() hearing {
	return hearing{
		names:  map[bulk.Handle]*nameMemory{},
		taught: newWindow[bulk.Handle](taughtHandles), poked: newWindow[bulk.Handle](pokedHandles),
		flashes: newWindow[uint32](flashSerials),
	}
}

// renewSession forgets the state of the session: the next session counts from the beginning.
func (h *hearing) renewSession() {
	next := newHearing()
	next.heard, next.patience, next.flashes = h.heard, h.patience, h.flashes
	*h = next
}

// mayMissEvents reports whether a reliable event may be missing: the server refuses events to a
// client that is away for long. Events that arrive are checked as always.
func (o *oracle) mayMissEvents() bool { return o.told < o.until }

// heardBroken records the event that by has broken h (B8). The Destroy follows (B10).
func (o *oracle) heardBroken(h, by bulk.Handle) {
	o.heard.Reliable++
	m := o.find(h)
	switch fate := o.fate(m); {
	case fate != statusShown:
		o.reportConfusion(h, 0, "B8: an event says that it broke while it is %v", fate)
	case m.broken:
		o.reportConfusion(h, 0, "B8: an event says twice that it broke")
	default:
		m.broken = true
	}
	o.learnHandle(by)
}

// learnHandle records that a reliable event or an answer named h: the server must know that
// (H3).
func (o *oracle) learnHandle(h bulk.Handle) {
	if h == 0 {
		return
	}
	if !o.issuable(h) {
		o.reportConfusion(h, 0, "B8: an event names it, which is not a handle of this run")
		return
	}
	if !o.taught.has(h) {
		o.unsure = o.unsure || o.taught.isFull()
		o.taught.add(h)
	}
}

// heardScore records the event that this bot's poke of h was its count-th success (B8).
func (o *oracle) heardScore(h bulk.Handle, count uint32) {
	o.heard.Reliable++
	if count != o.scored+1 {
		o.reportConfusion(h, 0, "B8: score %d follows %d", count, o.scored)
	}
	o.scored = count
	if !o.poked.has(h) {
		o.reportConfusion(h, 0, "B8: score %d is for it, which this bot has not poked", count)
	}
}

// heardFlash records an unreliable event (B9). The client reports tick; low are the tick's low
// bits as the game sent them.
func (o *oracle) heardFlash(f flash, low uint16) {
	o.heard.Unreliable++
	switch {
	case uint16(f.tick) != low:
		o.reportConfusion(0, 0, "B9: flash %d arrives with tick %d, and happened at a tick ending in %#04x", f.serial, f.tick, low)
	case o.flashes.has(f.serial):
		o.reportConfusion(0, 0, "B9: flash %d arrives twice", f.serial)
	}
	o.flashes.add(f.serial)
	o.pending = append(o.pending, f)
}

// settleFlashes checks the flashes of an Update (B9). snapshots is the number of snapshots
// applied by the end of the Update, tick the tick of the newest.
func (o *oracle) settleFlashes(snapshots uint64, tick uint32) {
	for _, f := range o.pending {
		if snapshots <= f.snapshots {
			o.reportConfusion(0, 0, "B9: flash %d arrives, and its snapshot was not applied", f.serial)
		} else if f.tick > tick {
			o.reportConfusion(0, 0, "B9: flash %d is of tick %d, after the newest snapshot", f.serial, f.tick)
		}
	}
	o.pending = o.pending[:0]
}

// settleDeaths compares the causes of deaths with the game's rules (B10). Deaths due to the end
// of a world or to a move have no cause of the game: beginSession, beginRun and the next oracle
// drop them.
func (o *oracle) settleDeaths() {
	for _, d := range o.deaths {
		o.checkCause(d)
	}
	o.deaths = o.deaths[:0]
}

func (o *oracle) checkCause(d death) {
	if o.foreign {
		return
	}
	if d.fate != statusShown && d.fate != statusHidden {
		return // the bot never saw it, so the cause is unknown
	}
	o.heard.Causes++
	right := d.cause == 0
	switch {
	case d.avatar:
		right = d.cause == messages.CauseLeft
	case d.broken:
		right = d.cause == messages.CauseBroken
	case d.cause == messages.CauseBroken:
		right = d.fate == statusHidden || o.mayMissEvents() // only clients with a view of it receive its event
	}
	if !right {
		o.reportConfusion(d.handle, 0, "B10: destroyed with cause %d (avatar: %t, broken by an event: %t)", d.cause, d.avatar, d.broken)
	}
}

// checkRenamed compares the answer to a rename with the name sent (B11).
func (o *oracle) checkRenamed(a messages.Renamed, name string, avatar bulk.Handle) {
	o.heard.Renames++
	if a.Name != name || a.Player != avatar || a.Count <= o.answered || int(a.Count) > o.renamed {
		o.reportConfusion(a.Player, 0, "B11: renamed %v to %q, and the answer is name %q, count %d after %d", avatar, name, a.Name, a.Count, o.answered)
	}
	o.answered = a.Count
}

// window is a set of the newest values that were added.
type window[T comparable] struct {
	count map[T]int
	order []T
	next  int
}

func newWindow[T comparable](size int) window[T] {
	return window[T]{count: make(map[T]int, size), order: make([]T, 0, size)}
}

func (w *window[T]) has(v T) bool { return w.count[v] > 0 }

// isFull reports whether adding a value drops another.
func (w *window[T]) isFull() bool { return len(w.order) == cap(w.order) }

func (w *window[T]) add(v T) {
	if !w.isFull() {
		w.order = append(w.order, v)
	} else {
		old := w.order[w.next]
		w.count[old]--
		if w.count[old] == 0 {
			delete(w.count, old)
		}
		w.order[w.next] = v
		w.next = (w.next + 1) % len(w.order)
	}
	w.count[v]++
}

// draw returns one of the values, or zero.
func (w *window[T]) draw(dice func(int) int) (v T) {
	if len(w.order) > 0 {
		v = w.order[dice(len(w.order))]
	}
	return v
}

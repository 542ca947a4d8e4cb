package session

import "github.com/worldd/worldd/replication/wire"

// maxInputLead is how many ticks ahead an input may come: half a second at 60 Hz.
// Clients aim at a few ticks; who sends more early than that has a clock that is
// wrong, and is shown by what becomes of its inputs.
const maxInputLead = 32

// inputs holds what a client wants for ticks to come, until they come: the jitter
// of the link ends here. In each tick at most one input is applied, and ticks
// never go back, so that no client moves more often than others do, whatever it
// sends.
//
// An input that comes too late for its tick is applied at once if it is newer
// than all that were applied and none is there for the present tick: it says what
// the player holds down, and that is most likely still so (as Source runs late
// user commands; Overwatch repeats the last one, as a game does here that keeps
// what it was told). Others that come late are dropped.
type inputs struct {
	applied uint32 // the newest tick whose input was applied
	waiting [maxInputLead]waitingInput
}

// waitingInput is at the place of its tick, modulo.
type waitingInput struct {
	tick  uint32 // another one than expected: there is none
	bytes uint8
	data  [wire.MaxInputBytes]byte
}

// put keeps the input of a tick to come. One that came again is the same; one
// that did change is the client's latest word.
func (q *inputs) put(in wire.TickInput) {
	w := &q.waiting[in.Tick%maxInputLead]
	w.tick, w.bytes = in.Tick, uint8(copy(w.data[:], in.Data))
}

// due returns the input that waits for a tick.
func (q *inputs) due(tick uint32) (wire.TickInput, bool) {
	w := &q.waiting[tick%maxInputLead]
	if w.tick != tick {
		return wire.TickInput{}, false
	}
	return wire.TickInput{Tick: tick, Data: w.data[:w.bytes]}, true
}

// lateInputs are those of one tick's datagrams that came too late.
type lateInputs struct {
	newest wire.TickInput
	seen   uint64 // bit i: one that is i ticks late
}

func (l *lateInputs) add(in wire.TickInput, by uint32) {
	if in.Tick > l.newest.Tick {
		l.newest = in
	}
	l.seen |= 1 << min(by, 63)
}

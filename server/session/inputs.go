package session

import "github.com/worldd/worldd/replication/wire"

// maxInputLead is how many ticks ahead an input may arrive: half a second at 60 Hz.
// Clients aim a few ticks ahead. One that sends earlier has a wrong clock, which
// Stats.InputsEarly shows.
const maxInputLead = 32

// inputs buffers a client's inputs until their ticks, which absorbs the link's jitter. At
// most one is applied per tick, in tick order, so that no client can move more often than
// others.
//
// A late input is applied at once if it is newer than all applied ones and none is due
// now: it says what the player holds down, which most likely has not changed. (Source also
// runs late user commands; Overwatch repeats the last one, as a game does here that keeps
// its last input.) Other late inputs are dropped.
type inputs struct {
	applied uint32 // tick of the newest applied input
	step    uint32 // tick whose step it was applied for
	waiting [maxInputLead]waitingInput
}

// waitingInput is stored at its tick modulo maxInputLead.
type waitingInput struct {
	tick  uint32 // empty unless it is the expected tick
	bytes uint8
	data  [wire.MaxInputBytes]byte
}

// put stores the input of a future tick. A later input for the same tick replaces it.
func (q *inputs) put(in wire.TickInput) {
	w := &q.waiting[in.Tick%maxInputLead]
	w.tick, w.bytes = in.Tick, uint8(copy(w.data[:], in.Data))
}

// due returns the input stored for tick.
func (q *inputs) due(tick uint32) (wire.TickInput, bool) {
	w := &q.waiting[tick%maxInputLead]
	if w.tick != tick {
		return wire.TickInput{}, false
	}
	return wire.TickInput{Tick: tick, Data: w.data[:w.bytes]}, true
}

// lateInputs collects the late inputs of one tick's datagrams.
type lateInputs struct {
	newest wire.TickInput
	seen   uint64 // bit i: an input i ticks late, at most 63
}

func (l *lateInputs) add(in wire.TickInput, by uint32) {
	if in.Tick > l.newest.Tick {
		l.newest = in
	}
	l.seen |= 1 << min(by, 63)
}

package session

import "github.com/worldd/worldd/replication/wire"

// inputs buffers a client's inputs until their ticks, which absorbs the link's jitter. At
// most one is applied per tick, in tick order, so that no client can move more often than
// others.
//
// A late input is applied at once if it is newer than all applied ones and none is due
// now: it says what the player holds down, which most likely has not changed. (Source also
// runs late user commands; Overwatch repeats the last one, as a game does here that keeps
// its last input.) Other late inputs are dropped.
type inputs struct {
	applied uint32         // tick of the newest applied input
	step    uint32         // tick whose step it was applied for
	waiting []waitingInput // as many as InputLead
}

func newInputs(tickHz int) inputs {
	return inputs{waiting: make([]waitingInput, wire.InputLead(tickHz))}
}

// maxLead returns how many ticks ahead an input may arrive. Clients aim a few ticks ahead. One that
// sends earlier has a wrong clock, which Stats.InputsEarly shows.
func (q *inputs) maxLead() uint32 { return uint32(len(q.waiting)) }

// waitingInput is stored at its tick modulo lead.
type waitingInput struct {
	tick  uint32 // empty unless it is the expected tick
	bytes uint8
	data  [wire.MaxInputBytes]byte

	back     uint32 // the view moment, as in wire.TickInput
	fraction uint8
}

// storeInput stores the input of a future tick. A later input for the same tick replaces it.
func (q *inputs) storeInput(in wire.TickInput) {
	w := &q.waiting[in.Tick%q.maxLead()]
	w.tick, w.bytes = in.Tick, uint8(copy(w.data[:], in.Data))
	w.back, w.fraction = in.Back, in.Fraction
}

// dueInput returns the input stored for tick.
func (q *inputs) dueInput(tick uint32) (wire.TickInput, bool) {
	w := &q.waiting[tick%q.maxLead()]
	if w.tick != tick {
		return wire.TickInput{}, false
	}
	return wire.TickInput{Tick: tick, Back: w.back, Fraction: w.fraction, Data: w.data[:w.bytes]}, true
}

// lateInputs collects the late inputs of one tick's datagrams.
type lateInputs struct {
	newest wire.TickInput
	seen   uint64 // bit i: an input i ticks late, at most 63
}

func (l *lateInputs) addLate(in wire.TickInput, by uint32) {
	if in.Tick > l.newest.Tick {
		l.newest = in
	}
	l.seen |= 1 << min(by, 63)
}

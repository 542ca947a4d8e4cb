package session

import (
	"math/bits"

	"github.com/worldd/worldd/replication/wire"
)

// inputs buffers a client's inputs until their ticks, which absorbs the link's jitter. At
// most one input is applied per tick, in tick order, so that no client can move more often
// than others.
//
// A late input is applied at once if it is newer than all applied inputs and no input is
// due now: the player most likely still holds the same keys. (Source also runs late user
// commands. Overwatch repeats the last input; here the game may do so.) Other late inputs
// are dropped.
type inputs struct {
	applied uint32         // tick of the newest applied input
	step    uint32         // tick of the step to which that input was applied
	waiting []waitingInput // ring of wire.InputLead entries
}

func newInputs(tickHz int) inputs {
	return inputs{waiting: make([]waitingInput, wire.InputLead(tickHz))}
}

// dropWaiting drops the inputs that were not applied.
func (q *inputs) dropWaiting() { clear(q.waiting) }

// maxLead returns the number of ticks by which an input may arrive early. Clients aim a few
// ticks ahead; a client with earlier inputs has a wrong clock, and Stats.InputsEarly counts
// its inputs.
func (q *inputs) maxLead() uint32 { return uint32(len(q.waiting)) }

// waitingInput is an input stored at index tick modulo maxLead.
type waitingInput struct {
	tick  uint32 // the entry is empty unless this is the expected tick
	bytes uint8
	data  [wire.MaxInputBytes]byte

	back     uint32 // view moment, as in wire.TickInput
	fraction uint8
}

// storeInput stores the input of a future tick. A later input for the same tick replaces it.
func (q *inputs) storeInput(in wire.TickInput) {
	w := &q.waiting[in.Tick%q.maxLead()]
	w.tick, w.bytes = in.Tick, uint8(copy(w.data[:], in.Data))
	w.back, w.fraction = in.Back, in.Fraction
}

// dueInput returns the input stored for tick; ok is false if there is none.
func (q *inputs) dueInput(tick uint32) (wire.TickInput, bool) {
	w := &q.waiting[tick%q.maxLead()]
	if w.tick != tick {
		return wire.TickInput{}, false
	}
	return wire.TickInput{Tick: tick, Back: w.back, Fraction: w.fraction, Data: w.data[:w.bytes]}, true
}

// queueDatagrams stores the inputs of one tick's datagrams for the step next and later ones, and
// returns the late ones. Each datagram repeats earlier inputs, and so makes up for lost
// datagrams. Datagrams below fence were meant for an earlier room.
func (q *inputs) queueDatagrams(datagrams []wire.Input, fence, next uint32, stats *Stats) (late lateInputs) {
	for _, d := range datagrams {
		if d.Ack.Structure < fence {
			continue
		}
		for _, in := range d.Inputs {
			switch {
			case in.Tick <= q.applied: // a repeat
			case in.Tick < next:
				late.addLate(in, next-in.Tick)
			case in.Tick-next < q.maxLead():
				q.storeInput(in)
			default:
				stats.InputsEarly++
			}
		}
	}
	return late
}

// takeInput returns the input to apply to the step next: the one stored for it, or else the
// newest late one. ok is false if there is none, or if the step already had its input. In the tick in
// which a session resumes, applyInputs runs twice.
func (q *inputs) takeInput(next uint32, late lateInputs, stats *Stats) (in wire.TickInput, ok bool) {
	missed := uint64(bits.OnesCount64(late.seen))
	had := q.step == next
	in, ok = q.dueInput(next)
	if !ok && !had && missed > 0 {
		in, ok = late.newest, true
		missed--
		stats.InputsLate++
	}
	stats.InputsMissed += missed
	if !ok || had {
		return wire.TickInput{}, false
	}
	q.applied, q.step = in.Tick, next
	stats.Inputs++
	return in, true
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

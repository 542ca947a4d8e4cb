package client

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/worldd/worldd/replication/wire"
)

const (
	// echoedDatagrams is how many Input datagrams are remembered until a snapshot
	// tells when they arrived: at 60 a second, half a second and more.
	echoedDatagrams = 32
	// maxLead bounds how far ahead of the server's time inputs are aimed.
	maxLead = time.Second
)

// inputs are what the client wants for the newest ticks, and when they have to be
// made so that they arrive in time.
type inputs struct {
	list   []wire.TickInput // newest first
	unsent int              // how many of them no datagram has held
	timed  bool             // made is known:
	made   time.Duration    // the server's time when the oldest of these was made
	sent   [echoedDatagrams]sentInput
	next   int       // place in sent of the next datagram
	way    allowance // server's time from making an input until it arrives
}

// sentInput is a datagram that was the first to hold an input.
type sentInput struct {
	stamp uint32 // 0: none, or known by now
	made  time.Duration
}

// aim is the tick that an input made at now is for: the first that the server
// makes half a tick or more after it is there, by what datagrams were seen to
// need. Its own work moves a server's moments by about that much. 0: not known.
func (s *Session) aim(now time.Duration) uint32 {
	if s.clock.tick == 0 {
		return 0
	}
	lead := s.inputs.way.value
	if s.inputs.way.count == 0 { // nothing is known of the way there
		lead = s.clock.trips.least()/2 + 2*time.Second/time.Duration(s.welcome.SnapshotHz)
	}
	tick := s.clock.ticks(s.clock.server(now)+min(lead, maxLead)) + 1.5
	return uint32(min(max(tick, 0), math.MaxUint32))
}

// SetInput is what the client wants from now on: at most wire.MaxInputBytes. It
// is made for the tick that the server will be at when it arrives, and repeated in
// the next datagrams, wire.MaxInputs ticks in each, so that one which arrives
// makes up for those that did not. A game calls it once a frame; of several for
// one tick the last one counts.
func (s *Session) SetInput(data []byte, now time.Duration) error {
	if len(data) > wire.MaxInputBytes {
		return fmt.Errorf("client: input of %d bytes, at most %d", len(data), wire.MaxInputBytes)
	}
	in := &s.inputs
	tick := s.aim(now)
	if len(in.list) > 0 {
		newest := &in.list[0]
		switch {
		case tick > 0 && float64(newest.Tick-min(tick, newest.Tick)) > s.clock.ticks(stepAbove):
			in.list, in.unsent = in.list[:0], 0 // the server's time went back: those are for nothing
		case in.unsent > 0 && tick > 0 && tick <= newest.Tick:
			newest.Data = append(newest.Data[:0], data...)
			return nil
		default:
			tick = max(tick, newest.Tick+1)
		}
	}
	if in.unsent == 0 {
		in.made, in.timed = s.clock.server(now), s.clock.tick != 0
	}
	in.unsent = min(in.unsent+1, wire.MaxInputs)
	if len(in.list) < wire.MaxInputs {
		in.list = append(in.list, wire.TickInput{})
	}
	last := in.list[len(in.list)-1].Data
	copy(in.list[1:], in.list)
	in.list[0] = wire.TickInput{Tick: max(tick, 1), Data: append(last[:0], data...)}
	return nil
}

// Input makes the datagram to be sent at now: the newest inputs, and the
// acknowledgement of what was applied. It is valid until the next call, and
// nil before the Welcome of the connection.
func (s *Session) Input(now time.Duration) []byte {
	if !s.greeted {
		return nil
	}
	in, stamp := &s.inputs, stampAt(now)
	if in.unsent > 0 && in.timed {
		in.sent[in.next%echoedDatagrams] = sentInput{stamp, in.made}
		in.next++
	}
	in.unsent = 0
	m := wire.Input{Stamp: stamp, Ack: s.replica.Ack(), Inputs: in.list}
	s.input = m.Append(s.input[:0])
	return s.input
}

// arrived takes what a snapshot tells of an Input: the server's time at which the
// datagram with that stamp was there.
func (in *inputs) arrived(now time.Duration, stamp uint32, at time.Duration) {
	i := slices.IndexFunc(in.sent[:], func(d sentInput) bool { return d.stamp == stamp })
	if i < 0 {
		return // it had no new input, or was told of before
	}
	in.way.add(now, at-in.sent[i].made)
	in.sent[i].stamp = 0
}

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
	// maxLead bounds how far ahead of the server's time inputs are aimed, and
	// maxAhead, in ticks, how long before their tick they arrive: the server takes
	// none that comes 32 ticks before (PROTOCOL.md, section 10).
	maxLead  = time.Second
	maxAhead = 28
	// maxUnsent is how many inputs may wait for a datagram: then one goes out
	// without a snapshot, so that the next has room for them once more.
	maxUnsent = wire.MaxInputs / 2
	// leastRepeated is how many inputs a datagram holds at least, if there are as
	// many: with one a datagram, as with snapshots in each tick, four datagrams.
	leastRepeated = 4
	// mostApart bounds how far apart snapshots are thought to be, so that a client
	// which hears nothing is heard, and looks at its connection, twice a second.
	mostApart = time.Second / 4
)

// inputs are what the client wants for the newest ticks, and when they have to be
// made so that they arrive in time.
type inputs struct {
	list   []wire.TickInput // newest first
	unsent int              // how many of them no datagram has held
	before [2]int           // how many were new in the last datagram and the one before it
	timed  bool             // made is known:
	made   time.Duration    // the server's time when the oldest of these was made
	sent   [echoedDatagrams]sentInput
	next   int       // place in sent of the next datagram
	way    allowance // server's time from making an input until it arrives
	trip   usualTrip // the part of it that the link takes
}

// sentInput is a datagram that was the first to hold an input. Times are the
// server's.
type sentInput struct {
	stamp   uint32 // 0: none, or known by now
	number  int    // counted from 0
	made    time.Duration
	at      time.Duration
	missing bool // a snapshot was sent when it should have been there, and it was not
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
	most := min(maxLead, s.clock.trips.least()/2+s.clock.timeOf(maxAhead))
	tick := s.clock.ticks(s.clock.server(now)+min(lead, most)) + 1.5
	return uint32(min(max(tick, 0), math.MaxUint32))
}

// SetInput is what the client wants from now on: at most wire.MaxInputBytes. It
// is made for the tick that the server will be at when it arrives, and repeated in
// the next two datagrams, so that one which arrives makes up for those that did
// not: on a link that loses more than one in fifty, inputs are made so early that
// the first copy is in time. A game calls it once a frame; of several for one tick
// the last one counts.
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
		in.sent[in.next%echoedDatagrams] = sentInput{stamp: stamp, number: in.next, made: in.made, at: s.clock.server(now)}
		in.next++
	}
	repeated := max(in.unsent+in.before[0]+in.before[1], leastRepeated)
	if in.unsent > 0 {
		in.before, in.unsent = [2]int{in.unsent, in.before[0]}, 0
	}
	s.acked = s.replica.acks
	m := wire.Input{Stamp: stamp, Ack: s.replica.Ack(), Inputs: in.list[:min(repeated, len(in.list))]}
	s.input = m.Append(s.input[:0])
	return s.input
}

// answers says whether an Input is to be sent, when so many datagrams have come and
// the newest Input is that old: one for all that came, since the acknowledgement is of
// everything. A snapshot that overtook its structure is answered when that has come,
// which is at once, with its acknowledgement. If nothing comes, inputs go out all the
// same: only half of the link may be down. So they do before so many of them wait
// that the next datagram could not repeat them.
func (s *Session) answers(datagrams int, quiet time.Duration) bool {
	if quiet >= s.patience() || s.inputs.unsent >= maxUnsent {
		return true
	}
	r := s.replica
	return r != nil && (r.acks != s.acked || datagrams > 0 && len(r.held) == 0)
}

// patience is how long to wait for a snapshot before an Input goes out unasked: two
// snapshots' time, by the rate that the Welcome gave. With nothing new to say it is
// by the rate that they come at: a server which has no time for all of them has none
// to hear more often that nothing is new.
func (s *Session) patience() time.Duration {
	if s.welcome == nil {
		return handshakeTimeout
	}
	apart := time.Second / time.Duration(s.welcome.SnapshotHz)
	if s.inputs.unsent == 0 {
		apart = max(apart, min(s.clock.apart, mostApart))
	}
	return 2 * apart
}

// told takes what a snapshot that was sent at sent says of Input datagrams: the
// newest that was there had that stamp, and came at the time at. Times are the
// server's.
//
// A datagram that was missing and is passed over by one with copies of what it held
// is lost, or as good as that: its inputs came with the later one. A stamp that is
// passed over without that may be of a datagram that came shortly before the later
// one, and says nothing. Nor do those in the midst of many that were lost: no lead
// would have helped.
func (in *inputs) told(now time.Duration, stamp uint32, at, sent time.Duration) {
	usual, newest := in.trip.most(), math.MaxInt
	if i := slices.IndexFunc(in.sent[:], func(d sentInput) bool { return d.stamp == stamp }); i >= 0 {
		newest = in.sent[i].number
	}
	for i := range in.sent {
		switch d := &in.sent[i]; {
		case d.stamp == 0:
		case d.number == newest:
			in.trip.add(at - d.at)
			in.way.add(now, at-d.made)
			d.stamp = 0
		case int32(stamp-d.stamp) > 0:
			if d.missing && newest-d.number <= len(in.before) {
				in.way.add(now, at-d.made)
			}
			d.stamp = 0
		default:
			d.missing = d.missing || in.trip.known && sent-d.at > usual
		}
	}
}

// usualTrip estimates what datagrams take as TCP does (RFC 6298): the mean, and
// what they differ from it on average.
type usualTrip struct {
	known        bool
	mean, differ time.Duration
}

func (u *usualTrip) add(trip time.Duration) {
	if !u.known {
		*u = usualTrip{true, trip, trip.Abs() / 2}
		return
	}
	u.differ += ((trip - u.mean).Abs() - u.differ) / 4
	u.mean += (trip - u.mean) / 8
}

// most is what hardly a trip takes longer than.
func (u *usualTrip) most() time.Duration { return u.mean + 4*u.differ }

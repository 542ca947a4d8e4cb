package client

import (
	"fmt"
	"math"
	"time"

	"github.com/worldd/worldd/replication/wire"
)

const (
	// minEchoed is how many Input datagrams await the snapshot that echoes their arrival at
	// least, and maxEchoed at most; more than minEchoed only for maxEchoAge.
	minEchoed  = 32
	maxEchoed  = 4096
	maxEchoAge = 3 * time.Second
	// maxLead bounds how long before their tick inputs are made. The fastest arrive at most
	// aheadShare parts in aheadOf of the time before their tick for which the server keeps them
	// (PROTOCOL.md, section 10).
	maxLead    = time.Second
	aheadShare = 5
	aheadOf    = 8
	// maxUnsent bounds the inputs that wait for a datagram; beyond it one is sent
	// without waiting for a snapshot, so that the next can repeat them.
	maxUnsent = wire.MaxInputs / 2
	// minRepeated is how many inputs a datagram holds if there are as many that the server
	// has not applied: an input per datagram, as with a snapshot in every tick, is sent up
	// to four times.
	minRepeated = 4
)

// inputs are the newest inputs, and the measurements that decide for which tick an
// input is made so that it arrives in time.
type inputs struct {
	list    []wire.TickInput // newest first
	unsent  int              // inputs that no datagram has held
	set     time.Duration    // when the newest was set
	early   bool             // the newest, unsent, was set for a tick above its target
	before  [2]int           // new inputs in the last datagram and in the one before
	timed   bool             // made is known
	made    time.Duration    // server time when the oldest unsent input was made
	sent    []sentInput
	next    int       // number of the next datagram; its index in sent, modulo len(sent)
	awaited int       // number of the oldest datagram whose fate is not known
	lead    allowance // server time from making an input until it arrives
	trip    tripTime  // the link's part of lead
	ahead   leastOf   // server time of arrival minus the caller's time of sending
}

// sentInput is a datagram that was the first to hold an input. Times are the server's,
// except sent.
type sentInput struct {
	stamp   uint32 // 0: unused, or its fate is known
	number  int    // counted from 0
	made    time.Duration
	at      time.Duration
	sent    time.Duration // the caller's time
	missing bool          // a snapshot sent after it was due did not echo it
}

// targetTick returns the tick for an input made at now: the first that the server
// steps at least half a tick after the input should arrive, since the server's own
// work delays its steps by about that much. It is 0 if the server's time is unknown.
func (in *inputs) targetTick(t *timing, now time.Duration) uint32 {
	if t.clock.tick == 0 {
		return 0
	}
	return uint32(min(in.inputTick(t, now)+1, math.MaxUint32))
}

// inputTick returns how far the tick for an input made at now has come: from the tick before
// it to the tick itself. It is 0 if the server's time is unknown.
func (in *inputs) inputTick(t *timing, now time.Duration) float64 {
	if t.clock.tick == 0 {
		return 0
	}
	lead := in.lead.value
	if in.lead.count == 0 { // not measured yet
		lead = t.clock.trips.leastValue()/2 + 2*time.Second/time.Duration(t.snapshotHz)
	}
	ahead := in.earliestArrival(&t.clock, now) + t.clock.serverKeeps()*aheadShare/aheadOf
	aimed := min(t.clock.serverTime(now)+min(lead, maxLead), ahead)
	return max(t.clock.ticksIn(aimed)+0.5, 0)
}

// serverKeeps returns how long before its tick an input may arrive.
func (c *clock) serverKeeps() time.Duration { return c.timeOf(uint32(wire.InputLead(c.hz))) }

// targetMargin returns by how much the tick for inputs may go back: less than what serverKeeps
// leaves, but for two ticks.
func (c *clock) targetMargin() time.Duration {
	return min(c.serverKeeps()*(aheadOf-aheadShare)/aheadOf-c.timeOf(2), stepAbove)
}

// earliestArrival returns a server time before which an input sent at now should not arrive.
// Trips may soon be shorter than all measured ones if they vary, but not shorter than zero.
// The least measured arrival does not depend on the clock's estimate, which is wrong for
// some seconds if only one direction is slow, and after a stall of the server.
func (in *inputs) earliestArrival(c *clock, now time.Duration) time.Duration {
	if !in.trip.known {
		return c.serverTime(now)
	}
	expected := max(c.serverTime(now)+in.trip.leastTrip(), now-c.behind)
	return min(expected, now+in.ahead.leastValue())
}

// SetRawInput sets what the player holds down from now on: at most wire.MaxInputBytes. It is
// for schemas that declare no input; see client.SetInput. It returns the tick that the input
// is for, which a snapshot's AppliedInput reaches once the server has applied it. The input
// carries the moment of the newest Render. It is made for the tick at which the server will
// receive it, and repeated in the next two datagrams, any of which suffices. On a link that
// loses more than one in fifty, inputs are made early enough for the first repetition to be
// in time. Games call it once per render; of several inputs for one tick the last counts.
func (s *Session) SetRawInput(data []byte, now time.Duration) (tick uint32, err error) {
	if s.serverSchema().Input() != nil {
		return 0, errTypedInput
	}
	if len(data) > wire.MaxInputBytes {
		return 0, fmt.Errorf("client: input has %d bytes, at most %d", len(data), wire.MaxInputBytes)
	}
	return s.uplink.addInput(&s.time, data, now, s.replica.appliedInput()), nil
}

// appliedInput returns AppliedInput, 0 if r is nil.
func (r *Replica) appliedInput() uint32 {
	if r == nil {
		return 0
	}
	return r.timeline.input
}

// addInput adds a checked input, and returns its tick. applied is the newest that the server is
// known to have applied.
func (in *inputs) addInput(t *timing, data []byte, now time.Duration, applied uint32) uint32 {
	tick := in.targetTick(t, now)
	if tick > 0 {
		tick = max(tick, applied+1) // the server applies no second input for a tick
	}
	in.set = now
	if len(in.list) > 0 {
		newest := &in.list[0]
		switch {
		case tick > 0 && float64(newest.Tick-min(tick, newest.Tick)) > t.clock.ticksIn(t.clock.targetMargin()):
			in.list, in.unsent, in.early = in.list[:0], 0, false // the server may drop them: their ticks are too far ahead
		case in.unsent > 0 && tick > 0 && tick <= newest.Tick:
			if in.early && tick == newest.Tick {
				in.early = false
				if in.unsent == 1 {
					in.made = t.clock.serverTime(now)
				}
			}
			newest.Data = append(newest.Data[:0], data...)
			newest.Back, newest.Fraction = t.viewMoment(newest.Tick)
			return newest.Tick
		case tick <= newest.Tick:
			in.early = tick > 0
			tick = newest.Tick + 1
		default:
			if in.early && in.unsent == 1 {
				in.made = t.clock.serverTime(now)
			}
			in.early = false
		}
	}
	if in.unsent == 0 {
		in.made, in.timed = t.clock.serverTime(now), t.clock.tick != 0
	}
	in.unsent = min(in.unsent+1, wire.MaxInputs)
	if len(in.list) < wire.MaxInputs {
		in.list = append(in.list, wire.TickInput{})
	}
	last := in.list[len(in.list)-1].Data
	copy(in.list[1:], in.list)
	in.list[0] = wire.TickInput{Tick: max(tick, 1), Data: append(last[:0], data...)}
	in.list[0].Back, in.list[0].Fraction = t.viewMoment(in.list[0].Tick)
	return in.list[0].Tick
}

// Input returns the datagram to send at now: the newest inputs, and the
// acknowledgement of what was applied. It is valid until the next call, and nil before
// the connection's Welcome.
func (s *Session) Input(now time.Duration) []byte {
	if !s.connection.isJoined() {
		return nil
	}
	return s.uplink.nextInput(&s.time, now, s.replica)
}

// takeNewest returns the inputs for a datagram that is sent at now with stamp. newest says that
// the newest was made at now.
func (in *inputs) takeNewest(t *timing, now time.Duration, stamp uint32, newest bool, applied uint32) []wire.TickInput {
	list, fresh := in.list, in.unsent
	if in.early {
		if in.targetTick(t, now) < list[0].Tick {
			list, fresh = list[1:], fresh-1
		} else if fresh == 1 {
			in.made = t.clock.serverTime(now)
		}
	}
	if fresh == 1 && newest {
		in.made = t.clock.serverTime(now)
	}
	repeated := max(fresh+in.before[0]+in.before[1], minRepeated)
	if fresh > 0 {
		if in.timed {
			in.makeRoom(now)
			*in.sentDatagram(in.next) = sentInput{stamp: stamp, number: in.next, made: in.made, at: t.clock.serverTime(now), sent: now}
			in.next++
		}
		in.before = [2]int{fresh, in.before[0]}
	}
	in.unsent -= fresh
	in.early = in.unsent > 0
	n := min(repeated, len(list))
	for n > fresh && list[n-1].Tick <= applied { // the server would drop it
		n--
	}
	return list[:n]
}

// forgetSent forgets what was measured of datagrams of the connection before, and of inputs
// that waited for this one: their delays say nothing about the link.
func (in *inputs) forgetSent() {
	in.timed, in.sent, in.awaited = false, nil, in.next
}

// makeRoom makes room for another datagram in sent. The oldest gives way unless it may still be
// echoed: a link of two seconds takes long.
func (in *inputs) makeRoom(now time.Duration) {
	n := len(in.sent)
	switch {
	case n == 0:
		in.sent = make([]sentInput, minEchoed)
	case in.next-in.awaited >= n && n < maxEchoed && now-in.sentDatagram(in.awaited).sent < maxEchoAge:
		larger := make([]sentInput, 2*n)
		for number := in.next - n; number < in.next; number++ {
			larger[number%(2*n)] = *in.sentDatagram(number)
		}
		in.sent = larger
	}
}

// learnFromEcho learns from what a snapshot echoes of a datagram.
//
// A missing datagram that is passed over by one that repeats its inputs is lost, or as
// good as lost: its inputs arrived with the later one. A stamp passed over otherwise
// may belong to a datagram that arrived shortly before the later one, and says
// nothing. Nor do datagrams within a burst of losses: no lead would have helped.
func (in *inputs) learnFromEcho(now time.Duration, e echo) {
	if e.stamp == 0 {
		return
	}
	most, newest := in.trip.mostTrip(), math.MaxInt
	in.awaited = max(in.awaited, in.next-len(in.sent))
	for n := in.awaited; n < in.next && newest == math.MaxInt; n++ {
		if in.sentDatagram(n).stamp == e.stamp {
			newest = n
		}
	}
	for n := in.awaited; n < in.next; n++ {
		switch d := in.sentDatagram(n); {
		case d.stamp == 0:
		case d.number == newest:
			in.trip.addTrip(e.arrived - d.at)
			in.ahead.addValue(now, e.arrived-d.sent)
			in.lead.addDelay(now, e.arrived-d.made)
			d.stamp = 0
		case int32(e.stamp-d.stamp) > 0:
			if d.missing && newest-d.number <= len(in.before) {
				in.lead.addDelay(now, e.arrived-d.made)
			}
			d.stamp = 0
		default:
			d.missing = d.missing || in.trip.known && e.sent-d.at > most
		}
	}
	for in.awaited < in.next && in.sentDatagram(in.awaited).stamp == 0 {
		in.awaited++
	}
}

// sentDatagram returns the datagram of that number, one of the newest.
func (in *inputs) sentDatagram(number int) *sentInput { return &in.sent[number%len(in.sent)] }

// tripTime estimates the time that datagrams take, as TCP does (RFC 6298): the mean
// and the mean deviation.
type tripTime struct {
	known           bool
	mean, deviation time.Duration
}

func (u *tripTime) addTrip(trip time.Duration) {
	if !u.known {
		*u = tripTime{true, trip, trip.Abs() / 2}
		return
	}
	u.deviation += ((trip - u.mean).Abs() - u.deviation) / 4
	u.mean += (trip - u.mean) / 8
}

// leastTrip returns a time that few datagrams fall below.
func (u *tripTime) leastTrip() time.Duration { return u.mean - 8*u.deviation }

// mostTrip returns a time that few datagrams exceed.
func (u *tripTime) mostTrip() time.Duration { return u.mean + 4*u.deviation }

package client

import (
	"fmt"
	"math"
	"time"

	"github.com/worldd/worldd/replication/wire"
)

const (
	// minEchoed and maxEchoed bound the Input datagrams that are remembered until a snapshot
	// echoes their arrival. More than minEchoed are kept for at most maxEchoAge.
	minEchoed  = 32
	maxEchoed  = 4096
	maxEchoAge = 3 * time.Second
	// maxLead bounds the time between making an input and its tick. An input arrives at most
	// aheadShare/aheadOf of wire.InputLead before its tick: the server drops earlier ones
	// (PROTOCOL.md, section 10).
	maxLead    = time.Second
	aheadShare = 5
	aheadOf    = 8
	// maxUnsent bounds the inputs that wait for a datagram. When it is reached, one is sent
	// without waiting for a snapshot, so that the next can repeat them.
	maxUnsent = wire.MaxInputs / 2
	// minRepeated is how many unapplied inputs a datagram holds, if there are as many: with one
	// input per datagram, as with a snapshot in every tick, each input is sent up to four
	// times.
	minRepeated = 4
)

// inputs holds the newest inputs, and the measurements by which each input is made for a tick
// early enough to arrive in time.
type inputs struct {
	list    []wire.TickInput // newest first
	unsent  int              // inputs that no datagram has held
	set     time.Duration    // when the newest was set
	early   bool             // the newest, unsent, was set for a tick later than its target
	before  [2]int           // new inputs in each of the last two datagrams
	timed   bool             // made is known
	made    time.Duration    // server time when the oldest unsent input was made
	sent    []sentInput
	next    int       // number of the next datagram; sent holds it at this index modulo len(sent)
	awaited int       // number of the oldest datagram whose fate is not known
	lead    allowance // server time between making an input and its arrival
	trip    tripTime  // the part of lead that the link causes
	ahead   leastOf   // server time of arrival minus the caller's time of sending
}

// sentInput is a datagram that was the first to hold an input. Times are the server's, except
// sent.
type sentInput struct {
	stamp   uint32 // 0: unused, or its fate is known
	number  int    // counted from 0
	made    time.Duration
	at      time.Duration
	sent    time.Duration // the caller's time
	missing bool          // a snapshot sent after it was due did not echo it
}

// targetTick returns the tick for an input made at now: the first tick whose step begins at
// least half a tick after the input should arrive, since the server's work delays steps by
// about half a tick. It is 0 if the server's time is unknown.
func (in *inputs) targetTick(t *timing, now time.Duration) uint32 {
	if t.clock.tick == 0 {
		return 0
	}
	return uint32(min(in.inputTick(t, now)+1, math.MaxUint32))
}

// inputTick returns the tick for an input made at now with a fraction, less than one below
// targetTick. It is 0 if the server's time is unknown.
func (in *inputs) inputTick(t *timing, now time.Duration) float64 {
	if t.clock.tick == 0 {
		return 0
	}
	lead := in.lead.value
	if in.lead.count == 0 { // not measured yet
		lead = t.clock.trips.leastValue()/2 + 2*time.Second/time.Duration(t.snapshotHz)
	}
	ahead := in.earliestArrival(&t.clock, now) + serverKeeps(&t.clock)*aheadShare/aheadOf
	aimed := min(t.clock.serverTime(now)+min(lead, maxLead), ahead)
	return max(t.clock.ticksIn(aimed)+0.5, 0)
}

// serverKeeps returns how long before its tick an input may arrive.
func serverKeeps(c *clock) time.Duration { return c.timeOf(uint32(wire.InputLead(c.hz))) }

// targetMargin returns by how much the target tick may fall behind the newest input's: two
// ticks less than the part of serverKeeps that inputTick does not use, and at most stepAbove.
func targetMargin(c *clock) time.Duration {
	return min(serverKeeps(c)*(aheadOf-aheadShare)/aheadOf-c.timeOf(2), stepAbove)
}

// earliestArrival returns a server time before which an input sent at now should not arrive. If
// trip times vary, the next trip may be shorter than all measured ones, but not negative. The
// least measured arrival does not depend on the clock's estimate, which is wrong for some
// seconds after a stall of the server, and if only one direction is slow.
func (in *inputs) earliestArrival(c *clock, now time.Duration) time.Duration {
	if !in.trip.known {
		return c.serverTime(now)
	}
	expected := max(c.serverTime(now)+in.trip.leastTrip(), now-c.behind)
	return min(expected, now+in.ahead.leastValue())
}

// SetRawInput sets what the player holds down from now on: at most wire.MaxInputBytes. It is
// for servers whose schema declares no input; see client.SetInput. It returns the input's tick;
// ReplicaStats.AppliedInput reaches it once the server has applied the input. The input carries
// the moment of the newest Render.
//
// The client makes an input for the tick at which the server will receive it, and repeats it in
// the next two datagrams, any of which suffices. On a link that loses more than one datagram in
// fifty, inputs are made early enough for the first repetition to be in time. Games call
// SetRawInput once per render; of several inputs for one tick the last counts.
func (s *Session) SetRawInput(data []byte, now time.Duration) (tick uint32, err error) {
	if s.greeting.serverSchema().Input() != nil {
		if s.greeting.declared.Input() == nil {
			return 0, errUndeclaredInput
		}
		return 0, errTypedInput
	}
	if len(data) > wire.MaxInputBytes {
		return 0, fmt.Errorf("client: input has %d bytes, at most %d", len(data), wire.MaxInputBytes)
	}
	return s.uplink.addInput(&s.time, data, now, s.replica.appliedInput()), nil
}

// appliedInput returns the tick of the newest input that the server had applied, 0 if r is nil.
func (r *Replica) appliedInput() uint32 {
	if r == nil {
		return 0
	}
	return r.timeline.input
}

// addInput adds a checked input, and returns its tick. applied is the newest input that the
// server has confirmed.
func (in *inputs) addInput(t *timing, data []byte, now time.Duration, applied uint32) uint32 {
	tick := in.targetTick(t, now)
	if tick > 0 {
		tick = max(tick, applied+1) // the server applies no second input for a tick
	}
	in.set = now
	if len(in.list) > 0 {
		newest := &in.list[0]
		switch {
		case tick > 0 && float64(newest.Tick-min(tick, newest.Tick)) > t.clock.ticksIn(targetMargin(&t.clock)):
			in.list, in.unsent, in.early = in.list[:0], 0, false // their ticks are too far ahead: the server may drop them
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

// Input returns the datagram to send at now: the newest inputs, and the acknowledgement of what
// was applied. It is valid until the next call. It is nil before the connection's Welcome.
func (s *Session) Input(now time.Duration) []byte {
	if !s.stream.isJoined() {
		return nil
	}
	return s.uplink.nextInput(&s.time, now, s.replica)
}

// takeNewest returns the inputs for a datagram that is sent at now with stamp. newest reports
// that the newest input was made at now.
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

// forgetSent forgets the measurements of the previous connection's datagrams, and of the inputs
// that waited for this connection: their delays say nothing about the link.
func (in *inputs) forgetSent() {
	in.timed, in.sent, in.awaited = false, nil, in.next
}

// makeRoom makes room for another datagram in sent: it grows while the oldest may still be
// echoed, since a round trip can take two seconds.
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

// learnFromEcho updates the delays by the datagram that a snapshot echoes.
//
// A missing datagram counts as lost if the echoed one repeats its inputs: their delay ends
// with the arrival of the echoed one. Any other datagram that the echo passes over is ignored:
// it may have arrived shortly before the echoed one, or belong to a burst of losses, in which
// no lead would have helped.
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

// tripTime estimates the one-way time of datagrams, as TCP does (RFC 6298): by mean and mean
// deviation.
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

package client_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/simtest"
	"github.com/worldd/worldd/replication/wire"
)

// A client that sleeps between updates answers each snapshot at a time when QUIC's
// acknowledgements, which either end delays by 25 ms, travel in the packets of snapshots and
// answers. A client that draws answers at once: it may not be awake at that time.
func TestAnswersCarryAcknowledgements(t *testing.T) {
	for _, c := range []struct {
		delay         int64 // ms, each way
		asleep, awake float64
	}{{2, 2, 3}, {5, 2, 3}, {10, 2, 3}, {13, 2, 2}, {20, 2, 2}, {30, 2, 3}, {40, 2, 2}} {
		require.InDelta(t, c.asleep, packetsPerSnapshot(t, c.delay, true), 0.05, "%d ms each way", c.delay)
		require.InDelta(t, c.awake, packetsPerSnapshot(t, c.delay, false), 0.05, "%d ms each way, drawing", c.delay)
	}
}

// packetsPerSnapshot plays 20 snapshots a second and returns the packets per snapshot, in both
// directions.
func packetsPerSnapshot(t *testing.T, delay int64, sleeps bool) float64 {
	link := simtest.Conditions{DelayMin: ms(delay), DelayMax: ms(delay)}
	s := newLinkedServer(t, 21, link, link)
	s.every = linkedTickHz / 20
	s.sleep(sleeps)
	s.session.TakeStream()              // otherwise queued bytes would be acknowledged earlier
	var sent, arrived, answered []int64 // answered: at the server
	s.arrived = func(wire.Input, uint32) { answered = append(answered, s.now) }
	s.play(2 * time.Second)
	answered = nil
	for range 40_000 {
		seq, seen := s.seq, s.session.Replica().Stats().Snapshots
		s.play(100 * time.Microsecond)
		if s.seq != seq {
			sent = append(sent, s.now)
		}
		if s.session.Replica().Stats().Snapshots != seen {
			arrived = append(arrived, s.now)
		}
	}
	packets := len(sent) + len(answered)
	alone := func(received, replies []int64, trip int64) { // acknowledgements in extra packets
		for _, at := range received {
			i := slices.IndexFunc(replies, func(reply int64) bool { return reply-trip >= at-1 }) // play counts one step more
			if i >= 0 && replies[i]-trip-at > ms(25) {
				packets++
			}
		}
	}
	alone(arrived, answered, ms(delay))
	alone(answered, sent, 0)
	return float64(packets) / float64(len(sent))
}

// At 20 ticks and snapshots a second, inputs wait for the answer and are in time, for the same
// ticks as the inputs of a client that draws. At 60 ticks they do not wait.
func TestInputsWaitForTheAnswer(t *testing.T) {
	for _, hz := range []int64{20, 60} {
		inTime, lead, wait := inputsOnSnapshots(t, hz, true)
		awake, leadAwake, waitAwake := inputsOnSnapshots(t, hz, false)
		require.LessOrEqual(t, inTime[0], awake[0], "%d Hz", hz)
		require.InDelta(t, leadAwake, lead, float64(time.Millisecond), "%d Hz", hz)
		if hz == 20 {
			waitAwake = 19 * time.Millisecond // of 50, over 10 ms: 15 for 25 at the server, 4 for late snapshots
		}
		require.InDelta(t, waitAwake, wait, float64(time.Millisecond), "%d Hz", hz)
	}
}

// inputsOnSnapshots plays 5 s of a client that sets an input on each of 20 snapshots a second.
// It returns the ticks of inputs that arrived in time, and the median time between a snapshot's
// arrival and the input's departure.
func inputsOnSnapshots(t *testing.T, hz int64, sleeps bool) (ticks []uint32, lead, wait time.Duration) {
	link := simtest.Conditions{DelayMin: ms(5), DelayMax: ms(5)}
	s := newLinkedServerAt(t, hz, 21, link, link)
	s.every = uint32(hz) / 20
	s.sleep(sleeps)
	s.session.TakeStream()
	var set int64
	var waits []time.Duration
	newest := uint32(0)
	s.arrived = func(in wire.Input, tick uint32) {
		if len(in.Inputs) == 0 || in.Inputs[0].Tick <= newest {
			return
		}
		newest = in.Inputs[0].Tick
		if newest > tick && s.now >= 10_000 {
			ticks = append(ticks, newest)
			waits = append(waits, time.Duration(s.now-ms(5)-set)*100*time.Microsecond)
		}
	}
	s.updated = func() {
		set = s.now
		setInput(s.session, []byte("w"), s.time())
	}
	s.play(6 * time.Second)
	require.Greater(t, len(ticks), 98)
	slices.Sort(waits)
	return ticks, s.session.Stats().Lead, waits[len(waits)/2]
}

// A client that sleeps and sets an input on each snapshot sends one datagram for both. At 20
// ticks its inputs are for the first tick for which they are half a tick early, even after an
// input for a later tick.
func TestInputsOfSnapshotsTakeNoPacket(t *testing.T) {
	for _, hz := range []int64{20, 60} {
		link := simtest.Conditions{DelayMin: ms(20), DelayMax: ms(21)}
		s := newLinkedServerAt(t, hz, 21, link, link)
		s.every = uint32(hz) / 20
		s.sleep(true)
		s.session.TakeStream()
		ahead := map[uint32]int{}
		s.updated = func() {
			tick := must.Get(s.session.SetRawInput([]byte("w"), s.time()))
			ahead[tick-s.session.Replica().Tick()]++
		}
		s.play(6 * time.Second)
		setInput(s.session, []byte("w"), s.time()) // for one of the next snapshot's ticks
		s.play(time.Second)
		datagrams, seq := 0, s.seq
		clear(ahead)
		s.arrived = func(wire.Input, uint32) { datagrams++ }
		s.play(10 * time.Second)
		require.InDelta(t, s.seq-seq, datagrams, 2, "%d Hz", hz)
		if hz == 20 {
			require.Greater(t, ahead[2], datagrams*9/10, "ticks ahead of the snapshot: %v", ahead)
		}
	}
}

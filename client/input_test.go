package client_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/invariants"
	"github.com/worldd/worldd/internal/simtest"
	"github.com/worldd/worldd/replication/wire"
)

// The inputs of a game arrive before their tick, and not long before: the lead
// is what the link asks for. Of those whose datagram is lost, the next one has
// a copy, which is late or not.
func TestInputsArriveInTime(t *testing.T) {
	for _, c := range []struct {
		delay, jitter int64 // ms, each way
		loss          float64
	}{{0, 0, 0}, {20, 0, 0}, {20, 20, 0}, {60, 100, 0}, {60, 20, 0.05}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			link := simtest.Conditions{DelayMin: ms(c.delay), DelayMax: ms(c.delay + c.jitter), Loss: c.loss}
			s := newStudio(t, 21, link, link)
			s.frame = func() { require.NoError(t, s.session.SetInput([]byte("w"), s.time())) }
			newest, inTime, late, early := uint32(0), 0, 0, 0.0
			s.arrived = func(in wire.Input, tick uint32) {
				for i := len(in.Inputs) - 1; i >= 0; i-- {
					n := in.Inputs[i].Tick
					if n <= newest {
						continue
					}
					newest = n
					early += float64(n) - s.trueTick()
					if n > tick {
						inTime++
					} else {
						late++
					}
				}
			}
			s.play(5 * time.Second)
			inTime, late, early = 0, 0, 0
			s.play(20 * time.Second)
			n := inTime + late
			early *= 1000.0 / studioTickHz / float64(n) // ms
			t.Logf("%d inputs, %d late, %.0f ms early", n, late, early)
			require.Greater(t, n, 20*studioTickHz*9/10, "one for nearly every tick")
			require.LessOrEqual(t, float64(late), (0.02+c.loss)*float64(n))
			// Frames make inputs all the time, snapshots carry them off every 33 ms.
			require.LessOrEqual(t, early, float64(c.jitter)+33+2*17)
		})
	}
}

// Whatever the rates are, a lost datagram costs no input: the next one has a copy
// of all that it held, and on a link that loses datagrams inputs are made so early
// that the copy is in time. What two lost in a row held is missed; without copies
// it would be the loss.
func TestInputsOutliveALostDatagram(t *testing.T) {
	const loss = 0.08
	for _, every := range []uint32{1, 2, 3, 6, 12} {
		t.Run(fmt.Sprint(every), func(t *testing.T) {
			missed, early := missedInputs(t, every, loss, 0)
			none, before := missedInputs(t, every, 0, loss)
			t.Logf("%.2f %% missed, %.0f ms early; where snapshots are lost %.2f %%, %.0f ms", 100*missed, early, 100*none, before)
			require.LessOrEqual(t, missed, 0.02)
			require.LessOrEqual(t, none, 0.02)
			// What a copy is later: as long as it takes until the next datagram.
			gap := 1000.0 / studioTickHz * float64(min(every, wire.MaxInputs/2))
			require.LessOrEqual(t, early, before+1.5*gap+17)
		})
	}
}

// missedInputs plays a minute and a half with a snapshot in each so many ticks:
// the share of ticks whose input came too late or not at all, and how much before
// its tick an input comes, in ms.
func missedInputs(t *testing.T, every uint32, lossUp, lossDown float64) (missed, early float64) {
	up := simtest.Conditions{DelayMin: ms(20), DelayMax: ms(25), Loss: lossUp}
	down := up
	down.Loss = lossDown
	s := newStudio(t, 21, down, up)
	s.every = every
	s.frame = func() { require.NoError(t, s.session.SetInput([]byte("w"), s.time())) }
	s.play(30 * time.Second)
	inTime, sum := map[uint32]bool{}, 0.0
	s.arrived = func(in wire.Input, tick uint32) {
		for _, i := range in.Inputs {
			if i.Tick > tick && !inTime[i.Tick] {
				inTime[i.Tick] = true
				sum += float64(i.Tick) - s.trueTick()
			}
		}
	}
	from := s.tick + 60
	s.play(62 * time.Second)
	n := 0
	for tick := from; tick < from+3600; tick++ {
		if !inTime[tick] {
			n++
		}
	}
	return float64(n) / 3600, sum / float64(len(inTime)) * 1000 / studioTickHz
}

// A link that is dead on the way up for a while teaches nothing: no copies come of
// what was lost in its midst, so inputs are made no earlier for it.
func TestInputsAfterADeadUplink(t *testing.T) {
	link := simtest.Conditions{DelayMin: ms(20), DelayMax: ms(25)}
	s := newStudio(t, 21, link, link)
	s.frame = func() { require.NoError(t, s.session.SetInput([]byte("w"), s.time())) }
	s.play(5 * time.Second)
	early := 0.0
	s.arrived = func(in wire.Input, _ uint32) { early = max(early, float64(in.Inputs[0].Tick)-s.trueTick()) }
	s.play(time.Second)
	before := early
	alive := s.up
	s.up = simtest.NewLink(1, simtest.Conditions{Loss: 1})
	s.play(2 * time.Second)
	s.up, early = alive, 0
	s.play(3 * time.Second)
	require.Greater(t, early, 0.0)
	require.LessOrEqual(t, early, before+3*studioTickHz/studioSnapshotHz)
}

// However uneven the way is, no input arrives so early that the server drops it.
func TestInputsAreNotTooEarly(t *testing.T) {
	s := newStudio(t, 21, near, simtest.Conditions{DelayMin: ms(10), DelayMax: ms(1500)})
	s.frame = func() { require.NoError(t, s.session.SetInput([]byte("w"), s.time())) }
	ahead := 0
	s.arrived = func(in wire.Input, tick uint32) { ahead = max(ahead, int(in.Inputs[0].Tick)-int(tick)-1) }
	s.play(20 * time.Second)
	require.Less(t, ahead, 32)
	require.Greater(t, ahead, 16)
}

// Of several inputs for one tick the last one counts, until it is sent; before
// the server's time is known inputs are counted from 1.
func TestInputTicks(t *testing.T) {
	s := newStudio(t, 21, near, near)
	sent := func() (ticks []uint32, words []string) {
		in, err := wire.ParseInput(s.session.Input(s.time()))
		require.NoError(t, err)
		for _, i := range in.Inputs {
			ticks, words = append(ticks, i.Tick), append(words, string(i.Data))
		}
		return ticks, words
	}
	set := func(word string) { require.NoError(t, s.session.SetInput([]byte(word), s.time())) }
	for _, word := range []string{"a", "b", "c", "d", "e"} {
		set(word)
	}
	ticks, words := sent()
	require.Equal(t, []uint32{5, 4, 3, 2, 1}, ticks)
	require.Equal(t, []string{"e", "d", "c", "b", "a"}, words)

	s.play(time.Second)
	set("f")
	set("g")
	ticks, words = sent()
	require.Greater(t, float64(ticks[0]), s.trueTick())
	require.Less(t, float64(ticks[0]), s.trueTick()+10)
	require.Equal(t, []uint32{5, 4, 3, 2, 1}, ticks[1:])
	require.Equal(t, []string{"g", "e", "d", "c", "b", "a"}, words)
	first := ticks[0]
	set("h")
	ticks, words = sent()
	require.Equal(t, first+1, ticks[0], "what is sent stays as it is")
	require.Equal(t, []string{"h", "g", "e", "d", "c", "b", "a"}, words, "in the third datagram")
	set("i")
	_, words = sent()
	require.Equal(t, []string{"i", "h", "g", "e"}, words, "four at least")
	require.ErrorContains(t, s.session.SetInput(make([]byte, wire.MaxInputBytes+1), 0), "65 bytes")
	require.NoError(t, s.session.SetInput(make([]byte, wire.MaxInputBytes), 0))
}

// After the server's time went back, inputs are for its ticks again.
func TestInputsAfterAStall(t *testing.T) {
	s := newStudio(t, 21, near, near)
	s.frame = func() { require.NoError(t, s.session.SetInput([]byte("w"), s.time())) }
	s.play(time.Second)
	s.frozen = s.now + ms(3000)
	s.play(3 * time.Second)
	var newest uint32
	s.arrived = func(in wire.Input, _ uint32) { newest = in.Inputs[0].Tick }
	s.play(200 * time.Millisecond)
	require.InDelta(t, s.trueTick(), newest, 10)
}

func TestInputsAllocateNothing(t *testing.T) {
	s := newStudio(t, 21, near, near)
	s.play(time.Second)
	data := []byte("forward")
	allocated := testing.AllocsPerRun(100, func() {
		s.now += ms(16)
		if err := s.session.SetInput(data, s.time()); err != nil {
			t.Fatal(err)
		}
		_ = s.session.Input(s.time())
	})
	if !invariants.Enabled {
		require.Zero(t, allocated)
	}
}

// With an input to send, a client waits for two snapshots by the rate that it was
// told; with nothing new, for two of those that come, within a bound.
func TestPatience(t *testing.T) {
	for every, idle := range map[uint32]time.Duration{
		1:                2 * time.Second / studioSnapshotHz, // more than were told of
		studioTickHz / 5: 2 * time.Second / 5,
		studioTickHz:     2 * time.Second / 4,
	} {
		s := newStudio(t, 21, simtest.Conditions{}, simtest.Conditions{})
		s.every = every
		s.play(20 * time.Second)
		require.InDelta(t, idle, s.session.Patience(), float64(10*time.Millisecond), "a snapshot in %d ticks", every)
		require.NoError(t, s.session.SetInput([]byte("w"), s.time()))
		require.Equal(t, 2*time.Second/studioSnapshotHz, s.session.Patience())
		require.NotNil(t, s.session.Input(s.time()))
		require.InDelta(t, idle, s.session.Patience(), float64(10*time.Millisecond), "it was sent")
	}
}

// A snapshot that overtook its structure is not answered before that has come, and
// then at once, without waiting for the next: else its acknowledgement would be late
// by as much as snapshots are apart.
func TestOvertakenStructureIsAnswered(t *testing.T) {
	s := newStudio(t, 21, simtest.Conditions{}, simtest.Conditions{})
	s.play(time.Second)
	require.NotNil(t, s.session.Input(s.time()))
	require.False(t, s.session.Answers(0, 0), "all is told")

	seq := s.seq + 1
	early := wire.AppendStateHeader(nil, wire.StateHeader{Seq: seq, Tick: s.tick + 1, Structure: 2})
	outcome, err := s.session.ReceiveDatagram(early, s.time())
	require.NoError(t, err)
	require.Equal(t, client.Held, outcome)
	require.False(t, s.session.Answers(1, 0))
	require.True(t, s.session.Answers(1, s.session.Patience()), "the structure may be lost")

	s.enter(2, h(1, 1))
	require.True(t, s.session.Answers(0, 0))
	in, err := wire.ParseInput(s.session.Input(s.time()))
	require.NoError(t, err)
	require.Equal(t, seq, in.Ack.Newest)
	require.Equal(t, uint32(2), in.Ack.Structure)
	require.False(t, s.session.Answers(0, 0))

	s.enter(3, h(2, 1))
	require.False(t, s.session.Answers(0, 0), "structure is told of with the next snapshot")
	_, err = s.session.ReceiveDatagram(early, s.time())
	require.NoError(t, err)
	require.True(t, s.session.Answers(1, 0), "a duplicate is answered")
}

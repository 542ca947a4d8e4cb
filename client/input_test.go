package client_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/alloctest"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/internal/simtest"
	"github.com/worldd/worldd/replication/wire"
)

// setInput sets an input that must be accepted, and returns its tick.
func setInput(s *client.Session, data []byte, now time.Duration) uint32 {
	return must.Get(s.SetRawInput(data, now))
}

// An input has its tick, and the moment that was shown.
func TestInputView(t *testing.T) {
	s := newLinkedServer(t, 21, near, near)
	read := func() wire.TickInput {
		var in wire.Input
		require.NoError(t, in.Parse(s.session.Input(s.time())))
		return in.Inputs[0]
	}
	require.EqualValues(t, 1, setInput(s.session, []byte("a"), s.time()))
	require.Zero(t, read().Back, "nothing was shown yet")
	s.play(time.Second)
	shown := s.session.Render(s.time()).Tick
	tick := setInput(s.session, []byte("b"), s.time())
	got := read()
	require.Equal(t, tick, got.Tick)
	require.InDelta(t, shown, float64(got.Tick-got.Back)+float64(got.Fraction)/256, 1.0/256)
	require.Less(t, shown, float64(tick))
	s.play(100 * time.Millisecond)
	later := s.session.Render(s.time()).Tick
	require.Greater(t, later, shown)
	setInput(s.session, []byte("c"), s.time())
	got = read()
	require.InDelta(t, later, float64(got.Tick-got.Back)+float64(got.Fraction)/256, 1.0/256)
}

// Inputs arrive shortly before their tick: the lead fits the link. If a datagram is lost, the
// next has a copy of its inputs, which may be late.
func TestInputsArriveInTime(t *testing.T) {
	for _, c := range []struct {
		delay, jitter int64 // ms, each way
		loss          float64
	}{{0, 0, 0}, {20, 0, 0}, {20, 20, 0}, {60, 100, 0}, {60, 20, 0.05}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			link := simtest.Conditions{DelayMin: ms(c.delay), DelayMax: ms(c.delay + c.jitter), Loss: c.loss}
			s := newLinkedServer(t, 21, link, link)
			s.render = func() { setInput(s.session, []byte("w"), s.time()) }
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
			early *= 1000.0 / linkedTickHz / float64(n) // ms
			t.Logf("%d inputs, %d late, %.0f ms early", n, late, early)
			require.Greater(t, n, 20*linkedTickHz*9/10, "an input for nearly every tick")
			require.LessOrEqual(t, float64(late), (0.02+c.loss)*float64(n))
			// Renders make inputs continuously; snapshots trigger their sending every 33 ms.
			require.LessOrEqual(t, early, float64(c.jitter)+33+2*17)
		})
	}
}

// At any rates, one lost datagram costs no input: the next has a copy of all its inputs, and on
// a lossy link inputs are made early enough for the copy. Only inputs of two datagrams lost in
// a row are missed. Without copies all lost inputs would be missed.
func TestInputsOutliveALostDatagram(t *testing.T) {
	const loss = 0.08
	for _, every := range []uint32{1, 2, 3, 6, 12} {
		t.Run(fmt.Sprint(every), func(t *testing.T) {
			racetest.SkipUnchecked(t)
			missed, early := missedInputs(t, every, loss, 0)
			none, before := missedInputs(t, every, 0, loss)
			t.Logf("%.2f %% missed, %.0f ms early; where snapshots are lost %.2f %%, %.0f ms", 100*missed, early, 100*none, before)
			require.LessOrEqual(t, missed, 0.02)
			require.LessOrEqual(t, none, 0.02)
			// A copy is later by the interval of datagrams.
			gap := 1000.0 / linkedTickHz * float64(min(every, wire.MaxInputs/2))
			require.LessOrEqual(t, early, before+1.5*gap+17)
		})
	}
}

// missedInputs plays a minute and a half with a snapshot every few ticks. It returns
// the share of ticks whose input was late or lost, and how long before their tick
// inputs arrive, in ms.
func missedInputs(t *testing.T, every uint32, lossUp, lossDown float64) (missed, early float64) {
	up := simtest.Conditions{DelayMin: ms(20), DelayMax: ms(25), Loss: lossUp}
	down := up
	down.Loss = lossDown
	s := newLinkedServer(t, 21, down, up)
	s.every = every
	s.render = func() { setInput(s.session, []byte("w"), s.time()) }
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
	return float64(n) / 3600, sum / float64(len(inTime)) * 1000 / linkedTickHz
}

// A dead uplink does not change the lead: no copies arrive of inputs lost in the middle of the
// outage, so inputs are made no earlier.
func TestInputsAfterADeadUplink(t *testing.T) {
	link := simtest.Conditions{DelayMin: ms(20), DelayMax: ms(25)}
	s := newLinkedServer(t, 21, link, link)
	s.render = func() { setInput(s.session, []byte("w"), s.time()) }
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
	require.LessOrEqual(t, early, before+3*linkedTickHz/linkedSnapshotHz)
}

// uneven delays some datagrams by far longer than others.
var uneven = simtest.Conditions{DelayMin: ms(10), DelayMax: ms(1500)}

// On the most uneven link, and at any rate of inputs, no input arrives so early that the server
// drops it.
func TestInputsAreNotTooEarly(t *testing.T) {
	for _, every := range []int64{1, 2, 3, 5, 8, 15, 60} {
		for side, down := range map[string]simtest.Conditions{"up": near, "both": uneven} {
			t.Run(fmt.Sprint(every, side), func(t *testing.T) {
				racetest.SkipUnchecked(t)
				for seed := range uint64(10) {
					s := newLinkedServer(t, 21+10*seed, down, uneven)
					early := countEarly(s, every)
					s.play(20 * time.Second)
					require.Zero(t, *early, "seed %d", seed)
				}
			})
		}
	}
}

// After the link has become faster, or the server has stalled, the server drops inputs only
// until the client has measured the change.
func TestInputsRecoverFromTooEarly(t *testing.T) {
	for _, every := range []int64{1, 2, 5} {
		t.Run(fmt.Sprint(every), func(t *testing.T) {
			racetest.SkipUnchecked(t)
			for seed := range uint64(10) {
				s := newLinkedServer(t, 21+10*seed, near, simtest.Conditions{DelayMin: ms(10), DelayMax: ms(500)})
				early := countEarly(s, every)
				for range 4 {
					s.play(5 * time.Second)
					s.frozen = s.now + ms(450)
					s.play(1100 * time.Millisecond) // datagrams sent before the client's correction take half a second
					*early = 0
					s.play(time.Second)
					require.Zero(t, *early, "seed %d, after a stall", seed)
				}
				s.up.SetConditions(near)
				s.play(time.Second)
				*early = 0
				s.play(5 * time.Second)
				require.Zero(t, *early, "seed %d, after the link changed", seed)
			}
		})
	}
}

// countEarly sets an input in every every-th render, and counts the inputs that the server would drop
// because they are too early.
func countEarly(s *linkedServer, every int64) *int {
	s.render = func() {
		if s.now/linkedRender%every == 0 {
			setInput(s.session, []byte("w"), s.time())
		}
	}
	newest, early := uint32(0), new(int)
	s.arrived = func(in wire.Input, tick uint32) {
		if len(in.Inputs) > 0 && in.Inputs[0].Tick > newest {
			newest = in.Inputs[0].Tick
			if newest >= tick+1+32 {
				*early++
			}
		}
	}
	return early
}

// Of several inputs for one tick the last counts, until it is sent. Before the server's
// time is known, ticks of inputs count from 1.
func TestInputTicks(t *testing.T) {
	s := newLinkedServer(t, 21, near, near)
	sent := func() (ticks []uint32, words []string) {
		var in wire.Input
		require.NoError(t, in.Parse(s.session.Input(s.time())))
		for _, i := range in.Inputs {
			ticks, words = append(ticks, i.Tick), append(words, string(i.Data))
		}
		return ticks, words
	}
	set := func(word string) { setInput(s.session, []byte(word), s.time()) }
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
	set("x")
	set("h")
	ticks, words = sent()
	require.Equal(t, first, ticks[0], "the next tick's is not due yet")
	require.Equal(t, "g", words[0], "a sent input does not change")
	require.False(t, s.session.Answers(0, s.time(), 0))
	s.now += ms(17)
	require.True(t, s.session.Answers(0, s.time(), 0), "it is due without another SetInput")
	ticks, words = sent()
	require.Equal(t, first+1, ticks[0])
	require.Equal(t, []string{"h", "g", "e", "d", "c", "b", "a"}, words, "in the third datagram with new ones")
	s.now += ms(17)
	set("i")
	_, words = sent()
	require.Equal(t, []string{"i", "h", "g", "e"}, words, "at least four")
	require.ErrorContains(t, must.Fail(s.session.SetRawInput(make([]byte, wire.MaxInputBytes+1), 0)), "65 bytes")
	setInput(s.session, make([]byte, wire.MaxInputBytes), 0)
}

// A datagram repeats no inputs that the server has applied.
func TestAppliedInputsAreNotRepeated(t *testing.T) {
	s := newLinkedServer(t, 21, near, near)
	s.play(time.Second)
	var ticks []uint32
	sent := func() int {
		var in wire.Input
		require.NoError(t, in.Parse(s.session.Input(s.time())))
		return len(in.Inputs)
	}
	for range 4 {
		ticks = append(ticks, setInput(s.session, []byte("w"), s.time()))
		require.Equal(t, len(ticks), sent())
		s.now += ms(17)
	}
	for i, tick := range ticks {
		s.seq++
		h := wire.StateHeader{Seq: s.seq, Tick: tick, InputAge: 1, Structure: 1}
		must.Get(s.session.ReceiveDatagram(wire.AppendStateHeader(nil, h), s.time()))
		require.Equal(t, 3-i, sent())
	}
}

// After the server's time went back, inputs are made for the new ticks.
func TestInputsAfterAStall(t *testing.T) {
	s := newLinkedServer(t, 21, near, near)
	s.render = func() { setInput(s.session, []byte("w"), s.time()) }
	s.play(time.Second)
	s.frozen = s.now + ms(3000)
	s.play(3 * time.Second)
	var newest uint32
	s.arrived = func(in wire.Input, _ uint32) { newest = in.Inputs[0].Tick }
	s.play(200 * time.Millisecond)
	require.InDelta(t, s.trueTick(), newest, 10)
}

func TestInputsAllocateNothing(t *testing.T) {
	s := newLinkedServer(t, 21, near, near)
	s.play(time.Second)
	data := []byte("forward")
	alloctest.RequireNone(t, 0, 100, func() {
		s.now += ms(16)
		must.Get(s.session.SetRawInput(data, s.time()))
		_ = s.session.Input(s.time())
	})
}

// With a new input, a client waits for two snapshot intervals of the Welcome. Without one it
// waits for two measured intervals, up to a bound.
func TestPatience(t *testing.T) {
	for every, idle := range map[uint32]time.Duration{
		1:                2 * time.Second / linkedSnapshotHz, // more snapshots than the Welcome announced
		linkedTickHz / 5: 2 * time.Second / 5,
		linkedTickHz:     2 * time.Second / 4,
	} {
		s := newLinkedServer(t, 21, simtest.Conditions{}, simtest.Conditions{})
		s.every = every
		s.play(20 * time.Second)
		require.InDelta(t, idle, s.session.Patience(), float64(10*time.Millisecond), "a snapshot in %d ticks", every)
		setInput(s.session, []byte("w"), s.time())
		require.Equal(t, 2*time.Second/linkedSnapshotHz, s.session.Patience())
		require.NotNil(t, s.session.Input(s.time()))
		require.InDelta(t, idle, s.session.Patience(), float64(10*time.Millisecond), "the input was sent")
	}
}

// A snapshot of the next room that overtook the Welcome of a move does not change the clock.
func TestClockOfTheNextRoom(t *testing.T) {
	s := newLinkedServer(t, 21, simtest.Conditions{}, simtest.Conditions{})
	s.play(time.Second)
	before := s.session.Clock(s.time())
	early := wire.AppendStateHeader(nil, wire.StateHeader{Seq: s.seq + 1, Tick: s.tick + 90_000, Structure: 2})
	outcome := must.Get(s.session.ReceiveDatagram(early, s.time()))
	require.Equal(t, client.Held, outcome)
	require.Equal(t, before, s.session.Clock(s.time()))
}

// A snapshot that overtook its structure is answered as soon as the structure arrives.
// Waiting for the next snapshot would delay its acknowledgement by an interval.
func TestOvertakenStructureIsAnswered(t *testing.T) {
	s := newLinkedServer(t, 21, simtest.Conditions{}, simtest.Conditions{})
	s.play(time.Second)
	require.NotNil(t, s.session.Input(s.time()))
	require.False(t, s.session.Answers(0, s.time(), 0), "everything is acknowledged")

	seq := s.seq + 1
	early := wire.AppendStateHeader(nil, wire.StateHeader{Seq: seq, Tick: s.tick + 1, Structure: 2})
	outcome := must.Get(s.session.ReceiveDatagram(early, s.time()))
	require.Equal(t, client.Held, outcome)
	require.False(t, s.session.Answers(1, s.time(), 0))
	require.True(t, s.session.Answers(1, s.time(), s.session.Patience()), "the structure may be lost")

	s.enter(2, h(1, 1))
	require.True(t, s.session.Answers(0, s.time(), 0))
	var in wire.Input
	require.NoError(t, in.Parse(s.session.Input(s.time())))
	require.Equal(t, seq, in.Ack.Newest)
	require.Equal(t, uint32(2), in.Ack.Structure)
	require.False(t, s.session.Answers(0, s.time(), 0))

	s.enter(3, h(2, 1))
	require.False(t, s.session.Answers(0, s.time(), 0), "structure is acknowledged with the next snapshot")
	outcome = must.Get(s.session.ReceiveDatagram(early, s.time()))
	require.Equal(t, client.Duplicate, outcome)
	require.False(t, s.session.Answers(0, s.time(), 0), "a copy is not answered")
}

// A command follows the acknowledgement of what was drawn when the command was made. Otherwise
// the server would move its moment (Session.View). Without a command the acknowledgement waits
// for the next input.
func TestAcknowledgementPrecedesCommand(t *testing.T) {
	g := newProvisionalServer(t)
	g.snapshot(101, 0)
	for tick := uint32(102); tick < 110; tick++ {
		g.fire(0)
		require.NotNil(t, g.Input(0))
		g.snapshot(tick, 0)
		require.False(t, g.InputDue(1, 0))
		must.Get(g.DoValue(0, volley{}))
		require.True(t, g.InputDue(1, 0))
		var in wire.Input
		require.NoError(t, in.Parse(g.Input(0)))
		require.Equal(t, g.seq, in.Ack.Newest)
		require.False(t, g.InputDue(1, 0), "once")
		g.TakeStream()
	}
}

// Client.Wait sleeps until an input for the next tick is due, or its patience ends.
func TestWaitForDueInput(t *testing.T) {
	s := newLinkedServer(t, 21, near, near)
	s.render = func() { setInput(s.session, []byte("w"), s.time()) }
	s.play(time.Second)
	s.render = func() {}
	for range 20 {
		s.play(7 * time.Millisecond)
		now := s.time()
		setInput(s.session, []byte("a"), now)
		s.session.Input(now)
		setInput(s.session, []byte("b"), now) // for the next tick
		require.False(t, s.session.Answers(0, now, 0))
		wait := s.session.InputWait(now, 0)
		require.False(t, s.session.Answers(0, now+wait-time.Millisecond, 0), "%v", wait)
		require.True(t, s.session.Answers(0, now+wait, 0), "%v", wait)
		s.play(20 * time.Millisecond) // which sends it
		require.Equal(t, s.session.Patience(), s.session.InputWait(s.time(), 0))
		require.Zero(t, s.session.InputWait(s.time(), time.Second))
	}
}

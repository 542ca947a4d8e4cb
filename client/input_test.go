package client_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
	require.Equal(t, []uint32{5, 4, 3, 2}, ticks)
	require.Equal(t, []string{"e", "d", "c", "b"}, words)

	s.play(time.Second)
	set("f")
	set("g")
	ticks, words = sent()
	require.Greater(t, float64(ticks[0]), s.trueTick())
	require.Less(t, float64(ticks[0]), s.trueTick()+10)
	require.Equal(t, []uint32{5, 4, 3}, ticks[1:])
	require.Equal(t, []string{"g", "e", "d", "c"}, words)
	first := ticks[0]
	set("h")
	ticks, words = sent()
	require.Equal(t, first+1, ticks[0], "what is sent stays as it is")
	require.Equal(t, []string{"h", "g", "e", "d"}, words)
	require.ErrorContains(t, s.session.SetInput(make([]byte, wire.MaxInputBytes+1), 0), "65 bytes")
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

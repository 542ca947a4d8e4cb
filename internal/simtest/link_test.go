package simtest_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/worldd/worldd/internal/simtest"
)

// rough has every impairment.
var rough = simtest.Conditions{
	Loss: 0.1, Duplicate: 0.1, Reorder: 0.2,
	DelayMin: 20, DelayMax: 60, ReorderExtra: 40,
}

func number(n int) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(n)) }

// trace sends a packet per unit of time and records arrivals.
func trace(l *simtest.Link, packets int) string {
	var b strings.Builder
	for now := int64(0); now < int64(packets) || !l.Quiet(); now++ {
		if now < int64(packets) {
			l.Send(now, number(int(now)))
		}
		for _, p := range l.Receive(now) {
			fmt.Fprintf(&b, "%d:%d ", now, binary.LittleEndian.Uint32(p))
		}
	}
	return b.String()
}

func TestLinkSameSeedSameTrace(t *testing.T) {
	first := trace(simtest.NewLink(7, rough), 2000)
	require.Equal(t, first, trace(simtest.NewLink(7, rough), 2000))
	require.NotEqual(t, first, trace(simtest.NewLink(8, rough), 2000))
}

// A recorded trace: a seed in an old bug report must keep meaning the same network.
func TestLinkTraceIsPinned(t *testing.T) {
	got := trace(simtest.NewLink(2, simtest.Conditions{
		Loss: 0.2, Duplicate: 0.2, Reorder: 0.3, DelayMin: 1, DelayMax: 3, ReorderExtra: 4,
	}), 12)
	require.Equal(t, "4:1 5:0 8:5 9:2 9:3 9:4 11:5 11:8 12:9 12:9 12:10 13:6 13:11 14:7 ", got)
}

func TestLinkAccountsForEveryPacket(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		chance := rapid.Float64Range(0, 1)
		delay := rapid.Int64Range(0, 50)
		conditions := rapid.Custom(func(t *rapid.T) simtest.Conditions {
			return simtest.Conditions{
				Loss: chance.Draw(t, "loss"), Duplicate: chance.Draw(t, "duplicate"), Reorder: chance.Draw(t, "reorder"),
				DelayMin: delay.Draw(t, "min"), DelayMax: delay.Draw(t, "max"), ReorderExtra: delay.Draw(t, "extra"),
			}
		})
		l := simtest.NewLink(rapid.Uint64().Draw(t, "seed"), conditions.Draw(t, "conditions"))
		sent, delivered := 0, 0
		now := int64(0)
		check := func() {
			s := l.Stats()
			require.Equal(t, sent, s.Sent)
			require.Equal(t, delivered, s.Delivered)
			require.Equal(t, s.Sent+s.Duplicated, s.Delivered+s.Lost+s.Pending, "L1")
			require.Equal(t, s.Pending == 0, l.Quiet())
		}
		for range rapid.IntRange(0, 60).Draw(t, "calls") {
			switch rapid.IntRange(0, 3).Draw(t, "call") {
			case 0, 1:
				l.Send(now, number(sent))
				sent++
			case 2:
				delivered += len(l.Receive(now))
			case 3:
				l.SetConditions(conditions.Draw(t, "conditions"))
			}
			now += rapid.Int64Range(0, 10).Draw(t, "pass")
			check()
		}
		// Sixty packets, each delayed by at most one reordered packet.
		delivered += len(l.Receive(now + 200))
		check()
		require.True(t, l.Quiet())
	})
}

func TestLinkKeepsOrderWithoutReorder(t *testing.T) {
	c := rough
	c.Reorder, c.Duplicate = 0, 0
	l := simtest.NewLink(3, c)
	last := -1
	for now := range int64(5000) {
		l.Send(now, number(int(now)))
		for _, p := range l.Receive(now) {
			n := int(binary.LittleEndian.Uint32(p))
			require.Greater(t, n, last, "L2")
			last = n
		}
	}
	require.Positive(t, l.Stats().Lost)
}

func TestLinkReorders(t *testing.T) {
	c := simtest.Conditions{Reorder: 0.2, ReorderExtra: 5}
	l := simtest.NewLink(3, c)
	var order []uint32
	for now := range int64(200) {
		l.Send(now, number(int(now)))
		for _, p := range l.Receive(now) {
			order = append(order, binary.LittleEndian.Uint32(p))
		}
	}
	require.False(t, slices.IsSorted(order))
	require.Positive(t, l.Stats().Reordered)
}

func TestLinkRatesAreTheConditions(t *testing.T) {
	const packets = 20_000
	l := simtest.NewLink(11, rough)
	trace(l, packets)
	s := l.Stats()
	require.InDelta(t, 0.1, float64(s.Lost)/packets, 0.01)
	require.InDelta(t, 0.1, float64(s.Duplicated)/float64(packets-s.Lost), 0.01)
	require.InDelta(t, 0.2, float64(s.Reordered)/float64(s.Delivered), 0.015)
}

func TestLinkDelayStaysInBounds(t *testing.T) {
	l := simtest.NewLink(5, simtest.Conditions{DelayMin: 3, DelayMax: 6})
	seen := map[int64]int{}
	for i := range int64(400) {
		sent := i * 100
		l.Send(sent, number(int(i)))
		for now := sent; !l.Quiet(); now++ {
			if len(l.Receive(now)) == 1 {
				seen[now-sent]++
			}
		}
	}
	require.Len(t, seen, 4)
	for d := range seen {
		require.GreaterOrEqual(t, d, int64(3))
		require.LessOrEqual(t, d, int64(6))
	}
}

// L3: cutting packets 100 to 199 does not affect the packets after them.
func TestLinkRandomnessIsPerPacket(t *testing.T) {
	lostAfter := func(cut bool) (lost []int) {
		l := simtest.NewLink(9, simtest.Conditions{Loss: 0.3})
		for i := range 400 {
			c := simtest.Conditions{Loss: 0.3}
			if cut && i >= 100 && i < 200 {
				c.Loss = 1
			}
			l.SetConditions(c)
			before := l.Stats().Lost
			l.Send(int64(i), number(i))
			if l.Stats().Lost > before && i >= 200 {
				lost = append(lost, i)
			}
		}
		return lost
	}
	require.Equal(t, lostAfter(false), lostAfter(true))
}

func TestLinkCutAndStall(t *testing.T) {
	l := simtest.NewLink(1, simtest.Conditions{DelayMin: 10})
	l.Send(0, []byte("in flight"))
	l.SetConditions(simtest.Conditions{Loss: 1})
	l.Send(1, []byte("cut"))
	l.SetConditions(simtest.Conditions{DelayMin: 3000})
	l.Send(2, []byte("stalled"))
	l.SetConditions(simtest.Conditions{})
	l.Send(3, []byte("behind"))

	require.Nil(t, l.Receive(9))
	require.Equal(t, [][]byte{[]byte("in flight")}, l.Receive(10), "L4")
	require.Nil(t, l.Receive(3001))
	require.False(t, l.Quiet())
	require.Equal(t, [][]byte{[]byte("stalled"), []byte("behind")}, l.Receive(3002))
	require.True(t, l.Quiet())
	require.Equal(t, simtest.LinkStats{Sent: 4, Lost: 1, Delivered: 3}, l.Stats())
}

func TestLinkCopies(t *testing.T) {
	l := simtest.NewLink(1, simtest.Conditions{Duplicate: 1})
	p := []byte("before")
	l.Send(0, p)
	copy(p, "after!")
	got := l.Receive(0)
	require.Equal(t, [][]byte{[]byte("before"), []byte("before")}, got)
	copy(got[0], "after!")
	require.Equal(t, "before", string(got[1]), "a packet and its copy share no memory")
}

package simtest_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/worldd/worldd/internal/simtest"
)

// flow sends a message per unit of time and records arrivals. It receives at every
// multiple of look.
func flow(s *simtest.Stream, messages int, look int64) (arrivals string, all []byte) {
	var b strings.Builder
	for now := int64(0); now < int64(messages) || !s.Quiet(); now++ {
		if now < int64(messages) {
			s.Send(now, fmt.Appendf(nil, "<%d>", now))
		}
		if now%look != 0 {
			continue
		}
		if p := s.Receive(now); p != nil {
			fmt.Fprintf(&b, "%d:%s ", now, p)
			all = append(all, p...)
		}
	}
	return b.String(), all
}

func TestStreamSameSeedSameTrace(t *testing.T) {
	first, _ := flow(simtest.NewStream(7, rough), 500, 1)
	again, _ := flow(simtest.NewStream(7, rough), 500, 1)
	other, _ := flow(simtest.NewStream(8, rough), 500, 1)
	require.Equal(t, first, again)
	require.NotEqual(t, first, other)
}

func TestStreamIsReliableAndInOrder(t *testing.T) {
	var want []byte
	for i := range 500 {
		want = fmt.Appendf(want, "<%d>", i)
	}
	for seed := range uint64(20) {
		s := simtest.NewStream(seed, rough)
		_, got := flow(s, 500, 1)
		require.Equal(t, want, got, "L5, seed %d", seed)
		require.Positive(t, s.Stats().Retransmissions)
	}
}

// A segment's arrival depends on the network, not on how often Receive is called.
func TestStreamIgnoresReceiveCalls(t *testing.T) {
	often, rare := simtest.NewStream(4, rough), simtest.NewStream(4, rough)
	flow(often, 300, 1)
	flow(rare, 300, 50)
	require.Equal(t, often.Stats(), rare.Stats())
}

func TestStreamAccountsForEveryByte(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		chance := rapid.Float64Range(0, 0.9)
		delay := rapid.Int64Range(0, 50)
		conditions := func() simtest.Conditions {
			return simtest.Conditions{
				Loss: chance.Draw(t, "loss"), DelayMin: delay.Draw(t, "min"), DelayMax: delay.Draw(t, "max"),
			}
		}
		s := simtest.NewStream(rapid.Uint64().Draw(t, "seed"), conditions())
		var sent, got []byte
		now := int64(0)
		for range rapid.IntRange(0, 40).Draw(t, "calls") {
			switch rapid.IntRange(0, 3).Draw(t, "call") {
			case 0, 1:
				p := rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "bytes")
				s.Send(now, p)
				sent = append(sent, p...)
			case 2:
				got = append(got, s.Receive(now)...)
			case 3:
				s.SetConditions(conditions())
			}
			now += rapid.Int64Range(0, 30).Draw(t, "pass")
			stats := s.Stats()
			require.Equal(t, len(sent), stats.Sent)
			require.Equal(t, len(got), stats.Delivered)
			require.Equal(t, stats.Sent, stats.Delivered+stats.Pending)
			require.Equal(t, stats.Pending == 0, s.Quiet())
		}
		s.SetConditions(simtest.Conditions{})
		got = append(got, s.Receive(now+1_000_000)...)
		require.True(t, bytes.Equal(sent, got))
		require.True(t, s.Quiet())
	})
}

func TestStreamCutAndStall(t *testing.T) {
	s := simtest.NewStream(1, simtest.Conditions{DelayMin: 10})
	s.Send(0, []byte("a"))
	s.SetConditions(simtest.Conditions{DelayMin: 10, Loss: 1})
	s.Send(1, []byte("b"))
	require.Equal(t, "a", string(s.Receive(5000)), "sent before the cut")
	require.False(t, s.Quiet())

	s.SetConditions(simtest.Conditions{DelayMin: 10})
	s.Send(5000, []byte("c"))
	require.Nil(t, s.Receive(5010), "c waits behind b")
	// A round trip is 20; attempts are at most eight round trips apart.
	require.Equal(t, "bc", string(s.Receive(5000+8*20+10)))

	s.SetConditions(simtest.Conditions{DelayMin: 3000})
	s.Send(6000, []byte("d"))
	s.SetConditions(simtest.Conditions{})
	s.Send(6001, []byte("e"))
	require.Nil(t, s.Receive(8999))
	require.Equal(t, "de", string(s.Receive(9000)))
	require.True(t, s.Quiet())
}

func TestStreamCopies(t *testing.T) {
	s := simtest.NewStream(1, simtest.Conditions{})
	p := []byte("before")
	s.Send(0, p)
	copy(p, "after!")
	require.Equal(t, "before", string(s.Receive(0)))
	s.Send(0, nil)
	require.True(t, s.Quiet(), "an empty Send has no segment")
}

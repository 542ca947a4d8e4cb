package botrun

import (
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

// TestFate: a packet's fate depends only on the seed and its number.
func TestFate(t *testing.T) {
	lost, reordered := 0, 0
	a, b := rand.New(rand.NewPCG(1, 1)), rand.New(rand.NewPCG(1, 1))
	bad, worse := Link{Loss: 0.1, Delay: 10 * time.Millisecond, Jitter: 5 * time.Millisecond}, Link{Loss: 0.3, Reorder: 0.25}
	for range 10_000 {
		gone, late := bad.drawFate(a)
		moreGone, held := worse.drawFate(b)
		require.False(t, gone && !moreGone, "who is lost at 10 % is lost at 30 %")
		require.GreaterOrEqual(t, late, 10*time.Millisecond)
		require.Less(t, late, 15*time.Millisecond)
		if gone {
			lost++
		}
		if held > 0 {
			require.Equal(t, reorderHold, held)
			reordered++
		}
	}
	require.InDelta(t, 1000, lost, 150)
	require.InDelta(t, 2500, reordered, 200)
}

// pair returns an impaired socket and a plain one that exchange packets.
func pair(t *testing.T, l Link) (net.PacketConn, net.PacketConn) {
	bad := must.Get(openImpaired(l, 1, time.Now()))
	good := must.Get(net.ListenPacket("udp", "127.0.0.1:0"))
	t.Cleanup(func() { good.Close(); bad.Close() })
	return bad, good
}

// TestImpaired: exactly the packets that the seed selects are lost, in both directions.
func TestImpaired(t *testing.T) {
	const packets = 100
	link := Link{Loss: 0.5, Delay: time.Millisecond, Jitter: time.Millisecond}
	bad, good := pair(t, link)
	to := &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: bad.LocalAddr().(*net.UDPAddr).Port}
	for range packets {
		must.Get(bad.WriteTo([]byte{1}, good.LocalAddr()))
		must.Get(good.WriteTo([]byte{2}, to))
	}
	for way, c := range map[uint64]net.PacketConn{1: good, 2: bad} {
		left := 0
		dice := rand.New(rand.NewPCG(1, way))
		for range packets {
			if lost, _ := link.drawFate(dice); !lost {
				left++
			}
		}
		require.InDelta(t, packets/2, left, 20)
		for range left {
			_, _, err := c.ReadFrom(make([]byte, 10))
			require.NoError(t, err)
		}
		timer := time.AfterFunc(50*time.Millisecond, func() { _ = c.SetReadDeadline(time.Now()) })
		_, _, err := c.ReadFrom(make([]byte, 10))
		timer.Stop()
		require.ErrorIs(t, err, os.ErrDeadlineExceeded, "one that was lost came")
	}
}

// TestImpairedEnds: a closed socket ends every read.
func TestImpairedEnds(t *testing.T) {
	bad, _ := pair(t, Link{})
	require.NoError(t, bad.Close())
	for range 2 {
		_, _, err := bad.ReadFrom(make([]byte, 10))
		require.True(t, errors.Is(err, net.ErrClosed), "%v", err)
	}
}

// TestLinkIsCut: a link is cut for its time, and no longer.
func TestLinkIsCut(t *testing.T) {
	l := Link{CutAt: 2 * time.Second, CutFor: 3 * time.Second}
	for since, want := range map[time.Duration]bool{
		0: false, 2*time.Second - 1: false, 2 * time.Second: true, 5*time.Second - 1: true, 5 * time.Second: false,
	} {
		require.Equal(t, want, l.isCutAt(since), "%v", since)
	}
	require.False(t, Link{}.isCutAt(0))
	require.Error(t, Link{CutAt: -1}.validate())
	require.ErrorContains(t, Link{CutAt: time.Second}.validate(), "has no duration", "nothing would be cut")
}

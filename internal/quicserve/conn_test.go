package quicserve

import (
	"bytes"
	"crypto/tls"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
)

// A buffer that grew for a burst is released; small buffers are reused.
func TestLargeBuffersAreReleased(t *testing.T) {
	c := &Conn{wake: make(chan struct{}, 1), counters: &traffic{}}
	var w work
	roundTrip := func(bytesQueued []byte) {
		require.True(t, c.SendStream(bytesQueued))
		c.takeQueued(&w)
		require.Equal(t, bytesQueued, w.stream)
		require.Empty(t, c.out)
	}
	roundTrip(bytes.Repeat([]byte{1}, 60<<10))
	roundTrip([]byte{2})
	roundTrip([]byte{3})
	require.LessOrEqual(t, cap(w.stream)+cap(c.out), 2*maxIdleStreamBuffer)
	allocs := testing.AllocsPerRun(100, func() {
		c.SendStream([]byte{4})
		c.takeQueued(&w)
	})
	require.Zero(t, allocs)
	require.Zero(t, c.counters.unsent.Load())
}

// A snapshot is unsent until the sender takes it, once.
func TestConnSendsEverySnapshot(t *testing.T) {
	c := &Conn{wake: make(chan struct{}, 1), counters: &traffic{}}
	snapshot := func(datagrams int, tick uint32) (made [][]byte) {
		for i := range datagrams {
			made = append(made, wire.AppendStateHeader(nil, wire.StateHeader{Seq: uint32(i) + 1, Tick: tick}))
		}
		return made
	}
	var w work
	taken := func() (sent [][2]uint32) {
		require.Equal(t, c.count > 0, c.HasUnsent())
		c.takeQueued(&w)
		require.False(t, c.HasUnsent())
		for _, d := range w.datagrams {
			h := must.Get(wire.ParseStateHeader(d, new(bitio.Reader)))
			sent = append(sent, [2]uint32{h.Seq, h.Tick})
		}
		return sent
	}
	require.Empty(t, taken())
	c.SendSnapshot(snapshot(2, 1))
	require.Equal(t, [][2]uint32{{1, 1}, {2, 1}}, taken())
	require.Empty(t, taken(), "sent once")
	c.SendSnapshot(snapshot(3, 2))
	require.Equal(t, [][2]uint32{{1, 2}, {2, 2}, {3, 2}}, taken())
	c.SendSnapshot(snapshot(1, 3))
	require.Equal(t, [][2]uint32{{1, 3}}, taken())
}

// path is a link that carries datagrams up to a size.
type path struct {
	rawLink
	size int
	sent []int
}

func (p *path) SendDatagram(d []byte) error {
	if len(d) > p.size {
		return &quic.DatagramTooLargeError{MaxDatagramPayloadSize: int64(p.size)}
	}
	p.sent = append(p.sent, len(d))
	return nil
}

// The size limit of datagrams follows the path, and finding it sends nothing.
func TestLimitFollowsPath(t *testing.T) {
	p := &path{size: 1163}
	c := &Conn{conn: p, counters: &traffic{}}
	peer := &session.Peer{}
	c.learnLimit(peer)
	require.Equal(t, 1163, c.limit)
	p.size = 1289 // discovered
	c.learnLimit(peer)
	require.Equal(t, wire.MaxDatagram, c.limit)
	require.False(t, c.sendDatagrams([][]byte{make([]byte, wire.MaxDatagram)}))
	p.size = 1163 // the client has another address
	require.True(t, c.sendDatagrams([][]byte{make([]byte, 1163), make([]byte, 1164)}))
	c.learnLimit(peer)
	require.Equal(t, 1163, c.limit)
	require.Equal(t, []int{wire.MaxDatagram, 1163}, p.sent)
	require.EqualValues(t, 1, c.counters.refused.Load())
}

// A datagram and its copy travel in two packets, however small: one loss does not take both.
func TestPacketForEachDatagram(t *testing.T) {
	certificate := must.Get(selfSigned(time.Now(), time.Hour))
	config := &quic.Config{EnableDatagrams: true}
	l := must.Get(quic.ListenAddr("127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"test"}}, config))
	defer l.Close()
	client := must.Get(quic.DialAddr(t.Context(), l.Addr().String(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"test"}}, config))
	defer client.CloseWithError(0, "")
	server := must.Get(l.Accept(t.Context()))
	c := &Conn{conn: rawLink{Conn: server}, counters: &traffic{}}
	const pairs = 20
	before := client.ConnectionStats().PacketsReceived
	for i := range byte(pairs) {
		c.sendDatagrams([][]byte{{i}, {i}})
		for range 2 {
			d := must.Get(client.ReceiveDatagram(t.Context()))
			require.Equal(t, []byte{i}, d)
		}
	}
	require.GreaterOrEqual(t, client.ConnectionStats().PacketsReceived-before, uint64(2*pairs))
}

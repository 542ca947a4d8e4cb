package server_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
)

// A flood of datagrams is dropped, and then its connection is closed; others stay.
func TestFloodIsClosed(t *testing.T) {
	h := newTestServer(t)
	good := h.dial()
	conn, stream := h.raw()
	h.hello(stream)
	first := make([]byte, 1)
	must.Get(stream.Read(first))      // welcomed
	var newest, records atomic.Uint32 // sent as acknowledgements: without them the session ends
	go func() {
		for {
			d, err := conn.ReceiveDatagram(h.ctx)
			if err != nil {
				return
			}
			if header, err := wire.ParseStateHeader(d, new(bitio.Reader)); err == nil {
				newest.Store(max(newest.Load(), header.Seq))
			}
		}
	}()
	go func() {
		var frames wire.FrameReader
		frames.Feed(first)
		for buf := make([]byte, 1<<10); ; {
			n, err := stream.Read(buf)
			frames.Feed(buf[:n])
			for kind, body, ok, _ := frames.Next(); ok; kind, body, ok, _ = frames.Next() {
				if m, err := wire.ParseStructure(body); kind == wire.TypeStructure && err == nil {
					records.Add(uint32(m.Count))
				}
			}
			if err != nil {
				return
			}
		}
	}()
	for n := 0; h.ctx.Err() == nil && conn.Context().Err() == nil; n++ {
		seq := newest.Load()
		in := wire.Input{Stamp: 1, Ack: wire.Ack{Seen: seq > 0, Newest: seq, Structure: records.Load()}}
		if conn.SendDatagram(in.Append(nil)) != nil {
			break
		}
		if n%64 == 0 { // keeps the other client from timing out
			h.stay(good)
		}
	}
	h.wantClosed(conn, wire.TooFast)
	require.GreaterOrEqual(t, h.server.Report().Traffic.DatagramsFast, uint64(3000), "dropped before that")
	before := good.Replica().Tick()
	h.until(good, "others go on", func() bool { return good.Replica().Tick() > before })
}

// A stream beyond its rate is read later, without loss.
func TestStreamIsHeld(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	asked, answered := 0, 0
	config := h.config()
	config.Result = func(client.Result) { answered++ }
	c := must.Get(client.Dial(h.ctx, config))
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	held := func() uint64 { return h.server.Report().Traffic.StreamsHeld }
	require.Zero(t, held())
	for h.ctx.Err() == nil && held() == 0 {
		for ; asked-answered < 200; asked++ { // more than the burst, and below MaxUnanswered
			must.Get(c.DoRaw("none", 0, append([]byte{0xc5, 3, 0xe8}, make([]byte, 1000)...)))
		}
		require.NoError(t, c.Update())
		require.NoError(t, c.Wait(h.ctx))
	}
	require.NotZero(t, held())
	before := c.Replica().Tick()
	h.until(c, "it goes on", func() bool { return c.Replica().Tick() > before+60 })
}

// refused dials and expects a refusal with code.
func (h *testServer) refused(code wire.Code) {
	h.t.Helper()
	_, err := client.Dial(h.ctx, h.config())
	require.Equal(h.t, code, wire.CodeOf(err), "%v", err)
}

func TestSetLimits(t *testing.T) {
	t.Parallel()
	h := newTestServerWith(t, func(c *server.Config) { c.MaxSessions = 3 })
	first, second := h.dial(), h.dial()
	for name, bad := range map[string]server.Limits{
		"sessions":    {MaxSessions: -1},
		"address":     {MaxSessionsPerAddress: -1},
		"budget":      {BudgetBytesPerSecond: 1},
		"every field": {MaxSessions: -1, MaxSessionsPerAddress: -1, BudgetBytesPerSecond: 1},
	} {
		require.Error(t, h.server.SetLimits(bad), name)
	}
	before := first.Replica().Tick()
	h.until(first, "a bad one would take hold", func() bool { return first.Replica().Tick() > before+5 })
	h.stay(second)
	third := h.dial() // an existing session stays
	h.stay(first, second, third)
	require.NoError(t, h.server.SetLimits(server.Limits{MaxSessions: 2}))
	h.refused(wire.ServerFull)
	require.NoError(t, h.server.SetLimits(server.Limits{MaxSessions: 100, MaxSessionsPerAddress: 4}))
	require.Eventually(t, func() bool { // the refused connection is still closing
		h.stay(first, second, third)
		fourth, err := client.Dial(h.ctx, h.config())
		if err == nil {
			t.Cleanup(func() { require.NoError(t, fourth.Close()) })
		}
		return err == nil
	}, patience, 20*time.Millisecond)
	h.refused(wire.ServerFull) // although the address is loopback
	require.NoError(t, h.server.SetLimits(server.Limits{}))
	h.dial()
}

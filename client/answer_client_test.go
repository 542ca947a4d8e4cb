package client_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// dialServer is the network and the clock of a client. The test plays its server.
type dialServer struct {
	now   time.Duration
	in    client.Arrivals
	sent  int // Input datagrams
	waits int
}

func (d *dialServer) Now() time.Duration                  { return d.now }
func (d *dialServer) Connect(string) (client.Conn, error) { return d, nil }
func (d *dialServer) Wait() error                         { d.waits++; return nil }

func (d *dialServer) Receive(client.Arrivals) client.Arrivals {
	in := d.in
	d.in = client.Arrivals{}
	return in
}
func (d *dialServer) SendStream([]byte) error       { return nil }
func (d *dialServer) SendDatagram([]byte)           { d.sent++ }
func (d *dialServer) Traffic() client.Traffic       { return client.Traffic{} }
func (d *dialServer) Close(wire.Code, []byte) error { return nil }

// snapshot delivers the snapshot of a number, 50 ms after the last.
func (d *dialServer) snapshot(seq uint32) {
	d.now += 50 * time.Millisecond
	b := wire.AppendStateHeader(nil, wire.StateHeader{Seq: seq, Tick: 100 + seq})
	d.in.Datagrams = append(d.in.Datagrams, client.Datagram{Bytes: b, At: d.now})
}

// A client that waits between updates acknowledges a snapshot with the input that the game sets
// after Update, or without one when it waits again. A client that does not wait acknowledges it
// in Update.
func TestAnswersFollowUpdate(t *testing.T) {
	s := schema.NewWithBody()
	d := &dialServer{}
	welcome := stage.Welcome(s)
	welcome.TickHz = 20
	d.in.Stream = wire.AppendMessage(nil, welcome)
	c := must.Get(client.Dial(context.Background(), client.Config{Schema: s, Simulation: d}))
	defer c.Close()
	step := func(seq uint32, waits, sets bool) (inUpdate, after int) {
		d.snapshot(seq)
		before := d.sent
		require.NoError(t, c.Update())
		inUpdate = d.sent - before
		if sets {
			must.Get(c.SetRawInput([]byte("w")))
		}
		if waits {
			require.NoError(t, c.Wait(context.Background()))
		}
		return inUpdate, d.sent - before - inUpdate
	}
	seq := uint32(0)
	expect := func(waits, sets bool, wantInUpdate, wantAfter int) {
		seq++
		inUpdate, after := step(seq, waits, sets)
		require.Equal(t, [2]int{wantInUpdate, wantAfter}, [2]int{inUpdate, after}, "snapshot %d", seq)
	}
	expect(true, false, 1, 0) // has not waited yet
	for range 10 {
		expect(true, false, 0, 1)
	}
	for range 10 {
		expect(true, true, 0, 1)
	}
	expect(true, false, 0, 0) // another input is expected
	expect(true, false, 1, 0) // the input did not come
	expect(true, false, 0, 1)
	expect(false, false, 0, 0) // does not wait any more
	expect(false, false, 1, 0)
}

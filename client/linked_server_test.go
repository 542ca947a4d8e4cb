package client_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/simtest"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

const (
	linkedTickHz     = 60
	linkedSnapshotHz = 30
	linkedFirstTick  = 5000
	linkedStepHz     = 10_000 // steps of simulated time a second
	linkedRender     = 160    // steps: a render every 16 ms
)

// linkedServer plays a server over a simulated link to a session whose game renders. One entity moves
// by motion. Time is counted in tenths of a millisecond, and the test knows the server's exact
// tick.
type linkedServer struct {
	t        testing.TB
	schema   *schema.Schema
	codec    *rowcodec.Codec
	session  *client.Session
	welcome  wire.Welcome
	down, up *simtest.Link
	body     client.Component[schema.Body]

	hz      int64  // ticks a second
	every   uint32 // ticks between snapshots
	motion  func(tick uint32) (body schema.Body, sent bool)
	omits   func(tick uint32) bool // reports whether the snapshot of a tick is not sent
	render  func()                 // called for each render
	updated func()                 // called when a snapshot has arrived, for a client that sleeps before it answers
	sleeps  bool                   // the client waits between updates
	arrived func(in wire.Input, tick uint32)

	now    int64
	tick   uint32
	seq    uint32
	parts  int    // datagrams of a snapshot besides the first, without rows
	last   []byte // the newest snapshot
	echo   uint32
	heard  int64 // when echo arrived
	stuck  int64 // end of the link's stall
	frozen int64 // end of the server's stall
	behind int64 // total time of the server's stalls
}

func newLinkedServer(t testing.TB, seed uint64, down, up simtest.Conditions) *linkedServer {
	return newLinkedServerAt(t, linkedTickHz, seed, down, up)
}

// newLinkedServerAt returns a linkedServer of hz ticks a second.
func newLinkedServerAt(t testing.TB, hz int64, seed uint64, down, up simtest.Conditions) *linkedServer {
	s := &linkedServer{
		t: t, hz: hz, schema: schema.New(), tick: linkedFirstTick - 1, every: linkedTickHz / linkedSnapshotHz,
		down: simtest.NewLink(seed, down), up: simtest.NewLink(seed+1, up),
		omits: func(uint32) bool { return false }, render: func() {}, updated: func() {}, arrived: func(wire.Input, uint32) {},
	}
	schema.Define[schema.Body](s.schema, "body")
	require.NoError(t, s.schema.Err())
	s.codec = rowcodec.New(s.schema, rowcodec.DefaultTables())
	s.body = must.Get(client.ComponentOf[schema.Body](s.schema, "body"))
	s.session = must.Get(client.NewSession(client.SessionConfig{Schema: s.schema}))
	s.motion = func(tick uint32) (schema.Body, bool) { return walk(tick), true }
	s.welcome = stage.Welcome(s.schema)
	s.welcome.TickHz, s.welcome.SnapshotHz = uint16(hz), uint16(min(hz, linkedSnapshotHz))
	s.join()
	return s
}

func (s *linkedServer) join() {
	s.welcome.Structure = structureOf(s.session, s.welcome.Resumed)
	require.NoError(s.t, s.session.ReceiveStream(wire.AppendMessage(nil, s.welcome)))
}

// reconnect breaks the connection, and resumes the session after an outage.
func (s *linkedServer) reconnect(after time.Duration) {
	s.session.Lost(nil)
	down, up := s.down, s.up
	s.down, s.up = simtest.NewLink(1, simtest.Conditions{Loss: 1}), simtest.NewLink(1, simtest.Conditions{Loss: 1})
	s.play(after)
	for _, l := range []*simtest.Link{down, up} {
		l.Receive(s.now) // what was under way is lost
	}
	s.down, s.up, s.echo = down, up, 0
	s.session.Reconnect()
	s.welcome.Resumed, s.welcome.SchemaText = 1, ""
	s.join()
}

// walk moves along x at 3 m/s.
func walk(tick uint32) schema.Body {
	return schema.Body{Position: [3]float32{float32(walked(float64(tick))), 0, 0}, Velocity: [3]float32{3, 0, 0}}
}

func walked(tick float64) float64 { return 3 * (tick - linkedFirstTick) / linkedTickHz }

func (s *linkedServer) time() time.Duration { return time.Duration(s.now) * time.Second / linkedStepHz }

// trueTick returns the server's current tick, with fractions.
func (s *linkedServer) trueTick() float64 {
	return linkedFirstTick + float64((s.now-s.behind)*s.hz)/linkedStepHz
}

func (s *linkedServer) values(tick uint32) (rowschema.Row, bool) {
	body, sent := s.motion(tick)
	row := rowschema.Row{Mask: 1, Values: make([]uint32, s.schema.Values())}
	rowschema.New(s.schema).Component(0).Quantise(&body, row.Values)
	return row, sent
}

// enter sends an Enter of h to the client.
func (s *linkedServer) enter(number uint32, h bulk.Handle) {
	row, _ := s.values(s.tick)
	body := stage.Structure(number, s.tick, stage.Enter(s.schema, h, row))
	require.NoError(s.t, s.session.ReceiveStream(wire.AppendFrame(nil, wire.TypeStructure, body)))
}

var walker = h(0, 1)

// play simulates d.
func (s *linkedServer) play(d time.Duration) {
	for end := s.now + int64(d.Seconds()*linkedStepHz); s.now < end; s.now++ {
		if s.now < s.frozen {
			s.behind++
		} else if uint32(math.Floor(s.trueTick())) > s.tick {
			s.step()
		}
		for _, d := range s.up.Receive(s.now) {
			var in wire.Input
			require.NoError(s.t, in.Parse(d))
			s.echo, s.heard = in.Stamp, s.now
			s.arrived(in, s.tick)
		}
		var arrivals [][]byte
		if s.now >= s.stuck {
			arrivals = s.down.Receive(s.now)
		}
		for _, d := range arrivals {
			must.Get(s.session.ReceiveDatagram(d, s.time()))
		}
		if !s.sleeps {
			s.answer(len(arrivals))
		}
		if len(arrivals) > 0 {
			s.updated()
		}
		s.answer(0)
		if s.now%linkedRender == 0 {
			s.render()
		}
	}
}

// sleep makes the client wait between updates.
func (s *linkedServer) sleep(sleeps bool) {
	s.sleeps = sleeps
	s.session.Sleeps(sleeps)
}

// answer sends an Input if one is due after the arrival of so many datagrams.
func (s *linkedServer) answer(datagrams int) {
	if s.session.Answers(datagrams, s.time(), 0) {
		s.up.Send(s.now, s.session.Input(s.time()))
	}
}

// step plays a tick of the server.
func (s *linkedServer) step() {
	s.tick++
	if s.tick == linkedFirstTick {
		s.enter(1, walker)
	}
	if s.tick%s.every != 0 || s.omits(s.tick) {
		return
	}
	s.seq++
	row, sent := s.values(s.tick)
	header := wire.StateHeader{Seq: s.seq, Tick: s.tick, Structure: 1}
	var w bitio.Writer
	if !sent {
		w.Reset(wire.AppendStateHeader(nil, header))
	} else {
		header.Rows, header.Fold = 1, wire.Fold16(wire.Fold(0, walker))
		w.Reset(wire.AppendStateHeader(nil, header))
		wire.AppendRowCoding(&w, wire.RowCoding{})
		wire.AppendRowHeader(&w, wire.RowCoding{}, walker.Index(), wire.Baseline{})
		s.codec.Append(&w, row, nil)
	}
	d := w.Bytes()
	wire.StampState(d, s.echo, uint16(min(s.now-s.heard, math.MaxUint16)))
	s.last = d
	s.down.Send(s.now, d)
	for range s.parts {
		s.seq++
		d := wire.AppendStateHeader(nil, wire.StateHeader{Seq: s.seq, Tick: s.tick, Structure: 1})
		s.down.Send(s.now, d)
	}
}

// shown returns the walker's position in a render now, and the render's moment.
func (s *linkedServer) shown() (x float64, m client.Moment) {
	m = s.session.Render(s.time())
	e := s.session.Replica().Entity(walker)
	require.NotNil(s.t, e)
	return float64(must.Have(s.body.At(e, m)).Position[0]), m
}

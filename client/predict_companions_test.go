package client_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/alloctest"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// ball is kicked by runners.
type ball struct {
	Position [3]float32 `net:"range=-256..256,step=1/256"`
	Velocity [3]float32 `net:"range=-32..32,step=1/256"` // m/s
	Touched  uint8
	Rolled   int32 `net:"-"`
}

// roll moves a ball by a tick.
func (b *ball) roll() {
	b.Rolled++
	for i := range b.Position {
		b.Position[i] += float32(b.Velocity[i] * (float32(1) / stepHz))
		b.Velocity[i] *= 31.0 / 32
	}
}

// kick has a runner push a ball that is within a metre.
func (r *runner) kick(b *ball) {
	x, z := b.Position[0]-r.Position[0], b.Position[2]-r.Position[2]
	if x*x+z*z < 1 {
		b.Velocity[0], b.Velocity[2] = float32(8*x), float32(8*z)
		b.Touched++
	}
}

// playBall is the rules of a tick: the server's, and the client's step.
func playBall(r *runner, b *ball, in lever) {
	r.step(in)
	if b != nil {
		r.kick(b)
		b.roll()
	}
}

var ballHandle = h(7, 1)

// ballServer is a predictionServer with a ball.
type ballServer struct {
	*predictionServer
	balls  client.CoPredicted[ball]
	ball   ball
	inputs map[uint32]lever
	sent   ball // in the newest snapshot that has the ball's row
	glued  bool // the server's ball cannot be kicked
}

func newBallServer(t testing.TB) *ballServer {
	p := &ballServer{ball: ball{Position: [3]float32{2, 0, 0.5}}}
	p.predictionServer = newPredictionServer(t, client.PredictConfig{CoPredicted: []client.CoPredictedSet{&p.balls}})
	p.inputs = p.predictionServer.inputs
	p.step = func(_ uint32, r *runner, in lever) {
		r.step(in)
		for _, b := range p.balls.All() {
			r.kick(b)
			b.roll()
		}
	}
	p.enterBall(ballHandle)
	return p
}

func (p *ballServer) ballRow() rowschema.Row {
	row := rowschema.Row{Mask: 4, Values: make([]uint32, p.schema.Values())}
	rowschema.New(p.schema).Component(2).Quantise(&p.ball, row.Values[p.schema.Components()[2].Offset:])
	return row
}

func (p *ballServer) enterBall(h bulk.Handle) {
	p.record(stage.Enter(p.schema, h, p.ballRow()))
}

// ballDatagram makes a datagram of the newest snapshot's tick with a row of the ball alone.
func (p *ballServer) ballDatagram() []byte {
	p.seq++
	header := wire.StateHeader{Seq: p.seq, Tick: p.tick, Structure: p.number, Rows: 1, Fold: wire.Fold16(wire.Fold(0, ballHandle))}
	if p.applied != 0 {
		header.InputAge = p.tick - p.applied + 1
	}
	var w bitio.Writer
	w.Reset(wire.AppendStateHeader(nil, header))
	wire.AppendRowCoding(&w, wire.RowCoding{})
	wire.AppendRowHeader(&w, wire.RowCoding{}, ballHandle.Index(), wire.Baseline{})
	p.codec.Append(&w, p.ballRow(), nil)
	return w.Bytes()
}

// serve plays a tick of the server by the game's rules.
func (p *ballServer) serve() {
	p.tick++
	p.now += time.Second / stepHz
	if _, ok := p.inputs[p.tick]; ok {
		p.applied = p.tick
	}
	if p.glued {
		playBall(&p.state, nil, p.inputs[p.applied])
		return
	}
	playBall(&p.state, &p.ball, p.inputs[p.applied])
}

// frames plays frames with a tick, a snapshot in two datagrams and an input each. A ball that
// rests has no row.
func (p *ballServer) frames(n int, in lever) {
	for range n {
		p.serve()
		p.snapshot()
		if p.sent.Position != p.ball.Position {
			p.deliver(p.ballDatagram())
			p.sent = p.ball
		}
		p.input(in)
		p.drawn()
	}
}

func (p *ballServer) ballAhead() ball {
	r, b, in := p.state, p.ball, p.inputs[p.applied]
	for tick := p.tick + 1; tick <= p.play.Stats().Predicted; tick++ {
		if next, ok := p.inputs[tick]; ok {
			in = next
		}
		playBall(&r, &b, in)
	}
	return b
}

func (p *ballServer) nearBall(why string) {
	p.t.Helper()
	b, ok := p.balls.State(ballHandle)
	require.True(p.t, ok, why)
	want := p.ballAhead()
	require.InDelta(p.t, 0, distance(want.Position, b.Position), 3.0/256, why)
	require.Equal(p.t, want.Touched, b.Touched, why)
}

// A ball that the player kicks moves in the frame of his input, and the server agrees. A kick by
// another corrects it, and is blended.
func TestCoPredicted(t *testing.T) {
	p := newBallServer(t)
	p.frames(5, still)
	must.Lack(p.balls.State(ballHandle))
	must.Lack(p.balls.At(ballHandle, p.session.Render(p.now)))
	p.balls.Set(ballHandle)
	require.Zero(t, p.balls.Get(ballHandle), "outside of the step function")
	for range p.balls.All() {
		require.Fail(t, "outside of the step function")
	}
	for range 60 {
		p.frames(1, right)
		p.balls.Set(ballHandle)
		p.nearBall("kicked")
	}
	require.Greater(t, p.ball.Touched, uint8(1))
	require.Zero(t, p.play.Stats().Corrected)
	b, _ := p.balls.State(ballHandle)
	require.EqualValues(t, p.play.Stats().Predicted-1005, b.Rolled, "what is not replicated is predicted")

	drawn, _ := p.balls.At(ballHandle, p.session.Render(p.now))
	p.ball.Velocity[2], p.ball.Position[2] = 6, p.ball.Position[2]+1
	p.frames(1, right)
	p.nearBall("kicked by another")
	require.EqualValues(t, 1, p.play.Stats().Corrected)
	now := must.Have(p.balls.At(ballHandle, p.session.Render(p.now)))
	require.InDelta(t, drawn.Position[2]+0.1+0.5*(1-0.865), now.Position[2], 0.15, "blended")
	for range 80 {
		p.frames(1, right)
		p.nearBall("rolls on")
	}
	now, _ = p.balls.At(ballHandle, p.session.Render(p.now))
	b, _ = p.balls.State(ballHandle)
	require.InDelta(t, b.Position[2], now.Position[2], 0.12)
}

// A co-predicted entity is dropped for good when it dies, leaves view or its slot is reused.
func TestCoPredictedGone(t *testing.T) {
	for _, end := range []wire.Record{leave(ballHandle), destroy(ballHandle)} {
		p := newBallServer(t)
		p.frames(3, still)
		p.balls.Set(ballHandle)
		p.frames(20, right)
		seen := 0
		p.step = func(_ uint32, r *runner, in lever) {
			r.step(in)
			for range p.balls.All() {
				seen++
			}
		}
		p.record(end)
		gone := wire.Hidden
		if end.Op == wire.OpDestroy {
			gone = wire.Stale
		}
		again := ballHandle
		for range 2 {
			require.Equal(t, gone, p.session.Resolve(ballHandle))
			must.Lack(p.balls.State(ballHandle))
			must.Lack(p.balls.At(ballHandle, p.session.Render(p.now)))
			p.balls.Set(ballHandle)
			p.serve()
			p.snapshot()
			p.input(right)
			require.Zero(t, seen, "ghost")
			require.InDelta(t, 0, distance(p.ahead(p.play.Stats().Predicted).Position, p.predicted().Position), 2.0/256)
		}
		if end.Op == wire.OpDestroy {
			again = h(7, 3)
		}
		p.enterBall(again)
		for range 3 {
			p.serve()
			p.snapshot()
			p.input(right)
		}
		require.Zero(t, seen, "never without Set")
		p.balls.Set(ballHandle, again)
		p.input(right)
		require.NotZero(t, seen)
		must.Have(p.balls.State(again))
		_, ok := p.balls.State(ballHandle)
		require.Equal(t, again == ballHandle, ok)
	}
}

// A ball that the server leaves at rest has no row. A prediction in which it was kicked is
// corrected all the same.
func TestCoPredictedRests(t *testing.T) {
	p := newBallServer(t)
	p.frames(20, still)
	p.balls.Set(ballHandle)
	rest, kicked := p.ball, false
	p.glued = true
	for range 60 {
		p.frames(1, right)
		b, _ := p.balls.State(ballHandle)
		kicked = kicked || b.Touched > 0
	}
	require.True(t, kicked)
	require.Greater(t, p.state.Position[0], float32(4))
	b := must.Have(p.balls.State(ballHandle))
	require.Equal(t, rest.Position, b.Position)
	require.Zero(t, b.Touched)
}

// A row of the ball in the second datagram of a snapshot corrects it although the player's own
// row has confirmed the tick.
func TestCoPredictedLaterDatagram(t *testing.T) {
	p := newBallServer(t)
	p.frames(3, still)
	p.balls.Set(ballHandle)
	p.frames(3, still)
	p.serve()
	p.ball.Position[1] = 9
	p.snapshot()
	b, _ := p.balls.State(ballHandle)
	require.Zero(t, b.Position[1])
	p.deliver(p.ballDatagram())
	p.nearBall("corrected")
	require.EqualValues(t, 1, p.play.Stats().Corrected)
}

// An entity that Set adds is first drawn at the moment of all other entities, then moves to the
// predicted present. An entity that Set drops moves back.
func TestCoPredictedIsBlendedInAndOut(t *testing.T) {
	p := newBallServer(t)
	shown := must.Get(client.ComponentOf[ball](p.schema, "ball"))
	past := func(m client.Moment) float32 {
		b := must.Have(shown.At(p.session.Replica().Entity(ballHandle), m))
		return b.Position[0]
	}
	p.ball.Velocity[0] = 20
	p.frames(20, still)
	m := p.session.Render(p.now)
	p.balls.Set(ballHandle)
	b := must.Have(p.balls.At(ballHandle, m))
	require.InDelta(t, past(m), b.Position[0], 1.0/256, "as it was drawn before")
	newest, _ := p.balls.State(ballHandle)
	require.Greater(t, newest.Position[0]-b.Position[0], float32(0.5))
	last := b.Position[0]
	for range 30 {
		p.frames(1, still)
		b, _ = p.balls.At(ballHandle, p.session.Render(p.now))
		require.Greater(t, b.Position[0], last)
		last = b.Position[0]
	}
	newest, _ = p.balls.State(ballHandle)
	require.InDelta(t, newest.Position[0], b.Position[0], 0.2)

	p.balls.Set()
	must.Lack(p.balls.State(ballHandle))
	b = must.Have(p.balls.At(ballHandle, p.session.Render(p.now)))
	require.InDelta(t, last, b.Position[0], 0.01, "as it was drawn before")
	for range 57 {
		p.frames(1, still)
		b = must.Have(p.balls.At(ballHandle, p.session.Render(p.now)))
	}
	require.InDelta(t, past(p.session.Render(p.now)), b.Position[0], 0.01)
	p.frames(1, still)
	must.Lack(p.balls.At(ballHandle, p.session.Render(p.now)))
}

// A step function that panics on a co-predicted entity ends the prediction, not the session.
func TestCoPredictedPanics(t *testing.T) {
	p := newBallServer(t)
	p.frames(3, still)
	p.balls.Set(ballHandle)
	p.frames(3, still)
	why := errors.New("the ball burst")
	p.step = func(uint32, *runner, lever) {
		for range p.balls.All() {
			panic(why)
		}
	}
	p.input(right)
	require.ErrorIs(t, p.play.Err(), why)
	p.balls.Set(ballHandle)
	must.Lack(p.balls.State(ballHandle))
	must.Lack(p.balls.At(ballHandle, p.session.Render(p.now)))
	p.serve()
	p.snapshot()
	p.deliver(p.ballDatagram())
	require.True(t, p.session.Joined())
}

// At most MaxCoPredicted entities are taken, none twice, and neither the own one nor one that lacks
// the component.
func TestCoPredictedIsBounded(t *testing.T) {
	p := newBallServer(t)
	handles := []bulk.Handle{player, ballHandle, ballHandle, 0, h(99, 9)}
	p.frames(3, still)
	for slot := range uint32(20) {
		handles = append(handles, h(20+slot, 1))
		p.enterBall(h(20+slot, 1))
	}
	p.balls.Set(handles...)
	count := 0
	p.step = func(uint32, *runner, lever) {
		count = 0
		for other, b := range p.balls.All() {
			require.Equal(t, b, p.balls.Get(other))
			require.NotEqual(t, player, other)
			p.balls.Set() // does nothing
			count++
		}
	}
	p.input(right)
	require.Equal(t, client.MaxCoPredicted, count)
	must.Fail(client.Predict(p.session, func(uint32, *runner, lever) {}, client.PredictConfig{CoPredicted: []client.CoPredictedSet{&p.balls}}))
	other := must.Get(client.NewSession(client.SessionConfig{Schema: p.schema}))
	_, err := client.Predict(other, func(uint32, *runner, lever) {}, client.PredictConfig{CoPredicted: []client.CoPredictedSet{&p.balls}})
	require.ErrorContains(t, err, "in use by another Prediction")
	var unknown client.CoPredicted[lever]
	_, err = client.Predict(other, func(uint32, *runner, lever) {}, client.PredictConfig{CoPredicted: []client.CoPredictedSet{&unknown}})
	require.ErrorContains(t, err, "client_test.lever is no component of the schema")
}

// secretBall is a ball that only its owner receives whole.
type secretBall struct {
	Position [3]float32 `net:"range=-256..256,step=1/256"`
	Velocity [3]float32 `net:"range=-32..32,step=1/256"`
	Touched  uint8      `net:"owner"`
}

// The server's schema decides which fields only owners receive. An entity with such fields is
// co-predicted by its owner, and by clients that do not read them.
func TestCoPredictsWhatItReceives(t *testing.T) {
	type plainBall struct {
		Position [3]float32 `net:"range=-256..256,step=1/256"`
	}
	plain, secret := schemaWithBall[ball](t), schemaWithBall[secretBall](t)
	require.True(t, coPredicts[secretBall](t, plain, false), "everyone receives it")
	require.False(t, coPredicts[ball](t, secret, false))
	require.False(t, coPredicts[secretBall](t, secret, false))
	require.True(t, coPredicts[ball](t, secret, true))
	require.True(t, coPredicts[plainBall](t, secret, false))
}

func schemaWithBall[Ball any](t testing.TB) *schema.Schema {
	s := schema.New()
	schema.Define[friend](s, "friend")
	schema.Define[runner](s, "runner")
	schema.Define[Ball](s, "ball")
	schema.DefineInput[lever](s)
	require.NoError(t, s.Err())
	return s
}

// coPredicts reports whether a client with the type Ball can co-predict a ball of the server.
func coPredicts[Ball any](t testing.TB, served *schema.Schema, owned bool) bool {
	var balls client.CoPredicted[Ball]
	f := newPredictionServer(t, client.PredictConfig{})
	session := must.Get(client.NewSession(client.SessionConfig{Schema: schemaWithBall[Ball](t)}))
	must.Get(client.Predict(session, func(_ uint32, r *runner, in lever) { r.step(in) }, client.PredictConfig{CoPredicted: []client.CoPredictedSet{&balls}}))
	f.serveTo(session, served)
	f.record(stage.Enter(served, ballHandle, rowschema.Row{Mask: 4, Owned: owned, Values: make([]uint32, served.Values())}))
	f.snapshot()
	f.input(still)
	balls.Set(ballHandle)
	_, ok := balls.State(ballHandle)
	return ok
}

// After its first Set, a co-predicted entity costs no allocations.
func TestCoPredictedAllocatesNothing(t *testing.T) {
	p := newBallServer(t)
	p.frames(20, still)
	p.balls.Set(ballHandle)
	p.frames(20, right)
	frame := func() {
		p.now += time.Second / stepHz
		must.Get(p.session.SetInputValue(&p.held, p.now))
		p.balls.Set(ballHandle)
		m := p.session.Render(p.now)
		p.play.At(m)
		p.balls.At(ballHandle, m)
		p.balls.State(ballHandle)
		client.Recorrect(p.play)
	}
	alloctest.RequireNone(t, 30, measuredFrames, frame)
	require.Zero(t, p.play.Stats().Stalled)
}

// BenchmarkReplayCoPredicted is BenchmarkReplay with a ball. The goal is the same.
func BenchmarkReplayCoPredicted(b *testing.B) {
	p := newBallServer(b)
	p.frames(20, still)
	p.balls.Set(ballHandle)
	p.frames(50, right)
	for range 30 - predictionLead {
		p.now += time.Second / stepHz
		p.input(right)
	}
	must.Have(p.balls.State(ballHandle))
	require.EqualValues(b, 30, p.play.Stats().Predicted-p.play.Stats().Confirmed)
	b.ReportAllocs()
	for b.Loop() {
		client.Recorrect(p.play)
	}
}

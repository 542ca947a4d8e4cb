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
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// runner is a player of the test games: it runs where its lever points, and turns that way.
type runner struct {
	Position [3]float32 `net:"range=-256..256,step=1/256"` // metres
	Heading  float32    `net:"angle,bits=12"`
	Facing   [4]float32 `net:"quat,bits=10"`
	Stunned  uint8      // ticks for which input is dead
	Jumps    uint16
	Ticks    int32 `net:"-"` // steps since the state was made
}

type lever struct {
	X, Z float32 `net:"range=-1..1,step=1/64"`
	Jump bool
}

const (
	runnerSpeed = 6 // m/s
	stepHz      = 60
)

// step is the function that both sides call.
func (r *runner) step(in lever) {
	r.Ticks++
	if r.Stunned > 0 {
		r.Stunned--
		in = lever{}
	}
	r.Position[0] += float32(in.X * (float32(runnerSpeed) / stepHz))
	r.Position[2] += float32(in.Z * (float32(runnerSpeed) / stepHz))
	if in.X != 0 || in.Z != 0 {
		angle := math.Atan2(float64(in.Z), float64(in.X))
		r.Heading = float32(angle)
		r.Facing = [4]float32{0, float32(math.Sin(angle / 2)), 0, float32(math.Cos(angle / 2))}
	}
	if in.Jump {
		r.Jumps++
	}
}

func newRunner() runner { return runner{Facing: [4]float32{3: 1}} }

func runnerSchema(t testing.TB) *schema.Schema { return schemaWithBall[ball](t) }

// predictionServer plays the server to a session by hand. A tick, a frame and a snapshot's time are
// the same here, so inputs are for the tick predictionLead after the newest snapshot's.
type predictionServer struct {
	t       testing.TB
	schema  *schema.Schema
	codec   *rowcodec.Codec
	session *client.Session
	play    *client.Prediction[runner]
	step    func(tick uint32, r *runner, in lever) // called by the prediction
	undone  []uint64

	welcome wire.Welcome
	now     time.Duration
	tick    uint32 // of the server
	seq     uint32
	number  uint32 // of structure records
	state   runner // of the server
	served  any    // the state in the type of the server's schema; nil: state
	inputs  map[uint32]lever
	applied uint32
	mask    uint32 // components of the player
	owned   bool
	entered uint32 // tick
	undo    func()
	held    lever
}

const predictionLead = 3

var player = h(5, 1)

func newPredictionServer(t testing.TB, config client.PredictConfig) *predictionServer {
	f := &predictionServer{t: t, schema: runnerSchema(t), tick: 1000, state: newRunner(), mask: 2, owned: true, undo: func() {}, inputs: map[uint32]lever{}}
	f.step = func(_ uint32, r *runner, in lever) { r.step(in) }
	f.codec = rowcodec.New(f.schema, rowcodec.DefaultTables())
	f.session = must.Get(client.NewSession(client.SessionConfig{Schema: f.schema}))
	config.Undo = func(_ uint32, key uint64) {
		f.undone = append(f.undone, key)
		f.undo()
	}
	f.play = must.Get(client.Predict(f.session, func(tick uint32, r *runner, in lever) { f.step(tick, r, in) }, config))
	f.welcome = wire.Welcome{
		Protocol: wire.Version, Schema: f.schema.Hash(), SchemaText: f.schema.Text(), Tables: rowcodec.DefaultTables().Version(), Epoch: 1,
		GenerationFloor: 1, GenerationCeiling: math.MaxUint32, TickHz: stepHz, SnapshotHz: stepHz, MaxSlots: 100, Session: 1, Secret: []byte("0123456789abcdef"),
	}
	f.join()
	return f
}

// serveTo joins session, of a client with other declarations, to a server of the schema served.
func (f *predictionServer) serveTo(session *client.Session, served *schema.Schema) {
	f.session, f.schema, f.codec = session, served, rowcodec.New(served, rowcodec.DefaultTables())
	f.welcome.Schema, f.welcome.SchemaText = served.Hash(), served.Text()
	f.join()
}

// join begins the session and shows it its player.
func (f *predictionServer) join() {
	f.stream(wire.TypeWelcome, f.welcome.Append(nil))
	f.show()
}

// show shows a new session its player.
func (f *predictionServer) show() {
	f.number, f.seq, f.welcome.SchemaText = 0, 0, "" // later connections do not ask for it
	f.control(player)
	f.enter(player)
	f.snapshot()
}

func (f *predictionServer) control(h bulk.Handle) {
	f.stream(wire.TypeControl, wire.Control{Entity: h}.Append(nil))
}

func (f *predictionServer) stream(kind byte, body []byte) {
	require.NoError(f.t, f.session.ReceiveStream(wire.AppendFrame(nil, kind, body)))
}

// records sends structure records, one message each.
func (f *predictionServer) record(r wire.Record) {
	f.number++
	ticks := uint32(0)
	if f.number == 1 {
		ticks = f.tick
	}
	f.stream(wire.TypeStructure, wire.AppendRecord(wire.AppendStructureHeader(nil, f.number, ticks), r))
}

func (f *predictionServer) row() rowschema.Row {
	row, state := rowschema.Row{Mask: f.mask, Owned: f.owned, Values: make([]uint32, f.schema.Values())}, f.served
	if state == nil {
		state = &f.state
	}
	rowschema.New(f.schema).Component(1).Quantise(state, row.Values[f.schema.Components()[1].Offset:])
	return row
}

func (f *predictionServer) enter(h bulk.Handle) {
	f.entered = f.tick
	var w bitio.Writer
	rowschema.New(f.schema).AppendFull(&w, f.row())
	f.record(wire.Record{Op: wire.OpEnter, Handle: h, Owned: f.owned, Row: w.Bytes()})
}

// datagram makes a snapshot of the tick, with a row of the player if there is one.
func (f *predictionServer) datagram(withRow bool) []byte {
	f.seq++
	header := wire.StateHeader{Seq: f.seq, Tick: f.tick, Structure: f.number}
	if f.applied != 0 {
		header.InputAge = f.tick - f.applied + 1
	}
	var w bitio.Writer
	if !withRow {
		return wire.AppendStateHeader(nil, header)
	}
	h := f.session.Controlled()
	header.Rows, header.Fold = 1, wire.Fold16(wire.Fold(0, h))
	w.Reset(wire.AppendStateHeader(nil, header))
	wire.AppendRowCoding(&w, wire.RowCoding{})
	wire.AppendRowHeader(&w, wire.RowCoding{}, h.Index(), wire.Baseline{})
	f.codec.Append(&w, f.row(), nil)
	return w.Bytes()
}

func (f *predictionServer) deliver(d []byte) {
	outcome := must.Get(f.session.ReceiveDatagram(d, f.now))
	require.Equal(f.t, client.Applied, outcome)
}

func (f *predictionServer) snapshot() { f.deliver(f.datagram(true)) }

// input makes the input of a frame and returns its tick.
func (f *predictionServer) input(in lever) uint32 {
	tick := must.Get(f.session.SetInputValue(&in, f.now))
	f.inputs[tick] = in
	return tick
}

// serve plays a tick of the server, which holds the newest input.
func (f *predictionServer) serve() {
	f.tick++
	f.now += time.Second / stepHz
	if _, ok := f.inputs[f.tick]; ok {
		f.applied = f.tick
	}
	f.state.step(f.inputs[f.applied])
}

// drawn renders a picture.
func (f *predictionServer) drawn() runner {
	f.t.Helper()
	r := must.Have(f.play.At(f.session.Render(f.now)))
	return r
}

func (f *predictionServer) predicted() runner {
	f.t.Helper()
	r := must.Have(f.play.State())
	return r
}

// ahead returns the state that the server will have after tick newest.
func (f *predictionServer) ahead(newest uint32) runner {
	r, in := f.state, f.inputs[f.applied]
	for tick := f.tick + 1; tick <= newest; tick++ {
		if next, ok := f.inputs[tick]; ok {
			in = next
		}
		r.step(in)
	}
	return r
}

// frames plays frames with an input, a tick and a snapshot each.
func (f *predictionServer) frames(n int, in lever) {
	for range n {
		f.serve()
		f.snapshot()
		f.input(in)
		f.drawn()
	}
}

// frames1 is frames for one frame whose picture the test draws.
func (f *predictionServer) frames1(in lever) {
	f.serve()
	f.snapshot()
	f.input(in)
}

// serveWall plays a tick in which the server does not let the player move.
func (f *predictionServer) serveWall() {
	at := f.state
	f.serve()
	f.state.Position = at.Position
	f.state.Heading, f.state.Facing = at.Heading, at.Facing
}

func halfLivesGone(frames int) float64 {
	return 1 - math.Exp2(-float64(frames)*1000/stepHz/80)
}

func about(axis int, angle float64) (q [4]float32) {
	q[axis], q[3] = float32(math.Sin(angle/2)), float32(math.Cos(angle/2))
	return q
}

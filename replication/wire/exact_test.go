package wire_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/wiretest"
	"github.com/worldd/worldd/replication/wire"
)

func anyFloat(t *rapid.T, name string) float32 {
	b := rapid.Uint32().Draw(t, name)
	if b>>23&0xff == 0xff {
		b ^= 1 << 23 // neither infinite nor NaN
	}
	return math.Float32frombits(b)
}

// bitsOf returns the bits of the floats of a state, which tell -0 from 0.
func bitsOf(b *wire.BodyState) (bits [6]uint32) {
	for i := range 3 {
		bits[i], bits[3+i] = math.Float32bits(b.Position[i]), math.Float32bits(b.Velocity[i])
	}
	return bits
}

// Every finite state is read bit for bit as it was written.
func TestExactBodies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b wire.BodyState
		var g wire.Grid
		for i := range g {
			g[i] = anyFloat(t, "grid")
		}
		for i := range 3 {
			b.Position[i], b.Velocity[i] = anyFloat(t, "position"), anyFloat(t, "velocity")
		}
		b.Awake = rapid.Bool().Draw(t, "awake")
		if b.Awake {
			b.Rest = rapid.Uint32().Draw(t, "rest")
		} else {
			g[3], g[4], g[5], b.Velocity = 0, 0, 0, [3]float32{}
		}
		if rapid.Bool().Draw(t, "on the grid") {
			b.Position, b.Velocity, b.Rest = [3]float32(g[:3]), [3]float32(g[3:]), 0
		}
		e := wire.Exact{Form: wire.FormOf(&b, &g), Back: rapid.Uint32Range(0, wire.MaxBack(1000)).Draw(t, "back")}
		var w bitio.Writer
		wire.AppendExact(&w, e)
		wire.AppendBody(&w, e.Form, &b, &g)
		require.LessOrEqual(t, w.Bits(), wire.MaxExactBits)
		var r bitio.Reader
		r.Reset(w.Bytes())
		require.Equal(t, e, wire.ReadExact(&r, 5000, wire.Baseline{}, wire.MaxBack(1000)))
		got := wire.ReadBody(&r, e.Form, &g, b.Rest)
		require.NoError(t, wire.ExpectEnd(&r))
		require.Equal(t, bitsOf(&b), bitsOf(&got))
		require.Equal(t, b, got)
	})
}

func TestExactForms(t *testing.T) {
	g := wire.Grid{1, 2, 3, 4, 5, 6}
	on := wire.BodyState{Position: [3]float32{1, 2, 3}, Velocity: [3]float32{4, 5, 6}, Awake: true}
	require.Equal(t, wire.OnGrid, wire.FormOf(&on, &g))
	on.Rest = 1
	require.Equal(t, wire.Raw, wire.FormOf(&on, &g))
	still, asleep := g, wire.BodyState{Position: on.Position}
	still[3], still[4], still[5] = 0, 0, 0
	require.Equal(t, wire.OnGridAsleep, wire.FormOf(&asleep, &still))
	asleep.Position[2] += 1e-6
	require.Equal(t, wire.RawAsleep, wire.FormOf(&asleep, &still))
	minus := wire.Grid{0, 0, 0, 0, 0, 0}
	zero := wire.BodyState{Velocity: [3]float32{0, float32(math.Copysign(0, -1)), 0}, Awake: true}
	require.Equal(t, wire.Raw, wire.FormOf(&zero, &minus), "-0 is not 0")
}

// The longest exact part has MaxExactBits.
func TestExactLongest(t *testing.T) {
	x := math.Float32frombits(1<<32 - 1) // the lowest float in the order, 2^31 steps below 0: its residual is 2^32 - 1
	b := wire.BodyState{Position: [3]float32{x, x, x}, Velocity: [3]float32{x, x, x}, Rest: 1<<32 - 1, Awake: true}
	g := wire.Grid{}
	var w bitio.Writer
	wire.AppendExact(&w, wire.Exact{Form: wire.Raw, Back: wire.MaxBack(1000)})
	wire.AppendBody(&w, wire.Raw, &b, &g)
	require.Equal(t, wire.MaxExactBits, w.Bits())
}

// Each constant of a kind has one form: 0 has no sign.
func TestKindsOfNegativeZero(t *testing.T) {
	parse := func(k wire.KindConstants) error {
		_, err := wire.ParseStructure(wire.KindAdded{KindConstants: k}.Append(wire.AppendStructureHeader(nil, 1, 1)))
		return err
	}
	minus := float32(math.Copysign(0, -1))
	require.NoError(t, parse(wire.KindConstants{}))
	for _, k := range []wire.KindConstants{{InvMass: minus}, {Coupling: minus}, {Radius: minus}, {Friction: minus}, {Restitution: minus}} {
		require.Equal(t, wire.BadMessage, wire.CodeOf(parse(k)))
	}
}

// A snapshot of each turn audits each body once.
func TestAuditTurns(t *testing.T) {
	h := bulk.NewHandle(70, 3)
	n := 0
	for seq := uint32(5); seq < 5+wire.AuditTurns; seq++ {
		if wire.Audited(h, seq) {
			n++
		}
	}
	require.Equal(t, 1, n)
}

// The longest program and the longest effect each fit into a Structure message.
func TestExtensionsFit(t *testing.T) {
	program := wire.Program{Number: 255, Code: make([]byte, wire.MaxProgram)}.Append(nil)
	e := wiretest.Effect()
	e.Path.Form, e.Params = wire.PathOrbit, wiretest.Floats(make([]float32, wire.MaxEffectNumbers)...)
	require.Less(t, 1+5+5+len(program)+len(e.Append(nil)), wire.MaxStreamMessage)
}

package motion_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world/motion"
)

const (
	vectorsFile = "testdata/motion.jsonl"
	// programsFile has the portable form of each program of the vectors, for readers that
	// have no compiler.
	programsFile = "testdata/programs.jsonl"
)

var vectorsUpdate = flag.Bool("vectors.update", false, "write "+vectorsFile+" and "+programsFile)

// A vector is a line of vectorsFile: bodies and effects, and the bodies after each of some
// ticks. testdata/README.md has the format.
type vector struct {
	Name      string
	TickHz    int
	Gravity   bits
	Extent    [3]bits
	Bounds    int // 0 clamp, 1 bounce, 2 destroy
	RestSpeed bits
	RestTicks int
	Kinds     []vectorKind
	Programs  []string // texts of package field
	Tick      uint64   // the last one before
	Bodies    []vectorBody
	Changes   []vectorChange
	Want      []map[string]string // by tick after Tick: the bodies that changed, by number, as "p v rest awake"
}

type vectorKind struct {
	InvMass, Coupling, Radius, Friction, Restitution bits
	Layers                                           uint32
}

type vectorBody struct {
	Kind  int
	State string
}

// A vectorChange adds, replaces or ends the effect on a slot before the tick Before.
type vectorChange struct {
	Before  uint64
	Slot    int
	End     bool      `json:",omitempty"`
	Program int       `json:",omitempty"`
	Params  [][4]bits `json:",omitempty"`
	Mode    int       `json:",omitempty"` // 0 wind, 1 acceleration
	Layers  uint32    `json:",omitempty"`
	Path    int       `json:",omitempty"` // 0 fixed, 1 linear, 2 orbit, 3 following
	Vectors [][3]bits `json:",omitempty"` // C; V; or U, W of the path
	Phase   uint32    `json:",omitempty"`
	Rate    uint32    `json:",omitempty"`
	Leader  int       `json:",omitempty"`
	Born    uint64    `json:",omitempty"`
	First   uint64    `json:",omitempty"`
	Last    uint64    `json:",omitempty"`
}

// bits is a float32 as the hexadecimal number of its bits.
type bits float32

func (b bits) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%08x", math.Float32bits(float32(b))), nil
}

func (b *bits) UnmarshalText(text []byte) error {
	u, err := strconv.ParseUint(string(text), 16, 32)
	*b = bits(math.Float32frombits(uint32(u)))
	return err
}

func vectorBits(v motion.Vec3) [3]bits { return [3]bits{bits(v.X), bits(v.Y), bits(v.Z)} }

func (v *vectorChange) vector(i int) motion.Vec3 {
	if i >= len(v.Vectors) {
		return motion.Vec3{}
	}
	return motion.Vec3{X: float32(v.Vectors[i][0]), Y: float32(v.Vectors[i][1]), Z: float32(v.Vectors[i][2])}
}

func stateText(p, v [3]float64, rest int, awake bool) string {
	var b strings.Builder
	for _, x := range append(p[:], v[:]...) {
		fmt.Fprintf(&b, "%08x ", math.Float32bits(float32(x)))
	}
	fmt.Fprintf(&b, "%d %t", rest, awake)
	return b.String()
}

func parseState(t testing.TB, text string) (s motion.State) {
	var u [6]uint32
	n, err := fmt.Sscanf(text, "%x %x %x %x %x %x %d %t", &u[0], &u[1], &u[2], &u[3], &u[4], &u[5], &s.Rest, &s.Awake)
	require.NoError(t, err, text)
	require.Equal(t, 8, n)
	f := math.Float32frombits
	s.Position, s.Velocity = motion.Vec3{X: f(u[0]), Y: f(u[1]), Z: f(u[2])}, motion.Vec3{X: f(u[3]), Y: f(u[4]), Z: f(u[5])}
	return s
}

func wide(v motion.Vec3) [3]float64 { return [3]float64{float64(v.X), float64(v.Y), float64(v.Z)} }

func textOf(s motion.State) string {
	return stateText(wide(s.Position), wide(s.Velocity), int(s.Rest), s.Awake)
}

func readVectors(t testing.TB) (all []*vector) {
	file := must.Get(os.ReadFile(vectorsFile))
	lines := bufio.NewScanner(bytes.NewReader(file))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		v := &vector{}
		require.NoError(t, json.Unmarshal(lines.Bytes(), v))
		all = append(all, v)
	}
	return all
}

func (v *vector) compile(t testing.TB) (all []*field.Program) {
	for _, text := range v.Programs {
		p, err := field.Compile(text)
		require.NoError(t, err, text)
		all = append(all, p)
	}
	return all
}

func (v *vectorChange) params() (all []field.Vec4) {
	for _, p := range v.Params {
		all = append(all, field.Vec4{float32(p[0]), float32(p[1]), float32(p[2]), float32(p[3])})
	}
	return all
}

// results are the states of all bodies after each tick.
type results [][]string

// differs returns where results differ from the vector's, or nothing.
func (r results) differs(v *vector) string {
	for tick, want := range v.Want {
		for key, state := range want {
			i, _ := strconv.Atoi(key)
			if got := r[tick][i]; got != state {
				return fmt.Sprintf("tick %d, body %d: %s, want %s", tick+1, i, got, state)
			}
		}
	}
	return ""
}

// want returns the bodies that differ from the previous tick, or from the start.
func (r results) want(v *vector) (all []map[string]string) {
	last := make([]string, len(v.Bodies))
	for _, states := range r {
		changed := map[string]string{}
		for i, s := range states {
			if s != last[i] {
				changed[strconv.Itoa(i)] = s
			}
			last[i] = s
		}
		all = append(all, changed)
	}
	return all
}

// simulate runs a vector with the package's own Sim.
func (v *vector) simulate(t testing.TB, ticks int) (all results) {
	programs := v.compile(t)
	s := motion.New(motion.Params{
		TickHz: v.TickHz, Gravity: float32(v.Gravity), Bounds: motion.Bounds(v.Bounds),
		HalfExtent: motion.Vec3{X: float32(v.Extent[0]), Y: float32(v.Extent[1]), Z: float32(v.Extent[2])},
		RestSpeed:  float32(v.RestSpeed), RestTicks: uint32(v.RestTicks),
	})
	for _, k := range v.Kinds {
		s.Kinds = append(s.Kinds, motion.Kind{
			InvMass: float32(k.InvMass), Coupling: float32(k.Coupling), Radius: float32(k.Radius),
			Friction: float32(k.Friction), Restitution: float32(k.Restitution), Layers: motion.Layers(k.Layers),
		})
	}
	sim := motion.NewSim(s, v.Tick)
	for i, b := range v.Bodies {
		sim.Put(uint32(i), motion.KindID(b.Kind), parseState(t, b.State))
	}
	for range ticks {
		for _, c := range v.Changes {
			if c.Before != sim.Now()+1 {
				continue
			}
			if c.End {
				sim.EndEffect(uint32(c.Slot), true)
				continue
			}
			path := motion.Path{Form: motion.PathForm(c.Path), Center: c.vector(0), Phase: c.Phase, Rate: c.Rate}
			switch path.Form {
			case motion.Linear:
				path.Velocity = c.vector(1)
			case motion.Orbit:
				path.AxisU, path.AxisV = c.vector(1), c.vector(2)
			}
			require.NoError(t, sim.SetEffect(uint32(c.Slot), &motion.Source{
				Program: programs[c.Program], Params: c.params(), Mode: motion.Mode(c.Mode), Layers: motion.Layers(c.Layers),
				Path: path, Leader: uint32(c.Leader), Born: c.Born, First: c.First, Last: c.Last,
			}, true), v.Name)
		}
		sim.Tick()
		var states []string
		for i := range v.Bodies {
			state := must.Have(sim.State(uint32(i)))
			states = append(states, textOf(state))
		}
		all = append(all, states)
	}
	return all
}

// read runs a vector with a reading of MOTION.md.
func (v *vector) read(t testing.TB, wrong string) (all results) {
	programs := v.compile(t)
	m := &reading{
		wrong: wrong, hz: v.TickHz, restTicks: v.RestTicks, gravity: float64(v.Gravity), slow: float64(v.RestSpeed),
		bounds: v.Bounds, tick: v.Tick, effects: map[int]*readEffect{},
	}
	for i, x := range v.Extent {
		m.extent[i] = float64(x)
	}
	for _, k := range v.Kinds {
		m.kinds = append(m.kinds, readKind{
			float64(k.InvMass), float64(k.Coupling), float64(k.Radius), float64(k.Friction), float64(k.Restitution), k.Layers,
		})
	}
	for _, b := range v.Bodies {
		s := parseState(t, b.State)
		m.bodies = append(m.bodies, &readBody{
			kind: &m.kinds[b.Kind], p: wide(s.Position), v: wide(s.Velocity), awake: s.Awake, rest: int(s.Rest),
		})
	}
	m.prepare()
	for range v.Want {
		for _, c := range v.Changes {
			if c.Before != m.tick+1 {
				continue
			}
			if c.End {
				m.set(c.Slot, nil)
				continue
			}
			m.set(c.Slot, &readEffect{
				program: programs[c.Program], params: c.params(), mode: c.Mode, form: c.Path, layers: c.Layers,
				a: wide(c.vector(0)), b: wide(c.vector(1)), c: wide(c.vector(2)),
				phase: c.Phase, rate: c.Rate, leader: c.Leader, born: c.Born, first: c.First, last: c.Last,
			})
		}
		m.step()
		var states []string
		for _, b := range m.bodies {
			states = append(states, stateText(b.p, b.v, b.rest, b.awake))
		}
		all = append(all, states)
	}
	return all
}

// compiledProgram is a line of programsFile.
type compiledProgram struct{ Text, Code string }

// programLines returns programsFile.
func programLines(t testing.TB) []byte {
	var file bytes.Buffer
	for _, text := range vectorPrograms {
		p, err := field.Compile(text)
		require.NoError(t, err, text)
		code := must.Get(p.MarshalBinary())
		line := must.Get(json.Marshal(compiledProgram{text, hex.EncodeToString(code)}))
		file.Write(append(line, '\n'))
	}
	return file.Bytes()
}

// The files in testdata match vectorCases, and a Sim computes their results.
func TestVectorsAreCurrent(t *testing.T) {
	var file bytes.Buffer
	for _, v := range vectorCases() {
		v.Want = v.simulate(t, v.ticks).want(&v.vector)
		line := must.Get(json.Marshal(v.vector))
		file.Write(append(line, '\n'))
	}
	for name, want := range map[string][]byte{vectorsFile: file.Bytes(), programsFile: programLines(t)} {
		if *vectorsUpdate {
			require.NoError(t, os.WriteFile(name, want, 0o644))
		}
		have := must.Get(os.ReadFile(name))
		require.True(t, bytes.Equal(have, want), "%s: write it with -vectors.update", name)
	}
}

package motion_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/must"
)

// reading is an implementation of MOTION.md, written from that page: everything is a
// float64 that is rounded to float32 after each operation. It misreads the rule wrong.
type reading struct {
	wrong string

	hz, restTicks                      int
	gravity, dt, fall, minImpact, slow float64
	extent                             [3]float64
	bounds                             int
	kinds                              []readKind
	bodies                             []*readBody
	effects                            map[int]*readEffect
	tick                               uint64
}

type readKind struct {
	invMass, coupling, radius, friction, restitution float64
	layers                                           uint32
}

type readBody struct {
	kind  *readKind
	p, v  [3]float64
	was   [3]float64 // p before the tick
	awake bool
	rest  int
}

type readEffect struct {
	program           *field.Program
	params            []field.Vec4
	mode, form        int
	layers            uint32
	a, b, c           [3]float64 // the path's vectors
	phase, rate       uint32
	leader            int
	born, first, last uint64
	center            [3]float64
}

func r32(x float64) float64 { return float64(float32(x)) }

func (m *reading) is(wrong string) bool { return m.wrong == wrong }

func (m *reading) prepare() {
	m.dt = r32(1 / float64(m.hz))
	m.fall = r32(m.gravity * m.dt)
	m.minImpact = r32(r32(2*m.fall) + 0.25)
	if m.is("impact threshold without 0.25") {
		m.minImpact = r32(2 * m.fall)
	}
}

func (m *reading) seconds(n uint64) float64 {
	switch m.wrong {
	case "seconds as a multiple of DT":
		return float64(n) * m.dt
	case "seconds in float32":
		return r32(float64(n) / float64(m.hz))
	}
	return float64(n) / float64(m.hz)
}

func (m *reading) dot(a, b [3]float64) float64 {
	if m.is("fused dot product") {
		return r32(a[2]*b[2] + r32(a[1]*b[1]+r32(a[0]*b[0])))
	}
	if m.is("dot product from the right") {
		return r32(r32(a[0]*b[0]) + r32(r32(a[1]*b[1])+r32(a[2]*b[2])))
	}
	return r32(r32(r32(a[0]*b[0])+r32(a[1]*b[1])) + r32(a[2]*b[2]))
}

func plus(a, b [3]float64) [3]float64 {
	return [3]float64{r32(a[0] + b[0]), r32(a[1] + b[1]), r32(a[2] + b[2])}
}

func times(a [3]float64, s float64) [3]float64 {
	return [3]float64{r32(a[0] * s), r32(a[1] * s), r32(a[2] * s)}
}

func (m *reading) centerOf(e *readEffect, t uint64) (at [3]float64) {
	n := t - e.born
	if m.is("path from the first tick") {
		n = t - e.first
	}
	switch e.form {
	case 1:
		if m.is("linear path accumulates") {
			at := e.a
			for range min(n, 1<<20) {
				at = plus(at, times(e.b, m.dt))
			}
			return at
		}
		if m.is("linear path in float32") {
			return plus(e.a, times(e.b, m.seconds(n)))
		}
		for i := range at {
			at[i] = r32(e.a[i] + e.b[i]*m.seconds(n))
		}
		return at
	case 2:
		a := r32(float64(int32(e.phase+uint32(n)*e.rate))) / (1 << 32)
		if m.is("orbit of an unsigned angle") {
			a = r32(float64(e.phase+uint32(n)*e.rate)) / (1 << 32)
		}
		sin, cos := float64(field.Sin(float32(a))), float64(field.Sin(float32(r32(a+0.25))))
		if m.is("orbit by another sine") {
			sin, cos = r32(math.Sin(2*math.Pi*a)), r32(math.Cos(2*math.Pi*a))
		}
		if m.is("orbit begins at the second axis") {
			sin, cos = cos, sin
		}
		if m.is("orbit sums its axes first") {
			return plus(e.a, plus(times(e.b, cos), times(e.c, sin)))
		}
		return plus(plus(e.a, times(e.b, cos)), times(e.c, sin))
	case 3:
		return plus(m.bodies[e.leader].p, e.a)
	}
	return e.a
}

func (m *reading) feels(b *readBody, e *readEffect) bool {
	return b.kind.invMass != 0 && (e.layers == 0 || e.layers&b.kind.layers != 0)
}

func (m *reading) reaches(e *readEffect, center, p [3]float64) bool {
	box, boxed := e.program.Box()
	if !boxed {
		return true
	}
	for i := range p {
		q := r32(p[i] - center[i])
		if m.is("reach without rounding") {
			q = p[i] - center[i]
		}
		low, high := float64(box.Min[i]), float64(box.Max[i])
		if q < low || q > high || m.is("reach without faces") && (q == low || q == high) {
			return false
		}
	}
	return true
}

// wake wakes the bodies that an effect reaches around one of the centres.
func (m *reading) wake(e *readEffect, centers ...[3]float64) {
	for _, b := range m.bodies {
		reached := false
		for _, c := range centers {
			reached = reached || m.reaches(e, c, b.p)
		}
		feels := m.feels(b, e)
		if m.is("wakes kinematic bodies") {
			feels = feels || b.kind.invMass == 0
		}
		if m.is("wakes bodies of other layers") {
			feels = b.kind.invMass != 0
		}
		if !reached || !feels || m.is("wakes only sleepers") && b.awake {
			continue
		}
		b.awake = true
		if !m.is("waking keeps the rest timer") {
			b.rest = 0
		}
	}
}

func (m *reading) slots() []int {
	var all []int
	for slot := range m.effects {
		all = append(all, slot)
	}
	slices.Sort(all)
	return all
}

// set adds or replaces an effect, or ends it if e is nil.
func (m *reading) set(slot int, e *readEffect) {
	old := m.effects[slot]
	if old != nil && !m.is("a changed effect wakes only its new reach") {
		m.wake(old, old.center)
	}
	delete(m.effects, slot)
	if e != nil {
		e.center = m.centerOf(e, max(m.tick, e.first))
		m.effects[slot] = e
		if !m.is("a new effect wakes nothing") {
			m.wake(e, e.center)
		}
	}
}

func (m *reading) moveEffect(e *readEffect, to [3]float64) {
	if e.center == to {
		return
	}
	old := e.center
	e.center = to
	switch m.wrong {
	case "a moving effect wakes only its new reach":
		m.wake(e, to)
	case "a moving effect wakes only its old reach":
		m.wake(e, old)
	default:
		m.wake(e, old, to)
	}
}

func (m *reading) step() {
	m.tick++
	if m.is("wakes of moving effects after motion") {
		m.move()
	}
	for _, slot := range m.slots() {
		e := m.effects[slot]
		if m.is("a following effect wakes nothing") && e.form == 3 {
			e.center = m.centerOf(e, m.tick)
		} else if e.first < m.tick {
			m.moveEffect(e, m.centerOf(e, m.tick))
		}
		if m.is("following the leader of the same tick") && e.form == 3 {
			b := *m.bodies[e.leader]
			if b.awake {
				m.moveBody(&b)
			}
			e.center = plus(b.p, e.a)
		}
	}
	if !m.is("wakes of moving effects after motion") {
		m.move()
	}
	for _, b := range m.bodies {
		if b.awake {
			m.restBody(b)
		}
	}
	for _, slot := range m.slots() {
		e := m.effects[slot]
		last := e.last
		if m.is("the last tick is the first without") && last != 0 {
			last--
		}
		if last != 0 && last == m.tick {
			if !m.is("an expired effect wakes nothing") {
				m.wake(e, e.center)
			}
			delete(m.effects, slot)
		}
	}
}

func (m *reading) move() {
	for _, b := range m.bodies {
		b.was = b.p
		if b.awake {
			m.moveBody(b)
		}
	}
}

// force returns the sum of the effects of a mode on a body.
func (m *reading) force(b *readBody, mode int) [3]float64 {
	var layers []uint32
	for _, slot := range m.slots() {
		e := m.effects[slot]
		if e.mode == mode && !slices.Contains(layers, e.layers) {
			layers = append(layers, e.layers)
		}
	}
	switch m.wrong {
	case "groups in order of their first effects":
	case "groups descending":
		slices.SortFunc(layers, func(a, b uint32) int { return int(b) - int(a) })
	case "one sum of all groups, by slot":
		layers = []uint32{math.MaxUint32}
	default:
		slices.Sort(layers)
	}
	total := [3]float64{}
	for _, l := range layers {
		sum := [3]float32{}
		order := m.slots()
		if m.is("effects of a group descending") {
			slices.Reverse(order)
		}
		for _, slot := range order {
			e := m.effects[slot]
			if e.mode != mode || e.layers != l && l != math.MaxUint32 || !m.feels(b, e) || !m.reaches(e, e.center, b.p) {
				continue
			}
			if e.first <= m.tick || m.is("acts before its first tick") {
				m.evaluate(e, b, &sum)
			}
		}
		total = plus(total, [3]float64{float64(sum[0]), float64(sum[1]), float64(sum[2])})
	}
	return total
}

func (m *reading) evaluate(e *readEffect, b *readBody, sum *[3]float32) {
	var q [3]float32
	for i := range q {
		q[i] = float32(b.p[i] - e.center[i])
	}
	n := m.tick - e.born
	if m.is("time from the first tick") {
		n = m.tick - e.first
	}
	if m.is("time one tick ahead") {
		n++
	}
	planes := func(v *[3]float32) field.Planes { return field.Planes{X: v[0:1:1], Y: v[1:2:2], Z: v[2:3:3]} }
	env := field.Env{Time: m.seconds(n), Params: e.params}
	must.Do(e.program.Evaluate(planes(&q), planes(sum), env, make([]float32, e.program.Scratch())))
}

func (m *reading) moveBody(b *readBody) {
	k := b.kind
	if k.invMass != 0 || m.is("forces on kinematic bodies") {
		m.accelerate(b)
	}
	if !m.is("no limit for kinematic bodies") || k.invMass != 0 {
		m.limit(b)
	}
	if m.is("sideways before the ground") {
		b.p[0], b.p[2] = m.advance(b.p[0], b.v[0]), m.advance(b.p[2], b.v[2])
	}
	b.p[1] = m.advance(b.p[1], b.v[1])
	under := b.p[1] <= k.radius
	if m.is("a body at its radius is not on the ground") {
		under = b.p[1] < k.radius
	}
	if under && (k.invMass != 0 || m.is("kinematic bodies stand on the ground")) {
		depth := r32(k.radius - b.p[1])
		b.p[1] = k.radius
		if b.v[1] < 0 {
			m.land(b, depth)
		}
	}
	if !m.is("sideways before the ground") {
		b.p[0], b.p[2] = m.advance(b.p[0], b.v[0]), m.advance(b.p[2], b.v[2])
	}
	m.enclose(b)
}

func (m *reading) advance(p, v float64) float64 {
	if m.is("fused movement") {
		return r32(p + v*m.dt)
	}
	return r32(p + r32(v*m.dt))
}

func (m *reading) accelerate(b *readBody) {
	wind, push := m.force(b, 0), m.force(b, 1)
	if m.is("gravity before the wind") {
		b.v[1] = r32(b.v[1] - m.fall)
	}
	for i := range b.v {
		v := b.v[i]
		if m.is("acceleration before the wind") {
			v = r32(v + r32(push[i]*m.dt))
		}
		switch m.wrong {
		case "fused coupling":
			v = r32(v + r32(wind[i]-v)*b.kind.coupling)
		case "coupling of each term":
			v = r32(r32(v-r32(v*b.kind.coupling)) + r32(wind[i]*b.kind.coupling))
		default:
			v = r32(v + r32(r32(wind[i]-v)*b.kind.coupling))
		}
		if !m.is("-0 stays") {
			v += 0
		}
		switch m.wrong {
		case "acceleration before the wind":
		case "fused acceleration":
			v = r32(v + push[i]*m.dt)
		case "-0 stays":
			if push[i] != 0 {
				v = r32(v + r32(push[i]*m.dt))
			}
		default:
			v = r32(v + r32(push[i]*m.dt))
		}
		b.v[i] = v
	}
	if !m.is("gravity before the wind") {
		b.v[1] = r32(b.v[1] - m.fall)
	}
}

func (m *reading) limit(b *readBody) {
	s := m.dot(b.v, b.v)
	if s <= 128*128 {
		return
	}
	if !(s <= math.MaxFloat32) && !m.is("speeds whose square overflows are shortened") {
		b.v = [3]float64{}
		return
	}
	s64 := b.v[0]*b.v[0] + b.v[1]*b.v[1] + b.v[2]*b.v[2]
	scale := 128 / math.Sqrt(s64)
	if m.is("limit in float32") {
		scale = r32(128 / r32(math.Sqrt(s)))
	}
	b.v = times(b.v, scale)
}

func (m *reading) land(b *readBody, depth float64) {
	k, v := b.kind, &b.v
	square := r32(r32(v[1]*v[1]) - r32(r32(2*m.gravity)*depth))
	if m.is("impact at full speed") {
		square = r32(v[1] * v[1])
	}
	bounce := 0.0
	if square > r32(m.minImpact*m.minImpact) || m.is("every impact bounces") && square > 0 {
		bounce = r32(r32(math.Sqrt(square)) * k.restitution)
	}
	grip := r32(k.friction * r32(bounce-v[1]))
	if m.is("grip without the bounce") {
		grip = r32(k.friction * -v[1])
	}
	v[1] = bounce
	slip := r32(r32(v[0]*v[0]) + r32(v[2]*v[2]))
	if slip <= r32(grip*grip) {
		if m.is("friction never stops") {
			return
		}
		v[0], v[2] = 0, 0
		return
	}
	keep := r32(1 - r32(grip/r32(math.Sqrt(slip))))
	if m.is("friction keeps 1 - grip/slip as a ratio") {
		keep = r32(r32(r32(math.Sqrt(slip))-grip) / r32(math.Sqrt(slip)))
	}
	v[0], v[2] = r32(v[0]*keep), r32(v[2]*keep)
}

func (m *reading) enclose(b *readBody) {
	if m.bounds == 2 && !m.is("destroy stops at the bounds") {
		return
	}
	low := [3]float64{-m.extent[0], 0, -m.extent[2]}
	for i := range b.p {
		inside := min(max(b.p[i], low[i]), m.extent[i])
		if inside == b.p[i] {
			continue
		}
		b.p[i] = inside
		v := b.v[i]
		switch slow := v >= -m.minImpact && v <= m.minImpact; {
		case m.bounds != 1 && !m.is("clamp bounces"), b.kind.restitution == 0, slow && !m.is("slow bodies bounce off the bounds"):
			b.v[i] = 0
		default:
			b.v[i] = r32(v * -b.kind.restitution)
		}
		if m.is("bounds stop all of the velocity") && m.bounds == 0 {
			b.v = [3]float64{}
		}
	}
}

func (m *reading) restBody(b *readBody) {
	square := m.dot(b.v, b.v)
	slow, fast := r32(m.slow*m.slow), r32(r32(2*m.slow)*r32(2*m.slow))
	if m.is("no hysteresis") {
		fast = slow
	}
	rests, moves := square <= slow, square > fast
	if b.kind.invMass == 0 && !m.is("kinematic bodies rest like others") {
		rests, moves = b.v == [3]float64{}, b.v != [3]float64{}
	}
	if rests || !moves && m.is("slow bodies rest") {
		b.rest = min(b.rest+1, m.restTicks)
	}
	if moves {
		b.rest = 0
	}
	limit := m.restTicks
	if m.is("asleep one tick later") {
		limit++
	}
	if b.rest >= limit && !m.is("sleeps by speed alone") && !m.isStill(b) {
		if !m.is("a body that is not still rests on") {
			b.rest = 0
		}
		return
	}
	if b.rest >= limit {
		b.awake = false
		if !m.is("sleepers keep their velocity") {
			b.v = [3]float64{}
		}
		if !m.is("sleepers keep their rest timer") {
			b.rest = 0
		}
	}
}

func (m *reading) isStill(b *readBody) bool {
	if b.kind.invMass == 0 {
		return true
	}
	for _, slot := range m.slots() {
		e := m.effects[slot]
		params := slices.Clone(e.params)
		if m.is("a parameter of 0 changes with time") {
			for i := range params {
				params[i] = field.Vec4{1, 1, 1, 1}
			}
		}
		feels := m.feels(b, e) && (e.mode == 1 || b.kind.coupling != 0 || m.is("winds change what feels none"))
		if m.is("effects change what does not feel them") {
			feels = true
		}
		if e.program.ChangesWithTime(params) && feels && m.reaches(e, e.center, b.p) && !m.is("sleeps where effects change") {
			return false
		}
	}
	return m.isHeld(b)
}

// isHeld reports whether a tick from rest leaves a body where it is.
func (m *reading) isHeld(b *readBody) bool {
	c := *b
	c.v = [3]float64{}
	switch m.wrong {
	case "held at its own velocity":
		c.v = b.v
	case "held where the tick began":
		c.p = b.was
	case "held by nothing":
		return true
	}
	from, wind, push := c.p, m.force(&c, 0), m.force(&c, 1)
	slack := m.fall
	if m.is("slack without gravity") {
		slack = 0
	}
	for i := range wind {
		slack = r32(slack + math.Abs(r32(wind[i]*b.kind.coupling)))
		slack = r32(slack + math.Abs(r32(push[i]*m.dt)))
	}
	slack = r32(slack / 4096)
	if m.is("no slack") {
		slack = 0
	}
	m.moveBody(&c)
	for i := range c.p {
		if !(math.Abs(c.v[i]) <= slack) {
			return false
		}
		if way := r32(c.p[i] - from[i]); !(math.Abs(way) <= r32(slack*m.dt)) && !m.is("held where a tick ends") {
			return false
		}
	}
	return true
}

// misreadings are the rules that a reading can misread.
var misreadings = []string{
	"impact threshold without 0.25", "seconds as a multiple of DT", "seconds in float32", "linear path in float32", "fused dot product", "dot product from the right",
	"path from the first tick", "linear path accumulates", "orbit of an unsigned angle", "orbit by another sine",
	"orbit begins at the second axis", "orbit sums its axes first", "reach without rounding", "reach without faces",
	"wakes kinematic bodies", "wakes bodies of other layers", "wakes only sleepers", "waking keeps the rest timer",
	"a changed effect wakes only its new reach", "a new effect wakes nothing", "a moving effect wakes only its new reach",
	"a moving effect wakes only its old reach", "wakes of moving effects after motion", "following the leader of the same tick",
	"the last tick is the first without", "an expired effect wakes nothing", "a following effect wakes nothing",
	"groups in order of their first effects", "groups descending", "one sum of all groups, by slot",
	"effects of a group descending", "acts before its first tick", "time from the first tick", "time one tick ahead",
	"forces on kinematic bodies", "no limit for kinematic bodies", "sideways before the ground",
	"a body at its radius is not on the ground", "kinematic bodies stand on the ground", "fused movement",
	"gravity before the wind", "acceleration before the wind", "fused coupling", "coupling of each term", "-0 stays",
	"fused acceleration", "speeds whose square overflows are shortened", "limit in float32",
	"impact at full speed", "every impact bounces", "grip without the bounce", "friction never stops",
	"friction keeps 1 - grip/slip as a ratio", "destroy stops at the bounds", "clamp bounces",
	"slow bodies bounce off the bounds", "bounds stop all of the velocity", "no hysteresis", "kinematic bodies rest like others",
	"slow bodies rest", "asleep one tick later", "sleepers keep their velocity", "sleepers keep their rest timer",
	"sleeps by speed alone", "a body that is not still rests on", "a parameter of 0 changes with time",
	"winds change what feels none", "effects change what does not feel them", "sleeps where effects change",
	"held by nothing", "held at its own velocity", "held where the tick began", "held where a tick ends",
	"no slack", "slack without gravity",
}

func TestReadingConforms(t *testing.T) {
	for _, c := range readVectors(t) {
		require.Empty(t, c.read(t, "").differs(c), c.Name)
	}
}

// A Sim moves bodies of all speeds as MOTION.md says, in and around the world, under all shipped effects.
func TestSimIsItsDefinition(t *testing.T) {
	for bounds := range 3 {
		c, r := newCase("", 40), rand.New(rand.NewPCG(uint64(bounds), 2))
		c.Bounds, c.Extent, c.RestTicks, c.Programs = bounds, [3]bits{20, 20, 20}, 30, nil
		c.Kinds = []vectorKind{
			{InvMass: 1, Coupling: 1.0 / 61, Radius: 0.5, Restitution: 0.7, Friction: 0.2, Layers: 1},
			{InvMass: 1.0 / 3, Radius: 2, Friction: 0.9, Layers: 2},
			{Coupling: 5.0 / 65, Radius: 1, Layers: 3},
		}
		for i, name := range append(field.ShippedNames(), field.ShippedNames()...) {
			text, _ := field.Shipped(name)
			c.Programs = append(c.Programs, text)
			e := vectorChange{Before: 1, Slot: i, Program: i, Mode: i % 2, Layers: [...]uint32{2, 0, 0, 1, 0}[i%5]}
			for _, p := range must.Get(field.Compile(text)).Params() {
				e.Params = append(e.Params, [4]bits{bits(p.Default[0]), bits(p.Default[1]), bits(p.Default[2]), bits(p.Default[3])})
			}
			c.effect(e, vec{X: float32(5*i) - 20, Y: float32(i), Z: float32(7*i%11) - 5})
		}
		for range 400 {
			number := func(scale float64) float64 { return r32((2*r.Float64() - 1) * scale) }
			scale := math.Pow(10, float64(r.IntN(5)-2))
			at, v := [3]float64{number(21), 10 + number(11), number(21)}, [3]float64{number(scale), number(scale), number(scale)}
			c.Bodies = append(c.Bodies, vectorBody{r.IntN(3), stateText(at, v, 0, true)})
		}
		c.Want = make([]map[string]string, c.ticks)
		want, got := c.read(t, ""), c.simulate(t, c.ticks)
		for tick := range want {
			require.Equal(t, want[tick], got[tick], "bounds %d, tick %d", bounds, tick+1)
		}
	}
}

// Every misreading gets some vector wrong.
func TestVectorsRejectMisreadings(t *testing.T) {
	all := readVectors(t)
	for _, wrong := range misreadings {
		if !slices.ContainsFunc(all, func(c *vector) bool { return c.read(t, wrong).differs(c) != "" }) {
			t.Error("no vector fails:", wrong)
		}
	}
}

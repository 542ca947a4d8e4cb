package motion_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/worldd/worldd/world/motion"
)

// vectorCase is a vector without its results.
type vectorCase struct {
	vector
	ticks int
}

type vec = motion.Vec3

var (
	minusZero = float32(math.Copysign(0, -1))
	tiny      = math.Float32frombits(1)
	small     = math.Float32frombits(0x007fffff) // the largest subnormal
)

// The programs of the cases, by index.
var vectorPrograms = []string{
	"param flow = (3, 0.5, -1)\noutput += flow\n",
	"box (-2, -2, -2) (2, 2, 2)\noutput += position * 3 + (0, 12, 0)\n",
	"box (-4, -4, -4) (4, 4, 4)\noutput += (time, sin(time) * 5, position.z)\n",
	"output += (1e8, position.x * 1e7, 0.1)\n",
	"output += (-1e8, 0.3, -0.1)\n",
	"output += (1.25, position.y, 1e-3)\n",
	"param pull = 2\noutput += (1e38, 1e38, 0) * pull\n",
	"output += (10 * sin(time / 2), fract(time / 3), sin(position.x * 0.3 + time))\n",
	"output += curl_noise((position - (2, 0, 1) * time) / 12) * 4\n",
	"param amount = 0\nbox (-4, -4, -4) (4, 4, 4)\noutput.y += amount * sin(time)\n",
}

const (
	stone   = iota // falls, bounces a little, slides
	feather        // is carried by the wind
	ice            // without friction, drag or bounce
	lift           // kinematic
	ball           // bounces well
)

func newCase(name string, ticks int) *vectorCase {
	return &vectorCase{ticks: ticks, vector: vector{
		Name: name, TickHz: 60, Gravity: 9.81, Extent: [3]bits{30, 20, 30}, RestSpeed: 0.08, RestTicks: 4,
		Programs: vectorPrograms,
		Kinds: []vectorKind{
			stone:   {InvMass: 0.05, Coupling: 0.013157895, Radius: 0.5, Friction: 0.6, Restitution: 0.2, Layers: 1},
			feather: {InvMass: 100, Coupling: 0.3, Radius: 0.1, Friction: 0.2, Restitution: 0.6, Layers: 2},
			ice:     {InvMass: 1, Radius: 0.25, Layers: 5},
			lift:    {Radius: 1, Restitution: 0.5, Layers: 3, Coupling: 0.1},
			ball:    {InvMass: 2, Coupling: 0.001, Radius: 0.3, Friction: 0.1, Restitution: 0.9, Layers: 4},
		},
	}}
}

// body adds a body that is awake.
func (c *vectorCase) body(kind int, p, v vec) *vectorCase { return c.state(kind, p, v, 0, true) }

// sleeper adds a body that is asleep.
func (c *vectorCase) sleeper(kind int, p vec) *vectorCase { return c.state(kind, p, vec{}, 0, false) }

func (c *vectorCase) state(kind int, p, v vec, rest uint32, awake bool) *vectorCase {
	c.Bodies = append(c.Bodies, vectorBody{kind, textOf(motion.State{Position: p, Velocity: v, Rest: rest, Awake: awake})})
	return c
}

// effect adds a change; ticks count from the case's start, and it acts from Before on.
func (c *vectorCase) effect(e vectorChange, path ...vec) *vectorCase {
	e.Before += c.Tick
	if !e.End {
		if e.Born == 0 {
			e.Born = e.Before - 1
		}
		if e.First == 0 {
			e.First = e.Before
		}
	}
	if e.Last != 0 {
		e.Last += c.Tick
	}
	for _, v := range path {
		e.Vectors = append(e.Vectors, vectorBits(v))
	}
	if e.Program == 0 && !e.End && e.Params == nil {
		e.Params = [][4]bits{{3, 0.5, -1, 0}}
	}
	c.Changes = append(c.Changes, e)
	return c
}

// vectorCases returns all cases, rule by rule.
func vectorCases() (all []*vectorCase) {
	all = append(all, numberCases()...)
	all = append(all, groundCases()...)
	all = append(all, boundsCases()...)
	all = append(all, restCases()...)
	all = append(all, stillCases()...)
	all = append(all, forceCases()...)
	all = append(all, wakeCases()...)
	all = append(all, pathCases()...)
	for seed := range uint64(12) {
		all = append(all, mixedCase(seed))
	}
	return all
}

func numberCases() []*vectorCase {
	still := newCase("zeros of both signs, without gravity", 3)
	still.Gravity = 0
	for kind := range 5 {
		still.body(kind, vec{X: minusZero, Y: 5, Z: minusZero}, vec{X: minusZero, Y: minusZero, Z: 1})
	}
	pushed := newCase("zeros of both signs, pushed by an acceleration of zero elsewhere", 2)
	pushed.Gravity = 0
	pushed.body(ice, vec{Y: 5}, vec{X: minusZero, Y: minusZero, Z: 1}).body(lift, vec{Y: 5}, vec{X: minusZero, Z: 1})
	pushed.effect(vectorChange{Before: 1, Slot: 2, Params: [][4]bits{{-1, bits(minusZero), -bits(tiny), 0}}}, vec{})
	pushed.effect(vectorChange{Before: 2, Slot: 3, Program: 1, Mode: 1}, vec{X: 20})
	subnormal := newCase("subnormal numbers", 4)
	subnormal.Gravity = 0
	for kind := range 5 {
		subnormal.body(kind, vec{X: tiny, Y: 5, Z: small}, vec{X: small, Y: -small, Z: tiny})
	}
	limit := newCase("the limit of speed", 2)
	for _, v := range []vec{
		{X: 128},
		{X: 128.00001},
		{X: 100, Y: 90, Z: -70},
		{X: 73.9, Y: 73.9, Z: 73.9},
		{X: 1e18},
		{X: 1.8e19},
		{X: 1.9e19},
		{X: 3e38, Y: 3e38},
		{Y: -1e20},
		{X: 90.50967, Y: minusZero, Z: 90.50967},
	} {
		limit.body(ice, vec{Y: 10}, v).body(lift, vec{Y: 10}, v)
	}
	just := newCase("above the limit in float32, below in float64", 1)
	just.Gravity = 0
	r := rand.New(rand.NewPCG(1, 2))
	for len(just.Bodies) < 4 { // the two squares seldom differ in order
		a, b := 2*math.Pi*r.Float64(), r.Float64()
		v := vec{X: float32(128 * math.Cos(a) * b), Y: float32(128 * math.Sin(a) * b), Z: float32(128 * math.Sqrt(1-b*b))}
		x, y, z := float64(v.X), float64(v.Y), float64(v.Z)
		if v.Dot(v) > 128*128 && float64(x*x)+float64(y*y)+float64(z*z) <= 128*128 {
			just.body(lift, vec{Y: 10}, v)
		}
	}
	return []*vectorCase{still, pushed, subnormal, limit, just}
}

func groundCases() []*vectorCase {
	land := newCase("landings", 5)
	slide := newCase("sliding", 5)
	for kind := range 5 {
		for _, y := range []float32{-0.3, -0.6, -0.9, -3, -20} {
			land.body(kind, vec{X: 1, Y: float32(land.Kinds[kind].Radius) + 0.01, Z: 2}, vec{X: 2, Y: y, Z: -0.5})
		}
		for _, x := range []float32{0.05, 0.1, 0.5, 3} {
			slide.body(kind, vec{X: 1, Y: float32(land.Kinds[kind].Radius), Z: 2}, vec{X: x, Z: x / 3})
		}
	}
	inside := newCase("inside the ground, and at its height", 3)
	inside.body(stone, vec{Y: 0.2}, vec{Y: 2}).body(stone, vec{}, vec{X: 1, Y: -1}).body(ball, vec{Y: 0.1}, vec{X: 4, Y: -9, Z: 1})
	inside.body(lift, vec{Y: 0.2}, vec{Y: -1})
	exact := newCase("exactly at its radius", 2)
	exact.Gravity = 0
	exact.body(stone, vec{Y: 0.5}, vec{X: 1, Y: -tiny}).body(ball, vec{Y: 0.3}, vec{X: 1, Y: minusZero}).body(ice, vec{Y: 0.25}, vec{X: 1, Y: -tiny})
	bounce := newCase("bouncing until still", 70)
	bounce.body(ball, vec{Y: 0.8}, vec{X: 0.5}).body(stone, vec{Y: 1.1}, vec{Z: 0.7})
	return []*vectorCase{land, slide, inside, exact, bounce}
}

func boundsCases() (all []*vectorCase) {
	for rule, name := range []string{"clamp", "bounce", "destroy"} {
		c := newCase("bounds: "+name, 3)
		c.vector.Bounds = rule
		for kind := range 5 {
			for _, speed := range []float32{0.1, 0.56, 0.6, 9} {
				c.body(kind, vec{X: 29.999, Y: 10, Z: -29.999}, vec{X: speed, Y: 0.1, Z: -speed})
				c.body(kind, vec{X: -29.999, Y: 19.9999, Z: 29.999}, vec{X: -speed, Y: speed + 0.2, Z: 1})
			}
		}
		c.body(lift, vec{X: 30, Y: 0.001, Z: -30}, vec{Y: -1}).body(lift, vec{X: 30, Y: 20, Z: -30}, vec{X: tiny})
		all = append(all, c)
	}
	return all
}

func restCases() []*vectorCase {
	speeds := newCase("rest timers", 6)
	speeds.Gravity = 0
	for _, v := range []float32{0, 0.07, 0.08, 0.081, 0.159, 0.16, 0.161, 1} {
		speeds.state(ice, vec{Y: 5}, vec{X: v}, 2, true).state(lift, vec{Y: 5}, vec{X: v}, 2, true)
	}
	speeds.state(lift, vec{Y: 5}, vec{X: 1e-30}, 1, true).state(ice, vec{Y: 5}, vec{X: 1e-30}, 1, true).state(ice, vec{Y: 5}, vec{}, 4, true)
	one := newCase("asleep after one tick", 2)
	one.RestTicks = 1
	one.body(stone, vec{Y: 0.5}, vec{}).body(ice, vec{Y: 0.25}, vec{X: 0.05}).body(feather, vec{Y: 3}, vec{})
	round := newCase("squares around the limits of rest", 2)
	round.Gravity = 0
	for i := range uint32(12) {
		for _, limit := range []float32{0.08, 0.16} {
			v := math.Float32frombits(math.Float32bits(limit*0.6) - 6 + i)
			round.state(ice, vec{Y: 5}, vec{X: v, Y: float32(limit * 0.48), Z: -float32(limit * 0.64)}, 1, true)
		}
	}
	r, rest := rand.New(rand.NewPCG(4, 5)), float32(0.08)
	for len(round.Bodies) < 36 { // squares that depend on how they are rounded
		limit := float64(rest)
		a, b := 2*math.Pi*r.Float64(), r.Float64()
		v := vec{X: float32(limit * math.Cos(a) * b), Y: float32(limit * math.Sin(a) * b), Z: float32(limit * math.Sqrt(1-b*b))}
		x, y, z := float64(v.X), float64(v.Y), float64(v.Z)
		fused := float32(z*z + float64(float32(y*y+float64(float32(x*x)))))
		if slow := float32(rest * rest); (fused <= slow) != (v.Dot(v) <= slow) {
			round.state(ice, vec{Y: 5}, v, 1, true)
		}
	}
	return []*vectorCase{speeds, one, round}
}

// stillCases are cases about which resting bodies fall asleep.
func stillCases() (all []*vectorCase) {
	for _, hz := range []int{1, 60, 1000} {
		for _, gravity := range []float32{9.81, 0.05, 0} {
			c := newCase(fmt.Sprintf("slow in gravity %v at %d Hz", gravity, hz), 6)
			c.TickHz, c.Gravity = hz, bits(gravity)
			for kind := range 5 {
				radius := float32(c.Kinds[kind].Radius)
				for _, y := range []float32{radius, radius + 1e-7, radius + 0.01, 5} {
					c.body(kind, vec{X: 1, Y: y}, vec{}).body(kind, vec{Y: y}, vec{X: 0.02, Y: 0.05})
				}
			}
			all = append(all, c)
		}
	}
	for _, mode := range []int{0, 1} {
		c := newCase(fmt.Sprintf("carried by mode %d", mode), 9)
		balance := float32(9.81)
		if mode == 0 {
			balance = 9.81 / 60 / 0.3 // of a feather
		}
		for i := range 18 {
			c.Kinds = append(c.Kinds, vectorKind{InvMass: 1, Coupling: 0.3, Radius: 0.1, Layers: 8 << i})
			c.body(5+i, vec{X: float32(i), Y: 5}, vec{})
			share := 1 + float32(i-9)/9/2048
			flow := [4]bits{bits(float32(i%3) * 1e-4), bits(balance * share), 0, 0}
			c.effect(vectorChange{Before: 1, Slot: i, Mode: mode, Layers: 8 << i, Params: [][4]bits{flow}}, vec{})
		}
		all = append(all, c)
	}
	walls := newCase("pressed to bounds", 6)
	walls.Gravity = 0
	for kind := range 5 {
		walls.body(kind, vec{X: 30, Y: 5, Z: -30}, vec{}).body(kind, vec{X: 30, Y: 20}, vec{}).body(kind, vec{Y: 20}, vec{})
	}
	walls.effect(vectorChange{Before: 1, Slot: 0, Params: [][4]bits{{0.3, 0.2, -0.3, 0}}}, vec{})
	for i, amount := range []bits{0, 1e-6} {
		c := newCase(fmt.Sprintf("where effects change, %d", i), 10).crowd()
		for slot, layers := range []uint32{2, 4, 1, 0} {
			e := vectorChange{Before: 1, Slot: slot, Program: 9, Mode: slot % 2, Layers: layers, Params: [][4]bits{{amount, amount, amount, amount}}}
			if slot == 3 {
				e.Last = 3
			}
			c.effect(e, vec{X: float32(4*slot) - 8, Y: 1})
		}
		all = append(all, c)
	}
	edge := newCase("into a box in the last tick of rest", 6)
	edge.Gravity = 0
	for i := range 16 {
		before := 0.06 / 60 * (float32(i/4) + 0.5)
		edge.state(ice, vec{X: -2 - before, Y: 10}, vec{X: 0.06}, uint32(i%4), true)
		edge.state(ice, vec{X: 2 - before, Y: 10, Z: 1}, vec{X: 0.06}, uint32(i%4), true)
	}
	edge.effect(vectorChange{Program: 1, Mode: 1, Before: 1}, vec{Y: 10})
	return append(all, walls, edge)
}

func forceCases() []*vectorCase {
	wind := newCase("a wind and an acceleration", 4)
	wind.effect(vectorChange{Before: 1, Slot: 0}, vec{}).effect(vectorChange{Before: 2, Slot: 1, Mode: 1, Params: [][4]bits{{0.1, 30, -7, 0}}}, vec{})
	order := newCase("sums that depend on their order", 3)
	for i, c := range []vectorChange{
		{Slot: 9, Program: 3, Layers: 4},
		{Slot: 2, Program: 5, Layers: 1},
		{Slot: 5, Program: 4},
		{Slot: 4, Program: 3, Layers: 1},
		{Slot: 7, Program: 3},
		{Slot: 8, Program: 4, Layers: 4},
		{Slot: 6, Program: 5},
		{Slot: 3, Program: 4, Layers: 1},
		{Slot: 11, Program: 5, Layers: 6},
		{Slot: 12, Program: 3, Mode: 1, Layers: 6},
		{Slot: 14, Program: 5, Mode: 1},
		{Slot: 13, Program: 4, Mode: 1, Layers: 1},
		{Slot: 15, Program: 4, Mode: 1, Layers: 6},
	} {
		c.Before = 1
		order.effect(c, vec{X: float32(i) / 3, Y: 0.1})
	}
	var groups []*vectorCase
	for i, layers := range [][]uint32{{5, 4, 0, 1}, {4, 1, 0, 5}, {1, 5, 4, 0}} {
		c := newCase(fmt.Sprintf("groups whose sums depend on their order, %d", i), 3)
		c.Kinds[ice].Coupling = 0.3
		for slot, flow := range [][4]bits{{0.1, 30.7, 0.7, 0}, {0.2, 17.333, -7, 0}, {0.3, -25.1, 0.01, 0}, {7.7, 1e-3, 0.6, 0}} {
			for mode := range 2 {
				c.effect(vectorChange{Before: 1, Slot: slot + 4*mode, Mode: mode, Layers: layers[slot], Params: [][4]bits{flow}}, vec{})
			}
		}
		groups = append(groups, c)
	}
	timed := newCase("times, first and last ticks", 8)
	timed.Tick = 1000
	timed.effect(vectorChange{Before: 1, Slot: 0, Program: 2, Last: 3}, vec{Y: 10})
	timed.effect(vectorChange{Before: 2, Slot: 1, Program: 2, Born: 1002, First: 1002, Last: 2, Mode: 1}, vec{Y: 9})
	timed.effect(vectorChange{Before: 1, Slot: 2, Program: 2, Born: 17, First: 18}, vec{Y: 11})
	timed.effect(vectorChange{Before: 1, Slot: 3, Program: 2, Born: 1003, First: 1004}, vec{Y: 9, X: 1})
	long := newCase("an effect that is old", 2)
	long.Tick, long.TickHz = 1<<25+5, 7
	long.effect(vectorChange{Before: 1, Slot: 0, Program: 2, Born: 1, First: 1}, vec{Y: 10})
	var years []*vectorCase
	for _, hz := range []int{1, 60, 1000} {
		c := newCase(fmt.Sprintf("effects that are a year old, %d Hz", hz), 3)
		c.TickHz = hz
		c.Tick = uint64(365*24*3600*hz + 17)
		c.effect(vectorChange{Before: 1, Slot: 0, Program: 7, Born: 11, First: 12}, vec{})
		c.effect(vectorChange{Before: 1, Slot: 1, Program: 8, Born: 3, First: 4}, vec{Y: 5})
		years = append(years, c)
	}
	box := newCase("faces of a box", 2)
	box.Gravity = 0
	for _, x := range []float32{2, 2.0000002, 1.9999999, -2} {
		box.body(ice, vec{X: 8 + x, Y: 10}, vec{}).body(ice, vec{X: x * 0.1, Y: 10 - x}, vec{}).body(lift, vec{X: 8, Y: 10}, vec{})
	}
	box.body(ice, vec{X: 17.4, Y: 10, Z: 0.3}, vec{}).body(ice, vec{X: 13.4, Y: 10, Z: 3.7}, vec{})
	box.effect(vectorChange{Before: 1, Slot: 0, Program: 1}, vec{X: 8, Y: 10}).effect(vectorChange{Before: 1, Slot: 1, Program: 1, Mode: 1}, vec{X: 0.1, Y: 10})
	box.effect(vectorChange{Before: 1, Slot: 2, Program: 1, Mode: 1}, vec{X: 15.400001, Y: 10, Z: 1.7000001})
	r := rand.New(rand.NewPCG(2, 3))
	for range 12 { // faces that only the rounded difference reaches
		c := vec{X: r.Float32() * 0.001, Y: 10, Z: r.Float32() * 0.001}
		box.body(ice, vec{X: c.X + 2, Y: 10, Z: -20}, vec{})
		box.effect(vectorChange{Before: 1, Slot: len(box.Changes), Program: 1, Mode: 1}, vec{X: c.X, Y: 10, Z: -20})
	}
	stopped := newCase("a force that is not finite", 3)
	stopped.effect(vectorChange{Before: 2, Slot: 0, Program: 6, Mode: 1, Params: [][4]bits{{30, 30, 30, 30}}}, vec{})
	stopped.effect(vectorChange{Before: 3, Slot: 0, Program: 6, Mode: 0, Params: [][4]bits{{2, 2, 2, 2}}}, vec{})
	for _, c := range slices.Concat([]*vectorCase{wind, order, timed, long, stopped}, groups, years) {
		for kind := range 5 {
			c.body(kind, vec{X: float32(kind) / 3, Y: 10, Z: 0.1}, vec{X: 1, Z: -2})
		}
	}
	return slices.Concat([]*vectorCase{wind, order, timed, long, box, stopped}, groups, years)
}

// crowd adds sleepers of all kinds and resting bodies along x, and feathers in the air.
func (c *vectorCase) crowd() *vectorCase {
	for x := range 9 {
		kind := x % 5
		c.sleeper(kind, vec{X: float32(2*x) - 8, Y: float32(c.Kinds[kind].Radius)})
		c.state(stone, vec{X: float32(2*x) - 8, Y: 0.5, Z: 1}, vec{}, 1, true)
	}
	return c
}

func wakeCases() []*vectorCase {
	wakes := newCase("effects added, changed, replaced and ended wake", 10).crowd()
	wakes.RestTicks = 6
	wakes.effect(vectorChange{Before: 1, Slot: 0, Program: 1, Mode: 1}, vec{X: -6, Y: 1})
	wakes.effect(vectorChange{Before: 2, Slot: 0, Program: 1, Mode: 1, Born: 0, First: 1}, vec{X: 0, Y: 1})
	wakes.effect(vectorChange{Before: 3, Slot: 0, Program: 2, Mode: 1, Layers: 4}, vec{X: 4, Y: 1})
	wakes.effect(vectorChange{Before: 6, Slot: 0, End: true})
	layers := newCase("wakes of layers", 3).crowd()
	layers.effect(vectorChange{Before: 1, Slot: 0, Program: 1, Layers: 2}, vec{X: 0, Y: 1})
	layers.effect(vectorChange{Before: 2, Slot: 1, Params: [][4]bits{{}}, Layers: 4}, vec{})
	expiry := newCase("an effect expires", 5).crowd()
	expiry.effect(vectorChange{Before: 1, Slot: 0, Program: 2, Last: 3}, vec{X: 2, Y: 1})
	idle := newCase("an effect without force keeps bodies awake", 8).crowd()
	idle.effect(vectorChange{Before: 2, Slot: 0, Params: [][4]bits{{}}}, vec{}).effect(vectorChange{Before: 4, Slot: 0, Params: [][4]bits{{}}}, vec{})
	idle.effect(vectorChange{Before: 6, Slot: 0, End: true})
	return []*vectorCase{wakes, layers, expiry, idle}
}

func pathCases() []*vectorCase {
	linear := newCase("a linear path", 12).crowd()
	linear.effect(vectorChange{Before: 2, Slot: 1, Program: 1, Mode: 1, Path: 1}, vec{X: -9, Y: 1}, vec{X: 47.3, Z: 0.7})
	late := newCase("paths that began long ago", 4).crowd()
	late.Tick = 12345
	late.effect(vectorChange{Before: 1, Slot: 1, Program: 1, Mode: 1, Path: 1, Born: 10000, First: 10001}, vec{X: -9, Y: 1}, vec{X: 0.27, Z: 0.01})
	late.effect(vectorChange{Before: 1, Slot: 2, Program: 1, Mode: 1, Path: 2, Born: 3, First: 4, Phase: 0x3000_0000, Rate: 0xfff1_2345}, vec{Y: 1}, vec{X: 7, Z: 1}, vec{Y: 0.3, Z: 5})
	year := newCase("a linear path that began a year ago", 4).crowd()
	year.Tick = 365*24*3600*60 + 1
	year.effect(vectorChange{Before: 1, Slot: 1, Program: 1, Mode: 1, Path: 1, Born: 1, First: 2}, vec{X: -1e5, Y: 1}, vec{X: 0.0031709792, Z: 1e-9})
	before := newCase("paths that begin in their born tick", 6).crowd()
	before.effect(vectorChange{Before: 2, Slot: 1, Program: 1, Mode: 1, Path: 1, Born: 2, First: 2}, vec{X: -5, Y: 1}, vec{X: 90})
	before.effect(vectorChange{Before: 2, Slot: 3, Program: 2, Mode: 1, Path: 2, Born: 2, First: 2, Rate: 1 << 29}, vec{Y: 1}, vec{X: 6}, vec{Z: 3})
	var orbits []*vectorCase
	for i, rate := range []uint32{1 << 26, math.MaxUint32 - 1<<27 + 2, 0x9e37_79b9} {
		c := newCase(fmt.Sprintf("an orbit, %d", i), 12).crowd()
		c.effect(vectorChange{Before: 1, Slot: 1, Program: 1, Mode: 1, Path: 2, Phase: 0xc000_0000 + uint32(i)<<20, Rate: rate}, vec{X: 0.1, Y: 1}, vec{X: 6.3, Z: 0.2}, vec{X: 0.4, Y: 0.1, Z: 2.7})
		orbits = append(orbits, c)
	}
	follow := newCase("following a lift, a falling ball and a sleeper", 12).crowd()
	n := len(follow.Bodies)
	follow.body(lift, vec{X: -9, Y: 1}, vec{X: 40}).body(ball, vec{X: 5, Y: 4}, vec{X: -3, Z: 0.3})
	follow.effect(vectorChange{Before: 1, Slot: 0, Program: 1, Path: 3, Leader: n, Last: 9}, vec{Y: 0.3})
	follow.effect(vectorChange{Before: 2, Slot: 1, Program: 2, Mode: 1, Path: 3, Leader: n + 1}, vec{X: 0.1})
	follow.effect(vectorChange{Before: 3, Slot: 2, Program: 1, Mode: 1, Path: 3, Leader: 0}, vec{X: 1})
	return append([]*vectorCase{linear, late, year, before, follow}, orbits...)
}

// mixedCase returns a case with random bodies and effects.
func mixedCase(seed uint64) *vectorCase {
	r := rand.New(rand.NewPCG(seed, 99))
	number := func(scale float32) float32 { return float32((2*r.Float32() - 1) * scale) }
	c := newCase(fmt.Sprintf("mixed, %d", seed), 8)
	c.vector.Bounds, c.TickHz = int(seed%3), []int{60, 30, 1, 1000}[seed%4]
	c.Extent = [3]bits{8, 6, 8}
	for i := range 10 {
		p, v := vec{X: number(8), Y: 2 + number(2), Z: number(8)}, vec{X: number(5), Y: number(5), Z: number(5)}
		if i%3 == 0 {
			c.sleeper(r.IntN(5), p)
		} else {
			c.body(r.IntN(5), p, v)
		}
	}
	for slot := range 6 {
		e := vectorChange{
			Before: 1 + uint64(r.IntN(4)), Slot: slot, Program: 1 + r.IntN(2), Mode: r.IntN(2), Layers: uint32(r.IntN(5)),
			Path: r.IntN(4), Phase: r.Uint32(), Rate: r.Uint32(), Leader: r.IntN(10),
		}
		if r.IntN(2) == 0 {
			e.Last = e.Before + uint64(r.IntN(4))
		}
		path := []vec{{X: number(4), Y: 1 + number(1), Z: number(4)}}
		switch e.Path {
		case 1:
			path = append(path, vec{X: number(20), Y: number(2), Z: number(20)})
		case 2:
			path = append(path, vec{X: number(5), Z: number(5)}, vec{X: number(5), Y: number(1), Z: number(5)})
		}
		if e.Path != 2 {
			e.Phase, e.Rate = 0, 0
		}
		c.effect(e, path...)
	}
	return c
}

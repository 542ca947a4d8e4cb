package world_test

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/internal/shorttest"
	"github.com/worldd/worldd/world"
)

// Effects of LANGUAGE.md.
const (
	geyser = `effect geyser
param speed = 12 in 0..50
box (-3, 0, -3) (3, 20, 3)
let front = 24 * fract(time / 2)
let push = shell(position.y, front, 4) * falloff(axis_distance(position), 3)
output.y += speed * push
`
	dustDevil = `effect dust_devil
param spin = 10 in -50..50
box (-24, 0, -24) (24, 16, 24)
def circle(turns, radius) = (radius * cos(turns), 0, radius * sin(turns))
let lean = (0.2 * position.y, 0, 0)
let p = position - circle(time / 20, 12) - lean
let strength = attack_sustain_release(time, 2, 30, 5) * falloff(position.y, 16)
let wall = smoothstep(8, 5, axis_distance(p))
output += whirl(p, spin, 2, 4) * (strength * wall)
`
)

// shippedEffect returns a shipped effect, with some of its parameters set.
func shippedEffect(t testing.TB, name string, set map[string]float32) world.EffectDef {
	t.Helper()
	text := must.Have(field.Shipped(name))
	d := world.EffectDef{Program: compile(t, text)}
	for _, p := range d.Program.Params() {
		v := p.Default
		if x, ok := set[p.Name]; ok {
			v = field.Vec4{x, x, x, x}
		}
		d.Params = append(d.Params, v)
	}
	return d
}

// An effect whose force begins later moves bodies on the ground as if they had stayed
// awake.
func TestForceThatComesLater(t *testing.T) {
	ground := []float32{-40, -20, 0, 20}
	for name, c := range map[string]struct {
		def world.EffectDef
		x   []float32
	}{
		"gust":       {shippedEffect(t, "gust", nil), ground},
		"updraft":    {shippedEffect(t, "updraft", map[string]float32{"depth": 1, "period": 20, "speed": 15}), []float32{0, 1}},
		"dust devil": {world.EffectDef{Program: compile(t, dustDevil)}, []float32{-12, 9, 12}},
		"geyser":     {world.EffectDef{Program: compile(t, geyser), Params: []field.Vec4{{40}}}, []float32{0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			alone, w := timeWorld(t, world.Config{}), timeWorld(t, world.Config{})
			var balls []world.Entity
			for _, x := range c.x {
				balls = append(balls, spawn(t, alone, 0, world.Vec3{X: x, Y: 0.3}))
				spawn(t, w, 0, world.Vec3{X: x, Y: 0.3})
			}
			steps(alone, 90) // they sleep
			steps(w, 90)
			require.False(t, alone.Awake(balls[0]))
			addEffect(t, alone, c.def)
			addEffect(t, w, c.def)
			farthest := make([]float32, len(balls))
			for range 60 * 60 {
				alone.Step()
				w.Step()
				for i, b := range balls {
					w.Wake(b)
					at, _ := alone.Position(b)
					want, _ := w.Position(b)
					require.Equal(t, want, at, "tick %d", w.Tick())
					farthest[i] = max(farthest[i], at.Sub(world.Vec3{X: c.x[i], Y: 0.3}).Len())
				}
			}
			for i := range balls {
				require.Greater(t, farthest[i], float32(3), "from %v", c.x[i])
			}
		})
	}
}

// timeWorld returns a world with the kind ball, which is light, and stone, which feels no wind.
func timeWorld(t testing.TB, cfg world.Config) *world.World {
	t.Helper()
	if cfg.HalfExtent == (world.Vec3{}) {
		cfg.HalfExtent = world.Vec3{X: 100, Y: 100, Z: 100}
	}
	w := must.Get(world.New(cfg))
	for _, k := range []world.Kind{
		{Name: "ball", Body: &world.BodyDef{Mass: 1, Drag: 2, Radius: 0.3, Friction: 0.3, Layers: 1}},
		{Name: "stone", Body: &world.BodyDef{Mass: 5, Radius: 0.3, Friction: 0.6, Layers: 2}},
		{Name: "feather", Body: &world.BodyDef{Mass: 1, Drag: 200, Radius: 0.1, Layers: 4}},
		{Name: "solid", Body: &world.BodyDef{Mass: 1, Drag: 0.1, Radius: 0.5, Friction: 0.5, Solid: true}},
	} {
		addKind(t, w, k)
	}
	return w
}

const (
	kindLight world.KindID = iota
	kindStone
	kindFeather
	kindSolid
)

// Nothing falls asleep in the air: not at the top of a throw, in any gravity and at any tick
// rate, alone or beside another body, nor when it sinks slowly.
func TestNothingSleepsInTheAir(t *testing.T) {
	for _, hz := range []int{1, 2, 7, 60, 1000} {
		for _, gravity := range []float32{9.81, 1.62, 0.3, 0.05, 0.001} {
			t.Run(fmt.Sprintf("gravity %v at %d Hz", gravity, hz), func(t *testing.T) {
				w := timeWorld(t, world.Config{TickHz: hz, Gravity: gravity, HalfExtent: world.Vec3{X: 100, Y: 200, Z: 100}})
				up := world.Vec3{Y: min(3, 2*gravity)}
				for kind := range kindSolid {
					must.Get(w.Spawn(kind, world.Vec3{X: 10 * float32(kind), Y: 20}, up))
				}
				for i := range 3 {
					must.Get(w.Spawn(kindSolid, world.Vec3{X: -40 + float32(i), Y: 20}, up))
				}
				for range 8 * hz {
					w.Step()
					for e := range w.Slept() {
						at, _ := w.Position(e)
						require.LessOrEqual(t, at.Y, float32(0.51), "%v sleeps in tick %d", e, w.Tick())
					}
				}
				if gravity > 9 {
					require.LessOrEqual(t, w.Stats().Awake, 1, "all but the feather have landed, and sleep")
				}
			})
		}
	}
}

// A body without weight falls asleep where it is still. So does a body that a steady wind
// holds: in the air, at a wall, under the ceiling.
func TestHeldBodiesSleep(t *testing.T) {
	lift := `output.y += 9.81 / 2 + (50 - position.y) * 0.5` + "\n"
	for _, hz := range shorttest.Pick([]int{7, 60, 1000}, []int{7, 60}) {
		for name, c := range map[string]struct {
			gravity float32
			text    string
			kind    world.KindID
			want    world.Vec3
			within  float32
		}{
			"weightless":       {-1, "", kindLight, world.Vec3{Y: 40}, 0.01},
			"no drag":          {-1, "", kindStone, world.Vec3{Y: 40}, 0.01},
			"in an updraft":    {9.81, lift, kindLight, world.Vec3{Y: 50}, 3},
			"at a wall":        {-1, "output.x += 3\n", kindLight, world.Vec3{X: 100, Y: 40}, 0.01},
			"at the ceiling":   {9.81, "output.y += 40\n", kindLight, world.Vec3{Y: 100}, 0.01},
			"in a light wind":  {9.81, "output.x += 1\n", kindLight, world.Vec3{X: 7, Y: 0.3}, 2},
			"beside a gust":    {9.81, "box (50, 0, 0) (60, 9, 9)\noutput.x += sin(time)\n", kindLight, world.Vec3{Y: 0.3}, 0.01},
			"gust without use": {9.81, "output.x += 30 * sin(time)\n", kindStone, world.Vec3{Y: 0.3}, 0.01},
		} {
			t.Run(fmt.Sprintf("%s at %d Hz", name, hz), func(t *testing.T) {
				racetest.SkipSequential(t)
				w := timeWorld(t, world.Config{TickHz: hz, Gravity: c.gravity})
				b := spawn(t, w, c.kind, world.Vec3{Y: 40})
				if c.text != "" {
					addEffect(t, w, world.EffectDef{Program: compile(t, c.text)})
				}
				steps(w, 60*hz)
				at, _ := w.Position(b)
				require.InDelta(t, 0, at.Sub(c.want).Len(), float64(c.within))
				require.False(t, w.Awake(b))
			})
		}
	}
}

// The time that a body rests is the same at every tick rate.
func TestRestSeconds(t *testing.T) {
	for hz, want := range map[int]int{1: 1, 2: 1, 5: 3, 60: 30, 240: 120, 1000: 500} {
		w := timeWorld(t, world.Config{TickHz: hz})
		b := spawn(t, w, kindLight, world.Vec3{Y: 0.3})
		steps(w, want-1)
		require.True(t, w.Awake(b), "%d Hz", hz)
		steps(w, 1)
		require.False(t, w.Awake(b), "%d Hz", hz)
	}
	require.ErrorContains(t, world.Config{TickHz: 1000, RestSeconds: 66}.Validate(), "RestSeconds is 66; choose at most 65535 ticks, which are 65.535 s")
}

// A body stays awake while an effect that changes with time acts on it, and only then.
func TestChangingEffectKeepsAwake(t *testing.T) {
	for _, kind := range []world.KindID{kindLight, kindSolid} {
		w := timeWorld(t, world.Config{})
		b := spawn(t, w, kind, world.Vec3{Y: 0.5})
		spawn(t, w, kind, world.Vec3{X: 0.99, Y: 0.5}) // touches the first if it is solid
		breeze := shippedEffect(t, "updraft", map[string]float32{"speed": 0.1})
		steps(w, 90)
		require.Zero(t, w.Stats().Awake)
		id := addEffect(t, w, breeze)
		steps(w, 200)
		require.Equal(t, 2, w.Stats().Awake)
		steady := shippedEffect(t, "updraft", map[string]float32{"speed": 0.1, "depth": 0}).Params
		require.True(t, w.SetEffectParams(id, steady))
		steps(w, 90)
		require.Zero(t, w.Stats().Awake, "it does not change any more")
		require.True(t, w.SetEffectParams(id, breeze.Params))
		steps(w, 200)
		require.Equal(t, 2, w.Stats().Awake)
		require.True(t, w.MoveEffect(id, world.Vec3{X: 30}))
		steps(w, 90)
		require.Zero(t, w.Stats().Awake, "it is elsewhere")
		require.True(t, w.MoveEffect(id, world.Vec3{}))
		steps(w, 200)
		require.Equal(t, 2, w.Stats().Awake)
		w.Sleep(b)
		steps(w, 200)
		require.False(t, w.Awake(b), "a game may put it to sleep")
		require.True(t, w.RemoveEffect(id))
		steps(w, 90)
		require.Zero(t, w.Stats().Awake)
	}
}

// Sleepers are where they would be if they were awake, in all gravities, at all tick rates,
// under all effects.
func TestSleepersWouldNotMove(t *testing.T) {
	racetest.SkipSequential(t)
	seeds := shorttest.Pick[uint64](48, 12)
	asleep := 0
	for seed := range seeds {
		w, bodies := sleepyWorld(t, seed)
		hz := w.TickHz()
		steps(w, 6*hz)
		other, _ := sleepyWorld(t, seed)
		var img world.Image
		w.TakeImage(&img)
		require.NoError(t, other.Restore(&img))
		for _, e := range bodies {
			other.Wake(e)
		}
		moved := map[world.Entity]bool{}
		for range 4 * hz {
			w.Step()
			other.Step()
			for _, e := range bodies {
				moved[e] = moved[e] || w.Awake(e)
			}
		}
		for _, e := range bodies {
			if moved[e] {
				continue
			}
			at, _ := w.Position(e)
			want, _ := other.Position(e)
			require.InDelta(t, 0, at.Sub(want).Len(), 0.02, "seed %d, %d Hz: %v sleeps at %v; awake it would be at %v", seed, hz, e, at, want)
			asleep++
		}
	}
	require.Greater(t, asleep, int(seeds)*5)
}

// sleepyWorld returns a world with bodies and effects at random.
func sleepyWorld(t *testing.T, seed uint64) (w *world.World, bodies []world.Entity) {
	r := rand.New(rand.NewPCG(seed, 37))
	w = timeWorld(t, world.Config{
		TickHz: []int{60, 7, 1000, 20}[seed%4], Gravity: []float32{9.81, -1, 0.02, 1.62, 40}[r.IntN(5)],
		HalfExtent: world.Vec3{X: 30, Y: 20, Z: 30}, Bounds: world.Bounds(r.IntN(2)),
	})
	number := func(scale float32) float32 { return float32((2*r.Float32() - 1) * scale) }
	for range 24 {
		at := world.Vec3{X: number(30), Y: 3 + number(3), Z: number(30)}
		e := must.Get(w.Spawn(world.KindID(r.IntN(int(kindSolid))), at, world.Vec3{X: number(0.2), Y: number(0.2), Z: number(0.2)}))
		bodies = append(bodies, e)
	}
	for range 5 {
		d := shippedEffect(t, field.ShippedNames()[r.IntN(6)], nil)
		for i, p := range d.Program.Params() {
			if r.IntN(3) == 0 {
				d.Params[i] = field.Vec4{p.Min, p.Min, p.Min, p.Min}
			}
		}
		d.Center = world.Vec3{X: number(25), Z: number(25)}
		if r.IntN(4) == 0 {
			d.Center.Y = number(10)
		}
		d.Mode, d.Layers = world.EffectMode(r.IntN(2)), world.Layers(r.IntN(8))
		if _, boxed := d.Program.Box(); !boxed {
			d.Layers = 1 << r.IntN(3) // not all
		}
		addEffect(t, w, d)
	}
	return w, bodies
}

// image3 is an image in version 3 of the format: a world at 20 Hz whose bodies rested for
// 30 ticks. It has a box of sin(time) around x = 20, and a steady box around x = -20. Each
// box holds a body that has rested for 25 ticks, and a body that sleeps.
const image3 = "d2ltZwMAAAAUAwAA/wAAACi1L/1AABQCpQcA8sshKIALQQFgh0gDwpFcGtHkAHZzfWCJshibBnCyvS0bwCoAuEKvhZ+S7zw39m6saZSnIuUl/F5sc6kBSMylxdwY5o/pffdAEZIvJAGFUbDh3Kne2IvdLhgs1oSj4ZVb0u+33OeBKiYkH0hAUBwyUDlX0T8Icnj48kOYaAQsgo6MyBWiI18G70MGNSAAgynaBgvxhR0riI5jYfoQA8QxawOOcJqPK4Proh6fjT1tpX2bGRbKr4y29aOLQtiTl/VmZiZwdh5iMzvNMNy1u3cEj+FuOzZOPMaEL3C+Hwk7CUILCK/BMWNzpNlxe50rJFZ0HFm+At8OTGYpAr60AAAAAAAAAACLlJV7l9+qHg=="

// A world that was saved by version 3 is restored, although its RestTicks differ. Sleepers
// wake where effects change with time, and nowhere else.
func TestImageOfVersion3(t *testing.T) {
	w := must.Get(world.New(world.Config{TickHz: 20}))
	addKind(t, w, world.Kind{Name: "ball", Body: &world.BodyDef{Drag: 2, Friction: 0.5}})
	file := must.Get(base64.StdEncoding.DecodeString(image3))
	require.NoError(t, w.Restore(read(t, w, file)))
	awake := func() (list [4]bool) {
		for slot := range uint32(4) {
			list[slot] = w.Awake(w.Slots().Handle(slot))
		}
		return list
	}
	require.Equal(t, [4]bool{true, true, true, false}, awake())
	require.NoError(t, w.CheckInvariants())
	w.Step()
	require.Equal(t, [4]bool{true, false, true, false}, awake(), "the second has rested for half a second")
	steps(w, 100)
	require.Equal(t, [4]bool{true, false, true, false}, awake())

	other := must.Get(world.New(world.Config{TickHz: 20, RestSeconds: 1}))
	addKind(t, other, world.Kind{Name: "ball", Body: &world.BodyDef{Drag: 2, Friction: 0.5}})
	require.NoError(t, other.Restore(read(t, other, file)))
	require.Equal(t, "settings: RestSeconds was 0.5 and is now 1", read(t, other, written(t, w)).Changes()[0].String())
}

package world_test

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/worldd/worldd/internal/alloctest"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
)

// volumeWorld is a world with volumes and the obvious model: every step compares every body with
// every volume.
type volumeWorld struct {
	w       *world.World
	volumes *world.Component[world.Volume]
	kinds   []world.KindID
	layers  map[world.KindID]world.Layers
	ever    []world.Entity
	live    []world.Entity // by slot, at the end of the last step
	doomed  map[world.Entity]bool
	inside  map[world.Crossing]bool
	entered []world.Crossing
	left    []world.Crossing
}

func newCrowd(t testing.TB) *volumeWorld {
	w, crate, ghost, lift := newWorld(t, world.Config{
		HalfExtent: world.Vec3{X: 40, Y: 30, Z: 24}, RestSeconds: 2.0 / 60, MaxEntities: 150, CellMetres: 4,
	})
	ship := addKind(t, w, world.Kind{Name: "ship", Body: &world.BodyDef{Radius: 0.5, Friction: 0.2, Layers: 6}})
	c := &volumeWorld{
		w: w, volumes: register[world.Volume](t, w, "volume"), kinds: []world.KindID{crate, ghost, lift, ship},
		layers: map[world.KindID]world.Layers{crate: 1, lift: 1, ship: 6},
		doomed: map[world.Entity]bool{}, inside: map[world.Crossing]bool{},
	}
	require.NoError(t, w.AddSystem(world.After, "look", func(w *world.World) {
		c.compareAll()
		require.Equal(t, fill(c.entered), fill(slices.Collect(w.Entered())), "tick %d", w.Tick())
		require.Equal(t, fill(c.left), fill(slices.Collect(w.Left())), "tick %d", w.Tick())
	}))
	return c
}

// fill turns nil into an empty list.
func fill(list []world.Crossing) []world.Crossing { return append([]world.Crossing{}, list...) }

// compareAll compares every body with every volume.
func (c *volumeWorld) compareAll() {
	c.live, c.entered, c.left = c.live[:0], nil, nil
	for slot := range c.w.Live().All() {
		c.live = append(c.live, c.w.Slots().Handle(slot))
	}
	for _, v := range c.live {
		for _, e := range c.live {
			p := world.Crossing{Volume: v, Entity: e}
			now := c.within(v, e)
			if now && !c.inside[p] {
				c.entered = append(c.entered, p)
				c.inside[p] = true
			}
			if !now && c.inside[p] {
				c.left = append(c.left, p)
				delete(c.inside, p)
			}
		}
	}
}

func (c *volumeWorld) within(v, e world.Entity) bool {
	shape, kind := c.volumes.Get(v), world.KindID(0)
	at, ok := c.w.Position(e)
	if shape == nil || !ok || v == e {
		return false
	}
	kind, _ = c.w.KindOf(e)
	if shape.Layers != 0 && shape.Layers&c.layers[kind] == 0 {
		return false
	}
	center := shape.Center
	if carrier, ok := c.w.Position(v); ok {
		center = carrier.Add(center)
	}
	d := [3]float64{float64(at.X) - float64(center.X), float64(at.Y) - float64(center.Y), float64(at.Z) - float64(center.Z)}
	if r := float64(shape.Radius); r != 0 {
		return r > 0 && d[0]*d[0]+d[1]*d[1]+d[2]*d[2] <= r*r
	}
	return math.Abs(d[0]) <= float64(shape.Half.X) && math.Abs(d[1]) <= float64(shape.Half.Y) && math.Abs(d[2]) <= float64(shape.Half.Z)
}

func (c *volumeWorld) step(t *rapid.T) {
	for range rapid.IntRange(1, 20).Draw(t, "steps") {
		c.w.Step()
		var lost []world.Crossing
		for p := range c.inside {
			if c.doomed[p.Volume] || c.doomed[p.Entity] {
				lost = append(lost, p)
				delete(c.inside, p)
			}
		}
		clear(c.doomed)
		slices.SortFunc(lost, func(a, b world.Crossing) int {
			return cmp.Or(cmp.Compare(a.Volume.Index(), b.Volume.Index()), cmp.Compare(a.Entity.Index(), b.Entity.Index()))
		})
		require.Equal(t, append(fill(c.left), lost...), fill(slices.Collect(c.w.Left())), "those that the end of the step destroys come last")
	}
}

func (c *volumeWorld) compare(t *rapid.T) {
	require.NoError(t, c.w.CheckInvariants())
	for _, v := range c.live {
		for _, e := range c.live {
			require.Equal(t, c.inside[world.Crossing{Volume: v, Entity: e}], c.w.Inside(v, e))
		}
	}
}

func (c *volumeWorld) spawn(t *rapid.T) {
	if c.w.Stats().Entities == 150 {
		t.Skip("full")
	}
	e := must.Get(c.w.Spawn(rapid.SampledFrom(c.kinds).Draw(t, "kind"), vec(t, "at", 20), vec(t, "v", 60)))
	c.ever = append(c.ever, e)
	if rapid.Bool().Draw(t, "asleep") {
		c.w.Sleep(e)
	}
}

func (c *volumeWorld) any(t *rapid.T) world.Entity {
	if len(c.ever) == 0 {
		t.Skip("no entity yet")
	}
	return rapid.SampledFrom(c.ever).Draw(t, "entity")
}

func (c *volumeWorld) destroy(t *rapid.T) {
	if e := c.any(t); c.w.Destroy(e) {
		c.doomed[e] = true
	}
}

func (c *volumeWorld) move(t *rapid.T) {
	e := c.any(t)
	c.w.SetPosition(e, vec(t, "to", 20))
	if rapid.Bool().Draw(t, "asleep") {
		c.w.Sleep(e)
	}
}

func (c *volumeWorld) change(t *rapid.T) {
	e := c.any(t)
	if rapid.IntRange(0, 3).Draw(t, "what") == 0 {
		c.volumes.Remove(e)
		return
	}
	v := world.Volume{Center: vec(t, "center", 15), Layers: rapid.SampledFrom([]world.Layers{0, 0, 1, 2, 8}).Draw(t, "layers")}
	if rapid.Bool().Draw(t, "sphere") {
		v.Radius = rapid.Float32Range(-1, 30).Draw(t, "radius")
	} else {
		v.Half = vec(t, "half", 25)
	}
	c.volumes.Set(e, v)
}

func TestVolumesAgainstModel(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		c := newCrowd(t)
		r.Repeat(map[string]func(*rapid.T){
			"spawn": c.spawn, "spawn2": c.spawn, "destroy": c.destroy, "move": c.move, "change": c.change, "change2": c.change,
			"step": c.step, "step2": c.step, "": c.compare,
		})
	})
}

// A still volume reports a ball that flies through it as entering and leaving. It also
// reports a ball that falls asleep inside and is moved away.
func TestVolumeOnTheWay(t *testing.T) {
	w, crate, ghost, lift := newWorld(t, world.Config{RestSeconds: 3.0 / 60})
	volumes := register[world.Volume](t, w, "volume")
	gate := spawn(t, w, ghost, world.Vec3{})
	volumes.Set(gate, world.Volume{Center: world.Vec3{X: 20, Y: 5}, Half: world.Vec3{X: 3, Y: 5, Z: 10}})
	sleeper := spawn(t, w, crate, world.Vec3{X: 21, Y: 0.5})
	flyer := must.Get(w.Spawn(lift, world.Vec3{Y: 4}, world.Vec3{X: 30}))
	var log []world.Entity
	for range 60 {
		w.Step()
		for c := range w.Entered() {
			require.Equal(t, gate, c.Volume)
			log = append(log, c.Entity)
			at, _ := w.Position(c.Entity)
			require.InDelta(t, 20, at.X, 3)
		}
		for c := range w.Left() {
			log = append(log, -c.Entity)
			at, _ := w.Position(c.Entity)
			require.Greater(t, at.X, float32(23))
		}
	}
	require.Equal(t, []world.Entity{sleeper, flyer, -flyer}, log)
	require.False(t, w.Awake(sleeper))
	require.True(t, w.Inside(gate, sleeper))
	w.SetPosition(sleeper, world.Vec3{X: -100})
	w.Sleep(sleeper)
	w.Step()
	require.Equal(t, []world.Crossing{{Volume: gate, Entity: sleeper}}, slices.Collect(w.Left()))
}

// The surface is inside, and the next float beyond it is outside.
func TestVolumeSurface(t *testing.T) {
	for name, shape := range map[string]world.Volume{
		"box":    {Center: world.Vec3{X: 10, Y: 10, Z: 10}, Half: world.Vec3{X: 2, Y: 2, Z: 2}},
		"sphere": {Center: world.Vec3{X: 10, Y: 10, Z: 10}, Radius: 2},
	} {
		w, _, ghost, lift := newWorld(t, world.Config{})
		zone := spawn(t, w, ghost, world.Vec3{})
		register[world.Volume](t, w, "volume").Set(zone, shape)
		for _, d := range []world.Vec3{{X: 1}, {X: -1}, {Y: 1}, {Y: -1}, {Z: 1}, {Z: -1}} {
			on, beside := spawn(t, w, lift, shape.Center.Add(d.Scale(2))), spawn(t, w, lift, shape.Center.Add(d.Scale(2.00001)))
			w.Step()
			require.True(t, w.Inside(zone, on), "%s %v", name, d)
			require.False(t, w.Inside(zone, beside), "%s %v", name, d)
		}
	}
}

func TestVolumeWithInvalidSize(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	w, crate, ghost, _ := newWorld(t, world.Config{})
	volumes := register[world.Volume](t, w, "volume")
	require.ErrorIs(t, must.Fail(world.Register[world.Volume](w, "another")), world.ErrType)
	_, err := world.RegisterLocal[world.Volume](w, "note")
	require.NoError(t, err, "a local Volume is not a trigger")
	e := spawn(t, w, crate, world.Vec3{Y: 1})
	for name, v := range map[string]world.Volume{
		"radius":   {Radius: nan},
		"centre":   {Radius: 5, Center: world.Vec3{X: nan}},
		"far":      {Half: world.Vec3{X: 5, Y: 5, Z: 5}, Center: world.Vec3{Z: inf}},
		"half":     {Half: world.Vec3{X: nan, Y: inf, Z: inf}},
		"all far":  {Half: world.Vec3{X: inf, Y: inf, Z: inf}, Center: world.Vec3{Z: inf}},
		"far ball": {Radius: inf, Center: world.Vec3{Y: -inf}},
		"nothing":  {},
		"negative": {Half: world.Vec3{X: -5, Y: -5, Z: -5}},
	} {
		volumes.Set(spawn(t, w, ghost, world.Vec3{}), v)
		w.Step()
		require.Empty(t, slices.Collect(w.Entered()), name)
	}
	all := spawn(t, w, ghost, world.Vec3{})
	volumes.Set(all, world.Volume{Half: world.Vec3{X: inf, Y: inf, Z: inf}})
	w.Step()
	require.Equal(t, []world.Crossing{{Volume: all, Entity: e}}, slices.Collect(w.Entered()))
	require.NoError(t, w.CheckInvariants())
}

func TestVolumesCostNothingWarm(t *testing.T) {
	alloctest.SkipAudited(t)
	w, crate, _, lift := newWorld(t, world.Config{})
	volumes := register[world.Volume](t, w, "volume")
	for i := range 50 {
		e := must.Get(w.Spawn(lift, world.Vec3{X: float32(i) * 4}, world.Vec3{X: 3 - float32(i%7)}))
		volumes.Set(e, world.Volume{Radius: 6})
		spawn(t, w, crate, world.Vec3{X: float32(i) * 4, Z: 3})
	}
	crossings := 0
	churn := func() {
		e, _ := w.SpawnFor(crate, world.Vec3{X: 20}, world.Vec3{X: 50}, 3)
		volumes.Set(e, world.Volume{Half: world.Vec3{X: 2, Y: 2, Z: 2}})
		w.Step()
		for range w.Entered() {
			crossings++
		}
		for range w.Left() {
			crossings++
		}
	}
	alloctest.RequireNone(t, 200, 100, churn)
	require.NotZero(t, crossings)
}

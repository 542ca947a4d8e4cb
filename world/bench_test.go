package world_test

import (
	"testing"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/world"
)

// resting returns a world of 10,000 crates. As many as awake says are in the air. The
// others sleep on the ground.
func resting(b *testing.B, awake int) (*world.World, []world.Entity) {
	w, crate, _, _ := newWorld(b, world.Config{})
	var up []world.Entity
	for i := range 10_000 {
		at := world.Vec3{X: float32(i%100)*10 - 495, Y: 0.5, Z: float32(i/100)*10 - 495}
		if i*awake/10_000 != (i+1)*awake/10_000 {
			at.Y = 200
		}
		e := spawn(b, w, crate, at)
		if at.Y > 1 {
			up = append(up, e)
		}
	}
	steps(w, 31)
	return w, up
}

// lift keeps awake bodies from landing.
func lift(w *world.World, up []world.Entity) {
	if w.Tick()%200 == 0 {
		for _, e := range up {
			p, _ := w.Position(e)
			p.Y = 200
			w.SetPosition(e, p)
		}
	}
}

func BenchmarkStepOnePercentAwake(b *testing.B) {
	w, up := resting(b, 100)
	changes := w.NewChangeReader()
	b.ReportAllocs()
	for b.Loop() {
		lift(w, up)
		w.Step()
		changes.Next()
	}
}

type plainBody struct {
	at, v world.Vec3
	drag  float32
	rest  int
	awake bool
	_     [16]byte // mass, radius, friction, restitution
}

// BenchmarkPlainLoop measures the obvious implementation: a slice of bodies with awake
// flags. It does less work than a world: it has no ground and no grid.
func BenchmarkPlainLoop(b *testing.B) {
	bodies := make([]plainBody, 10_000)
	for i := range bodies {
		bodies[i] = plainBody{drag: 0.005, awake: i%100 == 0}
	}
	b.ReportAllocs()
	for b.Loop() {
		for i := range bodies {
			if p := &bodies[i]; p.awake {
				p.v = p.v.Sub(p.v.Scale(p.drag))
				p.v.Y -= 0.16
				p.at = p.at.Add(p.v.Scale(1. / 60))
				p.rest++
			}
		}
	}
}

// BenchmarkDemo measures the demo's step: 10,000 crates, 500 of them awake, a wind
// everywhere and five explosions that move each tick.
func BenchmarkDemo(b *testing.B) {
	w, up := resting(b, 500)
	addEffect(b, w, world.EffectDef{Program: compile(b, gust), Params: []field.Vec4{{3, 0, 1}}})
	boom := compile(b, blast)
	var ids []world.EffectID
	for i := range 5 {
		ids = append(ids, addEffect(b, w, world.EffectDef{Program: boom, Center: wander(0, i)}))
	}
	steps(w, 100)
	changes := w.NewChangeReader()
	b.ReportAllocs()
	awake := 0
	for b.Loop() {
		lift(w, up)
		for i, id := range ids {
			w.MoveEffect(id, wander(w.Tick(), i))
		}
		w.Step()
		changes.Next()
		awake += w.Stats().Awake
	}
	b.ReportMetric(float64(awake)/float64(b.N), "awake")
}

func BenchmarkStateHash(b *testing.B) {
	w, _ := resting(b, 100)
	for b.Loop() {
		w.StateHash()
	}
}

func BenchmarkWithin(b *testing.B) {
	w, _ := resting(b, 100)
	n := 0
	for b.Loop() {
		for range w.Within(world.Vec3{}, 60) {
			n++
		}
	}
	b.ReportMetric(float64(n)/float64(b.N), "found")
}

package world_test

import (
	"fmt"

	"github.com/worldd/worldd/world"
)

// Bodies in a sphere, with their positions.
func ExampleWorld_Within() {
	w, _ := world.New(world.Config{})
	crate, _ := w.AddKind(world.Kind{Name: "crate", Body: &world.BodyDef{}})
	for x := range 5 {
		_, _ = w.Spawn(crate, world.Vec3{X: float32(x) * 10}, world.Vec3{})
	}
	for e, at := range w.Within(world.Vec3{X: 11}, 12) {
		fmt.Println(e, at.X)
	}
	// Output:
	// 0v1 0
	// 1v1 10
	// 2v1 20
}

// A player selects the bodies in a rectangle on the map, at any height, and then the bodies
// around a point.
func ExampleWorld_WithinBox() {
	w, _ := world.New(world.Config{})
	balloon, _ := w.AddKind(world.Kind{Name: "balloon", Body: &world.BodyDef{Kinematic: true}})
	for x := range 4 {
		_, _ = w.Spawn(balloon, world.Vec3{X: float32(x), Y: 50 * float32(x)}, world.Vec3{})
	}
	for e := range w.WithinBox(world.Vec3{X: 1, Z: -1}, world.Vec3{X: 2, Y: 256, Z: 1}) {
		fmt.Println("in the rectangle:", e)
	}
	for e := range w.Within(world.Vec3{X: 3, Y: 150}, 0.5) {
		fmt.Println("around the point:", e)
	}
	// Output:
	// in the rectangle: 1v1
	// in the rectangle: 2v1
	// around the point: 3v1
}

// A shot meets bodies where the player saw them, a few ticks ago.
func ExampleWorld_PositionAt() {
	w, _ := world.New(world.Config{HistoryTicks: 30})
	disc, _ := w.AddKind(world.Kind{Name: "disc", Body: &world.BodyDef{Kinematic: true, Radius: 0.5}})
	target, _ := w.Spawn(disc, world.Vec3{Y: 2}, world.Vec3{X: 60})
	for range 10 {
		w.Step()
	}
	for _, hit := range w.AppendRay(nil, world.Vec3{X: 10, Y: 2, Z: -20}, world.Vec3{X: 10, Y: 2, Z: 20}, 0) {
		fmt.Println("the ray hits", hit.Entity, "at", hit.Distance, "m")
	}
	seen, _ := w.PositionAt(target, world.Moment{Tick: 6})
	now, _ := w.Position(target)
	fmt.Printf("seen at x=%.0f, now at x=%.0f\n", seen.X, now.X)
	// Output:
	// the ray hits 0v1 at 19.5 m
	// seen at x=6, now at x=10
}

// A physics engine of the user's replaces the world's motion. This one moves bodies on
// rails, and stops at a buffer.
func ExampleWorld_SetMover() {
	w, _ := world.New(world.Config{Gravity: -1}) // gravity is the engine's business
	wagon, _ := w.AddKind(world.Kind{Name: "wagon", Body: &world.BodyDef{Radius: 1}})
	e, _ := w.Spawn(wagon, world.Vec3{}, world.Vec3{X: 6, Z: 3})
	err := w.SetMover(func(w *world.World, bodies []world.MovingBody) {
		for i := range bodies {
			b := &bodies[i]
			if b.Kind != wagon {
				continue
			}
			b.Position.X += b.Velocity.X / float32(w.TickHz())
			b.Velocity.Z = 0
			if b.Position.X > 5 {
				fmt.Println(b.Entity, "hits the buffer at", b.Velocity.X, "m/s")
				b.Position.X, b.Velocity.X = 5, 0
			}
		}
	})
	if err != nil {
		panic(err)
	}
	for w.Awake(e) {
		w.Step()
	}
	at, _ := w.Position(e)
	fmt.Println("rests at", at)
	// Output:
	// 0v1 hits the buffer at 6 m/s
	// rests at {5 0 0}
}

// A body that reaches the border of the world stops, bounces off it, or is destroyed.
func ExampleConfig() {
	for _, bounds := range []world.Bounds{world.BoundsClamp, world.BoundsBounce, world.BoundsDestroy} {
		w, err := world.New(world.Config{
			HalfExtent: world.Vec3{X: 10, Y: 10, Z: 10},
			Bounds:     bounds,
			Compaction: world.Stable, // rows keep their order: no effect on the state
			Workers:    2,            // nor has this
		})
		if err != nil {
			panic(err)
		}
		puck, _ := w.AddKind(world.Kind{Name: "puck", Body: &world.BodyDef{Restitution: 1}})
		e, _ := w.Spawn(puck, world.Vec3{X: 9}, world.Vec3{X: 60})
		for range 2 {
			w.Step()
		}
		v, live := w.Velocity(e)
		fmt.Println(w.Config().Bounds, live, v.X)
		w.Close()
	}
	// Output:
	// clamp true 0
	// bounce true -60
	// destroy false 0
}

package world_test

import (
	"fmt"
	"slices"

	"github.com/worldd/worldd/world"
)

// A loop over two components: Mut marks and writes a value, Get only reads it.
func ExampleQuery_All() {
	type Heat struct{ Degrees float32 }
	type Fuel struct{ Litres float32 }
	type Engine struct{ Power float32 }
	w, _ := world.New(world.Config{})
	heat, _ := world.Register[Heat](w, "heat")
	fuel, _ := world.Register[Fuel](w, "fuel")
	engines, _ := world.Register[Engine](w, "engine")
	car, _ := w.AddKind(world.Kind{Name: "car"})
	for i := range 2 {
		e, _ := w.Spawn(car, world.Vec3{}, world.Vec3{})
		heat.Set(e, Heat{})
		fuel.Set(e, Fuel{Litres: 10})
		if i == 1 {
			engines.Set(e, Engine{Power: 3})
		}
	}
	driven, _ := w.NewQuery(world.QueryDef{With: []world.Term{fuel, engines}})
	for e := range driven.All() {
		tank, power := fuel.Mut(e), engines.Get(e).Power
		heat.Mut(e).Degrees += tank.Litres * power
		tank.Litres -= power
	}
	for e, h := range heat.All() {
		fmt.Println(e, h.Degrees, "degrees,", fuel.Get(e).Litres, "litres")
	}
	// Output:
	// 0v1 0 degrees, 10 litres
	// 1v1 30 degrees, 7 litres
}

// A query can select entities that changed in the last step, and entities that are awake.
func ExampleQueryDef() {
	type Health struct{ Points int32 }
	w, _ := world.New(world.Config{})
	health, _ := world.Register[Health](w, "health")
	crate, _ := w.AddKind(world.Kind{Name: "crate", Body: &world.BodyDef{Radius: 0.5}})
	_ = world.SetDefault(w, crate, health, Health{Points: 5})
	var crates []world.Entity
	for x := range 3 {
		e, _ := w.Spawn(crate, world.Vec3{X: float32(10 * x)}, world.Vec3{})
		crates = append(crates, e)
	}
	hurt, _ := w.NewQuery(world.QueryDef{Changed: []world.Term{health}})
	awake, _ := w.NewQuery(world.QueryDef{Awake: true})
	for awake.Count() > 0 || w.Tick() == 0 {
		w.Step()
	}
	fmt.Println(len(slices.Collect(w.Slept())), "fell asleep")

	health.Mut(crates[1]).Points--
	w.Impulse(crates[2], world.Vec3{Y: 5})
	w.Step()
	fmt.Println(len(slices.Collect(w.Woke())), "woke")
	for e := range hurt.All() {
		fmt.Println(e, "was hurt")
	}
	for e := range awake.All() {
		fmt.Println(e, "is awake")
	}
	// Output:
	// 3 fell asleep
	// 1 woke
	// 1v1 was hurt
	// 2v1 is awake
}

// A local component holds data of the process: here the path that a walker follows. It is
// dropped once it is empty, after the loop.
func ExampleRegisterLocal() {
	w, _ := world.New(world.Config{})
	paths, _ := world.RegisterLocal[[]world.Vec3](w, "path")
	walker, _ := w.AddKind(world.Kind{Name: "walker", Body: &world.BodyDef{Kinematic: true}})
	e, _ := w.Spawn(walker, world.Vec3{}, world.Vec3{})
	paths.Set(e, []world.Vec3{{X: 1}, {X: 2}})
	walking, _ := w.NewQuery(world.QueryDef{With: []world.Term{paths}})
	_ = w.AddSystem(world.Before, "walk", func(w *world.World) {
		for e := range walking.All() {
			path := paths.Mut(e)
			w.SetPosition(e, (*path)[0])
			*path = (*path)[1:]
			if len(*path) == 0 {
				paths.DeferRemove(e)
			}
		}
	})
	for paths.Has(e) {
		w.Step()
	}
	at, _ := w.Position(e)
	fmt.Println("arrived at", at.X, "after", w.Tick(), "steps;", paths.Presence().Count(), "are walking")
	// Output: arrived at 2 after 2 steps; 0 are walking
}

// A number that is not finite stops the body and names the system, instead of spreading
// through the world.
func ExampleWorld_Quarantined() {
	w, _ := world.New(world.Config{})
	ball, _ := w.AddKind(world.Kind{Name: "ball", Body: &world.BodyDef{}})
	e, _ := w.Spawn(ball, world.Vec3{Y: 5}, world.Vec3{})
	zero := float32(0)
	_ = w.AddSystem(world.Before, "aim", func(w *world.World) { w.SetVelocity(e, world.Vec3{X: 1 / zero}) })
	w.Step()
	for q := range w.Quarantined() {
		fmt.Println(q.System, "gave", q.Entity, "a velocity that is not finite")
	}
	// Output: aim gave 0v1 a velocity that is not finite
}

package world_test

import (
	"fmt"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/world"
)

// A crate falls, comes to rest, and costs nothing from then on, until something
// touches it.
func Example() {
	w, err := world.New(world.Config{Seed: 1})
	if err != nil {
		panic(err)
	}
	crate, _ := w.AddKind(world.Kind{Name: "crate", Body: &world.BodyDef{Mass: 10, Radius: 0.5, Friction: 0.6}})
	e, _ := w.Spawn(crate, world.Vec3{Y: 4}, world.Vec3{})
	for w.Awake(e) {
		w.Step()
	}
	at, _ := w.Position(e)
	fmt.Println("rests at", at.Y, "m")
	w.Impulse(e, world.Vec3{X: 30})
	fmt.Println("awake:", w.Awake(e))
	// Output:
	// rests at 0.5 m
	// awake: true
}

// Components are plain types; a query is an operation on presence bits.
func ExampleRegister() {
	type Health struct{ Points int32 }
	type Burning struct{ Ticks uint16 }
	w, _ := world.New(world.Config{})
	health, _ := world.Register[Health](w, "health")
	burning, _ := world.Register[Burning](w, "burning")
	tree, _ := w.AddKind(world.Kind{Name: "tree"})
	_ = world.Default(w, tree, health, Health{Points: 20})

	for i := range 3 {
		e, _ := w.Spawn(tree, world.Vec3{}, world.Vec3{})
		if i != 1 {
			burning.Set(e, Burning{Ticks: 60})
		}
	}
	for word, bits := range bulk.And(health.Presence(), burning.Presence()) {
		for slot := range bulk.Bits(word*64, bits) {
			e := w.HandleAt(slot)
			health.Mut(e).Points--
			fmt.Println(e, health.Get(e).Points)
		}
	}
	// Output:
	// 0v1 19
	// 2v1 19
}

// An explosion is data: a program's text, placed and moved by the world.
func ExampleWorld_AddEffect() {
	program, err := field.Compile(blast)
	if err != nil {
		panic(err)
	}
	w, _ := world.New(world.Config{})
	leaf, _ := w.AddKind(world.Kind{Name: "leaf", Body: &world.BodyDef{Mass: 0.01, Drag: 3}})
	e, _ := w.Spawn(leaf, world.Vec3{X: 2, Y: 1}, world.Vec3{})
	_, _ = w.AddEffect(world.EffectDef{Program: program, Center: world.Vec3{Y: 1}, LifeTicks: 10})
	for range 10 {
		w.Step()
	}
	at, _ := w.Position(e)
	fmt.Println("blown away:", at.X > 3)
	// Output: blown away: true
}

func ExampleWorld_Within() {
	w, _ := world.New(world.Config{})
	crate, _ := w.AddKind(world.Kind{Name: "crate", Body: &world.BodyDef{}})
	for x := range 5 {
		_, _ = w.Spawn(crate, world.Vec3{X: float32(x) * 10}, world.Vec3{})
	}
	w.Within(world.Vec3{X: 11}, 12, func(e world.Entity, at world.Vec3) bool {
		fmt.Println(e, at.X)
		return true
	})
	// Output:
	// 0v1 0
	// 1v1 10
	// 2v1 20
}

package world_test

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/worldd/worldd/world"
)

// Restore rewinds a world to an image: the same state, and from there the same future.
func ExampleWorld_Restore() {
	w, _ := world.New(world.Config{Seed: 3})
	crate, _ := w.AddKind(world.Kind{Name: "crate", Body: &world.BodyDef{Radius: 0.5}})
	_, _ = w.Spawn(crate, world.Vec3{Y: 9}, world.Vec3{X: 2})
	var img world.Image
	w.TakeImage(&img)
	var hashes [2]uint64
	for i := range hashes {
		if err := w.Restore(&img); err != nil {
			panic(err)
		}
		for range 60 {
			w.Step()
		}
		hashes[i] = w.StateHash()
	}
	fmt.Println("image of", img.Entities(), "entity after tick", img.Tick())
	fmt.Println("same future:", hashes[0] == hashes[1])
	// Output:
	// image of 1 entity after tick 0
	// same future: true
}

// A replay finds a system that keeps state outside of the world.
func ExampleDivergenceError() {
	lapse := 0 // not part of the world's state
	game := func() *world.World {
		w, _ := world.New(world.Config{})
		lamp, _ := w.AddKind(world.Kind{Name: "lamp", Body: &world.BodyDef{Kinematic: true}})
		_ = w.AddSystem(world.Before, "sway", func(w *world.World) {
			lapse++
			w.SetPosition(w.Slots().Handle(0), world.Vec3{X: float32(lapse)})
		})
		_, _ = w.Spawn(lamp, world.Vec3{}, world.Vec3{})
		return w
	}
	w := game()
	var img world.Image
	w.TakeImage(&img)
	var file bytes.Buffer
	recorder, err := w.Record(&file, &img, 1)
	if err != nil {
		panic(err)
	}
	for range 3 {
		w.Step()
	}
	if err := recorder.Close(); err != nil {
		panic(err)
	}

	replay, err := game().Replay(&file)
	if err != nil {
		panic(err)
	}
	var diverged *world.DivergenceError
	if errors.As(replay.Next(), &diverged) {
		fmt.Println("after tick", diverged.Tick, "in", diverged.Parts)
	}
	// Output: after tick 1 in [bodies]
}

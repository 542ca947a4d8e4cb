package world_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"

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

// A later version of a game continues the world that an earlier version saved.
func ExampleMigrate() {
	type PurseV1 struct{ Gold int32 }
	type Purse struct {
		Copper int64
		Owner  world.Entity
	}
	old, _ := world.New(world.Config{})
	player, _ := old.AddKind(world.Kind{Name: "player"})
	coins, _ := world.Register[PurseV1](old, "purse")
	ada, _ := old.Spawn(player, world.Vec3{}, world.Vec3{})
	coins.Set(ada, PurseV1{Gold: 3})
	var img world.Image
	old.TakeImage(&img)
	var file bytes.Buffer
	if _, err := img.WriteTo(&file); err != nil {
		panic(err)
	}

	w, _ := world.New(world.Config{TickHz: 30})
	_, _ = w.AddKind(world.Kind{Name: "hero", Was: []string{"player"}})
	purses, _ := world.Register[Purse](w, "purse")
	err := world.Migrate(w, purses, func(p PurseV1) Purse { return Purse{Copper: 100 * int64(p.Gold)} })
	if err != nil {
		panic(err)
	}
	saved, err := w.ReadImage(&file)
	if err != nil {
		panic(err)
	}
	for _, change := range saved.Changes() {
		fmt.Println(change)
	}
	if err := w.RestoreRun(saved); err != nil {
		panic(err)
	}
	for _, purse := range purses.All() {
		fmt.Println(purse.Copper, "copper")
	}
	// Output:
	// kind "player": is now kind "hero"
	// component "purse": migrated from world_test.PurseV1 to world_test.Purse (1 entity)
	// settings: TickHz was 60 and is now 30
	// 300 copper
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

// A crashed world returns from an image and its journal.
func ExampleWorld_StartJournal() {
	game := func() (*world.World, world.KindID) {
		w, _ := world.New(world.Config{})
		crate, _ := w.AddKind(world.Kind{Name: "crate", Body: &world.BodyDef{Radius: 0.5}})
		return w, crate
	}
	w, crate := game()
	var img world.Image
	w.TakeImage(&img) // a program writes it to a file
	journal, err := w.StartJournal(world.JournalConfig{Run: 7})
	if err != nil {
		panic(err)
	}
	var file bytes.Buffer
	head, _ := journal.BeginSegment(nil)
	file.Write(head)
	for tick := range 3 {
		_, _ = w.Spawn(crate, world.Vec3{Y: 9}, world.Vec3{X: float32(tick)})
		w.Step()
		frame, err := journal.Commit(fmt.Appendf(nil, "score %d", tick))
		if err != nil {
			panic(err)
		}
		file.Write(frame)
	}
	file.Truncate(file.Len() - 5) // the crash

	again, _ := game()
	if err := again.Restore(&img); err != nil {
		panic(err)
	}
	replay, err := again.ReplayJournal(&img)
	if err != nil {
		panic(err)
	}
	segment, err := world.NewJournalReader(&file)
	if err == nil {
		err = replay.Follow(segment)
	}
	for err == nil {
		var frame world.JournalFrame
		frame, err = segment.Next()
		if err == nil {
			err = replay.Apply(frame)
			fmt.Printf("tick %d: %s\n", frame.Tick, frame.Notes)
		}
	}
	fmt.Println("torn:", errors.Is(err, world.ErrJournalEnd) && errors.Is(err, io.ErrUnexpectedEOF))
	fmt.Println(again.Stats().Entities, "entities at tick", again.Tick())
	// Output:
	// tick 1: score 0
	// tick 2: score 1
	// torn: true
	// 2 entities at tick 2
}

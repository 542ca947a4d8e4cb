package world_test

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/world"
)

// A crate falls and comes to rest. From then on the crate costs nothing until something
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
	_ = world.SetDefault(w, tree, health, Health{Points: 20})

	for i := range 3 {
		e, _ := w.Spawn(tree, world.Vec3{}, world.Vec3{})
		if i != 1 {
			burning.Set(e, Burning{Ticks: 60})
		}
	}
	aflame, _ := w.NewQuery(world.QueryDef{With: []world.Term{burning}})
	for e := range aflame.All() {
		h := health.Mut(e)
		h.Points--
		fmt.Println(e, h.Points)
	}
	// Output:
	// 0v1 19
	// 2v1 19
}

// A system over a query: guards follow their ward, which may be destroyed. Spawns in the
// loop are deferred until the loop has ended.
func ExampleWorld_NewQuery() {
	type Guard struct{ Ward world.Entity }
	type Gold struct{ Coins int32 }
	w, _ := world.New(world.Config{})
	guards, _ := world.Register[Guard](w, "guard")
	gold, _ := world.Register[Gold](w, "gold")
	king, _ := w.AddKind(world.Kind{Name: "king"})
	knight, _ := w.AddKind(world.Kind{Name: "knight"})
	purse, _ := w.AddKind(world.Kind{Name: "purse"})
	_ = world.SetDefault(w, king, gold, Gold{Coins: 100})

	poor, _ := w.NewQuery(world.QueryDef{With: []world.Term{guards}, Without: []world.Term{gold}})
	_ = w.AddSystem(world.Before, "wages", func(w *world.World) {
		for e := range poor.All() {
			guard := guards.Get(e)
			fmt.Println(e, "guards", guard.Ward, w.Status(guard.Ward))
			if gold.Has(guard.Ward) {
				gold.Mut(guard.Ward).Coins -= 10
				p, _ := w.DeferSpawn(purse, world.Vec3{}, world.Vec3{}, 0)
				gold.DeferSet(p, Gold{Coins: 10})
			}
		}
	})

	arthur, _ := w.Spawn(king, world.Vec3{}, world.Vec3{})
	for range 2 {
		e, _ := w.Spawn(knight, world.Vec3{}, world.Vec3{})
		guards.Set(e, Guard{Ward: arthur})
	}
	w.Step()
	fmt.Println("the king keeps", gold.Get(arthur).Coins)
	w.Destroy(arthur)
	w.Step()
	w.Step()
	// Output:
	// 1v1 guards 0v1 live
	// 2v1 guards 0v1 live
	// the king keeps 80
	// 1v1 guards 0v1 live
	// 2v1 guards 0v1 live
	// 1v1 guards 0v1 stale
	// 2v1 guards 0v1 stale
}

// Systems run in their declared order, independent of the order of AddSystem. The caller's
// clock measures each system.
func ExampleWorld_AddSystem() {
	w, _ := world.New(world.Config{})
	began := time.Now()
	w.SetClock(func() time.Duration { return time.Since(began) })
	printTick := func(what string) func(*world.World) {
		return func(w *world.World) { fmt.Println("tick", w.Tick(), what) }
	}
	_ = w.AddSystem(world.Before, "shoot", printTick("shoots"), "aim")
	_ = w.AddSystem(world.Before, "aim", printTick("aims"))
	_ = w.AddSystem(world.After, "score", printTick("counts"))
	w.Step()
	for _, s := range w.Stats().Systems {
		fmt.Println(s.Name, s.Phase, s.Runs, s.Total >= 0)
	}
	// Output:
	// tick 1 aims
	// tick 1 shoots
	// tick 1 counts
	// aim before 1 true
	// shoot before 1 true
	// score after 1 true
}

// A volume on a body reports the bodies that come near it, and an effect that follows the
// body ends with it.
func ExampleVolume() {
	program, err := field.Compile(blast)
	if err != nil {
		panic(err)
	}
	const people, debris world.Layers = 1, 2
	w, _ := world.New(world.Config{})
	volumes, _ := world.Register[world.Volume](w, "volume")
	person, _ := w.AddKind(world.Kind{Name: "person", Body: &world.BodyDef{Kinematic: true, Layers: people}})
	drone, _ := w.AddKind(world.Kind{Name: "drone", Body: &world.BodyDef{Kinematic: true, Layers: debris}})
	_ = w.AddSystem(world.After, "alarm", func(w *world.World) {
		for c := range w.Entered() {
			fmt.Println("tick", w.Tick(), c.Entity, "comes near", c.Volume)
		}
		for c := range w.Left() {
			fmt.Println("tick", w.Tick(), c.Entity, "goes")
		}
	})

	d, _ := w.Spawn(drone, world.Vec3{Y: 2}, world.Vec3{X: 60})
	volumes.Set(d, world.Volume{Radius: 4, Layers: people})
	_, _ = w.AddEffect(world.EffectDef{Program: program, Follow: d, Layers: debris})
	_, _ = w.Spawn(person, world.Vec3{X: 10}, world.Vec3{})
	for range 20 {
		w.Step()
	}
	w.Destroy(d)
	w.Step()
	fmt.Println(w.Stats().Effects, "effects")
	// Output:
	// tick 7 1v1 comes near 0v1
	// tick 14 1v1 goes
	// 0 effects
}

// The fast path handles 64 slots at a time: a mask of the matching slots and an array of
// their values.
func ExampleQuery_Words() {
	type Heat struct{ Degrees float32 }
	w, _ := world.New(world.Config{})
	heat, _ := world.Register[Heat](w, "heat")
	stone, _ := w.AddKind(world.Kind{Name: "stone"})
	_ = world.SetDefault(w, stone, heat, Heat{Degrees: 100})
	for range 130 {
		_, _ = w.Spawn(stone, world.Vec3{}, world.Vec3{})
	}
	hot, _ := w.NewQuery(world.QueryDef{With: []world.Term{heat}})
	for word, mask := range hot.Words() {
		values := heat.MutWord(word, mask)
		for rest := mask; rest != 0; rest &= rest - 1 {
			values[bits.TrailingZeros64(rest)].Degrees -= 1
		}
		fmt.Println(bits.OnesCount64(mask), "cooled")
	}
	// Output:
	// 64 cooled
	// 64 cooled
	// 2 cooled
}

// An explosion is data: a program's text, added and moved by the world.
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

// Two consumers follow the same changes, each at its own rate.
func ExampleChangeReader() {
	w, _ := world.New(world.Config{})
	lamp, _ := w.AddKind(world.Kind{Name: "lamp"})
	light, _ := world.Register[bool](w, "light")
	var lamps []world.Entity
	for range 3 {
		e, _ := w.Spawn(lamp, world.Vec3{}, world.Vec3{})
		lamps = append(lamps, e)
	}
	network, atlas := w.NewChangeReader(), w.NewChangeReader()
	defer network.Close()
	defer atlas.Close()
	network.Next() // every live slot
	atlas.Next()

	for _, e := range lamps[1:] {
		light.Set(e, true)
		w.Step()
		fmt.Println("network sends", network.Next().Count())
	}
	for slot := range atlas.Next().All() {
		fmt.Println("atlas redraws", w.Slots().Handle(slot))
	}
	// Output:
	// network sends 1
	// network sends 1
	// atlas redraws 1v1
	// atlas redraws 2v1
}

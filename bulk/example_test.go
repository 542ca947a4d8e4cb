package bulk_test

import (
	"fmt"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/columns"
)

func Example() {
	type monster struct{ health int }
	pool, err := bulk.NewPool[monster](bulk.Options{MaxSlots: 10_000})
	if err != nil {
		fmt.Println(err)
		return
	}
	orc, m := pool.Add()
	m.health = 30
	fmt.Println(orc, pool.Get(orc).health)

	pool.Remove(orc)
	elf, _ := pool.Add() // the same slot, another tenant
	fmt.Println(elf, pool.Status(elf))
	fmt.Println(orc, pool.Status(orc), pool.Get(orc) == nil)
	// Output:
	// 0v1 30
	// 0v3 live
	// 0v1 stale true
}

func ExampleParseHandle() {
	h, err := bulk.ParseHandle("17v3")
	fmt.Println(h.Index(), h.Generation(), err)
	_, err = bulk.ParseHandle("seventeen")
	fmt.Println(err)
	// Output:
	// 17 3 <nil>
	// bulk: not a handle: "seventeen"; want a slot and a generation like 17v3, or none
}

// A client keeps its copies under the server's handles.
func ExamplePool_AddAt() {
	replicas, _ := bulk.NewPool[string](bulk.Options{})
	name, _ := replicas.AddAt(bulk.NewHandle(40, 5))
	*name = "orc"

	_, err := replicas.AddAt(bulk.NewHandle(40, 3)) // arrives late
	fmt.Println(err)
	fmt.Println(replicas.Status(bulk.NewHandle(40, 3)), replicas.Status(bulk.NewHandle(40, 7)))
	// Output:
	// bulk: slot is live: cannot add 40v3, the slot holds 40v5
	// stale unissued
}

func ExamplePool_All() {
	pool, _ := bulk.NewPool[int](bulk.Options{})
	for i := range 5 {
		_, v := pool.Add()
		*v = i * i
	}
	for h, v := range pool.All() {
		if *v%2 == 1 {
			pool.Remove(h) // safe
		}
	}
	for h, v := range pool.All() {
		fmt.Println(h, *v)
	}
	// Output:
	// 0v1 0
	// 2v1 4
	// 4v1 16
}

// A dense word may be computed whole, including holes: no branch per slot.
func ExamplePool_Words() {
	pool, _ := bulk.NewPool[float32](bulk.Options{})
	for range 100 {
		pool.Add()
	}
	for _, word := range pool.Words() {
		for i := range word.Slots {
			word.Slots[i] += 0.5
		}
	}
	fmt.Println(*pool.Get(bulk.NewHandle(99, 1)))
	// Output: 0.5
}

// Find the live entities that are burning and not asleep.
func ExampleAnd() {
	pool, _ := bulk.NewPool[struct{}](bulk.Options{})
	var burning, asleep, awake bulk.Bitset
	heat := columns.Column[float32]{}
	for range 200 {
		pool.Add()
	}
	heat.Grow(pool.Slots())
	burning.Set(3)
	burning.Set(150)
	burning.Set(151)
	asleep.Set(150)
	for w, word := range bulk.AndNot(pool.Live(), asleep.View()) {
		awake.SetWord(w, word)
	}
	for w, word := range bulk.And(awake.View(), burning.View()) {
		for slot := range bulk.Bits(w*64, word) {
			*heat.At(slot) += 10
			fmt.Println(pool.HandleAt(slot), *heat.At(slot))
		}
	}
	// Output:
	// 3v1 10
	// 151v1 10
}

// Find all bullets and lasers that are not frozen.
func ExamplePool_Tag() {
	pool, _ := bulk.NewPool[struct{}](bulk.Options{})
	bullets, lasers, frozen := pool.Tag("bullet"), pool.Tag("laser"), pool.Tag("frozen")
	for i := range uint32(8) {
		h, _ := pool.Add()
		switch {
		case i%3 == 0:
			bullets.Set(h.Index())
		case i%3 == 1:
			lasers.Set(h.Index())
		}
	}
	frozen.Set(4)
	var shots bulk.Bitset
	shots.SetOr(bullets.View(), lasers.View())
	for w, word := range bulk.AndNot(shots.View(), frozen.View()) {
		for slot := range bulk.Bits(w<<6, word) {
			fmt.Print(pool.HandleAt(slot), " ")
		}
	}
	// Output: 0v1 1v1 3v1 6v1 7v1
}

// Run a kernel over columns of data that is stored as structs.
func ExampleScratch() {
	type particle struct {
		kind     uint32 // not used by the kernel
		x, speed float32
	}
	type buffers struct{ x, speed [bulk.BlockLen]float32 }
	pool, _ := bulk.NewPool[particle](bulk.Options{})
	for i := range 3 {
		_, p := pool.Add()
		*p = particle{kind: 7, x: float32(i), speed: 10}
	}
	bulk.Scratch(pool, new(buffers),
		func(s *buffers, row int, word bulk.Word[particle]) int {
			first := row
			for i := range bulk.Bits(0, word.Live) {
				s.x[row], s.speed[row] = word.Slots[i].x, word.Slots[i].speed
				row++
			}
			return row - first
		},
		func(s *buffers, rows int) { columns.AddScaled(s.x[:rows], s.speed[:rows], 0.5) },
		func(s *buffers, row int, word bulk.Word[particle]) int {
			first := row
			for i := range bulk.Bits(0, word.Live) {
				word.Slots[i].x = s.x[row]
				row++
			}
			return row - first
		})
	for _, p := range pool.All() {
		fmt.Println(p.x)
	}
	// Output:
	// 5
	// 6
	// 7
}

// Reserved memory is one mapping outside Go's heap, freed by Close.
func ExampleOptions() {
	_, err := bulk.NewPool[string](bulk.Options{Memory: bulk.Reserved})
	fmt.Println(err)
	pool, err := bulk.NewPool[[4]float32](bulk.Options{MaxSlots: 1000, Order: bulk.FIFO, Memory: bulk.Growing})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = pool.Close() }()
	fmt.Println(pool)
	// Output:
	// bulk: bad options: Memory is Reserved, which the garbage collector does not scan, but string holds pointers; use Blocks
	// bulk.Pool[[4]float32]: 0 live, 0 slots used of 1000, 0 retired
}

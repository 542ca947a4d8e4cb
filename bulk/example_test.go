package bulk_test

import (
	"fmt"

	"github.com/worldd/worldd/bulk"
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
	// bulk: slot is live: 40v3 wanted, 40v5 lives there
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

// A dense word may be computed whole, holes included: no branch per slot.
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

// Which of the live are burning, and not asleep?
func ExampleAnd() {
	pool, _ := bulk.NewPool[struct{}](bulk.Options{})
	var burning, asleep, awake bulk.Bitset
	heat := bulk.Column[float32]{}
	for range 200 {
		pool.Add()
	}
	heat.Grow(pool.Slots())
	burning.Set(3)
	burning.Set(150)
	burning.Set(151)
	asleep.Set(150)
	for w, word := range bulk.AndNot(pool.Live(), &asleep) {
		awake.SetWord(w, word)
	}
	for w, word := range bulk.And(&awake, &burning) {
		for slot := range bulk.Bits(w*64, word) {
			*heat.At(slot) += 10
			fmt.Println(pool.HandleAt(slot), *heat.At(slot))
		}
	}
	// Output:
	// 3v1 10
	// 151v1 10
}

// Command inlined calls what must be inlined: TestHotAccessorsInline builds it
// and asks the compiler about each line that says so.
package main

import (
	"github.com/worldd/worldd/bulk"

	"github.com/worldd/worldd/internal/columns"
)

type body struct{ x, y, z float32 }

func main() {
	pool, err := bulk.NewPool[body](bulk.Options{})
	if err != nil {
		panic(err)
	}
	h, _ := pool.Add()
	var column columns.Column[body]
	column.Grow(pool.Slots())
	live := pool.Live()
	var asleep bulk.Bitset

	sum := pool.Get(h).x              // want inline
	sum += pool.At(h.Index()).y       // want inline
	sum += column.At(h.Index()).z     // want inline
	sum += column.Word(0)[0].z        // want inline
	count := uint64(pool.HandleAt(0)) // want inline
	count += live.Word(0)             // want inline
	if live.Has(0) && h.Valid() {     // want inline
		count += uint64(h.Generation()) // want inline
	}
	count += asleep.Word(0)                     // want inline
	asleep.Clear(64)                            // want inline
	asleep.Join(0, 1)                           // want inline
	if asleep.Has(1) && asleep.View().Valid() { // want inline
		count++
	}
	for _, b := range pool.All() { // want inline, and the body
		sum += b.x
	}
	for h, b := range pool.All() { // want inline, and the body
		// Dearer than 160, the most that is inlined at two places.
		speed := b.x*b.x + b.y*b.y + b.z*b.z
		switch {
		case speed > 100:
			b.x, b.y, b.z = b.x*0.5, b.y*0.5, b.z*0.5
		case speed > 10:
			b.x, b.y, b.z = b.x-b.y*0.1, b.y-b.z*0.1, b.z-b.x*0.1
		case h.Index()&1 == 0:
			b.x, b.y, b.z = b.y+b.z*b.x, b.z+b.x*b.y, b.x+b.y*b.z
		}
		if b.x > b.y {
			sum += b.x*b.z - b.y*b.y
		} else {
			sum += b.y*b.z - b.x*b.x
		}
		count += uint64(h.Generation()) + uint64(h.Index())*3
	}
	for _, w := range pool.Words() { // want inline, and the body
		sum += w.Slots[0].x
	}
	for i := range live.All() { // want inline, and the body
		count += uint64(i)
	}
	for _, word := range bulk.And(live) { // want inline
		count += word
	}
	group, err := columns.NewGroup[float32](2, columns.SoA)
	if err != nil {
		panic(err)
	}
	group.Grow(pool.Slots())
	sum += *group.At(1, 0)      // want inline
	sum += group.Lanes(1, 0)[0] // want inline
	var table columns.Table[body]
	table.Add(h)
	sum += table.Get(h).x            // want inline
	sum += table.Rows()[0].x         // want inline
	if row, ok := table.Row(h); ok { // want inline
		count += uint64(row)
	}
	for i := range bulk.Bits(0, 5) { // want inline, and the body
		count += uint64(i)
	}
	println(sum, count)
}

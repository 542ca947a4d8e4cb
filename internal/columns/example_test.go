package columns_test

import (
	"fmt"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/columns"
)

// Rows stay packed; parallel storage moves with them.
func ExampleTable() {
	var names columns.Table[string]
	speeds, _ := columns.NewGroup[float32](1, columns.SoA)
	speeds.Grow(10)
	orc, elf, imp := bulk.NewHandle(7, 1), bulk.NewHandle(2, 5), bulk.NewHandle(9, 1)
	for i, h := range []bulk.Handle{orc, elf, imp} {
		*names.Add(h) = []string{"orc", "elf", "imp"}[i]
		*speeds.At(0, uint32(i)) = float32(i + 1)
	}
	if to, from, ok := names.Remove(orc); ok {
		speeds.Move(to, from)
	}
	for row, name := range names.Rows() {
		fmt.Println(name, names.HandleOfRow(uint32(row)), *speeds.At(0, uint32(row)))
	}
	// Output:
	// imp 9v1 3
	// elf 2v5 2
}

func ExampleAddScaled() {
	x, speed := []float32{0, 1, 2}, []float32{10, 10, -10}
	columns.AddScaled(x, speed, 0.1)
	fmt.Println(x)
	// Output: [1 2 1]
}

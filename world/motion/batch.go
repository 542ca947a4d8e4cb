package motion

import "github.com/worldd/worldd/field"

// BatchRows is the number of rows that are stepped together: their positions and
// all sums stay in the first-level cache (12 KiB).
const BatchRows = 256

// Batch is the working memory of one goroutine that steps bodies. The zero value is
// ready to use.
type Batch struct {
	wind, push planes // sums of the effects, by row
	positions  planes // positions before the tick
	velocities planes // velocities before the tick
	rates      rates
	scratch    []float32 // of the field machine
	windy      bool      // wind holds something
	pushed     bool      // push holds something
}

// planes is one vector for each row of a batch.
type planes struct{ x, y, z [BatchRows]float32 }

func (p *planes) first(n int) field.Planes {
	return field.Planes{X: p.x[:n], Y: p.y[:n], Z: p.z[:n]}
}

func (p *planes) zero(n int) {
	clear(p.x[:n])
	clear(p.y[:n])
	clear(p.z[:n])
}

// Reserve allocates what Step needs for the forces, so that Step does not.
func (c *Batch) Reserve(f *Forces) {
	if len(c.scratch) < f.scratch {
		c.scratch = make([]float32, f.scratch)
	}
}

// sum returns the planes that an effect adds to, zeroed for the first one.
func (c *Batch) sum(m Mode, n int) *planes {
	sum, used := &c.wind, &c.windy
	if m == Acceleration {
		sum, used = &c.push, &c.pushed
	}
	if !*used {
		sum.zero(n)
		*used = true
	}
	return sum
}

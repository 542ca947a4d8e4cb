package motion

import "github.com/worldd/worldd/field"

// BatchRows is the number of rows stepped together: their positions and force sums
// stay in the first-level cache (12 KiB).
const BatchRows = 256

// Batch is the working memory of one goroutine that steps bodies. The zero value is
// ready to use.
type Batch struct {
	wind, push planes // sums of the effects by row, m/s and m/s2
	positions  planes // positions before the tick
	velocities planes // velocities before the tick
	rates      rates
	kinds      [BatchRows]KindID // of the rows that sumForcesAt collects
	scratch    []float32         // of field.Set.Evaluate
	windy      bool              // wind is set
	pushed     bool              // push is set
}

// planes holds one vector per row of a batch.
type planes struct{ x, y, z [BatchRows]float32 }

func (p *planes) first(n int) field.Planes {
	return field.Planes{X: p.x[:n], Y: p.y[:n], Z: p.z[:n]}
}

func (p *planes) zero(n int) {
	clear(p.x[:n])
	clear(p.y[:n])
	clear(p.z[:n])
}

// Reserve allocates the memory that Step needs for f, so that Step does not.
func (c *Batch) Reserve(f *Forces) {
	if len(c.scratch) < f.scratch {
		c.scratch = make([]float32, f.scratch)
	}
}

// sum returns the sum for effects of mode m, zeroed on first use.
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

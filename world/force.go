package world

import (
	"slices"

	"github.com/worldd/worldd/field"
)

// chunkRows is how many rows are stepped together: their positions and all sums
// stay in the first-level cache (12 KiB).
const chunkRows = 256

// planes is one vector for each row of a chunk.
type planes struct{ x, y, z [chunkRows]float32 }

func (p *planes) first(n int) field.Planes {
	return field.Planes{X: p.x[:n], Y: p.y[:n], Z: p.z[:n]}
}

func (p *planes) zero(n int) {
	clear(p.x[:n])
	clear(p.y[:n])
	clear(p.z[:n])
}

// chunk is one worker's memory for the rows that it steps.
type chunk struct {
	wind, push planes // sums of the effects, by row
	places     planes // where bodies were, while they move
	velocities planes // what they had before
	rates      rates
	points     int       // at which effects were run, if this step counts them
	scratch    []float32 // of the field machine
	windy      bool      // wind holds something
	pushed     bool      // push holds something
}

// move steps the awake rows, in blocks of rows that are independent of each other
// (W11).
func (w *World) move() {
	b := &w.bodies
	for len(b.moved)*64 < b.len() {
		b.moved, b.crossed, b.halted = append(b.moved, 0), append(b.crossed, 0), append(b.halted, 0)
	}
	w.gatherEffects()
	w.watchOrder()
	w.workers.run((b.end(b.len())+chunkRows-1)/chunkRows, w.moveBlocks)
	if w.order.counting {
		w.learnLoss()
	}
	if w.mover != nil {
		w.letMove()
	}
}

// moveBlock steps the awake rows of one block.
func (w *World) moveBlock(c *chunk, block int) {
	b := &w.bodies
	end := min((block+1)*chunkRows, b.end(b.len()))
	for from, to := b.run(block*chunkRows, chunkRows); from < to && from < end; from, to = b.run(to, chunkRows) {
		to = min(to, end)
		w.sumForces(c, from, to)
		if w.mover == nil {
			w.integrate(c, from, to)
		} else {
			w.accelerate(c, from, to)
		}
	}
}

// An effectGroup is the effects of one mode that bodies of the same layers feel, as
// they are in this step.
type effectGroup struct {
	mode   EffectMode
	layers Layers
	set    field.Set
}

// gatherEffects puts the effects into groups, in the order of their slots.
func (w *World) gatherEffects() {
	f := &w.effects
	f.groups, f.boxed = f.groups[:0], 0
	live := f.pool.Live()
	for slot, ok := live.Next(0); ok; slot, ok = live.Next(slot + 1) {
		e := f.pool.At(slot)
		env := field.Env{
			Time:   float32(float64(w.tick-e.born) / float64(w.cfg.TickHz)),
			Params: f.params[slot],
			Origin: [3]float32{e.center.X, e.center.Y, e.center.Z},
		}
		if err := f.group(e.mode, e.layers).set.Add(f.programs[slot], env); err != nil {
			panic("world: W9: an effect that was checked when it was added: " + err.Error())
		}
		if e.boxed {
			f.boxed++
		}
	}
	for i := range w.workers.chunks {
		c := &w.workers.chunks[i]
		for g := range f.groups {
			if want := f.groups[g].set.Scratch(); len(c.scratch) < want {
				c.scratch = make([]float32, want)
			}
		}
	}
}

// group finds a group, or makes it of the memory of one of the last step.
func (f *effects) group(m EffectMode, l Layers) *effectGroup {
	for i := range f.groups {
		if g := &f.groups[i]; g.mode == m && g.layers == l {
			return g
		}
	}
	n := len(f.groups)
	f.groups = slices.Grow(f.groups, 1)[:n+1]
	g := &f.groups[n]
	g.mode, g.layers = m, l
	g.set.Reset()
	return g
}

// sumForces adds up the effects at rows [from, to): group by group, and in each in
// the order of their slots. Which other rows are in the chunk has no influence.
func (w *World) sumForces(c *chunk, from, to int) {
	c.windy, c.pushed = false, false
	b, n := &w.bodies, to-from
	for i := range w.effects.groups {
		g := &w.effects.groups[i]
		out := c.sum(g.mode, n)
		if g.layers != 0 {
			out = &c.velocities // which are not needed yet
			out.zero(n)
		}
		points := field.Planes{X: b.posX[from:to], Y: b.posY[from:to], Z: b.posZ[from:to]}
		if err := g.set.Evaluate(points, out.first(n), c.scratch); err != nil {
			panic("world: W9: forces at rows of bodies: " + err.Error())
		}
		if w.order.counting {
			c.points += g.set.Work(points)
		}
		if g.layers != 0 {
			w.addFelt(c, g, from, to)
		}
	}
}

// addFelt adds the sum of a group at those rows whose bodies feel it.
func (w *World) addFelt(c *chunk, g *effectGroup, from, to int) {
	sum := c.sum(g.mode, to-from)
	for row := from; row < to; row++ {
		if i := row - from; g.layers.has(w.kinds[w.bodies.kind[row]].params.layers) {
			sum.x[i] += c.velocities.x[i]
			sum.y[i] += c.velocities.y[i]
			sum.z[i] += c.velocities.z[i]
		}
	}
}

// sum returns the planes that an effect adds to, zeroed when it is the first.
func (f *chunk) sum(m EffectMode, n int) *planes {
	sum, used := &f.wind, &f.windy
	if m == Acceleration {
		sum, used = &f.push, &f.pushed
	}
	if !*used {
		sum.zero(n)
		*used = true
	}
	return sum
}

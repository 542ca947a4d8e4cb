package world

import (
	"github.com/worldd/worldd/field"
)

// chunkRows is how many rows are stepped together: their positions, the points
// relative to an effect and all sums stay in the first-level cache (13 KiB).
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
	points     planes // relative to the effect's centre
	result     planes // of a boxed effect, by point
	index      [chunkRows]uint16
	rates      rates
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
	for i := range w.workers.chunks {
		if c := &w.workers.chunks[i]; len(c.scratch) < w.effects.scratch {
			c.scratch = make([]float32, w.effects.scratch)
		}
	}
	w.workers.run((b.end(b.len()) + chunkRows - 1) / chunkRows)
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

// sumForces adds up the effects at rows [from, to), in the order of their slots.
func (w *World) sumForces(f *chunk, from, to int) {
	pool := w.effects.pool
	f.windy, f.pushed = false, false
	if pool.Len() == 0 {
		return
	}
	bounds, bounded := field.Box{}, false
	live := pool.Live()
	for slot, ok := live.Next(0); ok; slot, ok = live.Next(slot + 1) {
		e := pool.At(slot)
		if !e.boxed && e.layers == 0 {
			w.addEverywhere(f, e, slot, from, to)
			continue
		}
		if !e.boxed {
			w.addSome(f, e, slot, from, to)
			continue
		}
		if !bounded {
			bounds, bounded = w.bodies.bounds(from, to), true
		}
		if !e.misses(&bounds) {
			w.addSome(f, e, slot, from, to)
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

// addEverywhere evaluates an effect without box straight into the sums.
func (w *World) addEverywhere(f *chunk, e *effect, slot uint32, from, to int) {
	b, n := &w.bodies, to-from
	points := field.Planes{X: b.posX[from:to], Y: b.posY[from:to], Z: b.posZ[from:to]}
	if e.center != (Vec3{}) {
		c := e.center
		for i := range n {
			f.points.x[i] = points.X[i] - c.X
			f.points.y[i] = points.Y[i] - c.Y
			f.points.z[i] = points.Z[i] - c.Z
		}
		points = f.points.first(n)
	}
	w.evaluate(f, e, slot, points, f.sum(e.mode, n).first(n))
}

// addSome gathers the bodies that feel the effect, by its box and its layers,
// evaluates their points together and adds the results. Which other points are
// in the chunk has no influence.
func (w *World) addSome(f *chunk, e *effect, slot uint32, from, to int) {
	b, n := &w.bodies, 0
	for row := from; row < to; row++ {
		x, y, z := b.posX[row]-e.center.X, b.posY[row]-e.center.Y, b.posZ[row]-e.center.Z
		if e.boxed && !boxHas(&e.box, x, y, z) || !e.layers.has(w.kinds[b.kind[row]].params.layers) {
			continue
		}
		f.points.x[n], f.points.y[n], f.points.z[n] = x, y, z
		f.index[n] = uint16(row - from)
		n++
	}
	if n == 0 {
		return
	}
	f.result.zero(n)
	w.evaluate(f, e, slot, f.points.first(n), f.result.first(n))
	sum := f.sum(e.mode, to-from)
	for i, at := range f.index[:n] {
		sum.x[at%chunkRows] += f.result.x[i]
		sum.y[at%chunkRows] += f.result.y[i]
		sum.z[at%chunkRows] += f.result.z[i]
	}
}

func (w *World) evaluate(f *chunk, e *effect, slot uint32, points, out field.Planes) {
	age := float32(float64(w.tick-e.born) / float64(w.cfg.TickHz))
	env := field.Env{Time: age, Params: w.effects.params[slot]}
	if err := w.effects.programs[slot].Evaluate(points, out, env, f.scratch); err != nil {
		panic("world: W9: an effect that was checked when it was added: " + err.Error())
	}
}

// bounds returns the smallest box around rows [from, to), of which there is one
// at least.
func (b *bodies) bounds(from, to int) field.Box {
	low, high := b.position(from), b.position(from)
	for row := from + 1; row < to; row++ {
		low.X, high.X = min(low.X, b.posX[row]), max(high.X, b.posX[row])
		low.Y, high.Y = min(low.Y, b.posY[row]), max(high.Y, b.posY[row])
		low.Z, high.Z = min(low.Z, b.posZ[row]), max(high.Z, b.posZ[row])
	}
	return field.Box{Min: [3]float32{low.X, low.Y, low.Z}, Max: [3]float32{high.X, high.Y, high.Z}}
}

// misses says that the effect's box holds no point of bounds. Rounding keeps
// order, so that it never contradicts contains.
func (e *effect) misses(bounds *field.Box) bool {
	c := [3]float32{e.center.X, e.center.Y, e.center.Z}
	for i := range 3 {
		if bounds.Max[i]-c[i] < e.box.Min[i] || bounds.Min[i]-c[i] > e.box.Max[i] {
			return true
		}
	}
	return false
}

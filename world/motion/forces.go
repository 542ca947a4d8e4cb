package motion

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/worldd/worldd/field"
)

// Mode is the meaning of an effect's vectors.
type Mode uint8

const (
	// Wind is a velocity in m/s. The winds at a point add up, and the sum drags bodies
	// along; without wind the air stands still.
	Wind Mode = iota
	// Acceleration is in m/s2, independent of mass.
	Acceleration
)

// String returns "wind" or "acceleration".
func (m Mode) String() string {
	switch m {
	case Wind:
		return "wind"
	case Acceleration:
		return "acceleration"
	}
	return fmt.Sprintf("EffectMode(%d)", uint8(m))
}

// Layers is a set of up to 32 layers, one bit each, with meanings defined by the
// game: players, leaves, ships. Kinds are in layers; effects and volumes select
// layers.
type Layers uint32

// Selects reports whether a selection l includes a kind with the given layers. The zero
// value selects every kind.
func (l Layers) Selects(kind Layers) bool { return l == 0 || l&kind != 0 }

// Effect is one field program as it acts in one tick.
type Effect struct {
	Program *field.Program
	Params  []field.Vec4 // must not change until the last Step of the tick
	Mode    Mode
	Time    float64 // seconds since it was added; see Stepper.Seconds
	Reach           // of Program and Params; see Reach.Set
}

// Forces holds the effects of one tick. The zero value is empty. Any number of
// goroutines may step bodies with the same Forces, each with its own Batch.
type Forces struct {
	groups   []group  // in order of their first effects, so that each finds its memory again
	order    []int32  // of groups, ascending by mode and layers (M2)
	scratch  int      // largest scratch memory of a group
	changing []Effect // those that change with time
}

// group holds the effects of one mode and the same layers.
type group struct {
	mode   Mode
	layers Layers
	set    field.Set
}

// Reset removes all effects and keeps the memory.
func (f *Forces) Reset() {
	f.groups, f.order, f.changing, f.scratch = f.groups[:0], f.order[:0], f.changing[:0], 0
}

// Add adds an effect. Call it in ascending order of the effects' slots: within a group,
// effects are summed in the order of calls (M2). The error is field.Set's: parameters that
// do not fit the program, or too many effects.
func (f *Forces) Add(e *Effect) error {
	g := f.group(e.Mode, e.Layers)
	env := field.Env{
		Time:   e.Time,
		Params: e.Params,
		Origin: e.Center.Array(),
	}
	if err := g.set.Add(e.Program, env); err != nil {
		return err
	}
	f.scratch = max(f.scratch, g.set.Scratch())
	if e.Changing {
		f.changing = append(f.changing, *e)
	}
	return nil
}

// ChangeAt reports whether an effect that changes with time acts on a body of kind k at p.
// A wind does not act on a body without coupling.
func (f *Forces) ChangeAt(k *Kind, p Vec3) bool {
	for i := range f.changing {
		if e := &f.changing[i]; e.ActsOn(k, p) && (e.Mode != Wind || k.Coupling != 0) {
			return true
		}
	}
	return false
}

// group finds or adds a group, reusing the memory of earlier ticks.
func (f *Forces) group(m Mode, l Layers) *group {
	at, found := slices.BinarySearchFunc(f.order, 0, func(i int32, _ int) int {
		return cmp.Or(cmp.Compare(f.groups[i].mode, m), cmp.Compare(f.groups[i].layers, l))
	})
	if found {
		return &f.groups[f.order[at]]
	}
	n := len(f.groups)
	f.order = slices.Insert(f.order, at, int32(n))
	f.groups = slices.Grow(f.groups, 1)[:n+1]
	g := &f.groups[n]
	g.mode, g.layers = m, l
	g.set.Reset()
	return g
}

// Work returns the number of points at which Step evaluates effects for rows [from, to)
// after culling by boxes, summed over effects. It costs about as much as a Step in which
// all effects are culled.
func (f *Forces) Work(b *Bodies, from, to int) int {
	n, points := 0, b.points(from, to)
	for i := range f.groups {
		n += f.groups[i].set.Work(points)
	}
	return n
}

// blockWork is Work for the first n rows. A block costs the same however few points it has.
func (f *Forces) blockWork(b *Bodies, n int) int {
	points, few := f.Work(b, 0, n), n%field.BlockPoints
	if few > 0 {
		points += f.Work(b, n-few, n) / few * (field.BlockPoints - few)
	}
	return points
}

func (b *Bodies) points(from, to int) field.Planes {
	return field.Planes{X: b.Pos.X[from:to], Y: b.Pos.Y[from:to], Z: b.Pos.Z[from:to]}
}

// sumForces sums the effects at rows [from, to): group by group, and within a group in
// the order of Add. The other rows of the batch have no influence (M1). A sum starts at
// +0 and is therefore never -0: adding a group that is elsewhere changes no bit.
func (s *Stepper) sumForces(c *Batch, f *Forces, b *Bodies, from, to int) {
	c.windy, c.pushed = false, false
	n := to - from
	c.Reserve(f)
	for _, i := range f.order {
		g := &f.groups[i]
		out := c.sum(g.mode, n)
		if g.layers != 0 {
			out = &c.velocities // free until velocities are computed
			out.zero(n)
		}
		if err := g.set.Evaluate(b.points(from, to), out.first(n), c.scratch); err != nil {
			panic("motion: M3: forces at rows of bodies: " + err.Error())
		}
		if g.layers != 0 {
			s.addFelt(c, g, b, from, to)
		}
	}
}

// addFelt adds a group's sum to the rows whose kinds feel it.
func (s *Stepper) addFelt(c *Batch, g *group, b *Bodies, from, to int) {
	sum := c.sum(g.mode, to-from)
	for row := from; row < to; row++ {
		if i := row - from; g.layers.Selects(s.Kinds[b.Kind[row]].Layers) {
			sum.x[i] += c.velocities.x[i]
			sum.y[i] += c.velocities.y[i]
			sum.z[i] += c.velocities.z[i]
		}
	}
}

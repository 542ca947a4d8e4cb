package fieldrender

import (
	"errors"
	"fmt"

	"github.com/worldd/worldd/field"
)

// A Plane is the orientation of a slice, named by its axes to the right and up.
type Plane uint8

// The planes. The package comment lists their viewpoints.
const (
	XZ Plane = iota
	XY
	ZY
)

// planes describes each plane: its name, its axes right, vertical and through it (0 is x), and
// the signs of the directions up in the picture and towards the viewer.
var planes = [...]struct {
	name                     string
	right, vertical, through int
	up, towards              float32
}{
	XZ: {"xz", 0, 2, 1, -1, 1},
	XY: {"xy", 0, 1, 2, 1, 1},
	ZY: {"zy", 2, 1, 0, 1, -1},
}

// ParsePlane parses the name of a plane.
func ParsePlane(name string) (Plane, error) {
	for i := range planes {
		if planes[i].name == name {
			return Plane(i), nil
		}
	}
	return 0, fmt.Errorf("there is no plane %q: it is xz (from above), xy or zy", name)
}

func (p Plane) String() string { return planes[p].name }

// axisNames returns the names of the axes right, vertical, and through the plane.
func (p Plane) axisNames() (right, vertical, through string) {
	const names = "xyz"
	at := &planes[p]
	return names[at.right : at.right+1], names[at.vertical : at.vertical+1], names[at.through : at.through+1]
}

// A Mode is the meaning of an effect's vectors. A world defines it, not the effect.
type Mode uint8

// The modes, as in a world file.
const (
	Wind         Mode = iota // metres a second: particles move with it
	Acceleration             // metres a second squared: particles gain speed without drag
)

func (m Mode) unit() string {
	if m == Acceleration {
		return "m/s²"
	}
	return "m/s"
}

// A View selects a slice of an effect to draw.
type View struct {
	Title    string // above the picture
	Plane    Plane
	At       float32    // position on the axis through the plane, in metres
	Min, Max [2]float32 // the region: right and vertical axis, in metres
	Time     float32    // seconds
	Params   []field.Vec4
	Mode     Mode
	Theme    Theme
}

// Bounds of views (P2). They keep ticks readable and a pixel's size above float32 rounding.
const (
	MaxCoordinate = 1e6  // metres from the origin, in any direction
	MinExtent     = 1e-3 // of the shorter side, in metres
	MinShare      = 1e-4 // of the shorter side, as a share of the largest coordinate
	MaxAspect     = 4    // ratio of the sides
	MaxTime       = 1e6  // seconds before and after 0
)

const (
	// everywhereReach is half the side of the default view of an effect without a box, in
	// metres.
	everywhereReach = 20
	// boxReach is half the extent of the default view along an axis, as a share of the box's.
	boxReach = 0.625
	// leastReach is the least half extent, as a share of the box's longer side.
	leastReach = 0.2
)

// Around returns a view of the effect's box and some of its surroundings, through the box's
// centre, at time 0 with the default parameters.
func Around(p *field.Program, plane Plane) View {
	v := View{Title: p.Name(), Plane: plane}
	for _, param := range p.Params() {
		v.Params = append(v.Params, param.Default)
	}
	axes := &planes[plane]
	box, bounded := p.Box()
	if !bounded {
		v.Min, v.Max = [2]float32{-everywhereReach, -everywhereReach}, [2]float32{everywhereReach, everywhereReach}
		return v
	}
	middle := func(axis int) float32 { return box.Min[axis]/2 + box.Max[axis]/2 }
	extent := func(axis int) float32 { return box.Max[axis] - box.Min[axis] }
	v.At = middle(axes.through)
	longest := max(extent(axes.right), extent(axes.vertical), MinExtent)
	for i, axis := range []int{axes.right, axes.vertical} {
		half := max(float32(extent(axis)*boxReach), float32(longest*leastReach))
		v.Min[i], v.Max[i] = middle(axis)-half, middle(axis)+half
	}
	return v
}

func (v *View) longerSide() float32 { return max(v.Max[0]-v.Min[0], v.Max[1]-v.Min[1]) }

// ErrView reports an invalid view, which is the caller's fault. Errors of Check wrap it.
var ErrView = errors.New("cannot draw this view")

// Check reports a number that is not finite or outside the bounds of views, or a wrong number
// of parameters.
func (v View) Check(p *field.Program) error {
	right, vertical, through := v.Plane.axisNames()
	within := func(what string, value, bound float32) error {
		if !(value >= -bound && value <= bound) { // also NaN
			return fmt.Errorf("%w: %s is %g: want %g to %g", ErrView, what, value, -bound, bound)
		}
		return nil
	}
	err := errors.Join(
		within(through, v.At, MaxCoordinate),
		within(right, v.Min[0], MaxCoordinate), within(right, v.Max[0], MaxCoordinate),
		within(vertical, v.Min[1], MaxCoordinate), within(vertical, v.Max[1], MaxCoordinate),
		within("time", v.Time, MaxTime),
	)
	if err != nil {
		return err
	}
	width, height := v.Max[0]-v.Min[0], v.Max[1]-v.Min[1]
	far := max(-v.Min[0], v.Max[0], -v.Min[1], v.Max[1])
	switch {
	case min(width, height) < max(MinExtent, MinShare*far):
		return fmt.Errorf("%w: the region is %g m by %g m, which is too small for its coordinates, or inverted", ErrView, width, height)
	case max(width, height) > float32(MaxAspect*min(width, height)):
		return fmt.Errorf("%w: the region is %g m by %g m: one side may be at most %d times as long as the other", ErrView, width, height, MaxAspect)
	case len(v.Params) != len(p.Params()):
		return fmt.Errorf("%w: the effect has %d parameters, got %d values", ErrView, len(p.Params()), len(v.Params))
	}
	return nil
}

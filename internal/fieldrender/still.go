package fieldrender

import (
	"image"

	"github.com/worldd/worldd/field"
)

// stillSize is the longer side of the panel of a still, in pixels.
const stillSize = 448

// Still draws the effect at one moment: magnitudes as colours, directions as
// arrows. An error wraps ErrView.
func Still(program *field.Program, v View) (*image.Paletted, error) {
	return still(program, v, stillSize)
}

// still is Still with the size of the panel, in pixels.
func still(program *field.Program, v View, size int) (*image.Paletted, error) {
	if err := v.Check(program); err != nil {
		return nil, err
	}
	f := newFigure(program, []View{v}, 1, size)
	p := &f.panels[0]
	magnitudes := p.magnitudes(program)
	s := scaleOf(magnitudes)
	p.drawMagnitudes(f.canvas, magnitudes, s)
	p.drawBox(f.canvas, program)
	p.drawArrows(f.canvas, program, s)
	if s.empty {
		f.drawNothing()
	}
	f.drawScale(s, v.Mode.unit())
	return f.canvas.image, nil
}

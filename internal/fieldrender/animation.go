package fieldrender

import (
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"slices"

	"github.com/worldd/worldd/field"
)

// Dimensions of an animation.
const (
	frames        = 48
	frameDelay    = 5 // hundredths of a second
	animationSize = 352
)

// A sheet shows every sheetEvery-th frame of an animation.
const (
	sheetEvery   = 8
	sheetColumns = 3
	sheetSize    = 216
)

// particleArea is the area of a panel per particle, in pixels.
const particleArea = 420

// Durations of motion, in seconds of the effect's time. An animation of RealTime is shown at
// real speed.
const (
	RealTime    = frames * frameDelay / 100.0
	MaxDuration = 3600
)

// Animation draws particles moved by the effect, from v.Time for duration seconds. It always
// plays for RealTime: a shorter duration is slow motion. An error wraps ErrView.
func Animation(program *field.Program, v View, duration float32) (*gif.GIF, error) {
	return animation(program, v, duration, animationSize)
}

// animation is Animation with the size of the panel, in pixels.
func animation(program *field.Program, v View, duration float32, size int) (*gif.GIF, error) {
	m, err := newMotion(program, v, duration, size, 1)
	if err != nil {
		return nil, err
	}
	film := &gif.GIF{}
	var before *image.Paletted
	for i := range m.views {
		f := newFigure(program, m.views[i:i+1], 1, size)
		m.advance()
		m.drawOn(f, 0, i)
		film.Image = append(film.Image, changes(before, f.canvas.image))
		film.Delay = append(film.Delay, frameDelay)
		film.Disposal = append(film.Disposal, gif.DisposalNone)
		before = f.canvas.image
	}
	return film, nil
}

// changes returns the image that turns before into next when drawn over it. Unchanged pixels
// are transparent, which compresses well. If before is nil, it returns next.
func changes(before, next *image.Paletted) *image.Paletted {
	if before == nil {
		return next
	}
	over := image.NewPaletted(next.Rect, append(slices.Clone(next.Palette), color.Transparent))
	for i, index := range next.Pix {
		if index == before.Pix[i] {
			index = uint8(colours)
		}
		over.Pix[i] = index
	}
	return over
}

// Sheet draws some frames of Animation side by side.
func Sheet(program *field.Program, v View, duration float32) (*image.Paletted, error) {
	m, err := newMotion(program, v, duration, sheetSize, sheetEvery)
	if err != nil {
		return nil, err
	}
	f := newFigure(program, m.views, sheetColumns, sheetSize)
	for i := range m.views {
		m.advance()
		m.drawOn(f, i, i)
	}
	return f.canvas.image, nil
}

// A motion is the content of an animation: the field at each shown moment, and the particles.
type motion struct {
	program    *field.Program
	views      []View // one for each shown moment
	magnitudes [][]float32
	scale      scale // the same for all moments
	swarm      *swarm
	perView    int // swarm steps between shown moments
}

// newMotion prepares every every-th frame, for panels whose longer side has size pixels.
func newMotion(program *field.Program, v View, duration float32, size, every int) (*motion, error) {
	if !(duration > 0 && duration <= MaxDuration) { // also NaN
		return nil, fmt.Errorf("%w: the duration is %g s: want above 0, at most %d", ErrView, duration, MaxDuration)
	}
	if err := v.Check(program); err != nil {
		return nil, err
	}
	m := &motion{program: program, perView: every * stepsPerFrame}
	width, height := v.panelSize(size)
	step := duration / (frames * stepsPerFrame)
	m.swarm = newSwarm(program, v, max(1, width*height/particleArea), step)
	for frame := every; frame <= frames; frame += every {
		moment := v
		moment.Time += float32(float32(frame*stepsPerFrame) * step)
		p := panel{moment, image.Rect(0, 0, width, height)}
		m.views = append(m.views, moment)
		m.magnitudes = append(m.magnitudes, p.magnitudes(program))
	}
	m.scale = scaleOf(m.magnitudes...)
	return m, nil
}

// advance moves the particles to the next shown moment.
func (m *motion) advance() {
	for range m.perView {
		m.swarm.advance()
	}
}

// drawOn draws the i-th moment on a panel of f, with the current particles.
func (m *motion) drawOn(f *figure, onPanel, i int) {
	p := &f.panels[onPanel]
	p.drawMagnitudes(f.canvas, m.magnitudes[i], m.scale)
	p.drawBox(f.canvas, m.program)
	m.swarm.draw(f.canvas, p)
	f.drawScale(m.scale, p.view.Mode.unit())
	if m.scale.empty {
		f.drawNothing()
	}
}

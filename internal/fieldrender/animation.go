package fieldrender

import (
	"fmt"
	"image"
	"image/color"
	"image/gif"

	"github.com/worldd/worldd/field"
)

// An animation is frames pictures.
const (
	frames        = 48
	frameDelay    = 5 // hundredths of a second
	animationSize = 352
)

// A sheet shows every sheetEvery-th of them.
const (
	sheetEvery   = 8
	sheetColumns = 3
	sheetSize    = 216
)

// particleArea is how many pixels of a panel there are to a particle.
const particleArea = 420

// Durations of motion, in seconds of the effect's own time. One that is shown as
// fast as it happens takes RealTime.
const (
	RealTime    = frames * frameDelay / 100.0
	MaxDuration = 3600
)

// Animation draws particles that the effect carries, from v.Time on and for so
// many seconds. It always takes RealTime to show: a shorter duration is slow
// motion. An error wraps ErrView.
func Animation(program *field.Program, v View, duration float32) (*gif.GIF, error) {
	return animation(program, v, duration, animationSize)
}

// animation is Animation with a panel of any size.
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

// changes is an image that makes the next one of the one before when it is laid
// over it: what stays is transparent, and so takes few bytes. The first image
// stays as it is.
func changes(before, next *image.Paletted) *image.Paletted {
	if before == nil {
		return next
	}
	over := image.NewPaletted(next.Rect, append(newPalette(), color.Transparent))
	for i, index := range next.Pix {
		if index == before.Pix[i] {
			index = uint8(colours)
		}
		over.Pix[i] = index
	}
	return over
}

// Sheet draws some of the pictures of Animation side by side.
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

// A motion is what an animation shows: what the field is at each shown moment,
// and the particles in it.
type motion struct {
	program    *field.Program
	views      []View // of the shown moments
	magnitudes [][]float32
	scale      scale // one for all moments
	swarm      *swarm
	perView    int // steps of the swarm
}

// newMotion prepares what is shown of every so many frames, in panels of a size.
func newMotion(program *field.Program, v View, duration float32, size, every int) (*motion, error) {
	if !(duration > 0 && duration <= MaxDuration) { // NaN too
		return nil, fmt.Errorf("%w: the duration is %g s, and has to be above 0 and at most %d", ErrView, duration, MaxDuration)
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

// drawOn draws the i-th moment on a panel of a figure, with the particles as they
// are now.
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

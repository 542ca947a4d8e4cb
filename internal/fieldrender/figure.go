package fieldrender

import (
	"fmt"
	"image"
	"math"
	"strconv"
	"strings"

	"github.com/worldd/worldd/field"
)

// Dimensions of a picture, in pixels.
const (
	margin       = 12
	leftGutter   = 7 * letterWidth // labels of the vertical axis
	rightGutter  = 88              // the scale and its labels
	footer       = 2*lineHeight + 6
	panelGap     = 14
	tickLength   = 4
	tickSpacing  = 40 // minimum
	leastAcross  = 3  // approximate minimum of steps on an axis: fewer may give no tick
	leastDown    = 4
	overhang     = 6 // of labels beyond a panel
	scaleWidth   = 14
	panelCaption = lineHeight + 2 // above each panel: its time, and the name of the axis
	minTextWidth = 46 * letterWidth
)

// A figure is a picture: its panels and everything around them.
type figure struct {
	canvas canvas
	panels []panel
}

// newFigure lays out panels for views that differ only in time, columns to a row. The longer
// side of a panel has longest pixels.
func newFigure(program *field.Program, views []View, columns, longest int) *figure {
	width, height := views[0].panelSize(longest)
	rows := (len(views) + columns - 1) / columns
	inner := columns*width + (columns-1)*panelGap
	textWidth := max(inner+leftGutter+rightGutter, minTextWidth)
	lines := views[0].caption(program, len(views) == 1, textWidth/letterWidth)
	header := margin + lineHeight*(len(lines)+1) + 4
	f := &figure{
		canvas: newCanvas(views[0].Theme, textWidth+2*margin, header+rows*(height+panelCaption)+(rows-1)*panelGap+footer+margin),
	}
	f.canvas.text(margin, margin, textIndex, boldFace, fit(views[0].Title, textWidth/letterWidth))
	for i, line := range lines {
		f.canvas.text(margin, margin+lineHeight*(i+1), dimIndex, plainFace, line)
	}
	left := margin + leftGutter + (textWidth-inner-leftGutter-rightGutter)/2
	for i, v := range views {
		x := left + i%columns*(width+panelGap)
		y := header + i/columns*(height+panelCaption+panelGap) + panelCaption
		p := panel{v, image.Rect(x, y, x+width, y+height)}
		f.panels = append(f.panels, p)
		if len(views) > 1 {
			f.canvas.text(x, y-panelCaption, dimIndex, plainFace, seconds(v.Time))
		}
		last := i+columns >= len(views)
		f.drawFrame(&p, i%columns == 0, last)
	}
	return f
}

// panelSize returns the size of a panel whose longer side has longest pixels. A metre has the
// same length in both directions.
func (v View) panelSize(longest int) (width, height int) {
	w, h := float64(v.Max[0])-float64(v.Min[0]), float64(v.Max[1])-float64(v.Min[1])
	if w > h {
		return longest, int(float64(float64(longest)*h)/w + 0.5)
	}
	return int(float64(float64(longest)*w)/h + 0.5), longest
}

// caption describes the view in lines of at most letters characters.
func (v View) caption(program *field.Program, timed bool, letters int) []string {
	_, _, through := v.Plane.axisNames()
	first := fmt.Sprintf("%s at %s = %s m", v.Plane, through, number(v.At))
	if timed {
		first += ", time " + seconds(v.Time)
	}
	lines := []string{fit(first, letters)}
	line := ""
	for i, p := range program.Params() {
		entry := p.Name + " " + vector(v.Params[i])
		switch {
		case line == "":
			line = entry
		case len(line)+2+len(entry) < letters: // a comma may follow
			line += ", " + entry
		default:
			lines = append(lines, fit(line+",", letters))
			line = entry
		}
	}
	if line != "" {
		lines = append(lines, fit(line, letters))
	}
	const most = 4
	if len(lines) > most {
		lines = append(lines[:most-1], "...")
	}
	return lines
}

// number formats a number for a caption.
func number(f float32) string { return strconv.FormatFloat(float64(f), 'g', 4, 32) }

// seconds formats a time in seconds, to the millisecond.
func seconds(t float32) string {
	rounded := float32(math.Round(float64(t)*1000) / 1000)
	return strconv.FormatFloat(float64(rounded), 'f', -1, 32) + " s"
}

// vector formats a parameter as in an effect's text: four equal lanes are a number, and a
// fourth lane of 0 is omitted.
func vector(v field.Vec4) string {
	if v[0] == v[1] && v[0] == v[2] && v[0] == v[3] {
		return number(v[0])
	}
	lanes := []string{number(v[0]), number(v[1]), number(v[2]), number(v[3])}
	if v[3] == 0 {
		lanes = lanes[:3]
	}
	return "(" + strings.Join(lanes, ", ") + ")"
}

// fit truncates a line to at most letters characters.
func fit(line string, letters int) string {
	if len(line) <= letters {
		return line
	}
	return line[:max(0, letters-3)] + "..."
}

// drawFrame draws the frame of a panel, and its axes.
func (f *figure) drawFrame(p *panel, verticalAxis, horizontalAxis bool) {
	f.canvas.block(p.rect.Inset(-1), frameIndex)
	f.canvas.block(p.rect, 0)
	right, vertical, _ := p.view.Plane.axisNames()
	if verticalAxis {
		f.drawVerticalAxis(p, vertical)
	}
	if horizontalAxis {
		f.drawHorizontalAxis(p, right)
	}
}

func (f *figure) drawHorizontalAxis(p *panel, name string) {
	step := stepFor(float64(p.view.Max[0])-float64(p.view.Min[0]), max(leastAcross, p.rect.Dx()/tickSpacing))
	y := p.rect.Max.Y + 1
	for _, i := range step.within(float64(p.view.Min[0]), float64(p.view.Max[0])) {
		at, _ := p.toPixel(float32(step.value(i)), p.view.Min[1])
		x := int(at)
		f.canvas.block(image.Rect(x, y, x+1, y+tickLength), frameIndex)
		label := step.label(i)
		// Labels at the ends stay clear of adjacent panels' labels.
		width := len(label) * letterWidth
		x = min(max(x-width/2, p.rect.Min.X-overhang), p.rect.Max.X+overhang-width)
		f.canvas.text(x, y+tickLength, dimIndex, plainFace, label)
	}
	label := name + " [m]"
	x := (p.rect.Min.X + p.rect.Max.X - len(label)*letterWidth) / 2
	f.canvas.text(x, y+tickLength+lineHeight, dimIndex, plainFace, label)
}

func (f *figure) drawVerticalAxis(p *panel, name string) {
	step := stepFor(float64(p.view.Max[1])-float64(p.view.Min[1]), max(leastDown, p.rect.Dy()/tickSpacing))
	x := p.rect.Min.X - 1
	for _, i := range step.within(float64(p.view.Min[1]), float64(p.view.Max[1])) {
		_, at := p.toPixel(p.view.Min[0], float32(step.value(i)))
		y := int(at)
		f.canvas.block(image.Rect(x-tickLength, y, x, y+1), frameIndex)
		label := step.label(i)
		y = max(y-lineHeight/2, p.rect.Min.Y-2) // clear of the axis name
		f.canvas.text(x-tickLength-4-len(label)*letterWidth, y, dimIndex, plainFace, label)
	}
	label := name + " [m]"
	f.canvas.text(x-tickLength-4-len(label)*letterWidth, p.rect.Min.Y-panelCaption, dimIndex, plainFace, label)
}

// drawNothing writes that the field is 0 in the whole slice.
func (f *figure) drawNothing() {
	const line = "0 in all of this slice"
	r := f.panels[0].rect
	f.canvas.text((r.Min.X+r.Max.X-len(line)*letterWidth)/2, r.Min.Y+r.Dy()/3, dimIndex, plainFace, line)
}

// drawScale draws the scale to the right of the upper row of panels.
func (f *figure) drawScale(s scale, unit string) {
	last := f.panels[0].rect
	for _, p := range f.panels {
		last.Max.X = max(last.Max.X, p.rect.Max.X)
	}
	bar := image.Rect(last.Max.X+16, last.Min.Y, last.Max.X+16+scaleWidth, last.Max.Y)
	f.canvas.block(bar.Inset(-1), frameIndex)
	for y := bar.Min.Y; y < bar.Max.Y; y++ {
		level := (bar.Max.Y - 1 - y) * levels / bar.Dy()
		f.canvas.block(image.Rect(bar.Min.X, y, bar.Max.X, y+1), level*levelStride)
	}
	for i := range s.steps + 1 {
		y := bar.Max.Y - 1 - i*(bar.Dy()-1)/s.steps
		f.canvas.block(image.Rect(bar.Max.X+1, y, bar.Max.X+1+tickLength, y+1), frameIndex)
		label := s.step.label(i)
		if i == s.steps && s.over {
			label += "+"
		}
		f.canvas.text(bar.Max.X+tickLength+5, y-lineHeight/2, dimIndex, plainFace, label)
	}
	f.canvas.text(bar.Min.X, bar.Min.Y-panelCaption-1, dimIndex, plainFace, unit)
}

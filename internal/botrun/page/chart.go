package page

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// chart is a line plot over the seconds of a run.
type chart struct {
	Title string
	Unit  string
	Lines []line
	// Limits are thresholds in the chart's unit.
	Limits []limit
}

// limit is a threshold of what a chart shows.
type limit struct {
	Text string
	At   float64
}

// line is one series. NaN stands for a gap.
type line struct {
	Name  string
	X, Y  []float64
	color string
}

// Dimensions of the plot in its view box; the page scales it.
const (
	chartWidth, chartHeight = 640.0, 220.0
	leftMargin, rightMargin = 52.0, 12.0
	topMargin, bottomMargin = 10.0, 32.0
)

// palette is colour-blind safe (M. Okabe, K. Ito, 2008). The page defines the colours,
// with lighter ones for dark mode.
var palette = [...]string{"var(--line-1)", "var(--line-2)", "var(--line-3)", "var(--line-4)", "var(--line-5)"}

// empty reports whether nothing was measured.
func (c chart) empty() bool {
	for _, l := range c.Lines {
		for _, y := range l.Y {
			if !math.IsNaN(y) {
				return false
			}
		}
	}
	return true
}

// span returns the lengths of both axes; y starts at 0.
func (c chart) span() (x, y float64) {
	for _, l := range c.Lines {
		for i := range l.X {
			x = max(x, l.X[i])
			if !math.IsNaN(l.Y[i]) {
				y = max(y, l.Y[i])
			}
		}
	}
	for _, l := range c.Limits {
		y = max(y, l.At)
	}
	if x == 0 {
		x = 1
	}
	if y == 0 {
		y = 1
	}
	return x, y
}

// step returns a round distance between ticks, with about n ticks in span.
func step(span float64, n int) float64 {
	raw := span / float64(n)
	unit := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 5} {
		if raw <= m*unit {
			return m * unit
		}
	}
	return 10 * unit
}

// SVG draws the chart. Its text is either from this package or escaped.
func (c chart) SVG() template.HTML {
	var b strings.Builder
	spanX, spanY := c.span()
	stepX, stepY := step(spanX, 8), step(spanY, 4)
	spanY = math.Ceil(spanY/stepY) * stepY
	px := func(x float64) float64 { return leftMargin + x/spanX*(chartWidth-leftMargin-rightMargin) }
	py := func(y float64) float64 {
		return chartHeight - bottomMargin - y/spanY*(chartHeight-topMargin-bottomMargin)
	}
	fmt.Fprintf(&b, `<svg viewBox="0 0 %g %g" role="img" tabindex="0" aria-label="%s: the arrow keys show values">`, chartWidth, chartHeight, template.HTMLEscapeString(c.Title))
	for i := 0.0; i*stepY <= spanY*1.0001; i++ {
		y := py(i * stepY)
		fmt.Fprintf(&b, `<line class="grid" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, leftMargin, y, chartWidth-rightMargin, y)
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="end">%s</text>`, leftMargin-6, y+4, tick(i*stepY))
	}
	for i := 0.0; i*stepX <= spanX*1.0001; i++ {
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="middle">%s s</text>`, px(i*stepX), chartHeight-6, tick(i*stepX))
	}
	for i, l := range c.Lines {
		l.color = palette[i%len(palette)]
		l.draw(&b, c.Unit, px, py)
	}
	for _, l := range c.Limits {
		if l.At >= 0 {
			text := py(l.At) + 13
			if text > chartHeight/2 {
				text -= 17 // above the line: low values are below it
			}
			fmt.Fprintf(&b, `<line class="limit" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, leftMargin, py(l.At), chartWidth-rightMargin, py(l.At))
			fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="end">fails: %s</text>`, chartWidth-rightMargin, text, template.HTMLEscapeString(l.Text))
		}
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

// manyDots is the number of dots above which they would hide the line. They are then invisible,
// but still show their values on hover.
const manyDots = 200

// draw writes a line, split at gaps, and a dot per point. The page's script shows the values of the
// dots below the pointer, or chosen by the arrow keys.
func (l line) draw(b *strings.Builder, unit string, px, py func(float64) float64) {
	var piece []string
	flush := func() {
		if len(piece) > 1 {
			fmt.Fprintf(b, `<polyline points="%s" stroke="%s"/>`, strings.Join(piece, " "), l.color)
		}
		piece = piece[:0]
	}
	opacity := 1
	if len(l.Y) > manyDots {
		opacity = 0
	}
	for i, y := range l.Y {
		if math.IsNaN(y) {
			flush()
			continue
		}
		piece = append(piece, fmt.Sprintf("%.1f,%.1f", px(l.X[i]), py(y)))
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="2" fill="%s" fill-opacity="%d" data-at="%s s" data-value="%s %s %s"/>`,
			px(l.X[i]), py(y), l.color, opacity, number(l.X[i]), template.HTMLEscapeString(l.Name), number(y), template.HTMLEscapeString(unit))
	}
	flush()
}

// Legend returns the names of the lines in their colours.
func (c chart) Legend() template.HTML {
	var b strings.Builder
	for i, l := range c.Lines {
		fmt.Fprintf(&b, `<span style="color:%s">%s</span> `, palette[i%len(palette)], template.HTMLEscapeString(l.Name))
	}
	return template.HTML(b.String())
}

func tick(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// number formats three digits, without an exponent for common magnitudes.
func number(v float64) string {
	if v != 0 && math.Abs(v) < 1e6 && math.Abs(v) >= 1e-3 {
		return strconv.FormatFloat(v, 'f', max(0, 2-int(math.Floor(math.Log10(math.Abs(v))))), 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

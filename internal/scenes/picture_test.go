package scenes

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
	"github.com/worldd/worldd/world/motion"
)

var drawStorm = flag.Bool("draw", false, "write storm.svg and storm_motion.svg, pictures in the README")

// view is the part of a world that a picture shows, from above: its middle and half its size in metres, and the
// pixels of a metre.
type view struct {
	centerX, centerZ, halfX, halfZ float32
	scale                          float32
}

// stormView is on the whirl's path.
var stormView = view{centerZ: 40, halfX: 88, halfZ: 44, scale: 5}

// point is a place in a picture, in pixels.
type point struct{ x, z int }

// legendHeight is the height of the line below a picture, in pixels.
const legendHeight = 26

// The whirl's radius in metres, and its color.
const (
	whirlRadius = 16
	whirlColor  = "#48dbfb"
)

var legend = [][2]string{
	{"#4d5a6a", "crate, asleep"}, {"#ff9f43", "crate, awake"}, {"#fff3b0", "spark"}, {whirlColor, "whirl"}, {"#ff6b6b", "explosion"},
}

// lightColors are the colors of pictures on dark pages, each with the one on light pages.
var lightColors = [][2]string{
	{"#10151c", "#f6f8fa"},
	{"#1b2430", "#e6ebf1"},
	{"#4d5a6a", "#a3afbd"},
	{"#ff9f43", "#d9730d"},
	{"#fff3b0", "#b08800"},
	{"#48dbfb", "#0b8fb3"},
	{"#ff6b6b", "#cf2f2f"},
	{"#c8d3df", "#3a4653"},
	{"#8796a8", "#3a4653"},
}

// TestPicture keeps the README's picture up to date: it is drawn from the world.
func TestPicture(t *testing.T) {
	f := must.Get(Named("storm"))
	s := must.Get(Build(f))
	for range 640 {
		s.World.Step()
	}
	got := drawScene(s)
	if *drawStorm {
		require.NoError(t, os.WriteFile("storm.svg", []byte(got), 0o644))
	}
	want := must.Get(os.ReadFile("storm.svg"))
	require.True(t, got == string(want), "storm.svg is not what the scene looks like: draw it with -draw")
}

// drawScene draws the middle of a scene from above.
func drawScene(s *Scene) string {
	v := stormView
	var b strings.Builder
	v.begin(&b)
	drawEffects(&b, s)
	asleep, awake, sparks := "", "", ""
	for slot := range s.World.Live().All() {
		e := s.World.Slots().Handle(slot)
		at, ok := s.World.Position(e)
		if !ok || !v.contains(at) {
			continue
		}
		kind, _ := s.World.KindOf(e)
		x, z := v.toPixels(at)
		switch {
		case kind == s.kinds["spark"]:
			sparks += fmt.Sprintf("M%d %dh3v3h-3z", x-1, z-1)
		case s.World.Awake(e):
			awake += fmt.Sprintf("M%d %dh5v5h-5z", x-2, z-2)
		default:
			asleep += fmt.Sprintf("M%d %dh5v5h-5z", x-2, z-2)
		}
	}
	for _, layer := range [][3]string{{asleep, "#4d5a6a", "crate, asleep"}, {awake, "#ff9f43", "crate, awake"}, {sparks, "#fff3b0", "spark"}} {
		fmt.Fprintf(&b, `<path d="%s" fill="%s"/>`+"\n", layer[0], layer[1])
	}
	v.drawLegend(&b, legend, fmt.Sprintf("storm, tick 640, %g x %g m", 2*v.halfX, 2*v.halfZ))
	b.WriteString("</svg>\n")
	return b.String()
}

func drawEffects(b *strings.Builder, s *Scene) {
	for _, e := range s.World.AppendEffects(nil) {
		x, z := stormView.toPixels(e.Center)
		switch {
		case e.Path.Form == motion.Orbit:
			writeCircle(b, point{x, z}, whirlRadius*stormView.scale, whirlColor)
			b.WriteString("</circle>\n")
		case e.Path.Form == motion.Linear && stormView.contains(e.Center):
			writeCircle(b, point{x, z}, 12*stormView.scale, "#ff6b6b")
			b.WriteString("</circle>\n")
		}
	}
}

// writeCircle writes the start of a circle.
func writeCircle(b *strings.Builder, at point, radius float32, color string) {
	fmt.Fprintf(b, `<circle cx="%d" cy="%d" r="%g" fill="%s" fill-opacity="0.25" stroke="%s">`, at.x, at.z, radius, color, color)
}

// begin writes the start of a picture: its size, colors and ground.
func (v view) begin(b *strings.Builder) {
	width, height := v.size()
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" font-family="sans-serif" font-size="13">`+"\n", width, height)
	b.WriteString("<style>@media (prefers-color-scheme: light) {\n")
	for _, c := range lightColors {
		fmt.Fprintf(b, `[fill="%s"] { fill: %s } [stroke="%s"] { stroke: %s }`+"\n", c[0], c[1], c[0], c[1])
	}
	fmt.Fprintf(b, "}</style>\n"+`<rect width="%g" height="%g" fill="#10151c"/>`+"\n", width, height)
}

// drawLegend writes the line below a picture: colors with their names, and a note at the right end.
func (v view) drawLegend(b *strings.Builder, entries [][2]string, note string) {
	width, height := v.size()
	fmt.Fprintf(b, `<rect y="%g" width="100%%" height="%d" fill="#1b2430"/>`+"\n", height-legendHeight, legendHeight)
	x := 14
	for _, entry := range entries {
		fmt.Fprintf(b, `<rect x="%d" y="%g" width="10" height="10" fill="%s"/><text x="%d" y="%g" fill="#c8d3df">%s</text>`+"\n",
			x, height-18, entry[0], x+16, height-9, entry[1])
		x += 30 + 8*len(entry[1])
	}
	fmt.Fprintf(b, `<text x="%g" y="%g" fill="#8796a8" text-anchor="end">%s</text>`+"\n", width-14, height-9, note)
}

// size returns a picture's width and height in pixels, with its legend.
func (v view) size() (width, height float32) {
	return 2 * v.halfX * v.scale, 2*v.halfZ*v.scale + legendHeight
}

func (v view) contains(at world.Vec3) bool {
	return at.X > v.centerX-v.halfX && at.X < v.centerX+v.halfX && at.Z > v.centerZ-v.halfZ && at.Z < v.centerZ+v.halfZ
}

func (v view) toPixels(at world.Vec3) (x, z int) {
	return int((at.X - v.centerX + v.halfX) * v.scale), int((at.Z - v.centerZ + v.halfZ) * v.scale)
}

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

var drawStorm = flag.Bool("draw", false, "write storm.svg, the picture in the README, anew")

// Half extents, centre and scale of the picture, in metres.
const (
	pictureX, pictureZ = 88, 44
	pictureCenterZ     = 40 // on the whirl's path
	pictureScale       = 5
)

// lightColors replaces the colors of the picture on light pages.
const lightColors = `<style>@media (prefers-color-scheme: light) {
[fill="#10151c"] { fill: #f6f8fa } [fill="#1b2430"] { fill: #e6ebf1 }
[fill="#4d5a6a"] { fill: #a3afbd } [fill="#ff9f43"] { fill: #d9730d } [fill="#fff3b0"] { fill: #b08800 }
[fill="#48dbfb"] { fill: #0b8fb3; stroke: #0b8fb3 } [fill="#ff6b6b"] { fill: #cf2f2f; stroke: #cf2f2f }
[fill="#c8d3df"], [fill="#8796a8"] { fill: #3a4653 }
}</style>
`

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
	require.True(t, got == string(want), "storm.svg is not what the scene looks like: draw it anew with -draw")
}

// drawScene draws the middle of a scene from above.
func drawScene(s *Scene) string {
	const width, height = 2 * pictureX * pictureScale, 2*pictureZ*pictureScale + 26
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13">`+"\n", width, height)
	b.WriteString(lightColors)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#10151c"/>`+"\n", width, height)
	drawEffects(&b, s)
	asleep, awake, sparks := "", "", ""
	for slot := range s.World.Live().All() {
		e := s.World.Slots().Handle(slot)
		at, ok := s.World.Position(e)
		if !ok || !inPicture(at) {
			continue
		}
		kind, _ := s.World.KindOf(e)
		x, z := toPicture(at)
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
	drawLegend(&b, height)
	b.WriteString("</svg>\n")
	return b.String()
}

func drawEffects(b *strings.Builder, s *Scene) {
	circle := func(at world.Vec3, radius int, color string) {
		x, z := toPicture(at)
		fmt.Fprintf(b, `<circle cx="%d" cy="%d" r="%d" fill="%s" fill-opacity="0.25" stroke="%s"/>`+"\n", x, z, radius*pictureScale, color, color)
	}
	for _, e := range s.World.AppendEffects(nil) {
		switch {
		case e.Path.Form == motion.Orbit:
			circle(e.Center, 16, "#48dbfb")
		case e.Path.Form == motion.Linear && inPicture(e.Center):
			circle(e.Center, 12, "#ff6b6b")
		}
	}
}

func drawLegend(b *strings.Builder, height int) {
	fmt.Fprintf(b, `<rect y="%d" width="100%%" height="26" fill="#1b2430"/>`+"\n", height-26)
	x := 14
	for _, entry := range [][2]string{
		{"#4d5a6a", "crate, asleep"}, {"#ff9f43", "crate, awake"}, {"#fff3b0", "spark"}, {"#48dbfb", "whirl"}, {"#ff6b6b", "explosion"},
	} {
		fmt.Fprintf(b, `<rect x="%d" y="%d" width="10" height="10" fill="%s"/><text x="%d" y="%d" fill="#c8d3df">%s</text>`+"\n",
			x, height-18, entry[0], x+16, height-9, entry[1])
		x += 30 + 8*len(entry[1])
	}
	fmt.Fprintf(b, `<text x="%d" y="%d" fill="#8796a8" text-anchor="end">storm, tick 640, %d x %d m</text>`+"\n",
		2*pictureX*pictureScale-14, height-9, 2*pictureX, 2*pictureZ)
}

func inPicture(at world.Vec3) bool {
	return at.X > -pictureX && at.X < pictureX && at.Z > pictureCenterZ-pictureZ && at.Z < pictureCenterZ+pictureZ
}

func toPicture(at world.Vec3) (x, z int) {
	return int((at.X + pictureX) * pictureScale), int((at.Z - pictureCenterZ + pictureZ) * pictureScale)
}

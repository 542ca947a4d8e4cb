package scenes

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world/motion"
)

// The animation has a picture every twelve ticks; what moves is interpolated between them.
const (
	motionFrames    = 40
	motionTicks     = 12
	motionAnimation = ` dur="8s" repeatCount="indefinite"`
)

// motionView is where the whirl passes two fountains.
var motionView = view{centerX: 8, centerZ: 58, halfX: 44, halfZ: 22, scale: 10}

// stay is a time for which something looks alike: its pictures from the first one on.
type stay struct {
	of    bulk.Handle
	look  look
	first int
	at    []point
}

func (s *stay) end() int { return s.first + len(s.at) } // the first picture without it

// look names how a body is drawn.
type look int

const (
	asleep look = iota
	awake
	spark
)

var (
	lookColors = [...]string{"#4d5a6a", "#ff9f43", "#fff3b0"}
	lookSizes  = [...]int{9, 9, 4}
)

// motionPicture collects what the animation shows.
type motionPicture struct {
	stays   []*stay
	current map[bulk.Handle]*stay
	whirl   []point
}

// TestMotionPicture keeps the README's animation up to date: it is a run of the world.
func TestMotionPicture(t *testing.T) {
	s := must.Get(Build(must.Get(Named("storm"))))
	for range 640 {
		s.World.Step()
	}
	m := motionPicture{current: map[bulk.Handle]*stay{}}
	for i := range motionFrames + 1 {
		m.add(s, i)
		for range motionTicks {
			s.World.Step()
		}
	}
	got := m.draw()
	if *drawStorm {
		require.NoError(t, os.WriteFile("storm_motion.svg", []byte(got), 0o644))
	}
	want := must.Get(os.ReadFile("storm_motion.svg"))
	require.True(t, got == string(want), "storm_motion.svg is not how the scene moves: draw it with -draw")
}

// add adds picture i.
func (m *motionPicture) add(s *Scene, i int) {
	for slot := range s.World.Live().All() {
		e := s.World.Slots().Handle(slot)
		at, ok := s.World.Position(e)
		if !ok || !motionView.contains(at) {
			continue
		}
		l := asleep
		if kind, _ := s.World.KindOf(e); kind == s.kinds["spark"] {
			l = spark
		} else if s.World.Awake(e) {
			l = awake
		}
		before := m.current[e]
		x, z := motionView.toPixels(at)
		if before == nil || before.look != l || before.end() != i {
			before = &stay{of: e, look: l, first: i}
			m.current[e] = before
			m.stays = append(m.stays, before)
		}
		before.at = append(before.at, point{x, z})
	}
	for _, e := range s.World.AppendEffects(nil) {
		if e.Path.Form == motion.Orbit {
			x, z := motionView.toPixels(e.Center)
			m.whirl = append(m.whirl, point{x, z})
		}
	}
}

// draw returns the animation.
func (m *motionPicture) draw() string {
	var b strings.Builder
	motionView.begin(&b)
	var still []*stay
	var lanes [len(lookColors)][][]*stay
	for _, s := range m.stays {
		if s.look == asleep && len(s.at) == motionFrames+1 {
			still = append(still, s)
		} else {
			lanes[s.look] = addToLane(lanes[s.look], s)
		}
	}
	fmt.Fprintf(&b, `<path stroke="%s" stroke-width="%d" d="`, lookColors[asleep], lookSizes[asleep])
	for _, s := range still {
		b.WriteString(square(s.at[0], lookSizes[asleep], lookSizes[asleep]))
	}
	b.WriteString(`"/>` + "\n<g>")
	animate(&b, "opacity", ` keyTimes="0;.03;.97;1"`, "0", "1", "1", "0") // the end does not fit the start
	m.drawWhirl(&b)
	for l, of := range lanes {
		frames := make([]string, motionFrames+1)
		for i := range frames {
			for _, lane := range of {
				frames[i] += drawLane(lane, i, lookSizes[l])
			}
		}
		fmt.Fprintf(&b, `<path stroke="%s" stroke-width="%d" d="%s">`, lookColors[l], lookSizes[l], frames[motionFrames/2])
		animate(&b, "d", "", frames...)
		b.WriteString("</path>\n")
	}
	m.drawHeld(&b)
	b.WriteString("</g>\n")
	motionView.drawLegend(&b, legend[:4], fmt.Sprintf("storm, %g x %g m", 2*motionView.halfX, 2*motionView.halfZ))
	b.WriteString("</svg>\n")
	return b.String()
}

// addToLane adds a stay to the first lane that has room for it. A stay grows from nothing in the picture before its first
// one, and has shrunk to nothing in the one after its last: between two stays a lane jumps unseen.
func addToLane(lanes [][]*stay, s *stay) [][]*stay {
	for i, lane := range lanes {
		if s.first >= lane[len(lane)-1].end()+2 {
			lanes[i] = append(lane, s)
			return lanes
		}
	}
	return append(lanes, []*stay{s})
}

// drawLane returns what a lane shows in picture i.
func drawLane(lane []*stay, i, size int) string {
	for _, s := range lane {
		switch {
		case i < s.first:
			return square(s.at[0], size, 0)
		case i < s.end():
			return square(s.at[i-s.first], size, size)
		case i == s.end():
			return square(s.at[len(s.at)-1], size, 0)
		}
	}
	return square(point{}, size, 0)
}

// square returns a line that is as long as it is wide, or an invisible one: all have the same commands, and can be
// interpolated.
func square(at point, size, length int) string {
	return fmt.Sprintf("M%d %dh%d", at.x-size/2, at.z, length)
}

func (m *motionPicture) drawWhirl(b *strings.Builder) {
	var x, z []string
	for _, at := range m.whirl {
		x, z = append(x, strconv.Itoa(at.x)), append(z, strconv.Itoa(at.z))
	}
	writeCircle(b, m.whirl[motionFrames/2], whirlRadius*motionView.scale, whirlColor)
	animate(b, "cx", "", x...)
	animate(b, "cy", "", z...)
	b.WriteString("</circle>\n")
}

// animate writes values of an attribute, one for each picture unless times says otherwise.
func animate(b *strings.Builder, attribute, times string, values ...string) {
	fmt.Fprintf(b, `<animate attributeName="%s"%s%s values="%s"/>`, attribute, motionAnimation, times, strings.Join(values, ";"))
}

// held is a spark whose handle is held, and the spark that has its slot next.
type held struct{ first, next *stay }

// findHeld returns the first pair that can be followed.
func (m *motionPicture) findHeld() held {
	for _, a := range m.stays {
		for _, b := range m.stays {
			if a.look == spark && b.of.Index() == a.of.Index() && b.of.Generation() == a.of.Generation()+2 &&
				a.first >= 3 && len(a.at) >= 9 && len(a.at) <= 13 && b.first-a.end() <= 5 && len(b.at) >= 11 && b.end() < motionFrames-2 {
				return held{a, b}
			}
		}
	}
	panic("no spark of the run can be followed: change findHeld")
}

// drawHeld follows a spark until its handle is stale, and the spark that has the same slot then.
func (m *motionPicture) drawHeld(b *strings.Builder) {
	h := m.findHeld()
	last := h.first.at[len(h.first.at)-1]
	mark(b, h.first, h.first.first, h.first.end(), "#c8d3df", h.first.of.String()+" live")
	grave := &stay{first: h.first.end(), at: []point{last}}
	mark(b, grave, h.first.end(), motionFrames+1, "#ff6b6b", h.first.of.String()+" stale")
	mark(b, h.next, h.next.first, h.next.end(), "#8796a8", h.next.of.String()+" has its slot")
}

// mark draws a ring with a text, from one picture to another.
func mark(b *strings.Builder, s *stay, from, to int, color, text string) {
	var places, opacity []string
	for i := range motionFrames + 1 {
		at := s.at[min(max(i-s.first, 0), len(s.at)-1)]
		places = append(places, fmt.Sprintf("%d %d", at.x, at.z))
		shown := "0"
		if from <= i && i < to {
			shown = "1"
		}
		opacity = append(opacity, shown)
	}
	side := `x="14"`
	if width, _ := motionView.size(); float32(s.at[0].x) > width/2 {
		side = `x="-14" text-anchor="end"`
	}
	b.WriteString(`<g opacity="0">`)
	animate(b, "opacity", ` calcMode="discrete"`, opacity[:motionFrames]...)
	fmt.Fprintf(b, `<animateTransform attributeName="transform" type="translate"%s values="%s"/>`, motionAnimation, strings.Join(places, ";"))
	fmt.Fprintf(b, `<circle r="9" fill="none" stroke="%s" stroke-width="2"/><text %s y="5" fill="%s" font-weight="bold" stroke="#10151c" stroke-width="3" paint-order="stroke">%s</text></g>`+"\n", color, side, color, text)
}

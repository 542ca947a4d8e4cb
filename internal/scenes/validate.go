package scenes

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/worldd/worldd/field"
)

// checker validates a File and reports each mistake with its position.
type checker struct {
	complaints
	*File
}

// Validate reports all mistakes in the file, with positions if it was parsed. Parse
// calls it; Build calls it for Files made in Go.
func (f *File) Validate() error {
	c := &checker{complaints{file: cmp.Or(f.source, f.Name, "world file"), lines: f.lines}, f}
	if !c.lengths() {
		return c.err()
	}
	c.world()
	c.kinds()
	c.effects()
	c.spawns()
	c.emitters()
	c.players()
	if len(c.list) == 0 {
		c.capacity()
	}
	return c.err()
}

// lengths checks the lengths of lists before any work that grows with them.
func (c *checker) lengths() bool {
	for _, l := range []struct {
		path    string
		n, most int
	}{
		{"kinds", len(c.Kinds), MaxKinds},
		{"effects", len(c.Effects), MaxEffects},
		{"spawns", len(c.Spawns), MaxSpawns},
		{"emitters", len(c.Emitters), MaxEmitters},
	} {
		if l.n > l.most {
			c.wrong(l.path, fmt.Sprintf(" has %d entries", l.n), fmt.Sprintf("at most %d", l.most))
		}
	}
	return len(c.list) == 0
}

// place returns the position of path, or, for a missing key, of the nearest enclosing
// part.
func (c *checker) place(path string) place {
	for path != "" {
		if p, ok := c.places[path]; ok {
			return p
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	if c.complaints.lines == nil {
		return place{}
	}
	return place{line: 1, column: 1}
}

func (c *checker) wrong(path, message, expected string) {
	c.add(c.place(path), path, path+message, expected)
}

// between checks a range; unit is for the message.
func between[N int | float32 | float64](c *checker, path string, x, lo, hi N, unit string) bool {
	if x >= lo && x <= hi { // false for NaN
		return true
	}
	c.wrong(path, " is "+show(x), fmt.Sprintf("%s from %s to %s", unit, show(lo), show(hi)))
	return false
}

func show[N int | float32 | float64](x N) string {
	switch n := any(x).(type) {
	case float32:
		return strconv.FormatFloat(float64(n), 'g', -1, 32)
	case float64:
		return strconv.FormatFloat(n, 'g', -1, 64)
	}
	return fmt.Sprint(x)
}

func (c *checker) world() {
	c.name("name", c.Name, "the world")
	if between(c, "tick_hz", c.TickHz, 1, MaxTickHz, "steps a second,") {
		between(c, "snapshot_hz", c.SnapshotHz, 1, c.TickHz, "snapshots a second, not more than tick_hz:")
	}
	for i, x := range c.Bounds {
		between(c, fmt.Sprintf("bounds[%d]", i), x, 1, MaxBoundMetres, "metres")
	}
	between(c, "gravity", c.Gravity, 0, 100, "m/s²")
	between(c, "cell_metres", c.CellMetres, 2, 256, "metres")
	between(c, "limits.max_entities", c.Limits.MaxEntities, 1, MaxEntities, "entities")
	between(c, "limits.max_players", c.Limits.MaxPlayers, 1, MaxPlayers, "players")
	between(c, "limits.view_age_s", c.Limits.ViewAgeS, 0, MaxViewAgeSeconds, "seconds")
	if between(c, "interest.enter_radius", c.Interest.EnterRadius, 1, 2*MaxBoundMetres, "metres") {
		between(c, "interest.leave_radius", c.Interest.LeaveRadius, c.Interest.EnterRadius, 2*MaxBoundMetres, "metres, not less than enter_radius:")
	}
	between(c, "budget_bytes_per_second", c.BudgetBytesPerSecond, MinBudgetBytesPerSecond, MaxBudgetBytesPerSecond, "bytes a second for one client,")
}

// uniqueName checks the name of a kind or an effect, which must not be in seen, and adds it.
func (c *checker) uniqueName(seen map[string]bool, path, name, what string) {
	c.name(path, name, "the "+what)
	if seen[name] {
		c.wrong(path, " is defined twice", "one "+what+" of that name")
	}
	seen[name] = true
}

func (c *checker) name(path, name, of string) {
	const expected = "letters, digits, - and _, at most 64 of them"
	switch {
	case name == "":
		c.add(c.place(path), path, of+" has no name", expected)
	case len(name) > MaxNameBytes || strings.ContainsFunc(name, func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}):
		p := c.place(path)
		if key, ok := c.places[path+"#"]; ok {
			p = key
		}
		c.add(p, path, fmt.Sprintf("%q cannot be a name", shorten(name)), expected)
	}
}

func (c *checker) kinds() {
	if len(c.Kinds) == 0 {
		c.wrong("kinds", " is missing or empty", "at least one kind, for example `crate: {body: {mass: 20}}`")
	}
	seen := map[string]bool{}
	for _, k := range c.Kinds {
		path := "kinds." + k.Name
		c.uniqueName(seen, path, k.Name, "kind")
		between(c, path+".priority", k.Priority, 0.001, 1000, "a weight")
		if b := k.Body; b != nil {
			between(c, path+".body.mass", b.Mass, 0.001, 1e6, "kg")
			between(c, path+".body.drag", b.Drag, 0, 1000, "1/s")
			if between(c, path+".body.radius", b.Radius, 0.01, 100, "metres") && c.Bounds[1] >= 1 { // if not, the bounds are wrong
				between(c, path+".body.radius", b.Radius, 0.01, c.Bounds[1], "metres, not above bounds[1]:")
			}
			between(c, path+".body.friction", b.Friction, 0, 10, "a coefficient")
			between(c, path+".body.restitution", b.Restitution, 0, 1, "a part")
		}
	}
}

// kind checks a reference to a kind, which must have a body.
func (c *checker) kind(path, name string) {
	var known []string
	for _, k := range c.Kinds {
		if k.Name == name {
			if k.Body == nil {
				c.wrong(path, fmt.Sprintf(" is %q, a kind without a body", name), "a kind with a body")
			}
			return
		}
		known = append(known, k.Name)
	}
	if name == "" {
		c.wrong(path, " is missing", suggest(name, known))
		return
	}
	c.wrong(path, fmt.Sprintf(": no kind is called %q", shorten(name)), suggest(name, known))
}

// region checks that a box is present, not inverted, and inside the world.
func (c *checker) region(path string, r *Region) {
	if r == nil {
		c.wrong(path, " is missing", "`region: {min: [x, y, z], max: [x, y, z]}` in metres")
		return
	}
	for i := range r.Min {
		lo, hi := -c.Bounds[i], c.Bounds[i]
		if i == 1 {
			lo = 0
		}
		axis := fmt.Sprintf("[%d]", i)
		if between(c, path+".min"+axis, r.Min[i], lo, hi, "metres inside the bounds,") &&
			between(c, path+".max"+axis, r.Max[i], lo, hi, "metres inside the bounds,") && r.Max[i] < r.Min[i] {
			c.wrong(path+".max"+axis, fmt.Sprintf(" is %s, below min (%s)", show(r.Max[i]), show(r.Min[i])), "a number that is not below min")
		}
	}
}

func (c *checker) effects() {
	seen := map[string]bool{}
	for _, e := range c.Effects {
		path := "effects." + e.Name
		c.uniqueName(seen, path, e.Name, "effect")
		if e.Mode != ModeWind && e.Mode != ModeAcceleration {
			what := fmt.Sprintf(" is %q", shorten(e.Mode))
			if e.Mode == "" {
				what = " is missing"
			}
			c.wrong(path+".mode", what, suggest(e.Mode, []string{ModeWind, ModeAcceleration}))
		}
		for i, x := range e.Center {
			between(c, fmt.Sprintf("%s.center[%d]", path, i), x, -MaxBoundMetres, MaxBoundMetres, "metres")
		}
		program := c.program(path, e)
		c.motion(path, e, program)
	}
}

// program compiles an effect's text and reports errors and unused parameters at their
// position in the world file.
func (c *checker) program(path string, e Effect) *field.Program {
	at := path + ".text"
	_, known := field.Shipped(e.Shipped)
	switch {
	case e.Shipped != "" && e.Text != "":
		c.wrong(path+".shipped", " and text are both set", "one of the two")
		return nil
	case e.Shipped != "" && !known:
		c.wrong(path+".shipped", fmt.Sprintf(" is %q", shorten(e.Shipped)), suggest(e.Shipped, field.ShippedNames()))
		return nil
	case e.Shipped != "":
		at = path + ".shipped"
	case strings.TrimSpace(e.Text) == "":
		c.wrong(at, " is missing", "the effect in field's text form, as a literal block (`text: |`), or shipped: the name of one")
		return nil
	case len(e.Text) > MaxEffectTextBytes:
		c.wrong(at, fmt.Sprintf(" has %d bytes", len(e.Text)), fmt.Sprintf("at most %d", MaxEffectTextBytes))
		return nil
	}
	program, err := field.Compile(e.source())
	if err != nil {
		c.syntax(at, err)
		return nil
	}
	unused, _ := field.UnusedParams(e.source()) // never fails: the text compiles
	for _, mistake := range unused {
		c.syntax(at, mistake)
	}
	c.params(path, e, program.Params())
	return program
}

// texts compiles the effects' own texts and checks nothing else, for a file with values
// that could not be decoded.
func (c *checker) texts() {
	if len(c.Effects) > MaxEffects {
		return
	}
	for _, e := range c.Effects {
		if e.Text == "" || len(e.Text) > MaxEffectTextBytes {
			continue
		}
		if _, err := field.Compile(e.Text); err != nil {
			c.syntax("effects."+e.Name+".text", err)
		}
	}
}

// params compares the file's parameters with the effect's declarations.
func (c *checker) params(path string, e Effect, declared []field.Param) {
	var known []string
	for _, d := range declared {
		known = append(known, d.Name)
	}
	for _, p := range e.Params {
		at := path + ".params." + p.Name
		i := slices.Index(known, p.Name)
		if i < 0 {
			where := c.place(at)
			if key, ok := c.places[at+"#"]; ok {
				where = key
			}
			c.add(where, at, fmt.Sprintf("the text of %s declares no parameter %q", path, shorten(p.Name)), suggest(p.Name, known))
			continue
		}
		d, v := declared[i], p.Value
		switch {
		case d.Scalar && v != [4]float32{v[0], v[0], v[0], v[0]}:
			c.wrong(at, " is a list", "a number: the effect declares it as one")
		case !d.Allows(v):
			c.wrong(at, " is outside of the effect's range", fmt.Sprintf("%v to %v", d.Min, d.Max))
		}
	}
}

func (c *checker) syntax(at string, err error) {
	p := c.place(at)
	wrong, ok := errors.AsType[*field.SyntaxError](err)
	if !ok {
		c.add(p, at, at+": "+err.Error(), "")
		return
	}
	if p.blockLine > 0 && wrong.Line > 0 {
		before := wrong.Source[:min(max(wrong.Column-1, 0), len(wrong.Source))] // field counts bytes
		p = place{line: p.blockLine + wrong.Line - 1, column: p.blockIndent + utf8.RuneCountInString(before) + 1}
	}
	c.add(p, at, at+": "+wrong.Message, wrong.Expected)
}

func (c *checker) motion(path string, e Effect, program *field.Program) {
	if o := e.Orbit; o != nil {
		between(c, path+".orbit.radius", o.Radius, 0, MaxBoundMetres, "metres")
		if between(c, path+".orbit.period_s", math.Abs(o.PeriodS), 0.1, 86400, "seconds (negative: reverse direction), with a magnitude") {
			between(c, path+".orbit.phase", o.Phase, 0, 1, "turns")
		}
	}
	if p := e.Pulse; p != nil {
		if e.Orbit != nil {
			c.wrong(path+".pulse", " and orbit are both set", "one of the two")
		}
		between(c, path+".pulse.per_second", p.PerSecond, 0, MaxPulsesPerSecond, "pulses a second,")
		between(c, path+".pulse.life_s", p.LifeS, 0.01, MaxPulseLifeSeconds, "seconds")
		between(c, path+".pulse.speed", p.Speed, 0, MaxMetresPerSecond, "m/s")
		c.region(path+".pulse.region", p.Region)
	}
	if program == nil || e.Orbit == nil && e.Pulse == nil {
		return
	}
	if _, ok := program.Box(); !ok {
		at := path + ".text"
		if e.Shipped != "" {
			at = path + ".shipped"
		}
		c.wrong(at, " has no box, but the effect moves: it would wake the whole world at every step", "a box in the text")
	}
}

func (c *checker) spawns() {
	for i, s := range c.Spawns {
		path := fmt.Sprintf("spawns[%d]", i)
		c.kind(path+".kind", s.Kind)
		switch {
		case s.Grid == nil:
			between(c, path+".count", s.Count, 1, c.Limits.MaxEntities, "entities,")
			c.region(path+".region", s.Region)
		case s.Count != 0 || s.Region != nil:
			c.wrong(path+".grid", " and count or region are both set", "either count and region, or grid")
		default:
			c.grid(path+".grid", s.Grid)
		}
	}
}

func (c *checker) grid(path string, g *Grid) {
	between(c, path+".spacing", g.Spacing, 0.01, MaxBoundMetres, "metres")
	for i, n := range g.Count {
		axis := fmt.Sprintf("[%d]", i)
		lo, hi := -c.Bounds[i], c.Bounds[i]
		if i == 1 {
			lo = 0
		}
		if between(c, path+".count"+axis, n, 1, c.Limits.MaxEntities, "entities,") &&
			between(c, path+".at"+axis, g.At[i], lo, hi, "metres inside the bounds,") {
			if far := g.At[i] + float32(n-1)*g.Spacing; far > hi {
				c.wrong(path+".count"+axis, fmt.Sprintf(" is %d, and the last stands at %s m", n, show(far)), fmt.Sprintf("a grid that ends before %s m", show(hi)))
			}
		}
	}
}

func (c *checker) emitters() {
	for i, e := range c.Emitters {
		path := fmt.Sprintf("emitters[%d]", i)
		c.kind(path+".kind", e.Kind)
		between(c, path+".per_second", e.PerSecond, 0, MaxSpawnsPerSecond, "spawns a second,")
		if between(c, path+".life_s[0]", e.LifeS[0], 0.02, MaxLifeSeconds, "seconds") {
			between(c, path+".life_s[1]", e.LifeS[1], e.LifeS[0], MaxLifeSeconds, "seconds, not below the first:")
		}
		if between(c, path+".speed[0]", e.Speed[0], 0, MaxMetresPerSecond, "m/s") {
			between(c, path+".speed[1]", e.Speed[1], e.Speed[0], MaxMetresPerSecond, "m/s, not below the first:")
		}
		c.region(path+".region", e.Region)
	}
}

func (c *checker) players() {
	c.kind("players.kind", c.Players.Kind)
	between(c, "players.speed", c.Players.Speed, 0, MaxMetresPerSecond, "m/s")
	between(c, "players.poke", c.Players.Poke, 0, MaxMetresPerSecond, "m/s")
	c.region("players.region", c.Players.Region)
}

// most returns how many entities may live at once, without missiles.
func (f *File) most() float64 {
	total := float64(f.Limits.MaxPlayers)
	for _, s := range f.Spawns {
		total += float64(s.Count)
		if g := s.Grid; g != nil {
			total += float64(g.Count[0]) * float64(g.Count[1]) * float64(g.Count[2])
		}
	}
	for _, e := range f.Emitters {
		total += float64(e.most(f.TickHz))
	}
	return total
}

// capacity checks that everything fits at once, so that spawns in a running world
// succeed.
func (c *checker) capacity() {
	total := c.most()
	if total > float64(c.Limits.MaxEntities) {
		c.wrong("limits.max_entities", fmt.Sprintf(" is %d, but spawns, emitters and max_players need up to %.0f at once", c.Limits.MaxEntities, total),
			fmt.Sprintf("%.0f or more, or fewer entities", total))
	}
}

package simulation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/simtest"
)

// A script describes one simulation completely, and runs identically on every machine. It
// is data: a failing seed's script can be shrunk to the operations that matter, and kept as
// text in testdata/scripts.
//
// The text form is a line of settings and a line for each operation, in order:
//
//	seed=17 first=1 slots=4096 budget=16000 hz=20 entities=60 viewers=3 ticks=300
//	@0 link 0 10 0 20 10 60 120
//	@12 refer 5 9
//
// An operation with the prefix "hook:" waits until that hook is called
// (callbacks_test.go). Numbers of entities and viewers are taken modulo their count, so
// that any subset of a script's lines is a valid script.
type script struct {
	seed     int // of the world and of the links
	first    int // generation; negative: counted down from the last
	slots    int // the world's MaxEntities
	budget   int // bytes per second and viewer
	hz       int // snapshots per second
	entities int // at the start, scattered
	viewers  int // at the start
	ticks    int
	ops      []op // by tick, ascending
}

// op is one operation, run before the world steps to a tick.
type op struct {
	tick int
	do   string
	args []int
}

// operations lists all operations and their arguments.
var operations = map[string]string{
	"spawn":     "kind x z vx vz",
	"destroy":   "entity",        // a live entity that no client controls
	"kill":      "viewer",        // destroys its controlled entity
	"flip":      "x z",           // destroys the last flip's entity; a new one takes its slot
	"flash":     "kind x z",      // spawns and destroys an entity within one frame
	"defer":     "kind x z",      // spawns when deferred changes are applied
	"push":      "entity vx vz",  //
	"move":      "entity x z",    //
	"refer":     "entity handle", // sets its Target to any handle ever issued
	"unrefer":   "entity",        //
	"ride":      "entity entity", // seats the first on the second
	"rename":    "entity which",  // changes a text, or its set of components
	"pay":       "entity coins",  // changes its owner component
	"own":       "viewer entity", // its session becomes an owner
	"disown":    "viewer which",  // one of the entities given by own or claim
	"give":      "viewer which viewer",
	"claim":     "viewer handle",      // its session becomes an owner of any handle ever issued
	"steer":     "viewer handle",      // its session controls any handle ever issued, or nothing
	"inform":    "viewer handle",      // the game sends it any handle ever issued, outside the protocol
	"tell":      "viewer handle kind", // sends its session an event with any handle ever issued
	"flood":     "viewer events",      // sends its session n reliable events
	"cry":       "viewer handle kind", // sends an event to all
	"witness":   "entity handle kind", // sends an event to all who see the entity
	"near":      "x z kind",           // sends an event to all near a place
	"filter":    "viewer rule",        // replaces its session's filter
	"roam":      "viewer steps",       // iterates over its interest set and changes owners
	"survey":    "viewer entities",    // resolves handles in its replica
	"kick":      "viewer",             //
	"bar":       "",                   // the game refuses the next join
	"drain":     "",                   // the server drains, and restarts 10 ticks later
	"light":     "entity",             // toggles visibility from any distance
	"veil":      "entity",             // toggles visibility to owners only
	"gust":      "entity ticks",       // adds an effect that follows it
	"poke":      "viewer handle",      // commands any handle ever issued
	"touch":     "viewer entity",      // commands an entity in its view
	"ask":       "viewer handle any",  // asks a typed question; clients then send typed inputs
	"name":      "viewer which",       // commands one or two entities to be made
	"aim":       "viewer inputs",      // its next inputs name an entity to be made
	"simulate":  "viewers",            // a set of bits: these viewers, modulo 8, simulate
	"plain":     "viewers",            // a set of bits: these viewers, modulo 8, receive plain rows
	"toss":      "kind x z vx vz",     // spawns a body of a kind that only such scripts have
	"hit":       "entity vx vz",       // an impulse
	"rouse":     "entity",             // wakes it
	"lull":      "entity",             // puts it to sleep
	"fan":       "x z form",           // adds an effect
	"turn":      "fan dx dz",          // moves it
	"tune":      "fan x z",            // changes its parameters
	"stop":      "fan",                // removes it
	"forge":     "viewer slot later",  // commands a generation not issued yet
	"link":      "viewer loss duplicate reorder least most extra",
	"corrupt":   "viewer",             // the fold of the next datagram is wrong
	"mislead":   "viewer",             // the next datagram names the structure number of three records ago
	"boast":     "viewer ahead",       // acknowledges something never sent
	"revive":    "viewer handle",      // sends it the Enter of a dead entity
	"rewind":    "viewer back",        // repeats an old acknowledgement
	"join":      "",                   // adds a viewer
	"reconnect": "viewer",             // begins a new session with the handles of this run
	"cut":       "viewer notice away", // breaks its connection; ticks until the server notices, and until it reconnects
	"travel":    "viewer away",        // breaks its connection for any number of ticks; the server notices at once
	"steal":     "viewer which",       // another client requests its session
	"starve":    "viewer ticks",       // nothing leaves its connection for this many ticks
	"pace":      "sixteenths",         // share of calls of enough that return false, in sixteenths
	"save":      "",                   // takes an image
	"restart":   "",                   // restarts from the last image, or with another world
}

// everybody is the viewer number that stands for all viewers in link.
const everybody = -1

// String returns the text form.
func (s *script) String() string {
	var b strings.Builder
	for i, f := range s.fields() {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%s=%d", f.name, *f.value)
	}
	b.WriteByte('\n')
	for _, o := range s.ops {
		fmt.Fprintf(&b, "@%d %s", o.tick, o.do)
		for _, a := range o.args {
			fmt.Fprintf(&b, " %d", a)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

type scriptField struct {
	name  string
	value *int
}

func (s *script) fields() []scriptField {
	return []scriptField{
		{"seed", &s.seed},
		{"first", &s.first},
		{"slots", &s.slots},
		{"budget", &s.budget},
		{"hz", &s.hz},
		{"entities", &s.entities},
		{"viewers", &s.viewers},
		{"ticks", &s.ticks},
	}
}

// parseScript parses the text form. It skips empty lines and lines that begin with #.
func parseScript(text string) (*script, error) {
	s := &script{}
	headed := false
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		words := strings.Fields(line)
		var err error
		if !headed {
			headed, err = true, s.parseSettings(words)
		} else {
			err = s.parseOp(words)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	if !slices.IsSortedFunc(s.ops, func(a, b op) int { return a.tick - b.tick }) {
		return nil, fmt.Errorf("operations are not in tick order")
	}
	return s, nil
}

func (s *script) parseSettings(words []string) error {
	fields := s.fields()
	if len(words) != len(fields) {
		return fmt.Errorf("%d settings, want %d", len(words), len(fields))
	}
	for i, f := range fields {
		name, value, _ := strings.Cut(words[i], "=")
		n, err := strconv.Atoi(value)
		if name != f.name || err != nil {
			return fmt.Errorf("setting %q, want %s=number", words[i], f.name)
		}
		*f.value = n
	}
	return nil
}

func (s *script) parseOp(words []string) error {
	at, isTick := strings.CutPrefix(words[0], "@")
	tick, err := strconv.Atoi(at)
	if !isTick || err != nil || len(words) < 2 {
		return fmt.Errorf("%q, want @tick operation numbers", strings.Join(words, " "))
	}
	o := op{tick: tick, do: words[1]}
	for _, w := range words[2:] {
		n, err := strconv.Atoi(w)
		if err != nil {
			return err
		}
		o.args = append(o.args, n)
	}
	name := o.do
	if _, inHook, found := strings.Cut(o.do, ":"); found {
		name = inHook
	}
	want, ok := operations[name]
	if !ok || len(o.args) != len(strings.Fields(want)) {
		return fmt.Errorf("%q, want %s %s", strings.Join(words[1:], " "), o.do, want)
	}
	s.ops = append(s.ops, o)
	return nil
}

// conditions returns the arguments of a link operation, in percent and milliseconds.
func (o op) conditions() simtest.Conditions {
	a := o.args[1:]
	return simtest.Conditions{
		Loss: float64(a[0]) / 100, Duplicate: float64(a[1]) / 100, Reorder: float64(a[2]) / 100,
		DelayMin: int64(a[3]), DelayMax: int64(a[4]), ReorderExtra: int64(a[5]),
	}
}

// shrink returns the smallest script found that fails by the same invariant.
func (s *script) shrink(invariant string) *script {
	fails := func(t *script) bool {
		_, f := t.run()
		return f != nil && f.invariant == invariant
	}
	small := *s
	for before := ""; before != small.String(); {
		before = small.String()
		if _, f := small.run(); f != nil && f.tick < small.ticks {
			t := small
			t.ticks = max(f.tick, 1)
			t.ops = slices.DeleteFunc(slices.Clone(t.ops), func(o op) bool { return o.tick > t.ticks })
			if fails(&t) {
				small = t
			}
		}
		small.ops = simtest.Shrink(small.ops, func(ops []op) bool {
			t := small
			t.ops = ops
			return fails(&t)
		})
		for _, number := range []func(*script) *int{
			func(t *script) *int { return &t.viewers }, func(t *script) *int { return &t.entities }, func(t *script) *int { return &t.ticks },
		} {
			for low := 1; low < *number(&small); {
				t := small
				*number(&t) = (low + *number(&small)) / 2
				if fails(&t) {
					small = t
				} else {
					low = *number(&t) + 1
				}
			}
		}
	}
	return &small
}

// has reports whether s contains an operation, possibly inside a hook.
func (s *script) has(do string) bool {
	return slices.ContainsFunc(s.ops, func(o op) bool { return o.do == do || strings.HasSuffix(o.do, ":"+do) })
}

// operations returns all operations for which has is true.
func (s *script) operations() map[string]bool {
	names := map[string]bool{}
	for i := range s.ops {
		for name, inner := s.ops[i].do, true; inner; _, name, inner = strings.Cut(name, ":") {
			names[name] = true
		}
	}
	return names
}

// retiring reports whether the slots of s are near their last generation (H4).
func (s *script) retiring() bool { return s.first < 0 }

// firstGeneration returns the first generation of all slots.
func (s *script) firstGeneration() uint32 {
	if s.retiring() {
		return bulk.MaxGeneration - uint32(-s.first)
	}
	return uint32(s.first)
}

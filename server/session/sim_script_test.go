package session_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/simtest"
)

// A script is everything that happens in one simulation. It is data, so that a
// seed that fails can be shrunk to the few operations that it takes, and kept as
// text (testdata/sim). The same script does the same on every machine.
//
// The text form is a line of settings and a line for each operation, in order:
//
//	seed=17 first=1 slots=4096 budget=16000 hz=20 entities=60 viewers=3 ticks=300
//	@0 link 0 10 0 20 10 60 120
//	@12 refer 5 9
//
// An operation after the name of a function of the game's and a colon waits for it
// to be called (sim_callbacks_test.go). Numbers that choose among entities or viewers
// are taken modulo how many there are, so that any part of a script is a script, too.
type script struct {
	seed     int // of the world and of the links
	first    int // generation; negative: so many below the last
	slots    int // at most
	budget   int // bytes a second and viewer
	hz       int // snapshots a second
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
	"destroy":   "entity",        // among the living; who is controlled is spared
	"kill":      "viewer",        // the entity that it controls
	"flip":      "x z",           // the entity that flip made last dies, and another takes its slot
	"flash":     "kind x z",      // an entity that no frame will hold
	"defer":     "kind x z",      // spawned at the next moment for it
	"push":      "entity vx vz",  //
	"move":      "entity x z",    //
	"refer":     "entity handle", // names any handle ever issued, dead or alive
	"unrefer":   "entity",        //
	"ride":      "entity entity", // the one sits on the other
	"pay":       "entity coins",  // changes what only its owners are sent
	"own":       "viewer entity", // its session becomes an owner
	"disown":    "viewer which",  // of those that it was given
	"give":      "viewer which viewer",
	"claim":     "viewer handle",     // its session becomes an owner of any handle ever issued
	"steer":     "viewer handle",     // its session controls any handle ever issued, or nothing
	"inform":    "viewer handle",     // it is sent any handle ever issued, by other ways than these
	"filter":    "viewer rule",       // of what it may see
	"roam":      "viewer steps",      // through its interest set, giving and taking
	"survey":    "viewer entities",   // of its replica
	"kick":      "viewer",            //
	"bar":       "",                  // the next who joins is refused by the game
	"drain":     "",                  // the server ends all sessions and takes no more; it restarts soon
	"light":     "entity",            // is seen from any distance, or no longer
	"veil":      "entity",            // is seen by its owners alone, or no longer
	"gust":      "entity ticks",      // an effect follows it, for so long
	"poke":      "viewer handle",     // commands about any handle ever issued
	"touch":     "viewer entity",     // commands about one of those in view
	"forge":     "viewer slot later", // commands about a generation that is yet to come
	"link":      "viewer loss duplicate reorder least most extra",
	"corrupt":   "viewer",             // the fold of the next datagram is wrong
	"mislead":   "viewer",             // the next datagram names the structure number of three records ago
	"boast":     "viewer ahead",       // acknowledges what was never sent
	"revive":    "viewer handle",      // the server says that somebody enters who is dead
	"rewind":    "viewer back",        // acknowledges what it has acknowledged long ago
	"join":      "",                   // one viewer more
	"reconnect": "viewer",             // in the same run, with handles in hand
	"cut":       "viewer notice away", // its connection breaks; ticks until the server notices, and until it comes again
	"travel":    "viewer away",        // its connection breaks at once, for any number of ticks
	"steal":     "viewer which",       // somebody else asks for its session
	"pace":      "sixteenths",         // of the moments at which it looks, a tick has time for one more snapshot
	"save":      "",                   // an image
	"restart":   "",                   // from the last image, or of another world
}

// everybody is the viewer number for all viewers, in links.
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
		return nil, fmt.Errorf("operations are not in the order of ticks")
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
	deed := o.do
	if _, what, later := strings.Cut(o.do, ":"); later {
		deed = what
	}
	want, ok := operations[deed]
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

// retiring reports whether the slots of s are near their last generation (H4).
func (s *script) retiring() bool { return s.first < 0 }

// firstGeneration returns the first generation of all slots.
func (s *script) firstGeneration() uint32 {
	if s.retiring() {
		return bulk.MaxGeneration - uint32(-s.first)
	}
	return uint32(s.first)
}

package rig

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/worldd/worldd/internal/simtest"
)

// Run is one run of a game for scripts to play. The function given to Search makes it, from the
// script's seed alone.
type Run struct {
	Rig *Rig
	// Join connects a client; nil calls Rig.Join.
	Join func(name string) (*Client, error)
	// Actions are the actions of a client of the game, by names without spaces. number is
	// random, 0 to 65,535. Scripts also join, leave, break connections and change links.
	Actions map[string]func(c *Client, number int)
	// Check returns an error if something is wrong. It is called after each tick.
	Check func() error
}

// script is a list of actions for a game.
type script struct {
	Seed    uint64
	Ticks   int
	Actions []action
}

// action is a line of a script.
type action struct {
	Tick   int
	Do     string
	Client int
	Any    int
}

// String returns the text form.
func (s script) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed=%d ticks=%d\n", s.Seed, s.Ticks)
	for _, a := range s.Actions {
		fmt.Fprintf(&b, "@%d %s %d %d\n", a.Tick, a.Do, a.Client, a.Any)
	}
	return b.String()
}

// parseScript parses the text form.
func parseScript(text string) (script, error) {
	var s script
	for n, line := range strings.Split(strings.TrimSpace(text), "\n") {
		var a action
		var err error
		if n == 0 {
			_, err = fmt.Sscanf(line, "seed=%d ticks=%d", &s.Seed, &s.Ticks)
		} else {
			_, err = fmt.Sscanf(line, "@%d %s %d %d", &a.Tick, &a.Do, &a.Client, &a.Any)
			s.Actions = append(s.Actions, a)
		}
		if err != nil {
			return s, fmt.Errorf("rig: line %d of a script: %q: %w", n+1, line, err)
		}
	}
	return s, nil
}

// maxClients bounds the clients of a script.
const maxClients = 8

// own are the actions that every game has, with the highest rate per second.
var own = map[string]float64{"join": 1, "leave": 0.2, "break": 0.3, "link": 0.5}

// generate returns the script of a seed with the given actions of a game. The rate of each
// action differs from seed to seed, up to ten times a second.
func generate(seed uint64, ticks, tickHz int, actions []string) script {
	r := rand.New(rand.NewPCG(seed, 1))
	s := script{Seed: seed, Ticks: ticks}
	add := func(tick int, do string) {
		s.Actions = append(s.Actions, action{tick, do, r.IntN(maxClients), r.IntN(1 << 16)})
	}
	add(0, "join")
	often := func(do string, perSecond float64) {
		for tick := range ticks {
			if r.Float64() < perSecond/float64(tickHz) {
				add(tick, do)
			}
		}
	}
	for _, do := range slices.Sorted(maps.Keys(own)) {
		often(do, own[do]*r.Float64())
	}
	for _, do := range slices.Sorted(slices.Values(actions)) {
		often(do, []float64{0.2, 2, 10}[r.IntN(3)])
	}
	slices.SortStableFunc(s.Actions, func(a, b action) int { return cmp.Compare(a.Tick, b.Tick) })
	return s
}

// Search plays random scripts of seeds 1 to seeds, each ticks long. The error describes the
// first that fails, and has the text of the smallest failing script found.
func Search(seeds uint64, ticks int, start func(seed uint64) (*Run, error)) error {
	for seed := uint64(1); seed <= seeds; seed++ {
		g, err := start(seed)
		if err != nil {
			return err
		}
		actions := slices.Collect(maps.Keys(g.Actions))
		s := generate(seed, ticks, g.Rig.core.World().TickHz(), actions)
		g.Rig.Close()
		if s.play(start) != nil {
			small := s.shrink(start)
			return fmt.Errorf("rig: a script of seed %d fails: %w\nThe smallest that does:\n%v", seed, small.play(start), small)
		}
	}
	return nil
}

// Replay plays a script in its text form: a line of settings and a line for each action. An
// action has its tick, its name, the number of the client modulo the number of clients, and a
// random number.
//
//	seed=17 ticks=300
//	@0 join 0 0
//	@12 shoot 3 40211
func Replay(text string, start func(seed uint64) (*Run, error)) error {
	s, err := parseScript(text)
	if err != nil {
		return err
	}
	return s.play(start)
}

// shrink returns a script that fails like s, not necessarily with the same error, and that
// passes if any of its actions is removed.
func (s script) shrink(start func(seed uint64) (*Run, error)) script {
	with := func(actions []action) script { return script{s.Seed, s.Ticks, actions} }
	var failed *failure
	if errors.As(s.play(start), &failed) {
		s.Ticks = failed.tick + 1
		s.Actions = slices.DeleteFunc(slices.Clone(s.Actions), func(a action) bool { return a.Tick >= s.Ticks })
	}
	return with(simtest.Shrink(s.Actions, func(actions []action) bool { return with(actions).play(start) != nil }))
}

// failure is the error of a script, and the tick in which it happened.
type failure struct {
	tick int
	err  error
}

func (f *failure) Error() string { return fmt.Sprintf("at tick %d: %v", f.tick, f.err) }
func (f *failure) Unwrap() error { return f.err }

// play plays s. The error comes from Check or a frame, or is a panic of the game.
func (s script) play(start func(seed uint64) (*Run, error)) (err error) {
	g, err := start(s.Seed)
	if err != nil {
		return err
	}
	defer g.Rig.Close()
	tick, actions := 0, s.Actions
	defer func() {
		if p := recover(); p != nil {
			err = &failure{tick, fmt.Errorf("panic: %v\n%s", p, debug.Stack())}
		}
	}()
	for ; tick < s.Ticks; tick++ {
		for ; len(actions) > 0 && actions[0].Tick <= tick; actions = actions[1:] {
			if err := g.do(actions[0]); err != nil {
				return &failure{tick, err}
			}
		}
		err := g.Rig.Step()
		if g.Check != nil {
			err = errors.Join(err, g.Check())
		}
		if err != nil {
			return &failure{tick, err}
		}
	}
	return nil
}

// do performs an action. Actions that need a client do nothing if there is none.
func (g *Run) do(a action) error {
	clients := g.Rig.clients
	if a.Do == "join" {
		if len(clients) == maxClients {
			return nil
		}
		join := g.Join
		if join == nil {
			join = g.Rig.Join
		}
		_, err := join(fmt.Sprintf("player%d", a.Any))
		return err
	}
	if len(clients) == 0 {
		return nil
	}
	c := clients[a.Client%len(clients)]
	switch f := g.Actions[a.Do]; {
	case f != nil:
		f(c, a.Any)
	case a.Do == "leave":
		return c.Close()
	case a.Do == "break":
		c.Break()
	case a.Do == "link":
		c.SetLink(RandomLink(a.Any))
	default:
		return fmt.Errorf("rig: the game has no action %q", a.Do)
	}
	return nil
}

// RandomLink returns the link for a random number: up to 30 % loss, 200 ms of delay and 100 ms
// of jitter.
func RandomLink(number int) Link {
	r := rand.New(rand.NewPCG(uint64(number), 2))
	ms := func(most int) time.Duration { return time.Duration(r.IntN(most+1)) * time.Millisecond }
	return Link{Delay: ms(200), Jitter: ms(100), Loss: 0.3 * r.Float64(), Duplicate: 0.2 * r.Float64(), Reorder: 0.3 * r.Float64()}
}

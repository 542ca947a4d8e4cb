package python_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

const (
	patience = 3 * time.Minute
	maxLines = 400
)

// python returns the interpreter. Without one the tests of this folder are skipped, also in CI.
func python(t *testing.T) string {
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3: the smallest client does not run")
	}
	return path
}

// The smallest client stays small.
func TestSmallestIsSmall(t *testing.T) {
	require.LessOrEqual(t, bytes.Count(must.Get(os.ReadFile("smallest.py")), []byte("\n")), maxLines)
}

// The smallest client passes the vectors of plain rows.
func TestSmallestVectors(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), python(t), "-B", "vectors.py", "../../replication/wire/testdata/vectors/plain.jsonl").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "plain rows in order: ")
}

// gauge has a field of each kind.
type gauge struct {
	Lit    bool
	Level  uint8   `net:"bits=5"`
	Depth  int16   `net:"always"`
	Serial uint64  // above 32 bits
	Weight float32 // IEEE 754 in full
	Exact  float64
	Mode   uint8       `net:"enum=5"`
	Facing float32     `net:"angle,bits=12"`
	At     [2]float32  `net:"range=-8..8,step=1/64"`
	Friend bulk.Handle `net:"ref"`
	Coins  int32       `net:"bits=20,owner"`
	Label  string      `net:"max=8"`
}

// byPath returns the values as the smallest client prints them.
func (g *gauge) byPath(owned bool) map[string]any {
	lit, coins, friend := 0.0, 0.0, any(nil)
	if g.Lit {
		lit = 1
	}
	if owned {
		coins = float64(g.Coins)
	}
	if g.Friend != 0 {
		friend = g.Friend.String()
	}
	return map[string]any{
		"Lit": lit, "Level": float64(g.Level), "Depth": float64(g.Depth), "Serial": float64(g.Serial), "Weight": float64(g.Weight), "Exact": g.Exact, "Mode": float64(g.Mode),
		"Facing": float64(g.Facing), "At[0]": float64(g.At[0]), "At[1]": float64(g.At[1]), "Friend": friend, "Coins": coins,
	}
}

// Messages of the game.
type (
	stick struct {
		Push float32 `net:"range=-1..1,step=1/16"`
	}
	paint struct {
		Level uint8  `net:"bits=5"`
		Label string `net:"max=8"`
	}
)

var (
	protocol = schema.NewWithBody()
	gauges   = schema.Define[gauge](protocol, "gauge")
	sticks   = schema.DefineInput[stick](protocol)
	painting = schema.DefineCommand[paint](protocol, "paint")
)

// scene is a world of crates with gauges, which move and change, and its server.
type scene struct {
	stage.Crates
	gauges *world.Component[gauge]
	target world.Entity // not in the ring of moving crates
	left   chan string  // names of sessions that ended
	server *server.Server
}

const (
	sceneHz     = 20 // ticks and snapshots a second: both clients have a state of each tick
	sceneCrates = 12
)

func newScene(t *testing.T) *scene {
	s := &scene{Crates: stage.NewCrates(world.Config{Seed: 1, TickHz: sceneHz}), left: make(chan string, 8)}
	s.gauges = must.Get(server.Register(s.World, gauges))
	var all []world.Entity
	for i := range sceneCrates {
		e := s.Put(float32(2*i), 4)
		all = append(all, e)
		s.gauges.Set(e, gauge{Serial: 1<<40 + uint64(i), Exact: 1 / float64(i+1), Friend: all[i/2], Coins: int32(i), Depth: int16(-i)})
	}
	s.target = all[0]
	require.NoError(t, s.AddSystem(world.Before, "weather", func(w *world.World) {
		tick := w.Tick()
		for i, e := range all[1:] {
			w.SetVelocity(e, world.Vec3{X: float32((int(tick)/10+i)%5 - 2)})
			if g := s.gauges.Mut(e); g != nil && (int(tick)+i)%3 == 0 {
				g.Lit, g.Level, g.Mode = !g.Lit, uint8(tick%32), uint8(tick%5)
				g.Weight, g.Facing, g.At[1] = float32(tick)/7, float32(tick%6), float32(i)-float32(tick%7)/4
			}
		}
	}))
	s.server = must.Get(server.Listen(server.Config{
		Listen: "127.0.0.1:0", Web: &server.WebConfig{},
		WorldConfig: server.WorldConfig{World: s.World, Schema: protocol, Replication: replication.Config{SnapshotHz: sceneHz}, Hooks: s.hooks()},
	}))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.server.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
	return s
}

func (s *scene) hooks() server.Hooks {
	return server.Hooks{
		Join: func(c *server.Session) (world.Entity, error) {
			e := s.Put(0, 0)
			s.gauges.Set(e, gauge{Coins: 7, Label: c.Name()})
			return e, nil
		},
		Leave: func(c *server.Session) {
			s.Destroy(c.Entity())
			s.left <- c.Name()
		},
		Input: server.OnInput(sticks, func(c *server.Session, _ uint64, in stick) {
			s.SetVelocity(c.Entity(), world.Vec3{X: in.Push})
		}),
		Commands: []server.Command{
			server.OnCommand(painting, func(_ *server.Session, e world.Entity, p paint) error {
				g := s.gauges.Mut(e)
				g.Level, g.Label = p.Level, p.Label
				return nil
			}),
			server.OnRawCommand("break", func(_ *server.Session, e world.Entity, _ []byte) error {
				s.Destroy(e)
				return nil
			}),
		},
	}
}

// states are the values of gauges by handle and tick.
type states map[string]map[string]any

func (s states) set(handle string, tick uint32, values map[string]any) {
	s[fmt.Sprintf("%s at %d", handle, tick)] = values
}

// watch keeps what a Go client sees, until ctx ends.
func (s *scene) watch(ctx context.Context, t *testing.T, mu *sync.Mutex, seen states) {
	note := func(e *client.Entity) {
		if g, ok := client.Of(gauges).Get(e); ok {
			mu.Lock()
			seen.set(e.Handle().String(), e.Tick(), g.byPath(e.Owned()))
			mu.Unlock()
		}
	}
	c, err := client.Dial(ctx, client.Config{
		Addr: s.server.Addr().String(), Fingerprint: s.server.Fingerprint(), Schema: protocol, Name: "go",
		Observer: client.Observer{Enter: note, Update: note},
	})
	if err != nil {
		t.Error(err)
		return
	}
	for err == nil {
		if err = c.Wait(ctx); err == nil {
			err = c.Update()
		}
	}
	if ctx.Err() == nil {
		t.Error(err)
	}
	_ = c.Close()
}

// smallest is a run of smallest.py.
type smallest struct {
	t     *testing.T
	in    io.Writer
	lines *bufio.Scanner
	seen  states
}

func (s *scene) runSmallest(ctx context.Context, t *testing.T) (*smallest, *exec.Cmd) {
	run := exec.CommandContext(ctx, python(t), "-B", "smallest.py", "wss://"+s.server.Addr().String()+server.WebPath, "--fingerprint", s.server.Fingerprint(), "--name", "python")
	run.Stderr = os.Stderr
	p := &smallest{t: t, in: must.Get(run.StdinPipe()), lines: bufio.NewScanner(must.Get(run.StdoutPipe())), seen: states{}}
	require.NoError(t, run.Start())
	return p, run
}

// say writes a line to the client.
func (p *smallest) say(format string, args ...any) {
	_, err := fmt.Fprintf(p.in, format+"\n", args...)
	require.NoError(p.t, err)
}

// await reads lines of the client until one has these members.
func (p *smallest) await(want map[string]any) (line map[string]any) {
	return p.awaitAll(want)
}

// awaitAll reads lines of the client until each of wants has matched one, in any order. It returns the line that matched last.
func (p *smallest) awaitAll(wants ...map[string]any) (line map[string]any) {
	for p.lines.Scan() {
		line = nil
		require.NoError(p.t, json.Unmarshal(p.lines.Bytes(), &line))
		p.note(line)
		wants = slices.DeleteFunc(wants, func(want map[string]any) bool {
			for name, v := range want {
				if got, ok := line[name]; !ok || v != nil && v != got {
					return false
				}
			}
			return true
		})
		if len(wants) == 0 {
			return line
		}
	}
	require.Fail(p.t, "the client ended", "want %v: %v", wants, p.lines.Err())
	return nil
}

// note keeps the state in a line.
func (p *smallest) note(line map[string]any) {
	handle, ok := line["update"].(string)
	if !ok {
		handle, ok = line["enter"].(string)
	}
	if values, has := line["gauge"].(map[string]any); ok && has {
		p.seen.set(handle, uint32(line["tick"].(float64)), values)
	}
}

// A client in Python, of the standard library alone, joins a server over WebSocket. It sees what a Go client sees, its input and its
// commands act, and its verdicts are right.
func TestSmallest(t *testing.T) {
	python(t)
	s := newScene(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var mu sync.Mutex
	var clients sync.WaitGroup
	watching, stop := context.WithCancel(ctx)
	byGo := states{}
	clients.Go(func() { s.watch(watching, t, &mu, byGo) })
	p, run := s.runSmallest(ctx, t)

	me := p.await(map[string]any{"control": nil})["control"].(string)
	target := s.target.String()
	verdict := any("pending")
	for verdict == "pending" { // until a snapshot has it
		p.say("resolve %s", target)
		verdict = p.await(map[string]any{"handle": target})["verdict"]
	}
	require.Equal(t, "live", verdict)

	p.say(`input {"Push": 1}`)
	for pushed := false; !pushed; {
		body, _ := p.await(map[string]any{"update": me})["body"].(map[string]any)
		v, _ := body["Velocity[0]"].(float64) // less than 1, by friction
		pushed = v > 0.1
	}
	p.say(`command paint %s {"Level": 19, "Label": "blau"}`, target)
	p.awaitAll(map[string]any{"result": 1.0, "code": 0.0, "target": target, "verdict": "live"}, map[string]any{"update": target})
	p.say("command break %s", target)
	p.awaitAll(map[string]any{"result": 2.0, "code": 0.0}, map[string]any{"gone": target, "verdict": "stale"})
	p.say("command paint %s {}", target)
	p.await(map[string]any{"result": 3.0, "code": 32.0, "verdict": "stale"})
	for handle, verdict := range map[string]string{target: "stale", "7v2": "stale", "900v1": "pending", "99999999v1": "stale"} {
		p.say("resolve %s", handle)
		p.await(map[string]any{"handle": handle, "verdict": verdict})
	}

	for equal := 0; equal < 300; {
		for range 100 { // compare goes through all states
			p.await(map[string]any{"update": nil})
		}
		mu.Lock()
		equal = p.compare(byGo)
		mu.Unlock()
	}
	p.say("bye")
	for p.lines.Scan() {
		continue
	}
	require.NoError(t, run.Wait())
	require.Equal(t, "python", <-s.left)
	stop()
	clients.Wait()
}

// compare requires that the states that both clients have seen are equal, and returns their number. Of its own entity each client knows
// more than the other.
func (p *smallest) compare(byGo states) (equal int) {
	for at, got := range p.seen {
		want, both := byGo[at]
		if !both || got["Coins"] != 0.0 || want["Coins"] != 0.0 {
			continue
		}
		require.Len(p.t, got, len(want), at)
		for path, v := range want {
			if x, ok := v.(float64); ok {
				require.InDelta(p.t, x, got[path], 1e-6*max(1, math.Abs(x)), "%s of %s", path, at)
			} else {
				require.Equal(p.t, v, got[path], "%s of %s", path, at)
			}
		}
		equal++
	}
	return equal
}

package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/cstruct"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// The game of these tests has players with badges, and stones that fly, die and are replaced until the bell has struck.
type (
	badge struct {
		Temper int16 `net:"bits=9"`
		Rank   uint8
		Friend bulk.Handle `net:"ref"`
		Worn   bool
		Label  string     `net:"max=12"`
		Tiny   float32    // a denormal
		Facing [4]float32 `net:"quat,bits=9"`
	}
	stick struct {
		X, Z float32 `net:"range=-1..1,step=1/127"`
	}
	greet struct {
		Name string `net:"max=16"`
	}
	greeting struct {
		Words  string `net:"max=32"`
		Length uint16
	}
	bell struct {
		Word    string `net:"max=8"`
		Strokes uint8
	}
)

var (
	yard   = schema.NewWithBody()
	badges = schema.Define[badge](yard, "badge")
	sticks = schema.DefineInput[stick](yard)
	greets = schema.DefineQuery[greet, greeting](yard, "greet")
	bells  = schema.DefineEvent[bell](yard, "bell")
)

const (
	stones   = 200
	denormal = 1e-40
)

// yardGame is the world of the tests. Its storm ends some ticks after the last player has joined, once players have played.
type yardGame struct {
	world   *world.World
	room    *server.Room
	badges  *world.Component[badge]
	stone   world.KindID
	player  world.KindID
	avatars []world.Entity
	stones  []world.Entity
	ends    uint64 // tick; 0: not yet known
	inputs  int    // of players
}

// serveYard runs a server with 60 ticks and snapshots a second. The storm lasts so many ticks from the moment that so many players are there.
func serveYard(t *testing.T, players int, lasts uint64) (addr, fingerprint string) {
	t.Helper()
	return serveYardAt(t, 60, players, lasts)
}

// serveYardAt runs a server with another number of ticks and snapshots a second. A snapshot is as large as at 60.
func serveYardAt(t *testing.T, hz, players int, lasts uint64) (addr, fingerprint string) {
	t.Helper()
	w, err := world.New(world.Config{Seed: 3, TickHz: hz, HalfExtent: world.Vec3{X: 20, Y: 20, Z: 20}})
	require.NoError(t, err)
	g := &yardGame{world: w}
	g.stone, err = w.AddKind(world.Kind{Name: "stone", Body: &world.BodyDef{Radius: 0.5, Kinematic: true}})
	require.NoError(t, err)
	g.player, err = w.AddKind(world.Kind{Name: "player", Priority: 2, Body: &world.BodyDef{Radius: 1, Kinematic: true}})
	require.NoError(t, err)
	g.badges, err = server.Register(w, badges, g.player)
	require.NoError(t, err)
	require.NoError(t, w.AddSystem(world.After, "storm", func(w *world.World) { g.storm(w, players, lasts) }))
	s, err := server.Listen(server.Config{Listen: "127.0.0.1:0", WorldConfig: server.WorldConfig{
		World: w, Schema: yard, Replication: replication.Config{SnapshotHz: hz, BudgetBytesPerSecond: 64_000 * hz / 60},
		Hooks: server.Hooks{
			Join: g.join,
			Input: server.OnInput(sticks, func(s *server.Session, _ uint64, to stick) {
				g.inputs++
				if g.ends == 0 || w.Tick() < g.ends {
					w.SetVelocity(s.Entity(), world.Vec3{X: to.X})
				}
			}),
			Commands: []server.Command{server.OnQuery(greets, func(_ *server.Session, _ world.Entity, g greet) (greeting, error) {
				words := "Hello, " + g.Name + "!"
				return greeting{words, uint16(len(words))}, nil
			})},
		},
	}})
	require.NoError(t, err)
	g.room = s.Room()
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-served)
	})
	return s.Addr().String(), s.Fingerprint()
}

func (g *yardGame) join(s *server.Session) (world.Entity, error) {
	e, err := g.world.Spawn(g.player, world.Vec3{}, world.Vec3{})
	if err != nil {
		return 0, err
	}
	g.avatars = append(g.avatars, e)
	g.badges.Set(e, badge{Temper: -17, Rank: 7, Friend: bulk.Handle(e), Worn: true, Label: "né " + s.Name(), Tiny: denormal, Facing: [4]float32{0.5, 0.5, 0.5, 0.5}})
	return e, nil
}

// storm moves the stones, and stops all motion at the end.
func (g *yardGame) storm(w *world.World, players int, lasts uint64) {
	tick := w.Tick()
	switch {
	case g.ends == 0 && len(g.avatars) >= players:
		g.ends = tick + lasts
	case g.ends > 0 && tick == g.ends && g.inputs < 30: // the program is short of time
		g.ends++
	case g.ends > 0 && tick == g.ends:
		for _, e := range slices.Concat(g.stones, g.avatars) {
			w.SetVelocity(e, world.Vec3{})
		}
		_ = g.room.Broadcast(bell{"over", 0})
	}
	if g.ends > 0 && tick >= g.ends {
		return
	}
	if tick%20 == 0 {
		_ = g.room.Broadcast(bell{"ding", uint8(1 + tick/20%9)})
	}
	r := w.Rand()
	vector := func(scale float32) world.Vec3 {
		return world.Vec3{X: scale * (2*r.Float32() - 1), Y: scale * r.Float32(), Z: scale * (2*r.Float32() - 1)}
	}
	for i, e := range g.stones {
		switch {
		case r.Float32() < 0.003:
			w.Destroy(e)
			g.stones[i], _ = w.Spawn(g.stone, vector(18), vector(5))
		case r.Float32() < 0.1:
			w.SetVelocity(e, vector(5))
		}
	}
	for range stones - len(g.stones) {
		e, _ := w.Spawn(g.stone, vector(18), vector(5))
		g.stones = append(g.stones, e)
	}
}

// libraries has the libraries that the tests of this process have built, by their kind.
var libraries = map[string]func() (string, error){"shared": sync.OnceValues(buildLibrary("shared")), "static": sync.OnceValues(buildLibrary("static"))}

var built string // their folder

func buildLibrary(kind string) func() (string, error) {
	return func() (string, error) {
		to := filepath.Join(built, kind)
		out, err := exec.Command("./build.sh", kind, to).CombinedOutput()
		if err != nil {
			return to, fmt.Errorf("%w: %s", err, out)
		}
		for name, s := range map[string]*schema.Schema{"yard": yard, "track": track} {
			header, err := cstruct.Header(s, name, "library_test.go")
			if err == nil {
				err = os.WriteFile(filepath.Join(to, "include", name+".h"), []byte(header), 0o600)
			}
			if err != nil {
				return to, err
			}
		}
		return to, nil
	}
}

func TestMain(m *testing.M) {
	if crowd := os.Getenv(crowdInGo); crowd != "" {
		if err := playCrowd(strings.Fields(crowd)); err != nil {
			panic(err)
		}
		return
	}
	var err error
	if built, err = os.MkdirTemp("", "libworldd-*"); err != nil {
		panic(err)
	}
	status := m.Run()
	_ = os.RemoveAll(built)
	os.Exit(status)
}

// library returns the folder of libworldd, shared or static.
func library(t *testing.T, kind string) string {
	t.Helper()
	to, err := libraries[kind]()
	require.NoError(t, err)
	return to
}

// compile builds a C program against the library in a folder, once for each set of flags.
func compile(t *testing.T, lib, source string, flags ...string) string {
	t.Helper()
	args := slices.Concat([]string{"-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g", "-I" + lib + "/include", source}, flags, []string{"-L" + lib + "/lib", "-lworldd", "-Wl,-rpath," + lib + "/lib", "-lm", "-lpthread", "-lresolv"})
	compiled.Lock()
	defer compiled.Unlock()
	key := strings.Join(args, " ")
	if program, found := compiled.programs[key]; found {
		return program
	}
	program := filepath.Join(built, fmt.Sprint("program", len(compiled.programs)))
	out, err := exec.CommandContext(t.Context(), "gcc", append(args, "-o", program)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	compiled.programs[key] = program
	return program
}

// compiled has the programs that the tests of this process have built, by gcc's arguments.
var compiled = struct {
	sync.Mutex
	programs map[string]string
}{programs: map[string]string{}}

// beside holds the observations of a Go client in the same storm, in the words of tests/hosted.c.
type beside struct {
	rows     map[string]string // by "TICK HANDLE"
	verdicts map[string]string // final, by handle
	finals   map[string]string
}

// watch plays a storm of hz ticks a second in Go, until the bell has struck and no row has come for half a second.
func watch(t *testing.T, hz uint32, addr, fingerprint string) (joined chan struct{}, result chan beside) {
	t.Helper()
	joined, result = make(chan struct{}), make(chan beside, 1)
	seen := map[bulk.Handle]bool{}
	b := beside{map[string]string{}, map[string]string{}, map[string]string{}}
	var over, quiet uint32
	var c *client.Client
	events := &client.Events{}
	client.OnEvent(events, bells, func(tick uint32, e bell) {
		if e.Strokes == 0 {
			over = tick
		}
	})
	go func() {
		defer close(result)
		var err error
		c, err = client.Dial(t.Context(), client.Config{
			Addr: addr, Fingerprint: fingerprint, Schema: yard, Name: "beside", Events: events,
			Observer: client.Observer{
				Enter: func(e *client.Entity) { seen[e.Handle()] = true },
				Update: func(e *client.Entity) {
					quiet = e.Tick()
					b.rows[fmt.Sprintf("%d %016x", e.Tick(), uint64(e.Handle()))] = rowOf(e)
				},
			},
		})
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = c.Close() }()
		close(joined)
		for over == 0 || c.Replica().Tick() < over+hz || c.Replica().Tick() < quiet+hz/2 {
			c.Render()
			if err := c.Update(); err != nil {
				t.Error(err)
				return
			}
			if err := c.Wait(t.Context()); err != nil {
				t.Error(err)
				return
			}
		}
		for h := range seen {
			name := fmt.Sprintf("%016x", uint64(h))
			b.verdicts[name] = fmt.Sprint(uint8(c.Resolve(h)))
			if e := c.Entity(h); e != nil {
				b.finals[name] = rowOf(e)
			}
		}
		result <- b
	}()
	return joined, result
}

// rowOf prints an entity as tests/hosted.c does.
func rowOf(e *client.Entity) string {
	var s strings.Builder
	printBits := func(all ...float32) {
		for _, v := range all {
			fmt.Fprintf(&s, " %08x", math.Float32bits(v))
		}
	}
	body, _ := client.Body.Get(e)
	printBits(body.Position[:]...)
	printBits(body.Velocity[:]...)
	if b, found := client.Of(badges).Get(e); found {
		worn := 0
		if b.Worn {
			worn = 1
		}
		fmt.Fprintf(&s, " badge %d %d %016x %d %s", b.Temper, b.Rank, uint64(b.Friend), worn, b.Label)
		printBits(b.Tiny)
		printBits(b.Facing[:]...)
	}
	return s.String()
}

// A program in C sees the storm that a Go client sees: the same handles, bits and verdicts. Its command is answered, its
// mistakes are refused, and FTZ and DAZ of its thread change nothing. The longer storm has the ticks and snapshots of 30 s at
// 60 a second. CI plays them four times as fast; STORM_HZ=60 plays them as games do.
func TestHosted(t *testing.T) {
	t.Parallel()
	lib := library(t, "shared")
	hz, err := strconv.Atoi(cmp.Or(os.Getenv("STORM_HZ"), "240"))
	require.NoError(t, err)
	for _, c := range []struct {
		how   string
		flags []string
		hz    int
		ticks uint64
	}{
		{"checked", []string{"-fsanitize=address,undefined", "-fno-sanitize-recover"}, hz, 1800},
		{"ftz", nil, 60, 90},
	} {
		t.Run(c.how, func(t *testing.T) {
			program := compile(t, lib, "tests/hosted.c", c.flags...)
			addr, fingerprint := serveYardAt(t, c.hz, 2, c.ticks)
			joined, result := watch(t, uint32(c.hz), addr, fingerprint)
			<-joined
			out := run(t, program, c.how, addr, fingerprint)
			b, finished := <-result
			require.True(t, finished)
			compare(t, out, b)
			require.Contains(t, out, `code 0 verdict 1  answer Hello, Ada! 11`)
			require.Contains(t, out, "bell over 0\n")
			require.Contains(t, out, "tiny "+fmt.Sprintf("%016x", math.Float64bits(float64(float32(denormal))))+"\n")
			require.Regexp(t, `(?m)^result of 0 code 3[2-4] verdict [03]`, out)
			require.Regexp(t, `(?m)^destroyed [0-9a-f]{16} cause 0$`, out)
			require.Regexp(t, `(?m)^state 1 code 0 flags 0`, out)
			require.True(t, strings.HasSuffix(out, "end\n"))
		})
	}
}

// compare compares the lines of tests/hosted.c with what the client beside it saw.
func compare(t *testing.T, out string, b beside) {
	t.Helper()
	same := 0
	for _, m := range regexp.MustCompile(`(?m)^row (\d+ ([0-9a-f]{16}))(.*)$`).FindAllStringSubmatch(out, -1) {
		if want, both := b.rows[m[1]]; both {
			require.Equal(t, want, m[3], "%s", m[1])
			same++
		}
	}
	require.Greater(t, same, 1000, "rows that both clients received")
	verdicts := 0
	for _, m := range regexp.MustCompile(`(?m)^verdict ([0-9a-f]{16}) (\d)$`).FindAllStringSubmatch(out, -1) {
		if want, both := b.verdicts[m[1]]; both {
			require.Equal(t, want, m[2], "%s", m[1])
			verdicts++
		}
	}
	require.Greater(t, verdicts, stones)
	finals := 0
	for _, m := range regexp.MustCompile(`(?m)^final \d+ ([0-9a-f]{16})(.*)$`).FindAllStringSubmatch(out, -1) {
		require.Equal(t, b.finals[m[1]], m[2], "%s", m[1])
		finals++
	}
	require.Equal(t, len(b.finals), finals)
	t.Logf("%d rows, %d verdicts and %d final states are the same", same, verdicts, finals)
}

// run runs a program and returns its output. It prints no errors.
func run(t *testing.T, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	var out, errors bytes.Buffer
	c := exec.CommandContext(ctx, program, args...)
	c.Stdout, c.Stderr = &out, &errors
	require.NoError(t, c.Run(), "%s", errors.String())
	require.Empty(t, errors.String())
	return out.String()
}

// Clients that are created and destroyed leave nothing: neither memory nor sockets of connections that were never finished.
// CHURN sets another number of them.
func TestChurn(t *testing.T) {
	t.Parallel()
	program := compile(t, library(t, "shared"), "tests/hosted.c")
	addr, fingerprint := serveYard(t, math.MaxInt, 0)
	out := run(t, program, "churn", addr, fingerprint, cmp.Or(os.Getenv("CHURN"), "1000"))
	var before, after int
	_, err := fmt.Sscanf(out, "resident %d kB, then %d kB\n", &before, &after)
	require.NoError(t, err)
	require.Less(t, after, 2*before, "kB")
	t.Log(out)
}

// The log has the times of calls in a program that draws 60 pictures a second.
func TestCosts(t *testing.T) {
	lib := library(t, "shared")
	program := compile(t, lib, "tests/hosted.c", "-O2")
	addr, fingerprint := serveYard(t, 1, math.MaxInt32)
	out := run(t, program, "costs", addr, fingerprint)
	require.Regexp(t, `^create \S+ ms entities [1-9]\d\d picture \S+ us lookup \d+ ns read \S+ us resident \d+ kB\n$`, out)
	file, err := os.Stat(lib + "/lib/libworldd.so")
	require.NoError(t, err)
	t.Logf("%slibrary %d kB", out, file.Size()>>10)
}

// Programs that were compiled with an earlier header of this major version still find everything where it was, and the
// header is C99 and C++17, with 64-bit and packed structs.
func TestBinaryInterface(t *testing.T) {
	for _, args := range [][]string{{"-xc", "-std=c99"}, {"-xc", "-std=c99", "-fpack-struct=1"}, {"-xc", "-std=c99", "-fshort-enums"}, {"-xc++", "-std=c++17"}} {
		out, err := exec.CommandContext(t.Context(), "gcc", slices.Concat([]string{"-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wno-unused-local-typedefs", "-I.", "-fsyntax-only"}, args, []string{"tests/layout.c"})...).CombinedOutput()
		require.NoError(t, err, "%v: %s", args, out)
	}
}

// The library exports the functions of worldd.h and no others.
func TestExports(t *testing.T) {
	header, err := os.ReadFile("worldd.h")
	require.NoError(t, err)
	var declared, exported []string
	for _, m := range regexp.MustCompile(`(?m)^WD_API .*?\b(wd_\w+)\(`).FindAllSubmatch(header, -1) {
		declared = append(declared, string(m[1]))
	}
	out, err := exec.CommandContext(t.Context(), "nm", "-D", "--defined-only", library(t, "shared")+"/lib/libworldd.so").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, m := range regexp.MustCompile(`(?m)^[0-9a-f]+ [A-Z] (\S+)$`).FindAllSubmatch(out, -1) {
		exported = append(exported, string(m[1]))
	}
	require.ElementsMatch(t, declared, exported)
}

// The first program of README.md runs.
func TestFirst(t *testing.T) {
	t.Parallel()
	program := compile(t, library(t, "static"), "examples/first.c", "-DWD_STATIC")
	addr, fingerprint := serveYard(t, 1, math.MaxInt32)
	out := run(t, program, addr, fingerprint)
	require.Contains(t, out, "201 entities in view, ")
	require.Regexp(t, "[1-9][0-9]* gone for good\n", out)
	require.Contains(t, out, "@")
	require.Regexp(t, `(?m)^[ @]*o[ o@]*$`, out)
}

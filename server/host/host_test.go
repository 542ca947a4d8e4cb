package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/programtest"
	"github.com/worldd/worldd/loadtest/bot"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

func TestMain(m *testing.M) { programtest.RunMain(m, func(name string) { Main(programNamed(name)) }) }

// programs are further programs for tests, by name.
var programs = map[string]func() Definition{"inn": inn, "next inn": nextInn, "caravan": caravan}

// programNamed returns one of programs, or tag.
func programNamed(name string) Definition {
	if game, ok := programs[name]; ok {
		return game()
	}
	return tag()
}

// tag is a small game with one rule: every 20 ticks another player is "it".
func tag() Definition {
	return Definition{Name: "tag", About: "A game for tests.", New: newTag, Bots: &bot.Player{New: newTagBot}}
}

type (
	it  struct{ Count uint32 }
	run struct {
		X float32 `net:"range=-1..1,step=1/4"`
	}
	touch struct{}
)

var (
	tagSchema = schema.NewWithBody()
	its       = schema.Define[it](tagSchema, "it")
	runInput  = schema.DefineInput[run](tagSchema)
	touchIt   = schema.DefineCommand[touch](tagSchema, "touch")
	ballKind  = schema.DefineKind(tagSchema, "ball")
)

// lyingTag makes the bots of tag fail their own check.
const lyingTag = "TAG_TEST_LYING"

// panickingTag makes the command touch panic.
const panickingTag = "TAG_TEST_PANICKING"

// newTagBot returns a bot that runs to and fro and touches entities in view.
func newTagBot(seat bot.Seat) (bot.Behavior, error) {
	frames := seat.Rand.IntN(60)
	next := 0 // frame of the next touch
	return bot.Behavior{
		Schema: tagSchema,
		Input: func(*bot.Frame) any {
			frames++
			return &run{X: float32(frames/30%3) - 1}
		},
		Act: func(f *bot.Frame) error {
			for e := range f.Client.Replica().All() {
				if f.Fresh && frames >= next {
					next = frames + 10
					_, err := client.Do(f.Client, touchIt, e.Handle(), touch{})
					return err
				}
			}
			return nil
		},
		Check: func(f *bot.Frame) error {
			for e := range f.Client.Replica().All() {
				if v, ok := client.Of(its).Get(e); ok && v.Count > 1_000_000 || os.Getenv(lyingTag) != "" {
					return errors.New("nobody has been it so often")
				}
			}
			return nil
		},
	}, nil
}

func newTag(o Options) (*Instance, error) {
	w, err := world.New(world.Config{TickHz: 30, Seed: o.SeedOr(7), MaxEntities: 64, HalfExtent: world.Vec3{X: 40, Y: 10, Z: 40}})
	if err != nil {
		return nil, err
	}
	marks, err := server.Register(w, its)
	if err != nil {
		return nil, err
	}
	ball, err := w.AddKind(world.Kind{Name: ballKind.Name(), Priority: 1, Body: &world.BodyDef{Mass: 1, Radius: 0.5}})
	if err != nil {
		return nil, err
	}
	for i := range 8 {
		e, err := w.Spawn(ball, world.Vec3{X: float32(4 * i), Y: 3}, world.Vec3{X: 1})
		if err != nil {
			return nil, err
		}
		marks.Set(e, it{})
	}
	err = w.AddSystem(world.After, "tag", func(w *world.World) {
		if w.Tick()%20 == 0 {
			e := w.Slots().Handle(w.Rand().Uint32N(8))
			marks.Mut(e).Count++
			w.Impulse(e, world.Vec3{Y: 4})
		}
	})
	if err != nil {
		return nil, err
	}
	return &Instance{WorldConfig: server.WorldConfig{World: w, Schema: tagSchema, MaxSessions: 8, Hooks: server.Hooks{
		Input: server.OnInput(runInput, func(s *server.Session, _ uint64, r run) { w.SetVelocity(s.Entity(), world.Vec3{X: r.X}) }),
		Commands: []server.Command{server.OnCommand(touchIt, func(_ *server.Session, h world.Entity, _ touch) error {
			if os.Getenv(panickingTag) != "" {
				panic("touched")
			}
			marks.Set(h, it{})
			return nil
		})},
		Join:  func(*server.Session) (world.Entity, error) { return w.Spawn(ball, world.Vec3{Y: 2}, world.Vec3{}) },
		Leave: func(s *server.Session) { w.Destroy(s.Entity()) },
	}}}, nil
}

// play runs a command line of tag in this process.
func play(t *testing.T, args ...string) (status int, out, err string) {
	t.Helper()
	return playOf(t, tag(), args...)
}

func playOf(t *testing.T, d Definition, args ...string) (status int, out, err string) {
	t.Helper()
	var stdout, stderr programtest.Screen
	status = Run(t.Context(), d, args, Streams{strings.NewReader(""), &stdout, &stderr})
	return status, stdout.String(), stderr.String()
}

// soon bounds work that takes milliseconds on an idle machine.
const soon = time.Minute

// serving runs serve until the test ends, and returns its address and its certificate's fingerprint.
func serving(t *testing.T, d Definition, args ...string) (addr, fingerprint string) {
	ctx, stop := context.WithCancel(t.Context())
	up, ended := make(chan struct{}), make(chan int, 1)
	out := &programtest.Screen{Words: "anybody may join", Seen: func() { close(up) }}
	go func() {
		ended <- Run(ctx, d, append([]string{"serve", "--listen=127.0.0.1:0"}, args...), Streams{strings.NewReader(""), out, out})
	}()
	t.Cleanup(func() {
		stop()
		require.Equal(t, exitOK, <-ended)
	})
	select {
	case <-up:
	case status := <-ended:
		ended <- status
		require.Fail(t, "it does not serve", out.String())
	}
	found := regexp.MustCompile(d.Name + `: game ` + d.Name + `.* on (\S+), fingerprint (\S+)`).FindStringSubmatch(out.String())
	require.NotNil(t, found, out.String())
	return found[1], found[2]
}

// All contradictions of a definition are reported at once.
func TestWrongDefinition(t *testing.T) {
	status, out, err := playOf(t, Definition{Name: "My Game", Worlds: &Worlds{}, Commands: []any{3, struct{}{}}}, "serve")
	require.Equal(t, exitUsage, status)
	require.Empty(t, out)
	for _, complaint := range []string{`the name "My Game"`, "New is missing", "Worlds.Default is missing", "Worlds.Help is missing", "Commands[0] is a int", "Commands[1] is a struct {}"} {
		require.Contains(t, err, complaint)
	}
	require.Equal(t, 6, strings.Count(err, "\n"), err)
	for _, name := range []string{"tag", "my-game", "game-2"} {
		require.NoError(t, (&Definition{Name: name, New: newTag}).Validate())
	}
	for _, name := range []string{"", "-a", "a-", "a b", "Tag", "a_b", "2d"} {
		require.Error(t, (&Definition{Name: name, New: newTag}).Validate(), name)
	}
}

// Contradictions of its configuration are reported too, by each command that makes the game.
func TestWrongGame(t *testing.T) {
	d := tag()
	d.New = func(o Options) (*Instance, error) {
		g, err := newTag(o)
		g.Extra = func(b []byte) []byte { return b }
		g.AreaMetres = -1
		g.MaxSessions = -1
		g.Replication.SnapshotHz = -1
		return g, err
	}
	for _, args := range [][]string{{"serve"}, {"demo"}, {"check"}, {"schema"}, {"replay", "x"}, {"inspect", "x"}, {"train", "x", "--out=y"}} {
		status, out, err := playOf(t, d, args...)
		require.Equal(t, exitUsage, status, args)
		require.Empty(t, out)
		for _, complaint := range []string{
			"Extra is set without RestoreRun or LoadExtra",
			"AreaMetres is -1", "-1 sessions", "snapshot rate is -1 Hz",
		} {
			require.Contains(t, err, complaint, args)
		}
	}
}

// The rules do not fit the schema, or there is no world.
func TestWrongRules(t *testing.T) {
	for complaint, spoil := range map[string]func(*Instance){
		"World is nil":  func(g *Instance) { g.World = nil },
		"Schema is nil": func(g *Instance) { g.Schema = nil },
		`component "other" of the schema is not registered`: func(g *Instance) {
			g.Schema = g.Schema.Clone() // other tests share it
			schema.Define[struct{ X uint8 }](g.Schema, "other")
		},
		`command "touch" takes host.touch, and the schema does not declare it`: func(g *Instance) { g.Schema = schema.New() },
		"New has returned neither a game nor an error":                         nil,
	} {
		d := tag()
		d.New = func(o Options) (*Instance, error) {
			if spoil == nil {
				return nil, nil
			}
			g, err := newTag(o)
			spoil(g)
			return g, err
		}
		status, _, err := playOf(t, d, "check")
		require.NotEqual(t, exitOK, status)
		require.Contains(t, err, complaint)
	}
}

func TestCheck(t *testing.T) {
	status, out, err := play(t, "check")
	require.Equal(t, exitOK, status, err)
	require.Equal(t, "tag: ok: game tag, 30 Hz, 8 entities, 1 kind, 1 command\n", out)
}

// The live page has the game's name.
func TestGameName(t *testing.T) {
	d := tag()
	g := must.Get(d.buildInstance(Options{}))
	require.Equal(t, "tag", (&program{Definition: d}).hostInstance(g).config.GameName)
}

// A module for clients names the program that printed it.
func TestSchemaNamesProgram(t *testing.T) {
	status, out, err := play(t, "schema", "--lang=ts")
	require.Equal(t, exitOK, status, err)
	require.True(t, strings.HasPrefix(out, "// Code generated by tag schema --lang ts. DO NOT EDIT.\n"), out)
}

// A program of one world has no choice of worlds, and its own variables.
func TestProgramOfOneWorld(t *testing.T) {
	for _, args := range [][]string{{"serve", "--world=x"}, {"check", "x"}, {"schema", "x"}, {"watch"}} {
		status, out, err := play(t, args...)
		require.Equal(t, exitUsage, status, args)
		require.Empty(t, out)
		require.Contains(t, err, "tag: ", args)
	}
	t.Setenv("TAG_LISTN", "x")
	t.Setenv("WORLDD_LISTN", "x")
	t.Setenv("TAG_MAX_SESSIONS", "9")
	_, _, err := play(t, "serve", "--listen=nowhere")
	require.Equal(t, "tag: TAG_LISTN sets nothing; did you mean TAG_LISTEN?\ntag: --max-sessions is 9, but game tag takes 8 players: want fewer\n", err)
	_, _, err = play(t, "serve", "--listen=nowhere", "--max-sessions=3")
	require.Contains(t, err, `"nowhere"`, "a flag overrides the environment")
}

// help prints what --help prints, and the game's topics.
func TestHelp(t *testing.T) {
	d := tag()
	d.Topics = map[string]string{"maps": "Maps have edges.\n"}
	for _, c := range []struct{ help, flag []string }{
		{[]string{"help"}, []string{"--help"}},
		{[]string{"help", "serve"}, []string{"serve", "--help"}},
		{[]string{"help", "token", "issue"}, []string{"token", "issue", "--help"}},
	} {
		status, out, err := playOf(t, d, c.help...)
		_, want, _ := playOf(t, d, c.flag...)
		require.Equal(t, exitOK, status)
		require.Contains(t, out, "Usage: tag")
		require.Equal(t, want, out)
		require.Empty(t, err)
	}
	status, out, err := playOf(t, d, "help", "maps")
	require.Equal(t, exitOK, status)
	require.Equal(t, "Maps have edges.\n", out)
	require.Empty(t, err)
	_, out, _ = playOf(t, d, "help", "help")
	require.Contains(t, out, "a topic: maps")

	status, out, err = playOf(t, d, "help", "map")
	require.Equal(t, exitUsage, status)
	require.Empty(t, out)
	require.Contains(t, err, `tag: help has a topic "maps"`)
	status, _, err = playOf(t, d, "help", "srve")
	require.Equal(t, exitUsage, status)
	require.Contains(t, err, `did you mean "serve"?`)
	d.Topics["Big Maps"] = ""
	require.ErrorContains(t, d.Validate(), `the name "Big Maps" in Topics`)
}

// serve, demo and loadtest take flags from a file, below the environment and the command line.
func TestConfigFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tag.json")
	write := func(text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o600)) }
	write(`{"max-sessions": 9, "listen": "nowhere"}`)
	_, _, err := play(t, "serve", "--config", path)
	require.Equal(t, "tag: --max-sessions is 9, but game tag takes 8 players: want fewer\n", err)
	t.Setenv("TAG_MAX_SESSIONS", "3")
	_, _, err = play(t, "serve", "--config", path)
	require.Contains(t, err, `"nowhere"`)
	_, _, err = play(t, "serve", "--config", path, "--listen=elsewhere")
	require.Contains(t, err, `"elsewhere"`)

	write(`{"bots": 9}`)
	_, _, err = play(t, "demo", "--config", path)
	require.Equal(t, "tag: --bots is 9, but game tag takes 8 players: want fewer\n", err)
	write(`{"addr": "nowhere", "insecure-dev": true, "fail": ["confusions>0"]}`)
	status, _, err := play(t, "loadtest", "--config", path)
	require.Equal(t, exitUsage, status)
	require.Contains(t, err, "nowhere")
	for _, command := range []string{"serve", "demo", "loadtest"} {
		write(`{"contig": 1}`)
		status, _, err := play(t, command, "--config", path)
		require.Equal(t, exitUsage, status)
		require.Contains(t, err, "tag: "+path+`:1:2: unknown key "contig"`)
	}
}

// After a restart avatars of the earlier run are gone; all other entities remain.
func TestRestoredAvatars(t *testing.T) {
	d := tag()
	before := must.Get(d.buildInstance(Options{}))
	runner := must.Get(before.World.AddKind(world.Kind{Name: "runner", Body: &world.BodyDef{Kinematic: true}}))
	must.Get(before.World.Spawn(runner, world.Vec3{}, world.Vec3{X: 1}))
	require.Equal(t, 9, before.World.Stats().Entities)
	var img world.Image
	before.takeImage(&img)

	for avatars, left := range map[bool]int{true: 8, false: 9} {
		d.New = func(o Options) (*Instance, error) {
			g, err := newTag(o)
			runner, kindErr := g.World.AddKind(world.Kind{Name: "runner", Body: &world.BodyDef{Kinematic: true}})
			if avatars {
				g.Avatars = []world.KindID{runner}
			}
			return g, errors.Join(err, kindErr)
		}
		g := must.Get(d.buildInstance(Options{}))
		require.NoError(t, g.RestoreRun(&img))
		g.World.Step()
		require.Equal(t, left, g.World.Stats().Entities)
	}
}

// An avatar ends with its session if the game has no Leave. Other entities stay.
func TestAvatarEndsWithItsSession(t *testing.T) {
	d := tag()
	d.New = func(o Options) (*Instance, error) {
		g, err := newTag(o)
		g.Hooks.Leave = nil
		return g, err
	}
	g := must.Get(d.buildInstance(Options{}))
	ball := g.World.Slots().Handle(0)
	g.destroyAvatar(ball)
	require.Equal(t, bulk.Live, g.World.Status(ball))
	g.Hooks.Leave(&server.Session{}) // its session controls nothing
	g.Avatars = []world.KindID{0}
	g.destroyAvatar(ball)
	g.World.Step()
	require.NotEqual(t, bulk.Live, g.World.Status(ball))
}

// Must ends New with its error from any depth. Other panics pass.
func TestMust(t *testing.T) {
	d := tag()
	wrong := errors.New("two kinds of ball")
	d.New = func(Options) (*Instance, error) { return Must[*Instance](nil, wrong), nil }
	_, err := d.buildInstance(Options{})
	require.Equal(t, wrong, err)
	status, _, errs := playOf(t, d, "check")
	require.Equal(t, exitError, status)
	require.Contains(t, errs, "two kinds of ball")
	d.New = func(Options) (*Instance, error) { panic("elsewhere") }
	require.PanicsWithValue(t, "elsewhere", func() { _, _ = d.buildInstance(Options{}) })
	require.Equal(t, 3, Must(3, nil))
}

// Definitions that the world lacks, and mistakes in definitions, are reported before a start.
func TestDefinitionsAreChecked(t *testing.T) {
	d := tag()
	d.New = func(o Options) (*Instance, error) {
		g, err := newTag(o)
		g.Schema = g.Schema.Clone()
		schema.DefineKind(g.Schema, "bat")
		return g, err
	}
	require.ErrorContains(t, must.Fail(d.buildInstance(Options{})), `the schema defines kind "bat", and World has none of that name`)
	d.New = func(o Options) (*Instance, error) {
		g, err := newTag(o)
		g.Schema = g.Schema.Clone()
		schema.Define[it](g.Schema, "it")
		schema.DefineKind(g.Schema, "big bat")
		return g, err
	}
	_, err := d.buildInstance(Options{})
	require.ErrorContains(t, err, `component "it" is added twice`)
	require.ErrorContains(t, err, `"big bat"`)
}

// replay, inspect and train repeat a game with rules.
func TestRecordings(t *testing.T) {
	d := tag()
	g := must.Get(d.buildInstance(Options{}))
	dir := t.TempDir()
	path, tables := filepath.Join(dir, "a.recording"), filepath.Join(dir, "a.tables")
	file := must.Get(createRecord(path, zap.NewNop()))
	rec := must.Get(g.recordWorld(file, 0))
	for range 200 {
		if g.World.Tick() == 30 {
			must.Get(g.Hooks.Join(nil))
		}
		g.World.Step()
	}
	require.NoError(t, rec.Close())
	require.NoError(t, file.Close())

	status, out, errs := play(t, "replay", path)
	require.Equal(t, exitOK, status, errs)
	require.Contains(t, out, "tag: "+path+": ticks 0 to 200 replayed, 3 compared")
	status, out, errs = play(t, "inspect", path)
	require.Equal(t, exitOK, status, errs)
	require.Regexp(t, `it +Count `, out)
	status, out, errs = play(t, "train", path, "--out", tables)
	require.Equal(t, exitOK, status, errs)
	require.Contains(t, out, "rows learned")
	require.FileExists(t, tables)

	other := tag()
	other.New = func(o Options) (*Instance, error) {
		g, err := newTag(o)
		return g, errors.Join(err, g.World.AddSystem(world.After, "wind", func(w *world.World) {
			if w.Tick() == 100 {
				w.Impulse(w.Slots().Handle(3), world.Vec3{X: 1})
			}
		}))
	}
	status, _, errs = playOf(t, other, "replay", path)
	require.Equal(t, exitError, status)
	require.Contains(t, errs, "the replay differs from the recording, first after tick")
	seeded := tag()
	seeded.New = func(o Options) (*Instance, error) { return newTag(Options{Seed: new(uint64)}) }
	status, out, errs = playOf(t, seeded, "replay", path)
	require.Equal(t, exitOK, status, errs)
	require.Contains(t, out, "differs from the recorded world: settings: Seed was ")
	strange := tag()
	strange.New = func(o Options) (*Instance, error) {
		g, err := newTag(o)
		g.World = Must(world.New(world.Config{MaxEntities: 7}))
		Must(g.World.AddKind(world.Kind{Name: ballKind.Name(), Body: &world.BodyDef{}}))
		return g, err
	}
	status, _, errs = playOf(t, strange, "replay", path)
	require.Equal(t, exitUsage, status)
	require.Contains(t, errs, "it is not a recording of this game's world")
}

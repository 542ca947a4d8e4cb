package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/loadtest/bot"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// inn is a game with rooms, in which bots stand still.
func inn() Definition {
	return Definition{
		Name: "inn", About: "Rooms to stand about in.",
		Rooms: &server.RoomsConfig{
			Kinds:   map[string]server.RoomKind{"lobby": {Pinned: true}, "room": {}},
			Default: "lobby",
		},
		New: func(o Options) (*Instance, error) {
			return newInn(world.Config{Seed: o.SeedOr(1), MaxEntities: 256, FirstGeneration: o.Room.Generations.First, LastGeneration: o.Room.Generations.Last})
		},
	}
}

// nextInn is the inn's next version: it has a component more, which Join sets.
func nextInn() Definition {
	d := inn()
	build := d.New
	d.New = func(o Options) (*Instance, error) {
		g, err := build(o)
		if err != nil {
			return nil, err
		}
		mana, join := must.Get(world.Register[int32](g.World, "mana")), g.Hooks.Join
		g.Hooks.Join = func(s *server.Session) (world.Entity, error) {
			e, err := join(s)
			mana.Set(e, 7)
			return e, err
		}
		return g, nil
	}
	return d
}

type bell struct{ Tick uint32 }

func newInn(c world.Config) (*Instance, error) {
	w, err := world.New(c)
	if err != nil {
		return nil, err
	}
	var room *server.Room // nil while a recording is repeated
	run := fmt.Sprint(os.Getpid(), "-", time.Now().UnixNano())
	err = w.AddSystem(world.After, "bell", func(w *world.World) {
		noteStep(room.Name(), w.Tick())
		noteOwner(room.Name(), run, w.Tick())
		fail(room, w.Tick())
		must.Do(room.Broadcast(&bell{uint32(w.Tick())}))
	})
	if err != nil {
		return nil, err
	}
	visitor, err := w.AddKind(world.Kind{Name: "visitor", Body: &world.BodyDef{Radius: 1}})
	s := schema.NewWithBody()
	schema.DefineEvent[bell](s, "bell")
	return &Instance{Avatars: []world.KindID{visitor}, Attach: func(r *server.Room) { room = r }, WorldConfig: server.WorldConfig{World: w, Schema: s, Hooks: server.Hooks{
		Join:  func(*server.Session) (world.Entity, error) { return w.Spawn(visitor, world.Vec3{}, world.Vec3{}) },
		Leave: func(s *server.Session) { w.Destroy(s.Entity()) },
	}}}, err
}

// stepsFile is the variable of a file to which every process of the inn appends its steps: ROOM TICK PROCESS.
const stepsFile = "INN_TEST_STEPS"

func noteStep(room string, tick uint64) {
	path := os.Getenv(stepsFile)
	if path == "" || room == "" { // a journal is repeated
		return
	}
	f := must.Get(os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600))
	defer f.Close()
	if _, err := fmt.Fprintln(f, room, tick, os.Getpid()); err != nil { // in one write
		panic(err)
	}
}

// failure is the variable that makes a room of the inn fail, or end itself, in a tick: ROOM TICK panic, or ROOM TICK end.
const failure = "INN_TEST_FAILURE"

func fail(room *server.Room, tick uint64) {
	var name, how string
	var at uint64
	n, _ := fmt.Sscan(os.Getenv(failure), &name, &at, &how)
	switch {
	case n < 3 || room.Name() != name || tick != at:
	case how == "panic":
		panic("the stove explodes")
	default:
		must.Do(room.End("the stove is cold"))
	}
}

func runInn(ctx context.Context, d Definition, args ...string) (status int, out string) {
	var text bytes.Buffer
	status = Run(ctx, d, args, Streams{strings.NewReader(""), &text, &text})
	return status, text.String()
}

func TestCheckRooms(t *testing.T) {
	status, out := runInn(t.Context(), inn(), "check")
	require.Equal(t, exitOK, status, out)
	require.Contains(t, out, "2 kinds of rooms")
	require.Contains(t, out, "lobby: game inn")

	d := inn()
	d.New = func(o Options) (*Instance, error) { return newInn(world.Config{}) } // ignores its generations
	status, out = runInn(t.Context(), d, "check")
	require.Equal(t, exitUsage, status, out)
	for _, text := range []string{"room lobby", "room room", "pass RoomRequest.Generations"} {
		require.Contains(t, out, text)
	}
}

func TestContradictionsOfRooms(t *testing.T) {
	d := inn()
	d.Rooms.Images.Dir = "x"
	d.Rooms.Default = "cellar"
	k := d.Rooms.Kinds["room"]
	k.New, k.MaxRooms = func(server.RoomRequest) (*server.RoomGame, error) { return nil, nil }, -1
	d.Rooms.Kinds["room"] = k
	err := d.Validate()
	for _, text := range []string{"Rooms.Images is set", `Default is "cellar"`, `Rooms.Kinds["room"].New is set`, "kind room: MaxRooms is -1"} {
		require.ErrorContains(t, err, text)
	}
}

// Each kind of rooms has a schema of its own, and a client follows a move from one to the other.
func TestKindsHaveOwnSchemas(t *testing.T) {
	kindOf := func(event func(*schema.Schema), join func(*server.Session)) func(Options) (*Instance, error) {
		return func(o Options) (*Instance, error) {
			w := Must(world.New(world.Config{MaxEntities: 16, FirstGeneration: o.Room.Generations.First, LastGeneration: o.Room.Generations.Last}))
			s := schema.New()
			event(s)
			return &Instance{WorldConfig: server.WorldConfig{World: w, Schema: s, Hooks: server.Hooks{
				Join: func(s *server.Session) (world.Entity, error) {
					join(s)
					return 0, nil
				},
			}}}, nil
		}
	}
	d := Definition{
		Name: "club", About: "A lobby and matches.",
		Rooms: &server.RoomsConfig{
			Kinds:   map[string]server.RoomKind{"lobby": {Pinned: true}, "match": {Create: server.ForGame}},
			Default: "lobby",
		},
		Kinds: map[string]func(Options) (*Instance, error){
			"lobby": kindOf(func(s *schema.Schema) { schema.DefineEvent[bell](s, "queued") }, func(s *server.Session) { assert.True(t, s.Name() != "mover" || s.Move("match?") == nil) }),
			"match": kindOf(func(s *schema.Schema) { schema.DefineEvent[bell](s, "goal") }, func(*server.Session) {}),
		},
	}
	status, out := runInn(t.Context(), d, "check")
	require.Equal(t, exitOK, status, out)
	status, out = runInn(t.Context(), d, "schema")
	require.Equal(t, exitOK, status, out)
	require.Contains(t, out, "event queued", "of the default room")

	rooms, _ := (&program{Definition: d}).hostRooms(Options{}, func(*server.WorldConfig) {}, recordFlags{}, zap.NewNop())
	rooms.config.Listen = "127.0.0.1:0"
	s := must.Get(server.Listen(rooms.config))
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	config := client.Config{Addr: s.Addr().String(), Fingerprint: s.Fingerprint()}
	stays := must.Get(client.Dial(ctx, config))
	config.Name = "mover"
	c := must.Get(client.Dial(ctx, config)) // may have moved already
	for !strings.HasPrefix(c.Welcome().Room, "match/") {
		require.NoError(t, c.Wait(ctx))
		require.NoError(t, c.Update())
	}
	require.NotEqual(t, stays.Welcome().Schema, c.Welcome().Schema)
	require.NoError(t, errors.Join(c.Close(), stays.Close()))
	stop()
	require.NoError(t, <-served)

	d.New = d.Kinds["lobby"]
	d.Kinds["cellar"] = nil
	delete(d.Kinds, "match")
	err := d.Validate()
	for _, text := range []string{"Kinds and New are both set", `Kinds["cellar"]: Rooms.Kinds has no such kind`, `Kinds["cellar"] is nil`, `no function for "match"`} {
		require.ErrorContains(t, err, text)
	}
	d.Rooms = nil
	require.ErrorContains(t, d.Validate(), "Kinds is set without Rooms")
}

// serveInn runs serve until the lobby is open, and another room.
func serveInn(t *testing.T, args ...string) (status int, out string) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	d := inn()
	d.Attach = func(serving context.Context, s *server.Server) error {
		go func() {
			defer stop()
			assert.NoError(t, errors.Join(s.CreateRoom(serving, "lobby"), s.CreateRoom(serving, "room/1")))
		}()
		return nil
	}
	return runInn(ctx, d, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
}

// Rooms are saved and recorded to folders, and a recording of a room replays.
func TestServeRooms(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	status, out := runInn(t.Context(), inn(), "serve", "--listen", "127.0.0.1:0", "--image", file)
	require.Equal(t, exitUsage, status, out)
	require.Contains(t, out, "--image must name a folder")
	status, out = runInn(t.Context(), inn(), "serve", "--listen", "127.0.0.1:0", "--record", file)
	require.Equal(t, exitUsage, status, out)
	require.Contains(t, out, "--record must name a folder")

	images, records := filepath.Join(dir, "images"), filepath.Join(dir, "records")
	for range 2 {
		status, out = serveInn(t, "--image", images, "--record", records, "--rooms", "7", "--max-sessions", "5",
			"--image-rooms", "9", "--image-mb", "1", "--image-prune-after", "24h")
		require.Equal(t, exitOK, status, out)
		require.Contains(t, out, "rooms of inn [lobby room] on 127.0.0.1:")
		require.FileExists(t, filepath.Join(images, "lobby.image"))
	}
	require.FileExists(t, filepath.Join(records, "lobby.recording.old-1"))
	status, out = runInn(t.Context(), inn(), "replay", filepath.Join(records, "lobby.recording"), "--room", "lobby")
	require.Equal(t, exitOK, status, out)
	for _, command := range []string{"replay", "inspect"} { // take the folder as well
		status, out = runInn(t.Context(), inn(), command, records, "--room", "lobby")
		require.NotEqual(t, exitUsage, status, out)
		status, out = runInn(t.Context(), inn(), command, records, "--room", "room/1")
		require.Equal(t, exitUsage, status, out)
		require.Contains(t, out, records+` has no recording of room "room/1": set --room to one of its rooms, 1: lobby`)
		status, out = runInn(t.Context(), inn(), command, images, "--room", "lobby")
		require.Equal(t, exitUsage, status, out)
		require.Contains(t, out, "is a folder without recordings of rooms")
	}
	status, out = runInn(t.Context(), inn(), "replay", filepath.Join(records, "lobby.recording"), "--room", "../lobby")
	require.Equal(t, exitUsage, status, out)
	other := inn()
	other.New = func(Options) (*Instance, error) {
		g, err := newInn(world.Config{})
		g.LoadExtra = func([]byte) error { return world.ErrImageWorld }
		return g, err
	}
	status, out = runInn(t.Context(), other, "replay", filepath.Join(records, "lobby.recording"), "--room", "room/1")
	require.Equal(t, exitUsage, status, out)
	require.Contains(t, out, `not a recording of room "room/1" (set --room to the recorded one)`)
	for _, args := range [][]string{{"replay", filepath.Join(records, "lobby.recording")}, {"serve"}, {"demo"}} {
		status, out = runInn(t.Context(), inn(), append(args, "--room", "loby")...)
		require.Equal(t, exitUsage, status, out)
		require.Contains(t, out, `no kind of rooms named "loby": want one of lobby, room`)
	}
	status, out = runInn(t.Context(), inn(), "schema")
	require.Equal(t, exitOK, status, out)
	require.Contains(t, out, "visitor")
}

// The game receives its server before it serves, and a context that ends with it.
func TestAttach(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	d, ended := inn(), make(chan struct{})
	d.AdminRoutes = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.Path) })
	d.Attach = func(serving context.Context, s *server.Server) error {
		go func() {
			defer close(ended)
			assert.NoError(t, s.CreateRoom(serving, "room/1"))
			response, err := http.Get("http://" + s.AdminAddr().String() + "/game/of/rooms")
			if assert.NoError(t, err) {
				assert.Equal(t, "/of/rooms", string(must.Get(io.ReadAll(response.Body))))
				assert.NoError(t, response.Body.Close())
			}
			stop()
			<-serving.Done()
		}()
		return nil
	}
	status, out := runInn(ctx, d, "serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0")
	require.Equal(t, exitOK, status, out)
	<-ended

	d.Attach = func(context.Context, *server.Server) error { return errors.New("no database") }
	for _, command := range []string{"serve", "demo"} {
		status, out = runInn(t.Context(), d, command)
		require.Equal(t, exitError, status, out)
		require.Contains(t, out, "inn: no database")
	}
}

// Rooms need no images.
func TestServeRoomsWithoutImages(t *testing.T) {
	status, out := serveInn(t)
	require.Equal(t, exitOK, status, out)
	require.Contains(t, out, "rooms of inn [lobby room] on 127.0.0.1:")
}

// When a room ends, its confused handles stay counted, and its game is forgotten.
func TestEndedRoomsAreForgotten(t *testing.T) {
	d := inn()
	made := d.New
	d.New = func(o Options) (*Instance, error) {
		g, err := made(o)
		if g != nil {
			g.Confused = func() (uint64, []bot.Confusion) { return 2, make([]bot.Confusion, 2) }
		}
		return g, err
	}
	p := &program{Definition: d}
	rooms, all := p.hostRooms(Options{}, func(*server.WorldConfig) {}, recordFlags{}, zap.NewNop())
	for i := range 3 * maxFound {
		name := fmt.Sprintf("room/%d", i)
		room := must.Get(rooms.config.Rooms.Kinds["room"].New(server.RoomRequest{Name: name, Kind: "room", Generations: server.Generations{First: 1, Last: 1<<20 - 1}}))
		require.Contains(t, all.games, name)
		room.Ended()
	}
	require.Empty(t, all.games)
	n, found := rooms.confused()
	require.EqualValues(t, 6*maxFound, n)
	require.Len(t, found, maxFound)
}

// A demo with more bots than a room takes is refused before it starts.
func TestDemoBeyondTheRoom(t *testing.T) {
	d := inn()
	d.Rooms.Kinds["room"] = server.RoomKind{MaxSessions: 3}
	made := d.New
	d.New = func(o Options) (*Instance, error) {
		g, err := made(o)
		g.MaxSessions = 5
		return g, err
	}
	for _, c := range []struct{ room, bots, want string }{
		{"lobby", "6", "--bots is 6, but room lobby takes 5 players: want fewer, or more rooms, as by --room 'lobby/{n/5}'"},
		{"room/a", "4", "room room/a takes 3 players"},
		{"room/{n/4}", "12", "room room/0 takes 3 players"},
		{"cellar", "1", `no kind of rooms named "cellar"`},
		{"../lobby", "1", "want KIND or KIND/ID"},
		{"room/{x}", "1", "with {n}"},
	} {
		status, out := runInn(t.Context(), d, "demo", "--bots", c.bots, "--room", c.room)
		require.Equal(t, exitUsage, status, out)
		require.Contains(t, out, c.want)
	}
	c := demoCommand{Bots: 1200}
	c.Plugins = append(c.Plugins, &roomFlag{Room: "room/{n/3}"})
	g := must.Get(c.hostDemo(&program{Definition: d}))
	require.Equal(t, 1200, g.config.Rooms.MaxSessions)
	d.Rooms.Default = ""
	status, out := runInn(t.Context(), d, "demo")
	require.Equal(t, exitUsage, status, out)
	require.Contains(t, out, "no default room")
}

// Clients cannot fill the disk with recordings: a room is recorded from its first session on,
// and a kind has a maximum of recordings.
func TestRecordingsAreBounded(t *testing.T) {
	dir := t.TempDir()
	logs, seen := observer.New(zap.ErrorLevel)
	p := &program{Definition: inn()}
	rooms, _ := p.hostRooms(Options{}, func(*server.WorldConfig) {}, recordFlags{Record: dir, RecordRooms: 9}, zap.New(logs))
	run := func(name string, joins bool) {
		kind, id, err := server.ParseRoomName(name)
		require.NoError(t, err)
		room := must.Get(rooms.config.Rooms.Kinds[kind].New(server.RoomRequest{Name: name, Kind: kind, ID: id, Generations: server.Generations{First: 1, Last: 1<<20 - 1}}))
		room.Attach(nil)
		for range 2 {
			if joins {
				must.Get(room.Hooks.Join(nil))
			}
			room.World.Step()
		}
		room.Ended()
	}
	file := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)+recordingSuffix) }
	run("room/a", false)
	require.NoFileExists(t, file("room/a"))
	run("room/a", true)
	run("lobby", false)
	for _, room := range []string{"room/a", "lobby"} {
		status, out := runInn(t.Context(), inn(), "replay", file(room), "--room", room)
		require.Equal(t, exitOK, status, out)
	}
	require.Equal(t, []string{"lobby", "room/a"}, must.Get(recordedRooms(dir)))
	for i := range 9 - 2 {
		require.NoError(t, os.WriteFile(file(fmt.Sprint("room/", i)), nil, 0o600))
	}
	run("room/b", true)
	require.FileExists(t, file("room/b"))
	require.Zero(t, seen.Len())
	run("room/c", true)
	require.NoFileExists(t, file("room/c"))
	require.ErrorContains(t, seen.All()[0].Context[1].Interface.(error), "has 9 recordings")
	run("room/a", true)
	run("lobby", false)
	require.FileExists(t, file("room/a")+".old-1")
	require.FileExists(t, file("lobby")+".old-1")
	require.Equal(t, 1, seen.Len())

	for i, age := range []time.Duration{40, 50, 20} { // old ones give way, the oldest first
		at := time.Now().Add(-age * 24 * time.Hour)
		require.NoError(t, os.Chtimes(file(fmt.Sprint("room/", i)), at, at))
	}
	require.NoError(t, os.WriteFile(file("room/1")+".old-1", nil, 0o600))
	run("room/d", true)
	require.FileExists(t, file("room/d"))
	require.NoFileExists(t, file("room/1"))
	require.NoFileExists(t, file("room/1")+".old-1")
	require.FileExists(t, file("room/0"))
	run("room/e", true)
	require.NoFileExists(t, file("room/0"))
	run("room/f", true)
	require.NoFileExists(t, file("room/f"))
	require.FileExists(t, file("room/2"))
	require.Equal(t, 2, seen.Len())
}

// SIGHUP reloads each open room.
func TestHangupReloadsRooms(t *testing.T) {
	d, reloaded := inn(), make(chan string)
	made := d.New
	d.New = func(o Options) (*Instance, error) {
		g, err := made(o)
		g.Reload = func() (server.Limits, []string, error) {
			reloaded <- o.Room.Name
			return server.Limits{MaxSessions: 3}, nil, nil
		}
		return g, err
	}
	rooms, _ := (&program{Definition: d}).hostRooms(Options{}, func(*server.WorldConfig) {}, recordFlags{}, zap.NewNop())
	rooms.config.Listen = "127.0.0.1:0"
	s := must.Get(server.Listen(rooms.config))
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { assert.NoError(t, s.Serve(ctx)) })
	asked := make(chan os.Signal, 1)
	all.Go(func() { (&reloader{&serveCommand{}, s, nil, nil, zap.NewNop()}).run(ctx, asked) })
	for _, room := range []string{"lobby", "room/1"} {
		require.NoError(t, s.CreateRoom(ctx, room))
	}
	asked <- syscall.SIGHUP
	require.ElementsMatch(t, []string{"lobby", "room/1"}, []string{<-reloaded, <-reloaded})
	stop()
	all.Wait()
}

// Package engines tests what other languages and engines get of libworldd: each plays one session in the same game, beside a Go
// client.
package engines

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// The game of these tests is a plot of stones with signs. A player breaks a stone, and the bell strikes. Then it plants a seed by a raw
// command, whose only argument is a provisional handle.
type (
	sign struct {
		Rank   int16       `net:"bits=9"`
		Friend bulk.Handle `net:"ref"`
		Lit    bool
		Label  string `net:"max=12"`
		Data   []byte `net:"max=5"`
		Marks  [3]uint8
		Facing [4]float32 `net:"quat,bits=9"`
	}
	stick struct {
		X, Z float32 `net:"range=-1..1,step=1/127"`
	}
	breakStone struct {
		Name string `net:"max=16"`
	}
	broken struct {
		Words string `net:"max=32"`
	}
	bell struct {
		Word string `net:"max=8"`
	}
)

var (
	plot   = schema.NewWithBody()
	signs  = schema.Define[sign](plot, "sign")
	sticks = schema.DefineInput[stick](plot)
	breaks = schema.DefineQuery[breakStone, broken](plot, "break")
	_      = schema.DefineEvent[bell](plot, "bell")
	_      = plot.AddRawCommand("plant")
)

const (
	stones  = 40
	smashed = 3 // the cause of a stone's end
)

// plotGame is the world of the tests.
type plotGame struct {
	world        *world.World
	room         *server.Room
	player, seed world.KindID
}

// servePlot runs a server.
func servePlot(t *testing.T) (addr, fingerprint string) {
	t.Helper()
	w, err := world.New(world.Config{Seed: 5, HalfExtent: world.Vec3{X: 20, Y: 20, Z: 20}})
	require.NoError(t, err)
	g := &plotGame{world: w}
	stone, err := w.AddKind(world.Kind{Name: "stone", Body: &world.BodyDef{Radius: 0.5, Kinematic: true}})
	require.NoError(t, err)
	g.player, err = w.AddKind(world.Kind{Name: "player", Priority: 2, Body: &world.BodyDef{Radius: 1, Kinematic: true}})
	require.NoError(t, err)
	g.seed, err = w.AddKind(world.Kind{Name: "seed", Body: &world.BodyDef{Radius: 0.1, Kinematic: true}})
	require.NoError(t, err)
	have, err := server.Register(w, signs, stone)
	require.NoError(t, err)
	var before world.Entity
	for i := range stones {
		e, err := w.Spawn(stone, world.Vec3{X: float32(i%8) + 0.1, Y: 0.3, Z: float32(i/8) - 0.7}, world.Vec3{})
		require.NoError(t, err)
		have.Set(e, sign{
			Rank: int16(10 - i), Friend: bulk.Handle(before), Lit: i%2 == 1, Label: fmt.Sprint("né ", i), Data: slices.Repeat([]byte{byte(i)}, i%6),
			Marks: [3]uint8{1, 2, uint8(i)}, Facing: [4]float32{0.5, 0.5, 0.5, 0.5},
		})
		before = e
	}
	s, err := server.Listen(server.Config{Listen: "127.0.0.1:0", WorldConfig: server.WorldConfig{
		World: w, Schema: plot, Replication: replication.Config{SnapshotHz: 60},
		Hooks: server.Hooks{
			Join:     func(*server.Session) (world.Entity, error) { return w.Spawn(g.player, world.Vec3{Z: 5}, world.Vec3{}) },
			Input:    server.OnInput(sticks, func(s *server.Session, _ uint64, to stick) { w.SetVelocity(s.Entity(), world.Vec3{X: to.X, Z: to.Z}) }),
			Commands: []server.Command{server.OnQuery(breaks, g.breakStone), server.OnRawCommand("plant", g.plant)},
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

func (g *plotGame) breakStone(_ *server.Session, target world.Entity, by breakStone) (broken, error) {
	if !g.world.DestroyBecause(target, smashed) {
		return broken{}, &server.Rejection{Text: "there is no such stone"}
	}
	return broken{"well done, " + by.Name + "!"}, g.room.Broadcast(bell{"gone"})
}

// plant spawns a seed for the handle in args: in msgpack cf, and 64 bits.
func (g *plotGame) plant(s *server.Session, _ world.Entity, args []byte) error {
	if len(args) != 9 {
		return &server.Rejection{Text: "there is no handle"}
	}
	e, err := g.world.Spawn(g.seed, world.Vec3{Z: 4}, world.Vec3{})
	if err != nil {
		return err
	}
	return s.Bind(bulk.Handle(binary.BigEndian.Uint64(args[1:])), e)
}

// beside connects a Go client, which stays for the test, and returns the stones that it sees as rows in the form of the programs
// under test.
func beside(t *testing.T, addr, fingerprint string) []string {
	t.Helper()
	c, err := client.Dial(t.Context(), client.Config{Addr: addr, Fingerprint: fingerprint, Schema: plot, Name: "beside"})
	require.NoError(t, err)
	seen, left := make(chan []string, 1), make(chan error, 1)
	go func() { left <- stay(t.Context(), c, seen) }()
	t.Cleanup(func() { require.NoError(t, <-left) })
	select {
	case rows := <-seen:
		return rows
	case err := <-left:
		left <- nil
		require.NoError(t, err)
		return nil
	}
}

// stay plays until ctx ends, and sends the rows of all stones once, after the first snapshot: before, they may exist without states.
func stay(ctx context.Context, c *client.Client, seen chan<- []string) error {
	for told := false; ctx.Err() == nil; {
		if err := c.Update(); err != nil {
			return err
		}
		if !told && c.Replica().Len() > stones && c.Replica().Tick() != 0 {
			seen <- rowsOf(c)
			told = true
		}
		_ = c.Wait(ctx)
	}
	return c.Close()
}

func rowsOf(c *client.Client) (rows []string) {
	for e := range c.Replica().All() {
		s, found := client.Of(signs).Get(e)
		if !found {
			continue
		}
		body, _ := client.Body.Get(e)
		bits := func(v float32) string { return fmt.Sprintf("%08x", math.Float32bits(v)) }
		lit := 0
		if s.Lit {
			lit = 1
		}
		var data []string
		for _, b := range s.Data {
			data = append(data, strings.ToUpper(hex.EncodeToString([]byte{b})))
		}
		rows = append(rows, fmt.Sprintf("row %016x %s %s %s %d %016x %d %d %s %s %s", uint64(e.Handle()),
			bits(body.Position[0]), bits(body.Position[1]), bits(body.Position[2]),
			s.Rank, uint64(s.Friend), lit, s.Marks[2], bits(s.Facing[3]), s.Label, strings.Join(data, "-")))
	}
	slices.Sort(rows)
	return rows
}

// library builds libworldd once, and returns its folder.
var library = sync.OnceValues(func() (string, error) {
	to := filepath.Join(built, "shared")
	out, err := exec.Command("../build.sh", "shared", to).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return to, err
})

var built string // the folder of what the tests build

func TestMain(m *testing.M) {
	var err error
	if built, err = os.MkdirTemp("", "engines-*"); err != nil {
		panic(err)
	}
	status := m.Run()
	_ = os.RemoveAll(built)
	os.Exit(status)
}

// builtLibrary returns the folder of libworldd.
func builtLibrary(t *testing.T) string {
	t.Helper()
	lib, err := library()
	require.NoError(t, err)
	return lib
}

// need skips a test without a program, or fails it in CI, which installs the Debian package.
func need(t *testing.T, program, debian string) {
	t.Helper()
	if _, err := exec.LookPath(program); err == nil {
		return
	}
	if os.Getenv("ENGINES_TEST") == "required" {
		t.Fatalf("%s is missing: install Debian's %s", program, debian)
	}
	t.Skipf("%s is missing (Debian's %s)", program, debian)
}

// run runs a program that ends by itself, and returns its output.
func run(t *testing.T, environment []string, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var out, errors bytes.Buffer
	c := exec.CommandContext(ctx, program, args...)
	c.Env = append(os.Environ(), environment...)
	c.Stdout, c.Stderr = &out, &errors
	require.NoError(t, c.Run(), "%s: %s%s", program, out.String(), errors.String())
	return out.String()
}

// linesOf returns the lines of an output that begin with a word, sorted.
func linesOf(out, word string) (lines []string) {
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, word+" ") {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	slices.Sort(lines)
	return lines
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/loopback"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// The game of the driven program: runners on a track, who throw balls and go to other rooms.
type (
	runner struct { // exact
		Position [2]float32
		Speed    float32
		Jumps    uint16
	}
	throw struct {
		Ball  bulk.Handle `net:"ref"`
		Power uint8
	}
	travel struct {
		Room string `net:"max=32"`
	}
	push struct {
		Speed float32
	}
)

var (
	track    = schema.NewWithBody()
	runners  = schema.Define[runner](track, "runner")
	trackIn  = schema.DefineInput[stick](track)
	throws   = schema.DefineCommand[throw](track, "throw")
	travels  = schema.DefineCommand[travel](track, "travel")
	pushes   = schema.DefineCommand[push](track, "push")
	trackLib = newTrackGame()
)

func newTrackGame() *game {
	g, err := newGame(track.Text())
	if err != nil {
		panic(err)
	}
	return g
}

// step moves a runner as the program's step function does, to the bit.
func (r *runner) step(in stick) (jumped bool) {
	r.Speed = float32(r.Speed*0.875) + float32(in.X*0.75)
	r.Position[0] += float32(r.Speed * (float32(1) / 60))
	r.Position[1] += float32(in.Z * (float32(6) / 60))
	jumped = in.X > 0.5 && r.Speed > 5
	if jumped {
		r.Jumps++
	}
	return jumped
}

// trackGame is a world of the game. Its rocks fall and bounce.
type trackGame struct {
	world   *world.World
	runners *world.Component[runner]
	kinds   struct{ runner, rock, ball world.KindID }
	held    map[world.Entity]stick
	falling []world.Entity

	mu    sync.Mutex
	truth map[world.Entity]map[uint32]runner
	rocks map[uint32]map[world.Entity][6]uint32 // bits of position and velocity
}

const rocksOfTrack = 20

func newTrack(generations server.RoomRequest) (*trackGame, server.WorldConfig, error) {
	w, err := world.New(world.Config{Seed: 5, FirstGeneration: generations.Generations.First, LastGeneration: generations.Generations.Last})
	if err != nil {
		return nil, server.WorldConfig{}, err
	}
	g := &trackGame{world: w, held: map[world.Entity]stick{}, truth: map[world.Entity]map[uint32]runner{}, rocks: map[uint32]map[world.Entity][6]uint32{}}
	var errs [5]error
	g.kinds.runner, errs[0] = w.AddKind(world.Kind{Name: "runner", Priority: 4, Body: &world.BodyDef{Kinematic: true}})
	g.kinds.rock, errs[1] = w.AddKind(world.Kind{Name: "rock", Exact: true, Body: &world.BodyDef{Radius: 0.5, Restitution: 1}})
	g.kinds.ball, errs[2] = w.AddKind(world.Kind{Name: "ball", Body: &world.BodyDef{Radius: 0.25, Kinematic: true}})
	g.runners, errs[3] = server.Register(w, runners, g.kinds.runner)
	errs[4] = errors.Join(w.AddSystem(world.Before, "run", g.run), w.AddSystem(world.After, "note", g.note))
	for i := range rocksOfTrack {
		rock, err := w.Spawn(g.kinds.rock, world.Vec3{X: float32(i), Y: 3 + float32(i), Z: 1}, world.Vec3{})
		if err != nil {
			return nil, server.WorldConfig{}, err
		}
		g.falling = append(g.falling, rock)
	}
	return g, server.WorldConfig{World: w, Schema: track, Replication: replication.Config{SnapshotHz: 60}, Hooks: g.hooks()}, errors.Join(errs[:]...)
}

func (g *trackGame) hooks() server.Hooks {
	return server.Hooks{
		Join: func(*server.Session) (world.Entity, error) {
			return g.world.Spawn(g.kinds.runner, world.Vec3{}, world.Vec3{})
		},
		Input: server.OnInput(trackIn, func(s *server.Session, _ uint64, in stick) { g.held[s.Entity()] = in }),
		Commands: []server.Command{
			server.OnCommand(throws, func(s *server.Session, _ world.Entity, t throw) error {
				if t.Power == 0 {
					return errors.New("too weak")
				}
				ball, err := g.world.Spawn(g.kinds.ball, world.Vec3{Y: 1}, world.Vec3{})
				return errors.Join(err, s.Bind(t.Ball, ball))
			}),
			server.OnCommand(travels, func(s *server.Session, _ world.Entity, t travel) error { return s.Move(t.Room) }),
			server.OnCommand(pushes, func(s *server.Session, _ world.Entity, p push) error {
				g.runners.Mut(s.Entity()).Speed = p.Speed
				return nil
			}),
		},
	}
}

// run moves the runners.
func (g *trackGame) run(w *world.World) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for e, in := range g.held {
		r := g.runners.Mut(e)
		if r == nil {
			continue
		}
		r.step(in)
		if g.truth[e] == nil {
			g.truth[e] = map[uint32]runner{}
		}
		g.truth[e][uint32(w.Tick())] = *r
	}
}

// note notes where the rocks are.
func (g *trackGame) note(w *world.World) {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := map[world.Entity][6]uint32{}
	for _, e := range g.falling {
		p, _ := w.Position(e)
		v, _ := w.Velocity(e)
		at[e] = bitsOf(p.X, p.Y, p.Z, v.X, v.Y, v.Z)
	}
	g.rocks[uint32(w.Tick())] = at
}

func bitsOf(all ...float32) (bits [6]uint32) {
	for i, v := range all {
		bits[i] = math.Float32bits(v)
	}
	return bits
}

// serveTrack runs a server of the game until the returned function is called, or the test ends.
func serveTrack(t *testing.T, c server.Config) (s *server.Server, stop func()) {
	t.Helper()
	c.Listen = "127.0.0.1:0"
	s, err := server.Listen(c)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-served)
	})
	t.Cleanup(stop)
	return s, stop
}

// driven is tests/driven.c, which a test drives.
type driven struct {
	t      *testing.T
	in     io.Writer
	out    *bufio.Reader
	events []drivenEvent // polled and not yet expected
}

// drivenEvent is a wd_event.
type drivenEvent struct {
	kind, tick, number   int
	handle               uint64
	id                   int
	code, verdict, state int
	reason, flags        int
	body                 []byte
	text                 string
}

// Flags and states, as in worldd.h.
const (
	insecureFlag, webSocketFlag, simulateFlag = 1, 2, 4
	joinedState, lostState, endedState        = 1, 2, 3
	resumedFlag, restoredFlag                 = 1, 2
	movedFlag, newWorldFlag                   = 4, 8
	pendingVerdict, liveVerdict               = "0", "1"
	staleVerdict, provisionalVerdict          = "3", "4"
)

// drive starts the program, with sanitizers. Compiling takes time: servers begin later.
func drive(t *testing.T) *driven {
	t.Helper()
	program := compile(t, library(t, "shared"), "tests/driven.c", "-fsanitize=address,undefined", "-fno-sanitize-recover")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 4*time.Minute) // the cleanup waits for its end
	c := exec.CommandContext(ctx, program)
	in, err := c.StdinPipe()
	require.NoError(t, err)
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	var errs bytes.Buffer
	c.Stderr = &errs
	require.NoError(t, c.Start())
	t.Cleanup(func() {
		defer cancel()
		_ = in.Close()
		_, _ = io.Copy(io.Discard, out)
		require.NoError(t, c.Wait(), "%s", errs.String())
		require.Empty(t, errs.String())
	})
	return &driven{t: t, in: in, out: bufio.NewReaderSize(out, 1<<18)}
}

// ask makes the program call a function, and returns its answer.
func (d *driven) ask(format string, args ...any) string {
	d.t.Helper()
	_, err := fmt.Fprintf(d.in, format+"\n", args...)
	require.NoError(d.t, err)
	line, err := d.out.ReadString('\n')
	require.NoError(d.t, err, "%s", format)
	return strings.TrimSuffix(line, "\n")
}

// call is ask for a call that has to succeed. It returns the words behind WD_OK.
func (d *driven) call(format string, args ...any) []string {
	d.t.Helper()
	words := strings.Fields(d.ask(format, args...))
	require.Equal(d.t, "WD_OK", words[0], "%s: %s", fmt.Sprintf(format, args...), d.ask("text 1"))
	return words[1:]
}

// connect creates the client, and waits until it has joined.
func (d *driven) connect(flags int, addr, fingerprint, room string) {
	d.t.Helper()
	d.call("create %d 0 %s %s %s -", flags, addr, fingerprint, room)
	d.until("joins", func() bool { return d.status().state == joinedState })
}

// untilStates updates until a snapshot has the states of all entities of the game, which exist before.
func (d *driven) untilStates(what string) {
	d.t.Helper()
	d.until(what, func() bool { s := d.status(); return s.entities == rocksOfTrack+1 && s.tick != 0 })
}

// picture updates after some milliseconds, and polls the events.
func (d *driven) picture(ms int) {
	d.t.Helper()
	d.ask("update %d", ms)
	for {
		line := d.ask("event")
		if line == "WD_NONE" {
			return
		}
		var e drivenEvent
		var body string
		n, err := fmt.Sscanf(line, "WD_OK %d %d %d %x %d %d %d %d %d %d %s", &e.kind, &e.tick, &e.number, &e.handle, &e.id, &e.code, &e.verdict, &e.state, &e.reason, &e.flags, &body)
		require.NoError(d.t, err, "%d: %s", n, line)
		e.body, _ = hex.DecodeString(strings.Trim(body, "-"))
		_, e.text, _ = strings.Cut(line, " "+body+" ")
		d.events = append(d.events, e)
	}
}

// until updates until a condition holds.
func (d *driven) until(what string, holds func() bool) {
	d.t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); d.picture(2) {
		require.True(d.t, time.Now().Before(end), "the client never %s: %s; %+v", what, d.ask("status"), d.events)
	}
}

// await updates until an event of a kind has arrived, and drops it and all before it.
func (d *driven) await(kind int, is func(drivenEvent) bool) (e drivenEvent) {
	d.t.Helper()
	d.until(fmt.Sprint("receives event ", kind), func() bool {
		for i, it := range d.events {
			if it.kind == kind && is(it) {
				e, d.events = it, slices.Delete(d.events, 0, i+1)
				return true
			}
		}
		return false
	})
	return e
}

func (d *driven) awaitState(state int) drivenEvent {
	d.t.Helper()
	return d.await(1, func(e drivenEvent) bool { return e.state == state })
}

type drivenStatus struct {
	state, code, tick, entities, appliedInput int
	controlled, epoch, session                uint64
	overTCP, unanswered                       int
	received                                  uint64
}

func (d *driven) status() (s drivenStatus) {
	d.t.Helper()
	_, err := fmt.Sscanf(d.ask("status"), "%d %d %d %d %d %x %x %d %d %d %d", &s.state, &s.code, &s.tick, &s.entities, &s.appliedInput, &s.controlled, &s.epoch, &s.session, &s.overTCP, &s.unanswered, &s.received)
	require.NoError(d.t, err)
	return s
}

// record reads a component; nil: it cannot be read.
func (d *driven) record(component int, h uint64) []byte {
	d.t.Helper()
	words := d.call("record %d 0 %x %d", component, h, trackLib.components[component].layout.Size)
	if words[0] != liveVerdict {
		return nil
	}
	b, err := hex.DecodeString(words[1])
	require.NoError(d.t, err)
	return b
}

// recordBytes returns a record with these values by path.
func recordBytes(r *record, values map[string]any) []byte {
	b := make([]byte, r.layout.Size)
	for i := range r.members {
		m := &r.members[i]
		switch v := values[m.Path].(type) {
		case string:
			copy(b[m.Offset:], v)
		case nil:
		default:
			_, _ = binary.Encode(b[m.Offset:], binary.NativeEndian, v)
		}
	}
	return b
}

// numbersAt returns n float32 bits of a record's member.
func numbersAt(r *record, b []byte, path string, n int) (bits []uint32) {
	at := r.members[r.layout.Find(path)].Offset
	for i := range n {
		bits = append(bits, binary.NativeEndian.Uint32(b[at+4*i:]))
	}
	return bits
}

// The client of a network without UDP plays over WebSocket. When its connection breaks it resumes, with the same entities and
// handles; and when another server answers, all handles are to be forgotten.
func TestReconnects(t *testing.T) {
	d := drive(t)
	_, config, err := newTrack(server.RoomRequest{})
	require.NoError(t, err)
	first, _ := serveTrack(t, server.Config{WorldConfig: config, Web: &server.WebConfig{}})
	r := loopback.NewRelay(t, first.Addr().String())
	d.connect(insecureFlag|webSocketFlag, r.Addr, "-", "-")
	before := d.status()
	require.Equal(t, 1, before.overTCP)
	d.untilStates("sees all")
	handles := strings.Fields(d.ask("entities"))

	r.Break(first.Addr().String())
	lost := d.awaitState(lostState)
	require.NotZero(t, lost.code)
	require.NotEmpty(t, lost.text)
	for _, h := range handles {
		require.Equal(t, liveVerdict, d.ask("lookup %s", h), "while the connection is lost")
	}
	require.Equal(t, "WD_NOT_JOINED 0", d.ask("do 0 0 %x", recordBytes(trackLib.arguments[0], nil)))
	joined := d.awaitState(joinedState)
	require.Equal(t, resumedFlag, joined.flags)
	after := d.status()
	require.Equal(t, []uint64{before.controlled, before.epoch, before.session}, []uint64{after.controlled, after.epoch, after.session})
	d.until("applies snapshots", func() bool { return d.status().tick > after.tick })
	require.ElementsMatch(t, handles, strings.Fields(d.ask("entities")))
	require.Empty(t, slices.DeleteFunc(d.events, func(e drivenEvent) bool { return e.kind != 4 && e.kind != 5 }), "an entity left")

	_, config, err = newTrack(server.RoomRequest{})
	require.NoError(t, err)
	second, _ := serveTrack(t, server.Config{WorldConfig: config, Web: &server.WebConfig{}})
	r.Break(second.Addr().String())
	d.awaitState(lostState)
	require.Equal(t, newWorldFlag, d.awaitState(joinedState).flags)
	d.untilStates("sees the other world")
	require.NotEqual(t, before.epoch, d.status().epoch)
	require.Equal(t, []string{}, d.call("destroy"))
}

// In another room the handles of the last one are stale, and commands find what they name by the same numbers.
func TestMoves(t *testing.T) {
	d := drive(t)
	room := func(q server.RoomRequest) (*server.RoomGame, error) {
		_, config, err := newTrack(q)
		return &server.RoomGame{WorldConfig: config}, err
	}
	s, _ := serveTrack(t, server.Config{Rooms: &server.RoomsConfig{Kinds: map[string]server.RoomKind{"track": {New: room}}, Default: "track/1"}})
	d.connect(0, s.Addr().String(), s.Fingerprint(), "track/1")
	require.Equal(t, "track/1", d.ask("text 3"))
	d.untilStates("sees all")
	old, controlled := strings.Fields(d.ask("entities")), d.status().controlled
	d.events = nil
	d.call("do 1 0 %x", recordBytes(trackLib.arguments[1], map[string]any{"Room": "track/2"}))
	moved := d.awaitState(joinedState)
	require.Equal(t, movedFlag, moved.flags)
	require.Equal(t, "track/2", d.ask("text 3"))
	d.untilStates("sees the other room")
	for _, h := range old {
		require.Equal(t, staleVerdict, d.ask("lookup %s", h))
	}
	require.NotEqual(t, controlled, d.status().controlled)
	require.NotNil(t, d.record(1, d.status().controlled))
	d.call("do 0 0 %x", recordBytes(trackLib.arguments[0], nil))
	require.NotZero(t, d.await(7, func(e drivenEvent) bool { return e.number == 0 }).code, "too weak")
	d.call("destroy")
}

// A provisional handle stands for the entity that its command made, and is stale if it made none.
func TestProvisional(t *testing.T) {
	d := drive(t)
	_, config, err := newTrack(server.RoomRequest{})
	require.NoError(t, err)
	s, _ := serveTrack(t, server.Config{WorldConfig: config})
	require.True(t, strings.HasPrefix(d.ask("provisional"), "WD_BAD_CLIENT "))
	d.connect(0, s.Addr().String(), s.Fingerprint(), "-")
	for _, power := range []uint32{0, 9} {
		h := d.call("provisional")[0]
		require.Equal(t, "WD_BAD_ARGUMENT 0", d.ask("do_raw 0 0 %s %x", h, recordBytes(trackLib.arguments[0], nil)), "a command with a record")
		require.Equal(t, provisionalVerdict, d.ask("lookup %s", h))
		require.Equal(t, []string{"0"}, d.call("real %s", h))
		handle, err := strconv.ParseUint(h, 16, 64)
		require.NoError(t, err)
		id := d.call("do 0 0 %x", recordBytes(trackLib.arguments[0], map[string]any{"Ball": handle, "Power": power}))[0]
		answer := d.await(7, func(e drivenEvent) bool { return strconv.Itoa(e.id) == id })
		if power == 0 {
			require.NotZero(t, answer.code)
			require.Equal(t, staleVerdict, d.ask("lookup %s", h))
			require.Equal(t, []string{"0"}, d.call("real %s", h))
			continue
		}
		require.Zero(t, answer.code)
		ball := d.call("real %s", h)[0]
		require.NotEqual(t, h, ball)
		d.until("sees the ball", func() bool { return d.ask("lookup %s", h) == liveVerdict })
		require.Equal(t, liveVerdict, d.ask("lookup %s", ball))
		require.Equal(t, d.call("entity %s", ball), d.call("entity %s", h), "one entity, by both names")
		require.Equal(t, []string{ball}, d.call("real %s", ball))
	}
	require.Equal(t, "7", d.ask("fork"), "a child that makes no calls")
	d.picture(2)
	d.call("destroy")
}

// A program sends bytes to a game whose schema declares neither an input nor arguments.
func TestRaw(t *testing.T) {
	d := drive(t)
	s := schema.NewWithBody()
	require.NoError(t, s.AddRawCommand("shout"))
	require.NoError(t, s.AddRawCommand("double"))
	w, err := world.New(world.Config{})
	require.NoError(t, err)
	player, err := w.AddKind(world.Kind{Name: "player", Body: &world.BodyDef{Kinematic: true}})
	require.NoError(t, err)
	var mu sync.Mutex
	var shouted []string
	held := map[string]bool{}
	serve, _ := serveTrack(t, server.Config{WorldConfig: server.WorldConfig{World: w, Schema: s, Hooks: server.Hooks{
		Join: func(*server.Session) (world.Entity, error) { return w.Spawn(player, world.Vec3{}, world.Vec3{}) },
		Input: server.OnRawInput(func(_ *server.Session, _ uint64, in []byte) {
			mu.Lock()
			defer mu.Unlock()
			held[hex.EncodeToString(in)] = true
		}),
		Commands: []server.Command{server.OnRawCommand("shout", func(s *server.Session, target world.Entity, args []byte) error {
			mu.Lock()
			defer mu.Unlock()
			shouted = append(shouted, fmt.Sprintf("%t %x", target == s.Entity(), args))
			return nil
		}), server.OnRawCommand("double", func(s *server.Session, _ world.Entity, args []byte) error {
			e, err := w.Spawn(player, world.Vec3{}, world.Vec3{})
			if err != nil || len(args) != 9 {
				return errors.Join(err, fmt.Errorf("args %x", args))
			}
			return s.Bind(bulk.Handle(binary.BigEndian.Uint64(args[1:])), e) // msgpack: cf, and 64 bits
		})},
	}}})
	file := t.TempDir() + "/schema"
	require.NoError(t, os.WriteFile(file, []byte(s.Text()), 0o600))
	d.call("create 0 0 %s %s - %s", serve.Addr(), serve.Fingerprint(), file)
	d.until("sees its player", func() bool { s := d.status(); return s.entities == 1 && s.tick != 0 }) // before, the target is hidden
	for _, args := range []string{"a3616263", "", strings.Repeat("c0", 1024)} {
		if len(args) > 8 {
			require.Equal(t, "WD_REFUSED 0", d.ask("do 0 0 %s", args), "many values")
			require.Equal(t, "WD_BAD_SIZE 0", d.ask("do 0 0 %sc0", args))
			require.Contains(t, d.ask("text 1"), "at most 1024")
			continue
		}
		id := d.call("do 0 %x %s", d.status().controlled, args)[0]
		require.Zero(t, d.await(7, func(e drivenEvent) bool { return strconv.Itoa(e.id) == id }).code)
	}
	provisional := d.call("provisional")[0]
	args := fmt.Sprintf("cf%016s", provisional)
	require.Equal(t, "WD_REFUSED 0", d.ask("do_raw 1 0 %x %s", d.status().controlled, args), "another handle than a provisional one")
	id := d.call("do_raw 1 0 %s %s", provisional, args)[0]
	require.Equal(t, "WD_REFUSED 0", d.ask("do_raw 1 0 %s %s", provisional, args), "a handle of an earlier command")
	require.Zero(t, d.await(7, func(e drivenEvent) bool { return strconv.Itoa(e.id) == id }).code)
	live := d.call("real %s", provisional)[0]
	require.NotEqual(t, "0", live)
	d.until("sees what it asked for", func() bool {
		return d.ask("lookup %s", provisional) == liveVerdict && d.ask("lookup %s", live) == liveVerdict
	})
	require.Equal(t, "WD_BAD_SIZE 0", d.ask("input %s", strings.Repeat("01", 65)))
	for _, in := range []string{"0102ff", ""} {
		tick, err := strconv.Atoi(d.call("input %s", in)[0])
		require.NoError(t, err)
		d.until("hears of its input", func() bool { return d.status().appliedInput >= tick })
	}
	d.call("destroy")
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, []string{"true a3616263", "true "}, shouted)
	require.Equal(t, map[string]bool{"0102ff": true, "": true}, held)
}

// A program that computes bodies has the bits of the server at each tick.
func TestComputedBodies(t *testing.T) {
	d := drive(t)
	g, config, err := newTrack(server.RoomRequest{})
	require.NoError(t, err)
	s, _ := serveTrack(t, server.Config{WorldConfig: config})
	d.connect(simulateFlag, s.Addr().String(), s.Fingerprint(), "-")
	d.untilStates("sees all")
	body := trackLib.components[0]
	differing := func() (n int) {
		tick := uint32(d.status().tick)
		g.mu.Lock()
		rocks := g.rocks[tick]
		g.mu.Unlock()
		require.Len(t, rocks, rocksOfTrack)
		for e, want := range rocks {
			b := d.record(0, uint64(e))
			require.NotNil(t, b)
			if !slices.Equal(want[:], append(numbersAt(body, b, "Position", 3), numbersAt(body, b, "Velocity", 3)...)) {
				n++
			}
		}
		return n
	}
	d.until("computes all", func() bool { return differing() == 0 })
	for range 60 {
		d.picture(8)
		require.Zero(t, differing())
	}
	d.call("destroy")
}

// Under 100 ms of latency the program predicts its runner as a Go client beside it does: where the server will have it, to the bit.
// A push by the server is taken over, and effects start once.
func TestPrediction(t *testing.T) {
	d := drive(t)
	g, config, err := newTrack(server.RoomRequest{})
	require.NoError(t, err)
	s, _ := serveTrack(t, server.Config{WorldConfig: config})
	far := delayTo(t, s.Addr().String(), 50*time.Millisecond)
	beside, err := client.Dial(t.Context(), client.Config{Addr: far, Fingerprint: s.Fingerprint(), Schema: track, Name: "beside"})
	require.NoError(t, err)
	defer func() { require.NoError(t, beside.Close()) }()
	own, err := client.Predict(beside, func(_ uint32, r *runner, in stick) { r.step(in) }, client.PredictConfig{})
	require.NoError(t, err)

	d.call("create 0 0 %s %s - -", far, s.Fingerprint())
	d.call("misuse")
	d.call("predict") // before it has joined
	require.Equal(t, "WD_REFUSED", d.ask("predict"))
	d.until("predicts", func() bool { return d.predicted(0).active })
	me, peer := world.Entity(d.status().controlled), world.Entity(beside.Controlled())
	seen, seenBeside := map[uint32]runner{}, map[uint32]runner{}
	play := func(pictures int, in stick) {
		for range pictures {
			_, err := client.SetInput(beside, trackIn, in)
			require.NoError(t, err)
			require.NoError(t, beside.Update())
			if r, ok := own.State(); ok {
				seenBeside[own.Stats().Predicted] = r
			}
			before := d.predicted(0)
			tick, err := strconv.Atoi(d.call("input %x", recordBytes(trackLib.input, map[string]any{"X": in.X, "Z": in.Z}))[0])
			require.NoError(t, err)
			if p := d.predicted(0); tick > before.newest {
				require.Equal(t, tick, p.newest, "the input acts at once")
			}
			d.picture(12)
			d.ask("render")
			d.predicted(1)
			p := d.predicted(0)
			seen[uint32(p.newest)] = p.runner
			require.Zero(t, p.refused-p.steps, "calls inside the step function are refused")
		}
	}
	for i := range 12 {
		play(10, stick{X: float32(i%5-2) / 2, Z: float32(i%3-1) / 2})
	}
	corrected := d.predicted(0).corrected
	d.call("do 2 0 %x", recordBytes(trackLib.arguments[2], map[string]any{"Speed": float32(12)}))
	d.await(7, func(e drivenEvent) bool { return e.number == 2 })
	for d.predicted(0).corrected == corrected { // by the push
		play(10, stick{X: 1})
	}
	corrections := func() int { return d.predicted(0).corrected + int(own.Stats().Corrected) }
	for settled := -1; settled != corrections(); { // on a busy machine predictions are corrected now and then, and ticks may come again
		settled = corrections()
		clear(seen)
		clear(seenBeside)
		play(30, stick{X: 1}) // the same input in each tick: a late one changes nothing
		newest, newestBeside := d.predicted(0).newest, own.Stats().Predicted
		d.until("learns all", func() bool {
			require.NoError(t, beside.Update())
			return d.predicted(0).confirmed > newest && own.Stats().Confirmed > newestBeside
		})
	}
	effects := map[int]int{}
	for _, e := range d.events {
		switch e.kind {
		case 9:
			require.Equal(t, 7, e.number)
			effects[e.tick]++
		case 10:
			effects[e.tick]--
		}
	}
	confirmed := uint32(d.predicted(0).confirmed)
	g.mu.Lock()
	defer g.mu.Unlock()
	for tick, before := range g.truth[me] {
		if after, ok := g.truth[me][tick+1]; ok && tick < confirmed && effects[int(tick+1)] != 0 {
			require.Equal(t, 1, effects[int(tick+1)])
			require.Greater(t, after.Jumps, before.Jumps)
		}
	}
	require.NotEmpty(t, effects)
	for who, states := range map[world.Entity]map[uint32]runner{me: seen, peer: seenBeside} {
		same := 0
		for tick, r := range states {
			if want, known := g.truth[who][tick]; known {
				require.Equal(t, want, r, "%x at tick %d", who, tick)
				same++
			}
		}
		require.Greater(t, same, 10)
	}
	t.Logf("%d corrections", d.predicted(0).corrected)
	d.call("destroy")
}

// forecast is the answer to predicted.
type forecast struct {
	runner
	steps, refused            uint32
	active                    bool
	newest, confirmed         int
	agreed, corrected, missed int
	undone                    int
}

func (d *driven) predicted(when int) (f forecast) {
	d.t.Helper()
	var word, state string
	var active int
	_, err := fmt.Sscanf(d.ask("predicted %d", when), "%s %d %d %d %d %d %d %d %s", &word, &active, &f.newest, &f.confirmed, &f.agreed, &f.corrected, &f.missed, &f.undone, &state)
	require.NoError(d.t, err)
	f.active = active == 1
	if word != "WD_OK" {
		return f
	}
	b, err := hex.DecodeString(state)
	require.NoError(d.t, err)
	r := trackLib.components[1]
	at := numbersAt(r, b, "Position", 2)
	f.Position = [2]float32{math.Float32frombits(at[0]), math.Float32frombits(at[1])}
	f.Speed = math.Float32frombits(numbersAt(r, b, "Speed", 1)[0])
	f.Jumps = uint16(numbersAt(r, b, "Jumps", 1)[0])
	f.steps, f.refused = binary.NativeEndian.Uint32(b[r.layout.Size:]), binary.NativeEndian.Uint32(b[r.layout.Size+4:])
	return f
}

// delayTo returns an address that passes UDP packets on to a server, late.
func delayTo(t *testing.T, to string, delay time.Duration) (addr string) {
	t.Helper()
	front, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	server, err := net.ResolveUDPAddr("udp", to)
	require.NoError(t, err)
	var passing sync.WaitGroup
	behind := map[string]*net.UDPConn{}
	t.Cleanup(func() {
		_ = front.Close()
		passing.Wait()
	})
	passing.Go(func() {
		defer func() {
			for _, c := range behind {
				_ = c.Close()
			}
		}()
		for b := make([]byte, 2048); ; {
			n, from, err := front.ReadFrom(b)
			if err != nil {
				return
			}
			c := behind[from.String()]
			if c == nil {
				if c, err = net.DialUDP("udp", nil, server); err != nil {
					return
				}
				behind[from.String()] = c
				passing.Go(func() {
					for b := make([]byte, 2048); ; {
						n, err := c.Read(b)
						if err != nil {
							return
						}
						p := bytes.Clone(b[:n])
						time.AfterFunc(delay, func() { _, _ = front.WriteTo(p, from) })
					}
				})
			}
			p := bytes.Clone(b[:n])
			time.AfterFunc(delay, func() { _, _ = c.Write(p) })
		}
	})
	return front.LocalAddr().String()
}

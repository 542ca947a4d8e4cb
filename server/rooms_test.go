package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/admin"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// testRooms is a rooms without sockets. A test sets what each world does in a step.
type testRooms struct {
	*rooms
	t    testing.TB
	logs *observer.ObservedLogs

	mu    sync.Mutex
	steps map[string]func(w *world.World) // by room
	made  map[string]int
	fails map[string]error
	calls []string // of the game's hooks, since takeCalls
}

func newTestRooms(t testing.TB, change func(*RoomsConfig)) *testRooms {
	return newClusterRooms(t, nil, change)
}

// newClusterRooms returns the rooms of a node of a cluster; nil: of no cluster.
func newClusterRooms(t testing.TB, cluster Cluster, change func(*RoomsConfig)) *testRooms {
	h := &testRooms{t: t, steps: map[string]func(*world.World){}, made: map[string]int{}, fails: map[string]error{}}
	c := RoomsConfig{Kinds: map[string]RoomKind{"match": {New: h.game}, "lobby": {New: h.game, Pinned: true}}, Default: "lobby"}
	change(&c)
	require.NoError(t, c.Validate())
	core, logs := observer.New(zap.InfoLevel)
	h.logs = logs
	var err error
	h.rooms, err = newRooms(Config{Rooms: &c, Cluster: cluster, Log: zap.New(core), Admit: func(_ context.Context, token []byte) (Admission, error) {
		return Admission{User: string(token)}, nil
	}}, admin.NewTimings(admin.KindLabel))
	require.NoError(t, err)
	return h
}

func (h *testRooms) game(q RoomRequest) (*RoomGame, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.made[q.Name]++
	if err := h.fails[q.Name]; err != nil {
		return nil, err
	}
	w := stage.NewCrates(world.Config{TickHz: 50, MaxEntities: 64, FirstGeneration: q.Generations.First, LastGeneration: q.Generations.Last})
	err := w.AddSystem(world.Before, "step", func(w *world.World) {
		h.mu.Lock()
		step := h.steps[q.Name]
		h.mu.Unlock()
		if step != nil {
			step(w)
		}
	})
	return &RoomGame{WorldConfig: WorldConfig{World: w.World, Schema: schema.NewWithBody(), Replication: replication.Config{Workers: 2}, Hooks: Hooks{
		Join: func(s *Session) (world.Entity, error) {
			h.noteCall("join %s %s", q.Name, s.User())
			return w.Spawn(w.Crate, world.Vec3{}, world.Vec3{})
		},
		Leave: func(s *Session) {
			h.noteCall("leave %s %s", q.Name, s.User())
			w.Destroy(s.Entity())
		},
		MoveRefused: func(s *Session, to string, why error) {
			h.noteCall("refused %s %s %v", to, s.User(), wire.CodeOf(why))
		},
	}}}, err
}

func (h *testRooms) noteCall(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, fmt.Sprintf(format, args...))
}

// takeCalls returns the newest calls of hooks, and forgets them.
func (h *testRooms) takeCalls() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	calls := h.calls
	h.calls = nil
	return calls
}

func (h *testRooms) in(room string, step func(*world.World)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.steps[room] = step
}

// begin starts the pinned rooms, and ends all rooms at the end of the test.
func (h *testRooms) begin() {
	require.NoError(h.t, h.startPinned(context.Background()))
}

// roomClient is a client of a room, by its connection.
type roomClient struct {
	stage.Conn
	peer *session.Peer
	end  context.CancelFunc
}

// code returns the code that closed the connection; OK: it is open.
func (c *roomClient) code() wire.Code {
	for _, code := range c.Snapshot().Closed {
		return code
	}
	return wire.OK
}

// visit joins a room.
func (h *testRooms) visit(room string) (*roomClient, error) { return h.visitAs(room, "") }

func (h *testRooms) visitAs(room, user string) (*roomClient, error) {
	ctx, end := context.WithCancel(context.Background())
	now, err := h.joinRoom(ctx, room, "", Admission{})
	if err != nil {
		end()
		return nil, err
	}
	c := &roomClient{end: end}
	c.peer = now.core.Open(ctx, "here", c)
	c.Peer = c.peer
	hello := stage.Hello(nil)
	hello.Token = []byte(user)
	require.NoError(h.t, c.Send(hello))
	return c, nil
}

func (h *testRooms) mustVisit(room string) *roomClient {
	return must.Get(h.visit(room))
}

func (c *roomClient) leave() {
	c.peer.Left()
	c.end()
}

// now returns the present run of a room.
func (h *testRooms) now(room string) *run {
	h.rooms.mu.Lock()
	defer h.rooms.mu.Unlock()
	return h.byName[room].run.Load()
}

// tick returns the tick of a room's world.
func (h *testRooms) tick(room string) (tick uint64) {
	now := h.now(room)
	require.NoError(h.t, now.loop.runBetweenTicks(context.Background(), func() { tick = now.core.World().Tick() }))
	return tick
}

// times returns how often New was called for each room.
func (h *testRooms) times() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.made)
}

func (h *testRooms) failing(room string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fails[room] = err
}

// names returns the names of all rooms.
func (h *testRooms) names() (names []string) {
	for _, r := range h.sortedRooms() {
		names = append(names, r.name)
	}
	return names
}

// inBubble runs a test with rooms in a bubble of virtual time, and ends the rooms.
func inBubble(t *testing.T, change func(*RoomsConfig), test func(h *testRooms)) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestRooms(t, change)
		h.begin()
		defer func() {
			require.NoError(t, h.endRooms())
			h.descriptors.close() // else the collector does, while another test counts them
		}()
		test(h)
	})
}

func asIs(*RoomsConfig) {}

// changeMatches changes the kind of matches.
func changeMatches(c *RoomsConfig, change func(k *RoomKind)) {
	k := c.Kinds["match"]
	change(&k)
	c.Kinds["match"] = k
}

// changeGames changes the game of each match.
func changeGames(c *RoomsConfig, change func(q RoomRequest, g *RoomGame)) {
	changeMatches(c, func(k *RoomKind) {
		made := k.New
		k.New = func(q RoomRequest) (*RoomGame, error) {
			g, err := made(q)
			if err == nil {
				change(q, g)
			}
			return g, err
		}
	})
}

func TestRoomsAreMadeForThoseWhoJoin(t *testing.T) {
	inBubble(t, asIs, func(h *testRooms) {
		require.Equal(t, []string{"lobby"}, h.names())
		a := h.mustVisit("match/1")
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { h.mustVisit("match/2") })
		}
		all.Wait()
		h.mustVisit("")
		time.Sleep(2 * time.Second)
		require.Equal(t, []string{"lobby", "match/1", "match/2"}, h.names())
		require.Equal(t, map[string]int{"lobby": 1, "match/1": 1, "match/2": 1}, h.times(), "one world for all who come at once")
		require.Equal(t, wire.OK, a.code())
		reports := h.kindReports()
		require.Equal(t, []string{"lobby", "match"}, []string{reports[0].Kind, reports[1].Kind})
		require.Equal(t, []int{1, 21}, []int{reports[0].Report.Active, reports[1].Report.Active})
		require.Equal(t, 22, h.report().Active)
		require.Equal(t, 22, h.countSessions())
	})
}

// Clients choose the names of rooms.
func TestNamesOfRooms(t *testing.T) {
	inBubble(t, asIs, func(h *testRooms) {
		for _, name := range []string{
			"match/../../etc/passwd", "match/..", "match/.", "match/a/b", "match/", "/match", "match/\x00", "match/a\nb", "Match/1", "match/É", "other/1", "other",
			"match/.hidden", "match/dot.", "match/con:", `match/a\b`, "match/" + string(make([]byte, 60)), " ", "lobby/",
		} {
			_, err := h.visit(name)
			require.Equal(t, wire.NoRoom, wire.CodeOf(err), "%q: %v", name, err)
		}
		for _, name := range []string{"match/1", "match", "match/a.b_c-d", "lobby/2"} {
			h.mustVisit(name)
		}
		require.Equal(t, 5, len(h.names()))
	})
}

func TestRoomsAreBounded(t *testing.T) {
	inBubble(t, func(c *RoomsConfig) {
		c.MaxRooms = 4
		c.Kinds["duel"] = RoomKind{New: c.Kinds["match"].New, MaxRooms: 1, Create: ForTokens}
		c.Kinds["arena"] = RoomKind{New: c.Kinds["match"].New, Create: ForGame}
	}, func(h *testRooms) {
		code := func(room string) wire.Code {
			_, err := h.visit(room)
			return wire.CodeOf(err)
		}
		require.Equal(t, wire.NoRoom, code("duel/1"), "its token must name it")
		must.Get(h.joinRoom(context.Background(), "duel/1", "", Admission{Room: "duel/1"}))
		_, err := h.joinRoom(context.Background(), "duel/2", "", Admission{Room: "duel/2"})
		require.Equal(t, wire.ServerFull, wire.CodeOf(err))
		require.Equal(t, wire.OK, code("duel/1"), "it exists")
		_, err = h.joinRoom(context.Background(), "arena", "", Admission{Room: "arena"})
		require.Equal(t, wire.NoRoom, wire.CodeOf(err))
		require.NoError(t, h.createRoom(context.Background(), "arena"))
		h.mustVisit("match/1")
		require.Equal(t, wire.ServerFull, code("match/2"))
		require.Len(t, h.names(), 4)
	})
}

// R3: a flood of names makes no more rooms than the rate allows.
func TestFloodOfNames(t *testing.T) {
	inBubble(t, func(c *RoomsConfig) { c.MaxRooms = 1000 }, func(h *testRooms) {
		refused := 0
		for i := range 500 {
			if _, err := h.visit(fmt.Sprint("match/", i)); err != nil {
				require.Equal(t, wire.ServerFull, wire.CodeOf(err))
				refused++
			}
		}
		require.InDelta(t, 500-creationBurst, refused, creationsPerSecond)
	})
}

// One address cannot take all rooms.
func TestRoomsOfOneAddress(t *testing.T) {
	const attacker, player, here = "192.0.2.7/32", "192.0.2.8/32", "127.0.0.1/32"
	inBubble(t, asIs, func(h *testRooms) {
		code := func(room, address string, token bool) wire.Code {
			var a Admission
			if token {
				a.Room = room
			}
			_, err := h.joinRoom(context.Background(), room, address, a)
			return wire.CodeOf(err)
		}
		for i := range roomsPerAddress {
			require.Equal(t, wire.OK, code(fmt.Sprint("match/", i), attacker, false))
		}
		require.Equal(t, wire.ServerFull, code("match/more", attacker, false))
		require.Equal(t, wire.OK, code("match/1", attacker, false), "it exists")
		require.Equal(t, wire.OK, code("match/issued", attacker, true))
		require.Equal(t, wire.OK, code("match/other", player, false))
		require.Equal(t, wire.OK, code("match/more", player, false))
		for i := range roomsPerAddress + 1 {
			require.Equal(t, wire.OK, code(fmt.Sprint("match/here-", i), here, false), "a proxy may be there")
		}
		require.NoError(t, h.drainRoom("match/0", 0))
		time.Sleep(2 * time.Second)
		require.Equal(t, wire.OK, code("match/again", attacker, false))
	})
}

// A room whose New fails is never visible to other clients.
func TestNewFails(t *testing.T) {
	inBubble(t, func(c *RoomsConfig) { c.MaxRooms = 1000 }, func(h *testRooms) {
		h.failing("match/100", errors.New("out of luck, at /secret/path"))
		h.failing("match/101", &wire.Error{Code: wire.JoinRefused, Detail: "not today"})
		for i := range 110 {
			name := fmt.Sprint("match/", i)
			g, err := h.visit(name)
			switch i {
			case 100:
				require.Equal(t, wire.Internal, wire.CodeOf(err))
				require.NotContains(t, err.Error(), "secret")
				_, err = h.visit(name)
				require.Error(t, err)
				require.Equal(t, 1, h.times()[name], "remembered for a second")
			case 101:
				require.Equal(t, wire.JoinRefused, wire.CodeOf(err))
			default:
				require.NoError(t, err)
				require.Equal(t, wire.OK, g.code())
			}
			time.Sleep(time.Second / creationsPerSecond)
		}
		require.NotEmpty(t, h.logs.FilterMessage("the room cannot be made").FilterField(zap.String("room", "match/100")).All())
		time.Sleep(2 * brokenFor)
		h.failing("match/100", nil)
		h.mustVisit("match/100")
	})
}

func TestNewPanics(t *testing.T) {
	inBubble(t, func(c *RoomsConfig) {
		c.Kinds["bad"] = RoomKind{New: func(RoomRequest) (*RoomGame, error) { panic("no") }}
		c.Kinds["none"] = RoomKind{New: func(RoomRequest) (*RoomGame, error) { return nil, nil }}
	}, func(h *testRooms) {
		for _, name := range []string{"bad", "none"} {
			_, err := h.visit(name)
			require.Equal(t, wire.Internal, wire.CodeOf(err))
		}
		h.mustVisit("match/1")
	})
}

// A New that never returns blocks only its own kind.
func TestNewThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		h := newTestRooms(t, func(c *RoomsConfig) {
			c.Kinds["slow"] = RoomKind{New: func(RoomRequest) (*RoomGame, error) { <-hang; return nil, errors.New("late") }}
		})
		h.begin()
		for i := range 4 {
			_, err := h.visit(fmt.Sprint("slow/", i))
			require.Equal(t, wire.Internal, wire.CodeOf(err))
		}
		g := h.mustVisit("match/1")
		time.Sleep(time.Second)
		require.Equal(t, wire.OK, g.code())
		require.ErrorContains(t, h.endRooms(), "slow/0 slow/1")
		require.Equal(t, wire.Draining, g.code())
		close(hang)
		h.hosting.Wait()
	})
}

func TestIdleRoomsEnd(t *testing.T) {
	inBubble(t, func(c *RoomsConfig) {
		c.Kinds["match"] = RoomKind{New: c.Kinds["match"].New, IdleAfter: 3 * time.Second}
	}, func(h *testRooms) {
		g := h.mustVisit("match/1")
		time.Sleep(8 * time.Second)
		require.Equal(t, []string{"lobby", "match/1"}, h.names())
		g.leave()
		time.Sleep(2 * time.Second)
		require.Equal(t, []string{"lobby", "match/1"}, h.names())
		time.Sleep(3 * time.Second)
		require.Equal(t, []string{"lobby"}, h.names(), "the pinned one stays")
		h.mustVisit("match/1")
		require.Equal(t, 2, h.times()["match/1"])
		joined := h.kindReports()[1].Report.Sessions.Joined
		time.Sleep(2 * time.Second)
		require.EqualValues(t, 1, joined, "counters keep the ended run")
		require.EqualValues(t, 2, h.kindReports()[1].Report.Sessions.Joined)
	})
}

// A room without sessions stays open while a backend calls it, and then ends.
func TestCalledRoomsStay(t *testing.T) {
	inBubble(t, func(c *RoomsConfig) {
		c.Kinds["match"] = RoomKind{New: c.Kinds["match"].New, IdleAfter: 3 * time.Second}
	}, func(h *testRooms) {
		must.Get(h.joinRoom(h.t.Context(), "match/1", "", Admission{})) // its client never comes
		room := h.existingRoom("match/1")
		for range 6 {
			require.NoError(t, room.Do(h.t.Context(), func(*world.World) error { return nil }))
			time.Sleep(2 * time.Second)
		}
		require.Equal(t, []string{"lobby", "match/1"}, h.names())
		time.Sleep(3 * time.Second)
		require.Equal(t, []string{"lobby"}, h.names())
	})
}

func TestDrainAndClose(t *testing.T) {
	inBubble(t, asIs, func(h *testRooms) {
		a, b, c := h.mustVisit("match/a"), h.mustVisit("match/b"), h.mustVisit("match/c")
		require.NoError(t, h.drainRoom("match/a", time.Hour))
		require.NoError(t, h.drainRoom("match/b", 5*time.Second))
		require.NoError(t, h.drainRoom("match/c", 0))
		require.Equal(t, wire.NoRoom, wire.CodeOf(h.drainRoom("match/d", 0)))
		time.Sleep(time.Second)
		require.Equal(t, wire.RoomClosed, c.code())
		_, err := h.visit("match/a")
		require.Equal(t, wire.RoomClosed, wire.CodeOf(err))
		time.Sleep(6 * time.Second)
		require.Equal(t, []string{"lobby", "match/a"}, h.names())
		require.Equal(t, []wire.Code{wire.OK, wire.RoomClosed}, []wire.Code{a.code(), b.code()})
		a.leave()
		time.Sleep(3 * time.Second)
		require.Equal(t, []string{"lobby"}, h.names())
	})
}

// A drained room stays closed to clients, tokens and the game: they would make it again at
// once. Its image stays. The operator opens the name, or it opens after a time.
func TestDrainedRoomStaysClosed(t *testing.T) {
	dir := t.TempDir()
	inBubble(t, func(c *RoomsConfig) {
		c.Images.Dir = dir
		unpinned(c)
	}, func(h *testRooms) {
		closed := func(room string) {
			t.Helper()
			require.False(t, retries(h.visit(room)))
			_, err := h.joinRoom(context.Background(), room, "", Admission{Room: room})
			require.False(t, retries(nil, err), "a token")
			_, err = h.findForMove(room, 0)
			require.False(t, retries(nil, err), "the game")
		}
		g := h.mustVisit("match/a")
		require.NoError(t, h.drainRoom("match/a", time.Minute))
		closed("match/a")
		require.NoError(t, h.createRoom(context.Background(), "match/a"))
		h.mustVisit("match/a").leave()
		require.Equal(t, wire.OK, g.code(), "opened while it was draining")

		require.NoError(t, h.drainRoom("match/a", 0))
		time.Sleep(time.Second)
		require.False(t, retries(nil, &wire.Error{Code: g.code()}))
		require.Empty(t, h.names())
		require.Equal(t, []string{"match/a"}, h.closedRooms())
		require.FileExists(t, filepath.Join(dir, "match", "a.image"))
		closed("match/a")
		time.Sleep(cordonLasts - time.Hour)
		closed("match/a")
		require.NoError(t, h.createRoom(context.Background(), "match/a"))
		h.mustVisit("match/a")
		require.Empty(t, h.closedRooms())
		require.Equal(t, 2, h.times()["match/a"])

		require.NoError(t, h.drainRoom("match/a", 0))
		require.NoError(t, h.createRoom(context.Background(), "match/a"), "the operator waits for its end")
		require.NoError(t, h.drainRoom("match/a", 0))
		time.Sleep(cordonLasts + time.Second)
		h.mustVisit("match/a")
	})
}

// A pinned room that is drained begins again, and is open.
func TestDrainedPinnedRoomBeginsAgain(t *testing.T) {
	inBubble(t, asIs, func(h *testRooms) {
		g := h.mustVisit("lobby")
		require.NoError(t, h.drainRoom("lobby", 0))
		time.Sleep(time.Second)
		require.Equal(t, wire.Draining, g.code())
		require.Empty(t, h.closedRooms())
		h.mustVisit("lobby")
		require.Equal(t, 2, h.times()["lobby"])
	})
}

// unpinned removes the lobby: its ticks would slow down tests of hours of virtual time.
func unpinned(c *RoomsConfig) {
	delete(c.Kinds, "lobby")
	c.Default = ""
}

// retries reports whether the client retries by itself after err, or is admitted.
func retries(_ *roomClient, err error) bool { return wire.CodeOf(err).Info().Retry || err == nil }

// R4: a panic of a system ends only the sessions of its room, with a code that clients retry,
// and the room is restored from its image.
func TestPanicInARoom(t *testing.T) {
	dir := t.TempDir()
	inBubble(t, func(c *RoomsConfig) {
		c.Images = RoomImages{Dir: dir, Every: time.Second}
		k := c.Kinds["match"]
		c.Kinds["gone"] = RoomKind{New: k.New, Unsaved: true}
	}, func(h *testRooms) {
		a, b, c := h.mustVisit("match/a"), h.mustVisit("match/b"), h.mustVisit("gone")
		time.Sleep(5 * time.Second)
		before := h.now("match/a").core
		for _, name := range []string{"match/a", "gone"} {
			h.in(name, func(*world.World) {
				h.in(name, nil)
				panic("a mistake")
			})
		}
		time.Sleep(100 * time.Millisecond)
		require.Equal(t, []wire.Code{wire.Internal, wire.OK, wire.Internal}, []wire.Code{a.code(), b.code(), c.code()})
		time.Sleep(time.Second)
		require.Equal(t, []string{"lobby", "match/a", "match/b"}, h.names(), "the one without images has ended")
		h.mustVisit("match/a")
		time.Sleep(time.Second)
		now := h.now("match/a").core
		require.NotEqual(t, before.Config().Epoch, now.Config().Epoch)
		require.Greater(t, h.tick("match/a"), uint64(200), "of the image")
		require.Greater(t, now.World().Config().FirstGeneration, before.World().Config().FirstGeneration)
		lines := h.logs.FilterMessage("the room panicked: its sessions end").FilterField(zap.String("room", "match/a")).All()
		require.Len(t, lines, 1)
		require.Equal(t, "a mistake", lines[0].ContextMap()["panic"])
		require.Contains(t, lines[0].ContextMap()["stack"], "TestPanicInARoom")
		for _, k := range h.kindReports() {
			require.EqualValues(t, map[string]int{"gone": 1, "match": 1}[k.Kind], k.RoomPanics)
		}
	})
}

// A room that the operator drains ends, even if it panics before it is empty or after it has
// failed.
func TestDrainOutlastsAPanic(t *testing.T) {
	dir := t.TempDir()
	inBubble(t, func(c *RoomsConfig) { c.Images.Dir = dir }, func(h *testRooms) {
		for _, room := range []string{"match/drained", "match/failed", "lobby"} {
			h.mustVisit(room)
		}
		h.in("match/failed", func(*world.World) { panic("always") })
		time.Sleep(10 * time.Second)
		for _, room := range []string{"match/drained", "match/failed", "lobby"} {
			require.NoError(t, h.drainRoom(room, time.Hour))
		}
		for _, room := range []string{"match/drained", "lobby"} {
			h.in(room, func(*world.World) {
				h.in(room, nil)
				panic("a mistake")
			})
		}
		time.Sleep(2 * failedFor)
		require.Equal(t, []string{"lobby"}, h.names())
		require.Equal(t, map[string]int{"lobby": 2, "match/drained": 1, "match/failed": 1 + maxRestarts}, h.times())
		h.mustVisit("lobby")
	})
}

// panicsLater returns a step that panics at once, and after each start one tick later than before: no state of the world
// leads to it.
func panicsLater() func(*world.World) {
	next := uint64(0)
	return func(w *world.World) {
		if w.Tick() >= next {
			next = w.Tick() + 1
			panic("always")
		}
	}
}

// A room that panics repeatedly stays closed for a while.
func TestPanicLoop(t *testing.T) {
	dir := t.TempDir()
	inBubble(t, func(c *RoomsConfig) { c.Images.Dir = dir }, func(h *testRooms) {
		h.mustVisit("match/a")
		h.in("match/a", panicsLater())
		h.in("lobby", panicsLater())
		time.Sleep(10 * time.Second)
		require.Equal(t, 1+maxRestarts, h.times()["match/a"])
		require.Equal(t, 1+maxRestarts, h.times()["lobby"])
		_, err := h.visit("match/a")
		require.Equal(t, wire.Internal, wire.CodeOf(err))
		time.Sleep(2 * failedFor)
		require.LessOrEqual(t, h.times()["match/a"], 3+maxRestarts, "once a minute")
		h.in("lobby", nil)
		h.in("match/a", nil)
		time.Sleep(2 * failedFor)
		h.mustVisit("")
		h.mustVisit("match/a")
	})
}

// runtime.Goexit in a system, for example by FailNow, is contained too.
func TestGoexitInARoom(t *testing.T) {
	inBubble(t, asIs, func(h *testRooms) {
		g := h.mustVisit("match/a")
		done := make(chan struct{})
		h.in("match/a", func(*world.World) {
			close(done)
			new(testing.B).SkipNow()
		})
		<-done
		time.Sleep(time.Second)
		require.Equal(t, wire.Internal, g.code())
		require.Equal(t, []string{"lobby"}, h.names())
	})
}

// R1: a room that never finishes a step delays neither another room nor the end of the server.
func TestRoomThatNeverSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestRooms(t, asIs)
		h.begin()
		stuck := make(chan struct{})
		h.mustVisit("match/stuck")
		h.in("match/stuck", func(*world.World) { <-stuck })
		g := h.mustVisit("match/other")
		time.Sleep(6 * time.Second)
		other := h.now("match/other").loop.report().Tick
		require.Zero(t, other.Late+other.Missed)
		require.InDelta(t, 300, other.Count, 5)
		require.False(t, h.report().Tick.Behind)
		_, err := h.visit("match/stuck")
		require.Equal(t, wire.Internal, wire.CodeOf(err), "nobody waits for it")
		require.ErrorContains(t, h.endRooms(), "[match/stuck]")
		require.Equal(t, wire.Draining, g.code())
		close(stuck)
		h.hosting.Wait()
	})
}

// R2: no two rooms and no two servers save to one file, even if links name it.
func TestImagesOfRooms(t *testing.T) {
	dir := t.TempDir()
	images := func(c *RoomsConfig) {
		c.Images = RoomImages{Dir: dir, Every: time.Second}
		changeMatches(c, func(k *RoomKind) { k.MaxImages = 3 })
	}
	inBubble(t, images, func(h *testRooms) {
		h.mustVisit("match/a")
		time.Sleep(2 * time.Second)
		require.FileExists(t, filepath.Join(dir, "match", "a.image"))
		require.FileExists(t, filepath.Join(dir, "lobby.image"))
		require.NoError(t, os.Symlink(filepath.Join(dir, "match", "a.image"), filepath.Join(dir, "match", "b.image")))
		_, err := h.visit("match/b")
		require.Equal(t, wire.Internal, wire.CodeOf(err))
		other := newTestRooms(t, images)
		require.ErrorContains(t, other.startPinned(context.Background()), "in use")
		require.NoError(t, other.endRooms())
		h.mustVisit("match/c")
		_, err = h.visit("match/d")
		require.Equal(t, wire.ServerFull, wire.CodeOf(err), "too many images: %v", err)
		time.Sleep(2 * brokenFor)
		require.NoError(t, h.createRoom(context.Background(), "match/d"), "the operator may")
		time.Sleep(10 * time.Second)
	})
	inBubble(t, images, func(h *testRooms) { // another process: its ranges begin below the ranges of the images
		for range 3 {
			require.NoError(t, h.drainRoom("lobby", 0))
			time.Sleep(time.Second)
			h.mustVisit("lobby")
			h.mustVisit("match/c")
		}
		require.Greater(t, h.tick("match/c"), uint64(400))
	})
}

func TestContradictionsOfRooms(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	game := func(RoomRequest) (*RoomGame, error) { return nil, nil }
	err := Config{
		Listen: "127.0.0.1:0", Room: "own",
		WorldConfig: WorldConfig{
			CommandBurst: 3,
		},
		Image: ImageConfig{Every: 1},
		Rooms: &RoomsConfig{
			Kinds: map[string]RoomKind{
				"Bad Name": {New: game, IdleAfter: 1},
				"a":        {MaxRooms: -1, MaxSessions: -1, MaxImages: -1, Create: 9},
				"b":        {New: game, Unsaved: true, MaxImages: 1, Create: ForGame},
			},
			Default: "b/1", MaxRooms: 1 << 20, Images: RoomImages{Dir: file, Every: 2 * time.Hour, Keep: 1000, PruneAfter: time.Minute, MaxBytes: -1},
		},
	}.Validate()
	for _, text := range []string{
		"Room and Rooms", "WorldConfig and Rooms", "Image and Rooms", `the name "Bad Name"`, "IdleAfter is 1ns", "New is missing", "kind a: MaxRooms", "kind a: MaxSessions",
		"kind a: MaxImages", "Create is 9", "rooms are Unsaved", `Default is "b/1"`, "MaxRooms is 1048576", "not a folder", "want at most 1h", "1000 images of each room", "after 1m0s: want at least 1h", "MaxBytes is -1",
	} {
		require.ErrorContains(t, err, text)
	}
	require.ErrorContains(t, Config{Listen: "127.0.0.1:0", Rooms: &RoomsConfig{Default: "../x", Images: RoomImages{Keep: 1}}}.Validate(), "Images has settings, but no Dir")
}

// A wrong WorldConfig from New is an error, and so is a world that ignores its generations.
func TestContradictionsOfNew(t *testing.T) {
	h := newTestRooms(t, asIs)
	q := RoomRequest{Name: "match/1", Kind: "match", ID: "1", Generations: generationsOf(3)}
	g := must.Get(h.game(q))
	must.Get(g.sessionConfig(h.process, RoomKind{}, q))
	q.Generations = generationsOf(4)
	g.CommandBurst, g.MaxViewAge = -1, -1
	_, err := g.sessionConfig(h.process, RoomKind{}, q)
	for _, text := range []string{"a command burst of -1", "views of at most -1ns", "pass RoomRequest.Generations (4194305 to 5242879) to world.Config"} {
		require.ErrorContains(t, err, text)
	}
}

func TestRanges(t *testing.T) {
	var r ranges
	take := func(least int) int {
		return must.Get(r.takeBlock(least))
	}
	require.Equal(t, []int{0, 1, 7, 2}, []int{take(0), take(0), take(7), take(0)})
	r.releaseBlock(1)
	require.Equal(t, 3, take(0), "never taken")
	for range len(r.blocks) - 5 {
		take(0)
	}
	require.Equal(t, 1, take(0))
	require.ErrorIs(t, must.Fail(r.takeBlock(0)), errNoRange)
	for _, b := range []int{9, 4, 2000} {
		r.releaseBlock(b)
	}
	require.Equal(t, []int{9, 2000, 4}, []int{take(0), take(5), take(0)}, "the least recently ended first")
	require.Equal(t, Generations{1, 1<<20 - 1}, generationsOf(0))
	require.Equal(t, Generations{4095<<20 + 1, bulk.MaxGeneration}, generationsOf(4095))
	require.Equal(t, []int{1, 2, 6}, []int{blockAbove(3), blockAbove(3 << 18), blockAbove(5<<20 + 1)})
}

package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/worldd/worldd/internal/admin"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// attaching makes kind "match" call attach when one of its rooms is about to open.
func attaching(c *RoomsConfig, attach func(*Room)) {
	changeGames(c, func(_ RoomRequest, g *RoomGame) { g.Attach = attach })
}

// A ban that is set while a room is being made applies to the room.
func TestBanWhileARoomIsMade(t *testing.T) {
	var h *testRooms
	inBubble(t, func(c *RoomsConfig) {
		attaching(c, func(*Room) {
			h.setBans([]string{"ann"})
		})
	}, func(made *testRooms) {
		h = made
		banned := must.Get(h.visitAs("match/1", "ann"))
		other := h.mustVisit("match/1")
		time.Sleep(time.Second)
		require.Equal(t, []wire.Code{wire.Banned, wire.OK}, []wire.Code{banned.code(), other.code()})
	})
}

// A budget too low for one room changes no room, and a room that is made later keeps its own.
func TestBudgetTooLow(t *testing.T) {
	inBubble(t, asIs, func(h *testRooms) {
		require.Error(t, h.setLimits(Limits{BudgetBytesPerSecond: 1}))
		h.mustVisit("match/1")
		require.NoError(t, h.drainRoom("lobby", 0))
		require.NoError(t, h.drainRoom("match/1", 0))
		time.Sleep(time.Second)
		require.NoError(t, h.setLimits(Limits{BudgetBytesPerSecond: 1}), "no room is open")
		h.mustVisit("match/2")
		require.Equal(t, 1, h.logs.FilterMessage("the room keeps its own budget").Len())
	})
}

// An operator's request during which the room panics is answered.
func TestPanicDuringARequest(t *testing.T) {
	inBubble(t, asIs, func(h *testRooms) {
		h.mustVisit("match/1")
		room, answered := h.now("match/1"), make(chan struct{})
		go func() {
			_ = room.loop.runBetweenTicks(context.Background(), func() { panic("a mistake") })
			close(answered)
		}()
		time.Sleep(time.Minute)
		select {
		case <-answered:
		default:
			t.Error("the request waits forever")
		}
	})
}

// A room that panics leaves no goroutines: the test's bubble would notice them.
func TestPanicEndsWorkers(t *testing.T) {
	inBubble(t, asIs, func(h *testRooms) {
		for range 40 {
			h.mustVisit("match/1")
		}
		time.Sleep(2 * time.Second)
		h.in("match/1", func(*world.World) { panic("a mistake") })
		time.Sleep(time.Second)
		require.Equal(t, []string{"lobby"}, h.names())
	})
}

// Ended is called for every game that New has returned, even if the game's room cannot begin.
func TestEndedAfterFailures(t *testing.T) {
	made, ended := 0, 0
	inBubble(t, func(c *RoomsConfig) {
		attaching(c, func(*Room) { panic("a mistake") })
		k := c.Kinds["match"]
		attached := k.New
		k.New = func(q RoomRequest) (*RoomGame, error) {
			if q.ID == "refused" {
				return nil, errors.New("refused")
			}
			g, err := attached(q)
			made++
			g.Ended = func() { ended++ }
			g.MaxViewAge = map[string]time.Duration{"wrong": -1}[q.ID]
			return g, err
		}
		c.Kinds["match"] = k
	}, func(h *testRooms) {
		for _, name := range []string{"match/refused", "match/wrong", "match/1"} {
			must.Fail(h.visit(name))
		}
	})
	require.Equal(t, []int{2, 2}, []int{made, ended})
}

// The server's end reports rooms that could not be saved.
func TestEndReportsUnsavedRooms(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		h := newTestRooms(t, func(c *RoomsConfig) { c.Images.Dir = dir })
		h.begin()
		h.mustVisit("match/1")
		time.Sleep(time.Second)
		require.NoError(t, os.RemoveAll(dir))
		require.NoError(t, os.WriteFile(dir, nil, 0o600))
		err := h.endRooms()
		require.ErrorContains(t, err, "room match/1: ")
		require.ErrorContains(t, err, "room lobby: ")
	})
}

// A panic in the first image of a room ends only the room, as a later one does (R4).
func TestFirstImagePanics(t *testing.T) {
	dir := t.TempDir()
	inBubble(t, func(c *RoomsConfig) {
		c.Images.Dir = dir
		changeGames(c, func(_ RoomRequest, g *RoomGame) {
			g.Extra = func([]byte) []byte { panic("a mistake") }
		})
	}, func(h *testRooms) {
		require.ErrorContains(t, h.createRoom(context.Background(), "match/1"), "Extra panicked: a mistake")
		require.Equal(t, wire.OK, h.mustVisit("lobby").code())
	})
}

// The operator need not wait until a failed room is tried again.
func TestCreateAFailedRoom(t *testing.T) {
	dir := t.TempDir()
	inBubble(t, func(c *RoomsConfig) {
		c.Images.Dir = dir
		changeMatches(c, func(k *RoomKind) { k.MaxImages = 1 })
	}, func(h *testRooms) {
		ctx := context.Background()
		h.failing("match/1", errors.New("no luck"))
		must.Fail(h.visit("match/1"))
		require.ErrorContains(t, h.createRoom(ctx, "match/1"), "no luck")
		h.failing("match/1", nil)
		require.NoError(t, h.createRoom(ctx, "match/1"))
		require.Equal(t, 3, h.times()["match/1"])
		g := h.mustVisit("match/1")

		_, err := h.visit("match/2")
		require.Equal(t, wire.ServerFull, wire.CodeOf(err), "one image at most")
		require.NoError(t, h.createRoom(ctx, "match/2"), "but for the operator")

		h.in("match/1", panicsLater())
		time.Sleep(10 * time.Second)
		require.Equal(t, wire.Internal, g.code())
		require.Error(t, must.Fail(h.visit("match/1")), "it has panicked too often")
		h.in("match/1", nil)
		require.NoError(t, h.createRoom(ctx, "match/1"))
		require.Equal(t, wire.OK, h.mustVisit("match/1").code())
		time.Sleep(2 * failedFor)
		require.Equal(t, 4+maxRestarts, h.times()["match/1"])
	})
}

// runtime.Goexit in the game ends only its room, even with PanicEnds: it is no panic. A Goexit
// in New keeps neither a range of generations nor the image.
func TestGoexitWithPanicEnds(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		exits := true
		h := newTestRooms(t, func(c *RoomsConfig) {
			c.Images.Dir = dir
			k := c.Kinds["match"]
			c.Kinds["exit"] = RoomKind{New: func(q RoomRequest) (*RoomGame, error) {
				if exits {
					runtime.Goexit()
				}
				return k.New(q)
			}}
			c.Kinds["gone"] = RoomKind{New: k.New, Unsaved: true}
		})
		h.process.PanicEnds = true
		h.begin()
		g, other := h.mustVisit("gone"), h.mustVisit("match/2")
		h.in("gone", func(*world.World) { runtime.Goexit() })
		time.Sleep(2 * time.Second)
		require.Equal(t, []wire.Code{wire.Internal, wire.OK}, []wire.Code{g.code(), other.code()})
		require.Equal(t, []string{"lobby", "match/2"}, h.names())
		require.Positive(t, h.report().Active)

		require.ErrorContains(t, must.Fail(h.visit("exit")), "the room cannot be made")
		taken := 0
		for _, b := range h.ranges.blocks {
			if b.taken {
				taken++
			}
		}
		require.Equal(t, 2, taken)
		exits = false
		require.NoError(t, h.createRoom(context.Background(), "exit"))
		require.NoError(t, h.endRooms())
	})
}

// The operator can kick a session between two rooms, even if the next room does not tick.
func TestKickWhileMoving(t *testing.T) {
	inBubble(t, asIs, func(h *testRooms) {
		operator := must.Get(admin.Handler((&Server{log: zap.NewNop(), rooms: h.rooms, timings: admin.NewTimings(admin.KindLabel)}).adminConfig()))
		kick := func(id uint64) int {
			w := httptest.NewRecorder()
			operator.ServeHTTP(w, httptest.NewRequest(http.MethodPost, fmt.Sprintf("/sessions/%d/kick?reason=out", id), nil))
			return w.Code
		}
		g := h.mustVisit("match/1")
		h.mustVisit("match/2")
		time.Sleep(time.Second)
		stuck := make(chan struct{})
		h.in("match/2", func(*world.World) { <-stuck })
		time.Sleep(time.Second)
		id, from := g.peer.ID(), h.now("match/1")
		require.NoError(t, from.loop.runBetweenTicks(context.Background(), func() { require.NoError(t, from.core.Session(id).Move("match/2")) }))
		time.Sleep(time.Second)
		require.Equal(t, []int{http.StatusOK, http.StatusNotFound}, []int{kick(id), kick(id + 1000)})
		require.Equal(t, wire.OK, g.code())
		h.in("match/2", nil)
		close(stuck)
		time.Sleep(time.Second)
		require.Equal(t, wire.Kicked, g.code())
		require.Equal(t, http.StatusNotFound, kick(id))
	})
}

// Rooms that no session enters leave no files, and take no place among the images of others.
func TestImagesOfUnusedRooms(t *testing.T) {
	dir := t.TempDir()
	files := func() (names []string) {
		found := must.Get(os.ReadDir(filepath.Join(dir, "match")))
		for _, f := range found {
			names = append(names, f.Name())
		}
		return names
	}
	inBubble(t, func(c *RoomsConfig) {
		c.Images = RoomImages{Dir: dir, Every: time.Minute}
		changeMatches(c, func(k *RoomKind) { k.MaxImages, k.IdleAfter = 2, 5*time.Second })
	}, func(h *testRooms) {
		for _, name := range []string{"match/x", "match/y"} {
			must.Get(h.joinRoom(context.Background(), name, "", Admission{}))
		}
		_, err := h.joinRoom(context.Background(), "match/z", "", Admission{})
		require.Equal(t, wire.ServerFull, wire.CodeOf(err), "they could be saved yet")
		time.Sleep(10 * time.Second)
		require.Empty(t, files())
		g := h.mustVisit("match/a")
		time.Sleep(time.Second)
		g.leave()
		time.Sleep(10 * time.Second)
		require.Equal(t, []string{"a.image", "a.image.lock", "a.image.run"}, files())
		must.Get(h.joinRoom(context.Background(), "match/a", "", Admission{}))
		require.NoError(t, h.createRoom(context.Background(), "match/o"))
		require.Contains(t, files(), "o.image", "the operator's are saved at once")
		_, err = h.joinRoom(context.Background(), "match/z", "", Admission{})
		require.Equal(t, wire.ServerFull, wire.CodeOf(err))
		time.Sleep(10 * time.Second)
		require.NotContains(t, files(), "a.image.old-1", "nobody has entered it")
		image := must.Get(os.ReadFile(filepath.Join(dir, "match", "a.image")))
		h.mustVisit("match/a")
		require.Greater(t, h.tick("match/a"), uint64(40), "it continues its image")
		time.Sleep(2 * time.Minute)
		require.NotEqual(t, image, must.Get(os.ReadFile(filepath.Join(dir, "match", "a.image"))))
	})
}

// Each room reloads its own limits. A reload that fails, panics or hangs affects no other room.
func TestReloadRooms(t *testing.T) {
	var hang chan struct{}
	limits := map[string]func() (Limits, []string, error){
		"good": func() (Limits, []string, error) {
			return Limits{MaxSessions: 7, BudgetBytesPerSecond: 90_000}, []string{"radius"}, nil
		},
		"bad":    func() (Limits, []string, error) { return Limits{}, nil, errors.New("no such file") },
		"wrong":  func() (Limits, []string, error) { return Limits{MaxSessions: -1}, nil, nil },
		"panics": func() (Limits, []string, error) { panic("a mistake") },
		"hangs":  func() (Limits, []string, error) { <-hang; return Limits{MaxSessions: 8}, nil, nil },
		"none":   nil,
	}
	inBubble(t, func(c *RoomsConfig) {
		k := c.Kinds["match"]
		made := k.New
		k.New = func(q RoomRequest) (*RoomGame, error) {
			g, err := made(q)
			g.Reload, g.MaxSessions = limits[q.ID], 5
			return g, err
		}
		c.Kinds["match"] = k
		k.MaxSessions = 6
		c.Kinds["duel"] = k
	}, func(h *testRooms) {
		hang = make(chan struct{})
		most := func(room string) int { return h.now(room).core.MaxSessions() }
		rooms := []string{"match/good", "match/bad", "match/wrong", "match/panics", "match/hangs", "match/none", "duel/good"}
		var clients []*roomClient
		for _, name := range rooms {
			clients = append(clients, h.mustVisit(name))
		}
		for range 2 {
			(&Server{rooms: h.rooms}).ReloadRooms(context.Background())
			time.Sleep(3 * time.Second)
			var got []int
			for _, name := range rooms {
				got = append(got, most(name))
			}
			require.Equal(t, []int{7, 5, 5, 5, 5, 5, 6}, got)
		}
		for name, text := range map[string]string{"bad": "no such file", "wrong": "-1 sessions", "panics": "a mistake", "hangs": "not ticking"} {
			lines := h.logs.FilterMessage(notReloaded).FilterField(zap.String("room", "match/"+name)).All()
			require.NotEmpty(t, lines, name)
			require.Contains(t, lines[0].ContextMap()["error"], text)
		}
		close(hang)
		time.Sleep(time.Second)
		require.Equal(t, 8, most("match/hangs"))
		for _, g := range clients {
			require.Equal(t, wire.OK, g.code())
		}
		require.NotZero(t, h.logs.FilterMessage("limits reloaded").Len())
	})
}

package server

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// Errors of commands and of Join are logged, but clients cannot fill the disk with them.
func TestErrorsOfTheGameAreLogged(t *testing.T) {
	var refusal atomic.Pointer[error] // of Join; nil: none
	inBubble(t, func(c *RoomsConfig) {
		changeGames(c, func(_ RoomRequest, g *RoomGame) {
			join := g.Hooks.Join
			g.Hooks.Join = func(s *Session) (world.Entity, error) {
				if err := refusal.Load(); err != nil {
					return 0, *err
				}
				return join(s)
			}
			g.Hooks.Commands = []Command{
				session.OnRawCommand("break", func(*Session, world.Entity, []byte) error { return errors.New("no such table: items") }),
				session.OnRawCommand("forbid", func(*Session, world.Entity, []byte) error { return &Rejection{Text: "not now"} }),
			}
		})
	}, func(h *testRooms) {
		g := h.mustVisit("match/1")
		time.Sleep(time.Second)
		lines := func(text string) []string {
			var errs []string
			for _, l := range h.logs.FilterMessageSnippet(text).FilterField(zap.String("room", "match/1")).All() {
				errs = append(errs, fmt.Sprint(l.ContextMap()["error"]))
			}
			return errs
		}
		for i := range 50 {
			for j, name := range []string{"forbid", "break"} {
				require.NoError(t, g.peer.ReceiveStream(wire.AppendMessage(nil, wire.Command{ID: uint32(2*i + j + 1), Name: name})))
			}
		}
		time.Sleep(2 * time.Second)
		require.NoError(t, g.peer.ReceiveStream(wire.AppendMessage(nil, wire.Command{ID: 101, Name: "break"})))
		time.Sleep(time.Second)
		found := lines("a command of the game failed")
		require.Len(t, found, gameErrorBurst+1)
		require.Equal(t, "no such table: items", found[0])
		last := h.logs.FilterMessageSnippet("a command of the game failed").All()[gameErrorBurst]
		require.EqualValues(t, 50-gameErrorBurst, last.ContextMap()["not_logged"])
		require.Equal(t, "break", last.ContextMap()["command"])

		for _, err := range []error{errors.New("no spawn point"), &wire.Error{Code: wire.JoinRefused}} {
			refusal.Store(&err)
			time.Sleep(10 * time.Second)
			h.mustVisit("match/1")
			time.Sleep(time.Second)
		}
		require.Equal(t, []string{"no spawn point"}, lines("the game does not admit a client"))
	})
}

// A hook or a system that takes longer than a tick is named in the log and counted.
func TestSlowPartsOfTheGameAreNamed(t *testing.T) {
	var slow atomic.Bool // the system
	inBubble(t, func(c *RoomsConfig) {
		k := c.Kinds["match"]
		made := k.New
		k.New = func(q RoomRequest) (*RoomGame, error) {
			g, err := made(q)
			if err != nil {
				return nil, err
			}
			g.Hooks.Commands = []Command{session.OnRawCommand("rest", func(*Session, world.Entity, []byte) error {
				time.Sleep(time.Second)
				return nil
			})}
			return g, g.World.AddSystem(world.Before, "pathfinding", func(*world.World) {
				if slow.CompareAndSwap(true, false) {
					time.Sleep(2 * time.Second)
				}
			})
		}
		c.Kinds["match"] = k
	}, func(h *testRooms) {
		g := h.mustVisit("match/1")
		time.Sleep(time.Second)
		named := func() (all []map[string]any) {
			for _, l := range h.logs.FilterMessageSnippet("took longer than a tick").All() {
				all = append(all, l.ContextMap())
			}
			return all
		}
		require.Empty(t, named())
		require.NoError(t, g.peer.ReceiveStream(wire.AppendMessage(nil, wire.Command{ID: 1, Name: "rest"})))
		time.Sleep(3 * time.Second)
		slow.Store(true)
		time.Sleep(5 * time.Second)
		lines := named()
		require.Len(t, lines, 2)
		require.Equal(t, []any{"command", "rest", time.Second, "match/1"}, []any{lines[0]["hook"], lines[0]["command"], lines[0]["took"], lines[0]["room"]})
		require.NotZero(t, lines[0]["session"])
		require.Equal(t, []any{"pathfinding", "before", 2 * time.Second, "match/1"}, []any{lines[1]["system"], lines[1]["phase"], lines[1]["took"], lines[1]["room"]})
		report := h.report()
		require.EqualValues(t, 1, report.Sessions.Slow[session.HookCommand])
		systems := map[string]uint64{}
		for _, s := range report.World.Systems {
			systems[s.Name] += s.Slow
		}
		require.EqualValues(t, 1, systems["pathfinding"])
	})
}

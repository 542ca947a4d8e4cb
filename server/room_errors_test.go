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
		k := c.Kinds["match"]
		made := k.New
		k.New = func(q RoomRequest) (*RoomGame, error) {
			g, err := made(q)
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
			return g, err
		}
		c.Kinds["match"] = k
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

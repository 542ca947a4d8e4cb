package session

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
)

// The newer side decides whether it accepts the older one: servers refuse clients before MinClient,
// and clients name the oldest server that they accept. The game supplies the texts of refusals.
func TestClientsOfOtherVersions(t *testing.T) {
	v := Versions{Game: "1.9", MinClient: "1.4", TooOld: "Get the update in the store.", TooNew: "This server awaits its update."}
	for _, c := range []struct {
		versions           Versions
		version, minServer string
		code               wire.Code
		text, want         string
	}{
		{Versions{}, "", "", wire.OK, "", ""},
		{Versions{}, "7", "", wire.OK, "", ""},
		{v, "1.4", "1.9", wire.OK, "", ""},
		{v, "v1.10.2-beta", "", wire.OK, "", ""},
		{v, "1.3.9", "", wire.ClientTooOld, v.TooOld, "version 1.4"},
		{v, "", "", wire.ClientTooOld, v.TooOld, "version 1.4"},
		{v, "1.10", "1.10", wire.ClientTooNew, v.TooNew, "server 1.9"},
		{v, "1", "2", wire.ClientTooOld, v.TooOld, "version 1.4"},
		{Versions{MinClient: "2"}, "1", "", wire.ClientTooOld, "your game is 1, and this server needs 2 or newer: update the game", "version 2"},
		{Versions{}, "1", "0.1", wire.ClientTooNew, "this server is of an unknown version, and your game needs 0.1 or newer: choose another server, or try again later", "server of an unknown version"},
	} {
		why, want := c.versions.checkClient(&wire.Hello{Version: c.version, MinServer: c.minServer})
		require.Equal(t, c.want, want)
		if c.code == wire.OK {
			require.Nil(t, why, c)
			continue
		}
		require.Equal(t, &wire.Error{Code: c.code, Detail: c.text}, why)
	}
	require.NoError(t, v.Validate())
	require.ErrorContains(t, Versions{Game: "latest"}.Validate(), "Versions")
	require.ErrorContains(t, Versions{MinClient: "1.2.3.4.5"}.Validate(), "Versions")
	require.ErrorContains(t, Versions{TooNew: strings.Repeat("x", wire.MaxText+1)}.Validate(), "257 bytes")
}

// A client of a wrong version is refused before its token is used, and before it gets a room.
func TestVersionsPrecedeTokensAndRooms(t *testing.T) {
	admitted := 0
	admit := func(context.Context, []byte) (Admission, error) {
		admitted++
		return Admission{}, nil
	}
	old := func(h *wire.Hello) { h.Version = "1.1" }
	h := newTestRooms(t, func(c *RouterConfig) {
		c.Admit, c.Versions = admit, Versions{Game: "1.3", MinClient: "1.2"}
	})
	h.add("one")
	c := h.dial(toRoom("one"), old)
	h.tick(1)
	require.Equal(t, wire.ClientTooOld, c.Ended.Code)
	require.Zero(t, admitted)
	require.Empty(t, h.joins)
	c = h.dial(toRoom("one"), func(h *wire.Hello) { h.Version, h.MinServer = "1.2", "1.3" })
	h.tick(1)
	require.Len(t, c.Welcomes, 1)
	require.Equal(t, "1.3", c.Welcomes[0].Version)
	require.Equal(t, 1, admitted)

	core, _ := newRoomOf(t, 4, Hooks{})
	core.config.Admit, core.config.Versions = admit, Versions{MinClient: "1.2"}
	refused, _ := core.openConn("")
	hello := wire.Hello{Protocol: wire.Version, Tables: core.replicator.Config().Tables.Version(), Version: "1.1", Room: "another"}
	require.NoError(t, refused.ReceiveStream(wire.AppendMessage(nil, hello)))
	core.Tick()
	require.Equal(t, map[wire.Code]uint64{wire.ClientTooOld: 1}, core.Stats().Closed)
	require.Equal(t, 1, admitted, "the token is not used")

	require.ErrorContains(t, must.Fail(NewRouter(RouterConfig{Versions: Versions{Game: "x"}})), "Versions")
}

// All rooms of a Router have its versions. A Core that names others is an error: a client would be
// refused by one, and welcomed with the version of the other.
func TestVersionsOfRooms(t *testing.T) {
	all := Versions{Game: "1.3", MinClient: "1.2"}
	h := newTestRooms(t, func(c *RouterConfig) { c.Versions = all })
	require.Equal(t, all, h.add("one").Config().Versions)
	h.change = func(c *Config) { c.Versions = all }
	two := h.add("two")
	require.Equal(t, all, two.Config().Versions)
	for _, other := range []Versions{{Game: "1.3"}, {Game: "1.4", MinClient: "1.2"}, {Game: "1.3", MinClient: "1.2", TooOld: "x"}} {
		c := Config{Router: h.router, Versions: other, WorldConfig: two.Config().WorldConfig}
		require.ErrorContains(t, c.Validate(), "set RouterConfig.Versions")
	}

	none := newTestRooms(t, func(*RouterConfig) {})
	c := Config{Router: none.router, Versions: all, WorldConfig: two.Config().WorldConfig}
	require.ErrorContains(t, c.Validate(), "set RouterConfig.Versions")
}

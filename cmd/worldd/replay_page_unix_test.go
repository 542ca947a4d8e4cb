//go:build unix

package main

import (
	_ "embed"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/browsertest"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/host"
	"github.com/worldd/worldd/world"
)

// replayProbe operates the page of a recording and reports what it shows.
//
//go:embed testdata/replay_probe.js
var replayProbe string

// roomProbe reports which recording the page shows.
const roomProbe = `
while (document.querySelector("#kinds b") === null) await new Promise(resolve => setTimeout(resolve, 50))
browsertest.report(["file", "verdict"].map(id => document.getElementById(id).textContent))
`

// replayProbed is the report of replayProbe.
type replayProbed struct {
	Verdict, Difference              string
	Crates, Colours                  int
	Player, Death, NoDeath, Followed string
	Late, Lateness, NoLate           string
	Born, Before, After, Inspected   string
	Second, Played, Paused           int
	Trouble                          string
	Requests, Axe                    []string
}

// TestReplayPage opens the page of a recording whose replay differs in its last tick. It draws the world, jumps to events
// and to the difference, follows an entity, and says what a held handle names at each tick.
func TestReplayPage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "storm.recording")
	require.NoError(t, os.WriteFile(path, recording(t, "storm", func(w *world.World) {
		if w.Tick() == 85 {
			w.Impulse(w.Slots().Handle(3), world.Vec3{Y: 1})
		}
	}), 0o600))
	origin := servePage(t, "/replay", "replay", "--page", "--world=storm", path)
	browsertest.Each(t, func(t *testing.T, b browsertest.Browser) {
		report := b.Open(t, liveSite(t, origin, replayProbe), "/replay").Next()
		t.Logf("%s", report)
		var p replayProbed
		require.NoError(t, json.Unmarshal(report, &p))
		require.Contains(t, p.Verdict, "first after tick 85: in bodies")
		require.Equal(t, "85", p.Difference)
		require.Equal(t, 10_000, p.Crates)
		require.Greater(t, p.Colours, 3)
		require.Regexp(t, `^tick 31: avatar \d+v\d+ was spawned$`, p.Player)
		require.Regexp(t, `^tick \d\d: spark \d+v\d+ was destroyed`, p.Death)
		require.Equal(t, "none before this tick", p.NoDeath)
		require.Equal(t, "tick 41: began 250 ms late on the server", p.Late)
		require.Equal(t, "1, worst 250ms at tick 41", p.Lateness)
		require.Equal(t, "none after this tick", p.NoLate)
		require.Regexp(t, `^Following \d+v\d+\. $`, p.Followed)
		require.Contains(t, p.Born, "live")
		require.Contains(t, p.Born, "position: ")
		require.Contains(t, p.Before, "pending")
		require.Contains(t, p.After, "live")
		require.Regexp(t, `^live at tick 31 position -?\d`, p.Inspected)
		require.Equal(t, 60, p.Second)
		require.Greater(t, p.Played, p.Second)
		require.Greater(t, p.Paused, p.Second)
		require.Empty(t, p.Trouble)
		requireAccessible(t, p.Axe)
		for _, r := range p.Requests {
			require.Regexp(t, `^http://127\.0\.0\.1:`, r)
		}
	})
}

// TestReplayPageOfRoom opens a room's page from a folder of recordings.
func TestReplayPageOfRoom(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "room"), 0o700))
	rooms := definition()
	rooms.Worlds, rooms.Rooms = nil, &server.RoomsConfig{Kinds: map[string]server.RoomKind{"room": {}}}
	rooms.New = func(o host.Options) (*host.Instance, error) {
		o.World = map[string]string{"1": "storm", "2": "calm"}[o.Room.ID]
		return newWorld(o)
	}
	for id, name := range map[string]string{"1": "storm", "2": "calm"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "room", id+".recording"), recording(t, name, nil), 0o600))
	}
	origin, stop := startPage(t, rooms, "/replay", "replay", "--page", folder, "--room=room/2")
	t.Cleanup(stop)
	browsertest.Each(t, func(t *testing.T, b browsertest.Browser) {
		report := b.Open(t, liveSite(t, origin, roomProbe), "/replay").Next()
		require.JSONEq(t, `["2.recording", "the replay equals the recording"]`, string(report))
	})
}

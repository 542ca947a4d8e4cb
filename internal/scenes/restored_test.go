package scenes

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
)

const editedFile = `name: meadow
seed: 1
bounds: [64, 32, 64]
kinds:
  ball: {body: {mass: 2, drag: 4, radius: 0.3}}
effects:
  breeze:
    mode: wind
    params: {velocity: [3, 0, 0]}
    text: |
      param velocity = (1, 0, 0)
      output += velocity
  whirl: {mode: wind, shipped: whirl, center: [1, 0, 2], orbit: {radius: 9, period_s: 7, phase: 0.3}}
  push:
    mode: acceleration
    pulse: {per_second: 4, life_s: 2, speed: 3, region: {min: [-9, 5, -9], max: [9, 5, 9]}}
    text: |
      box (-9, -9, -9) (9, 9, 9)
      output += (60, 0, 0)
spawns:
  - {kind: ball, count: 9, region: {min: [-9, 1, -9], max: [9, 1, 9]}}
emitters:
  - {kind: ball, per_second: 5, life_s: [3, 3], region: {min: [-1, 1, -1], max: [1, 1, 1]}}
players: {kind: ball, region: {min: [0, 5, 0], max: [0, 5, 0]}}
`

func buildText(t *testing.T, text string) *Scene {
	t.Helper()
	f := must.Get(Parse("meadow.yaml", []byte(text)))
	return must.Get(Build(f))
}

// imageOf returns the bytes of an image, with a changed Extra.
func imageOf(t *testing.T, s *Scene, change func(*state)) []byte {
	img := takeImage(s)
	var extra state
	require.NoError(t, json.Unmarshal(img.Extra, &extra))
	change(&extra)
	img.Extra = must.Get(json.Marshal(extra))
	var file bytes.Buffer
	must.Get(img.WriteTo(&file))
	return file.Bytes()
}

// restoreEdited runs a scene for a while and restores its image in one of an edited file.
func restoreEdited(t *testing.T, text string, change func(*state)) (was, is *Scene, err error) {
	was, is = buildText(t, editedFile), buildText(t, text)
	run(was, 130)
	img, err := is.World.ReadImage(bytes.NewReader(imageOf(t, was, change)))
	if err == nil {
		err = is.RestoreRun(img)
	}
	return was, is, err
}

// Effects that the file still describes as before continue where they were; so does everything, if
// the file is the same.
func TestUnchangedFileContinues(t *testing.T) {
	for name, change := range map[string]func(*state){
		"an image with names": func(*state) {},
		"an older image":      func(s *state) { s.Effects, s.Keys = nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			was, is, err := restoreEdited(t, strings.Replace(editedFile, "output += velocity", "output += velocity # slow", 1), change)
			require.NoError(t, err)
			require.Empty(t, is.Restored())
			require.Len(t, was.World.AppendEffects(nil), 2+8, "explosions are under way")
			require.Equal(t, effectsOf(was), effectsOf(is))
			for range 300 {
				was.World.Step()
				is.World.Step()
			}
			require.Equal(t, effectsOf(was), effectsOf(is))
			require.Equal(t, was.effectStates(), is.effectStates())
		})
	}
}

// effectsOf returns the effects of a scene's world in comparable form: without the ticks of
// changes, and with the hash of each program in place of the program.
func effectsOf(s *Scene) (all []world.EffectState) {
	for _, e := range s.World.AppendEffects(nil) {
		e.Changed, e.Program = e.Program.Hash(), nil
		all = append(all, e)
	}
	return all
}

// Either edits of a key of the file apply, or the image decides the key's value. In the
// second case an edit is refused or reported.
func TestEditedFile(t *testing.T) {
	breeze := editedFile[strings.Index(editedFile, "  breeze:"):strings.Index(editedFile, "  whirl:")]
	push := editedFile[strings.Index(editedFile, "  push:"):strings.Index(editedFile, "spawns:")]
	for _, c := range []struct {
		name, old, new string
		want           []string // lines of Restored
		refused        string
	}{
		{"an effect's parameter", "[3, 0, 0]", "[-3, 0, 0]", []string{"effect breeze begins again: it has changed in the file"}, ""},
		{"an effect's text", "+= velocity", "-= velocity", []string{"effect breeze begins again: it has changed in the file"}, ""},
		{"an effect's mode", "wind\n    params", "acceleration\n    params", []string{"effect breeze begins again: it has changed in the file"}, ""},
		{"an effect's centre", "[1, 0, 2]", "[1, 0, 3]", []string{"effect whirl begins again: it has changed in the file"}, ""},
		{"an orbit's phase", "phase: 0.3", "phase: 0.6", []string{"effect whirl begins again: it has changed in the file"}, ""},
		{"a pulse", "per_second: 4", "per_second: 2", []string{"effect push begins again: it has changed in the file"}, ""},
		{"an effect removed", breeze, "", []string{"effect breeze has ended: it is gone from the file"}, ""},
		{"a pulse removed", push, "", []string{"effect push has ended: it is gone from the file"}, ""},
		{"an effect added", "effects:\n", "effects:\n  lift:\n    mode: wind\n    text: |\n      output.y += 9\n", []string{"effect lift begins: it is new in the file"}, ""},
		{"an effect renamed", "breeze", "wind", []string{"effect wind begins: it is new in the file", "effect breeze has ended: it is gone from the file"}, ""},
		{"spawns", "count: 9", "count: 8", []string{"spawns has changed in the file, and is ignored: it describes how a world begins, and this one continues"}, ""},
		{"emitters", "per_second: 5", "per_second: 6", []string{"emitters has changed in the file, and applies"}, ""},
		{"players", "players: {", "players: {speed: 7, ", []string{"players has changed in the file, and applies"}, ""},
		{"a kind's priority", "ball: {", "ball: {priority: 3, ", []string{"kinds has changed in the file, and applies"}, ""},
		{"a further kind", "kinds:\n", "kinds:\n  box: {body: {mass: 1}}\n", []string{"kinds has changed in the file, and applies"}, ""},
		{"a kind's body", "mass: 2", "mass: 3", []string{"kinds has changed in the file, and applies"}, ""},
		{"a kind removed", "ball", "box", nil, `kind "ball", which the world lacks`},
		{"limits", "seed: 1", "seed: 1\nlimits: {max_entities: 1000, max_players: 7}", []string{"limits has changed in the file, and applies"}, ""},
		{"interest", "seed: 1", "seed: 1\ninterest: {enter_radius: 20}", []string{"interest has changed in the file, and applies"}, ""},
		{"the budget", "seed: 1", "seed: 1\nbudget_bytes_per_second: 9999", []string{"budget_bytes_per_second has changed in the file, and applies"}, ""},
		{"snapshots", "seed: 1", "seed: 1\nsnapshot_hz: 30", []string{"snapshot_hz has changed in the file, and applies"}, ""},
		{"gravity", "seed: 1", "seed: 1\ngravity: 5", []string{"gravity has changed in the file, and applies"}, ""},
		{"the seed", "seed: 1", "seed: 2", []string{"seed has changed in the file, and is ignored: it describes how a world begins, and this one continues"}, ""},
		{"ticks", "seed: 1", "seed: 1\ntick_hz: 30", []string{"tick_hz has changed in the file, and applies"}, ""},
		{"the bounds", "[64, 32, 64]", "[64, 32, 65]", []string{"bounds has changed in the file, and applies"}, ""},
		{"the grid", "seed: 1", "seed: 1\ncell_metres: 9", []string{"cell_metres has changed in the file, and applies"}, ""},
		{"the name", "name: meadow", "name: heath", []string{"name has changed in the file, and applies"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(editedFile, c.old, c.new, -1)
			require.NotEqual(t, editedFile, text)
			was, is, err := restoreEdited(t, text, func(*state) {})
			if c.refused != "" {
				require.ErrorIs(t, err, world.ErrImageWorld)
				require.ErrorContains(t, err, c.refused)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, is.Restored())
			journaled := buildText(t, text) // repeats a journal of the file as it was, then begins a run
			require.NoError(t, journaled.LoadExtra(was.Extra(nil)))
			require.True(t, journaled.Edited(was.Extra(nil)))
			if c.name != "ticks" { // an orbit keeps its place, where a new one would have turned for more seconds
				requireEffectsOfFile(t, is)
			}
		})
	}
}

// requireEffectsOfFile requires a restored scene to have the effects that a new one of its file has,
// besides pulses.
func requireEffectsOfFile(t *testing.T, s *Scene) {
	t.Helper()
	s.World.Step() // a new effect is where it acts first
	fresh := must.Get(Build(s.File))
	run(fresh, int(s.World.Tick()))
	var have, want []world.EffectState
	for _, e := range s.World.AppendEffects(nil) {
		if e.Last == 0 {
			have = append(have, e)
		}
	}
	for _, e := range fresh.World.AppendEffects(nil) {
		if e.Last == 0 {
			want = append(want, e)
		}
	}
	require.Len(t, have, len(want))
	for _, w := range want {
		found := false
		for _, h := range have {
			found = found || h.Center.Sub(w.Center).Len() < 1e-3 && h.Mode == w.Mode && h.Program.Hash() == w.Program.Hash() && len(h.Params) == len(w.Params) && (len(h.Params) == 0 || h.Params[0] == w.Params[0])
		}
		require.True(t, found, "%s at %v", w.Program.Name(), w.Center)
	}
}

// In an image from before effects had names, Restore finds the effects of the file by their
// behaviour.
func TestEditedFileAndAnOlderImage(t *testing.T) {
	_, is, err := restoreEdited(t, strings.Replace(editedFile, "[3, 0, 0]", "[-3, 0, 0]", 1), func(s *state) { s.Effects, s.Keys = nil, nil })
	require.NoError(t, err)
	require.Equal(t, []string{"effect breeze begins: it is new in the file", "effect of an older image has ended: it is gone from the file"}, is.Restored())
	requireEffectsOfFile(t, is)
}

// Every key of the file is in a class.
func TestKeysOfTheFile(t *testing.T) {
	f := buildText(t, editedFile).File
	var keys []string
	for key := range f.values {
		keys = append(keys, key)
	}
	require.Subset(t, keys, beginningKeys)
	require.Equal(t, []string{"name", "seed", "tick_hz", "snapshot_hz", "bounds", "gravity", "cell_metres", "limits", "interest", "budget_bytes_per_second", "kinds", "effects", "spawns", "emitters", "players"}, keys,
		"say in WORLDS.md, and in beginningKeys, what an edit of the new key does to a world with an image")
}

package host

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
)

// saveTag saves the world of the game tag after a second.
func saveTag(t *testing.T, path string) {
	d := tag()
	d.Version = "v7"
	g := must.Get(d.buildInstance(Options{}))
	for range 30 {
		g.World.Step()
	}
	var img world.Image
	g.takeImage(&img)
	img.Extra = []byte("of the game")
	file := must.Get(os.Create(path))
	must.Get(img.WriteTo(file))
	require.NoError(t, file.Close())
}

func TestImageCommands(t *testing.T) {
	dir := t.TempDir()
	path, other, out := filepath.Join(dir, "a.image"), filepath.Join(dir, "b.image"), filepath.Join(dir, "c.image")
	saveTag(t, path)
	data := must.Get(os.ReadFile(path))
	require.NoError(t, os.WriteFile(other, data[:len(data)-9], 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("w"), 0o600))
	newer := tag()
	newer.Version = "v8"
	newer.New = func(o Options) (*Instance, error) {
		g, err := newTag(o)
		Must(world.Register[int64](g.World, "mana"))
		return g, err
	}

	status, text, errs := playOf(t, newer, "image", "info", path)
	require.Equal(t, exitOK, status, errs)
	for _, part := range []string{"tag v7, in format 5", "tick 30, 30 a second: 1s", "8 in 8 slots", "kind ball", "8 entities, mass 1 kg", "component it", "{Count"} {
		require.Contains(t, text, part)
	}
	status, text, errs = playOf(t, newer, "image", "info", "--json", path)
	require.Equal(t, exitOK, status, errs)
	var report imageReport
	require.NoError(t, json.Unmarshal([]byte(text), &report))
	require.Equal(t, []any{"v7", uint64(30), 8, "ball", "it"}, []any{report.Version, report.Tick, report.Entities, report.Kinds[0].Name, report.Components[0].Name})
	require.EqualValues(t, len(data), report.Bytes)

	status, text, errs = playOf(t, newer, "image", "list", dir)
	require.Equal(t, exitOK, status, errs)
	require.Regexp(t, `a\.image +\S+ \S+ +\d+ +30 +8 +tag v7`, text)
	require.Regexp(t, `b\.image .* image damaged: it ends early`, text)
	require.NotContains(t, text, "notes")

	status, text, errs = playOf(t, newer, "image", "verify", path)
	require.Equal(t, exitOK, status, errs)
	require.Contains(t, text, `not as in the image: component "mana": new: no entity has it`)
	require.Contains(t, text, "can be restored: tick 30, 8 entities, changes: 1")
	status, text, errs = playOf(t, newer, "image", "verify", "--json", path)
	require.Equal(t, exitOK, status, errs)
	require.JSONEq(t, `{"file": "`+path+`", "tick": 30, "entities": 8, "changes": [{"what": "component \"mana\": new: no entity has it", "losing": false}]}`, text)
	for _, flags := range [][]string{nil, {"--json"}} {
		status, text, errs = playOf(t, newer, append([]string{"image", "verify", other}, flags...)...)
		require.Equal(t, exitError, status)
		require.Contains(t, errs, "it ends early")
		require.Equal(t, flags != nil, strings.Contains(text, `"error": "`), text)
	}

	status, text, errs = playOf(t, newer, "image", "migrate", path, "--json", "--out", filepath.Join(dir, "d.image"))
	require.Equal(t, exitOK, status, errs)
	require.Contains(t, text, `d.image",`)
	status, text, errs = playOf(t, newer, "image", "migrate", path, "--out", out)
	require.Equal(t, exitOK, status, errs)
	require.Contains(t, text, "c.image written: tick 30, 8 entities, changes: 1")
	status, text, errs = playOf(t, newer, "image", "verify", out)
	require.Equal(t, exitOK, status, errs)
	require.Contains(t, text, "changes: 0")
	require.NotContains(t, text, "not as in")
	status, text, errs = playOf(t, newer, "image", "info", out)
	require.Equal(t, exitOK, status, errs)
	require.Contains(t, text, "tag v8")
	status, _, errs = playOf(t, newer, "image", "migrate", path, "--out", out)
	require.Equal(t, exitError, status)
	require.Contains(t, errs, "c.image exists")
	status, _, errs = playOf(t, newer, "image", "info", dir)
	require.Equal(t, exitUsage, status)
	require.Contains(t, errs, "not a regular file")
}

// image verify says what serve would: also what the game makes of its state outside the world.
func TestImageVerifyAsksTheGame(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.image")
	saveTag(t, path)
	var refusal error
	d := tag()
	d.New = func(o Options) (*Instance, error) {
		g, err := newTag(o)
		g.RestoreRun = func(img *world.Image) error {
			require.Equal(t, "of the game", string(img.Extra))
			return errors.Join(g.World.RestoreRun(img), refusal)
		}
		g.Restored = func() []string { return []string{"rules.txt has changed, and applies"} }
		return g, err
	}
	status, text, errs := playOf(t, d, "image", "verify", path)
	require.Equal(t, exitOK, status, errs)
	require.Contains(t, text, "not as in the image: rules.txt has changed, and applies")
	require.Contains(t, text, "changes: 1")
	refusal = errors.New("rules of another game")
	status, _, errs = playOf(t, d, "image", "verify", path)
	require.Equal(t, exitError, status)
	require.Contains(t, errs, "rules of another game")
}

// An empty folder has an empty list.
func TestNoImages(t *testing.T) {
	status, text, errs := playOf(t, tag(), "image", "list", "--json", t.TempDir())
	require.Equal(t, exitOK, status, errs)
	require.Equal(t, "[]\n", text)
}

// image info describes a recording, and the image at its head.
func TestImageInfoOfRecording(t *testing.T) {
	d := tag()
	d.Version = "v7"
	g := must.Get(d.buildInstance(Options{}))
	for range 30 {
		g.World.Step()
	}
	var img world.Image
	g.takeImage(&img)
	path := filepath.Join(t.TempDir(), "a.recording")
	file := must.Get(os.Create(path))
	recorder := must.Get(g.World.Record(file, &img, 5))
	for range 60 {
		g.World.Step()
	}
	status, text, errs := playOf(t, tag(), "image", "info", path)
	require.Equal(t, exitOK, status, errs)
	require.Contains(t, text, "not closed: its server died or still runs")
	require.NoError(t, recorder.Close())
	require.NoError(t, file.Close())
	status, text, errs = playOf(t, tag(), "image", "info", path)
	require.Equal(t, exitOK, status, errs)
	for _, part := range []string{"tag v7, in format 5", "tick 30, 30 a second: 1s", "to tick 90: 2s, compared every 5 ticks, in format 6, closed", "8 in 8 slots", "kind ball"} {
		require.Contains(t, text, part)
	}
	status, text, errs = playOf(t, tag(), "image", "info", "--json", path)
	require.Equal(t, exitOK, status, errs)
	var report imageReport
	require.NoError(t, json.Unmarshal([]byte(text), &report))
	require.Equal(t, "tag", report.Program)
	require.Equal(t, &recordingReport{Format: 6, LastTick: 90, Seconds: 2, Every: 5, Closed: true}, report.Recording)
}

// image info describes a segment of a journal: whole, torn, damaged or lossy.
func TestImageInfoOfSegment(t *testing.T) {
	d := tag()
	g := must.Get(d.buildInstance(Options{}))
	journal := must.Get(g.World.StartJournal(world.JournalConfig{Run: 0xabc, Durable: true}))
	data := slices.Clone(must.Get(journal.BeginSegment(nil)))
	for range 30 {
		g.World.Step()
		data = append(data, must.Get(journal.Commit(nil))...)
	}
	flipped := slices.Clone(data)
	flipped[len(flipped)-1] ^= 1
	dir := t.TempDir()
	for name, c := range map[string]struct {
		data   []byte
		status int
		texts  []string
	}{
		"whole":       {data, exitOK, []string{"of run 0000000000000abc, after the image of tick 0: 30 frames, to tick 30", "before the output of each tick left", "whole"}},
		"torn":        {data[:len(data)-1], exitOK, []string{"29 frames, to tick 29", "torn, as a killed server leaves it: ", "after tick 29 at byte"}},
		"whole.lossy": {data, exitOK, []string{"30 frames", "Later ticks are missing"}},
		"damaged":     {flipped, exitError, []string{"29 frames", "damaged: what follows is lost: ", "after tick 29 at byte"}},
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, c.data, 0o600))
		status, text, errs := playOf(t, tag(), "image", "info", path)
		require.Equal(t, c.status, status, errs)
		require.Equal(t, c.status != exitOK, strings.Contains(errs, "journal ends early"), errs)
		for _, part := range c.texts {
			require.Contains(t, text, part)
		}
		_, text, _ = playOf(t, tag(), "image", "info", "--json", path)
		var report segmentReport
		require.NoError(t, json.Unmarshal([]byte(text), &report))
		require.Equal(t, []any{name == "whole.lossy", name == "torn", true}, []any{report.Lossy, report.Torn, report.Always}, name)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cut"), data[:20], 0o600))
	status, _, errs := playOf(t, tag(), "image", "info", filepath.Join(dir, "cut"))
	require.Equal(t, exitError, status)
	require.Contains(t, errs, "image")
}

// Names in a file forge nothing in a terminal.
func TestImageIsPrintable(t *testing.T) {
	const hostile, escaped = "x\x1b[2J\n\u202e\t", `x\u001b[2J\n\u202e\t`
	w := must.Get(world.New(world.Config{HalfExtent: world.Vec3{X: 9, Y: 9, Z: 9}, TickHz: 30}))
	w.SetProgram(world.Program{Name: hostile + "p", Version: "1"})
	must.Get(w.AddKind(world.Kind{Name: hostile + "k"}))
	must.Get(world.Register[int32](w, hostile+"c"))
	must.Get(w.Spawn(0, world.Vec3{}, world.Vec3{}))
	var img world.Image
	w.TakeImage(&img)
	path := filepath.Join(t.TempDir(), "a.image")
	file := must.Get(os.Create(path))
	must.Get(img.WriteTo(file))
	require.NoError(t, file.Close())

	for command, args := range map[string][]string{
		"info": {"image", "info", path}, "list": {"image", "list", filepath.Dir(path)}, "verify": {"image", "verify", path}, "replay": {"replay", path},
	} {
		_, out, errs := playOf(t, tag(), args...)
		require.NotContains(t, out+errs, "\x1b", command)
		require.NotContains(t, out+errs, "\u202e", command)
		if command != "replay" { // it is no recording
			require.Contains(t, out+errs, `x\`, command)
		}
		if command == "info" {
			for _, name := range []string{"saved by  *" + regexp.QuoteMeta(escaped+"p 1"), "kind " + regexp.QuoteMeta(escaped+"k"), "component " + regexp.QuoteMeta(escaped+"c")} {
				require.Regexp(t, name, out)
			}
		}
	}
}

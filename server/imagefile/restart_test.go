package imagefile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
)

// launch opens the image as a starting program does, which may have more components, loads it
// and saves the world unchanged. It returns the store, the world and what it loaded.
func launch(t *testing.T, path string, more ...string) (*Store, *world.World, Loaded) {
	t.Helper()
	s, w := open(t, path, 3), newWorld(t)
	for _, name := range more {
		must.Get(world.Register[int32](w, name))
	}
	found := must.Get(s.Load(w))
	if found.Image != nil {
		require.NoError(t, w.RestoreRun(found.Image))
	}
	save(t, s, w, 0)
	return s, w, found
}

func save(t *testing.T, s *Store, w *world.World, spacing time.Duration) {
	t.Helper()
	var img world.Image
	w.TakeImage(&img)
	require.NoError(t, s.Save(&img, spacing))
}

// stop ends a program without another save.
func stop(t *testing.T, s *Store) { require.NoError(t, s.Close()) }

// contents returns the bytes of the files in a directory, by name.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, name := range files(t, dir) {
		data := must.Get(os.ReadFile(filepath.Join(dir, name)))
		all[name] = string(data)
	}
	return all
}

// G6: programs that end soon after each start displace no generation.
func TestCrashLoopKeepsGenerations(t *testing.T) {
	path := filepath.Join(t.TempDir(), "w")
	s, w, _ := launch(t, path)
	for range 2 {
		w.Step()
		save(t, s, w, 0)
	}
	require.Equal(t, []uint64{2, 1, 0}, ticks(t, s))
	stop(t, s)
	for range 5 {
		s, _, _ = launch(t, path)
		require.Equal(t, []uint64{2, 1, 0}, ticks(t, s))
		stop(t, s)
	}
}

// Saves in quick succession displace no older generation: generations are at least the spacing
// apart.
func TestGenerationsByAge(t *testing.T) {
	s, w := open(t, filepath.Join(t.TempDir(), "w"), 3), newWorld(t)
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	saveAfter := func(d time.Duration) []uint64 {
		now = now.Add(d)
		w.Step()
		save(t, s, w, 10*time.Second)
		require.NoError(t, os.Chtimes(s.Path(), now, now))
		return ticks(t, s)
	}
	require.Equal(t, []uint64{1}, saveAfter(0))
	require.Equal(t, []uint64{2, 1}, saveAfter(time.Second), "there was no older one")
	require.Equal(t, []uint64{3, 1}, saveAfter(time.Second))
	require.Equal(t, []uint64{4, 1}, saveAfter(20*time.Second), "3 was too near to 1")
	require.Equal(t, []uint64{5, 4, 1}, saveAfter(time.Second))
	require.Equal(t, []uint64{6, 4, 1}, saveAfter(time.Second))
	require.Equal(t, []uint64{7, 4, 1}, saveAfter(30*time.Second))
	require.Equal(t, []uint64{8, 7, 4}, saveAfter(30*time.Second))
	require.Equal(t, []uint64{9, 8, 7}, saveAfter(-time.Hour))
	require.Equal(t, []uint64{10, 9, 8}, saveAfter(0), "the clock was set back: ages are unknown")
}

// Saves in quick succession displace no older generation even after a save that died between two steps, which may
// have left a gap in the numbers.
func TestGenerationsByAgeAfterCrash(t *testing.T) {
	for more, steps := true, 0; more; steps++ {
		s, w, img := open(t, filepath.Join(t.TempDir(), "w"), 3), newWorld(t), &world.Image{}
		saveTicks(t, s, w, img, 4)
		next(w, img)
		more = saveUntil(t, s, img, steps, true)
		older := ticks(t, s)[1:]
		require.GreaterOrEqual(t, len(older), 2)
		load(t, s)
		for range 3 {
			next(w, img)
			require.NoError(t, s.Save(img, time.Hour))
			require.Equal(t, older[:2], ticks(t, s)[1:], "after %d steps", steps)
		}
	}
}

// G6, G8: an upgraded program keeps the last image of the one before. A program that is rolled back
// continues without what it lacks, and keeps the last image of the newer one; a strict one refuses
// it and leaves all files as they are (G5).
func TestUpgradeAndRollback(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "w")
	s, w, _ := launch(t, path)
	w.Step()
	save(t, s, w, 0)
	stop(t, s)
	s, _, _ = launch(t, path, "mana")
	require.Equal(t, []uint64{1, 1, 0}, ticksOf(t, s, "mana"))
	stop(t, s)
	s, _, _ = launch(t, path, "mana")
	require.Equal(t, []uint64{1, 1, 0}, ticksOf(t, s, "mana"), "once")
	stop(t, s)

	before := contents(t, dir)
	for range 2 {
		s = open(t, path, 3)
		s.RequireUnchanged()
		_, err := s.Load(newWorld(t))
		require.ErrorIs(t, err, world.ErrImageWorld)
		require.ErrorContains(t, err, `w differs from the world: component "mana": dropped: the world lacks it`)
		require.ErrorContains(t, s.Explain(err), "start the program and the world that saved it")
		stop(t, s)
		require.Equal(t, before, contents(t, dir))
	}
	s, w = open(t, path, 3), newWorld(t)
	found := must.Get(s.LoadGeneration(w, 1))
	require.NoError(t, w.RestoreRun(found.Image))
	require.Equal(t, []string{path}, found.Skipped)
	require.Equal(t, before, contents(t, dir))
	save(t, s, w, 0)
	require.Equal(t, before["w"], contents(t, dir)["w.skipped"], "the newer program's")
	require.Equal(t, []uint64{1, 1, 0}, ticks(t, s))
	stop(t, s)
}

// G8: what a rolled back program drops is in a file that no later save displaces, for each newer program.
func TestRollbackKeepsTheNewerImage(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "w")
	// run starts a program with one entity, which has these components, saves the world and ends.
	run := func(components ...string) (saved string) {
		s, w := open(t, path, 3), newWorld(t)
		ghost := must.Get(w.AddKind(world.Kind{Name: "ghost"}))
		var points []*world.Component[int32]
		for _, name := range components {
			c := must.Get(world.Register[int32](w, name))
			points = append(points, c)
		}
		found := must.Get(s.Load(w))
		if found.Image != nil {
			require.NoError(t, w.RestoreRun(found.Image))
		} else {
			must.Get(w.Spawn(ghost, world.Vec3{}, world.Vec3{}))
		}
		for _, c := range points {
			c.Set(w.Slots().Handle(0), 5)
		}
		save(t, s, w, 0)
		stop(t, s)
		return contents(t, dir)["w"]
	}
	newer := map[string]string{}
	for _, component := range []string{"mana", "rage", "mana"} {
		newer[component] = run(component)
		for range 4 {
			run()
		}
	}
	kept := map[string]bool{}
	for name, data := range contents(t, dir) {
		if BaseName(name) == "w" && strings.Contains(name, ".kept-") {
			kept[data] = true
		}
	}
	require.Equal(t, map[string]bool{newer["mana"]: true, newer["rage"]: true}, kept)
}

// ticksOf returns the ticks of images of a program with another component.
func ticksOf(t *testing.T, s *Store, more string) (all []uint64) {
	t.Helper()
	for n := 0; s.exists(s.generationPath(n)); n++ {
		w := newWorld(t)
		must.Get(world.Register[int32](w, more))
		var found Loaded
		require.NoError(t, found.readFile(s.disk, w, s.generationPath(n)))
		all = append(all, found.Image.Tick())
	}
	return all
}

// Newer generations are set aside once, and are not lost: a program that is always started with
// the same generation loses only one run.
func TestLoadGeneration(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "w")
	s, w, _ := launch(t, path)
	for range 2 {
		w.Step()
		save(t, s, w, 0)
	}
	before := contents(t, dir)
	_, err := s.LoadGeneration(newWorld(t), 3)
	require.ErrorIs(t, err, os.ErrNotExist)
	found := must.Get(s.LoadGeneration(newWorld(t), 0))
	require.Equal(t, uint64(2), found.Image.Tick())
	again := newWorld(t)
	found = must.Get(s.LoadGeneration(again, 2))
	require.Equal(t, uint64(0), found.Image.Tick())
	require.Equal(t, 2, found.Generation)
	require.Equal(t, []string{path, path + ".old-1"}, found.Skipped)
	require.Equal(t, before, contents(t, dir), "G5: the game may refuse it")
	require.NoError(t, again.RestoreRun(found.Image))
	save(t, s, again, 0)
	now := contents(t, dir)
	require.Equal(t, before["w"], now["w.skipped"])
	require.Equal(t, before["w.old-1"], now["w.old-1.skipped"])
	require.Equal(t, before["w.old-2"], now["w.old-2"])
	again.Step()
	save(t, s, again, 0)
	require.Equal(t, []uint64{1, 0, 0}, ticks(t, s))
	for _, n := range []int{1, 2} {
		before := contents(t, dir)
		_, err = s.LoadGeneration(newWorld(t), n)
		require.ErrorIs(t, err, ErrSkipped)
		require.ErrorContains(t, s.Explain(err), "w.skipped exists: start without choosing a generation")
		require.Equal(t, before, contents(t, dir))
	}
	require.NoError(t, os.Remove(path+".skipped"))
	damage(t, s.generationPath(1))
	require.ErrorIs(t, must.Fail(s.LoadGeneration(newWorld(t), 1)), world.ErrImage, "no other is taken instead")
}

// G7: after restoring any generation or backup, no run issues handles of an earlier run.
func TestRunsHaveTheirOwnHandles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "w")
	issued := map[bulk.Handle]int{}
	begin := func(run int, s *Store, w *world.World) {
		e := must.Get(w.Spawn(0, world.Vec3{}, world.Vec3{}))
		require.NotContains(t, issued, e, "run %d", run)
		issued[e] = run
		stop(t, s)
	}
	ghosts := func() *world.World {
		w := newWorld(t)
		must.Get(w.AddKind(world.Kind{Name: "ghost"}))
		return w
	}
	s, w := open(t, path, 3), ghosts()
	save(t, s, w, 0)
	backup := must.Get(os.ReadFile(path))
	begin(0, s, w)
	for run := 1; run < 12; run++ {
		generation := 0
		switch run % 4 {
		case 1:
			require.NoError(t, os.WriteFile(path, backup, 0o600))
		case 2:
			generation = 1
			_ = os.Remove(path + ".skipped") // of an earlier time
		case 3:
			damage(t, path)
		}
		s, w = open(t, path, 3), ghosts()
		found := must.Get(s.LoadGeneration(w, generation))
		require.NoError(t, w.RestoreRun(found.Image))
		save(t, s, w, 0)
		save(t, s, w, 0)
		begin(run, s, w)
	}
	require.NoError(t, os.WriteFile(path+".run", []byte("many"), 0o600))
	require.ErrorContains(t, must.Fail(Open(path, 3)), "w.run holds no generation of handles: remove it")
	require.NoError(t, os.WriteFile(path+".run", nil, 0o600))
	stop(t, open(t, path, 3))
}

// CheckOwn notices an image that another program has saved meanwhile, and ignores this
// program's failed saves.
func TestCheckOwn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "w")
	s, w := open(t, path, 3), newWorld(t)
	require.NoError(t, s.CheckOwn())
	for range 3 {
		save(t, s, w, 0)
		require.NoError(t, s.CheckOwn())
	}
	data := must.Get(os.ReadFile(path))
	require.NoError(t, os.Remove(path))
	require.ErrorIs(t, s.CheckOwn(), ErrReplaced)
	require.NoError(t, os.WriteFile(path, data, 0o600))
	require.ErrorIs(t, s.CheckOwn(), ErrReplaced)
	save(t, s, w, 0)
	require.NoError(t, s.CheckOwn())
}

// A run that nobody has entered gives its generations back, unless it was saved.
func TestAbandonRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "w")
	s, _, _ := launch(t, path) // which saves
	stop(t, s)
	before := must.Get(ReadNewestGeneration(path))
	begin := func() (*Store, *world.World) {
		s, w := open(t, path, 3), newWorld(t)
		require.NoError(t, w.RestoreRun(must.Get(s.Load(w)).Image))
		require.NoError(t, s.BeginRun(w.Config().FirstGeneration))
		require.Greater(t, must.Get(ReadNewestGeneration(path)), before)
		return s, w
	}
	for range 3 {
		s, _ := begin()
		require.NoError(t, s.AbandonRun())
		require.Equal(t, before, must.Get(ReadNewestGeneration(path)))
		stop(t, s)
	}
	s, w := begin()
	save(t, s, w, 0)
	saved := must.Get(ReadNewestGeneration(path))
	require.NoError(t, s.AbandonRun())
	require.Equal(t, saved, must.Get(ReadNewestGeneration(path)))
}

package imagefile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/atomicfile"
	"github.com/worldd/worldd/internal/disk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
)

func newWorld(t testing.TB) *world.World {
	w := must.Get(world.New(world.Config{TickHz: 50, MaxEntities: 64}))
	t.Cleanup(w.Close)
	return w
}

// next steps the world and takes an image.
func next(w *world.World, img *world.Image) uint64 {
	w.Step()
	w.TakeImage(img)
	return w.Tick()
}

// saveTicks saves the world after each of some ticks, and returns the last.
func saveTicks(t testing.TB, s *Store, w *world.World, img *world.Image, ticks int) (last uint64) {
	for range ticks {
		last = next(w, img)
		require.NoError(t, s.Save(img, 0))
	}
	return last
}

func open(t *testing.T, path string, keep int) *Store {
	t.Helper()
	s := must.Get(Open(path, keep))
	require.NoError(t, s.Unlocked())
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func load(t *testing.T, s *Store) Loaded {
	t.Helper()
	return must.Get(s.Load(newWorld(t)))
}

// ticks returns the ticks of the existing generations, newest first.
func ticks(t *testing.T, s *Store) (all []uint64) {
	t.Helper()
	for n := range s.keep + 1 { // an interrupted save leaves one more, or a gap
		if !s.exists(s.generationPath(n)) {
			continue
		}
		var found Loaded
		require.NoError(t, found.readFile(s.disk, newWorld(t), s.generationPath(n)))
		all = append(all, found.Image.Tick())
	}
	return all
}

func damage(t *testing.T, path string) {
	t.Helper()
	info := must.Get(os.Stat(path))
	require.NoError(t, os.Truncate(path, info.Size()-1))
}

func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries := must.Get(os.ReadDir(dir))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestSaveKeepsGenerations(t *testing.T) {
	for keep := 1; keep <= 4; keep++ {
		w, img := newWorld(t), &world.Image{}
		s := open(t, filepath.Join(t.TempDir(), "w"), keep)
		require.Nil(t, load(t, s).Image, "no image yet")
		var want []uint64
		for range 6 {
			want = slices.Insert(want, 0, next(w, img))
			want = want[:min(len(want), keep)]
			require.NoError(t, s.Save(img, 0))
			require.Equal(t, want, ticks(t, s), "keep %d", keep)
		}
		found := load(t, s)
		require.Equal(t, want[0], found.Image.Tick())
		require.Zero(t, found.Generation)
		require.Equal(t, s.Path(), found.Path)
		require.Len(t, files(t, filepath.Dir(s.Path())), keep+2, "and the lock, and the run")
	}
	require.Equal(t, DefaultKeep, open(t, filepath.Join(t.TempDir(), "w"), 0).keep)
}

// saveUntil makes the first steps of a save, and reports whether there are more. If links is
// false, it behaves as on a file system without hard links.
func saveUntil(t *testing.T, s *Store, img *world.Image, steps int, links bool) (more bool) {
	t.Helper()
	file := must.Get(atomicfile.Create(s.path, 0o600))
	must.Get(img.WriteTo(file))
	require.NoError(t, file.Seal())
	all := s.rotationSteps(file.Name(), true)
	for _, step := range all[:min(steps, len(all))] {
		step.link = step.link && links
		require.NoError(t, s.apply(step))
	}
	return steps < len(all)
}

// valid returns the number of valid generations.
func valid(t *testing.T, s *Store) (n int) {
	for g := range s.keep + 1 {
		var found Loaded
		if found.readFile(s.disk, newWorld(t), s.generationPath(g)) == nil {
			n++
		}
	}
	return n
}

// G3: a server that repeatedly dies between any two steps of a save leaves the image being
// saved or its predecessor. If that is damaged too, Load finds an older one.
func TestCrashBetweenSteps(t *testing.T) {
	for keep := 1; keep <= 4; keep++ {
		for _, links := range []bool{true, false} {
			for before := range keep + 2 { // complete saves before the crash
				for steps := range keep + 4 {
					t.Run(fmt.Sprintf("keep %d, links %v, saved %d, steps %d", keep, links, before, steps), func(t *testing.T) {
						t.Parallel() // it waits for the disk
						w, img := newWorld(t), &world.Image{}
						path := filepath.Join(t.TempDir(), "w")
						s := open(t, path, keep)
						last, crashed := uint64(0), false
						last = saveTicks(t, s, w, img, before)
						for range 3 {
							now := next(w, img)
							more := saveUntil(t, s, img, steps, links)
							crashed = crashed || more
							found := load(t, s)
							if found.Image == nil {
								require.Zero(t, last, "there was none before")
								continue
							}
							require.Contains(t, []uint64{last, now}, found.Image.Tick())
							require.True(t, more || found.Image.Tick() == now)
							if links {
								require.Zero(t, found.Generation, "path always names an image")
							}
							last = found.Image.Tick()
						}
						if before >= 2 && keep >= 2 && s.exists(path) {
							damage(t, path)
							found := load(t, s)
							require.NotNil(t, found.Image)
							require.Less(t, found.Image.Tick(), last)
						}
						left := must.Get(s.Sweep())
						require.True(t, crashed || len(left) == 0)
						last = next(w, img)
						was := valid(t, s)
						require.NoError(t, s.Save(img, 0))
						require.Equal(t, last, load(t, s).Image.Tick(), "the next save works")
						require.LessOrEqual(t, valid(t, s), keep)
						require.GreaterOrEqual(t, valid(t, s), min(was, keep), "no generation gives way without need")
					})
				}
			}
		}
	}
}

// G4: the newest valid image is found, the next save renames damaged ones, and older generations stay.
func TestLoadSkipsDamage(t *testing.T) {
	w, img := newWorld(t), &world.Image{}
	s := open(t, filepath.Join(t.TempDir(), "w"), 4)
	saveTicks(t, s, w, img, 4)
	require.Equal(t, []uint64{4, 3, 2, 1}, ticks(t, s))
	damage(t, s.generationPath(0))
	damage(t, s.generationPath(1))
	found := load(t, s)
	require.Equal(t, uint64(2), found.Image.Tick())
	require.Equal(t, 2, found.Generation)
	require.Equal(t, s.generationPath(2), found.Path)
	require.Equal(t, must.Get(os.Stat(s.generationPath(2))).ModTime(), found.Saved)
	require.Len(t, found.Damaged, 2)
	for n, why := range found.Damaged {
		require.ErrorIs(t, why, world.ErrImage)
		require.ErrorContains(t, why, s.generationPath(n)+": ")
		require.FileExists(t, s.generationPath(n), "G5")
	}
	again := load(t, s)
	require.Equal(t, uint64(2), again.Image.Tick(), "also if the server dies here")
	require.Len(t, again.Damaged, 2)
	require.Equal(t, 2, again.Generation)

	saveTicks(t, s, w, img, 3)
	for n := range 2 {
		require.FileExists(t, s.generationPath(n)+".damaged")
	}
	require.Equal(t, []uint64{7, 6, 5, 2}, ticks(t, s))
}

// If all generations are damaged, none is renamed.
func TestLoadOfDamageAlone(t *testing.T) {
	w, img := newWorld(t), &world.Image{}
	s := open(t, filepath.Join(t.TempDir(), "w"), 2)
	saveTicks(t, s, w, img, 2)
	damage(t, s.generationPath(0))
	require.NoError(t, os.WriteFile(s.generationPath(1), nil, 0o600))
	before := files(t, filepath.Dir(s.Path()))
	_, err := s.Load(newWorld(t))
	require.ErrorIs(t, err, ErrAllDamaged)
	require.ErrorIs(t, err, world.ErrImage)
	require.ErrorContains(t, err, s.generationPath(0)+": ")
	require.ErrorContains(t, err, s.generationPath(1)+": ")
	require.Equal(t, before, files(t, filepath.Dir(s.Path())))
}

// A valid image that cannot be mapped to the world is an error: older ones are not tried.
func TestLoadOfAnotherWorld(t *testing.T) {
	w, img := newWorld(t), &world.Image{}
	s := open(t, filepath.Join(t.TempDir(), "w"), 3)
	next(w, img)
	require.NoError(t, s.Save(img, 0))
	other := must.Get(world.New(world.Config{}))
	defer other.Close()
	ghost := must.Get(other.AddKind(world.Kind{Name: "ghost"}))
	must.Get(other.Spawn(ghost, world.Vec3{}, world.Vec3{}))
	next(other, img)
	require.NoError(t, s.Save(img, 0))
	require.ErrorIs(t, must.Fail(s.Load(w)), world.ErrImageWorld)
	require.Equal(t, []string{"w", "w.lock", "w.old-1", "w.run"}, files(t, filepath.Dir(s.Path())))

	require.NoError(t, os.Remove(s.Path()))
	require.NoError(t, os.Mkdir(s.Path(), 0o700))
	require.ErrorContains(t, must.Fail(s.Load(w)), "not a regular file: it is a directory")
}

// A failed save keeps the existing image.
func TestSaveThatFails(t *testing.T) {
	w, img := newWorld(t), &world.Image{}
	s := open(t, filepath.Join(t.TempDir(), "w"), 3)
	tick := next(w, img)
	require.NoError(t, s.Save(img, 0))
	before := files(t, filepath.Dir(s.Path()))
	img.Extra = make([]byte, world.MaxExtraBytes+1)
	require.ErrorIs(t, s.Save(img, 0), world.ErrValue)
	require.Equal(t, before, files(t, filepath.Dir(s.Path())), "no partial image remains")
	require.Equal(t, tick, load(t, s).Image.Tick())
}

// G1: an image is opened once, by any of its names.
func TestOpenLocks(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "w"), filepath.Join(dir, "link")
	require.NoError(t, os.Symlink("w", link)) // dangling
	s := must.Get(Open(link, 0))
	require.Equal(t, "w", filepath.Base(s.Path()))
	for _, name := range []string{path, link} {
		require.ErrorIs(t, must.Fail(Open(name, 0)), ErrInUse)
	}
	open(t, path+"1", 0)
	img := &world.Image{}
	next(newWorld(t), img)
	require.NoError(t, s.Save(img, 0))
	require.NoError(t, s.Close())
	require.Equal(t, os.ModeSymlink, must.Get(os.Lstat(link)).Mode().Type(), "the link stays")
	require.NotNil(t, load(t, open(t, path, 0)).Image)
}

// G2: an image cannot have the name of another's file.
func TestOpenRefusesNames(t *testing.T) {
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "w"), 2)
	pending := must.Get(atomicfile.Create(s.path, 0o600))
	defer pending.Discard()
	for _, path := range []string{s.path + ".lock", s.path + ".damaged", s.generationPath(1), s.generationPath(MaxKeep), pending.Name()} {
		require.ErrorContains(t, must.Fail(Open(path, 0)), "choose another name")
	}
	for _, name := range []string{"w.1", "w.old", "lock", "w.tmp", "w.lock.image"} {
		open(t, filepath.Join(dir, name), 0)
	}
	require.ErrorIs(t, must.Fail(Open(filepath.Join(dir, "nowhere", "w"), 0)), os.ErrNotExist)
	require.ErrorContains(t, must.Fail(Open(os.DevNull, 0)), "not a regular file")
	for _, keep := range []int{-1, MaxKeep + 1} {
		require.ErrorContains(t, must.Fail(Open(filepath.Join(dir, "x"), keep)), "want 1 to 100")
	}
	require.NotContains(t, strings.Join(files(t, dir), " "), "x")
}

// Without the lock another process may be writing the temporary files.
func TestSweepUnderTheLockOnly(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "w"), 2)
	pending := must.Get(atomicfile.Create(s.path, 0o600))
	require.NoError(t, pending.Seal())
	s.unlocked = os.ErrInvalid
	left := must.Get(s.Sweep())
	require.Empty(t, left)
	require.FileExists(t, pending.Name())
	s.unlocked = nil
	left = must.Get(s.Sweep())
	require.Equal(t, []string{pending.Name()}, left)
	require.NoFileExists(t, pending.Name())
}

// If there is no image, Close leaves no file behind. CheckWritable never leaves one.
func TestStoreWithoutImage(t *testing.T) {
	dir := t.TempDir()
	s := must.Get(Open(filepath.Join(dir, "w"), 0))
	require.NoError(t, s.CheckWritable())
	require.Equal(t, []string{"w.lock"}, files(t, dir))
	require.NoError(t, s.Close())
	require.Empty(t, files(t, dir))

	s = must.Get(Open(filepath.Join(dir, "w"), 2))
	w, img := newWorld(t), &world.Image{}
	saveTicks(t, s, w, img, 2)
	require.NoError(t, os.Remove(s.Path()))
	require.NoError(t, s.Close())
	require.Equal(t, []string{"w.lock", "w.old-1", "w.run"}, files(t, dir), "an older image")
	s = open(t, filepath.Join(dir, "w"), 2)
	require.NoError(t, os.RemoveAll(dir))
	require.Error(t, s.CheckWritable())
}

// G1: even if the lock file is removed, no two processes have the image open.
func TestLockThatIsRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "w")
	var all sync.WaitGroup
	var holders, most, opened atomic.Int32
	for range 8 {
		all.Go(func() {
			for range 500 {
				s, err := Open(path, 0)
				if errors.Is(err, ErrInUse) {
					continue
				}
				if !assert.NoError(t, err) {
					return
				}
				opened.Add(1)
				if n := holders.Add(1); n > 1 {
					most.Store(n)
				}
				runtime.Gosched()
				holders.Add(-1)
				assert.NoError(t, s.Close())
			}
		})
	}
	all.Wait()
	require.Zero(t, most.Load(), "two had it open")
	require.Positive(t, opened.Load())
	require.NoFileExists(t, path+".lock")
}

// Without hard links, what is kept is copied: the image keeps its name until the next one is saved.
func TestCopyFile(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "w"), filepath.Join(dir, "w.skipped")
	s := &Store{path: from, disk: disk.OS{}}
	require.ErrorIs(t, s.copyFile(from, to), os.ErrNotExist)
	require.NoError(t, os.WriteFile(from, []byte("image"), 0o600))
	require.NoError(t, s.copyFile(from, to))
	require.Equal(t, map[string]string{"w": "image", "w.skipped": "image"}, contents(t, dir))
}

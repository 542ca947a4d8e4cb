package imagefile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/disktest"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/world"
)

// journaledWorld is a world with a journal, whose changes follow from its tick.
type journaledWorld struct {
	*world.World
	seed   uint64 // of its changes
	ghost  world.KindID
	mana   *world.Component[int64]
	drift  func(tick uint64) int64 // a system adds it to all: 0 if the system is deterministic
	hashes map[uint64]uint64       // of the run, by tick

	journal *world.Journal // of attach
}

func newJournaledWorld(t testing.TB) *journaledWorld {
	w := &journaledWorld{World: newWorld(t), seed: 5, drift: func(uint64) int64 { return 0 }, hashes: map[uint64]uint64{}}
	w.ghost = must.Get(w.AddKind(world.Kind{Name: "ghost"}))
	w.mana = must.Get(world.Register[int64](w.World, "mana"))
	require.NoError(t, w.AddSystem(world.Before, "grow", func(*world.World) {
		drift := w.drift(w.Tick())
		for e := range w.mana.All() {
			*w.mana.Mut(e) += 3 + drift
		}
	}))
	return w
}

// change makes the changes before the step after a tick.
func (w *journaledWorld) change() {
	random := rand.New(rand.NewPCG(w.Tick(), w.seed))
	for range random.IntN(8) {
		e, err := w.Spawn(w.ghost, world.Vec3{}, world.Vec3{})
		if err == nil {
			w.mana.Set(e, random.Int64())
		}
	}
	for e := range w.mana.All() {
		if random.IntN(10) == 0 {
			w.Destroy(e)
		}
	}
}

// attach makes a process write the journal of a world.
func (w *journaledWorld) attach(p *process, c world.JournalConfig) {
	j := must.Get(w.StartJournal(c))
	w.journal = j
	images := map[uint64]*world.Image{}
	w.hashes[w.Tick()] = w.StateHash()
	p.head = func() []byte {
		img := &world.Image{}
		w.TakeImage(img)
		images[p.tick] = img
		head := must.Get(j.BeginSegment(binary.LittleEndian.AppendUint64([]byte("head"), p.tick)))
		return head
	}
	p.frame = func() []byte {
		w.change()
		w.Step()
		require.Equal(p.t, p.tick, w.Tick())
		w.hashes[p.tick] = w.StateHash()
		notes := binary.LittleEndian.AppendUint64([]byte("tick"), p.tick)
		frame := must.Get(j.Commit(append(notes, bytes.Repeat([]byte{1}, frameSize(p.tick))...)))
		return frame
	}
	p.save = func(tick uint64) error { return p.store.Save(images[tick], 0) }
}

// recoverWorld recovers a world from a disk, and checks that it is as it was at some tick, and has the notes from
// the image to this tick.
func recoverWorld(t testing.TB, d *disktest.Disk, hashes map[uint64]uint64, why string) (*journaledWorld, *Store, Recovered) {
	t.Helper()
	w, s := newJournaledWorld(t), &Store{path: simulatedImage, disk: d, keep: 3}
	w.hashes = hashes
	var notes []string
	ops := d.Ops()
	found, err := s.Recover(w.World, Recovery{
		Note: func(b []byte) error {
			notes = append(notes, fmt.Sprint(string(b[:4]), binary.LittleEndian.Uint64(b[4:])))
			return nil
		},
		Restart: func() { notes = nil },
	})
	require.NoError(t, err, why)
	require.Equal(t, ops, d.Ops(), "G13: no file is changed")
	if found.Run == 0 {
		require.Empty(t, notes)
		require.Zero(t, w.Tick())
		return w, s, found
	}
	require.Equal(t, found.Tick, w.Tick())
	require.Equal(t, hashes[w.Tick()], w.StateHash(), "%s: tick %d", why, w.Tick())
	var want []string
	for _, n := range notes {
		if n[:4] == "head" {
			want = append(want, n)
			continue
		}
		want = append(want, fmt.Sprint("tick", found.Image.Tick()+uint64(len(slices.DeleteFunc(slices.Clone(want), func(n string) bool { return n[:4] == "head" })))+1))
	}
	require.Equal(t, want, notes, why)
	require.Equal(t, fmt.Sprint("head", found.Image.Tick()), notes[0])
	require.EqualValues(t, found.Tick-found.Image.Tick(), found.Frames)
	return w, s, found
}

// lived returns a process that has written the journal of a world without a fault.
func lived(t testing.TB, c world.JournalConfig) (*process, *journaledWorld) {
	return livedOn(t, disktest.New(), c, 5)
}

func livedOn(t testing.TB, d *disktest.Disk, c world.JournalConfig, seed uint64) (*process, *journaledWorld) {
	w := newJournaledWorld(t)
	w.seed = seed
	p := begin(t, d, c.Run, 0, nil)
	w.attach(p, c)
	p.play()
	return p, w
}

var always = world.JournalConfig{Run: 7, Durable: true}

// J1, J2, G12, G13: whatever the moment and the kind of a crash, the same run returns with all that was released, and
// again after a second crash.
func TestRecoverAfterCrashes(t *testing.T) {
	racetest.SkipSequential(t)
	recoverCrashes(t)
}

func recoverCrashes(t testing.TB) {
	clean, _ := lived(t, always)
	ops := clean.disk.Ops()
	recovered, other := 0, 0
	for at := range ops + 1 {
		w := newJournaledWorld(t)
		p := begin(t, disktest.New(), always.Run, 0, nil)
		w.attach(p, always)
		p.disk.CrashAt(at)
		p.play()
		p.crashes(uint64(at), func(after *disktest.Disk, why string) {
			why = fmt.Sprintf("crash at %d of %d: %s", at, ops, why)
			twin, s, found := recoverWorld(t, after, w.hashes, why)
			if found.Run == 0 && p.released == 0 {
				return
			}
			if why[len(why)-len("reorder"):] == "reorder" && !found.SameRun { // sectors of the last frame are missing
				require.Error(t, found.Cut)
				require.GreaterOrEqual(t, found.Tick, p.released, why)
				other++
				return
			}
			require.True(t, found.SameRun, "%s: %v", why, found.Cut)
			require.GreaterOrEqual(t, found.Tick, p.released, why)
			recovered++
			next := begin(t, after, found.Run, found.Tick, s.replayed)
			twin.attach(next, world.JournalConfig{Run: found.Run, Durable: true, Chain: found.Chain})
			after.CrashAt(after.Ops() + at%23)
			next.released = p.released
			next.play()
			_, _, again := recoverWorld(t, after.PowerLoss(disktest.Drop, rand.New(rand.NewPCG(0, 0))), twin.hashes, why)
			require.True(t, again.SameRun, "%s, then power loss: %v", why, again.Cut)
			require.GreaterOrEqual(t, again.Tick, next.released, why)
		})
	}
	require.Greater(t, recovered, 3*ops)
	require.Less(t, other, recovered/10)
}

// J3: a flipped bit is found wherever it is, and the run that lacks a durable tick does not continue.
func TestRecoverAfterFlips(t *testing.T) { recoverFlips(t) }

func recoverFlips(t testing.TB) {
	p, w := lived(t, always)
	segments := must.Get(p.store.Segments())
	require.Len(t, segments, 2, "of the newest image and the one before")
	short := map[string]int{}
	for _, segment := range segments {
		for bit := 3; bit < 8*int(segment.Bytes); bit += 41 {
			after := p.disk.Kill()
			after.Flip(segment.Path, bit)
			_, _, found := recoverWorld(t, after, w.hashes, fmt.Sprint(segment.Path, " bit ", bit))
			if found.Tick < p.released {
				require.False(t, found.SameRun)
				require.ErrorContains(t, found.Cut, segment.Path)
				require.ErrorIs(t, found.Cut, world.ErrJournalEnd)
				short[segment.Path]++
			}
		}
	}
	require.Len(t, short, 1, "the older segment is not needed")
}

// A damaged newest image loses nothing; a missing segment ends the run.
func TestRecoverFromOlderImage(t *testing.T) { recoverOlder(t) }

func recoverOlder(t testing.TB) {
	p, w := lived(t, always)
	d := p.disk.Kill()
	d.Flip(simulatedImage, 500)
	_, s, found := recoverWorld(t, d, w.hashes, "")
	require.Equal(t, p.released, found.Tick)
	require.True(t, found.SameRun)
	require.Equal(t, 1, found.Generation)
	require.Len(t, found.Damaged, 1)
	require.NoError(t, found.Cut)
	require.Len(t, s.replayed.paths, 2)

	last := must.Get(p.store.Segments())[1]
	require.NoError(t, d.Remove(last.Path))
	_, _, found = recoverWorld(t, d, w.hashes, "")
	require.Equal(t, last.Tick, found.Tick, "nothing shows that there were more")

	d = p.disk.Kill()
	require.NoError(t, d.Rename(last.Path, last.Path+lossySuffix))
	_, _, found = recoverWorld(t, d, w.hashes, "")
	require.Equal(t, p.released, found.Tick)
	require.False(t, found.SameRun, "ticks are missing")
}

// sectorBytes is the size of a sector, which the disk writes whole.
const sectorBytes = 512

// Sectors of the last frame may be unwritten after a power loss. Anywhere else they are damage.
func TestRecoverUnwrittenSectors(t *testing.T) { recoverUnwritten(t) }

func recoverUnwritten(t testing.TB) {
	p, w := lived(t, always)
	p.step(1)
	for frameSize(p.tick) < 600 {
		p.step(1)
	}
	last := must.Get(p.store.Segments())[1]
	data := p.disk.Data(last.Path)
	for sector := len(data)/sectorBytes - 1; sector > 0; sector-- {
		d := p.disk.Kill()
		zeroed := bytes.Clone(data)
		clear(zeroed[sector*sectorBytes : (sector+1)*sectorBytes])
		d.Put(last.Path, zeroed)
		_, _, found := recoverWorld(t, d, w.hashes, fmt.Sprint("sector ", sector))
		require.Error(t, found.Cut)
		require.Equal(t, found.Tick == p.tick-1 && sector == len(data)/sectorBytes-1, found.SameRun, "sector %d, tick %d", sector, found.Tick)
	}
}

// A changed bit in the last frame is damage, even if the frame has sectors of zeros of its own.
func TestRecoverZerosOfLastFrame(t *testing.T) { recoverZeros(t) }

func recoverZeros(t testing.TB) {
	p, w := lived(t, always)
	last, at := must.Get(p.store.Segments())[1].Path, 0
	p.frame = func() []byte {
		w.Step()
		w.hashes[p.tick] = w.StateHash()
		frame := must.Get(w.journal.Commit(append(binary.LittleEndian.AppendUint64([]byte("tick"), p.tick), make([]byte, 3*sectorBytes)...)))
		return frame
	}
	for range 3 {
		at = len(p.disk.Data(last))
		p.step(1)
	}
	for bit := 8 * at; bit < 8*len(p.disk.Data(last)); bit += 53 {
		d := p.disk.Kill()
		d.Flip(last, bit)
		_, _, found := recoverWorld(t, d, w.hashes, "")
		require.ErrorIs(t, found.Cut, world.ErrJournalEnd)
		require.Equal(t, p.released-1, found.Tick)
		require.False(t, found.SameRun, "the frame was durable")
	}
}

// A segment that nothing leads to shows that ticks are missing.
func TestRecoverWithGap(t *testing.T) { recoverGap(t) }

func recoverGap(t testing.TB) {
	p, w := lived(t, always)
	p.disk.Flip(simulatedImage, 500)
	older := must.Get(p.store.Segments())[0]
	reader, file, err := p.store.openSegment(older)
	require.NoError(t, err)
	for err == nil {
		if reader.Offset() > older.Bytes/2 {
			break
		}
		_, err = reader.Next()
	}
	require.NoError(t, errors.Join(err, file.Close()))
	p.disk.Put(older.Path, p.disk.Data(older.Path)[:reader.Offset()])
	_, _, found := recoverWorld(t, p.disk.Kill(), w.hashes, "")
	require.NoError(t, found.Cut, "the segment ends with a frame")
	require.Less(t, found.Tick, must.Get(p.store.Segments())[1].Tick)
	require.False(t, found.SameRun)
}

// Segments of another run at the same tick are not followed, whether the marks of their images differ or not.
func TestRecoverIgnoresRivals(t *testing.T) { recoverBesideRivals(t) }

func recoverBesideRivals(t testing.TB) {
	rival, _ := livedOn(t, disktest.New(), world.JournalConfig{Run: 3, Durable: true}, 99)
	p, w := lived(t, always)
	newest := must.Get(p.store.Segments())[1]
	data := rival.disk.Data(must.Get(rival.store.Segments())[1].Path)
	p.disk.Put(segmentPath(simulatedImage, 3, newest.Tick, 0), data)
	_, _, found := recoverWorld(t, p.disk.Kill(), w.hashes, "")
	require.Equal(t, uint64(7), found.Run)
	require.True(t, found.SameRun)
	require.Equal(t, p.released, found.Tick)

	// A new world whose first image was not saved, and the next new world: their images at tick 0 are equal.
	d := disktest.New()
	first := newJournaledWorld(t)
	lost := begin(t, d, 3, 0, nil)
	first.attach(lost, world.JournalConfig{Run: 3, Durable: true})
	lost.beginSegment()
	lost.step(3)
	p = begin(t, d, 7, 0, nil)
	w = newJournaledWorld(t)
	w.seed = 99
	w.attach(p, always)
	p.store.unlocked = errors.New("pruning comes too late")
	p.beginSegment()
	p.saveImage(0)
	p.step(2)
	_, _, found = recoverWorld(t, d.Kill(), w.hashes, "")
	require.Equal(t, uint64(7), found.Run)
	require.Equal(t, uint64(2), found.Tick)
}

// A run that begins from an older image and dies before its first save leaves the journals of all images (G12).
func TestRecoverAfterOlderRun(t *testing.T) {
	p, w := lived(t, always)
	older := newJournaledWorld(t)
	file := must.Get(p.disk.Open(p.store.generationPath(1)))
	img := must.Get(older.ReadImage(file))
	require.NoError(t, errors.Join(file.Close(), older.RestoreRun(img)))
	next := begin(t, p.disk, 9, older.Tick(), nil)
	older.attach(next, world.JournalConfig{Run: 9, Durable: true})
	next.beginSegment()
	next.step(3)
	for _, flips := range []bool{false, true} {
		after := p.disk.Kill()
		if flips {
			after.Flip(simulatedImage, 500)
		}
		_, _, found := recoverWorld(t, after, w.hashes, "")
		require.Equal(t, p.released, found.Tick)
		require.True(t, found.SameRun, found.Cut)
	}
}

// A journal of everysec never shows that it lacks nothing.
func TestRecoverEverySecond(t *testing.T) {
	p, w := lived(t, world.JournalConfig{Run: 7})
	_, s, found := recoverWorld(t, p.disk.Kill(), w.hashes, "")
	require.Equal(t, p.tick, found.Tick)
	require.False(t, found.SameRun)
	require.Nil(t, s.replayed)
}

// Without an image, or a journal after it, Recover is Load.
func TestRecoverWithoutJournal(t *testing.T) {
	p, w := lived(t, always)
	for _, segment := range must.Get(p.store.Segments()) {
		require.NoError(t, p.disk.Remove(segment.Path))
	}
	fresh := newJournaledWorld(t)
	found := must.Get((&Store{path: simulatedImage, disk: p.disk, keep: 3, newest: 99}).Recover(fresh.World, Recovery{}))
	require.Zero(t, found.Run)
	require.Zero(t, fresh.Tick())
	require.NoError(t, fresh.RestoreRun(found.Image))
	require.NotEqual(t, w.StateHash(), fresh.StateHash())
	require.Greater(t, fresh.Config().FirstGeneration, uint32(world.RunGenerations+99), "G7")
	found = must.Get((&Store{path: simulatedImage, disk: disktest.New(), keep: 3}).Recover(fresh.World, Recovery{}))
	require.Nil(t, found.Image)
}

// A system that differs is found, and the world is as before the tick at which it does.
func TestRecoverDiverged(t *testing.T) { recoverDiverged(t) }

func recoverDiverged(t testing.TB) {
	p, w := lived(t, always)
	first := must.Get(p.store.Segments())[1].Tick
	for _, differs := range []uint64{first, first + 1, p.tick - 1} {
		twin, s, restarts := newJournaledWorld(t), &Store{path: simulatedImage, disk: p.disk, keep: 3}, 0
		twin.drift = func(tick uint64) int64 {
			if tick > differs {
				return 1
			}
			return 0
		}
		found := must.Get(s.Recover(twin.World, Recovery{Restart: func() { restarts++ }}))
		require.Less(t, found.Tick, p.tick)
		require.Equal(t, w.hashes[found.Tick], twin.StateHash())
		require.False(t, found.SameRun)
		var divergence *world.DivergenceError
		require.ErrorAs(t, found.Diverged, &divergence)
		require.Equal(t, found.Tick+1, divergence.Tick)
		require.Equal(t, 1, restarts)
	}
	// Another state at each repetition: nothing after the image is taken.
	twin, calls := newJournaledWorld(t), int64(0)
	twin.drift = func(uint64) int64 {
		calls++
		return calls
	}
	found := must.Get((&Store{path: simulatedImage, disk: p.disk, keep: 3}).Recover(twin.World, Recovery{}))
	require.Error(t, found.Diverged)
	require.False(t, found.SameRun)
	require.LessOrEqual(t, found.Tick, found.Image.Tick())
}

// G5, G13: errors change nothing, and name the segment.
func TestRecoverErrors(t *testing.T) {
	p, w := lived(t, always)
	failure := errors.New("these notes are of another version")
	s := &Store{path: simulatedImage, disk: p.disk, keep: 3}
	_, err := s.Recover(newJournaledWorld(t).World, Recovery{Note: func([]byte) error { return failure }})
	require.ErrorIs(t, err, failure)
	require.ErrorContains(t, err, simulatedImage+".journal-")
	require.ErrorIs(t, must.Fail(s.Recover(newJournaledWorld(t).World, Recovery{Restore: func(*world.Image) error { return failure }})), failure)
	require.False(t, s.loaded, "the next save rotates as before")

	// A world without the component maps the journal, and is another run.
	other := newWorld(t)
	must.Get(other.AddKind(world.Kind{Name: "ghost"}))
	found := must.Get(s.Recover(other, Recovery{}))
	require.Equal(t, w.Tick(), other.Tick())
	require.False(t, found.SameRun)
}

// G12: segments of images that exist remain, and their number is bounded by the images.
func TestPruneSegments(t *testing.T) { pruneSegments(t) }

func pruneSegments(t testing.TB) {
	p, _ := lived(t, always)
	for range 5 {
		p.beginSegment()
		p.saveImage(p.tick)
		p.step(2)
	}
	require.Len(t, must.Get(p.store.Segments()), 2)
	p.disk.Put(segmentPath(simulatedImage, 3, 1_000_000, 0), piece(1, 1))
	p.beginSegment()
	p.saveImage(p.tick)
	require.Len(t, must.Get(p.store.Segments()), 2, "of a run without an image")
	p.store.unlocked = errors.New("no locks")
	p.disk.Put(segmentPath(simulatedImage, 3, 1_000_000, 0), piece(1, 1))
	p.step(1)
	p.beginSegment()
	p.saveImage(p.tick)
	require.Len(t, must.Get(p.store.Segments()), 4, "another process may write them")
}

// Five processes on real files continue one run, although the end of the journal is torn in between.
func TestRecoverRealFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "w")
	hashes := map[uint64]uint64{}
	for start := range 5 {
		w, s := newJournaledWorld(t), must.Get(Open(path, 2))
		found := must.Get(s.Recover(w.World, Recovery{}))
		require.Equal(t, start > 0, found.SameRun, "start %d: %v", start, found.Cut)
		if start > 0 {
			require.Equal(t, start%2 == 0, found.Cut != nil)
			require.Equal(t, hashes[w.Tick()], w.StateHash())
		}
		j := must.Get(s.OpenJournal(JournalConfig{Mode: JournalAlways}))
		frames := must.Get(w.StartJournal(world.JournalConfig{Run: 7, Durable: true, Chain: found.Chain}))
		beginSegment := func() (img world.Image) {
			w.TakeImage(&img)
			j.BeginSegment(7, w.Tick(), must.Get(frames.BeginSegment(nil)))
			return img
		}
		step := func() {
			w.change()
			w.Step()
			hashes[w.Tick()] = w.StateHash()
			j.Append(w.Tick(), must.Get(frames.Commit(nil)))
		}
		img := beginSegment()
		step()
		if start != 3 { // as if the save had failed
			require.NoError(t, s.Save(&img, 0))
			require.NoError(t, j.ImageSaved(img.Tick()))
		}
		for range 20 {
			step()
		}
		require.NoError(t, j.Close())
		require.Equal(t, JournalRunning, j.Stats().State)
		require.Equal(t, w.Tick(), j.Stats().Durable)
		segments := must.Get(s.Segments())
		require.LessOrEqual(t, len(segments), 3)
		if start%2 == 1 {
			newest := segments[len(segments)-1]
			require.NoError(t, os.Truncate(newest.Path, newest.Bytes-3))
		}
		require.NoError(t, s.Close())
	}
}

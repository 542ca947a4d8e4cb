package imagefile

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/disktest"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/internal/shorttest"
	"github.com/worldd/worldd/world"
)

// history holds the past of one world: what a disk must have after the next crash.
type history struct {
	hashes    map[uint64]map[uint64]uint64 // of each run, by tick
	run       uint64
	released  uint64 // output of this run has left up to this tick
	saved     uint64 // tick of the newest image whose Save has returned nil
	kept      int    // valid generations then
	issued    uint32 // newest generation of handles in an image or a released tick
	fails     bool   // operations of the disk fail in this process
	reordered bool   // a power loss has taken any part of what was not synced
	failed    bool   // they have failed in this run, which need not continue
}

// livesOnDisk plays one process as package server does: it opens the image, recovers the world, continues its run or begins
// another, and saves images and the journal. It returns false if the process has died before its world ticked.
func (h *history) livesOnDisk(t testing.TB, d *disktest.Disk, why string) bool {
	died := func(err error) bool {
		if err != nil && !d.Crashed() && !h.fails {
			require.NoError(t, err, why)
		}
		return err != nil
	}
	s, err := openOn(d, simulatedImage, 3)
	if died(err) {
		return false
	}
	require.NoError(t, s.Unlocked(), why)
	_, err = openOn(d, simulatedImage, 3)
	require.True(t, errors.Is(err, ErrInUse) || d.Crashed() || h.fails, "G1: %v", err)
	if _, err = s.Sweep(); died(err) {
		return false
	}
	w := newJournaledWorld(t)
	found, err := s.Recover(w.World, Recovery{})
	if died(err) {
		return false
	}
	c := h.continueFrom(t, d, w, s, &found, why)
	if died(s.BeginRun(w.Config().FirstGeneration)) {
		return false
	}
	p := begin(t, d, h.run, w.Tick(), s.replayed)
	p.store, p.released = s, h.released
	p.journal.store = s
	w.attach(p, c)
	save := p.save
	p.save = func(tick uint64) error {
		err := save(tick)
		if err == nil && !d.Crashed() {
			h.saved, h.kept = tick, generations(d, s)
			durable := d.PowerLoss(disktest.Drop, rand.New(rand.NewPCG(0, 0)))
			require.Equal(t, d.Data(simulatedImage), durable.Data(simulatedImage), "%s: a saved image is durable", why)
		}
		return err
	}
	p.play()
	h.released = p.released
	h.issued = max(h.issued, w.issued(p.released))
	if d.Crashed() {
		return true
	}
	require.True(t, p.tick == p.released || h.fails && p.journal.Stats().State == JournalBroken, "%s: output flows: %v", why, p.errs)
	p.journal.writer.finish()
	require.True(t, s.Close() == nil || h.fails, why)
	return true
}

// continueFrom checks what a process has found, and brings its world to where it ticks.
func (h *history) continueFrom(t testing.TB, d *disktest.Disk, w *journaledWorld, s *Store, found *Recovered, why string) world.JournalConfig {
	for _, name := range must.Get(s.disk.List("/d")) {
		require.NotRegexp(t, `\.(damaged|skipped|kept-.*)$`, name.Name, "%s: nothing is damaged: a power loss cannot reach an image", why)
	}
	c := world.JournalConfig{Run: h.run, Durable: true, Chain: found.Chain}
	if found.Image == nil {
		require.Zero(t, h.saved, "%s: an image was saved", why)
	} else {
		require.GreaterOrEqual(t, max(found.Tick, found.Image.Tick()), h.saved, "%s: a saved image is lost: %v", why, found.Cut)
		require.GreaterOrEqual(t, generations(d, s), h.kept-1, "%s: at most the generation that a save was to displace is gone", why)
	}
	if found.Run != 0 {
		require.Equal(t, h.hashes[found.Run][found.Tick], w.StateHash(), "%s: J2: tick %d", why, found.Tick)
	}
	if found.SameRun {
		require.Equal(t, h.run, found.Run, why)
		require.GreaterOrEqual(t, found.Tick, h.released, "%s: J1: output has left", why)
		w.hashes = h.hashes[h.run]
		return c
	}
	require.True(t, h.released == 0 || h.failed || h.reordered, "%s: the run does not continue: %v", why, found.Cut)
	h.run++
	h.failed = h.fails
	h.released, h.hashes[h.run] = 0, w.hashes
	if found.Image == nil {
		h.issued = 0
		return world.JournalConfig{Run: h.run, Durable: true}
	}
	img := found.Image
	if found.Run != 0 { // as package server does
		img = &world.Image{}
		w.TakeImage(img)
		img.SkipGenerations(s.NewestGeneration())
	}
	require.NoError(t, w.RestoreRun(img), why)
	require.Greater(t, w.Config().FirstGeneration, h.issued, "%s: G7", why)
	return world.JournalConfig{Run: h.run, Durable: true}
}

// issued returns the newest generation of the handles that were issued up to a tick that was released, or 0.
func (w *journaledWorld) issued(released uint64) uint32 {
	if released == 0 {
		return 0
	}
	img := world.Image{}
	w.TakeImage(&img)
	return img.NewestGeneration()
}

// generations counts the different images.
func generations(d *disktest.Disk, s *Store) int {
	images := map[string]bool{}
	for n := range s.keep + 1 {
		if image := d.Data(s.generationPath(n)); image != nil {
			images[string(image)] = true
		}
	}
	return len(images)
}

func newHistory() *history { return &history{hashes: map[uint64]map[uint64]uint64{}} }

// J1, J2, G1, G3, G7, G9: three processes, the second of which dies at each operation of opening, recovering, saving,
// rotating and writing the journal. A power loss takes all that was not synced, nothing, or parts.
func TestPowerLossOfImagesAndJournal(t *testing.T) {
	racetest.SkipSequential(t)
	playPowerLoss(t)
}

func playPowerLoss(t testing.TB) {
	begun, was := disktest.New(), newHistory()
	require.True(t, was.livesOnDisk(t, begun, "first"))
	first := func() (*disktest.Disk, *history) {
		h := *was
		h.hashes = maps.Clone(was.hashes)
		return begun.Kill(), &h
	}
	d, h := first()
	from := d.Ops()
	h.livesOnDisk(t, d, "second")
	ops, same := d.Ops(), 0
	require.Equal(t, uint64(1), h.run, "the same run")
	stride := shorttest.Pick(1, 3)
	for at := from; at <= ops; at += stride {
		for _, loss := range append(disktest.Losses[:], kill) {
			why := fmt.Sprintf("crash at %d of %d to %d, %v", at, from, ops, loss)
			d, h := first()
			d.CrashAt(at)
			h.livesOnDisk(t, d, why)
			d = h.crash(d, loss, rand.New(rand.NewPCG(uint64(at), 0)))
			h.livesOnDisk(t, d, why)
			if h.run == 1 {
				same++
			}
			d = h.crash(d, loss, rand.New(rand.NewPCG(uint64(at), 1)))
			h.livesOnDisk(t, d, why+", again")
		}
	}
	require.Greater(t, same, 4*(ops-from)/stride)
}

// kill is no loss: the process dies, and the machine does not.
const kill = disktest.Loss(100)

func (h *history) crash(d *disktest.Disk, loss disktest.Loss, random *rand.Rand) *disktest.Disk {
	switch loss {
	case kill:
		return d.Kill()
	case disktest.Reorder: // of three renames the middle one may be lost, and sectors of the last frame
		h.kept, h.reordered = 1, true
	}
	return d.PowerLoss(loss, random)
}

// Random lives, in some of which operations fail: EIO and ENOSPC, also of syncs and links, with and without effect.
func TestFailingDiskOfImagesAndJournal(t *testing.T) {
	racetest.SkipSequential(t)
	playFailingDisk(t)
}

func playFailingDisk(t testing.TB) {
	same, other := 0, 0
	for seed := range uint64(150) {
		random := rand.New(rand.NewPCG(seed, 7))
		d, h := disktest.New(), newHistory()
		for life := range 5 {
			h.fails = random.IntN(2) == 0
			h.failed = h.failed || h.fails
			if h.fails {
				most := 10 + random.IntN(200)
				d.SetFail(func(op disktest.Op, path string) error {
					switch {
					case random.IntN(most) != 0 || strings.HasSuffix(path, ".lock"):
						return nil
					case random.IntN(2) == 0:
						return syscall.ENOSPC
					}
					return fmt.Errorf("%w (%w)", syscall.EIO, disktest.ErrDone)
				})
			}
			d.CrashAt(d.Ops() + random.IntN(130))
			run := h.run
			h.livesOnDisk(t, d, fmt.Sprintf("seed %d, life %d", seed, life))
			if h.run == run {
				same++
			} else {
				other++
			}
			d.SetFail(nil)
			d = h.crash(d, append(disktest.Losses[:], kill)[random.IntN(5)], random)
		}
		h.fails = false
		h.livesOnDisk(t, d, fmt.Sprintf("seed %d, at the end", seed))
	}
	require.Greater(t, same, 150)
	require.Greater(t, other, 100)
}

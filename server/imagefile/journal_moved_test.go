package imagefile

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/disktest"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
)

// movedRun is the newest image and segment of a run, on their way to another machine.
type movedRun struct {
	image, segment []byte
	newest         Segment
	hashes         map[uint64]uint64 // by tick
	released       uint64
}

func newMovedRun(t testing.TB) *movedRun {
	p, w := lived(t, always)
	segments := must.Get(p.store.Segments())
	newest := segments[len(segments)-1]
	return &movedRun{
		image: p.disk.Data(simulatedImage), segment: must.Get(p.store.CopySegment(newest.Run, newest.Tick, int(newest.Bytes))),
		newest: newest, hashes: w.hashes, released: p.released,
	}
}

// arrive returns the store of a machine that has the image.
func (m *movedRun) arrive() (*disktest.Disk, *Store) {
	d := disktest.New()
	d.Put(simulatedImage, m.image)
	return d, &Store{path: simulatedImage, disk: d, keep: 3}
}

func (m *movedRun) add(s *Store) error { return s.AddSegment(m.newest, m.segment) }

// requireAllOrNothing checks that a machine continues the run after its last tick, or has nothing to continue.
func (m *movedRun) requireAllOrNothing(t testing.TB, d *disktest.Disk, why string) (all bool) {
	_, s, found := recoverWorld(t, d, m.hashes, why)
	if len(must.Get(s.Segments())) == 0 {
		require.Zero(t, found.Run, why)
		return false
	}
	require.Equal(t, m.released, found.Tick, why)
	require.True(t, found.SameRun, why)
	require.NoError(t, found.Cut, why)
	return true
}

// J1, G9: a segment from another machine is on the disk whole or not at all, whatever fails and whenever the machine does, and nil says that it stays.
func TestAddSegment(t *testing.T) {
	m := newMovedRun(t)
	d, s := m.arrive()
	require.NoError(t, m.add(s))
	ops := d.Ops()
	for _, loss := range []disktest.Loss{disktest.Drop, disktest.Keep, disktest.Torn, disktest.Reorder} {
		random := rand.New(rand.NewPCG(1, uint64(loss)))
		require.True(t, m.requireAllOrNothing(t, d.PowerLoss(loss, random), "done"))
		for at := range ops {
			d, s := m.arrive()
			d.CrashAt(d.Ops() + at)
			require.ErrorIs(t, m.add(s), disktest.ErrCrashed)
			m.requireAllOrNothing(t, d.Kill(), fmt.Sprintf("killed at %d of %d", at, ops))
			m.requireAllOrNothing(t, d.PowerLoss(loss, random), fmt.Sprintf("power loss at %d of %d, %v", at, ops, loss))
			for _, failure := range []error{syscall.EIO, syscall.ENOSPC, fmt.Errorf("%w (%w)", syscall.EIO, disktest.ErrDone)} {
				why := fmt.Sprintf("%v at %d of %d, %v", failure, at, ops, loss)
				d, s := m.arrive()
				n := 0
				d.SetFail(func(disktest.Op, string) error {
					n++
					if n == at+1 {
						return failure
					}
					return nil
				})
				require.ErrorIs(t, m.add(s), failure, why)
				m.requireAllOrNothing(t, d.PowerLoss(loss, random), why)
			}
		}
	}
}

// A full disk is named, and the next try succeeds.
func TestAddSegmentToAFullDisk(t *testing.T) {
	m := newMovedRun(t)
	d, s := m.arrive()
	d.SetCapacity(int64(len(m.image) + len(m.segment)/2))
	err := m.add(s)
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.ErrorContains(t, err, simulatedImage)
	require.Len(t, d.Names(), 1, "the image")
	require.False(t, m.requireAllOrNothing(t, d, "full"))
	d.SetCapacity(0)
	require.NoError(t, m.add(s))
	require.True(t, m.requireAllOrNothing(t, d, "again"))
}

func TestCopySegment(t *testing.T) {
	p, _ := lived(t, always)
	segments := must.Get(p.store.Segments())
	newest := segments[len(segments)-1]
	bytes := int(newest.Bytes)
	require.Equal(t, p.disk.Data(newest.Path), must.Get(p.store.CopySegment(newest.Run, newest.Tick, bytes)))
	require.ErrorContains(t, must.Fail(p.store.CopySegment(newest.Run, newest.Tick, bytes-1)), "can be copied")
	require.ErrorContains(t, must.Fail(p.store.CopySegment(newest.Run, newest.Tick+1000, bytes)), "no segment of run")
	require.ErrorContains(t, must.Fail(p.store.CopySegment(newest.Run+1, newest.Tick, bytes)), "no segment of run")
	require.NoError(t, p.disk.Rename(newest.Path, newest.Path+lossySuffix))
	require.ErrorContains(t, must.Fail(p.store.CopySegment(newest.Run, newest.Tick, bytes)), "no segment of run", "ticks of it are missing")
}

// A segment of arbitrary bytes, as a hostile machine would send it, adds nothing to the run but its own ticks.
func FuzzAddedSegment(f *testing.F) {
	m := newMovedRun(f)
	f.Add(m.segment)
	f.Add(m.segment[:len(m.segment)/2])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, segment []byte) {
		d, s := m.arrive()
		require.NoError(t, s.AddSegment(m.newest, segment))
		_, _, found := recoverWorld(t, d, m.hashes, "")
		require.True(t, found.Cut == nil || errors.Is(found.Cut, world.ErrJournalEnd) || errors.Is(found.Cut, world.ErrImageVersion), "%v", found.Cut)
	})
}

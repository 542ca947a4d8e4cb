package imagefile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/disktest"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/internal/shorttest"
	"github.com/worldd/worldd/world"
)

func contentOf(b []byte) Content {
	sum := sha256.Sum256(b)
	return Content{int64(len(b)), hex.EncodeToString(sum[:])}
}

// confirmations are a directory of one image, whose answers may be lost.
type confirmations struct {
	random *rand.Rand
	newest *Content
	saved  int // saves that have returned nil
}

var errNoAnswer = errors.New("no answer")

func (c *confirmations) confirm(d *disktest.Disk) Confirm {
	return func(_ string, _ uint64, content Content) error {
		switch {
		case d.Crashed():
			return errNoAnswer
		case c.random.IntN(4) == 0:
			return fmt.Errorf("%w: another node has the room", ErrUnconfirmed)
		case c.random.IntN(4) == 0:
			return errNoAnswer
		}
		c.newest = &content
		if c.random.IntN(3) == 0 {
			return errNoAnswer
		}
		return nil
	}
}

// live opens the image, settles it, and saves a few times, until the process dies.
func (c *confirmations) live(t *testing.T, d *disktest.Disk, why string) {
	s, err := openOn(d, simulatedImage, 2)
	if err != nil {
		require.True(t, d.Crashed(), why)
		return
	}
	if c.newest != nil {
		found, err := s.Settle(*c.newest)
		if d.Crashed() {
			return
		}
		require.NoError(t, err, why)
		require.True(t, found, "G18: the newest image is gone: %s: %v", why, d)
		require.Equal(t, *c.newest, contentOf(d.Data(simulatedImage)), why)
	}
	w := newWorld(t)
	found, err := s.Load(w)
	if err != nil || d.Crashed() {
		require.True(t, d.Crashed(), "%s: %v", why, err)
		return
	}
	if found.Image != nil {
		require.NoError(t, w.Restore(found.Image))
	}
	s.ConfirmBy(c.confirm(d))
	for range 3 {
		img := world.Image{}
		next(w, &img)
		if s.Save(&img, 0) == nil {
			c.saved++
		}
	}
	_ = s.Close()
}

// G18: whenever the process dies, the confirmed image is found, with and without the answer, after each loss of the disk.
func TestConfirmedImageIsFound(t *testing.T) {
	racetest.SkipSequential(t)
	saved := 0
	seeds, stride := shorttest.Pick[uint64](4, 1), shorttest.Pick(3, 9)
	for seed := range seeds {
		for at := int(seed); at < 120; at += stride {
			for _, loss := range append(disktest.Losses[:], kill) {
				d, c := disktest.New(), &confirmations{random: rand.New(rand.NewPCG(seed, 1))}
				why := fmt.Sprintf("seed %d, crash at %d, %v", seed, at, loss)
				for range 2 {
					d.CrashAt(d.Ops() + at)
					c.live(t, d, why)
					d = newHistory().crash(d, loss, c.random)
				}
				c.live(t, d, why)
				saved += c.saved
			}
		}
	}
	require.NotZero(t, saved)
}

// An image of another node becomes the newest generation whole, or not at all.
func TestInstall(t *testing.T) {
	path := filepath.Join(t.TempDir(), "w")
	s := open(t, path, 3)
	w, img := newWorld(t), &world.Image{}
	next(w, img)
	require.NoError(t, s.Save(img, 0))
	next(w, img)
	var theirs bytes.Buffer
	must.Get(img.WriteTo(&theirs))
	want := contentOf(theirs.Bytes())
	require.False(t, must.Get(s.Settle(want)))
	require.False(t, HasSize(filepath.Join(filepath.Dir(path), "other"), want))
	for _, wrong := range [][]byte{theirs.Bytes()[1:], append(bytes.Clone(theirs.Bytes()), 0), nil} {
		require.ErrorIs(t, s.Install(bytes.NewReader(wrong), &want), ErrContent)
	}
	require.Equal(t, []uint64{1}, ticks(t, s))
	require.NoError(t, s.Install(bytes.NewReader(theirs.Bytes()), &want))
	require.Equal(t, []uint64{2, 1}, ticks(t, s))
	require.True(t, HasSize(path, want))
	older := contentOf(must.Get(readAll(s, s.generationPath(1))))
	require.True(t, must.Get(s.Settle(older)), "an older generation is the newest again")
	require.Equal(t, []uint64{1, 2, 1}, ticks(t, s))
}

func readAll(s *Store, path string) ([]byte, error) {
	file, err := s.disk.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var b bytes.Buffer
	_, err = b.ReadFrom(file)
	return b.Bytes(), err
}

// The image of a world that has ended elsewhere is kept beside, and the world begins without it.
func TestSetAside(t *testing.T) {
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "w"), 3)
	require.Empty(t, must.Get(ReadConfirmed(s.Path())))
	w, img := newWorld(t), &world.Image{}
	for range 3 {
		next(w, img)
		require.NoError(t, s.Save(img, 0))
		require.NoError(t, s.NoteConfirmed("here 1"))
	}
	require.Equal(t, "here 1", must.Get(ReadConfirmed(s.Path())))
	require.NoError(t, s.SetAside())
	require.Equal(t, []string{"w.lock", "w.stale"}, files(t, dir))
	require.Nil(t, load(t, s).Image)
	require.NoError(t, s.Save(img, 0))
	require.NoError(t, s.SetAside())
	require.Equal(t, []string{"w.lock", "w.stale"}, files(t, dir))
}

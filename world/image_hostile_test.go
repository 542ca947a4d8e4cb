package world_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"strconv"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/world"
)

// isImageError reports whether err is a permitted answer to arbitrary bytes.
func isImageError(err error) bool {
	return errors.Is(err, world.ErrImage) || errors.Is(err, world.ErrImageVersion) || errors.Is(err, world.ErrImageWorld)
}

func busyScene(t testing.TB) *scene {
	s := newScene(t, 7, 40, 2, 2)
	steps(s.World, 90)
	return s
}

func TestImageOfAnotherVersion(t *testing.T) {
	s := busyScene(t)
	file := written(t, s.World)
	binary.LittleEndian.PutUint32(file[4:], 99)
	_, err := s.ReadImage(bytes.NewReader(file))
	require.ErrorIs(t, err, world.ErrImageVersion)
	require.ErrorContains(t, err, "version 99")
}

// A claimed size never makes the reader allocate more than a chunk, or more than the world
// may hold.
func TestImageClaimingHugeSizes(t *testing.T) {
	s := busyScene(t)
	file := written(t, s.World)
	for _, claim := range []uint32{1 << 20, 1<<20 + 1, 1<<32 - 1} {
		binary.LittleEndian.PutUint32(file[8:], claim)
		binary.LittleEndian.PutUint32(file[12:], claim)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := s.ReadImage(bytes.NewReader(file))
		runtime.ReadMemStats(&after)
		require.ErrorIs(t, err, world.ErrImage)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20))
	}
}

func TestImageOfAnotherWorld(t *testing.T) {
	setup := func(c world.Config, health string, kinds ...world.Kind) *world.World {
		w, err := world.New(c)
		require.NoError(t, err)
		for _, k := range kinds {
			addKind(t, w, k)
		}
		switch health {
		case "int16":
			_, err = world.Register[int16](w, "health")
		case "int8":
			_, err = world.Register[int8](w, "health")
		}
		require.NoError(t, err)
		return w
	}
	rock, ghost := world.Kind{Name: "rock", Body: &world.BodyDef{}}, world.Kind{Name: "ghost"}
	w := setup(world.Config{}, "int16", rock, ghost)
	spawn(t, w, 0, world.Vec3{})
	spawn(t, w, 1, world.Vec3{})
	w.Step()
	file := written(t, w)
	for _, c := range []struct {
		name  string
		world *world.World
		want  string
	}{
		{"the same", setup(world.Config{}, "int16", rock, ghost), ""},
		{"kinds in another order, and more", setup(world.Config{}, "int16", world.Kind{Name: "tree"}, ghost, rock), ""},
		{"more room", setup(world.Config{MaxEntities: 2}, "int16", rock, ghost), ""},
		{"less room", setup(world.Config{MaxEntities: 1}, "int16", rock, ghost), "2 slots; at most 1"},
		{"kind is gone", setup(world.Config{}, "int16", rock, world.Kind{Name: "tree"}), `1 entities are of kind "ghost", which the world lacks`},
		{"fewer kinds", setup(world.Config{}, "int16", rock), `kind "ghost"`},
		{"kind without body", setup(world.Config{}, "int16", world.Kind{Name: "rock"}, ghost), `kind "rock", which has a body only in the image`},
		{"kind with a body", setup(world.Config{}, "int16", rock, world.Kind{Name: "ghost", Body: &world.BodyDef{}}), `kind "ghost", which has a body only in the world`},
		{"component of another type", setup(world.Config{}, "int8", rock, ghost), `its component "health" is int16:2, the world's int8:1: a value is int16 in the image and int8 in the world`},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := c.world.StateHash()
			img, err := c.world.ReadImage(bytes.NewReader(file))
			if c.want == "" {
				require.NoError(t, err)
				require.NoError(t, c.world.Restore(img))
				require.NoError(t, c.world.CheckInvariants())
				at := must.Have(c.world.Position(c.world.Slots().Handle(0)))
				kind, _ := c.world.KindOf(c.world.Slots().Handle(1))
				require.Equal(t, "ghost", c.world.Kinds()[kind].Name)
				require.Equal(t, world.Vec3{}, at)
				return
			}
			require.ErrorIs(t, err, world.ErrImageWorld)
			require.ErrorContains(t, err, c.want)
			// it cannot be restored after another world has read it either
			img = must.Get(w.ReadImage(bytes.NewReader(file)))
			require.ErrorIs(t, c.world.Restore(img), world.ErrImageWorld)
			require.ErrorIs(t, c.world.RestoreRun(img), world.ErrImageWorld)
			require.Equal(t, before, c.world.StateHash())
		})
	}
}

// failingWriter accepts room bytes, then fails.
type failingWriter struct{ room int }

var errFull = errors.New("no space left")

func (f *failingWriter) Write(b []byte) (int, error) {
	if len(b) > f.room {
		n := f.room
		f.room = 0
		return n, errFull
	}
	f.room -= len(b)
	return len(b), nil
}

func TestImageToAFullDisk(t *testing.T) {
	racetest.SkipSequential(t)
	s := busyScene(t)
	var img world.Image
	s.TakeImage(&img)
	file := written(t, s.World)
	for n := 0; n < len(file); n += 11 {
		written, err := img.WriteTo(&failingWriter{n})
		require.ErrorIs(t, err, errFull)
		require.Equal(t, int64(n), written)
	}
	_, err := s.ReadImage(iotest.ErrReader(errFull))
	require.ErrorIs(t, err, errFull)
	require.False(t, isImageError(err), "the disk's fault, not the image's")
}

func TestImageWithTooMuchExtra(t *testing.T) {
	s := busyScene(t)
	var img world.Image
	s.TakeImage(&img)
	img.Extra = make([]byte, world.MaxExtraBytes+1)
	n, err := img.WriteTo(io.Discard)
	require.ErrorIs(t, err, world.ErrValue)
	require.Zero(t, n, "nothing is written")
	img.Extra = []byte("weather")
	var b bytes.Buffer
	must.Get(img.WriteTo(&b))
	again := read(t, s.World, b.Bytes())
	require.Equal(t, "weather", string(again.Extra))
	require.NoError(t, s.Restore(again))
}

// An image with correct sums is never reported as damaged, even if the world lacks its
// kinds. A damaged image is never reported as an image of another program. An operator
// keeps the first kind of file, and replaces the second kind by an older image.
func TestImageOfANewerProgram(t *testing.T) {
	setup := func(more int) *world.World {
		w := must.Get(world.New(world.Config{}))
		addKind(t, w, world.Kind{Name: "rock", Body: &world.BodyDef{}})
		must.Get(world.Register[int16](w, "health"))
		for i := range more {
			k := addKind(t, w, world.Kind{Name: "kind" + strconv.Itoa(i)})
			spawn(t, w, k, world.Vec3{})
			must.Get(world.Register[int64](w, "component"+strconv.Itoa(i)))
		}
		for range 1000 { // several chunks
			spawn(t, w, 0, world.Vec3{X: float32(w.Stats().Entities)})
		}
		return w
	}
	w, newer := setup(0), setup(9)
	var img world.Image
	newer.TakeImage(&img)
	img.Extra = make([]byte, 3<<20)
	rand.NewChaCha8([32]byte{}).Read(img.Extra)
	var b bytes.Buffer
	must.Get(img.WriteTo(&b))
	file := b.Bytes()

	_, err := w.ReadImage(bytes.NewReader(file))
	require.ErrorIs(t, err, world.ErrImageWorld)
	require.NotErrorIs(t, err, world.ErrImage)
	require.ErrorContains(t, err, `1 entities are of kind "kind0", which the world lacks; `)
	require.ErrorContains(t, err, `; and 1 more differences`)
	var recording bytes.Buffer
	must.Get(newer.Record(&recording, &img, 1))
	require.ErrorIs(t, must.Fail(w.Replay(&recording)), world.ErrImageWorld, "the image of a recording")
	for _, at := range []int{len(file) - 1, len(file) / 2, 9} { // 9 is in its setup
		wrong := bytes.Clone(file)
		wrong[at] ^= 1
		_, err = w.ReadImage(bytes.NewReader(wrong))
		require.ErrorIs(t, err, world.ErrImage, "byte %d", at)
		require.NotErrorIs(t, err, world.ErrImageWorld)
		require.ErrorIs(t, must.Fail(w.ReadImage(bytes.NewReader(file[:at]))), world.ErrImage, "cut at %d", at)
	}
	_, err = w.ReadImage(io.MultiReader(bytes.NewReader(file[:len(file)/2]), iotest.ErrReader(errFull)))
	require.ErrorIs(t, err, errFull, "nobody knows whether it is damaged")
	require.False(t, isImageError(err))

	img.Extra = nil
	w.TakeImage(&img)
	own := img.Setup()
	w.Step()
	w.TakeImage(&img)
	require.Equal(t, own, img.Setup())
	require.Equal(t, own, read(t, w, written(t, w)).Setup())
	newer.TakeImage(&img)
	require.NotEqual(t, own, img.Setup())
}

// An image's generations do not decide whether it can be read: RestoreRun moves the
// generations into the world's range.
func TestImageOfHigherGenerations(t *testing.T) {
	setup := func(first, last uint32) *world.World {
		w := must.Get(world.New(world.Config{FirstGeneration: first, LastGeneration: last}))
		addKind(t, w, world.Kind{Name: "ghost"})
		spawn(t, w, 0, world.Vec3{})
		return w
	}
	const range0 = world.RunGenerations
	high := setup(3*range0+1, 4*range0-1)
	file := written(t, high)
	low, next := setup(1, range0-1), setup(4*range0+1, 5*range0-1)
	img := read(t, low, file)
	require.EqualValues(t, 3*range0+1, img.NewestGeneration())
	refuses := func(w *world.World, restore func(*world.Image) error) {
		before := w.StateHash()
		err := restore(img)
		require.ErrorIs(t, err, world.ErrImageWorld)
		require.NotErrorIs(t, err, world.ErrImage)
		require.Equal(t, before, w.StateHash())
	}
	refuses(low, low.Restore) // which changes no handles
	require.NoError(t, low.RestoreRun(img))
	require.EqualValues(t, 1, low.Slots().Handle(0).Generation())
	refuses(high, high.RestoreRun) // in its own range, of which the run may have issued all since
	require.NoError(t, next.RestoreRun(img))
	require.EqualValues(t, 4*range0+3, next.Slots().Handle(0).Generation())

	img.SkipGenerations(6*range0 + 8)
	require.EqualValues(t, 6*range0+9, img.NewestGeneration())
	img.SkipGenerations(5)
	require.EqualValues(t, 6*range0+9, img.NewestGeneration())
	between := setup(5*range0+1, 6*range0-1)
	require.NoError(t, between.RestoreRun(img), "the range is free, although a later run was above it")
	require.EqualValues(t, 5*range0+1, between.Slots().Handle(0).Generation())
	own := setup(6*range0+1, 7*range0-1)
	refuses(own, own.RestoreRun)
	all := setup(1, 0)
	require.NoError(t, all.RestoreRun(img))
	require.Greater(t, all.Slots().Handle(0).Generation(), uint32(7*range0+8))
}

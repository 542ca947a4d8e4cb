package world

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/must"
)

type fuzzed struct {
	Flag   bool
	Number int32
	Label  string
	Bag    []byte
}

// emptyFuzzWorld is a fuzzWorld without contents.
func emptyFuzzWorld(t testing.TB) *World { return fuzzWorld(t, false) }

// evolvedFuzzWorld is empty, and set up like a fuzzWorld of a later version of the game.
func evolvedFuzzWorld(t testing.TB) *World {
	type fuzzed struct {
		Bag    string
		Number int64
		Rank   [3]uint16
		Title  string
		Flag   bool
	}
	w := must.Get(New(Config{MaxEntities: 300, HalfExtent: Vec3{X: 10, Y: 20, Z: 20}, TickHz: 90, Compaction: InPlace}))
	for _, k := range []Kind{{Name: "spirit", Was: []string{"ghost"}}, {Name: "stone", Body: &BodyDef{Mass: 2}}, {Name: "lift", Body: &BodyDef{}}} {
		must.Get(w.AddKind(k))
	}
	c := must.Get(Register[fuzzed](w, "evolved"))
	require.NoError(t, c.Was("fuzzed"))
	require.NoError(t, SetDefault(w, 1, c, fuzzed{Rank: [3]uint16{1, 2, 3}, Title: "stone"}))
	must.Get(Register[Volume](w, "zone"))
	return w
}

// emptyWorldOf returns a world with the setup of fuzzWorld, whose first component has type T.
func emptyWorldOf[T any](t testing.TB) (*World, *Component[T], *Component[Volume]) {
	w := must.Get(New(Config{MaxEntities: 200, HalfExtent: Vec3{X: 20, Y: 20, Z: 20}, RestSeconds: 5.0 / 60}))
	for _, k := range []Kind{{Name: "stone", Body: &BodyDef{Radius: 0.5}}, {Name: "lift", Body: &BodyDef{Kinematic: true}}, {Name: "ghost"}} {
		must.Get(w.AddKind(k))
	}
	return w, must.Get(Register[T](w, "fuzzed")), must.Get(Register[Volume](w, "zone"))
}

// laterFuzzWorld is a fuzzWorld in a later version of the game, which has more fields.
func laterFuzzWorld(t testing.TB) *World {
	type later struct {
		Rank [2]uint16
		fuzzed
		Title string
	}
	var img Image
	fuzzWorld(t, true).TakeImage(&img)
	var file bytes.Buffer
	must.Get(img.WriteTo(&file))
	w, c, _ := emptyWorldOf[later](t)
	require.NoError(t, SetDefault(w, 0, c, later{Rank: [2]uint16{1, 2}, Title: "stone"}))
	require.NoError(t, w.Restore(must.Get(w.ReadImage(&file))))
	return w
}

// fuzzWorld always has the same setup, and optionally contents.
func fuzzWorld(t testing.TB, inhabited bool) *World {
	w, c, zones := emptyWorldOf[fuzzed](t)
	if !inhabited {
		return w
	}
	p := must.Get(field.Compile("effect gust\nparam wind = (6,0,2,0)\neverywhere\noutput = add output, wind\n"))
	must.Get(w.AddEffect(EffectDef{Program: p, Mode: Acceleration, LifeTicks: 9}))
	for i := range uint32(20) {
		e := must.Get(w.SpawnFor(KindID(i%3), Vec3{X: float32(i) - 10, Y: 1, Z: 2}, Vec3{X: 1, Y: 2, Z: 3}, i%5*20))
		if i%4 == 0 {
			c.Set(e, fuzzed{true, int32(i), "crate", []byte{1, 2}})
		}
		if i%7 == 0 {
			w.Destroy(e)
		}
	}
	zones.Set(w.Slots().Handle(2), Volume{Half: Vec3{X: 9, Y: 9, Z: 9}})
	zones.Set(w.Slots().Handle(3), Volume{Radius: 5, Layers: 1})
	must.Get(w.AddEffect(EffectDef{Program: p, Follow: w.Slots().Handle(3), Layers: 2}))
	for range 3 {
		w.Step()
	}
	w.SetPosition(w.Slots().Handle(4), Vec3{X: 1, Y: 1, Z: 1})
	w.Sleep(w.Slots().Handle(1))
	must.Get(w.Spawn(0, Vec3{}, Vec3{X: 1, Y: 1, Z: 1}))
	return w
}

// unpacked returns the decompressed chunks of an image.
func unpacked(t testing.TB, w *World) []byte {
	var img Image
	w.TakeImage(&img)
	img.Extra = []byte("x")
	var file bytes.Buffer
	must.Get(img.WriteTo(&file))
	return unpackedFile(t, file.Bytes())
}

// unpackedFile returns the decompressed chunks of the image in a file.
func unpackedFile(t testing.TB, file []byte) []byte {
	r := must.Get(newChunkReader(bytes.NewReader(file)))
	defer r.close()
	var all []byte
	for {
		require.NoError(t, r.next())
		if r.ended {
			return all
		}
		all = append(all, r.rest...)
	}
}

// FuzzDecodeImage decodes contents as if their checksums were correct: accepted contents must
// make a valid world that still runs.
func FuzzDecodeImage(f *testing.F) {
	f.Add(unpacked(f, fuzzWorld(f, true)))
	f.Add(unpacked(f, fuzzWorld(f, false)))
	f.Fuzz(func(t *testing.T, b []byte) {
		checkContents(t, fuzzWorld(t, false), b)
		checkContents(t, evolvedFuzzWorld(t), b)
	})
}

// checkContents decodes contents for w, restores it from them, and runs it.
func checkContents(t *testing.T, w *World, b []byte) {
	img, _, err := w.decodeImage(imageVersion, readFull(bytes.NewReader(b)))
	if err != nil {
		require.True(t, errors.Is(err, ErrImage) || errors.Is(err, ErrImageWorld), "%v", err)
		return
	}
	require.NoError(t, w.Restore(img))
	require.NoError(t, w.CheckInvariants())
	for range 3 {
		w.Step()
		require.NoError(t, w.CheckInvariants())
	}
	if w.RestoreRun(img) == nil {
		require.NoError(t, w.CheckInvariants())
	}
}

// FuzzReadImage reads whole files.
func FuzzReadImage(f *testing.F) {
	var img Image
	fuzzWorld(f, true).TakeImage(&img)
	var file bytes.Buffer
	must.Get(img.WriteTo(&file))
	f.Add(file.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		w := fuzzWorld(t, false)
		if img, err := w.ReadImage(bytes.NewReader(b)); err == nil {
			require.NoError(t, w.Restore(img))
			require.NoError(t, w.CheckInvariants())
		}
	})
}

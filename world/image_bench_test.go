package world_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
)

// million returns a world of a million bodies, some of them awake, with two components.
func million(b *testing.B, awake int) *world.World {
	b.Helper()
	return millionBy(b, awake, 1)
}

func millionBy(b *testing.B, awake, workers int) *world.World {
	b.Helper()
	const n = 1_000_000
	w := millionSetup(b, n, workers)
	r := rand.New(rand.NewPCG(1, 2))
	identity := must.Get(world.Register[uint64](w, "identity"))
	points := must.Get(world.Register[health](w, "health"))
	all := make([]world.Entity, 0, n)
	for i := range n {
		e := spawn(b, w, 0, world.Vec3{X: spread(r, 2000), Y: 0.5, Z: spread(r, 2000)})
		identity.Set(e, uint64(e)*0x9e3779b97f4a7c15)
		if i%4 == 0 {
			points.Set(e, health{Current: int16(i), Max: 100})
		}
		all = append(all, e)
	}
	for _, e := range all {
		w.Sleep(e)
	}
	w.Step()
	for i := range awake {
		w.SetVelocity(all[i*(n/awake)], world.Vec3{X: 3, Y: 5})
	}
	w.Step()
	require.Equal(b, awake, w.Stats().Awake)
	return w
}

func millionSetup(b *testing.B, n, workers int) *world.World {
	w := must.Get(world.New(world.Config{Workers: workers, MaxEntities: n + 1000, HalfExtent: world.Vec3{X: 2048, Y: 64, Z: 2048}, RestSeconds: 1000}))
	must.Get(w.AddKind(world.Kind{Name: "crate", Body: &world.BodyDef{Radius: 0.5, Restitution: 1}}))
	return w
}

var awakes = []struct {
	name  string
	awake int
}{{"awake=1%", 10_000}, {"awake=10%", 100_000}, {"awake=all", 1_000_000}}

// BenchmarkTakeImageMillion measures the part of a save inside the tick.
func BenchmarkTakeImageMillion(b *testing.B) {
	for _, c := range awakes {
		b.Run(c.name, func(b *testing.B) {
			w := million(b, c.awake)
			var img world.Image
			w.TakeImage(&img)
			for b.Loop() {
				w.TakeImage(&img)
			}
		})
	}
}

// BenchmarkTakePreparedImageMillion measures TakeImage after PrepareImage, and the longest
// call of PrepareImage. For comparison it then measures a plain copy of the data of awake
// bodies: position, velocity and rest.
func BenchmarkTakePreparedImageMillion(b *testing.B) {
	for _, c := range awakes {
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/workers=%d", c.name, workers), func(b *testing.B) { takePrepared(b, millionBy(b, c.awake, workers)) })
		}
	}
}

func takePrepared(b *testing.B, w *world.World) {
	defer w.Close()
	var img world.Image
	w.TakeImage(&img)
	bytesAwake := w.Stats().Awake * 7 * 4
	from, to := bytes.Repeat([]byte{1}, bytesAwake), bytes.Repeat([]byte{1}, bytesAwake)
	longest := time.Duration(0)
	var takes, copies []time.Duration
	for b.Loop() {
		for ready := false; !ready; {
			w.Step()
			began := time.Now()
			ready = w.PrepareImage(&img)
			longest = max(longest, time.Since(began))
		}
		began := time.Now()
		w.TakeImage(&img)
		took := time.Now()
		copy(to, from)
		takes, copies = append(takes, took.Sub(began)), append(copies, time.Since(took))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(longest.Seconds()*1e3, "ms-prepare-max")
	for name, d := range map[string][]time.Duration{"take": takes, "copy": copies} {
		slices.Sort(d)
		b.ReportMetric(d[0].Seconds()*1e3, "ms-"+name+"-least")
		b.ReportMetric(d[len(d)/2].Seconds()*1e3, "ms-"+name+"-median")
	}
}

// BenchmarkBlockedBySaveMillion measures the longest call of a save inside a tick, PrepareImage or TakeImage, of
// an image whose memory is new, and of one that is used again.
func BenchmarkBlockedBySaveMillion(b *testing.B) {
	for _, c := range awakes {
		b.Run(c.name, func(b *testing.B) {
			w := million(b, c.awake)
			var used world.Image
			w.TakeImage(&used)
			longest := map[string][]time.Duration{}
			for b.Loop() {
				for name, img := range map[string]*world.Image{"new": {}, "used": &used} {
					longest[name] = append(longest[name], longestCall(w, img))
				}
			}
			b.ReportMetric(0, "ns/op")
			for name, d := range longest {
				slices.Sort(d)
				b.ReportMetric(d[len(d)/2].Seconds()*1e3, "ms-"+name+"-median")
			}
		})
	}
}

// longestCall saves the world over several steps, and returns the longest call between them.
func longestCall(w *world.World, img *world.Image) (longest time.Duration) {
	for ready := false; !ready; {
		w.Step()
		began := time.Now()
		ready = w.PrepareImage(img)
		longest = max(longest, time.Since(began))
	}
	w.Step()
	began := time.Now()
	w.TakeImage(img)
	return max(longest, time.Since(began))
}

// BenchmarkWriteImageMillion measures the part of a save outside the tick: to memory, and to a
// synced file.
func BenchmarkWriteImageMillion(b *testing.B) {
	for _, c := range awakes {
		w := million(b, c.awake)
		var img world.Image
		w.TakeImage(&img)
		b.Run(c.name+"/discard", func(b *testing.B) {
			for b.Loop() {
				n := must.Get(img.WriteTo(io.Discard))
				b.ReportMetric(float64(n)/1e6, "MB")
			}
		})
		b.Run(c.name+"/file", func(b *testing.B) {
			file := must.Get(os.Create(filepath.Join(b.TempDir(), "world.image")))
			defer file.Close()
			for b.Loop() {
				must.Get(file.Seek(0, io.SeekStart))
				must.Get(img.WriteTo(file))
				require.NoError(b, file.Sync())
			}
		})
	}
}

func BenchmarkRestoreMillion(b *testing.B) {
	for _, c := range awakes {
		w := million(b, c.awake)
		file := written(b, w)
		b.Run(c.name+"/read", func(b *testing.B) {
			for b.Loop() {
				must.Get(w.ReadImage(bytes.NewReader(file)))
			}
		})
		img := read(b, w, file)
		b.Run(c.name+"/restore", func(b *testing.B) {
			for b.Loop() {
				require.NoError(b, w.Restore(img))
			}
		})
	}
}

// BenchmarkMigrateMillion restores a million entities in worlds of later versions of a game, with
// settings, fields and defaults changed, and with a function of the game: from an image of the first
// version, and for comparison from one of their own.
func BenchmarkMigrateMillion(b *testing.B) {
	type health struct{ Points, Most int32 }
	type bag struct {
		Gold   int64
		Owner  world.Entity
		Slots  [8]uint16
		Weight float32
	}
	type health2 struct {
		Points, Shield int64
		Most           int32
	}
	type bag2 struct {
		Weight float64
		Slots  [12]uint32
		Owner  world.Entity
		Gold   int64
	}
	build := func(c world.Config, register func(w *world.World)) *world.World {
		c.MaxEntities = 1 << 20
		w := must.Get(world.New(c))
		addKind(b, w, world.Kind{Name: "crate", Body: &world.BodyDef{}})
		register(w)
		return w
	}
	first := func(w *world.World) {
		require.NoError(b, world.SetDefault(w, 0, register[health](b, w, "health"), health{3, 9}))
		require.NoError(b, world.SetDefault(w, 0, register[bag](b, w, "bag"), bag{Gold: 5, Weight: 2}))
	}
	w := build(world.Config{}, first)
	for i := range 1_000_000 {
		spawn(b, w, 0, world.Vec3{X: float32(i%1000) - 500, Z: float32(i)/2000 - 250})
	}
	w.Step()
	file := written(b, w)
	for _, c := range []struct {
		name  string
		world *world.World
	}{
		{"fields", build(world.Config{}, func(w *world.World) {
			require.NoError(b, world.SetDefault(w, 0, register[health2](b, w, "health"), health2{Shield: 4}))
			register[bag2](b, w, "bag")
		})},
		{"settings", build(world.Config{TickHz: 30, Gravity: 5, HalfExtent: world.Vec3{X: 400, Y: 100, Z: 400}}, first)},
		{"function", build(world.Config{}, func(w *world.World) {
			register[bag](b, w, "bag")
			require.NoError(b, world.Migrate(w, register[health2](b, w, "health"), func(h health) health2 { return health2{int64(h.Points), 1, h.Most} }))
		})},
	} {
		restore := func(name string, file []byte) {
			b.Run(c.name+"/"+name, func(b *testing.B) {
				for b.Loop() {
					img := must.Get(c.world.ReadImage(bytes.NewReader(file)))
					require.NoError(b, c.world.Restore(img))
				}
			})
		}
		restore("migrated", file)
		restore("own", written(b, c.world))
	}
}

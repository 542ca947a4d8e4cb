package world_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/internal/shorttest"
	"github.com/worldd/worldd/world"
)

// written returns the world's image as a file.
func written(t testing.TB, w *world.World) []byte {
	t.Helper()
	var img world.Image
	w.TakeImage(&img)
	var b bytes.Buffer
	n := must.Get(img.WriteTo(&b))
	require.Equal(t, int64(b.Len()), n)
	return b.Bytes()
}

func read(t testing.TB, w *world.World, file []byte) *world.Image {
	t.Helper()
	return must.Get(w.ReadImage(bytes.NewReader(file)))
}

// zone changes volumes and effects that follow.
func zone(s *scene, slot uint32, choice int) {
	e := s.Slots().Handle(slot)
	if s.zones == nil {
		return
	}
	switch choice % 5 {
	case 0:
		s.zones.Set(e, world.Volume{Radius: 6})
	case 1:
		s.zones.Set(e, world.Volume{Half: world.Vec3{X: 9, Y: 9, Z: 9}, Center: world.Vec3{X: float32(choice % 7)}, Layers: 1})
	case 2:
		s.zones.Remove(e)
	case 3:
		if id, err := s.AddEffect(world.EffectDef{
			Program: s.pull, Center: world.Vec3{X: 1}, Follow: e, Layers: 1, LifeTicks: uint32(30 + choice%200),
		}); err == nil {
			s.MoveEffect(id, world.Vec3{Z: 1})
		}
	case 4:
		s.SetPosition(e, world.Vec3{X: float32(choice % 50), Y: 1})
		s.Sleep(e) // displaced and never awake
	}
}

// sight counts what the system of watched observed about an entity.
type sight struct{ Changes, Wakes, Sleeps, Spawns, Steps, Enters, Leaves, Followed uint16 }

// watched returns newScene with a system that counts everything that systems can observe:
// changes, events, awake bodies, crossings. Some crates carry volumes, and in turn a gust
// that other crates feel.
func watched(t testing.TB, seed uint64, crates, blasts, sparksPerTick int) *scene {
	s := newScene(t, seed, crates, blasts, sparksPerTick)
	s.pull = compile(t, blast)
	sights := must.Get(world.Register[sight](s.World, "sight"))
	volumes := must.Get(world.Register[world.Volume](s.World, "volume"))
	s.zones = volumes
	wind := compile(t, gust)
	for e := range s.health.All() {
		switch e.Index() % 10 {
		case 0:
			volumes.Set(e, world.Volume{Radius: 12})
		case 5:
			volumes.Set(e, world.Volume{Half: world.Vec3{X: 9, Y: 2, Z: 9}, Layers: world.DefaultLayer})
		}
	}
	require.NoError(t, s.AddSystem(world.Before, "carry", func(w *world.World) {
		e := w.Slots().Handle(uint32(w.Tick()) % w.Slots().Len())
		if _, placed := w.Position(e); placed && w.Tick()%5 == 0 {
			def := world.EffectDef{Program: wind, Params: []field.Vec4{{1, 0, 3}}, Follow: e, Layers: 1, LifeTicks: 12}
			must.Get(w.AddEffect(def))
		}
	}))
	changed := must.Get(s.NewQuery(world.QueryDef{Changed: []world.Term{s.health}}))
	awake := must.Get(s.NewQuery(world.QueryDef{Awake: true}))
	see := func(e world.Entity, f func(*sight)) {
		v := sight{}
		if old := sights.Get(e); old != nil {
			v = *old
		}
		f(&v)
		sights.Set(e, v)
	}
	for _, phase := range []world.Phase{world.Before, world.After} {
		require.NoError(t, s.AddSystem(phase, "watch "+phase.String(), func(w *world.World) {
			for e := range changed.All() {
				see(e, func(v *sight) { v.Changes++ })
			}
			for e := range awake.All() {
				see(e, func(v *sight) { v.Steps++ })
			}
			for e := range w.Woke() {
				see(e, func(v *sight) { v.Wakes++ })
			}
			for e := range w.Slept() {
				see(e, func(v *sight) { v.Sleeps++ })
			}
			for c := range w.Entered() {
				see(c.Entity, func(v *sight) { v.Enters++ })
				see(c.Volume, func(v *sight) { v.Enters += 100 })
			}
			for c := range w.Left() {
				see(c.Entity, func(v *sight) { v.Leaves++ })
			}
			for e := range w.Spawned() {
				see(e, func(v *sight) { v.Spawns++ })
			}
			for c := range w.Entered() {
				see(c.Volume, func(v *sight) { v.Enters++ })
				see(c.Entity, func(v *sight) { v.Followed++ })
			}
			for c := range w.Left() {
				see(c.Volume, func(v *sight) { v.Leaves++ })
			}
		}))
	}
	return s
}

// commands are external changes to a scene between steps.
type commands struct {
	r        *rand.Rand
	programs []*field.Program
}

func newCommands(t testing.TB, seed uint64) *commands {
	return &commands{rand.New(rand.NewPCG(seed, 1)), []*field.Program{compile(t, gust), compile(t, blast)}}
}

func (c *commands) give(s *scene) {
	var b [400]byte
	for i := range b {
		b[i] = byte(c.r.Uint32())
	}
	in := fuzzedBytes{b[:]}
	for range 6 {
		command(s.World, s.health, c.programs, &in)
	}
}

// A world that is restored repeatedly, into another world or itself, continues exactly like
// a world that is never restored: same hashes, same handles, same bytes.
func TestRestoredWorldContinues(t *testing.T) {
	racetest.SkipSequential(t)
	seeds, after := shorttest.Pick[uint64](3, 1), shorttest.Pick(1000, 100) // ticks
	for seed := range seeds {
		a, b := watched(t, 7, 100, 2, 2), watched(t, 7, 30, 2, 1)
		r := rand.New(rand.NewPCG(seed, 2))
		ca, cb := newCommands(t, seed), newCommands(t, seed)
		last := 0
		for tick := range 300 + after {
			if tick%3 == 0 {
				ca.give(a)
				cb.give(b)
				for _, s := range []*scene{a, b} {
					zone(s, uint32(tick*7%90), tick)
				}
				a.Destroy(a.Slots().Handle(uint32(tick % 100))) // doomed when the image is taken
				b.Destroy(b.Slots().Handle(uint32(tick % 100)))
			}
			if tick < 300 && r.IntN(12) == 0 || tick == 0 || tick == 299 {
				b = watched(t, 7, r.IntN(50), 2, 2) // another world, with its own systems and other contents
				steps(b.World, r.IntN(5))
				if r.IntN(3) == 0 {
					b = a // into itself
				}
				file := written(t, a.World)
				require.NoError(t, b.Restore(read(t, b.World, file)))
				require.NoError(t, b.CheckInvariants())
				require.Equal(t, file, written(t, b.World), "restored, and taken again")
				if b == a {
					b = watched(t, 7, 9, 2, 2)
					require.NoError(t, b.Restore(read(t, b.World, file)))
				}
				last = tick
				*cb.r = *rand.New(rand.NewPCG(uint64(tick), 3))
				*ca.r = *rand.New(rand.NewPCG(uint64(tick), 3))
			}
			require.Equal(t, a.StateHash(), b.StateHash(), "tick %d, restored at %d", tick, last)
			require.Equal(t, slices.Collect(a.Spawned()), slices.Collect(b.Spawned()))
			require.Equal(t, destroyed(a.World), destroyed(b.World))
			stats := b.Stats()
			stats.Systems = a.Stats().Systems // Stats of systems belong to the process
			require.Equal(t, a.Stats(), stats)
			a.Step()
			b.Step()
		}
		require.Greater(t, a.Stats().Reused, uint64(500), "slots were reused, so generations counted")
	}
}

type mixed struct {
	Small  int8
	Target bulk.Handle
	Flag   bool
	Others [2]bulk.Handle
	Count  int
	_      uint16
	Exact  float64
}

type mark struct{}

// Values of any shape are restored, and padding is not saved.
func TestImageOfComponents(t *testing.T) {
	setup := func() (*world.World, world.KindID, *world.Component[mixed], *world.Component[mark], *world.Component[int16]) {
		w, crate, _, ghost := newWorld(t, world.Config{})
		_ = crate
		m := must.Get(world.Register[mixed](w, "mixed"))
		k := must.Get(world.Register[mark](w, "mark"))
		n := must.Get(world.Register[int16](w, "lone"))
		return w, ghost, m, k, n
	}
	w, ghost, m, k, n := setup()
	r := rand.New(rand.NewPCG(5, 5))
	var all []world.Entity
	for range 300 {
		e := must.Get(w.Spawn(ghost, world.Vec3{}, world.Vec3{}))
		all = append(all, e)
	}
	for i, e := range all {
		if r.IntN(2) == 0 {
			m.Set(e, mixed{-5, all[r.IntN(300)], r.IntN(2) == 0, [2]bulk.Handle{all[r.IntN(300)], bulk.NewHandle(uint32(i), 99)}, -1, 7, 0.25})
		}
		if r.IntN(3) == 0 {
			k.Set(e, mark{})
		}
	}
	n.Set(all[77], -32768)
	file := written(t, w)
	w2, _, m2, k2, n2 := setup()
	require.NoError(t, w2.Restore(read(t, w2, file)))
	for i, e := range all {
		require.Equal(t, m.Has(e), m2.Has(e))
		require.Equal(t, k.Has(e), k2.Has(e))
		require.Equal(t, i == 77, n2.Has(e))
		if v := m.Get(e); v != nil {
			want := *v
			want.Exact = m2.Get(e).Exact
			require.EqualExportedValues(t, want, *m2.Get(e))
		}
	}
	require.Equal(t, int16(-32768), *n2.Get(all[77]))
	require.Equal(t, w.StateHash(), w2.StateHash())

	// restore into a world with other values in its slots: none of these values is left
	for _, e := range all {
		m2.Set(e, mixed{Small: 1, Count: 9})
		n2.Set(e, 9)
	}
	require.NoError(t, w2.Restore(read(t, w2, file)))
	require.Equal(t, w.StateHash(), w2.StateHash())
	require.Equal(t, file, written(t, w2))
}

// In a new run, every entity has a handle that the old run cannot have issued, and
// references are updated (H5).
func TestRestoreRun(t *testing.T) {
	s := newScene(t, 7, 60, 1, 2)
	refs := must.Get(world.Register[mixed](s.World, "refs"))
	steps(s.World, 200)
	var old []world.Entity
	s.Live().All()(func(slot uint32) bool {
		old = append(old, s.Slots().Handle(slot))
		return true
	})
	gone := bulk.NewHandle(old[0].Index(), old[0].Generation()+2)
	for i, e := range old {
		refs.Set(e, mixed{Target: old[(i+1)%len(old)], Others: [2]bulk.Handle{gone, 0}})
	}
	addEffect(t, s.World, world.EffectDef{Program: compile(t, blast), Follow: old[0]})
	file, effects := written(t, s.World), s.Stats().Effects
	ahead := s.Stats().Spawned
	steps(s.World, 500) // the server's last steps before its crash
	require.Greater(t, s.Stats().Spawned, ahead)

	again := newScene(t, 7, 5, 1, 2)
	refs2 := must.Get(world.Register[mixed](again.World, "refs"))
	require.NoError(t, again.RestoreRun(read(t, again.World, file)))
	require.NoError(t, again.CheckInvariants())
	first := again.Config().FirstGeneration
	require.GreaterOrEqual(t, first, uint32(world.RunGenerations))
	require.Empty(t, slices.Collect(again.Spawned()))
	for i, e := range old {
		require.Equal(t, bulk.Stale, again.Status(e))
		now := again.Slots().Handle(e.Index())
		require.Equal(t, bulk.NewHandle(e.Index(), first), now)
		ref := refs2.Get(now)
		require.Equal(t, again.Slots().Handle(old[(i+1)%len(old)].Index()), ref.Target)
		require.Equal(t, [2]bulk.Handle{bulk.NewHandle(gone.Index(), bulk.GoneGeneration), 0}, ref.Others, "a handle that was not live is Stale for ever")
	}
	for slot := range s.Slots().Len() { // all handles issued before the crash
		if e := s.Slots().Handle(slot); e != 0 {
			require.NotEqual(t, bulk.Live, again.Status(e))
		}
	}
	again.Step()
	require.Equal(t, effects, again.Stats().Effects, "effects still follow")
	steps(again.World, 300)
	require.NoError(t, again.CheckInvariants())

	// another restart, from an image of the new run
	third := newScene(t, 7, 5, 1, 2)
	must.Get(world.Register[mixed](third.World, "refs"))
	require.NoError(t, third.RestoreRun(read(t, third.World, written(t, again.World))))
	require.Greater(t, third.Config().FirstGeneration, first)
	require.Equal(t, bulk.Stale, third.Status(bulk.NewHandle(0, first)))
}

func TestTakeImageWarmAllocatesNothing(t *testing.T) {
	s := newScene(t, 7, 200, 2, 2)
	steps(s.World, 200)
	var img world.Image
	s.TakeImage(&img)
	s.Step()
	require.Zero(t, testing.AllocsPerRun(10, func() { s.TakeImage(&img) }))
	require.Equal(t, s.Tick(), img.Tick())
	require.Equal(t, s.Stats().Entities, img.Entities())
}

func TestImageInAStepPanics(t *testing.T) {
	s := newScene(t, 7, 3, 0, 0)
	var img world.Image
	s.TakeImage(&img)
	for name, f := range map[string]func(){
		"TakeImage":    func() { s.TakeImage(&img) },
		"Restore":      func() { _ = s.Restore(&img) },
		"PrepareImage": func() { _ = s.PrepareImage(&img) },
	} {
		active := false
		require.NoError(t, s.AddSystem(world.Before, name, func(*world.World) {
			if active {
				require.PanicsWithValue(t, "world: "+name+" was called by a system", f)
			}
		}))
		active = true
		s.Step()
		active = false
	}
}

// The golden scenes, saved and restored on the way, reach the same rest: piles in contact,
// with each Compaction.
func TestRestoredGoldenScenes(t *testing.T) {
	racetest.SkipSequential(t)
	for i, scene := range golden {
		mode := world.Compaction(i)
		w := scene.build(t, world.Config{Compaction: mode})
		for range 4 {
			steps(w, 21)
			next := scene.build(t, world.Config{Compaction: mode})
			require.NoError(t, next.Restore(read(t, next, written(t, w))))
			require.NoError(t, next.CheckInvariants())
			w = next
		}
		tick := stepUntilAsleep(t, w, 3000)
		require.Equal(t, scene.hash, w.StateHash(), "%s, %v", scene.name, mode)
		require.Equal(t, scene.tick, tick, "%s, %v", scene.name, mode)
	}
}

// bulky makes one word of slots as large as a PrepareImage call.
type bulky [8192]uint64

// Whatever is copied ahead and changes later, the image equals an image copied at once.
func TestPreparedImageIsTheSame(t *testing.T) {
	racetest.SkipSequential(t)
	s := newScene(t, 7, 250, 2, 2)
	large := must.Get(world.Register[bulky](s.World, "bulky"))
	r, programs := rand.New(rand.NewPCG(4, 1)), []*field.Program{compile(t, gust), compile(t, blast)}
	anybody := func() world.Entity { return s.Slots().Handle(uint32(r.IntN(300))) }
	require.NoError(t, s.AddSystem(world.Before, "inside", func(*world.World) {
		if v := large.Mut(anybody()); v != nil {
			v[7]++
		}
		large.Remove(anybody())
		large.DeferSet(anybody(), bulky{1})
	}))
	for slot := range s.Slots().Len() {
		large.Set(s.Slots().Handle(slot), bulky{uint64(slot)})
	}
	var img, whole world.Image
	calls := 0
	for range 12 {
		for ready := false; !ready; calls++ {
			s.Step()
			ready = s.PrepareImage(&img)
			outside(s, r, programs)
			large.Set(anybody(), bulky{2})
		}
		if r.IntN(2) == 0 {
			s.Step()
		}
		if r.IntN(4) == 0 {
			s.PrepareImage(&whole) // preparing another image voids the first
		}
		s.TakeImage(&img)
		s.TakeImage(&whole)
		var a, b bytes.Buffer
		must.Get(img.WriteTo(&a))
		must.Get(whole.WriteTo(&b))
		require.True(t, bytes.Equal(a.Bytes(), b.Bytes()))
	}
	require.Greater(t, calls, 12*3)
}

// Pending deferred changes are not part of an image, and change no slot of a restored
// world.
func TestRestoreDropsPendingChanges(t *testing.T) {
	w, crate, ghost, _ := newWorld(t, world.Config{})
	note := must.Get(world.RegisterLocal[*int](w, "note"))
	points := register[int32](t, w, "points")
	kept := spawn(t, w, ghost, world.Vec3{})
	var img world.Image
	w.TakeImage(&img)
	hash := w.StateHash()
	must.Get(w.DeferSpawn(crate, world.Vec3{}, world.Vec3{}, 5))
	points.DeferSet(kept, 7)
	note.DeferSet(kept, new(int))
	require.NoError(t, w.Restore(&img))
	require.Equal(t, hash, w.StateHash())
	points.DeferSet(kept, 8)
	w.Step()
	require.EqualValues(t, 8, *points.Get(kept))
	require.False(t, note.Has(kept))
	require.Equal(t, 1, w.Stats().Entities)
	require.NoError(t, w.CheckInvariants())
}

package world_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/alloctest"
	"github.com/worldd/worldd/internal/invariants"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/internal/shorttest"
	"github.com/worldd/worldd/world"
)

// outside makes changes between two steps, of kinds that the scene's systems do not make.
func outside(s *scene, r *rand.Rand, programs []*field.Program) {
	e := s.Slots().Handle(uint32(r.IntN(60)))
	at := world.Vec3{X: spread(s.Rand(), 20), Y: 3, Z: spread(r, 20)} // draws from the world's generator
	zone(s, uint32(r.IntN(60)), r.IntN(1000))
	switch r.IntN(17) {
	case 0:
		_, _ = s.SpawnFor(s.crate, at, world.Vec3{Y: 5}, uint32(r.IntN(200)))
	case 1:
		s.DestroyBecause(e, uint8(r.IntN(3)))
	case 2:
		s.SetPosition(e, at)
	case 3:
		s.SetVelocity(e, at)
	case 4:
		s.Impulse(e, at)
	case 5:
		s.Wake(e)
	case 6:
		s.Sleep(e)
	case 7:
		s.health.Set(e, health{Current: int16(r.IntN(9)), Healer: s.Slots().Handle(uint32(r.IntN(60)))})
	case 8:
		s.health.Remove(e)
	case 9:
		if h := s.health.Mut(e); h != nil {
			s.health.Mut(e)
			h.Max = r.Float32()
		}
	case 10:
		_, _ = s.AddEffect(world.EffectDef{Program: programs[r.IntN(2)], Center: at, LifeTicks: uint32(1 + r.IntN(90))})
	case 11:
		id := bulk.NewHandle(uint32(r.IntN(6)), uint32(r.IntN(8)*2+1))
		s.MoveEffect(id, at)
		s.SetEffectParams(id, []field.Vec4{{r.Float32(), 1, 2, 3}})
		if r.IntN(9) == 0 {
			s.RemoveEffect(id)
		}
	case 12:
		e, _ = s.DeferSpawn(s.crate, at, world.Vec3{X: 1}, uint32(r.IntN(100)))
		s.health.DeferSet(e, health{Current: 3})
	case 13:
		s.health.DeferSet(e, health{Max: 4})
	case 14:
		s.health.DeferRemove(e)
	case 15:
		s.ApplyDeferred()
		s.SetPosition(e, at)
	case 16:
		if values := s.health.MutWord(0, 1<<7); s.health.Presence().Has(7) {
			values[7].Max++
		}
	}
}

// play runs a scene for ticks ticks and calls hash after each.
func play(t testing.TB, s *scene, seed uint64, ticks int, hash func(tick, hash uint64)) {
	r, programs := rand.New(rand.NewPCG(seed, 9)), []*field.Program{compile(t, gust), compile(t, blast)}
	changes := s.NewChangeReader()
	defer changes.Close()
	for range ticks {
		for r.IntN(3) == 0 {
			outside(s, r, programs)
		}
		s.Step()
		changes.Next()
		hash(s.Tick(), s.StateHash())
	}
}

// record plays a scene, and returns the recording and the hashes.
func record(t testing.TB, s *scene, ticks int, every uint64) ([]byte, map[uint64]uint64) {
	t.Helper()
	var file bytes.Buffer
	var img world.Image
	s.TakeImage(&img)
	img.Extra = []byte("extra")
	rec := must.Get(s.Record(&file, &img, every))
	hashes := map[uint64]uint64{}
	play(t, s, 1, ticks, func(tick, hash uint64) { hashes[tick] = hash })
	require.NoError(t, rec.Close())
	return file.Bytes(), hashes
}

func TestReplayOfTenMinutes(t *testing.T) {
	racetest.SkipSequential(t)
	ticks := 10 * 60 * 60
	if testing.Short() || invariants.Enabled {
		ticks /= 20
	}
	s := watched(t, 7, 30, 2, 1)
	file, hashes := record(t, s, ticks, 1)
	again := watched(t, 7, 0, 2, 1)
	replay := must.Get(again.Replay(bytes.NewReader(file)))
	err := replay.Next()
	for ; err == nil; err = replay.Next() {
		if again.StateHash() != hashes[again.Tick()] {
			t.Fatalf("tick %d: another hash", again.Tick())
		}
	}
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, uint64(ticks), again.Tick())
	require.Equal(t, uint64(ticks), replay.Checked())
	require.Greater(t, again.Stats().Reused, uint64(ticks/2))
	require.NoError(t, again.CheckInvariants())
}

// A recording begins in the middle and has hashes at intervals. Kinds and components have
// other numbers in its world than in the replaying world.
func TestReplayFromTheMiddle(t *testing.T) {
	racetest.SkipSequential(t)
	s := watched(t, 7, 30, 2, 1)
	play(t, s, 5, 300, func(uint64, uint64) {})
	file, _ := record(t, s, 200, 7)
	again := watched(t, 7, 5, 2, 1)
	addKind(t, again.World, world.Kind{Name: "stranger"})
	must.Get(world.Register[int64](again.World, "strange"))
	replay := must.Get(again.Replay(bytes.NewReader(file)))
	require.Equal(t, "extra", string(replay.Image().Extra))
	require.Equal(t, uint64(300), replay.Image().Tick())
	require.ErrorIs(t, replayToEnd(replay), io.EOF)
	require.Equal(t, uint64(500), again.Tick())
	require.Equal(t, uint64(29), replay.Checked())
	at, _ := s.Position(s.Slots().Handle(5))
	same, _ := again.Position(s.Slots().Handle(5))
	require.Equal(t, at, same)
}

// Calls without effect are not recorded, so they must not change the state. A zero equals a
// zero of the other sign, although their bits differ.
func TestReplayOfCallsWithoutEffect(t *testing.T) {
	s, again := newScene(t, 7, 0, 0, 0), newScene(t, 7, 0, 0, 0)
	negative := float32(math.Copysign(0, -1))
	id := addEffect(t, s.World, world.EffectDef{Program: compile(t, gust), Params: []field.Vec4{{0, 1, 2}}})
	var img world.Image
	s.TakeImage(&img)
	var file bytes.Buffer
	rec := must.Get(s.Record(&file, &img, 1))
	before := s.StateHash()
	require.True(t, s.SetEffectParams(id, []field.Vec4{{negative, 1, 2, negative}}))
	require.True(t, s.MoveEffect(id, world.Vec3{X: negative}))
	require.Equal(t, before, s.StateHash())
	s.Step()
	require.True(t, s.SetEffectParams(id, []field.Vec4{{negative, 1, 3}}))
	require.NotEqual(t, before, s.StateHash())
	s.Step()
	require.NoError(t, rec.Close())
	replay := must.Get(again.Replay(&file))
	require.ErrorIs(t, replayToEnd(replay), io.EOF)
	require.Equal(t, s.StateHash(), again.StateHash())
}

// A DivergenceError names the first step and the parts that differ.
func TestReplayThatDiffers(t *testing.T) {
	file, _ := record(t, newScene(t, 7, 30, 2, 1), 100, 1)
	for _, c := range []struct {
		name   string
		system func(s *scene)
		parts  []string
	}{
		{"component", func(s *scene) { s.health.Set(s.Slots().Handle(0), health{Current: 77}) }, []string{"component health"}},
		{"body", func(s *scene) { s.Impulse(s.Slots().Handle(1), world.Vec3{Y: 1e-4}) }, []string{"bodies"}},
		{"draw", func(s *scene) { s.Rand().Uint64() }, []string{"clock and random generator"}},
		{"effect", func(s *scene) { s.MoveEffect(s.blasts[1], world.Vec3{X: 99, Y: 50, Z: 99}) }, []string{"effects"}},
		{"life", func(s *scene) { s.Destroy(s.Slots().Handle(2)) }, []string{"entities", "bodies", "component health"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			again := newScene(t, 7, 0, 2, 1)
			require.NoError(t, again.AddSystem(world.After, "wrong", func(w *world.World) {
				if w.Tick() == 42 {
					c.system(again)
				}
			}))
			replay := must.Get(again.Replay(bytes.NewReader(file)))
			err := replayToEnd(replay)
			var d *world.DivergenceError
			require.ErrorAs(t, err, &d)
			require.Equal(t, uint64(42), d.Tick)
			require.Equal(t, c.parts, d.Parts)
			require.ErrorContains(t, err, "first after tick 42: in "+c.parts[0])
		})
	}
}

func TestRecordingEndsOnError(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*scene, *failingWriter)
		want  string
	}{
		"kind":      {func(s *scene, _ *failingWriter) { addKind(t, s.World, world.Kind{Name: "new"}) }, "setup changed"},
		"component": {func(s *scene, _ *failingWriter) { _, _ = world.Register[int](s.World, "new") }, "setup changed"},
		"default":   {func(s *scene, _ *failingWriter) { _ = world.SetDefault(s.World, s.crate, s.health, health{}) }, "setup changed"},
		"system":    {func(s *scene, _ *failingWriter) { _ = s.AddSystem(world.After, "new", func(*world.World) {}) }, "setup changed"},
		"restored": {func(s *scene, _ *failingWriter) {
			var img world.Image
			s.TakeImage(&img)
			_ = s.Restore(&img)
		}, "restored"},
		"disk": {func(_ *scene, f *failingWriter) { f.room = 100 }, errFull.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, 7, 10, 1, 1)
			var img world.Image
			s.TakeImage(&img)
			disk := &failingWriter{1 << 20}
			rec := must.Get(s.Record(disk, &img, 1))
			require.ErrorIs(t, must.Fail(s.Record(io.Discard, &img, 1)), world.ErrValue, "one at a time")
			s.Step()
			c.spoil(s, disk)
			steps(s.World, 100)
			require.ErrorContains(t, rec.Close(), c.want)
			require.ErrorContains(t, must.Fail(s.Record(io.Discard, &img, 1)), "taken at tick 0", "the image is old")
			s.TakeImage(&img)
			must.Get(s.Record(io.Discard, &img, 1))
		})
	}
}

// A recording with a limit is closed in time, and replays up to its end.
func TestRecordingEndsAtLimit(t *testing.T) {
	racetest.SkipSequential(t)
	for _, limit := range []int64{1, 4000, 4001, 4002, 20000} {
		s := newScene(t, 7, 10, 1, 1)
		var img world.Image
		var file bytes.Buffer
		s.TakeImage(&img)
		rec := must.Get(s.Record(&file, &img, 1))
		head := file.Len()
		ends := 0
		rec.EndAt(limit, func() { ends++ })
		steps(s.World, 1000)
		require.Equal(t, 1, ends)
		require.NoError(t, rec.Close())
		require.LessOrEqual(t, file.Len(), max(int(limit), head+12))
		again := newScene(t, 7, 10, 1, 1)
		replay := must.Get(again.Replay(&file))
		err := replayToEnd(replay)
		require.ErrorIs(t, err, io.EOF, "closed")
		require.NotErrorIs(t, err, world.ErrRecording)
		require.Less(t, again.Tick(), s.Tick())
		require.Equal(t, limit == 1, again.Tick() == 0)
		s.TakeImage(&img)
		must.Get(s.Record(io.Discard, &img, 1))
	}
}

// Bytes after the end are an error: a second recording would otherwise count as replayed.
func TestDataBehindARecording(t *testing.T) {
	s := newScene(t, 7, 10, 1, 1)
	var img world.Image
	var file bytes.Buffer
	s.TakeImage(&img)
	rec := must.Get(s.Record(&file, &img, 1))
	steps(s.World, 20)
	require.NoError(t, rec.Close())
	for _, more := range [][]byte{nil, {0}, file.Bytes()} {
		again := newScene(t, 7, 10, 1, 1)
		replay := must.Get(again.Replay(bytes.NewReader(append(bytes.Clone(file.Bytes()), more...))))
		err := replayToEnd(replay)
		require.Equal(t, s.Tick(), again.Tick())
		if more == nil {
			require.Equal(t, io.EOF, err)
			continue
		}
		require.ErrorIs(t, err, world.ErrRecording)
		require.NotErrorIs(t, err, io.ErrUnexpectedEOF)
		require.ErrorContains(t, err, "data follows its end after tick 20")
	}
}

func TestWarmRecordedStepAllocatesNothing(t *testing.T) {
	alloctest.SkipAudited(t)
	s := newScene(t, 7, 50, 1, 1)
	var img world.Image
	s.TakeImage(&img)
	must.Get(s.Record(io.Discard, &img, 1))
	step := func() {
		e := s.Slots().Handle(3)
		s.health.Set(e, health{Current: 5})
		s.health.Mut(e).Max = 9
		s.SetVelocity(e, world.Vec3{Y: 3})
		s.Step()
	}
	alloctest.RequireNone(t, 900, 100, step)
}

// Local components are not recorded, and the numbers of other components differ without
// them.
func TestRecordBesideLocalComponents(t *testing.T) {
	set := func() (*world.World, world.KindID, *world.Component[*int], *world.Component[int32], *world.Component[int32]) {
		w, _, ghost, _ := newWorld(t, world.Config{})
		local := must.Get(world.RegisterLocal[*int](w, "local"))
		a := must.Get(world.Register[int32](w, "a"))
		b := must.Get(world.Register[int32](w, "b"))
		return w, ghost, local, a, b
	}
	w, ghost, local, a, b := set()
	e := spawn(t, w, ghost, world.Vec3{})
	b.Set(e, 1)
	var file bytes.Buffer
	var img world.Image
	w.TakeImage(&img)
	r := must.Get(w.Record(&file, &img, 0))
	local.Set(e, new(int))
	a.Set(e, 5)
	b.Set(e, 6)
	w.Step()
	local.Remove(e)
	a.Remove(e)
	w.Step()
	local.Set(e, new(int))
	local.DeferRemove(e)
	b.DeferRemove(e)
	w.Step()
	require.NoError(t, r.Close())

	again, _, _, a, b := set()
	replay := must.Get(again.Replay(&file))
	require.NoError(t, replay.Next())
	require.EqualValues(t, 5, *a.Get(e))
	require.EqualValues(t, 6, *b.Get(e))
	require.NoError(t, replay.Next())
	require.False(t, a.Has(e))
	require.True(t, b.Has(e))
	require.NoError(t, replay.Next())
	require.False(t, b.Has(e))
	require.ErrorIs(t, replay.Next(), io.EOF)
}

// replayToEnd replays all steps and returns why it ended.
func replayToEnd(r *world.Replay) (err error) {
	for err == nil {
		err = r.Next()
	}
	return err
}

// A recording is described without its program. A truncated one was not closed, and a changed one is
// damaged.
func TestReadImageInfoOfRecording(t *testing.T) {
	racetest.SkipSequential(t)
	s := watched(t, 7, 3, 2, 1)
	s.SetProgram(world.Program{Name: "shop", Version: "v1.2"})
	steps(s.World, 20)
	file, _ := record(t, s, 4, 2)
	info := must.Get(world.ReadImageInfo(bytes.NewReader(file)))
	require.Equal(t, world.Program{Name: "shop", Version: "v1.2"}, info.Program)
	require.EqualValues(t, 20, info.Tick)
	require.Equal(t, world.RecordingInfo{Format: 6, Every: 2, Last: 24, Closed: true}, *info.Recording)
	end := len(file)
	for at := 0; at < len(file); at += shorttest.Pick(1, 7) {
		wrong := bytes.Clone(file)
		wrong[at] ^= 4
		switch changed, err := world.ReadImageInfo(bytes.NewReader(wrong)); {
		case err != nil:
			require.True(t, errors.Is(err, world.ErrRecording) || isImageError(err), "byte %d: %v", at, err)
		default: // a changed length of a step goes beyond the end
			require.False(t, changed.Recording.Closed, "byte %d", at)
		}
		info, err := world.ReadImageInfo(bytes.NewReader(file[:at]))
		if err == nil {
			require.False(t, info.Recording.Closed)
			end = min(end, at)
			continue
		}
		require.True(t, errors.Is(err, world.ErrRecording) || isImageError(err), "%d bytes: %v", at, err)
		require.Equal(t, len(file), end, "%d bytes: fewer bytes are described", at)
	}
	require.ErrorIs(t, must.Fail(world.ReadImageInfo(bytes.NewReader(append(file, 0)))), world.ErrRecording)
}

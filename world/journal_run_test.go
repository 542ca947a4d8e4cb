package world_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/alloctest"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/world"
)

// A run that began by RestoreRun continues in one process after the other, without another image. Each recovers all
// segments of those before it, and the game changes the world before its first segment.
func TestRunInManyProcesses(t *testing.T) {
	racetest.SkipUnchecked(t)
	before := watched(t, 7, 30, 2, 1)
	steps(before.World, 50)
	file := written(t, before.World)
	restored := func() *scene {
		s := watched(t, 7, 3, 2, 1)
		require.NoError(t, s.RestoreRun(read(t, s.World, file)))
		return s
	}
	twin, outside := restored(), newOutsider(t, 1)
	j := newJournaled(t, restored(), world.JournalConfig{Run: 5}, 1)
	for process := range 6 {
		if process > 0 {
			again := watched(t, 7, 9, 2, 1)
			replay := recoverWorld(t, again.World, j.segments)
			require.Equal(t, twin.StateHash(), again.StateHash())
			next := newJournaled(t, again, world.JournalConfig{Run: 5, Chain: replay.Sum()}, 0)
			next.outside, next.segments = j.outside, j.segments
			j = next
		}
		program := outside.programs[process%2]
		for _, s := range []*scene{j.scene, twin} { // as a game does when it starts
			addEffect(t, s.World, world.EffectDef{Program: program, LifeTicks: 40})
		}
		j.begin(t)
		outside.change(twin)
		written(t, twin.World)
		outside.change(twin)
		for range 25 {
			if j.Tick()%7 == 0 { // for another purpose
				written(t, j.World)
				written(t, twin.World)
			}
			j.step(t)
			outside.changeSome(twin)
			twin.Step()
			require.Equal(t, twin.StateHash(), j.StateHash())
		}
	}
	for from := range j.segments { // the newest images are damaged
		again := watched(t, 7, 9, 2, 1)
		recoverWorld(t, again.World, j.segments[from:])
		require.Equal(t, twin.StateHash(), again.StateHash())
	}
	again := restored() // another run of the same images
	steps(again.World, 2)
	require.NoError(t, again.RestoreRun(read(t, again.World, j.segments[2].image)))
	require.ErrorIs(t, must.Fail(again.ReplayJournal(read(t, again.World, j.segments[2].image))), world.ErrValue, "its handles are others")
}

// Only the segments that follow are repeated, each whole and once. An attempt with another one changes nothing.
func TestFollowOtherSegment(t *testing.T) {
	j, other := journalOf(t, 5, 7), journalOf(t, 5, 8)
	reader := func(s segment) *world.JournalReader { return must.Get(world.NewJournalReader(bytes.NewReader(s.file))) }
	again := watched(t, 7, 9, 1, 1)
	img := read(t, again.World, j.segments[0].image)
	require.ErrorIs(t, must.Fail(again.ReplayJournal(img)), world.ErrValue, "not restored")
	require.NoError(t, again.Restore(img))
	require.Equal(t, img.Mark(), reader(j.segments[0]).Head().Mark)
	require.NotEqual(t, img.Mark(), reader(other.segments[0]).Head().Mark)
	replay := must.Get(again.ReplayJournal(img))
	first, second := reader(j.segments[0]), reader(j.segments[1])
	a, late := must.Get(first.Next()), reader(j.segments[0])
	require.ErrorIs(t, replay.Apply(a), world.ErrValue, "no segment")
	_ = must.Get(late.Next())
	for _, r := range []*world.JournalReader{second, reader(other.segments[0]), reader(other.segments[1]), late} {
		require.ErrorIs(t, replay.Follow(r), world.ErrValue)
	}
	require.NoError(t, replay.Follow(reader(j.segments[0])))
	require.NoError(t, replay.Apply(a))
	require.ErrorIs(t, replay.Apply(a), world.ErrValue, "twice")
	skipped := reader(j.segments[0])
	_, _ = skipped.Next()
	_, _ = skipped.Next()
	require.ErrorIs(t, replay.Apply(must.Get(skipped.Next())), world.ErrValue, "a frame is missing")
	require.ErrorIs(t, replay.Follow(second), world.ErrValue, "frames are missing")
	for again.Tick() < 20 {
		require.NoError(t, replay.Apply(must.Get(first.Next())))
	}
	require.ErrorIs(t, replay.Follow(reader(other.segments[1])), world.ErrValue)
	require.NoError(t, replay.Follow(second))
	for again.Tick() < 40 {
		require.NoError(t, replay.Apply(must.Get(second.Next())))
	}
	require.Equal(t, j.hashes[40], again.StateHash())
}

// The hashes of a window of slots find each difference within as many ticks as there are windows.
func TestJournalThatDiffers(t *testing.T) {
	build := func() *scene {
		s := newScene(t, 7, 20, 2, 1)
		for range 3000 {
			s.health.Set(spawn(t, s.World, kindGhost, world.Vec3{}), health{Current: 1})
		}
		return s
	}
	j := newJournaled(t, build(), world.JournalConfig{}, 1)
	j.begin(t)
	for range 110 {
		j.step(t)
	}
	const wrong = 42
	windows := uint64(j.Slots().Len()/64 + 1)
	require.GreaterOrEqual(t, windows, uint64(3))
	for _, c := range []struct {
		name   string
		system func(s *scene)
		part   string
		within uint64
	}{
		{"component of a ghost", func(s *scene) { s.health.Mut(s.Slots().Handle(2500)).Max++ }, "components", windows},
		{"removed component", func(s *scene) { s.health.Remove(s.Slots().Handle(1500)) }, "components", windows},
		{"component", func(s *scene) { s.health.Set(s.Slots().Handle(0), health{Current: 77}) }, "components", windows},
		{"body", func(s *scene) { s.Impulse(s.Slots().Handle(1), world.Vec3{Y: 1e-4}) }, "bodies", windows},
		{"life", func(s *scene) { s.Destroy(s.Slots().Handle(2000)) }, "clock and random generator", 1},
		{"spawn", func(s *scene) { _, _ = s.Spawn(kindGhost, world.Vec3{}, world.Vec3{}) }, "clock and random generator", 1},
		{"draw", func(s *scene) { s.Rand().Uint64() }, "clock and random generator", 1},
		{"effect", func(s *scene) { s.MoveEffect(s.blasts[1], world.Vec3{X: 99, Y: 50, Z: 99}) }, "effects", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			again := build()
			require.NoError(t, again.AddSystem(world.After, "wrong", func(w *world.World) {
				if w.Tick() == wrong {
					c.system(again)
				}
			}))
			img := read(t, again.World, j.segments[0].image)
			require.NoError(t, again.Restore(img))
			replay, r := must.Get(again.ReplayJournal(img)), must.Get(world.NewJournalReader(bytes.NewReader(j.segments[0].file)))
			require.NoError(t, replay.Follow(r))
			var err error
			for err == nil {
				err = replay.Apply(must.Get(r.Next()))
			}
			var d *world.DivergenceError
			require.ErrorAs(t, err, &d)
			require.GreaterOrEqual(t, d.Tick, uint64(wrong))
			require.Less(t, d.Tick, wrong+c.within)
			require.Contains(t, d.Parts, c.part)
			require.ErrorIs(t, replay.Apply(must.Get(r.Next())), world.ErrValue, "it has ended")
			require.ErrorIs(t, replay.Follow(r), world.ErrValue)
		})
	}
}

// A call between steps whose outcome differs ends the replay before the step.
func TestJournalCallThatDiffers(t *testing.T) {
	j := newJournaled(t, newScene(t, 7, 10, 0, 0), world.JournalConfig{}, 1)
	file := written(t, j.World)
	b := bytes.Clone(must.Get(j.journal.BeginSegment(nil)))
	for range 2 {
		j.Step()
		b = append(b, must.Get(j.journal.Commit(nil))...)
		spawn(t, j.World, kindGhost, world.Vec3{})
	}
	again := newSceneIn(t, world.Config{Seed: 7, MaxEntities: 10}, 0, 0, 0)
	img := read(t, again.World, file)
	require.NoError(t, again.Restore(img))
	replay, r := must.Get(again.ReplayJournal(img)), must.Get(world.NewJournalReader(bytes.NewReader(b)))
	require.NoError(t, replay.Follow(r))
	require.NoError(t, replay.Apply(must.Get(r.Next())))
	require.ErrorContains(t, replay.Apply(must.Get(r.Next())), "first after tick 2: in Spawn before it")
	require.EqualValues(t, 1, again.Tick())
}

func second[T any](_ T, err error) error { return err }

// A journal of a world that was set up differently is mapped by names, and reported.
func TestJournalOfAnotherSetup(t *testing.T) {
	j := journalOf(t, 5, 7)
	again := watched(t, 7, 9, 1, 1)
	addKind(t, again.World, world.Kind{Name: "stranger"})
	must.Get(world.Register[int64](again.World, "strange"))
	img := read(t, again.World, j.segments[0].image)
	require.NoError(t, again.Restore(img))
	replay := must.Get(again.ReplayJournal(img))
	for _, s := range j.segments {
		r := must.Get(world.NewJournalReader(bytes.NewReader(s.file)))
		require.NoError(t, replay.Follow(r))
		frame, err := r.Next()
		for ; err == nil; frame, err = r.Next() {
			require.NoError(t, replay.Apply(frame))
		}
		require.Equal(t, io.EOF, err)
	}
	require.Len(t, replay.Changes(), 2)
	require.Equal(t, `component "strange": new: no entity has it`, replay.Changes()[0].String())
	for slot := range j.Slots().Len() {
		require.Equal(t, j.Slots().Handle(slot), again.Slots().Handle(slot))
		at, _, _ := j.Slots().Body(slot)
		same, _, _ := again.Slots().Body(slot)
		require.Equal(t, at, same)
	}
}

func TestJournalEndsOnError(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*scene)
		want  string
	}{
		"kind": {func(s *scene) { addKind(t, s.World, world.Kind{Name: "new"}) }, "setup changed"},
		"component": {func(s *scene) {
			c := must.Get(world.Register[int](s.World, "new"))
			c.Set(s.Slots().Handle(0), 1)
		}, "setup changed"},
		"system": {func(s *scene) { _ = s.AddSystem(world.After, "new", func(*world.World) {}) }, "setup changed"},
		"restored": {func(s *scene) {
			var img world.Image
			s.TakeImage(&img)
			_ = s.Restore(&img)
		}, "restored"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, 7, 10, 1, 1)
			j := must.Get(s.StartJournal(world.JournalConfig{}))
			require.ErrorIs(t, must.Fail(s.StartJournal(world.JournalConfig{})), world.ErrValue, "one at a time")
			require.NoError(t, second(j.BeginSegment(nil)))
			s.Step()
			require.NoError(t, second(j.Commit(nil)))
			c.spoil(s)
			for range 3 {
				written(t, s.World)
				s.Step()
				require.ErrorContains(t, second(j.Commit(nil)), c.want)
			}
			require.ErrorContains(t, second(j.BeginSegment(nil)), c.want)
			next := must.Get(s.StartJournal(world.JournalConfig{}))
			j.Close()
			require.NoError(t, second(next.BeginSegment(nil)))
			s.Step()
			require.NoError(t, second(next.Commit(nil)))
			next.Close()
			steps(s.World, 2)
		})
	}
}

// J2: no step is without a frame, and no frame without a segment.
func TestJournalCallsInOrder(t *testing.T) {
	s := newScene(t, 7, 10, 1, 1)
	j := must.Get(s.StartJournal(world.JournalConfig{}))
	commit, begin := func() { _, _ = j.Commit(nil) }, func() { _, _ = j.BeginSegment(nil) }
	require.Panics(t, s.Step, "no segment")
	require.Panics(t, commit, "no segment and no step")
	begin()
	require.Panics(t, commit, "no step")
	s.Step()
	require.Panics(t, s.Step, "no commit")
	require.Panics(t, begin, "no commit")
	commit()
	require.Panics(t, commit, "twice")
	begin()
	begin()
	s.Step()
	commit()
}

// A recording and a journal of the same world do not disturb each other.
func TestJournalBesideRecording(t *testing.T) {
	alone, hashes := record(t, watched(t, 7, 30, 2, 1), 120, 7)
	s := watched(t, 7, 30, 2, 1)
	var first, file bytes.Buffer
	var img world.Image
	s.TakeImage(&img)
	_ = must.Get(img.WriteTo(&first))
	img.Extra = []byte("extra")
	j := must.Get(s.StartJournal(world.JournalConfig{}))
	segments := []segment{{0, first.Bytes(), bytes.Clone(must.Get(j.BeginSegment([]byte("base")))), nil}}
	rec := must.Get(s.Record(&file, &img, 7))
	play(t, s, 1, 120, func(tick, hash uint64) {
		require.Equal(t, hashes[tick], hash)
		frame := must.Get(j.Commit([]byte{byte(tick)}))
		segments[0].file = append(segments[0].file, frame...)
	})
	require.NoError(t, rec.Close())
	require.Equal(t, alone, file.Bytes())
	again := watched(t, 7, 0, 2, 1)
	recoverWorld(t, again.World, segments)
	require.Equal(t, s.StateHash(), again.StateHash())
}

func TestWarmJournalAllocatesNothing(t *testing.T) {
	alloctest.SkipAudited(t)
	s := newScene(t, 7, 50, 1, 1)
	j := must.Get(s.StartJournal(world.JournalConfig{}))
	var img world.Image
	s.TakeImage(&img)
	must.Get(j.BeginSegment(nil))
	must.Get(s.Record(io.Discard, &img, 1))
	notes := make([]byte, 100)
	step := func() {
		e := s.Slots().Handle(3)
		s.health.Set(e, health{Current: 5})
		s.health.Mut(e).Max = 9
		s.SetVelocity(e, world.Vec3{Y: 3})
		s.Step()
		if _, err := j.Commit(notes); err != nil {
			t.Error(err)
		}
	}
	alloctest.RequireNone(t, 900, 100, step)
}

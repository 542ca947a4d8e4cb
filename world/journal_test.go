package world_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/invariants"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/world"
)

// segment is a segment of a journal and the image with which it begins.
type segment struct {
	tick  uint64
	image []byte
	file  []byte
	ends  []int // of the head and of each frame
}

// journaled is a scene with a journal, changes from outside between its steps, and what a twin needs to continue
// from each tick as this scene did.
type journaled struct {
	*scene
	journal  *world.Journal
	outside  outsider
	segments []segment

	hashes map[uint64]uint64
	random map[uint64][]byte // state of the outsider, by tick
}

// outsider makes the changes between steps.
type outsider struct {
	pcg      *rand.PCG
	programs []*field.Program
}

func newOutsider(t testing.TB, seed uint64) outsider {
	return outsider{rand.NewPCG(seed, 9), []*field.Program{compile(t, gust), compile(t, blast)}}
}

func (o *outsider) change(s *scene) { outside(s, rand.New(o.pcg), o.programs) }

// changeSome makes the changes before a step.
func (o *outsider) changeSome(s *scene) {
	for r := rand.New(o.pcg); r.IntN(3) != 0; {
		o.change(s)
	}
}

func newJournaled(t testing.TB, s *scene, c world.JournalConfig, seed uint64) *journaled {
	return &journaled{
		scene: s, journal: must.Get(s.StartJournal(c)), outside: newOutsider(t, seed),
		hashes: map[uint64]uint64{}, random: map[uint64][]byte{},
	}
}

func (j *journaled) remember() {
	j.hashes[j.Tick()], j.random[j.Tick()] = j.StateHash(), must.Get(j.outside.pcg.MarshalBinary())
}

// begin takes an image and begins a segment, with changes before and between: the image holds the first.
func (j *journaled) begin(t testing.TB) {
	j.outside.change(j.scene)
	image := written(t, j.World)
	j.remember()
	j.outside.change(j.scene)
	head := must.Get(j.journal.BeginSegment([]byte("base")))
	j.segments = append(j.segments, segment{j.Tick(), image, bytes.Clone(head), []int{len(head)}})
}

// step makes changes, steps and appends the frame.
func (j *journaled) step(t testing.TB) {
	j.outside.changeSome(j.scene)
	j.Step()
	frame := must.Get(j.journal.Commit([]byte{byte(j.Tick())}))
	last := &j.segments[len(j.segments)-1]
	last.file = append(last.file, frame...)
	last.ends = append(last.ends, len(last.file))
	j.remember()
}

// crash returns the segments as they are after a crash that lost everything after a tick.
func (j *journaled) crash(tick uint64) []segment {
	segments := slices.DeleteFunc(slices.Clone(j.segments), func(s segment) bool { return s.tick > tick })
	last := &segments[len(segments)-1]
	last.file = last.file[:last.ends[tick-last.tick]]
	return segments
}

// recover restores the image of the first segment in a world and repeats all segments.
func recoverWorld(t testing.TB, w *world.World, segments []segment) *world.JournalReplay {
	img := read(t, w, segments[0].image)
	require.NoError(t, w.Restore(img))
	replay := must.Get(w.ReplayJournal(img))
	for _, s := range segments {
		r := must.Get(world.NewJournalReader(bytes.NewReader(s.file)))
		require.Equal(t, "base", string(r.Head().Notes))
		require.NoError(t, replay.Follow(r))
		for {
			frame, err := r.Next()
			if err != nil {
				require.Equal(t, io.EOF, err)
				break
			}
			require.NoError(t, replay.Apply(frame))
			require.Equal(t, []byte{byte(w.Tick())}, frame.Notes)
		}
		require.EqualValues(t, len(s.file), r.Offset())
	}
	require.Empty(t, replay.Changes())
	return replay
}

// After a crash in any tick, the recovered world has the state of the lost world, from any image before,
// and continues as the lost world would have.
func TestRecoverAfterCrash(t *testing.T) {
	racetest.SkipSequential(t)
	const ticks, after, interval = 240, 150, 60
	j := newJournaled(t, watched(t, 7, 30, 2, 1), world.JournalConfig{Run: 5}, 1)
	for tick := range ticks + after {
		if tick%interval == 0 {
			j.begin(t)
		}
		j.step(t)
	}
	for tick := range uint64(ticks) {
		segments := j.crash(tick)
		segments = segments[tick%uint64(len(segments)):]
		again, outside := watched(t, 7, 9, 2, 1), newOutsider(t, 0)
		recoverWorld(t, again.World, segments)
		require.Equal(t, tick, again.Tick())
		require.Equal(t, j.hashes[tick], again.StateHash(), "recovered after tick %d", tick)
		require.NoError(t, again.CheckInvariants())
		if (testing.Short() || invariants.Enabled) && tick%8 != 0 {
			continue
		}
		require.NoError(t, outside.pcg.UnmarshalBinary(j.random[tick]))
		for range after {
			if again.Tick()%interval == 0 {
				if again.Tick() != tick {
					outside.change(again)
					written(t, again.World)
				}
				outside.change(again)
			}
			outside.changeSome(again)
			again.Step()
			if again.Tick()%interval != 0 { // there, the lost world's hash is of its image
				require.Equal(t, j.hashes[again.Tick()], again.StateHash(), "tick %d, recovered after tick %d", again.Tick(), tick)
			}
		}
	}
}

// The first frame after an image holds only the values that were set after it, also if the journal starts after
// the image. So does the first step of a recording.
func TestFrameWithoutTheValuesOfItsImage(t *testing.T) {
	const entities = 2000
	build := func() (*world.World, *world.Component[health]) {
		w, crate, _, _ := newWorld(t, world.Config{MaxEntities: entities})
		points := register[health](t, w, "points")
		require.NoError(t, world.SetDefault(w, crate, points, health{Current: 5}))
		for range entities {
			spawn(t, w, crate, world.Vec3{})
		}
		return w, points
	}
	w, points := build()
	var img world.Image
	w.TakeImage(&img)
	j := must.Get(w.StartJournal(world.JournalConfig{Run: 1}))
	var recording bytes.Buffer
	recorder := must.Get(w.Record(&recording, &img, 0))
	imageBytes := recording.Len()
	first := segment{image: written(t, w), file: bytes.Clone(must.Get(j.BeginSegment([]byte("base"))))}
	points.Set(w.Slots().Handle(3), health{Current: 7})
	w.Step()
	frame := must.Get(j.Commit([]byte{1}))
	require.Less(t, len(frame), 200, "one value, not %d", entities)
	require.Less(t, recording.Len()-imageBytes, 200)
	first.file = append(first.file, frame...)

	for slot := range uint32(entities) {
		points.Set(w.Slots().Handle(slot), health{Current: 9})
	}
	image := written(t, w)
	second := segment{image: image, file: bytes.Clone(must.Get(j.BeginSegment([]byte("base"))))}
	points.Set(w.Slots().Handle(4), health{Current: 8})
	w.Step()
	frame = must.Get(j.Commit([]byte{2}))
	require.Less(t, len(frame), 200)
	second.file = append(second.file, frame...)

	for _, segments := range [][]segment{{first, second}, {second}} {
		again, points := build()
		recoverWorld(t, again, segments)
		require.Equal(t, w.StateHash(), again.StateHash())
		require.EqualValues(t, 9, points.Get(again.Slots().Handle(3)).Current)
		require.EqualValues(t, 8, points.Get(again.Slots().Handle(4)).Current)
		require.Equal(t, entities, points.Changed().Count())
	}
	require.NoError(t, recorder.Close())
	again, points := build()
	require.Equal(t, io.EOF, replayToEnd(must.Get(again.Replay(&recording))))
	require.Equal(t, w.StateHash(), again.StateHash())
	require.Equal(t, entities, points.Changed().Count())
}

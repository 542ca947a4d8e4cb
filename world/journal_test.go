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

package world_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/invariants"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
)

// crammed returns a scene whose image has data in every part: retired slots, doomed and new
// entities, displaced sleepers, lifetimes, following effects, volumes with members, and
// references.
func crammed(t testing.TB, mode world.Compaction) *scene {
	s := newSceneIn(t, world.Config{
		Seed: 7, Compaction: mode, FirstGeneration: bulk.MaxGeneration - 4, MaxEntities: 2000,
	}, 12, 2, 1)
	s.pull, s.zones = compile(t, blast), register[world.Volume](t, s.World, "volume")
	steps(s.World, 200)
	for choice := range 5 {
		zone(s, uint32(choice), choice)
	}
	at, _ := s.Position(s.Slots().Handle(0))
	s.SetPosition(s.Slots().Handle(5), at.Add(world.Vec3{X: 2}))
	s.Step()
	e := s.Slots().Handle(6)
	s.health.Set(e, health{Current: 3, Healer: s.Slots().Handle(7)})
	s.SetPosition(e, world.Vec3{X: 3})
	s.Sleep(e)
	s.Destroy(s.Slots().Handle(8))
	s.fountain(2)
	must.Get(s.Spawn(s.crate+1, world.Vec3{}, world.Vec3{})) // a ghost
	require.NotZero(t, s.Stats().Retired)
	require.NotEmpty(t, slices.Collect(s.Entered()))
	require.NoError(t, s.CheckInvariants())
	return s
}

// cuts returns the step between tested lengths of a file. It is 1 if there is time to test
// all lengths.
func cuts(file []byte) (step int) {
	if testing.Short() || invariants.Enabled {
		return max(len(file)/200, 1)
	}
	return 1
}

// flips is the number of bits to flip, one at a time.
func flips() int {
	if testing.Short() || invariants.Enabled {
		return 200
	}
	return 4000
}

func flipped(r *rand.Rand, file []byte) ([]byte, int) {
	bit := r.IntN(len(file) * 8)
	wrong := bytes.Clone(file)
	wrong[bit/8] ^= 1 << (bit % 8)
	return wrong, bit
}

// Any damage to an image gives a typed error and no image, and leaves the world unchanged.
func TestDamagedImage(t *testing.T) {
	for _, mode := range []world.Compaction{world.Exchange, world.InPlace} {
		s := crammed(t, mode)
		before := s.StateHash()
		file := written(t, s.World)
		refused := func(b []byte, what string, where int) {
			img, err := s.ReadImage(bytes.NewReader(b))
			require.True(t, isImageError(err), "%s %d of %d: %v", what, where, len(file), err)
			require.True(t, img == nil)
			require.Equal(t, before, s.StateHash())
		}
		for n := 0; n < len(file); n += cuts(file) {
			refused(file[:n], "cut at", n)
		}
		refused(append(bytes.Clone(file), 0), "more at", len(file))
		r := rand.New(rand.NewPCG(4, 4))
		for range flips() {
			wrong, bit := flipped(r, file)
			refused(wrong, "bit", bit)
		}
		require.NoError(t, s.CheckInvariants())
		require.NoError(t, s.Restore(read(t, s.World, file)))
		require.Equal(t, before, s.StateHash())
	}
}

// A damaged recording is replayed up to the last step before the damage; then Next returns
// a typed error. Damage before the first step leaves the world unchanged.
func TestDamagedRecording(t *testing.T) {
	const steps = 6
	again := crammed(t, world.Exchange)
	first := again.Tick()
	file, hashes := record(t, crammed(t, world.Exchange), steps, 2)
	refused := func(b []byte, what string, where int) (ticks uint64, err error) {
		before := again.StateHash()
		replay, err := again.Replay(bytes.NewReader(b))
		if err != nil {
			require.Equal(t, before, again.StateHash(), "%s %d", what, where)
		}
		for err == nil {
			if err = replay.Next(); err == nil {
				ticks = again.Tick() - first
				require.Equal(t, hashes[again.Tick()], again.StateHash(), "%s %d", what, where)
			}
		}
		require.True(t, isImageError(err) || errors.Is(err, world.ErrRecording), "%s %d of %d: %v", what, where, len(file), err)
		return ticks, err
	}
	most := uint64(0)
	for n := 0; n < len(file); n = max(n+1, min(n+cuts(file), len(file)-1)) {
		ticks, err := refused(file[:n], "cut at", n)
		require.GreaterOrEqual(t, ticks, most, "more bytes, more steps")
		most = ticks
		require.True(t, isImageError(err) || errors.Is(err, io.ErrUnexpectedEOF), "its server died: %v", err)
	}
	require.Equal(t, uint64(steps), most)
	r := rand.New(rand.NewPCG(8, 8))
	for range flips() / 2 {
		wrong, bit := flipped(r, file)
		refused(wrong, "bit", bit)
	}
	require.NoError(t, again.CheckInvariants())
	require.ErrorContains(t, must.Fail(again.Replay(bytes.NewReader(written(t, again.World)))), "not a recording")
}

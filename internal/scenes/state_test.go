package scenes

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/shorttest"
	"github.com/worldd/worldd/world"
)

// players makes players join, leave, steer and poke.
func players(t *testing.T, s *Scene, ticks int) {
	r := rand.New(rand.NewPCG(6, 6))
	var in []world.Entity
	for range ticks {
		switch r.IntN(20) {
		case 0:
			e := must.Get(s.Join())
			in = append(in, e)
		case 1:
			if len(in) > 3 {
				require.True(t, s.Leave(in[0]))
				in = in[1:]
			}
		case 2:
			_ = s.Poke(s.World.Slots().Handle(uint32(r.IntN(500))))
		}
		for _, e := range in {
			s.Steer(e, [2]float32{r.Float32() - 0.5, r.Float32()})
		}
		s.World.Step()
	}
}

func ticksOf() int { return shorttest.Pick(400, 40) }

// takeImage returns an image of the whole scene.
func takeImage(s *Scene) *world.Image {
	img := &world.Image{}
	s.World.TakeImage(img)
	img.Extra = s.Extra(nil)
	return img
}

// S1: a recording started in the middle, with players, active effects and sparks in
// flight, replays exactly.
func TestReplayOfTheStorm(t *testing.T) {
	s := build(t, "storm")
	players(t, s, ticksOf())
	var file bytes.Buffer
	before := takeImage(s)
	rec := must.Get(s.World.Record(&file, before, 5))
	players(t, s, ticksOf())
	require.NoError(t, rec.Close())
	again := build(t, "storm")
	replay := must.Get(again.World.Replay(&file))
	require.NoError(t, again.LoadExtra(replay.Image().Extra))
	err := replay.Next()
	for err == nil {
		err = replay.Next()
	}
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, s.World.StateHash(), again.World.StateHash())
	require.Equal(t, uint64(ticksOf()/5), replay.Checked())
}

// A new run continues from the image, without players, and under handles that the old
// run cannot have issued (S2, H5).
func TestRestoreRunOfTheStorm(t *testing.T) {
	s := build(t, "storm")
	players(t, s, ticksOf())
	require.NotEmpty(t, s.avatars)
	img := takeImage(s)
	var file bytes.Buffer
	must.Get(img.WriteTo(&file))

	again := build(t, "storm")
	loaded := must.Get(again.World.ReadImage(&file))
	require.NoError(t, again.RestoreRun(loaded))
	require.Equal(t, s.World.Tick(), again.World.Tick())
	require.Equal(t, s.World.Stats().Entities, again.World.Stats().Entities)
	requireIdentities(t, again)
	for slot := range s.World.Live().All() {
		require.Equal(t, bulk.Stale, again.World.Status(s.World.Slots().Handle(slot)))
	}
	require.Empty(t, again.avatars)
	again.World.Step()
	for e := range s.avatars {
		ghost := bulk.NewHandle(e.Index(), again.World.Config().FirstGeneration)
		require.Equal(t, bulk.Stale, again.World.Status(ghost), "nobody steers %v", ghost)
	}
	players(t, again, ticksOf())
	requireIdentities(t, again)
	require.NoError(t, again.World.CheckInvariants())
}

// Extra is the JSON of the state as it is, whatever has changed since the last one.
func TestExtraIsState(t *testing.T) {
	s := build(t, "storm")
	var joined []world.Entity
	for round := range 400 {
		switch {
		case round%40 < 3:
			joined = append(joined, must.Get(s.Join()))
		case round%40 == 20:
			s.Leave(joined[round%len(joined)])
		case round%40 == 30:
			s.NextFlash()
			s.extra.all = s.extra.all[:0] // Extra may say an older one
		case round%97 == 0:
			s.removeEffects(s.effects[0].ids)
		}
		s.World.Step()
		extra := s.Extra(nil)
		want := state{Name: s.File.Name, Avatars: []avatarState{}, Effects: s.effectStates(), Flashes: s.flashes, Keys: s.File.fingerprints()}
		for _, e := range slices.Sorted(maps.Keys(s.avatars)) {
			want.Avatars = append(want.Avatars, avatarState{e})
		}
		require.JSONEq(t, string(must.Get(json.Marshal(want))), string(extra), round)
	}
	require.NotEmpty(t, s.avatars)
	require.NoError(t, s.LoadExtra(s.Extra(nil)))
	require.Equal(t, uint32(10), s.flashes)
}

// A run whose world file was edited does not continue, and one whose file is the same does.
func TestEditedScene(t *testing.T) {
	s := build(t, "storm")
	players(t, s, ticksOf())
	extra := s.Extra(nil)
	again := build(t, "storm")
	require.False(t, again.Edited(extra))
	again.File.Limits.MaxPlayers++
	require.True(t, again.Edited(extra))
	again = build(t, "storm")
	again.effects = again.effects[1:]
	require.True(t, again.Edited(extra))
	require.True(t, build(t, "calm").Edited(extra))
	require.True(t, again.Edited(nil))
}

func TestImageOfAnotherScene(t *testing.T) {
	s, other := build(t, "storm"), build(t, "calm")
	img := takeImage(s)
	before := other.World.StateHash()
	require.ErrorIs(t, other.RestoreRun(img), world.ErrImageWorld)
	img.Extra = []byte("{")
	require.ErrorIs(t, s.RestoreRun(img), world.ErrImageWorld)
	s.World.TakeImage(img)
	img.Extra = []byte(`{"Name":"storm","Orbits":[],"Pulses":[]}`)
	require.ErrorIs(t, s.RestoreRun(img), world.ErrImageWorld)
	require.Equal(t, before, other.World.StateHash())
}

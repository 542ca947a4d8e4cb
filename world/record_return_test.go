package world_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/world"
)

// A replay returns to marks in any order, also from its end, and repeats the same states from there.
func TestReplayReturns(t *testing.T) {
	racetest.SkipSequential(t)
	file, hashes := record(t, watched(t, 7, 30, 2, 1), 300, 7)
	again := watched(t, 7, 0, 2, 1)
	replay := must.Get(again.Replay(bytes.NewReader(file)))
	type kept struct {
		mark world.ReplayMark
		img  *world.Image
	}
	var marks []kept
	for err := error(nil); err == nil; err = replay.Next() {
		if again.Tick()%70 == 0 {
			img := new(world.Image)
			again.TakeImage(img)
			marks = append(marks, kept{replay.Mark(), img})
		}
	}
	checked := replay.Checked()
	for _, i := range []int{4, 0, 2, 1, 3} {
		k := &marks[i]
		require.NoError(t, replay.Return(&k.mark, k.img, bytes.NewReader(file[k.mark.Offset:])))
		require.Equal(t, uint64(70*i), again.Tick())
		err := replay.Next()
		for ; err == nil; err = replay.Next() {
			require.Equal(t, hashes[again.Tick()], again.StateHash(), "tick %d", again.Tick())
		}
		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, checked, replay.Checked())
	}
	require.ErrorIs(t, replay.Return(&marks[1].mark, marks[2].img, nil), world.ErrValue)
}

package world_test

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
)

// Every format that a release has written is read for ever. The files in testdata were written by
// programs of the time: format1.image by v0.1.0.
func TestImagesOfAllFormats(t *testing.T) {
	type purse struct {
		Gold  int64
		Owner world.Entity
		Level uint8
		Rank  uint8
	}
	for format := range uint32(4) {
		format++
		t.Run(fmt.Sprint(format), func(t *testing.T) {
			file := must.Get(os.ReadFile(fmt.Sprintf("testdata/format%d.image", format)))
			info := must.Get(world.ReadImageInfo(bytes.NewReader(file)))
			require.Equal(t, []any{format, uint64(60), 21, 1, world.Program{}}, []any{info.Format, info.Tick, info.Entities, info.Effects, info.Program})

			w := must.Get(world.New(world.Config{}))
			addKind(t, w, world.Kind{Name: "ghost"})
			addKind(t, w, world.Kind{Name: "stone", Body: &world.BodyDef{Mass: 2, Radius: 0.5, Solid: true}})
			c := register[purse](t, w, "purse")
			zones := register[world.Volume](t, w, "volume")
			require.NoError(t, zones.Was("zone"))
			img := read(t, w, file)
			head := must.Get(world.ReadImageHead(bytes.NewReader(file[:min(len(file), 1<<20)])))
			require.Equal(t, []uint64{img.Tick(), img.Mark()}, []uint64{head.Tick(), head.Mark()})
			if format >= 4 { // older files are no run that could continue
				require.Equal(t, img.Setup(), head.Setup())
			}
			require.ErrorIs(t, must.Fail(world.ReadImageHead(bytes.NewReader(file[:100]))), world.ErrImage)
			require.Equal(t, "extra of the game", string(img.Extra))
			require.Len(t, img.Changes(), 5, "numbers of kinds, seed, a wider field, a new field, a new name: %v", img.Changes())
			require.NoError(t, w.RestoreRun(img))
			require.NoError(t, w.CheckInvariants())
			i := int64(0)
			for e, v := range c.All() {
				require.Equal(t, purse{i - 5, e, uint8(i), 0}, *v)
				i++
			}
			require.EqualValues(t, 20, i)
			steps(w, 1000)
			require.NoError(t, w.CheckInvariants())
			require.Equal(t, 5, w.Stats().Entities, "the others had lifetimes, and the ghost was doomed")
		})
	}
}

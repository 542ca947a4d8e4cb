package columns_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/columns"
	"github.com/worldd/worldd/internal/must"
)

func TestTableAgainstMap(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		var table columns.Table[uint64]
		parallel := must.Get(columns.NewGroup[uint64](2, columns.AoSoA))
		parallel.Grow(5000)
		model := map[bulk.Handle]uint64{}
		for n := range uint64(2000) {
			h := bulk.NewHandle(r.Uint32N(300), r.Uint32N(3))
			switch r.IntN(3) {
			case 0, 1:
				v := table.Add(h)
				taken := false
				for other := range model {
					taken = taken || other.Index() == h.Index()
				}
				require.Equal(t, h.Valid() && !taken, v != nil)
				if v != nil {
					require.Zero(t, *v)
					*v, model[h] = n, n
					row, _ := table.Row(h)
					*parallel.At(1, row) = n
				}
			case 2:
				_, lives := model[h]
				to, from, ok := table.Remove(h)
				require.Equal(t, lives, ok)
				if ok {
					parallel.Move(to, from)
				}
				delete(model, h)
			}
		}
		require.NoError(t, table.CheckInvariants())
		require.Equal(t, len(model), table.Len())
		for h, want := range model {
			require.Equal(t, want, *table.Get(h))
			row := must.Have(table.Row(h))
			require.Equal(t, want, *parallel.At(1, row))
			require.Equal(t, h, table.HandleOfRow(row))
			require.Nil(t, table.Get(h+1<<33), "another generation")
		}
		for h, v := range table.All() {
			require.Equal(t, model[h], *v)
			table.Remove(h)
		}
		require.Zero(t, table.Len())
		require.NoError(t, table.CheckInvariants())
		for range 1000 {
			h := bulk.Handle(r.Uint64())
			require.Nil(t, table.Get(h))
			_, _, ok := table.Remove(h)
			require.False(t, ok)
		}
	}
}

func TestLayouts(t *testing.T) {
	for _, layout := range []columns.Layout{columns.SoA, columns.AoSoA} {
		t.Run(layout.String(), func(t *testing.T) {
			const count, slots = 7, bulk.BlockLen + 100
			c := must.Get(columns.NewGroup[float32](count, layout))
			require.Nil(t, c.At(0, 0))
			c.Grow(slots)
			require.Equal(t, uint64(2*bulk.BlockLen), c.Slots())
			require.Equal(t, count, c.Len())
			seen := map[*float32]bool{}
			for column := range count {
				for slot := range uint32(2 * bulk.BlockLen) {
					e := c.At(column, slot)
					require.Zero(t, *e)
					if seen[e] {
						t.Fatal("two elements in one place")
					}
					seen[e] = true
					*e = float32(column)*1e5 + float32(slot)
				}
			}
			for column := range count {
				for g := range uint32(2 * bulk.BlockLen / columns.LanesLen) {
					lanes := c.Lanes(column, g)
					require.Equal(t, float32(column)*1e5+float32(g*16+15), lanes[15])
					require.Equal(t, float32(column)*1e5+float32(g*16), lanes[0])
				}
			}
			if layout == columns.SoA {
				require.Same(t, c.At(3, 64), &c.Word(3, 1)[0])
				require.Same(t, c.At(3, bulk.BlockLen), &c.Block(3, 1)[0])
				a, b := uintptr(unsafe.Pointer(c.At(0, 0))), uintptr(unsafe.Pointer(c.At(1, 0)))
				require.Equal(t, uintptr(192), (b-a)%4096, "staggered")
			} else {
				require.Nil(t, c.Word(3, 1))
				require.Nil(t, c.Block(3, 1))
			}
			for _, nothing := range []*float32{c.At(-1, 0), c.At(count, 0), c.At(0, 2*bulk.BlockLen), c.At(0, math.MaxUint32)} {
				require.Nil(t, nothing)
			}
			require.Nil(t, c.Lanes(0, math.MaxUint32))
			require.Nil(t, c.Word(0, math.MaxUint32))
			require.Nil(t, c.Block(0, math.MaxUint32))
			c.Move(3, 70)
			require.Equal(t, float32(70), *c.At(0, 3))
			require.Equal(t, float32(6e5+70), *c.At(6, 3))
			require.Zero(t, *c.At(6, 70))
			c.Clear(3)
			require.Zero(t, *c.At(0, 3))
			c.Clear(math.MaxUint32)
		})
	}
	for _, bad := range []func() error{
		func() error { _, err := columns.NewGroup[float32](0, columns.SoA); return err },
		func() error { _, err := columns.NewGroup[float32](-1, columns.SoA); return err },
		func() error { _, err := columns.NewGroup[float32](1, 7); return err },
		func() error { _, err := columns.NewGroup[[1 << 16]byte](1, columns.SoA); return err },
	} {
		require.ErrorIs(t, bad(), bulk.ErrOptions)
	}
	must.Get(columns.NewGroup[struct{}](3, columns.AoSoA))
}

func TestWarmTableDoesNotAllocate(t *testing.T) {
	var table columns.Table[[6]float32]
	handles := make([]bulk.Handle, 100)
	for i := range handles {
		handles[i] = bulk.NewHandle(uint32(2*i), 1)
		table.Add(handles[i])
	}
	require.Zero(t, testing.AllocsPerRun(10, func() {
		for _, h := range handles {
			table.Remove(h)
		}
		for _, h := range handles {
			table.Add(h)
		}
	}))
}

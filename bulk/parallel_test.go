package bulk_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
)

func TestTableAgainstMap(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		var table bulk.Table[uint64]
		parallel := must.Get(bulk.NewColumns[uint64](2, bulk.AoSoA))
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
			row, ok := table.Row(h)
			require.True(t, ok)
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

func TestColumnsLayouts(t *testing.T) {
	for _, layout := range []bulk.Layout{bulk.SoA, bulk.AoSoA} {
		t.Run(layout.String(), func(t *testing.T) {
			const columns, slots = 7, bulk.BlockLen + 100
			c := must.Get(bulk.NewColumns[float32](columns, layout))
			require.Nil(t, c.At(0, 0))
			c.Grow(slots)
			require.Equal(t, uint64(2*bulk.BlockLen), c.Slots())
			require.Equal(t, columns, c.Len())
			seen := map[*float32]bool{}
			for column := range columns {
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
			for column := range columns {
				for g := range uint32(2 * bulk.BlockLen / bulk.LanesLen) {
					lanes := c.Lanes(column, g)
					require.Equal(t, float32(column)*1e5+float32(g*16+15), lanes[15])
					require.Equal(t, float32(column)*1e5+float32(g*16), lanes[0])
				}
			}
			if layout == bulk.SoA {
				require.Same(t, c.At(3, 64), &c.Word(3, 1)[0])
				require.Same(t, c.At(3, bulk.BlockLen), &c.Block(3, 1)[0])
				a, b := uintptr(unsafe.Pointer(c.At(0, 0))), uintptr(unsafe.Pointer(c.At(1, 0)))
				require.Equal(t, uintptr(192), (b-a)%4096, "staggered")
			} else {
				require.Nil(t, c.Word(3, 1))
				require.Nil(t, c.Block(3, 1))
			}
			for _, nothing := range []*float32{c.At(-1, 0), c.At(columns, 0), c.At(0, 2*bulk.BlockLen), c.At(0, math.MaxUint32)} {
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
		func() error { _, err := bulk.NewColumns[float32](0, bulk.SoA); return err },
		func() error { _, err := bulk.NewColumns[float32](-1, bulk.SoA); return err },
		func() error { _, err := bulk.NewColumns[float32](1, 7); return err },
		func() error { _, err := bulk.NewColumns[[1 << 16]byte](1, bulk.SoA); return err },
	} {
		require.ErrorIs(t, bad(), bulk.ErrOptions)
	}
	_, err := bulk.NewColumns[struct{}](3, bulk.AoSoA)
	require.NoError(t, err)
}

// lanes is the scratch buffer of the tests: two columns.
type lanes struct{ x, v [bulk.BlockLen]float32 }

func TestScratch(t *testing.T) {
	for _, holesPercent := range []int{0, 50, 99} {
		for _, dense := range []bool{false, true} {
			t.Run(fmt.Sprint(holesPercent, dense), func(t *testing.T) {
				p, live := filled(t, 10_000, holesPercent, bulk.Options{})
				for i, h := range live {
					p.Get(h).px = float32(i)
				}
				var s lanes
				copied, blocks := 0, 0
				rows := func(w bulk.Word[body]) (rows []uint32) {
					if dense {
						w.Live = math.MaxUint64
					}
					return slices.Collect(bulk.Bits(0, w.Live))
				}
				bulk.Scratch(p, &s, func(s *lanes, row int, w bulk.Word[body]) int {
					for n, i := range rows(w) {
						s.x[row+n], s.v[row+n] = w.Slots[i].px, w.Slots[i].vx
					}
					return len(rows(w))
				}, func(s *lanes, rows int) {
					for i := range rows {
						s.x[i] += s.v[i]
					}
					copied += rows
					blocks++
				}, func(s *lanes, row int, w bulk.Word[body]) int {
					for n, i := range rows(w) {
						w.Slots[i].px = s.x[row+n]
					}
					return len(rows(w))
				})
				require.Equal(t, 3, blocks)
				require.True(t, dense || copied == len(live))
				for i, h := range live {
					require.Equal(t, float32(i)+1, p.Get(h).px)
				}
				require.NoError(t, p.CheckInvariants())
			})
		}
	}
}

func TestStats(t *testing.T) {
	p := newPool[uint64](t, bulk.Options{FirstGeneration: bulk.MaxGeneration})
	require.Zero(t, p.Stats().Fragmentation())
	require.NoError(t, p.AddN(128, func(bulk.Handle, *uint64) {}))
	require.Zero(t, p.Stats().Fragmentation())
	for i := range uint32(32) {
		require.True(t, p.Remove(bulk.NewHandle(i, bulk.MaxGeneration)))
	}
	s := p.Stats()
	require.Equal(t, 96, s.Live)
	require.Equal(t, 0, s.Holes)
	require.Equal(t, 32, s.Retired)
	require.Equal(t, 2, s.LiveWords)
	require.InDelta(t, 0.25, s.Fragmentation(), 1e-9)
	require.Contains(t, s.String(), "96 live, 0 holes, 32 retired, 128 slots, ")
	require.Contains(t, s.String(), "25 % fragmented")
	require.Greater(t, s.Bytes, uint64(bulk.BlockLen*12))

	if canReserve() {
		p := newPool[uint64](t, bulk.Options{Memory: bulk.Reserved, MaxSlots: 1 << 20})
		require.NoError(t, p.AddN(100, func(bulk.Handle, *uint64) {}))
		require.Equal(t, uint64(12<<20), p.Stats().AddressBytes)
		require.Less(t, p.Stats().Bytes, uint64(10_000))
		require.NoError(t, p.Close())
	}
}

func TestWarmTablesAndSetsDoNotAllocate(t *testing.T) {
	p, live := filled(t, 10_000, 50, bulk.Options{})
	var table bulk.Table[body]
	for _, h := range live {
		table.Add(h)
	}
	var a, b, into bulk.Bitset
	a.CopyFrom(p.Live())
	b.Set(9999)
	into.CopyFrom(a.View())
	s, sum := new(lanes), uint32(0)
	for name, f := range map[string]func(){
		"Table": func() {
			for _, h := range live[:100] {
				table.Remove(h)
			}
			for _, h := range live[:100] {
				table.Add(h)
			}
		},
		"algebra": func() {
			into.SetAnd(a.View(), b.View())
			into.SetOr(a.View(), b.View())
			into.SetAndNot(a.View(), b.View())
		},
		"members": func() {
			for w, word := range bulk.And(a.View(), b.View()) {
				for i := range bulk.Bits(w<<6, word) {
					sum += i
				}
			}
			for w, word := range bulk.Or(a.View(), b.View()) {
				for i := range bulk.Bits(w<<6, word) {
					sum += i
				}
			}
			for w, word := range bulk.AndNot(a.View(), b.View()) {
				for i := range bulk.Bits(w<<6, word) {
					sum += i
				}
			}
		},
		"Scratch": func() {
			bulk.Scratch(p, s,
				func(s *lanes, row int, w bulk.Word[body]) int { s.x[row] = w.Slots[0].px; return 64 },
				func(s *lanes, rows int) { s.x[0] = 1 },
				func(s *lanes, row int, w bulk.Word[body]) int { w.Slots[0].px = s.x[row]; return 64 })
		},
	} {
		require.Zero(t, testing.AllocsPerRun(10, f), name)
	}
	require.NotZero(t, sum)
}

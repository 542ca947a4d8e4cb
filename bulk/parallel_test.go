package bulk_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
)

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
	require.Zero(t, p.Stats().Fragmentation)
	require.NoError(t, p.AddN(128, func(bulk.Handle, *uint64) {}))
	require.Zero(t, p.Stats().Fragmentation)
	for i := range uint32(32) {
		require.True(t, p.Remove(bulk.NewHandle(i, bulk.MaxGeneration)))
	}
	s := p.Stats()
	require.Equal(t, 96, s.Live)
	require.Equal(t, 0, s.Holes)
	require.Equal(t, 32, s.Retired)
	require.Equal(t, 2, s.LiveWords)
	require.InDelta(t, 0.25, s.Fragmentation, 1e-9)
	require.Equal(t, []int{96, 0, 32, 128}, []int{s.Live, s.Holes, s.Retired, s.Slots})
	require.Greater(t, s.Bytes, uint64(bulk.BlockLen*12))

	if canReserve() {
		p := newPool[uint64](t, bulk.Options{Memory: bulk.Reserved, MaxSlots: 1 << 20})
		require.NoError(t, p.AddN(100, func(bulk.Handle, *uint64) {}))
		require.Equal(t, uint64(12<<20), p.Stats().AddressBytes)
		require.Less(t, p.Stats().Bytes, uint64(10_000))
		require.NoError(t, p.Close())
	}
}

func TestWarmSetsDoNotAllocate(t *testing.T) {
	p, _ := filled(t, 10_000, 50, bulk.Options{})
	var a, b, into bulk.Bitset
	a.CopyFrom(p.Live())
	b.Set(9999)
	into.CopyFrom(a.View())
	s, sum := new(lanes), uint32(0)
	for name, f := range map[string]func(){
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

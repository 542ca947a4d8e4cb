package replication

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
)

// TestMembersModel compares members with a map, while batches of near and distant slots
// are inserted and removed.
func TestMembersModel(t *testing.T) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 1))
		var m members
		model := map[uint32]uint32{}
		spread := uint32(100) << r.UintN(14)
		for rowIndex := range uint32(60) {
			come := map[uint32]uint32{}
			for i := range r.UintN(80) {
				if slot := r.Uint32N(spread); model[slot] == 0 {
					come[slot] = rowIndex<<8 + uint32(i) + 1
				}
			}
			var list []newcomer
			for _, slot := range slices.Sorted(maps.Keys(come)) {
				list = append(list, newcomer{slot, come[slot]})
				model[slot] = come[slot]
			}
			m.insertNewcomers(list)
			requireMembers(t, &m, model, spread)
			for slot := range model {
				if r.UintN(3) == 0 {
					*m.rowRef(slot) = noRow
					m.freed++
					_, ok := m.findRow(slot)
					require.False(t, ok, "a freed row is not found")
					delete(model, slot)
				}
			}
			active := map[uint32]bool{}
			for slot := range model {
				active[slot] = r.UintN(2) == 0
				if active[slot] {
					m.activateRow(slot)
				}
			}
			m.removeFreed()
			requireMembers(t, &m, model, spread)
			requireActive(t, &m, active)
		}
	}
}

// requireActive checks which members are active, and makes all dormant.
func requireActive(t *testing.T, m *members, active map[uint32]bool) {
	for slot, want := range active {
		w := &m.words[m.searchWord(slot>>6)]
		require.Equal(t, want, w.active>>(slot&63)&1 != 0, "slot %d", slot)
		w.active &^= 1 << (slot & 63)
	}
}

func requireMembers(t *testing.T, m *members, model map[uint32]uint32, spread uint32) {
	require.Len(t, m.indexes, len(model))
	for i := range m.words {
		require.NotZero(t, m.words[i].mask, "an empty word is kept")
		require.Zero(t, m.words[i].active&^m.words[i].mask, "an active bit without a member")
	}
	for slot, rowIndex := range model {
		got, ok := m.findRow(slot)
		if !ok || got != rowIndex {
			require.Fail(t, "not found", "%d: at %d, want %d", slot, got, rowIndex)
		}
	}
	for slot := range min(spread, 500) {
		_, ok := m.findRow(slot)
		if ok != (model[slot] != 0) {
			require.Fail(t, "found", "%d: %v", slot, ok)
		}
	}
}

func TestSlotSetModel(t *testing.T) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 2))
		var s slotSet
		model := map[uint32]bool{}
		spread := uint32(200) << r.UintN(12)
		for range 1000 {
			slot := r.Uint32N(spread)
			if r.UintN(2) == 0 {
				s.set(slot)
				model[slot] = true
			} else {
				s.clear(slot)
				delete(model, slot)
			}
			if s.has(slot) != model[slot] || s.size != len(model) {
				require.Fail(t, "differs", "%d: %v, %d members of %d", slot, s.has(slot), s.size, len(model))
			}
		}
		var got []uint32
		for word, mask := range s.words() {
			got = slices.AppendSeq(got, bulk.Bits(word<<6, mask))
		}
		require.Equal(t, slices.Sorted(maps.Keys(model)), got)
		require.False(t, s.has(1<<30), "beyond what was ever set")
	}
}

func TestChangeLogSince(t *testing.T) {
	var c changeLog
	var history []uint32
	for n := range uint32(100) {
		c.openSet().Set(n)
		c.closeSet()
		history = append(history, n)
		for back := range uint32(keptCaptures + 2) {
			if back > n+1 {
				break
			}
			set := c.changedSince(uint64(n + 1 - back))
			if back >= keptCaptures {
				require.Nil(t, set, "forgotten: everything may have changed")
				continue
			}
			require.Equal(t, history[len(history)-int(back):], append([]uint32{}, slices.Collect(set.All())...), "%d back of %d", back, n)
		}
	}
}

func TestLowestKeys(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for range 300 {
		keys := make([]uint64, r.UintN(200))
		for i := range keys {
			keys[i] = r.Uint64N(100)
		}
		n := int(r.UintN(220)) + 1
		want := slices.Sorted(slices.Values(keys))
		want = append([]uint64{}, want[:min(n, len(want))]...)
		require.Equal(t, want, lowestKeys(keys, n))
	}
}

// TestDestroyIsSentOnce: a client gets one Destroy for each dead entity, however often
// the handle is sent again.
func TestDestroyIsSentOnce(t *testing.T) {
	const dead = 12_293
	rep, w, all := newRocks(t, dead, Config{})
	for _, h := range all {
		w.Destroy(h)
	}
	w.Step()
	rep.AfterStep()
	v := rep.AddViewer(0)
	for _, h := range all {
		v.NoteSent(h)
		v.NoteSent(h)
	}
	require.Equal(t, uint32(dead), v.outbox.structure.written, "one Destroy for each")
}

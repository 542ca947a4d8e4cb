package world

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

// Each change of the state changes the hash of its part, and of no other part.
func TestWindowHashesSeeState(t *testing.T) {
	for version := uint32(1); version <= journalVersion; version++ {
		t.Run(fmt.Sprint("version ", version), func(t *testing.T) { checkWindowHashes(t, version) })
	}
}

// The windows of a world of any size cover it in about windowTicks, if they are not too large.
func TestWindowsCoverWorld(t *testing.T) {
	for _, slots := range []uint32{0, 1, 63, 64, 65, 1000, 10_000, 65_535, 65_536, 100_000, 1_000_000} {
		size := windowSize(journalVersion, slots)
		require.LessOrEqual(t, size, uint32(windowSlots))
		windows := uint64(max((slots+size-1)/size, 1))
		require.LessOrEqual(t, windows, uint64(max(windowTicks+1, slots/windowSlots+1)), slots)
		next := uint32(0)
		for tick := range windows {
			require.Equal(t, next, windowOf(tick, slots, size))
			next += size
		}
		require.GreaterOrEqual(t, next, slots)
	}
}

func checkWindowHashes(t *testing.T, version uint32) {
	base := func() (*World, uint32) {
		w := fuzzWorld(t, true)
		w.Step()
		known := must.Have(w.volumes.known.Next(0))
		return w, known
	}
	same, _ := base()
	before := same.windowHashes(version)
	for name, c := range map[string]struct {
		change func(w *World, slot uint32)
		part   string
	}{
		"draw":       {func(w *World, _ uint32) { w.Rand().Uint64() }, partClock},
		"generation": {func(w *World, slot uint32) { w.generations[slot] += 2 }, partEntities},
		"kind":       {func(w *World, slot uint32) { w.pool.At(slot).kind++ }, partEntities},
		"lifetime":   {func(w *World, slot uint32) { w.pool.At(slot).expires++ }, partEntities},
		"doomed":     {func(w *World, slot uint32) { w.doomed.Set(slot) }, partEntities},
		"rest":       {func(w *World, _ uint32) { w.bodies.Rest[0]++ }, partBodies},
		"position":   {func(w *World, _ uint32) { w.bodies.Pos.Z[0]++ }, partBodies},
		"velocity":   {func(w *World, _ uint32) { w.bodies.Vel.X[0]++ }, partBodies},
		"value": {func(w *World, _ uint32) {
			c := w.components[0].(*Component[fuzzed])
			slot, _ := c.presence.Next(0)
			c.values.At(slot).Number++
		}, partComponents},
		"volume": {func(w *World, slot uint32) { w.components[1].present().Clear(slot) }, partComponents},
		"member": {func(w *World, slot uint32) {
			members := &w.volumes.triggers[slot].members
			first, _ := members.Next(0)
			members.Set(first ^ 1)
			members.Clear(first)
		}, partEffects},
		"effect": {func(w *World, _ uint32) { w.effects.pool.At(0).Center.X++ }, partEffects},
	} {
		t.Run(name, func(t *testing.T) {
			w, slot := base()
			require.Equal(t, before, w.windowHashes(version))
			c.change(w, slot)
			for i, h := range w.windowHashes(version) {
				require.Equal(t, windowParts[i] == c.part, h != before[i], windowParts[i])
			}
		})
	}
}

package world

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

// AppendDisturbed agrees with Disturbed, in steps, between steps, and after Restore.
func TestAppendDisturbedFindsAll(t *testing.T) {
	w := must.Get(New(Config{MaxEntities: 1 << 14}))
	ball := must.Get(w.AddKind(Kind{Name: "ball", Body: &BodyDef{Radius: 0.5}}))
	r := rand.New(rand.NewPCG(1, 1))
	check := func() {
		t.Helper()
		want := []uint32{}
		for slot := range w.Slots().Len() {
			if w.Slots().Disturbed(slot) >= w.Tick() {
				want = append(want, slot)
			}
		}
		require.Equal(t, want, slices.Clip(w.Slots().AppendDisturbed([]uint32{})))
	}
	disturb := func() {
		for range r.IntN(3) {
			w.Wake(w.Slots().Handle(uint32(r.IntN(9000))))
		}
	}
	require.NoError(t, w.AddSystem(After, "disturb", func(*World) { disturb() }))
	for range 9000 {
		must.Get(w.SpawnFor(ball, Vec3{Y: 0.5}, Vec3{}, 0))
	}
	check()
	var img Image
	for tick := range 300 {
		w.Step()
		check()
		disturb()
		check()
		if tick == 150 {
			w.TakeImage(&img)
		}
	}
	require.NoError(t, w.Restore(&img))
	check()
	w.Step()
	check()
}

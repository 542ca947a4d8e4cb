package world_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
)

// Each way to copy a default value writes that value and leaves its neighbours alone, for
// immediate and deferred spawns.
func TestDefaultsOfAllSizes(t *testing.T) {
	testDefault(t, struct{}{})
	testDefault(t, [1]byte{1})
	testDefault(t, [2]byte{1, 2})
	testDefault(t, [3]byte{1, 2, 3})
	testDefault(t, [4]byte{1, 2, 3, 4})
	testDefault(t, [7]byte{1, 2, 3, 4, 5, 6, 7})
	testDefault(t, [8]byte{1, 2, 3, 4, 5, 6, 7, 8})
	testDefault(t, [9]byte{0: 1, 8: 9})
	testDefault(t, [16]byte{0: 1, 8: 9, 15: 16})
	testDefault(t, [17]byte{0: 1, 8: 9, 16: 17})
	testDefault(t, [100]byte{0: 1, 50: 9, 99: 17})
}

func testDefault[T comparable](t *testing.T, v T) {
	t.Helper()
	w := must.Get(world.New(world.Config{MaxEntities: 400}))
	value := register[T](t, w, "value")
	with, without := addKind(t, w, world.Kind{Name: "with"}), addKind(t, w, world.Kind{Name: "without"})
	require.NoError(t, world.SetDefault(w, with, value, v))
	var want []world.Entity
	for i := range 300 {
		kind := with
		if i%3 == 0 {
			kind = without
		}
		var e world.Entity
		if i < 150 {
			e = must.Get(w.Spawn(kind, world.Vec3{}, world.Vec3{}))
		} else {
			e = must.Get(w.DeferSpawn(kind, world.Vec3{}, world.Vec3{}, 0))
		}
		if i%3 != 0 {
			want = append(want, e)
		}
	}
	w.ApplyDeferred()
	n := 0
	for e, got := range value.All() {
		require.Equal(t, want[n], e)
		require.Equal(t, v, *got)
		n++
	}
	require.Len(t, want, n)
}

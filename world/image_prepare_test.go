package world_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/world"
)

// balls returns 3,000 balls on the ground, most of them asleep.
func balls(t *testing.T, mode world.Compaction) (w *world.World, ball world.KindID) {
	w = must.Get(world.New(world.Config{MaxEntities: 4000, HalfExtent: world.Vec3{X: 64, Y: 64, Z: 64}, Compaction: mode, Seed: 5}))
	ball = addKind(t, w, world.Kind{Name: "ball", Body: &world.BodyDef{Radius: 0.5, Solid: true}})
	for range 3000 {
		spawn(t, w, ball, world.Vec3{X: spread(w.Rand(), 60), Y: 0.5, Z: spread(w.Rand(), 60)})
	}
	steps(w, 2)
	for slot := range w.Slots().Len() {
		w.Sleep(w.Slots().Handle(slot))
	}
	steps(w, 1)
	return w, ball
}

// disturb makes one change that affects rows.
func disturb(w *world.World, ball world.KindID, r *rand.Rand) {
	e := w.Slots().Handle(uint32(r.IntN(3000)))
	if r.IntN(2) == 0 {
		e = w.Slots().Handle(uint32(r.IntN(20))) // the same bodies repeatedly: they wake, move and sleep
	}
	at := world.Vec3{X: spread(r, 60), Y: 0.5, Z: spread(r, 60)}
	switch r.IntN(8) {
	case 0:
		w.Destroy(e)
	case 1:
		_, _ = w.Spawn(ball, at, world.Vec3{X: 1})
	case 2:
		w.SetPosition(e, at)
		w.Sleep(e) // asleep, although it has moved
	case 3:
		w.SetVelocity(e, world.Vec3{X: 4})
	case 4:
		w.Wake(e)
	case 5:
		w.Sleep(e)
	case 6: // words of rows, some of which soon have no awake row
		for slot := range uint32(r.IntN(500)) {
			w.SetVelocity(w.Slots().Handle(slot), world.Vec3{X: 2})
		}
	case 7:
		for slot := range w.Slots().Len() {
			w.Sleep(w.Slots().Handle(slot))
		}
	}
}

// Rows that were copied ahead are copied again after any possible change of sleeping rows.
func TestPreparedRowsAreTheSame(t *testing.T) {
	racetest.SkipSequential(t)
	for _, mode := range []world.Compaction{world.Exchange, world.Stable, world.InPlace} {
		w, ball := balls(t, mode)
		r := rand.New(rand.NewPCG(3, uint64(mode)))
		var img, whole world.Image
		for round := range 60 {
			require.True(t, w.PrepareImage(&img))
			if r.IntN(4) == 0 {
				require.True(t, w.PrepareImage(&whole)) // preparing another image voids the first
			}
			for range 1 + r.IntN(3) {
				for range r.IntN(4) {
					disturb(w, ball, r)
				}
				if r.IntN(8) != 0 {
					w.Step()
				}
			}
			w.TakeImage(&img)
			w.TakeImage(&whole)
			var a, b bytes.Buffer
			must.Get(img.WriteTo(&a))
			must.Get(whole.WriteTo(&b))
			require.True(t, bytes.Equal(a.Bytes(), b.Bytes()), "%v, round %d", mode, round)
		}
	}
}

// A Restore voids the rows and values that were copied ahead.
func TestPrepareImageAndRestore(t *testing.T) {
	w, crate, _, _ := newWorld(t, world.Config{})
	points := register[int32](t, w, "points")
	e := spawn(t, w, crate, world.Vec3{X: 1, Y: 0.5})
	points.Set(e, 1)
	w.Sleep(e)
	w.Step()
	var old, img world.Image
	w.TakeImage(&old)
	w.SetPosition(e, world.Vec3{X: 2, Y: 0.5})
	w.Sleep(e)
	points.Set(e, 2)
	w.Step()
	w.Step()
	for !w.PrepareImage(&img) {
		w.Step()
	}
	require.NoError(t, w.Restore(&old))
	hash := w.StateHash()
	w.TakeImage(&img)
	require.NoError(t, w.Restore(&img))
	require.Equal(t, hash, w.StateHash())
}

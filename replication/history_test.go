package replication

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/world"
)

// TestHistoryAgainstList compares a history of a one-value row with the list of all
// states, including idle times after which the past states are dropped.
func TestHistoryAgainstList(t *testing.T) {
	rowSchema := schema.New()
	schema.Define[struct{ Value uint32 }](rowSchema, "value")
	require.NoError(t, rowSchema.Err())
	type state struct{ tick, value uint32 }
	rapid.Check(t, func(t *rapid.T) {
		f := &frame{idleTicks: minIdleTicks, schema: rowSchema, scratch: rowschema.Row{Values: make([]uint32, 1)}}
		f.summaries, f.tenants = make([]slotSummary, 1), make([]tenant, 1)
		p, h := &f.summaries[0], &f.tenants[0].history
		p.handle = bulk.NewHandle(0, 1)
		var all []state
		for range rapid.IntRange(1, 400).Draw(t, "steps") {
			f.tick += uint32(rapid.IntRange(1, 3).Draw(t, "ticks"))
			if rapid.IntRange(0, 99).Draw(t, "rest") == 0 {
				f.tick += minIdleTicks - 2
			}
			f.reclaimIdle()
			if len(all) > 0 && f.tick-all[len(all)-1].tick > minIdleTicks {
				all = all[len(all)-1:]
				require.Nil(t, h.ring, "an idle row keeps its ring")
			}
			f.scratch.Values[0] = rapid.Uint32Range(0, 3).Draw(t, "value")
			f.pushState(p, h)
			if n := len(all); n == 0 || all[n-1].value != f.scratch.Values[0] {
				all = append(all, state{f.tick, f.scratch.Values[0]})
				all = all[max(0, len(all)-historyDepth):]
			}
			require.Equal(t, all[0].tick, p.oldest)
			require.Equal(t, all[len(all)-1].tick, p.version)
			for i, s := range all {
				require.Equal(t, []uint32{s.value}, h.rowAt(s.tick))
				if i+1 < len(all) {
					require.Equal(t, []uint32{s.value}, h.rowAt(all[i+1].tick-1))
				}
			}
		}
	})
}

// TestRingsAreReused: idle rows return their rings, owner rows included, and rows that
// change later reuse them.
func TestRingsAreReused(t *testing.T) {
	type purse struct {
		Coins int32 `net:"bits=20,owner"`
	}
	w := must.Get(world.New(world.Config{Seed: 1}))
	purses := must.Get(world.Register[purse](w, "purse"))
	kind := must.Get(w.AddKind(world.Kind{Name: "crate", Body: &world.BodyDef{Radius: 0.5, Kinematic: true}}))
	s := schema.New()
	schema.Define[schema.Body](s, schema.BodyComponent)
	schema.Define[purse](s, "purse")
	require.NoError(t, s.Err())
	r := must.Get(New(w, s, Config{SnapshotHz: w.TickHz()}))
	var all []bulk.Handle
	for i := range 1000 {
		h := must.Get(w.Spawn(kind, world.Vec3{X: float32(i % 30), Z: float32(i / 30)}, world.Vec3{}))
		purses.Set(h, purse{})
		all = append(all, h)
	}
	frame := func() {
		w.Step()
		r.AfterStep()
		r.Capture()
	}
	pasts := func() (n int) {
		for i := range r.frame.tenants {
			if t := &r.frame.tenants[i]; t.ring != nil {
				n++
			}
			if t := &r.frame.tenants[i]; t.ownerRow != nil && t.ownerRow.history.ring != nil {
				n++
			}
		}
		return n
	}
	move := func(x float32) {
		for i, h := range all {
			w.SetPosition(h, world.Vec3{X: x, Z: float32(i) / 100})
			purses.Set(h, purse{int32(x)})
		}
	}
	frame()
	require.Zero(t, pasts(), "no row has changed")
	move(5)
	frame()
	require.Equal(t, 2000, pasts())
	rest := minIdleTicks + (len(all)+reclaimSlots-1)/reclaimSlots + 1
	for range rest {
		frame()
	}
	require.Zero(t, pasts())
	require.Len(t, r.frame.rings.spare, 2000)
	move(6)
	frame()
	require.Equal(t, 2000, pasts())
	require.Empty(t, r.frame.rings.spare)
	for _, h := range all {
		purses.Remove(h)
	}
	frame()
	require.Len(t, r.frame.rings.spare, 2000, "a row with another set of components starts over")
	for _, h := range all {
		w.Destroy(h)
	}
	frame()
	require.Zero(t, pasts())
	require.Len(t, r.frame.rings.spare, 2000)
}

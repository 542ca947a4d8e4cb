package replication

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/alloctest"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// loot is visible to its owner only.
type loot struct {
	Coins int32 `net:"bits=16,owner"`
}

// ownedWorld is a viewer and a world of distant entities: the viewer sees only entities that it
// owns.
type ownedWorld struct {
	world  *world.World
	rep    *Replicator
	viewer *Viewer
	loot   *world.Component[loot]
	kind   world.KindID
}

func newOwnedWorld(t testing.TB, most int) *ownedWorld {
	racetest.SkipUnchecked(t) // without workers, this package starts no goroutines
	w := must.Get(world.New(world.Config{Seed: 1, Gravity: -1, MaxEntities: most}))
	h := &ownedWorld{world: w}
	h.loot = must.Get(world.Register[loot](w, "loot"))
	h.kind = must.Get(w.AddKind(world.Kind{Name: "chest", Body: &world.BodyDef{Mass: 1, Radius: 0.5, Kinematic: true}}))
	s := schema.New()
	schema.Define[loot](s, "loot")
	require.NoError(t, s.Err())
	h.rep = must.Get(New(w, s, Config{SnapshotHz: 60, EnterRadius: 10, BudgetBytesPerSecond: 100_000_000}))
	h.viewer = h.rep.AddViewer(0)
	return h
}

func (h *ownedWorld) spawn() bulk.Handle {
	e := must.Get(h.world.Spawn(h.kind, world.Vec3{X: 300}, world.Vec3{}))
	h.loot.Set(e, loot{})
	return e
}

// step makes a snapshot and acknowledges it.
func (h *ownedWorld) step(t testing.TB) {
	h.world.Step()
	h.rep.AfterStep()
	h.rep.Capture()
	h.viewer.Snapshot()
	v := h.viewer
	require.NoError(t, v.Acknowledge(wire.Ack{Seen: v.Numbers().Seq > 0, Newest: v.Numbers().Seq, Mask: ^uint64(0), Structure: v.outbox.structure.sent}))
}

// TestOwnedModel compares ownership with a map, in a world whose slots change tenants in
// every tick. The viewer owns each entity that it was given until the entity dies or is
// disowned, and sees exactly its owned entities, for any order of Own, Disown, deaths and
// snapshots.
func TestOwnedModel(t *testing.T) {
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 3))
		h := newOwnedWorld(t, 200)
		var all []bulk.Handle // live
		model := map[bulk.Handle]bool{}
		pick := func() int { return random.IntN(len(all)) }
		for range 300 {
			for range random.IntN(40) {
				switch what := random.IntN(5); {
				case len(all) < 20 || what == 0 && len(all) < 190:
					all = append(all, h.spawn())
				case what == 1:
					i := pick()
					h.world.Destroy(all[i])
					delete(model, all[i])
					all = slices.Delete(all, i, i+1)
				case what == 2:
					e := all[pick()]
					h.viewer.Disown(e)
					delete(model, e)
				default:
					e := all[pick()]
					h.viewer.Own(e)
					model[e] = true
				}
			}
			if random.IntN(3) == 0 {
				continue // the viewer is not due
			}
			h.step(t)
			require.NoError(t, h.viewer.CheckInvariants())
			for _, e := range all {
				require.Equal(t, model[e], h.viewer.interest.owns(e), "%v", e)
			}
			seen := map[bulk.Handle]bool{}
			for e := range h.viewer.InterestSet() {
				seen[e] = true
			}
			require.Equal(t, model, seen)
		}
	}
}

// TestOwnedAllocatesNothing: a snapshot with changed owner-only fields of a thousand owned
// entities does not allocate.
func TestOwnedAllocatesNothing(t *testing.T) {
	alloctest.SkipAudited(t)
	h := newOwnedWorld(t, 1100)
	all := h.give(t, 1000)
	require.Zero(t, testing.AllocsPerRun(50, func() { h.change(all); h.step(t) }))
}

// give spawns n entities that the viewer owns, and waits until they are in view.
func (h *ownedWorld) give(t testing.TB, n int) []bulk.Handle {
	var all []bulk.Handle
	for range n {
		e := h.spawn()
		h.viewer.Own(e)
		all = append(all, e)
	}
	for h.viewer.Stats().Interest < n {
		h.step(t)
	}
	for range 2 * wire.MaxStates { // until buffers have their final size
		h.change(all)
		h.step(t)
	}
	return all
}

// change changes the owner-only fields of at most a hundred entities.
func (h *ownedWorld) change(all []bulk.Handle) {
	for _, e := range all[:min(len(all), 100)] {
		h.loot.Mut(e).Coins++
	}
}

// ownedList is the former implementation of ownedSet.
type ownedList []bulk.Handle

func (l *ownedList) addTo(v *Viewer, s *candidates) {
	r := v.replicator
	*l = slices.DeleteFunc(*l, func(h bulk.Handle) bool {
		if r.frame.tenantOf(h) != nil {
			s.addConfirmed(h.Index()>>6, 1<<(h.Index()&63))
		}
		return r.world.Status(h) == bulk.Stale
	})
}

func (l ownedList) has(h bulk.Handle) bool { return slices.Contains(l, h) }

// BenchmarkOwned measures the lookups of a viewer's owned entities in one snapshot: one
// lookup for the interest set, and one for each of up to a hundred changed rows. Metric
// ns/list is the time of the same lookups in a list, and ns/snapshot the time of the whole
// snapshot.
func BenchmarkOwned(b *testing.B) {
	for _, n := range []int{1, 100, 10_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			h := newOwnedWorld(b, n+100)
			all := h.give(b, n)
			list, v := ownedList(slices.Clone(all)), h.viewer
			changed := all[len(all)-min(len(all), 100):]
			var s candidates
			s.reserveSlots(len(h.rep.frame.tenants))
			nobody := func(uint32, uint64, uint64) {}
			found := 0
			var bySet, byList, snapshot time.Duration
			for b.Loop() {
				began := time.Now()
				for word, mask := range v.interest.owned.slots.words() {
					s.addConfirmed(word, mask)
				}
				for _, e := range changed {
					if v.interest.owned.has(e) {
						found++
					}
				}
				bySet += time.Since(began)
				s.drainWords(nobody)
				began = time.Now()
				list.addTo(v, &s)
				for _, e := range changed {
					if list.has(e) {
						found++
					}
				}
				byList += time.Since(began)
				s.drainWords(nobody)
				h.change(all)
				h.world.Step()
				h.rep.AfterStep()
				h.rep.Capture()
				began = time.Now()
				v.Snapshot()
				snapshot += time.Since(began)
				require.NoError(b, v.Acknowledge(wire.Ack{Seen: true, Newest: v.Numbers().Seq, Mask: ^uint64(0), Structure: v.outbox.structure.sent}))
			}
			require.Equal(b, 2*b.N*len(changed), found)
			per := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / float64(b.N) }
			b.ReportMetric(per(bySet), "ns/set")
			b.ReportMetric(per(byList), "ns/list")
			b.ReportMetric(per(snapshot), "ns/snapshot")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkOwn measures Own and Disown against the list.
func BenchmarkOwn(b *testing.B) {
	for _, n := range []int{1, 100, 10_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			h := newOwnedWorld(b, n+100)
			list := ownedList(h.give(b, n))
			e := h.spawn()
			var bySet, byList time.Duration
			for b.Loop() {
				began := time.Now()
				h.viewer.Own(e)
				h.viewer.Disown(e)
				bySet += time.Since(began)
				began = time.Now()
				if !list.has(e) {
					list = append(list, e)
				}
				list = slices.DeleteFunc(list, func(o bulk.Handle) bool { return o == e })
				byList += time.Since(began)
			}
			b.ReportMetric(float64(bySet.Nanoseconds())/float64(b.N), "ns/set")
			b.ReportMetric(float64(byList.Nanoseconds())/float64(b.N), "ns/list")
			b.ReportMetric(0, "ns/op")
		})
	}
}

package replication_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/internal/shorttest"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// modelledView is a world and its viewer, with a plain model of the entities that the viewer must see. Its
// entities move, die, lose their bodies and fall under rules.
type modelledView struct {
	*viewedWorld
	rand    *rand.Rand
	crowd   []bulk.Handle
	always  bulk.Bitset // a set of the game: it changes without the world's notice
	fog     bulk.Bitset // the same
	private *world.Component[secret]
	team    *world.Component[team]
	idea    world.KindID // has no body
	owned   map[bulk.Handle]bool
	shown   map[bulk.Handle]bool // entities in view according to the records
	filter  int                  // index of the filter in force
	written uint32
	ruled   bool       // Config has Private
	lit     bool       // Config has Always
	hasty   bool       // many entities change in each tick
	center  world.Vec3 // the focus's position, the last one if it died
}

type (
	secret struct{}
	team   struct{}
)

const modelEnter, modelLeave = 40, 50

func newModelledView(t *testing.T, seed uint64) *modelledView {
	s := &modelledView{
		viewedWorld: &viewedWorld{t: t}, rand: rand.New(rand.NewPCG(seed, 5)),
		owned: map[bulk.Handle]bool{}, shown: map[bulk.Handle]bool{},
	}
	w := must.Get(world.New(world.Config{Seed: seed, Gravity: -1, HalfExtent: world.Vec3{X: 100, Y: 60, Z: 100}}))
	s.world = w
	s.private, s.team = register[secret](w, "secret"), register[team](w, "team")
	s.crate = must.Get(w.AddKind(world.Kind{Name: "crate", Body: &world.BodyDef{Mass: 1, Radius: 0.5, Kinematic: true}}))
	s.idea = must.Get(w.AddKind(world.Kind{Name: "idea"}))
	rowSchema := schema.New()
	schema.Define[schema.Body](rowSchema, schema.BodyComponent)
	require.NoError(t, rowSchema.Err())
	c := replication.Config{SnapshotHz: 60, EnterRadius: modelEnter, LeaveRadius: modelLeave, BudgetBytesPerSecond: 60_000_000}
	s.ruled, s.lit, s.hasty = seed%3 == 0, seed%3 < 2, seed%4 < 2
	if s.ruled {
		c.Private = s.private.Presence()
	}
	if s.lit {
		c.Always = s.always.View()
	}
	s.rep = must.Get(replication.New(w, rowSchema, c))
	s.focus = s.spawn(0, 0)
	s.viewer = s.rep.AddViewer(s.focus)
	return s
}

func register[T any](w *world.World, name string) *world.Component[T] {
	return must.Get(world.Register[T](w, name))
}

func (s *modelledView) anywhere() world.Vec3 {
	return world.Vec3{X: (2*s.rand.Float32() - 1) * 99, Y: s.rand.Float32() * 59, Z: (2*s.rand.Float32() - 1) * 99}
}

// change changes the world or the rules at random.
func (s *modelledView) change() {
	pick := func() bulk.Handle {
		if len(s.crowd) == 0 {
			return s.focus
		}
		return s.crowd[s.rand.IntN(len(s.crowd))]
	}
	switch s.rand.IntN(16) {
	case 0, 1, 2:
		at := s.anywhere()
		h := must.Get(s.world.Spawn(s.crate, at, world.Vec3{}))
		s.crowd = append(s.crowd, h)
	case 3:
		h := must.Get(s.world.Spawn(s.idea, world.Vec3{}, world.Vec3{}))
		s.crowd = append(s.crowd, h)
	case 4, 5:
		s.world.Destroy(pick())
	case 6:
		s.world.SetPosition(pick(), s.anywhere())
	case 7:
		v := s.anywhere()
		s.world.SetVelocity(pick(), v.Scale(float32(s.rand.IntN(2))))
	case 8:
		s.world.SetPosition(s.focus, s.anywhere())
		if s.rand.IntN(200) == 0 {
			s.world.Destroy(s.focus)
		}
	case 9:
		flip(&s.always, pick())
		toggle(s.private, pick(), secret{})
	case 10:
		toggle(s.team, pick(), team{})
		flip(&s.fog, pick())
	case 11:
		h := pick()
		if s.owned[h] {
			s.viewer.Disown(h)
			delete(s.owned, h)
		} else if h != s.focus {
			s.viewer.Own(h)
			s.owned[h] = true
		}
	case 12:
		s.filter = s.rand.IntN(4)
		s.viewer.SetFilter([]replication.Filter{
			{},
			{Not: []bulk.BitsetView{s.fog.View()}},
			{Only: []bulk.BitsetView{s.team.Presence()}, Also: []bulk.BitsetView{s.fog.View()}},
			{Also: []bulk.BitsetView{s.fog.View()}},
		}[s.filter])
	case 13:
		s.viewer.NoteSent(pick())
	case 14, 15:
		flip(&s.fog, pick())
	}
}

func toggle[T any](c *world.Component[T], h bulk.Handle, value T) {
	if c.Presence().Has(h.Index()) {
		c.Remove(h)
	} else {
		c.Set(h, value)
	}
}

func flip(set *bulk.Bitset, h bulk.Handle) {
	if set.Has(h.Index()) {
		set.Clear(h.Index())
	} else {
		set.Set(h.Index())
	}
}

// expected reports whether the viewer must see h now, and whether a rule hides h.
func (s *modelledView) expected(h bulk.Handle, was bool) (show, forbidden bool) {
	has := func(set bulk.BitsetView) bool { return set.Has(h.Index()) }
	if s.world.Status(h) != bulk.Live {
		return false, false
	}
	if h == s.focus || s.owned[h] {
		return true, false
	}
	forbidden = s.ruled && has(s.private.Presence()) || s.filter == 1 && has(s.fog.View()) || s.filter == 2 && !has(s.team.Presence())
	if forbidden {
		return false, true
	}
	if s.lit && has(s.always.View()) || s.filter >= 2 && has(s.fog.View()) {
		return true, false
	}
	at, placed := s.world.Position(h)
	if !placed {
		return true, false
	}
	d := at.Sub(s.center)
	if was {
		return d.Dot(d) <= modelLeave*modelLeave, false
	}
	return d.Dot(d) <= modelEnter*modelEnter, false
}

// TestInterestModel compares the interest set and the records with the model.
func TestInterestModel(t *testing.T) {
	for seed := range shorttest.Pick[uint64](30, 5) {
		s := newModelledView(t, seed)
		for tick := range 250 {
			changes := s.rand.IntN(6)
			if !s.hasty {
				changes = s.rand.IntN(2) * s.rand.IntN(2)
			}
			for range changes {
				s.change()
			}
			s.world.Step()
			for h := range s.world.Destroyed() {
				s.always.Clear(h.Index())
				s.fog.Clear(h.Index())
			}
			s.rep.AfterStep()
			if s.rand.IntN(3) == 0 {
				continue // a tick without a frame
			}
			s.rep.Capture()
			if s.rand.IntN(3) == 0 {
				continue // a frame without a snapshot
			}
			s.audit(seed, tick, s.viewer.Snapshot())
		}
	}
}

// TestInterestOfWalkingViewer: a viewer that walks through a crowd of mostly still entities
// rarely makes a full query. It has every near entity in view in every snapshot.
func TestInterestOfWalkingViewer(t *testing.T) {
	racetest.SkipSequential(t)
	for seed := range shorttest.Pick[uint64](30, 4) {
		s := newModelledView(t, 3*seed+2) // no rules
		for range 400 {
			h := must.Get(s.world.Spawn(s.crate, s.anywhere(), world.Vec3{}))
			s.crowd = append(s.crowd, h)
		}
		heading, speed := 0.0, 1+7*s.rand.Float64()
		for tick := range 600 {
			heading += 0.3 * s.rand.NormFloat64()
			going := speed
			if tick/50%5 == 4 {
				going = 0 // it stands still
			}
			s.world.SetVelocity(s.focus, world.Vec3{X: float32(going * math.Cos(heading)), Z: float32(going * math.Sin(heading))})
			if h := s.crowd[s.rand.IntN(len(s.crowd))]; s.rand.IntN(4) == 0 {
				s.world.SetVelocity(h, s.anywhere().Scale(float32(s.rand.IntN(2))*0.2))
			} else if s.rand.IntN(20) == 0 {
				s.world.Destroy(h)
			} else if s.rand.IntN(20) == 0 {
				h := must.Get(s.world.Spawn(s.crate, s.anywhere(), world.Vec3{}))
				s.crowd = append(s.crowd, h)
			}
			s.world.Step()
			s.rep.AfterStep()
			if s.rand.IntN(3) == 0 {
				continue // a tick without a frame
			}
			s.rep.Capture()
			if s.rand.IntN(3) != 0 {
				s.audit(seed, tick, s.viewer.Snapshot())
			}
		}
	}
}

// audit applies the records of a snapshot and compares the result with the model.
func (s *modelledView) audit(seed uint64, tick int, u replication.Update) {
	if at, ok := s.world.Position(s.focus); ok {
		s.center = at
	}
	for _, r := range records(s.t, u) {
		s.written++
		show, forbidden := s.expected(r.Handle, s.shown[r.Handle])
		switch r.Op {
		case wire.OpEnter:
			require.True(s.t, show, "seed %d tick %d: %v entered", seed, tick, r.Handle)
			s.shown[r.Handle] = true
		case wire.OpLeave:
			require.True(s.t, s.shown[r.Handle] && !show, "seed %d tick %d: %v left", seed, tick, r.Handle)
			require.Equal(s.t, forbidden, r.Reason == wire.HiddenByRule, "seed %d tick %d: %v left: %v", seed, tick, r.Handle, r.Reason)
			delete(s.shown, r.Handle)
		case wire.OpDestroy:
			require.Equal(s.t, bulk.Stale, s.world.Status(r.Handle), "seed %d tick %d: %v", seed, tick, r.Handle)
			delete(s.shown, r.Handle)
		}
	}
	require.NoError(s.t, s.viewer.CheckInvariants(), "seed %d tick %d", seed, tick)
	require.NoError(s.t, s.viewer.Acknowledge(wire.Ack{Seen: true, Newest: s.viewer.Numbers().Seq, Mask: 1<<64 - 1, Structure: s.written}))
	got := map[bulk.Handle]bool{}
	for h := range s.viewer.InterestSet() {
		got[h] = true
		require.Equal(s.t, wire.Live, s.viewer.Resolve(h))
	}
	require.Equal(s.t, s.shown, got, "seed %d tick %d", seed, tick)
	alive := s.crowd[:0]
	for _, h := range append(s.crowd, s.focus) {
		show, _ := s.expected(h, got[h])
		require.Equal(s.t, show, got[h], "seed %d tick %d: %v", seed, tick, h)
		if h != s.focus && s.world.Status(h) == bulk.Live {
			alive = append(alive, h)
		}
	}
	s.crowd = alive
}

package replication_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/alloctest"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// viewedWorld is a world with one viewer in its middle.
type viewedWorld struct {
	t      testing.TB
	world  *world.World
	rep    *replication.Replicator
	viewer *replication.Viewer
	focus  bulk.Handle
	crate  world.KindID
	link   *world.Component[link]
	schema *schema.Schema
}

type link struct {
	To bulk.Handle `net:"ref"`
}

// skipWithoutWorkers skips a test whose replicator has no workers if the race detector is on: this
// package starts no other goroutines.
func skipWithoutWorkers(t testing.TB, c replication.Config) {
	t.Helper()
	if c.Workers == 0 {
		racetest.SkipUnchecked(t)
	}
}

func newViewedWorld(t testing.TB, c replication.Config) *viewedWorld {
	skipWithoutWorkers(t, c)
	w := must.Get(world.New(world.Config{Seed: 1, Gravity: -1}))
	s := &viewedWorld{t: t, world: w}
	s.link = must.Get(world.Register[link](w, "link"))
	s.crate = must.Get(w.AddKind(world.Kind{Name: "crate", Body: &world.BodyDef{Mass: 1, Radius: 0.5, Kinematic: true}}))
	rowSchema := schema.New()
	s.schema = rowSchema
	schema.Define[schema.Body](rowSchema, schema.BodyComponent)
	schema.Define[link](rowSchema, "link")
	schema.DefineEvent[boom](rowSchema, "boom")
	schema.DefineUnreliableEvent[spark](rowSchema, "spark")
	require.NoError(t, rowSchema.Err())
	s.rep = must.Get(replication.New(w, rowSchema, c))
	s.focus = s.spawn(0, 0)
	s.viewer = s.rep.AddViewer(s.focus)
	return s
}

func (s *viewedWorld) spawn(x, z float32) bulk.Handle {
	return must.Get(s.world.Spawn(s.crate, world.Vec3{X: x, Y: 1, Z: z}, world.Vec3{}))
}

// snapshot steps to the next tick with a snapshot and returns it.
func (s *viewedWorld) snapshot() replication.Update {
	for {
		s.world.Step()
		s.rep.AfterStep()
		if s.rep.Due(0) {
			s.rep.Capture()
			return s.viewer.Snapshot()
		}
	}
}

// acknowledge makes the client apply everything so far.
func (s *viewedWorld) acknowledge(structure uint32) {
	require.NoError(s.t, s.viewer.Acknowledge(wire.Ack{Seen: true, Newest: s.viewer.Numbers().Seq, Mask: 1<<64 - 1, Structure: structure}))
}

// receive makes the client apply some snapshots, and returns the number of structure records.
func (s *viewedWorld) receive(snapshots int) (structure uint32) {
	for range snapshots {
		structure += uint32(len(records(s.t, s.snapshot())))
		s.acknowledge(structure)
	}
	return structure
}

// bytesOf returns the size of an update.
func bytesOf(u replication.Update) int {
	n := len(u.Stream)
	for _, d := range u.Datagrams {
		n += len(d)
	}
	return n
}

// records reads the structure records of an update.
func records(t testing.TB, u replication.Update) (out []wire.Record) {
	for kind, body := range stage.Messages(u.Stream) {
		require.Equal(t, wire.TypeStructure, kind)
		m := must.Get(wire.ParseStructure(body))
		for r, err := range m.Records() {
			require.NoError(t, err)
			r.Row = append([]byte(nil), r.Row...)
			out = append(out, r)
		}
	}
	return out
}

// rows counts the rows of an update.
func rows(u replication.Update) int {
	n := 0
	for _, h := range headers(u) {
		n += h.Rows
	}
	return n
}

func TestEnterLeaveDestroy(t *testing.T) {
	s := newViewedWorld(t, replication.Config{EnterRadius: 10, LeaveRadius: 20})
	near, far := s.spawn(5, 0), s.spawn(50, 0)
	got := records(t, s.snapshot())
	require.Len(t, got, 2)
	require.Equal(t, []bulk.Handle{s.focus, near}, []bulk.Handle{got[0].Handle, got[1].Handle}, "nearest first")
	require.Equal(t, wire.Live, s.viewer.Resolve(near))
	require.Equal(t, wire.Pending, s.viewer.Resolve(far), "never shown")

	s.world.SetPosition(near, world.Vec3{X: 15, Y: 1})
	require.Empty(t, records(t, s.snapshot()), "between the radii it stays")
	s.world.SetPosition(near, world.Vec3{X: 25, Y: 1})
	got = records(t, s.snapshot())
	require.Len(t, got, 1)
	require.Equal(t, wire.Record{Op: wire.OpLeave, Reason: wire.LeftInterest, Handle: near}, got[0])
	require.Equal(t, wire.Hidden, s.viewer.Resolve(near))
	s.world.SetPosition(near, world.Vec3{X: 15, Y: 1})
	require.Empty(t, records(t, s.snapshot()), "between the radii it stays out")

	s.world.Destroy(near)
	s.world.Destroy(far)
	got = records(t, s.snapshot())
	require.Len(t, got, 1, "H3: the hidden one is known, the far one is not")
	require.Equal(t, wire.Record{Op: wire.OpDestroy, Handle: near}, got[0])
	require.Equal(t, wire.Stale, s.viewer.Resolve(near))
}

// TestFocusWithoutBody: a viewer whose focus has no body, such as the ghost of a
// player, keeps its last centre.
func TestFocusWithoutBody(t *testing.T) {
	s := newViewedWorld(t, replication.Config{SnapshotHz: 60})
	ghost := must.Get(s.world.AddKind(world.Kind{Name: "ghost"}))
	require.True(t, s.world.SetPosition(s.focus, world.Vec3{X: 300}))
	near, far := s.spawn(301, 0), s.spawn(1, 0)
	s.snapshot()
	require.Equal(t, wire.Live, s.viewer.Resolve(near))
	h := must.Get(s.world.Spawn(ghost, world.Vec3{}, world.Vec3{}))
	s.viewer.SetFocus(h)
	s.snapshot()
	require.Equal(t, wire.Live, s.viewer.Resolve(h), "an entity without a body is always in view")
	require.Equal(t, wire.Live, s.viewer.Resolve(near))
	require.Equal(t, wire.Pending, s.viewer.Resolve(far))
}

func TestReferenceTeaches(t *testing.T) {
	s := newViewedWorld(t, replication.Config{EnterRadius: 10, LeaveRadius: 20})
	far, dead := s.spawn(100, 0), s.spawn(100, 5)
	s.link.Set(s.focus, link{far})
	s.snapshot()
	require.Equal(t, wire.Hidden, s.viewer.Resolve(far), "named in a component")
	s.world.Destroy(far)
	s.world.Destroy(dead)
	got := records(t, s.snapshot())
	require.Len(t, got, 1, "R5: %v was named, %v was not", far, dead)
	require.Equal(t, far, got[0].Handle)

	s.link.Set(s.focus, link{dead})
	got = records(t, s.snapshot())
	require.Len(t, got, 1, "a reference to the dead is followed by its destroy")
	require.Equal(t, wire.Record{Op: wire.OpDestroy, Handle: dead}, got[0])
	s.world.SetPosition(s.focus, world.Vec3{X: 1, Y: 1})
	require.Empty(t, records(t, s.snapshot()), "once")
}

// TestInterestSetBetweenSnapshots: an entity that died between two snapshots is no longer
// in the interest set, even if the client already knows its slot's next tenant.
func TestInterestSetBetweenSnapshots(t *testing.T) {
	s := newViewedWorld(t, replication.Config{})
	first := s.spawn(3, 0)
	s.snapshot()
	require.Equal(t, 2, s.viewer.Stats().Interest)
	s.world.Destroy(first)
	s.world.Step()
	second := s.spawn(3, 0)
	require.Equal(t, first.Index(), second.Index())
	s.viewer.NoteSent(second)
	require.Equal(t, 1, s.viewer.Stats().Interest)
	require.Equal(t, []bulk.Handle{s.focus}, slices.Collect(s.viewer.InterestSet()))
	s.snapshot()
	require.ElementsMatch(t, []bulk.Handle{s.focus, second}, slices.Collect(s.viewer.InterestSet()))
}

func TestDormant(t *testing.T) {
	s := newViewedWorld(t, replication.Config{})
	moving := s.spawn(3, 0)
	require.Zero(t, rows(s.snapshot()), "an Enter carries the state")
	s.acknowledge(2)
	s.world.SetVelocity(moving, world.Vec3{X: 1})
	require.Equal(t, 1, rows(s.snapshot()))
	s.world.SetVelocity(moving, world.Vec3{})
	require.Equal(t, 1, rows(s.snapshot()), "at rest, unacknowledged")
	for range 8 {
		require.Zero(t, rows(s.snapshot()), "in flight")
	}
	require.Equal(t, 1, rows(s.snapshot()), "no news: sent again")
	s.acknowledge(2)
	for range 40 {
		require.Zero(t, rows(s.snapshot()), "acknowledged")
	}
}

func TestLossResendsLatest(t *testing.T) {
	s := newViewedWorld(t, replication.Config{})
	moving := s.spawn(3, 0)
	s.snapshot()
	s.acknowledge(2)
	s.world.SetVelocity(moving, world.Vec3{X: 1})
	require.Equal(t, 1, rows(s.snapshot()))
	lost := s.viewer.Numbers().Seq
	s.world.SetVelocity(moving, world.Vec3{})
	s.snapshot()
	lastSent := s.viewer.Numbers().Seq
	for range 3 {
		require.Zero(t, rows(s.snapshot()))
	}
	// All snapshots arrive except the two that held the row.
	mask := uint64(0)
	for i := range uint32(63) {
		if seq := s.viewer.Numbers().Seq - 1 - i; seq != lost && seq != lastSent && seq < s.viewer.Numbers().Seq && seq > 0 {
			mask |= 1 << i
		}
	}
	require.NoError(t, s.viewer.Acknowledge(wire.Ack{Seen: true, Newest: s.viewer.Numbers().Seq, Mask: mask, Structure: 2}))
	require.Equal(t, 1, rows(s.snapshot()), "H6: not applied, so sent again")
}

func TestAcknowledgeUnsent(t *testing.T) {
	s := newViewedWorld(t, replication.Config{})
	s.snapshot()
	for name, ack := range map[string]wire.Ack{
		"structure from the future": {Structure: 100},
		"snapshot from the future":  {Seen: true, Newest: 2},
	} {
		var e *wire.Error
		require.ErrorAs(t, s.viewer.Acknowledge(ack), &e, name)
		require.Equal(t, wire.BadMessage, e.Code, name)
	}
	require.NoError(t, s.viewer.Acknowledge(wire.Ack{Seen: true, Newest: 1, Mask: 1<<64 - 1}), "a mask that reaches before the first is harmless")
}

// TestBudget makes a crowd enter and move at once: the budget is kept, every entity
// enters, and enters do not starve moving entities.
func TestBudget(t *testing.T) {
	const budget, seconds = 16_000, 20
	s := newViewedWorld(t, replication.Config{BudgetBytesPerSecond: budget, EnterRadius: 200})
	var moving []bulk.Handle
	for i := range 1500 {
		moving = append(moving, s.spawn(float32(i%40)-20, float32(i/40)-20))
	}
	total, entered, structure := 0, 0, uint32(0)
	rowsAt := map[int]int{}
	for i := range seconds * 20 {
		for _, h := range moving[:400] {
			s.world.SetVelocity(h, world.Vec3{X: float32(1 - i%2*2)})
		}
		u := s.snapshot()
		total += len(u.Stream)
		for _, d := range u.Datagrams {
			require.LessOrEqual(t, len(d), wire.MaxDatagram)
			total += len(d)
		}
		got := records(t, u)
		entered += len(got)
		structure += uint32(len(got))
		rowsAt[i/20] += rows(u)
		s.acknowledge(structure)
	}
	require.LessOrEqual(t, float64(total), budget*seconds*1.02)
	require.Greater(t, float64(total), budget*seconds*0.9, "the budget is there to be used")
	require.Equal(t, 1501, entered, "every entity enters")
	require.Greater(t, rowsAt[1], 100, "rows moved while the crowd entered")
}

// Every datagram fits the size limit of its viewer's path, while viewers share coded rows
// and whole datagrams. The limit may change with every snapshot.
func TestMaxDatagram(t *testing.T) {
	s := newViewedWorld(t, replication.Config{BudgetBytesPerSecond: 1 << 20, EnterRadius: 200})
	crowd := s.crowd(600)
	limits := []int{wire.MinDatagram, wire.MinDatagram + 11, wire.MaxDatagram, 2000, 0}
	fits := []int{wire.MinDatagram, wire.MinDatagram + 11, wire.MaxDatagram, wire.MaxDatagram, wire.MinDatagram}
	viewers := []*replication.Viewer{s.viewer}
	for range limits[1:] {
		viewers = append(viewers, s.rep.AddViewer(s.focus))
	}
	note := s.event(&spark{Note: strings.Repeat("x", 1000)})
	longest := map[int]int{}
	for round := range 60 {
		for i, h := range crowd {
			s.world.SetVelocity(h, world.Vec3{X: float32((i+round)%7 - 3)})
		}
		for i := range viewers {
			s.viewer = viewers[i]
			turn := (i + round/20) % len(limits)
			s.viewer.SetMaxDatagram(limits[turn])
			s.viewer.Send(note)
			u := s.viewer.Snapshot
			if i == 0 {
				u = s.snapshot // a snapshot of a frame that the other viewers share
			}
			for _, d := range u().Datagrams {
				require.LessOrEqual(t, len(d), fits[turn])
				longest[turn] = max(longest[turn], len(d))
			}
		}
	}
	for turn, most := range fits {
		require.Greater(t, longest[turn], most-16, "the room is used")
	}
}

// TestNoStarvation: every row is sent eventually, although the budget is far too small
// for all.
func TestNoStarvation(t *testing.T) {
	s := newViewedWorld(t, replication.Config{BudgetBytesPerSecond: 12_000, EnterRadius: 100})
	var crowd []bulk.Handle
	for i := range 300 {
		crowd = append(crowd, s.spawn(float32(i%20)*4-40, float32(i/20)*4-30))
	}
	structure := s.receive(400)
	require.Equal(t, 301, s.viewer.Stats().Interest)
	for _, h := range crowd {
		s.world.SetVelocity(h, world.Vec3{X: 0.5})
	}
	seen := map[uint32]int{}
	for range 200 {
		u := s.snapshot()
		for _, d := range u.Datagrams {
			for _, slot := range slots(t, d) {
				seen[slot]++
			}
		}
		s.acknowledge(structure)
	}
	for _, h := range crowd {
		require.NotZero(t, seen[h.Index()], "%v was never sent", h)
	}
}

// slots reads the slots of a datagram.
func slots(t testing.TB, d []byte) (out []uint32) {
	var r bitio.Reader
	h := must.Get(wire.ParseStateHeader(d, &r))
	if h.Rows == 0 {
		return nil
	}
	coding := wire.ReadRowCoding(&r, h.Tick)
	slot := uint32(0)
	for range h.Rows {
		skip, _ := wire.ReadRowHeader(&r, coding, h.Tick)
		slot += skip
		out = append(out, slot)
		slot++
	}
	require.NoError(t, r.Err())
	return out
}

func TestConfigReportsEverything(t *testing.T) {
	err := replication.Config{EnterRadius: -1, LeaveRadius: -2, SnapshotHz: 70, BudgetBytesPerSecond: 1}.Validate(60)
	require.ErrorContains(t, err, "enter radius is -1")
	require.ErrorContains(t, err, "leave radius is -2")
	require.ErrorContains(t, err, "snapshot rate is 70 Hz")
	require.ErrorContains(t, err, "budget is 1 bytes/s")
	require.NoError(t, replication.Config{}.Validate(60))
}

func TestSchemaMustFit(t *testing.T) {
	w := must.Get(world.New(world.Config{}))
	must.Get(world.Register[link](w, "link"))
	for name, add := range map[string]func(*schema.Schema) error{
		"not registered": func(s *schema.Schema) error { schema.Define[link](s, "nobody"); return s.Err() },
		"other type":     func(s *schema.Schema) error { schema.Define[schema.Body](s, "link"); return s.Err() },
		"other body":     func(s *schema.Schema) error { schema.Define[link](s, schema.BodyComponent); return s.Err() },
	} {
		s := schema.New()
		require.NoError(t, add(s))
		require.ErrorIs(t, must.Fail(replication.New(w, s, replication.Config{})), replication.ErrSchema, name)
	}
}

func TestRowsMustFit(t *testing.T) {
	type long struct{ A [30]uint64 }
	w := must.Get(world.New(world.Config{}))
	s := schema.New()
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		must.Get(world.Register[long](w, name))
		schema.Define[long](s, name)
		require.NoError(t, s.Err())
	}
	_, err := replication.New(w, s, replication.Config{})
	require.ErrorContains(t, err, `"e"`)
	require.ErrorContains(t, err, "rows could take")
}

// TestBoundsMustFit: a world whose positions exceed the range of schema.Body is refused.
func TestBoundsMustFit(t *testing.T) {
	s := schema.New()
	schema.Define[schema.Body](s, schema.BodyComponent)
	require.NoError(t, s.Err())
	for metres, fits := range map[float32]bool{512: true, 1024: true, 1100: false, 4096: false} {
		w := must.Get(world.New(world.Config{HalfExtent: world.Vec3{X: 64, Y: 64, Z: metres}}))
		_, err := replication.New(w, s, replication.Config{})
		if fits {
			require.NoError(t, err, metres)
			continue
		}
		require.ErrorIs(t, err, replication.ErrSchema, metres)
		require.ErrorContains(t, err, "HalfExtent")
	}
}

func TestSnapshotAllocatesNothing(t *testing.T) {
	alloctest.SkipAudited(t)
	s := newViewedWorld(t, replication.Config{})
	for i := range 200 {
		s.world.SetVelocity(s.spawn(float32(i%20)-10, float32(i/20)-5), world.Vec3{X: 0.01})
	}
	structure := s.receive(300)
	require.Equal(t, 201, s.viewer.Stats().Interest)
	allocs := testing.AllocsPerRun(50, func() {
		s.snapshot()
		s.acknowledge(structure)
	})
	require.Zero(t, allocs)
	count := 0
	require.Zero(t, testing.AllocsPerRun(50, func() {
		for range s.viewer.InterestSet() {
			count++
		}
	}), "iterating the interest set")
	require.Equal(t, 51*201, count)
}

func BenchmarkSnapshot(b *testing.B) {
	s := newViewedWorld(b, replication.Config{})
	for i := range 200 {
		s.world.SetVelocity(s.spawn(float32(i%20)-10, float32(i/20)-5), world.Vec3{X: 0.01})
	}
	rowsSent, structure := 0, uint32(0)
	for range 100 {
		structure += uint32(len(records(b, s.snapshot())))
		s.acknowledge(structure)
	}
	for b.Loop() {
		rowsSent += rows(s.snapshot())
		s.acknowledge(structure)
	}
	b.ReportMetric(float64(rowsSent)/float64(b.N), "rows/op")
}

// R10: an Enter tells the client that earlier tenants of the slot are dead. The verdict stays
// when the entity leaves.
func TestEarlierTenantStaysStale(t *testing.T) {
	s := newViewedWorld(t, replication.Config{EnterRadius: 10, LeaveRadius: 20})
	unseen := s.spawn(90, 0)
	s.snapshot()
	s.world.Destroy(unseen)
	s.snapshot()
	next := s.spawn(5, 0)
	require.Equal(t, unseen.Index(), next.Index())
	require.Equal(t, wire.Pending, s.viewer.Resolve(unseen))
	s.snapshot()
	require.Equal(t, wire.Stale, s.viewer.Resolve(unseen))
	s.world.SetPosition(next, world.Vec3{X: 80})
	s.snapshot()
	require.Equal(t, wire.Hidden, s.viewer.Resolve(next))
	require.Equal(t, wire.Stale, s.viewer.Resolve(unseen))
}

package replication_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// boom is reliable, spark is not.
type boom struct {
	Who  bulk.Handle `net:"ref"`
	X, Z float32
}

type spark struct {
	Serial uint32
	Who    bulk.Handle `net:"ref"`
	Note   string      `net:"max=1000"`
}

func (s *viewedWorld) event(e any) *replication.Event {
	return must.Get(s.rep.NewEvent(e))
}

// sparks returns the unreliable events of an update and their ages.
func (s *viewedWorld) sparks(u replication.Update) (all []spark, ages []uint32) {
	for _, d := range u.Datagrams {
		var r bitio.Reader
		h := must.Get(wire.ParseStateHeader(d, &r))
		require.LessOrEqual(s.t, len(d), wire.MaxDatagram)
		for e := range h.StateEvents() {
			var got spark
			require.Equal(s.t, uint32(1), e.Number)
			require.NoError(s.t, rowschema.NewMessage(s.schema.Events()[1].Message).ReadValue(e.Body, &got))
			all, ages = append(all, got), append(ages, e.Age)
		}
	}
	return all, ages
}

// booms returns the reliable events of an update, and all its records as text.
func (s *viewedWorld) booms(u replication.Update) (all []boom, ops []string) {
	for _, r := range records(s.t, u) {
		ops = append(ops, r.Op.String())
		if r.Op == wire.OpEvent {
			var got boom
			require.Zero(s.t, r.Number)
			require.NoError(s.t, rowschema.NewMessage(s.schema.Events()[0].Message).ReadValue(r.Data, &got))
			all = append(all, got)
		}
	}
	return all, ops
}

func TestNewEventRejectsOtherTypes(t *testing.T) {
	s := newViewedWorld(t, replication.Config{})
	for _, wrong := range []any{nil, 3, link{}, &link{}, (*boom)(nil)} {
		require.Error(t, must.Fail(s.rep.NewEvent(wrong)), "%T", wrong)
	}
	require.ErrorContains(t, must.Fail(s.rep.NewEvent(link{})), "replication_test.link")
	must.Get(s.rep.NewEvent(&boom{}))
}

// Events precede the records of the next frame, in the order of sending.
func TestEventInStructureOrder(t *testing.T) {
	s := newViewedWorld(t, replication.Config{})
	old := s.spawn(2, 0)
	s.snapshot()
	born := s.spawn(3, 0)
	unissued := bulk.NewHandle(900, 1)
	require.True(t, s.viewer.Send(s.event(boom{Who: born, X: 1})))
	require.True(t, s.viewer.Send(s.event(&boom{Who: old, X: 2})))
	require.True(t, s.viewer.Send(s.event(boom{Who: unissued, X: 3})))
	s.world.Destroy(old)
	sent := s.snapshot()
	written := 0
	for _, r := range records(t, sent)[:3] {
		written += len(wire.AppendRecord(nil, r))
	}
	require.EqualValues(t, written, s.rep.Stats().ReliableEventBytes)
	all, ops := s.booms(sent)
	require.Equal(t, []boom{{born, 1, 0}, {old, 2, 0}, {0, 3, 0}}, all)
	require.Equal(t, []string{"event", "event", "event", "destroy", "enter"}, ops)
	require.EqualValues(t, 3, s.rep.Stats().ReliableEvents)

	s.world.DestroyBecause(born, 5)
	s.world.Step()
	s.rep.AfterStep()
	require.True(t, s.viewer.Send(s.event(boom{Who: born})))
	require.Equal(t, wire.Stale, s.viewer.Resolve(born))
	got := records(t, s.snapshot())
	require.Equal(t, wire.Record{Op: wire.OpDestroy, Handle: born, Cause: 5}, got[0], "it died before the event")
	require.Equal(t, wire.OpEvent, got[1].Op)
	require.Len(t, got, 2)
	require.EqualValues(t, 4, s.viewer.Stats().Events)
}

// H3: a handle in an event is known to the client, whether it lives, dies later, or is dead.
func TestEventTeaches(t *testing.T) {
	s := newViewedWorld(t, replication.Config{EnterRadius: 10, LeaveRadius: 20})
	far, dead := s.spawn(90, 0), s.spawn(91, 0)
	s.world.Destroy(dead)
	s.snapshot()
	require.Equal(t, wire.Pending, s.viewer.Resolve(far))
	for _, send := range []func(h bulk.Handle) any{
		func(h bulk.Handle) any { return boom{Who: h} },
		func(h bulk.Handle) any { return spark{Who: h} },
	} {
		far, dead := far, dead
		s.viewer.Send(s.event(send(far)))
		s.viewer.Send(s.event(send(dead)))
		s.snapshot()
		require.Equal(t, wire.Hidden, s.viewer.Resolve(far))
		require.Equal(t, wire.Stale, s.viewer.Resolve(dead))
		s.viewer = s.rep.AddViewer(s.focus)
		s.snapshot()
	}
	s.viewer.Send(s.event(boom{Who: far}))
	s.snapshot()
	s.world.Destroy(far)
	_, ops := s.booms(s.snapshot())
	require.Equal(t, []string{"destroy"}, ops)
}

// The handles of a datagram's events depend on structure that precedes it (R4).
func TestUnreliableEventNamesItsStructure(t *testing.T) {
	s := newViewedWorld(t, replication.Config{EnterRadius: 10, LeaveRadius: 20})
	dead := s.spawn(90, 0)
	s.world.Destroy(dead)
	s.snapshot()
	s.viewer.Send(s.event(spark{Who: dead}))
	u := s.snapshot()
	require.Len(t, records(t, u), 1, "the Destroy")
	var r bitio.Reader
	h := must.Get(wire.ParseStateHeader(u.Datagrams[0], &r))
	require.EqualValues(t, 2, h.Structure, "the focus's Enter and the Destroy")
}

func TestSendSeen(t *testing.T) {
	s := newViewedWorld(t, replication.Config{EnterRadius: 10, LeaveRadius: 20})
	near, far := s.spawn(2, 0), s.spawn(90, 0)
	s.snapshot()
	s.viewer.SendSeen(near, s.event(boom{X: 1}))
	s.viewer.SendSeen(far, s.event(boom{X: 2}))
	s.viewer.SendSeen(0, s.event(boom{X: 3}))
	bornNear, bornFar, bornDead := s.spawn(3, 0), s.spawn(80, 0), s.spawn(4, 0)
	for i, h := range []bulk.Handle{bornNear, bornFar, bornDead} {
		s.viewer.SendSeen(h, s.event(boom{X: float32(10 + i)}))
	}
	s.world.Destroy(bornDead)
	s.world.Destroy(near)
	all, ops := s.booms(s.snapshot())
	require.Equal(t, []boom{{X: 1}, {X: 10}}, all)
	require.Equal(t, []string{"event", "destroy", "enter", "event"}, ops)
	s.viewer.SendSeen(near, s.event(boom{X: 4}))
	all, _ = s.booms(s.snapshot())
	require.Empty(t, all, "dead")

	for range 200 {
		s.viewer.SendSeen(s.spawn(5, 0), s.event(boom{X: 5}))
	}
	all, _ = s.booms(s.snapshot())
	require.Len(t, all, 64, "bounded")
	require.EqualValues(t, 200-64, s.rep.Stats().ReliableEventsDropped)
}

// An unreliable event that waits for an Enter is dropped with the connection, like those in
// the queue. A reliable one follows the Enter on the next connection.
func TestResumeDropsEventsOfNewborns(t *testing.T) {
	s := newViewedWorld(t, replication.Config{})
	s.snapshot()
	born := s.spawn(3, 0)
	s.viewer.SendSeen(born, s.event(spark{Serial: 1}))
	s.viewer.SendSeen(born, s.event(boom{X: 1}))
	s.viewer.SendSeen(born, s.event(spark{Serial: 2}))
	must.Have(s.viewer.Resume(1))
	require.EqualValues(t, 2, s.viewer.Stats().EventsDropped)
	u := s.snapshot()
	unreliable, _ := s.sparks(u)
	require.Empty(t, unreliable)
	reliable, ops := s.booms(u)
	require.Equal(t, []boom{{X: 1}}, reliable)
	require.Equal(t, []string{"enter", "event"}, ops)
}

// An event for an entity whose Enter the budget delays counts as dropped (R11). An event for
// an entity that the client does not see is not for this client, and does not count.
func TestEventsOfDelayedEntersAreCounted(t *testing.T) {
	s := newViewedWorld(t, replication.Config{BudgetBytesPerSecond: 20 * 200, EnterRadius: 10, LeaveRadius: 20})
	var earlier []bulk.Handle // tenants of the first slots
	for range 10 {
		earlier = append(earlier, s.spawn(90, 0))
	}
	s.snapshot()
	for _, h := range earlier {
		s.world.Destroy(h)
	}
	s.snapshot()
	for i := range 30 {
		near, far := s.spawn(3, 0), s.spawn(80, 0)
		s.viewer.SendSeen(near, s.event(boom{X: float32(i)}))
		s.viewer.SendSeen(far, s.event(spark{Serial: uint32(i)}))
	}
	for i := range 2 {
		s.viewer.SendSeen(s.spawn(8, 0), s.event(spark{Serial: uint32(i)})) // the most distant enter last
	}
	arrived, ops := s.booms(s.snapshot())
	entered := 0
	for _, op := range ops {
		if op == "enter" {
			entered++
		}
	}
	require.Less(t, entered, 30, "the budget delays enters")
	require.Len(t, arrived, entered)
	require.EqualValues(t, 30-entered, s.rep.Stats().ReliableEventsDropped)
	require.EqualValues(t, 2, s.rep.Stats().UnreliableEventsDropped)
	require.EqualValues(t, 30-entered+2, s.viewer.Stats().EventsDropped)
}

// A flood of reliable events is refused at the limit of the budget or of the client, and
// the viewer recovers.
func TestFloodOfReliableEvents(t *testing.T) {
	const budget = 20_000
	s := newViewedWorld(t, replication.Config{BudgetBytesPerSecond: budget})
	s.snapshot()
	flood := func() (accepted int) {
		for range 10_000 {
			if s.viewer.Send(s.event(boom{X: 1})) {
				accepted++
			}
		}
		return accepted
	}
	accepted := flood()
	require.InDelta(t, budget, accepted*10, budget/10.0*3, "a second of the budget, at about 10 bytes each")
	require.EqualValues(t, 10_000-accepted, s.rep.Stats().ReliableEventsDropped)
	require.Zero(t, flood()/100, "nothing more until snapshots repay it")
	sent := uint32(1)
	for range 60 {
		got, _ := s.booms(s.snapshot())
		sent += uint32(len(got))
		s.acknowledge(sent)
	}
	require.Positive(t, s.viewer.Stats().Budget)
	require.Greater(t, flood(), accepted/2)

	// A message that is full before the next snapshot has the tick of its events.
	s = newViewedWorld(t, replication.Config{BudgetBytesPerSecond: 10_000_000})
	s.snapshot()
	for range 100 {
		s.world.Step()
		s.rep.AfterStep()
	}
	require.Less(t, 1600, flood())
	m := must.Get(wire.ParseStructure(stage.FirstMessage(s.snapshot().Stream, wire.TypeStructure)))
	require.EqualValues(t, 100, m.Ticks)

	// A client that acknowledges nothing has a bounded backlog.
	s = newViewedWorld(t, replication.Config{BudgetBytesPerSecond: 10_000_000})
	for range 50 {
		flood()
		s.snapshot()
	}
	require.Less(t, s.rep.Stats().StructureBytes, uint64(80<<10))
	require.False(t, s.viewer.Send(s.event(boom{})))
	require.EqualValues(t, s.rep.Stats().ReliableEvents, s.viewer.Stats().Events)
}

// Unreliable events wait in a bounded queue in which the newest win, for at most a second.
func TestUnreliableEventsAreBounded(t *testing.T) {
	s := newViewedWorld(t, replication.Config{SnapshotHz: 1})
	for i := range 100 {
		require.True(t, s.viewer.Send(s.event(spark{Serial: uint32(i)})))
	}
	all, ages := s.sparks(s.snapshot())
	require.Len(t, all, 64)
	for i := range all {
		require.EqualValues(t, 36+i, all[i].Serial, "the newest, in order")
		require.LessOrEqual(t, ages[i], uint32(60))
	}
	require.EqualValues(t, 64, s.rep.Stats().UnreliableEvents)
	require.EqualValues(t, 36, s.rep.Stats().UnreliableEventsDropped)

	at := s.world.Tick()
	s.viewer.Send(s.event(spark{Serial: 1}))
	s.world.Step()
	s.rep.AfterStep()
	s.viewer.Send(s.event(spark{Serial: 2}))
	for s.world.Tick() < at+60 { // skip a snapshot that is due
		s.world.Step()
		s.rep.AfterStep()
	}
	all, ages = s.sparks(s.snapshot())
	if s.world.Tick() == at+61 {
		require.Equal(t, []spark{{Serial: 2}}, all)
		require.Equal(t, []uint32{60}, ages)
	} else {
		require.Empty(t, all)
	}
	s.viewer.Send(s.event(spark{}))
	must.Have(s.viewer.Resume(1))
	all, _ = s.sparks(s.snapshot())
	require.Empty(t, all, "dropped with the connection")
}

// A spawned crowd keeps every datagram full. Events get their share, and rows the rest.
func TestEventsShareDatagramsWithRows(t *testing.T) {
	count := func(note string, perSnapshot int) (rowsSent, sent int) {
		s := newViewedWorld(t, replication.Config{BudgetBytesPerSecond: 20_000, EnterRadius: 200, LeaveRadius: 210})
		var crowd []bulk.Handle
		for i := range 300 {
			crowd = append(crowd, s.spawn(float32(i%20), float32(i/20)))
		}
		structure := uint32(0)
		for i := range 200 {
			for j, h := range crowd {
				s.world.SetVelocity(h, world.Vec3{X: float32(math.Sin(float64(i * j))), Z: float32(math.Cos(float64(i + j)))})
			}
			for range perSnapshot {
				s.viewer.Send(s.event(spark{Serial: uint32(i), Note: note}))
			}
			u := s.snapshot()
			structure += uint32(len(records(t, u)))
			s.acknowledge(structure)
			if i < 60 {
				continue // the crowd enters
			}
			all, ages := s.sparks(u)
			for _, age := range ages {
				require.LessOrEqual(t, age, uint32(60))
			}
			sent += len(all)
			rowsSent += rows(u)
		}
		stats := s.rep.Stats()
		require.LessOrEqual(t, stats.EventBytes, stats.StateBytes/8)
		return rowsSent, sent
	}
	note := make([]byte, 900)
	for i := range note {
		note[i] = 'x'
	}
	alone, _ := count("", 0)
	flooded, small := count("", 50)
	require.GreaterOrEqual(t, float64(flooded), float64(alone)*0.8)
	require.Greater(t, small, 140*4, "several each snapshot")
	flooded, large := count(string(note), 1)
	require.GreaterOrEqual(t, float64(flooded), float64(alone)*0.8)
	require.Greater(t, large, 10, "a large one now and then")
}

// Once all rows fit into one datagram again, events fill the rest of the datagram: an
// earlier crowd of moving bodies delays no event.
func TestEventsFillDatagramsAfterACrowd(t *testing.T) {
	crowded := func(t *testing.T) (s *delayedViewer, crowd []bulk.Handle) {
		s = newDelayedViewer(t)
		for range 400 {
			crowd = append(crowd, s.spawn(2, 0))
		}
		for range 20 {
			s.written += uint32(len(records(t, s.snapshot())))
			s.acknowledge(s.written)
		}
		s.move(crowd...)
		require.Greater(t, len(s.snapshot().Datagrams), 1)
		for range 20 {
			s.acknowledge(s.written)
			s.snapshot()
		}
		s.acknowledge(s.written)
		return s, crowd
	}
	large := spark{Note: string(make([]byte, 900))}
	t.Run("at rest", func(t *testing.T) {
		s, crowd := crowded(t)
		s.move(crowd[0])
		s.viewer.Send(s.event(large))
		all, _ := s.sparks(s.snapshot())
		require.Equal(t, []spark{large}, all)
	})
	t.Run("while records are overdue", func(t *testing.T) {
		s, crowd := crowded(t)
		late := s.spawn(2, 0)
		require.Len(t, records(t, s.snapshot()), 1)
		s.acknowledge(s.written)
		s.move(crowd[0], late)
		s.viewer.Send(s.event(large))
		u := s.snapshot()
		require.Equal(t, []uint32{s.written, s.written + 1}, structures(u))
		all, _ := s.sparks(u)
		require.Equal(t, []spark{large}, all)
	})
}

// Events of sessions without rows to send fill the rest of the datagram.
func TestUnreliableEventOfEverySize(t *testing.T) {
	s := newViewedWorld(t, replication.Config{BudgetBytesPerSecond: 100_000})
	s.snapshot()
	s.acknowledge(1)
	for n := 0; n <= 1000; n += 50 {
		s.viewer.Send(s.event(spark{Serial: uint32(n), Note: string(make([]byte, n))}))
		all, _ := s.sparks(s.snapshot())
		require.Len(t, all, 1)
		require.Len(t, all[0].Note, n)
	}
}

func TestDestroyCauses(t *testing.T) {
	s := newViewedWorld(t, replication.Config{EnterRadius: 10, LeaveRadius: 20})
	near, hidden, far := s.spawn(2, 0), s.spawn(3, 0), s.spawn(90, 0)
	s.snapshot()
	s.world.SetPosition(hidden, world.Vec3{X: 80})
	s.snapshot()
	for i, h := range []bulk.Handle{near, hidden, far} {
		s.world.DestroyBecause(h, uint8(7+i))
	}
	s.world.Step()
	s.rep.AfterStep()
	require.Equal(t, wire.Stale, s.viewer.Resolve(near), "recorded before the snapshot")
	again := s.spawn(2, 0)
	require.Equal(t, near.Index(), again.Index())
	s.world.DestroyBecause(again, 99) // the entity is in no frame: no client knows it
	got := records(t, s.snapshot())
	require.ElementsMatch(t, []wire.Record{
		{Op: wire.OpDestroy, Handle: near, Cause: 7}, {Op: wire.OpDestroy, Handle: hidden, Cause: 8},
	}, got)
	s.viewer.NoteSent(far)
	require.Equal(t, []wire.Record{{Op: wire.OpDestroy, Handle: far}}, records(t, s.snapshot()), "it did not know far when far died")
	require.Equal(t, uint64(3), s.rep.Stats().Destroys)
}

// An event of a handle and two floats costs its record at most 16 bytes.
func TestEventRecordBytes(t *testing.T) {
	s := newViewedWorld(t, replication.Config{})
	s.snapshot()
	before := s.rep.Stats().StructureBytes
	s.viewer.Send(s.event(boom{Who: s.focus, X: 1.5, Z: -3}))
	s.viewer.Send(s.event(boom{Who: s.focus, X: 1.5, Z: -3}))
	u := s.snapshot()
	all, _ := s.booms(u)
	require.Len(t, all, 2)
	record := len(wire.AppendRecord(nil, records(t, u)[1]))
	t.Logf("a record of %d bytes; two of them: %d bytes of stream", record, s.rep.Stats().StructureBytes-before)
	require.LessOrEqual(t, record, 16)
}

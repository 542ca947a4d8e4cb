package replication_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// delayedViewer is a viewedWorld whose client has applied everything up to an Enter, which is overdue.
type delayedViewer struct {
	*viewedWorld
	old, fresh bulk.Handle
	applied    uint32 // records that the client has
	written    uint32
}

func newDelayedViewer(t *testing.T) *delayedViewer {
	d := &delayedViewer{viewedWorld: newViewedWorld(t, replication.Config{})}
	d.old = d.spawn(1, 0)
	d.link.Set(d.old, link{})
	d.applied = uint32(len(records(t, d.snapshot())))
	for range 16 {
		d.acknowledge(d.applied)
		d.move(d.focus)
		require.Len(t, d.snapshot().Datagrams, 1)
	}
	d.acknowledge(d.applied)
	d.fresh = d.spawn(2, 0)
	u := d.snapshot()
	d.written = d.applied + uint32(len(records(t, u)))
	require.Equal(t, []uint32{d.written}, structures(u), "nothing is overdue yet")
	d.acknowledge(d.applied)
	return d
}

// move moves entities, so that the next snapshot has their rows.
func (d *delayedViewer) move(entities ...bulk.Handle) {
	for _, h := range entities {
		at, _ := d.world.Position(h)
		d.world.SetPosition(h, world.Vec3{X: at.X, Y: at.Y, Z: at.Z + 1})
	}
}

// structures returns the structure number of each datagram.
func structures(u replication.Update) (numbers []uint32) {
	for _, h := range headers(u) {
		numbers = append(numbers, h.Structure)
	}
	return numbers
}

func headers(u replication.Update) (all []wire.StateHeader) {
	for _, d := range u.Datagrams {
		var r bitio.Reader
		h := must.Get(wire.ParseStateHeader(d, &r))
		all = append(all, h)
	}
	return all
}

func foldOf(handles ...bulk.Handle) uint16 {
	x := uint64(0)
	for _, h := range handles {
		x = wire.Fold(x, h)
	}
	return wire.Fold16(x)
}

// Rows that depend on no overdue record go ahead of the others. If there are no others, the
// snapshot is one datagram. Once the record is acknowledged, no row goes ahead.
func TestRowsGoAhead(t *testing.T) {
	d := newDelayedViewer(t)
	d.move(d.focus, d.old, d.fresh)
	u := d.snapshot()
	require.Equal(t, []uint32{d.applied, d.written}, structures(u))
	ahead, rest := headers(u)[0], headers(u)[1]
	require.Equal(t, foldOf(d.focus, d.old), ahead.Fold)
	require.Equal(t, foldOf(d.fresh), rest.Fold)
	require.Equal(t, ahead.Tick, rest.Tick)

	d.acknowledge(d.applied)
	d.move(d.old)
	require.Equal(t, []uint32{d.applied}, structures(d.snapshot()))
	require.Equal(t, []uint32{d.applied}, structures(d.snapshot()), "without rows")
	d.acknowledge(d.applied)
	d.move(d.fresh)
	require.Equal(t, []uint32{d.written}, structures(d.snapshot()), "nothing goes ahead")

	d.acknowledge(d.written)
	d.move(d.old, d.fresh)
	require.Equal(t, []uint32{d.written}, structures(d.snapshot()))
}

// If a snapshot is not acknowledged in the usual time, the records after it count as late,
// because its packet had bytes of the stream.
func TestRowsGoAheadAfterALostSnapshot(t *testing.T) {
	d := newDelayedViewer(t)
	d.acknowledge(d.written)
	d.move(d.focus)
	d.snapshot() // lost
	d.spawn(3, 0)
	d.move(d.old, d.fresh)
	u := d.snapshot()
	require.Len(t, records(t, u), 1)
	require.Equal(t, []uint32{d.written}, structures(u), "the Enter is the next record")
}

// Rows that reference an entity do not go ahead of its overdue Enter, and events go ahead
// of no overdue record. Nothing goes ahead of an Answer (H7), or of the Enter of a focus
// that has a row.
func TestNothingGoesAheadOfWhatItNeeds(t *testing.T) {
	t.Run("reference", func(t *testing.T) {
		d := newDelayedViewer(t)
		d.link.Set(d.old, link{To: d.fresh})
		d.move(d.focus)
		h := headers(d.snapshot())
		require.Len(t, h, 2)
		require.Equal(t, foldOf(d.focus), h[0].Fold)
	})
	t.Run("event", func(t *testing.T) {
		d := newDelayedViewer(t)
		e := must.Get(d.rep.NewEvent(spark{Who: d.fresh}))
		require.True(t, d.viewer.Send(e))
		d.move(d.old)
		h := headers(d.snapshot())
		require.Len(t, h, 2)
		require.Empty(t, h[0].Events)
		require.NotEmpty(t, h[1].Events)
		require.Equal(t, []uint32{d.applied, d.written}, []uint32{h[0].Structure, h[1].Structure})
	})
	t.Run("focus", func(t *testing.T) {
		d := newDelayedViewer(t)
		d.viewer.SetFocus(d.fresh)
		d.written += uint32(len(records(t, d.snapshot())))
		d.acknowledge(d.applied)
		d.move(d.old, d.fresh)
		require.Equal(t, []uint32{d.written}, structures(d.snapshot()))
	})
	t.Run("answer", func(t *testing.T) {
		d := newDelayedViewer(t)
		d.viewer.Reject(1)
		d.move(d.old)
		require.Equal(t, []uint32{d.written + 1}, structures(d.snapshot()))
		d.acknowledge(d.written + 1)
		d.spawn(4, 0)
		d.snapshot()
		d.move(d.old)
		require.Equal(t, []uint32{d.written + 1}, structures(d.snapshot()))
	})
	t.Run("half a snapshot", func(t *testing.T) {
		d := newDelayedViewer(t)
		d.viewer.Reject(1)
		d.viewer.TakeStructure()
		d.acknowledge(d.written + 1)
		d.spawn(4, 0)
		d.snapshot()
		d.move(d.old)
		require.Equal(t, []uint32{d.written}, structures(d.snapshot()), "the Answer is of a snapshot that is not applied")
	})
}

// The usual delay of one connection says nothing about the next: after resuming, nothing is overdue
// before enough of its datagrams were acknowledged.
func TestNothingIsOverdueOnANewLink(t *testing.T) {
	d := newDelayedViewer(t)
	must.Have(d.viewer.Resume(d.applied))
	d.move(d.old)
	require.Equal(t, []uint32{d.written}, structures(d.snapshot()))
}

// The time between two connections is no delay: it does not postpone when records of the new
// connection are overdue.
func TestAnOutageIsNoUsualDelay(t *testing.T) {
	d := newDelayedViewer(t)
	for range 300 {
		d.world.Step()
		d.rep.AfterStep()
	}
	must.Have(d.viewer.Resume(d.applied))
	d.acknowledge(d.written) // of the datagram that arrived before the outage
	for range 15 {
		d.move(d.focus)
		d.snapshot()
		d.acknowledge(d.written)
	}
	fresh := d.spawn(4, 0)
	d.snapshot()
	d.acknowledge(d.written)
	d.move(d.old, fresh)
	require.Equal(t, []uint32{d.written, d.written + 1}, structures(d.snapshot()), "the Enter is overdue")
}

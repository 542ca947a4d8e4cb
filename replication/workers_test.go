package replication_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/worldd/worldd/internal/alloctest"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// TestWorkers: while entities and viewers come and go, any number of workers makes the same
// bytes, and the same counters except RowsCopied (R9).
func TestWorkers(t *testing.T) {
	defer goleak.VerifyNone(t)
	run := func(workers int) (sent [][]byte, stats replication.Stats) {
		const viewers = 37
		a := newManyViewers(t, 400, viewers, 60, replication.Config{SnapshotHz: 30, Workers: workers, BudgetBytesPerSecond: 20_000})
		defer a.rep.Close()
		sent = make([][]byte, viewers)
		var some []*replication.Viewer
		for tick := range 40 {
			a.step(0.3, 3)
			i := viewers + 5*tick
			a.world.Destroy(a.crowd[i])
			a.crowd[i] = a.spawn()
			a.rep.Capture()
			some = some[:0]
			for i, v := range a.viewers {
				if (tick+i)%5 != 0 {
					some = append(some, v)
				}
			}
			some = some[:len(some)-tick%3*12] // too few for another worker
			updates := a.rep.Snapshots(some)
			require.Len(t, updates, len(some))
			i = 0
			for n, v := range a.viewers {
				if i == len(some) || some[i] != v {
					continue
				}
				u := updates[i]
				i++
				sent[n] = append(sent[n], u.Stream...)
				sent[n] = append(sent[n], slices.Concat(u.Datagrams...)...)
				a.written[n] += a.records(u.Stream)
				if n%4 != tick%4 {
					require.NoError(t, v.Acknowledge(wire.Ack{Seen: true, Newest: v.Numbers().Seq, Mask: 1<<64 - 1, Structure: a.written[n]}))
				}
			}
		}
		return sent, a.rep.Stats()
	}
	want, one := run(1)
	for _, workers := range []int{2, 5} {
		got, stats := run(workers)
		for i := range want {
			require.Equal(t, want[i], got[i], "%d workers, viewer %d", workers, i)
		}
		require.Less(t, stats.RowsCopied, one.RowsCopied, "each worker codes its own rows")
		stats.RowsCopied = one.RowsCopied
		require.Equal(t, one, stats)
	}
}

// TestWorkersAllocateNothing: a warm tick allocates nothing with any number of workers.
func TestWorkersAllocateNothing(t *testing.T) {
	alloctest.SkipAudited(t)
	a := newManyViewers(t, 200, 20, 200, replication.Config{SnapshotHz: 30, Workers: 2, EnterRadius: 400, BudgetBytesPerSecond: 4_000_000})
	defer a.rep.Close()
	a.settle()
	tick := func() {
		for _, h := range a.crowd {
			a.world.SetVelocity(h, world.Vec3{X: a.rand.Float32() - 0.5})
		}
		a.world.Step()
		a.rep.AfterStep()
		a.rep.Capture()
		for _, u := range a.rep.Snapshots(a.viewers) {
			if len(u.Stream) > 0 || len(u.Datagrams) != 1 {
				t.Error("not warm")
			}
		}
		for i, v := range a.viewers {
			if v.Acknowledge(wire.Ack{Seen: true, Newest: v.Numbers().Seq, Mask: 1<<64 - 1, Structure: a.written[i]}) != nil {
				t.Error("not acknowledged")
			}
		}
	}
	alloctest.RequireNone(t, 100, 50, tick)
}

func TestWorkersAreBounded(t *testing.T) {
	require.NoError(t, replication.Config{Workers: 64}.Validate(60))
	require.ErrorContains(t, replication.Config{Workers: 65}.Validate(60), "workers")
	require.ErrorContains(t, replication.Config{Workers: -1}.Validate(60), "workers")
	sampled := rowcodec.DefaultTables().Sampled(func(rowschema.Row, *rowcodec.Past) {})
	require.ErrorContains(t, replication.Config{Workers: 2, Tables: sampled}.Validate(60), "sampled")
}

// Workers refresh stale rows for each other: clients that simulate receive the same bytes, and the
// race detector finds no access outside the lock.
func TestWorkersForClientsThatSimulate(t *testing.T) {
	run := func(workers int) []*walker {
		m := newStormWorld(t, 24, 0, replication.Config{Workers: workers}, true)
		defer m.rep.Close()
		viewers := make([]*replication.Viewer, len(m.viewers))
		for i, w := range m.viewers {
			viewers[i] = w.Viewer
		}
		for range 150 {
			m.step()
			m.rep.Capture()
			for i, u := range m.rep.Snapshots(viewers) {
				w := m.viewers[i]
				w.trace = append(w.trace, u.Stream...)
				require.NoError(t, w.client.stream(u.Stream))
				for _, d := range u.Datagrams {
					w.trace = append(w.trace, d...)
					must.Get(w.client.datagram(d))
				}
				require.NoError(t, w.Acknowledge(w.client.ack()))
			}
		}
		return m.viewers
	}
	want := run(1)
	for i, w := range run(2) {
		require.Equal(t, want[i].trace, w.trace, "viewer %d", i)
	}
}

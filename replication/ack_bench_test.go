package replication

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// BenchmarkHostileAck measures the most expensive acknowledgement: it covers as many
// snapshots as one Input can, each unacknowledged and with the maximum number of rows.
// ns/worst is the time of one acknowledgement in the fastest round.
func BenchmarkHostileAck(b *testing.B) {
	type lamp struct{ On bool }
	const entities, snapshots = wire.MaxRows, 65
	w := must.Get(world.New(world.Config{Seed: 1}))
	lamps := must.Get(world.Register[lamp](w, "lamp"))
	kind := must.Get(w.AddKind(world.Kind{Name: "lamp"}))
	s := schema.New()
	schema.Define[lamp](s, "lamp")
	require.NoError(b, s.Err())
	r := must.Get(New(w, s, Config{SnapshotHz: 60, BudgetBytesPerSecond: 10_000_000}))
	for range entities {
		h := must.Get(w.Spawn(kind, world.Vec3{}, world.Vec3{}))
		lamps.Set(h, lamp{})
	}
	v := r.AddViewer(0)
	on := false
	sent := uint64(0)
	step := func() {
		on = !on
		for slot := range w.Live().All() {
			lamps.Mut(w.Slots().Handle(slot)).On = on
		}
		w.Step()
		r.AfterStep()
		r.Capture()
		v.Snapshot()
	}
	worst := time.Duration(0)
	for b.Loop() {
		sent = v.Stats().Rows
		for range snapshots {
			step()
		}
		a := wire.Ack{Seen: true, Newest: v.Numbers().Seq, Mask: 1<<64 - 1, Structure: v.outbox.structure.sent}
		began := time.Now()
		require.NoError(b, v.Acknowledge(a))
		if took := time.Since(began); worst == 0 || took < worst {
			worst = took
		}
	}
	b.ReportMetric(float64(worst), "ns/worst")
	b.ReportMetric(float64(v.Stats().Rows-sent), "rows")
	b.ReportMetric(0, "ns/op")
}

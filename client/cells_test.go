package client_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/mutate"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// messages returns Structure messages of n records, made by of.
func (p *replicaServer) messages(n int, of func(i uint32) wire.Record) (all [][]byte, bytes uint64) {
	const most = 4000 // records of at most 15 bytes
	for i := 0; i < n; i += most {
		var records []wire.Record
		for j := i; j < min(i+most, n); j++ {
			records = append(records, of(uint32(j)))
		}
		m := p.structure(records...)
		all, bytes = append(all, m), bytes+uint64(len(m))
	}
	return all, bytes
}

// The announced size of the world costs a client nothing. Records cost memory in proportion to
// their bytes, at any distance of their slots.
func TestMemoryFollowsWhatComes(t *testing.T) {
	racetest.SkipUnchecked(t)
	const (
		perByte = 128      // received: a handle and its verdict take 7
		once    = 10 << 20 // always: pointers to all possible pages of cells
	)
	s := schema.New()
	schema.Define[health](s, "health")
	require.NoError(t, s.Err())
	welcome := stage.Welcome(s)
	welcome.TickHz, welcome.SnapshotHz, welcome.MaxSlots, welcome.Tick = 65535, 65535, wire.MaxSlots, 1
	greeting := wire.AppendMessage(nil, welcome)
	least := uint64(math.MaxUint64) // connections of earlier tests allocate while they end
	for range 5 {
		session := must.Get(client.NewSession(client.SessionConfig{Schema: s}))
		var err error
		least = min(least, allocatedBy(func() { err = session.ReceiveStream(greeting) }))
		require.NoError(t, err)
	}
	require.Less(t, least, uint64(64<<10), "a Welcome")
	for _, apart := range []uint32{1, 16, 64, 1024, 4096, 1 << 20} {
		n := int(min(wire.MaxSlots/apart, 20_000))
		of := func(i uint32) bulk.Handle { return h((i+1)*apart-1, 1) }
		p := newReplicaServer(t, 1, wire.MaxSlots)
		p.replica = client.NewApplier(p.codec, 1, wire.MaxSlots, client.Observer{})
		empty := wire.Record{Op: wire.OpEnter, Row: []byte{0}}
		for _, c := range []struct {
			about string
			of    func(i uint32) wire.Record
		}{
			{"enters", func(i uint32) wire.Record { r := empty; r.Handle = of(i); return r }},
			{"leaves", func(i uint32) wire.Record { return leave(of(i)) }},
			{"destroys", func(i uint32) wire.Record { return destroy(of(i)) }},
			{"destroys unheard of", func(i uint32) wire.Record { return destroy(h(of(i).Index()-apart/2, 3)) }},
		} {
			all, bytes := p.messages(n, c.of)
			var err error
			took := allocatedBy(func() {
				for _, m := range all {
					err = p.replica.ApplyStructure(m)
				}
			})
			t.Logf("%s, %d apart: %d bytes for %d, %.1f for each", c.about, apart, took, bytes, float64(took)/float64(bytes))
			require.NoError(t, err)
			require.Less(t, took, once+perByte*bytes, "%d %s, %d slots apart, in %d bytes", n, c.about, apart, bytes)
		}
	}
}

// BenchmarkResolve measures a verdict on one of 10,000 known handles.
func BenchmarkResolve(b *testing.B) {
	p := newReplicaServer(b, 1, 1<<16)
	const n = 10_000
	all, _ := p.messages(n, func(i uint32) wire.Record { return wire.Record{Op: wire.OpEnter, Handle: h(i, 1), Row: []byte{0}} })
	for _, m := range all {
		require.NoError(b, p.replica.ApplyStructure(m))
	}
	order := rand.New(rand.NewPCG(1, 2)).Perm(n)
	live := 0
	for b.Loop() {
		for _, i := range order {
			if p.replica.Resolve(h(uint32(i), 1)) == wire.Live {
				live++
			}
		}
	}
	require.Positive(b, live)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/handle")
}

// allocatedBy returns how many bytes do allocates.
func allocatedBy(do func()) uint64 {
	before := mutate.Allocated()
	do()
	return mutate.Allocated() - before
}

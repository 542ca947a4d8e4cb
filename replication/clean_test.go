package replication_test

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/alloctest"
	"github.com/worldd/worldd/internal/invariants"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/internal/scenes"
	"github.com/worldd/worldd/internal/scenes/messages"
	"github.com/worldd/worldd/internal/shorttest"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// stormWorld is the storm with viewers that walk and poke. Some of them simulate.
type stormWorld struct {
	t       testing.TB
	scene   *scenes.Scene
	world   *world.World
	rep     *replication.Replicator
	viewers []*walker
	rand    *rand.Rand
}

type walker struct {
	*replication.Viewer
	entity  bulk.Handle
	client  *simClient // nil: the client does not simulate
	heading float64
	bytes   int
	written uint32
	away    int        // ticks until it resumes
	acks    []wire.Ack // acknowledgements on their way, oldest first
	trace   []byte
}

func newStormWorld(t testing.TB, simulating, ordinary int, c replication.Config, allow bool) *stormWorld {
	return newStormWorldAt(t, 60, simulating, ordinary, c, allow)
}

// newStormWorldAt makes a stormWorld of tickHz ticks a second, with as many snapshots as the storm unless
// c says otherwise.
func newStormWorldAt(t testing.TB, tickHz, simulating, ordinary int, c replication.Config, allow bool) *stormWorld {
	skipWithoutWorkers(t, c)
	file := must.Get(scenes.Named("storm"))
	file.TickHz = tickHz
	for i := range file.Kinds {
		file.Kinds[i].Exact = true
	}
	scene := must.Get(scenes.Build(file))
	s := schema.New()
	schema.Define[schema.Body](s, schema.BodyComponent)
	schema.Define[messages.Identity](s, messages.Identities.Name())
	require.NoError(t, s.Err())
	require.NoError(t, replication.DeclareWorld(s, scene.World))
	c.SnapshotHz = cmp.Or(c.SnapshotHz, file.SnapshotHz)
	c.EnterRadius, c.LeaveRadius = file.Interest.EnterRadius, file.Interest.LeaveRadius
	rep := must.Get(replication.New(scene.World, s, c))
	m := &stormWorld{t: t, scene: scene, world: scene.World, rep: rep, rand: rand.New(rand.NewPCG(7, 7))}
	for i := range simulating + ordinary {
		h := must.Get(scene.Join())
		w := &walker{Viewer: rep.AddViewer(h), entity: h, heading: 2 * math.Pi * m.rand.Float64()}
		if i < simulating && allow {
			require.True(t, w.Simulate())
			w.client = newSimClient(rep, scene.World)
		}
		m.viewers = append(m.viewers, w)
	}
	return m
}

// step steers the walkers and steps the world.
func (m *stormWorld) step() {
	m.steer()
	m.world.Step()
	m.rep.AfterStep()
}

// steer steers each walker about once in 2 s, and equally often pokes an entity near the
// last walker.
func (m *stormWorld) steer() {
	for _, w := range m.viewers {
		if m.world.Tick() == 0 || m.rand.IntN(120) == 0 {
			w.heading += m.rand.NormFloat64()
			m.scene.Steer(w.entity, [2]float32{float32(math.Cos(w.heading)), float32(math.Sin(w.heading))})
		}
		if m.rand.IntN(120) == 0 {
			for h := range m.viewers[len(m.viewers)-1].InterestSet() {
				if m.scene.Poke(h) == nil {
					break
				}
			}
		}
	}
}

// dueViewers returns the viewers whose turn it is. It captures the frame for the first of them.
func dueViewers(rep *replication.Replicator, viewers []*walker) iter.Seq2[int, *walker] {
	return func(yield func(i int, w *walker) bool) {
		captured := false
		for i, w := range viewers {
			if !rep.Due(uint64(i)) {
				continue
			}
			if !captured {
				rep.Capture()
				captured = true
			}
			if !yield(i, w) {
				return
			}
		}
	}
}

// send sends snapshots to the viewers whose turn it is, with acknowledgements some ticks
// later. It loses one datagram in lose, if that is not 0.
func (m *stormWorld) send(lose int, check func(w *walker, h wire.StateHeader)) {
	for i, w := range dueViewers(m.rep, m.viewers) {
		if delay := 1 + i%3; len(w.acks) > delay {
			require.NoError(m.t, w.Acknowledge(w.acks[0]))
			w.acks = w.acks[1:]
		}
		u := w.Snapshot()
		require.NoError(m.t, w.CheckInvariants())
		w.bytes += bytesOf(u)
		if w.client == nil {
			w.trace = append(w.trace, u.Stream...)
			w.written += uint32(len(records(m.t, u)))
			w.trace = append(w.trace, slices.Concat(u.Datagrams...)...)
			w.acks = append(w.acks, wire.Ack{Seen: true, Newest: w.Numbers().Seq, Mask: 1<<64 - 1, Structure: w.written})
			continue
		}
		require.NoError(m.t, w.client.stream(u.Stream))
		for _, d := range u.Datagrams {
			if lose > 0 && m.rand.IntN(lose) == 0 {
				continue
			}
			h, err := w.client.datagram(d)
			require.NoError(m.t, err, "viewer %d, tick %d", i, m.rep.Tick())
			if check != nil {
				check(w, h)
			}
		}
		w.acks = append(w.acks, w.client.ack())
	}
}

// P1: after a complete snapshot, every exact body in view equals the world's, bit for bit.
func TestExactBodiesEqual(t *testing.T) {
	racetest.SkipSequential(t)
	m := newStormWorld(t, 6, 2, replication.Config{}, true)
	compared, complete, incomplete := 0, 0, 0
	for tick := range shorttest.Pick(900, 240) {
		m.step()
		lose := 0
		if tick > 60 {
			lose = 12
		}
		m.send(lose, func(w *walker, h wire.StateHeader) {
			if w.client.complete != h.Tick {
				incomplete++
				return
			}
			complete++
			n, _ := compareExact(t, m.world, w, h)
			compared += n
		})
	}
	audits := 0
	for _, w := range m.viewers {
		if w.client != nil {
			audits += w.client.audits
		}
	}
	t.Logf("%d states compared, %d complete snapshots, %d not, %d audits", compared, complete, incomplete, audits)
	require.Greater(t, compared, 100*complete)
	require.Zero(t, incomplete, "all rows fit")
	require.Greater(t, audits, complete/5, "one snapshot in four has an audit")
}

// Viewers of the storm that simulate cost less than a quarter of the bytes of ordinary
// viewers.
func TestCleanBytes(t *testing.T) {
	if invariants.Audits {
		t.Skip("measures: TestExactBodiesEqual audits such viewers")
	}
	racetest.SkipSequential(t)
	viewers, ticks := shorttest.Pick(50, 8), shorttest.Pick(1200, 300)
	cost := func(allow bool) (perSecond float64, stats replication.Stats) {
		m := newStormWorld(t, viewers, 0, replication.Config{}, allow)
		before, sum := replication.Stats{}, 0
		for tick := range 300 + ticks {
			if tick == 300 {
				before = m.rep.Stats()
				for _, w := range m.viewers {
					w.bytes = 0
				}
			}
			m.step()
			m.send(0, nil)
		}
		for _, w := range m.viewers {
			sum += w.bytes
		}
		stats = m.rep.Stats()
		per := func(name string, a, b uint64) {
			t.Logf("%-12s %8.1f per viewer and second", name, float64(a-b)/float64(viewers*ticks)*60)
		}
		per("state B", stats.StateBytes, before.StateBytes)
		per("stream B", stats.StructureBytes, before.StructureBytes)
		per("effect B", stats.EffectBytes, before.EffectBytes)
		per("rows", stats.Rows, before.Rows)
		per("full rows", stats.RowsWhole, before.RowsWhole)
		per("enters", stats.Enters, before.Enters)
		per("leaves", stats.Leaves, before.Leaves)
		per("destroys", stats.Destroys, before.Destroys)
		per("copied", stats.RowsCopied, before.RowsCopied)
		per("snapshots", stats.Snapshots, before.Snapshots)
		return float64(sum) / float64(viewers*ticks) * 60, stats
	}
	ordinary, _ := cost(false)
	clean, _ := cost(true)
	t.Logf("ordinary %.0f B/s, clean %.0f B/s", ordinary, clean)
	require.Less(t, clean, ordinary/4)
}

// P6: in a world with exact kinds, viewers that do not simulate receive the same bytes
// whether other viewers simulate or not.
func TestOrdinaryViewersUnaffected(t *testing.T) {
	racetest.SkipSequential(t)
	traces := func(simulating bool) (all [][]byte) {
		m := newStormWorld(t, 8, 0, replication.Config{BudgetBytesPerSecond: 20_000}, simulating)
		for i, w := range m.viewers {
			if simulating && i%2 == 1 {
				m.rep.RemoveViewer(w.Viewer)
				w.Viewer, w.client = m.rep.AddViewer(w.entity), nil
			}
		}
		for range 300 {
			m.step()
			m.send(0, nil)
		}
		for i, w := range m.viewers {
			if i%2 == 1 {
				require.Greater(t, len(w.trace), 10_000)
				all = append(all, w.trace)
			}
		}
		return all
	}
	require.Equal(t, traces(false), traces(true))
}

// A row of an exact body is owed if and only if the exact state that the client has
// acknowledged is older than the body's last disturbance.
func TestOwedRows(t *testing.T) {
	m := newStormWorld(t, 8, 0, replication.Config{}, true)
	owed, free := 0, 0
	for range shorttest.Pick(600, 240) {
		m.step()
		for _, w := range dueViewers(m.rep, m.viewers) {
			u := w.Snapshot()
			known := maps.Clone(w.client.members)
			require.NoError(t, w.client.stream(u.Stream))
			want := map[bulk.Handle]bool{}
			for slot, member := range known {
				if w.client.members[slot] == member && member.exact != 0 {
					if uint64(member.given) < m.world.Slots().Disturbed(slot) {
						want[member.handle] = true
						owed++
					} else if state, _ := m.world.Slots().Exact(slot); state.Awake {
						free++
					}
				}
			}
			require.Len(t, u.Datagrams, 1)
			w.client.rows = w.client.rows[:0]
			must.Get(w.client.datagram(u.Datagrams[0]))
			for _, row := range w.client.rows {
				if row.was {
					require.True(t, want[row.handle], "a row of %v at tick %d is not owed", row.handle, m.rep.Tick())
					delete(want, row.handle)
				}
			}
			require.Empty(t, want, "rows that are owed at tick %d", m.rep.Tick())
			require.NoError(t, w.Acknowledge(w.client.ack()))
		}
	}
	t.Logf("%d rows owed; %d awake bodies cost nothing", owed, free)
	require.Greater(t, owed, 20)
	require.Greater(t, free, 100*owed)
}

// A warm tick with viewers that simulate allocates nothing.
func TestCleanAllocations(t *testing.T) {
	alloctest.SkipAudited(t)
	m := newStormWorld(t, 8, 0, replication.Config{}, true)
	acks := make([]wire.Ack, len(m.viewers))
	for range 600 {
		m.step()
		m.rep.Capture()
		for i, w := range m.viewers {
			u := w.Snapshot()
			acks[i] = wire.Ack{Seen: true, Newest: w.Numbers().Seq, Mask: 1<<64 - 1, Structure: acks[i].Structure + uint32(len(records(t, u)))}
			require.NoError(t, w.Acknowledge(acks[i]))
		}
	}
	// Without disturbances, run until a step in which no effect changes or ends: logging a
	// change allocates.
	for acted := make([]world.EffectState, 1); len(acted) > 0; acted = m.world.Slots().AppendActedEffects(acted[:0]) {
		m.world.Step()
		m.rep.AfterStep()
		m.rep.Capture()
	}
	n := testing.AllocsPerRun(25, func() {
		for _, v := range m.viewers {
			v.Snapshot()
		}
		m.rep.AfterStep()
		m.rep.Capture()
	})
	require.Zero(t, n)
}

// A Resync sends the effects and everything else that computed bodies need again: the
// client's effects may be wrong.
func TestResyncSendsEffects(t *testing.T) {
	m := newStormWorld(t, 1, 0, replication.Config{}, true)
	client := m.viewers[0].client
	for range 60 {
		m.step()
		m.send(0, nil)
	}
	before := maps.Clone(client.effects)
	require.NotEmpty(t, before)
	m.viewers[0].Resync()
	for range 6 {
		m.step()
		m.send(0, nil)
	}
	acting := 0
	for slot, e := range client.effects {
		if e.Last >= uint64(m.rep.Tick()) {
			require.NotSame(t, before[slot], e, "slot %d", slot)
			acting++
		}
	}
	require.Positive(t, acting)
}

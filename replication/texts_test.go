package replication_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/alloctest"
	"github.com/worldd/worldd/internal/invariants"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// plate has text fields 0 to 2.
type plate struct {
	Name  string `net:"max=24"`
	Bag   []byte `net:"max=1000"`
	Diary string `net:"max=40,owner"`
}

// plateWorld is a purseWorld whose traders may have plates.
type plateWorld struct {
	purseWorld
	plates *world.Component[plate]
	read   client.Component[plate]
}

func newPlateWorld(t *testing.T, n, viewers int, c replication.Config) *plateWorld {
	skipWithoutWorkers(t, c)
	m := &plateWorld{purseWorld: purseWorld{t: t, schema: schema.New()}}
	m.world = must.Get(world.New(world.Config{Seed: 1, Gravity: -1}))
	m.plates = register[plate](m.world, "plate")
	m.trader = must.Get(m.world.AddKind(world.Kind{Name: "trader", Body: &world.BodyDef{Mass: 1, Radius: 0.5, Kinematic: true}}))
	schema.Define[schema.Body](m.schema, schema.BodyComponent)
	schema.Define[plate](m.schema, "plate")
	require.NoError(t, m.schema.Err())
	m.read = must.Get(client.ComponentOf[plate](m.schema, "plate"))
	m.rep = must.Get(replication.New(m.world, m.schema, c))
	for i := range n {
		m.all = append(m.all, m.spawn(float32(i)))
		m.plates.Set(m.all[i], plate{Name: fmt.Sprint("n", i)})
	}
	for i := range viewers {
		m.viewers = append(m.viewers, &viewerClient{
			Viewer:  m.rep.AddViewer(m.all[i]),
			replica: newAppliedClient(m.t, m.rep, m.world.TickHz(), client.SessionConfig{}),
		})
	}
	return m
}

func always() bool { return true }

// seen returns the plate of h at a viewer's client.
func (m *plateWorld) seen(viewer int, h bulk.Handle) plate {
	m.t.Helper()
	p := must.Have(m.read.Get(m.viewers[viewer].replica.Entity(h)))
	return p
}

// texts returns how many Text records the clients have applied.
func (m *plateWorld) texts() (n uint64) {
	for _, v := range m.viewers {
		n += v.replica.Stats().Texts
	}
	return n
}

func TestTextsEnterAndChange(t *testing.T) {
	m := newPlateWorld(t, 3, 2, replication.Config{})
	m.plates.Set(m.all[0], plate{"Ada", []byte{0, 255}, "dear diary"})
	m.step(always)
	require.Equal(t, plate{"Ada", []byte{0, 255}, "dear diary"}, m.seen(0, m.all[0]))
	require.Equal(t, plate{Name: "Ada", Bag: []byte{0, 255}}, m.seen(1, m.all[0]))
	require.Equal(t, plate{Name: "n2"}, m.seen(0, m.all[2]))
	for range 50 {
		m.plates.Mut(m.all[1]).Name = "n1" // as before
		m.step(always)
	}
	require.Zero(t, m.texts())
	entered := m.rep.Stats().TextBytes
	require.EqualValues(t, 18+4+4+7+5+4, entered, "a length and the bytes of each")

	m.plates.Mut(m.all[0]).Name = "Eve"
	m.step(always)
	record := wire.AppendRecord(nil, wire.Record{Op: wire.OpText, Handle: m.all[0], Data: []byte("Eve")})
	require.EqualValues(t, 2*len(record), m.rep.Stats().TextBytes-entered)
	require.EqualValues(t, 2, m.texts(), "one for each viewer")
	require.Equal(t, "Eve", m.seen(0, m.all[0]).Name)
	require.Equal(t, "Eve", m.seen(1, m.all[0]).Name)
	m.plates.Mut(m.all[2]).Diary = "of nobody here"
	m.plates.Mut(m.all[1]).Diary = "for viewer 1"
	m.step(always)
	require.EqualValues(t, 3, m.texts())
	require.Equal(t, "for viewer 1", m.seen(1, m.all[1]).Diary)
	require.Empty(t, m.seen(0, m.all[1]).Diary)

	m.plates.Remove(m.all[2])
	m.step(always)
	m.plates.Set(m.all[2], plate{Name: "back"})
	m.step(always)
	require.Equal(t, plate{Name: "back"}, m.seen(1, m.all[2]))
	require.EqualValues(t, 3, m.texts(), "another set of components enters again")
}

// A value is cut to the length that the schema allows. The world keeps the whole value.
func TestTextsAreCut(t *testing.T) {
	m := newPlateWorld(t, 1, 1, replication.Config{})
	long := strings.Repeat("ä", 20)
	m.plates.Set(m.all[0], plate{Name: long, Bag: make([]byte, 5000), Diary: "a\xffb"})
	m.step(always)
	require.Equal(t, plate{strings.Repeat("ä", 12), make([]byte, 1000), "a\ufffdb"}, m.seen(0, m.all[0]))
	require.Equal(t, long, m.plates.Get(m.all[0]).Name)
	m.plates.Mut(m.all[0]).Name += "!" // beyond the cut
	for range 30 {
		m.step(always)
	}
	require.Zero(t, m.texts())
}

// A text that changes every tick is sent four times a second, and the newest wins.
func TestTextRate(t *testing.T) {
	for bytes, most := range map[int]uint64{5: 41, 250: 41, 1000: 11} {
		m := newPlateWorld(t, 1, 1, replication.Config{SnapshotHz: 60})
		m.step(always)
		for i := range 600 {
			m.plates.Mut(m.all[0]).Bag = []byte(fmt.Sprintf("%0*d", bytes, i))
			m.step(always)
		}
		require.LessOrEqual(t, m.texts(), most, "%d bytes", bytes)
		require.GreaterOrEqual(t, m.texts(), most-3, "%d bytes", bytes)
		for range 60 {
			m.step(always)
		}
		require.Equal(t, fmt.Sprintf("%0*d", bytes, 599), string(m.seen(0, m.all[0]).Bag))
	}
}

// A first change is sent at once. Other changes do not shorten the pause after a long text.
func TestTextPause(t *testing.T) {
	m := newPlateWorld(t, 1, 1, replication.Config{SnapshotHz: 60})
	for range 20 {
		m.step(always)
	}
	m.plates.Mut(m.all[0]).Bag = make([]byte, 1000)
	m.step(always)
	require.Len(t, m.seen(0, m.all[0]).Bag, 1000)
	m.plates.Mut(m.all[0]).Name = "x"
	waited := 0
	for ; m.seen(0, m.all[0]).Name != "x"; waited++ {
		m.step(always)
	}
	require.InDelta(t, 60, waited, 2, "about a second at 1,024 bytes a second")
}

// A flood of changed texts takes at most a quarter of the budget, plus the texts of one
// entity per snapshot. Bodies keep moving, and no entity is forgotten.
func TestTextFlood(t *testing.T) {
	const n, perSnapshot = 200, 20_000 / 20
	m := newPlateWorld(t, n, 1, replication.Config{BudgetBytesPerSecond: 20_000, SnapshotHz: 20, EnterRadius: 500})
	for m.viewers[0].replica.Len() < n {
		m.step(always)
	}
	rows, structure := m.viewers[0].Stats().Rows, m.viewers[0].Stats().StructureBytes
	const snapshots = 200
	for i := range snapshots {
		for k, h := range m.all {
			m.plates.Mut(h).Bag = []byte(fmt.Sprintf("%0100d", i))
			m.world.SetPosition(h, world.Vec3{X: float32(k), Y: 1, Z: float32(i % 9)})
		}
		m.step(always)
	}
	sent := m.viewers[0].Stats()
	require.Less(t, sent.StructureBytes-structure, uint64(snapshots*(perSnapshot/2+150)))
	require.Greater(t, sent.StructureBytes-structure, uint64(snapshots*100))
	require.Greater(t, sent.Rows-rows, uint64(snapshots*20), "bodies keep moving")
	for range 400 {
		m.step(always)
	}
	for _, h := range m.all {
		require.Equal(t, fmt.Sprintf("%0100d", snapshots-1), string(m.seen(0, h).Bag))
	}
}

// The queue of a client that reads nothing stays bounded.
func TestTextsWaitForASilentClient(t *testing.T) {
	s := newPlateWorld(t, 50, 1, replication.Config{EnterRadius: 500})
	v := s.rep.AddViewer(s.all[0])
	unread := 0
	for i := range 2000 {
		for _, h := range s.all {
			s.plates.Mut(h).Bag = []byte(fmt.Sprintf("%0900d", i))
		}
		s.world.Step()
		s.rep.AfterStep()
		if s.rep.Due(0) {
			s.rep.Capture()
			unread += len(v.Snapshot().Stream)
		}
	}
	require.Greater(t, unread, 40<<10)
	require.Less(t, unread, 60<<10)
}

// A change costs its bytes and at most 12 more, including the frame and header of its
// message.
func TestTextChangeBytes(t *testing.T) {
	for _, c := range []struct{ slots, most int }{{100, 10}, {17_000, 12}} {
		if invariants.Audits && c.slots > 1000 {
			continue // audits of all slots in each tick take minutes
		}
		m := newPlateWorld(t, 1, 1, replication.Config{EnterRadius: 20, LeaveRadius: 30})
		for range c.slots {
			m.spawn(500)
		}
		h := m.spawn(1)
		m.plates.Set(h, plate{Name: "first"})
		m.step(always)
		for range 70 { // structure and ticks have passed
			m.plates.Mut(h).Name = "other"
			m.step(always)
			m.plates.Mut(h).Name = "again"
			m.step(always)
		}
		for range 10 {
			m.step(always)
		}
		before := m.viewers[0].Stats().StructureBytes
		m.plates.Mut(h).Name = "abcde"
		m.step(always)
		require.Equal(t, "abcde", m.seen(0, h).Name)
		cost := int(m.viewers[0].Stats().StructureBytes - before)
		t.Logf("slot %d: a 5-byte string changes for %d bytes", h.Index(), cost)
		require.LessOrEqual(t, cost, 5+c.most)
	}
}

// Texts lost with a connection are sent again, before anything later.
func TestTextsResume(t *testing.T) {
	m := newPlateWorld(t, 2, 1, replication.Config{})
	v := m.viewers[0]
	m.step(always)
	applied := v.replica.Stats().Ack.Structure
	for _, name := range []string{"one", "two"} {
		for range 20 {
			m.world.Step()
			m.rep.AfterStep()
			m.rep.Capture()
		}
		m.plates.Mut(m.all[1]).Name = name
		m.world.Step()
		m.rep.AfterStep()
		m.rep.Capture()
		require.NotEmpty(t, v.Snapshot().Stream) // lost
	}
	stream := must.Have(v.Resume(applied))
	got := records(t, replication.Update{Stream: stream})
	require.Len(t, got, 2)
	require.Equal(t, []wire.Op{wire.OpText, wire.OpText}, []wire.Op{got[0].Op, got[1].Op})
	require.Equal(t, "two", string(got[1].Data))
}

// TestOwnerTextsStayPrivate (R7): owner-only texts change neither the bytes that other
// clients are sent nor their order.
func TestOwnerTextsStayPrivate(t *testing.T) {
	play := func(secret bool) *plateWorld {
		m := newPlateWorld(t, 40, 3, replication.Config{EnterRadius: 100, BudgetBytesPerSecond: 6_000})
		r, hidden := rand.New(rand.NewPCG(7, 7)), rand.New(rand.NewPCG(8, 8))
		m.viewers[2].Own(m.all[39])
		for range 300 {
			for _, h := range m.all[3:] {
				p := m.plates.Mut(h)
				if r.IntN(3) == 0 {
					p.Name = fmt.Sprint(r.IntN(1000))
				}
				if hidden.IntN(4) == 0 && secret {
					p.Diary = fmt.Sprint("secret", hidden.IntN(1000))
				}
			}
			m.step(func() bool { return r.IntN(5) != 0 })
		}
		for range 200 {
			m.step(always)
		}
		return m
	}
	with, without := play(true), play(false)
	for i := range 2 {
		require.Equal(t, without.viewers[i].bytes, with.viewers[i].bytes, "viewer %d owns none of them", i)
		require.NotContains(t, string(with.viewers[i].bytes), "secret")
	}
	require.Contains(t, string(with.viewers[2].bytes), "secret")
	for i := range with.viewers {
		for _, h := range with.all {
			want := *with.plates.Get(h)
			if h != with.all[i] && (i != 2 || h != with.all[39]) {
				want.Diary = ""
			}
			require.Equal(t, want, with.seen(i, h))
		}
	}
}

// A text that changes while its entity changes owners is never sent to the former owner.
func TestTextsFollowOwnership(t *testing.T) {
	m := newPlateWorld(t, 5, 1, replication.Config{EnterRadius: 100, BudgetBytesPerSecond: 3_000})
	r, v := rand.New(rand.NewPCG(1, 2)), m.viewers[0]
	for i := range 500 {
		h := m.all[1+r.IntN(4)]
		m.plates.Mut(h).Diary = fmt.Sprint(i)
		if v.Owns(h) {
			v.Disown(h)
		} else {
			v.Own(h)
		}
		if r.IntN(10) == 0 {
			m.plates.Remove(h)
			m.step(always)
			m.plates.Set(h, plate{Name: "back"})
		}
		m.step(always) // the replica refuses a field that it may not have
	}
	for range 100 {
		m.step(always)
	}
	for _, h := range m.all {
		want := *m.plates.Get(h)
		if !v.Owns(h) {
			want.Diary = ""
		}
		require.Equal(t, want, m.seen(0, h))
	}
}

// R9: workers do not change the data that viewers are sent.
func TestTextsOfWorkers(t *testing.T) {
	play := func(workers int) []string {
		m := newPlateWorld(t, 40, 0, replication.Config{Workers: workers, EnterRadius: 100})
		defer m.rep.Close()
		var viewers []*replication.Viewer
		for _, h := range m.all {
			viewers = append(viewers, m.rep.AddViewer(h))
		}
		sent := make([]string, len(viewers))
		for i := range 100 {
			m.plates.Mut(m.all[i%40]).Name = fmt.Sprint(i)
			m.world.Step()
			m.rep.AfterStep()
			m.rep.Capture()
			for k, u := range m.rep.Snapshots(viewers) {
				sent[k] += string(u.Stream)
			}
		}
		return sent
	}
	require.Equal(t, play(1), play(4))
}

// A panic of a worker is the caller's, with the worker's stack.
func TestPanicOfWorker(t *testing.T) {
	m := newPlateWorld(t, 40, 0, replication.Config{Workers: 4, EnterRadius: 100})
	defer m.rep.Close()
	var viewers []*replication.Viewer
	for _, h := range m.all {
		viewers = append(viewers, m.rep.AddViewer(h))
	}
	viewers[len(viewers)-1] = new(replication.Viewer) // of the last worker
	m.world.Step()
	m.rep.AfterStep()
	m.rep.Capture()
	var failed *replication.WorkerPanic
	func() {
		defer func() { failed, _ = recover().(*replication.WorkerPanic) }()
		m.rep.Snapshots(viewers)
	}()
	require.NotNil(t, failed)
	require.ErrorContains(t, failed.Value.(error), "nil pointer")
	require.ErrorContains(t, failed, "nil pointer")
	require.ErrorContains(t, failed, "makeSnapshot")
}

// After a panic of the caller's own share no worker reads the world, which its owner may change or close.
func TestPanicOfOwnShare(t *testing.T) {
	m := newPlateWorld(t, 400, 0, replication.Config{Workers: 4, EnterRadius: 100})
	defer m.rep.Close()
	viewers := []*replication.Viewer{new(replication.Viewer)}
	for _, h := range m.all {
		viewers = append(viewers, m.rep.AddViewer(h))
	}
	m.world.Step()
	m.rep.AfterStep()
	m.rep.Capture()
	require.Panics(t, func() { m.rep.Snapshots(viewers) })
	for _, h := range m.all { // the race detector notices a worker
		m.plates.Set(h, plate{Name: "changed"})
		m.world.SetPosition(h, world.Vec3{})
	}
	m.rep.Capture()
}

// Moving entities whose texts are set to equal values do not allocate.
func TestTextsThatStayDoNotAllocate(t *testing.T) {
	m := newPlateWorld(t, 100, 1, replication.Config{EnterRadius: 500})
	v := m.viewers[0].Viewer
	for _, h := range m.all {
		m.plates.Mut(h).Bag = []byte("sword, shield")
	}
	i := 0
	tick := func() {
		i++
		for k, h := range m.all {
			m.world.SetPosition(h, world.Vec3{X: float32(k), Y: 1, Z: float32(i % 64)})
			m.plates.Mut(h).Name = "n"
		}
		m.world.Step()
		m.rep.AfterStep()
		m.rep.Capture()
		v.Snapshot()
		_ = v.Acknowledge(wire.Ack{Seen: true, Newest: v.Numbers().Seq, Mask: 1<<64 - 1})
	}
	for range 100 {
		m.step(always)
	}
	alloctest.RequireNone(t, 300, 100, tick)
}

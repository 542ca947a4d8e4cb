package client_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

func h(slot, generation uint32) bulk.Handle { return bulk.NewHandle(slot, generation) }

func TestVerdicts(t *testing.T) {
	p := newReplicaServer(t, 3, 100)
	verdict := func(want wire.Verdict, handle bulk.Handle, why string) {
		t.Helper()
		before := p.replica.Stats()
		require.Equal(t, want, p.replica.Resolve(handle), why)
		e := p.replica.Entity(handle)
		require.Equal(t, want == wire.Live, e != nil, why)
		if e != nil {
			require.Equal(t, handle, e.Handle(), why)
		}
		require.Equal(t, before, p.replica.Stats(), "a question changes nothing")
	}
	verdict(wire.Stale, 0, "zero names nothing")
	verdict(wire.Stale, h(5, 4), "even generations name nothing")
	verdict(wire.Stale, h(5, 1), "H5: below the floor")
	verdict(wire.Stale, h(100, 3), "no such slot")
	verdict(wire.Pending, h(5, 3), "never heard of")
	p.send(p.enter(h(5, 5), 7))
	verdict(wire.Live, h(5, 5), "entered")
	verdict(wire.Stale, h(5, 3), "an earlier tenant")
	verdict(wire.Pending, h(5, 7), "a later tenant")
	p.send(leave(h(5, 5)))
	verdict(wire.Hidden, h(5, 5), "left")
	require.Nil(t, p.replica.Entity(h(5, 5)))
	p.send(p.enter(h(5, 5), 8))
	verdict(wire.Live, h(5, 5), "entered again")
	p.send(leave(h(5, 5)), destroy(h(5, 5)))
	verdict(wire.Stale, h(5, 5), "H3: destroyed out of sight")
	p.send(destroy(h(6, 9)))
	verdict(wire.Stale, h(6, 9), "killed before it was ever heard of")
	verdict(wire.Stale, h(6, 7), "and all before it")
	verdict(wire.Pending, h(6, 11), "but none after it")
	p.wantHeard("enter 5v5", "leave 5v5", "enter 5v5", "leave 5v5", "destroy 5v5", "destroy 6v9")
	require.Error(t, p.replica.ApplyStructure(p.structure(p.enter(h(6, 9), 1))), "C3: stale is final")
}

func TestReuseInOneMessage(t *testing.T) {
	p := newReplicaServer(t, 1, 100)
	p.send(p.enter(h(5, 1), 7))
	p.send(destroy(h(5, 1)), p.enter(h(5, 3), 9))
	p.wantHeard("enter 5v1", "destroy 5v1", "enter 5v3")
	require.Equal(t, wire.Stale, p.replica.Resolve(h(5, 1)))
	require.Equal(t, 9, p.points(h(5, 3)))
	p.send(leave(h(5, 1)), destroy(h(5, 1)))
	require.Empty(t, p.heard, "records of an earlier tenant")
	require.Equal(t, 9, p.points(h(5, 3)))
}

func TestEnterOverALiveTenant(t *testing.T) {
	p := newReplicaServer(t, 1, 100)
	p.send(p.enter(h(5, 1), 7))
	p.send(p.enter(h(5, 3), 8))
	p.wantHeard("enter 5v1", "destroy 5v1", "enter 5v3")
	p.send(destroy(h(5, 7)))
	p.wantHeard("destroy 5v3", "destroy 5v7")
	require.Zero(t, p.replica.Len())
}

// An entity that re-enters keeps its *Entity, which is valid until Leave or Destroy and
// continues to be updated.
func TestEntityOutlivesReentering(t *testing.T) {
	p := newReplicaServer(t, 1, 100)
	p.send(p.enter(h(4, 1), 6), p.enter(h(5, 1), 7))
	p.apply(client.Applied, p.state(1, 2, update{h: h(5, 1), age: entered, now: 8, base: 7}))
	e := p.replica.Entity(h(5, 1))
	p.send(p.enter(h(5, 1), 9))
	points := func() int {
		return int(must.Have(p.health.Get(e)).Points)
	}
	require.Equal(t, 9, points())
	p.apply(client.Applied, p.state(2, 3, update{h: h(5, 1), age: entered, now: 10, base: 9}))
	require.Equal(t, 10, points())
	require.Equal(t, 2, p.replica.Len())
	require.Same(t, e, p.replica.Entity(h(5, 1)))
	p.wantHeard("enter 4v1", "enter 5v1", "update 5v1", "enter 5v1", "update 5v1")
	p.send(destroy(h(5, 1)), destroy(h(4, 1)))
	require.Zero(t, p.replica.Len())
}

// An Update callback sees the other entities of the datagram at the same tick.
func TestUpdatesAreReportedTogether(t *testing.T) {
	p := newReplicaServer(t, 1, 100)
	p.send(p.enter(h(4, 1), 6), p.enter(h(5, 1), 7))
	var seen [][2]int
	p.watch = func() { seen = append(seen, [2]int{p.points(h(4, 1)), p.points(h(5, 1))}) }
	p.apply(client.Applied, p.state(1, 2, update{h: h(4, 1), age: entered, now: 8, base: 6}, update{h: h(5, 1), age: entered, now: 9, base: 7}))
	require.Equal(t, [][2]int{{8, 9}, {8, 9}}, seen)
}

func TestStateOvertakesStructure(t *testing.T) {
	p := newReplicaServer(t, 1, 100)
	body := p.structure(p.enter(h(5, 1), 7))
	p.apply(client.Held, p.state(1, 1, update{h: h(5, 1), age: entered, now: 8, base: 7}))
	require.False(t, p.replica.Stats().Ack.Seen, "H6: received is not applied")
	require.NoError(t, p.replica.ApplyStructure(body))
	require.Equal(t, 8, p.points(h(5, 1)))
	require.Equal(t, wire.Ack{Seen: true, Newest: 1, Structure: 1}, p.replica.Stats().Ack)
}

// SnapshotStructure is the highest structure number of applied snapshots, in any order of
// arrival of structure and snapshots.
func TestSnapshotStructure(t *testing.T) {
	p := newReplicaServer(t, 1, 100)
	p.send(p.enter(h(5, 1), 7))
	require.Zero(t, p.replica.Stats().SnapshotStructure)
	p.apply(client.Applied, p.state(1, 1))
	first, second := p.structure(p.enter(h(6, 1), 8)), p.structure(destroy(h(5, 1)))
	newest := p.state(4, 3)
	require.NoError(t, p.replica.ApplyStructure(first))
	p.apply(client.Applied, p.state(2, 1))
	p.apply(client.Held, newest)
	require.EqualValues(t, 2, p.replica.Stats().Ack.Structure)
	require.EqualValues(t, 1, p.replica.Stats().SnapshotStructure, "the applied snapshot was older")
	require.NoError(t, p.replica.ApplyStructure(second))
	require.EqualValues(t, 3, p.replica.Stats().SnapshotStructure)
	p.apply(client.Applied, p.state(3, 1))
	require.EqualValues(t, 3, p.replica.Stats().SnapshotStructure)
}

// Held datagrams are applied in order of their sequence numbers, each as soon as its
// structure arrives.
func TestHeldGoOldestFirst(t *testing.T) {
	p := newReplicaServer(t, 1, 100)
	first := p.structure(p.enter(h(5, 1), 7), p.enter(h(6, 1), 7))
	second := p.structure(p.enter(h(7, 1), 7))
	p.apply(client.Held, p.state(3, 3, update{h: h(7, 1), age: entered, now: 8, base: 7}))
	p.apply(client.Held, p.state(2, 2, update{h: h(5, 1), age: entered, now: 9, base: 7}))
	p.apply(client.Held, p.state(1, 2, update{h: h(5, 1), age: entered, now: 8, base: 7}))
	require.NoError(t, p.replica.ApplyStructure(first))
	require.EqualValues(t, 2, p.replica.Stats().Ack.Newest)
	require.NoError(t, p.replica.ApplyStructure(second))
	p.wantHeard("enter 5v1", "enter 6v1", "update 5v1", "update 5v1", "enter 7v1", "update 7v1")
}

// A malformed datagram is an error even if it was held.
func TestHeldBreach(t *testing.T) {
	late, early := newReplicaServer(t, 1, 100), newReplicaServer(t, 1, 100)
	breach := func(p *replicaServer) []byte {
		d := p.state(1, 1, update{h: h(5, 1), age: whole, now: 8})
		return append(d, 0) // bytes after the last row
	}
	late.send(late.enter(h(5, 1), 7))
	_, refused := late.replica.ApplyState(breach(late))
	require.Equal(t, wire.BadMessage, wire.CodeOf(refused))
	early.apply(client.Held, breach(early))
	require.Equal(t, refused, early.replica.ApplyStructure(early.structure(early.enter(h(5, 1), 7))))
	require.Equal(t, 7, early.points(h(5, 1)))
}

func TestHeldAreBounded(t *testing.T) {
	p := newReplicaServer(t, 1, 100)
	body := p.structure(p.enter(h(5, 1), 7))
	for seq := uint32(1); seq <= 40; seq++ {
		p.apply(client.Held, p.state(seq, 1, update{h: h(5, 1), age: whole, now: seq, base: 0}))
		p.apply(client.Held, p.state(seq, 1, update{h: h(5, 1), age: whole, now: seq, base: 0}))
	}
	require.NoError(t, p.replica.ApplyStructure(body))
	require.Equal(t, 40, p.points(h(5, 1)))
	require.EqualValues(t, 24, p.replica.Stats().Overflowed)
	require.EqualValues(t, 16, p.replica.Stats().Snapshots)
}

// If too many datagrams are held, the one with the lowest sequence number is dropped, even if
// it arrives last.
func TestTheLowestHeldIsDropped(t *testing.T) {
	p := newReplicaServer(t, 1, 100)
	body := p.structure(p.enter(h(5, 1), 7))
	for seq := uint32(17); seq > 0; seq-- {
		p.apply(client.Held, p.state(seq, 1))
	}
	require.NoError(t, p.replica.ApplyStructure(body))
	require.Equal(t, wire.Ack{Seen: true, Newest: 17, Mask: 1<<15 - 1, Structure: 1}, p.replica.Stats().Ack)
}

// A held datagram does not wait for the structure of an older one.
func TestHeldWaitForTheirOwnStructure(t *testing.T) {
	p := newReplicaServer(t, 1, 100)
	p.apply(client.Held, p.state(1, 2))
	p.apply(client.Held, p.state(2, 1))
	p.send(p.enter(h(5, 1), 7))
	require.EqualValues(t, 2, p.replica.Stats().Ack.Newest)
	p.send(leave(h(5, 1)))
	require.EqualValues(t, 1, p.replica.Stats().Ack.Mask)
}

// The schema declares neither text fields nor events.
func TestUndeclaredTextsAndEvents(t *testing.T) {
	p := newReplicaServer(t, 1, 100)
	texts := p.enter(h(5, 1), 7)
	texts.Data = []byte{1, 'a'}
	require.Equal(t, wire.BadMessage, wire.CodeOf(p.replica.ApplyStructure(p.structure(texts))))
	_, err := p.replica.ApplyState(wire.AppendStateHeader(nil, wire.StateHeader{Seq: 1, Tick: 9, Events: wire.AppendEvent(nil, wire.Event{Number: 1})}))
	require.Equal(t, wire.BadMessage, wire.CodeOf(err))
	require.False(t, p.replica.Stats().Ack.Seen)
}

// Frames counts ticks: several datagrams may have one tick, and some arrive after newer
// ones.
func TestFramesAreTicks(t *testing.T) {
	p := newReplicaServer(t, 1, 100)
	of := func(seq, tick uint32) []byte {
		return wire.AppendStateHeader(nil, wire.StateHeader{Seq: seq, Tick: tick})
	}
	p.apply(client.Applied, of(1, 101))
	p.apply(client.Applied, of(2, 101))
	p.apply(client.Applied, of(4, 105))
	p.apply(client.Applied, of(3, 103))
	require.EqualValues(t, 4, p.replica.Stats().Snapshots)
	require.EqualValues(t, 2, p.replica.Stats().Frames)
}

// A datagram with a row of an earlier tenant is dropped whole, and sent again.
func TestRowOfAnEarlierTenant(t *testing.T) {
	p := newReplicaServer(t, 1, 100)
	p.send(p.enter(h(5, 1), 7), p.enter(h(6, 1), 1))
	p.send(destroy(h(5, 1)), p.enter(h(5, 3), 9))
	late := p.state(1, 2, update{h: h(5, 1), age: entered, now: 100, base: 7}, update{h: h(6, 1), age: entered, now: 2, base: 1})
	p.apply(client.Unreadable, late)
	require.Equal(t, 9, p.points(h(5, 3)), "H1: not applied to the later tenant")
	require.Equal(t, 1, p.points(h(6, 1)), "C1: nothing is applied")
	require.Equal(t, wire.Ack{Structure: 4}, p.replica.Stats().Ack, "H6: not acknowledged: sent again")
	p.apply(client.Applied, p.state(2, 4, update{h: h(5, 3), age: entered, now: 100, base: 9}, update{h: h(6, 1), age: entered, now: 2, base: 1}))
	require.Equal(t, 100, p.points(h(5, 3)))
	require.Equal(t, 2, p.points(h(6, 1)))
}

func TestRowAfterLeaveAndReenter(t *testing.T) {
	p := newReplicaServer(t, 1, 100)
	p.send(p.enter(h(5, 1), 7))
	p.send(leave(h(5, 1)))
	p.apply(client.Unreadable, p.state(1, 1, update{h: h(5, 1), age: entered, now: 8, base: 7}))
	require.Equal(t, wire.Hidden, p.replica.Resolve(h(5, 1)), "a late row revives nothing")
	p.send(p.enter(h(5, 1), 20))
	p.apply(client.Unreadable, p.state(2, 1, update{h: h(5, 1), age: entered, now: 9, base: 7}))
	require.Equal(t, 20, p.points(h(5, 1)), "a row from before the leave")
	p.apply(client.Unreadable, p.state(3, 3, update{h: h(5, 1), age: 1, now: 9, base: 7}))
}

func TestFoldProvesIdentity(t *testing.T) {
	p := newReplicaServer(t, 1, 100)
	p.send(p.enter(h(5, 1), 7))
	d := p.state(1, 1, update{h: h(5, 3), age: entered, now: 8, base: 7})
	p.apply(client.Faulty, d)
	require.Equal(t, 7, p.points(h(5, 1)), "C1: nothing is applied")
	require.False(t, p.replica.Stats().Ack.Seen)
	require.EqualValues(t, 1, p.replica.Stats().Faults)
}

func TestBaselines(t *testing.T) {
	p := newReplicaServer(t, 1, 100)
	p.send(p.enter(h(5, 1), 7))
	p.apply(client.Applied, p.state(1, 1, update{h: h(5, 1), age: entered, now: 8, base: 7}))
	p.apply(client.Applied, p.state(2, 1, update{h: h(5, 1), age: 1, now: 9, base: 8}))
	p.apply(client.Applied, p.state(4, 1, update{h: h(5, 1), age: 2, now: 11, base: 9, gap: 1, older: 8}))
	require.Equal(t, 11, p.points(h(5, 1)))
	p.apply(client.Applied, p.state(3, 1, update{h: h(5, 1), age: 1, now: 10, base: 9, gap: 1, older: 8}))
	require.Equal(t, 11, p.points(h(5, 1)), "late, so not current")
	p.apply(client.Applied, p.state(5, 1, update{h: h(5, 1), age: 2, now: 12, base: 10}))
	require.Equal(t, 12, p.points(h(5, 1)), "and yet a baseline")
	p.apply(client.Unreadable, p.state(6, 1, update{h: h(5, 1), age: 6, now: 13, base: 8}))
	p.apply(client.Unreadable, p.state(6, 1, update{h: h(5, 1), age: 1, now: 13, base: 12, gap: 5, older: 8}))
	p.apply(client.Applied, p.state(7, 1, update{h: h(5, 1), age: whole, now: 14}))
	require.Equal(t, 14, p.points(h(5, 1)))
	p.apply(client.Duplicate, p.state(5, 1, update{h: h(5, 1), age: 2, now: 12, base: 10}))
}

// The newest states are kept, whichever baselines the server named. States older than those may
// be overwritten.
func TestStatesAreKept(t *testing.T) {
	p := newReplicaServer(t, 1, 100)
	p.send(p.enter(h(5, 1), 7))
	const n = 2 * wire.MaxStates
	for seq := uint32(1); seq <= n; seq++ {
		p.apply(client.Applied, p.state(seq, 1, update{h: h(5, 1), age: whole, now: seq}))
	}
	p.apply(client.Unreadable, p.state(n+1, 1, update{h: h(5, 1), age: wire.MaxStates + 1, now: 1, base: n - wire.MaxStates}))
	p.apply(client.Applied, p.state(n+1, 1, update{h: h(5, 1), age: wire.MaxStates, now: 1, base: n + 1 - wire.MaxStates}))
	require.Equal(t, 1, p.points(h(5, 1)))
	// The server names newer baselines twice, and never goes back.
	p.apply(client.Applied, p.state(n+2, 1, update{h: h(5, 1), age: 3, now: 2, base: n - 1, gap: 1, older: n - 2}))
	p.apply(client.Applied, p.state(n+3, 1, update{h: h(5, 1), age: 3, now: 3, base: n, gap: 1, older: n - 1}))
	for seq := uint32(n + 4); seq < n+40; seq++ {
		p.apply(client.Applied, p.state(seq, 1, update{h: h(5, 1), age: seq - n, now: 3, base: n, gap: 1, older: n - 1}))
		if seq-n > wire.MaxStates-3 {
			break // full of newer states
		}
	}
}

func TestAckWindow(t *testing.T) {
	p := newReplicaServer(t, 1, 100)
	for _, seq := range []uint32{1, 2, 5, 3, 70} {
		p.apply(client.Applied, p.state(seq, 0))
	}
	require.EqualValues(t, 70, p.replica.Stats().Ack.Newest)
	require.EqualValues(t, 0, p.replica.Stats().Ack.Mask, "all others are more than 64 back")
	p.apply(client.Applied, p.state(6, 0))
	require.EqualValues(t, uint64(1)<<63, p.replica.Stats().Ack.Mask)
	p.apply(client.Duplicate, p.state(5, 0))
	p.apply(client.Duplicate, p.state(6, 0))
	p.apply(client.Applied, p.state(71, 0))
	require.EqualValues(t, 1, p.replica.Stats().Ack.Mask)
}

func TestServerFaultsAreErrors(t *testing.T) {
	p := newReplicaServer(t, 3, 100)
	for name, body := range map[string][]byte{
		"empty":          {},
		"gap in numbers": stage.Structure(2, 1, leave(h(1, 3))),
		"slot too high":  stage.Structure(1, 1, leave(h(100, 3))),
		"below floor":    stage.Structure(1, 1, destroy(h(1, 1))),
		"row too long":   stage.Structure(1, 1, wire.Record{Op: wire.OpEnter, Handle: h(1, 3), Row: []byte{1, 0, 0, 0, 0}}),
	} {
		q := newReplicaServer(t, 3, 100)
		var e *wire.Error
		require.ErrorAs(t, q.replica.ApplyStructure(body), &e, name)
		require.Equal(t, wire.BadMessage, e.Code, name)
		require.Zero(t, q.replica.Len(), name)
	}
	must.Fail(p.replica.ApplyState([]byte("garbage")))
}

// The server repeats a Destroy after a later reference (R5); Observer.Destroy is called
// once.
func TestDeathIsReportedOnce(t *testing.T) {
	p := newReplicaServer(t, 1, 100)
	p.send(p.enter(h(5, 1), 7), destroy(h(5, 1)), destroy(h(5, 1)))
	p.wantHeard("enter 5v1", "destroy 5v1")
	p.send(destroy(h(6, 1)), destroy(h(6, 1)))
	p.wantHeard("destroy 6v1")
	require.EqualValues(t, 2, p.replica.Stats().Destroys)
}

// No baseline names tick 0.
func TestNoBaselineBeforeTheFirst(t *testing.T) {
	p := newReplicaServer(t, 1, 100)
	p.send(p.enter(h(5, 1), 7))
	p.apply(client.Applied, p.state(1, 1, update{h: h(5, 1), age: entered, now: 8, base: 7}))
	p.apply(client.Applied, p.state(2, 1, update{h: h(5, 1), age: entered, now: 9, base: 7}))
	p.apply(client.Applied, p.state(3, 1, update{h: h(5, 1), age: 1, now: 10, base: 9}))
	p.apply(client.Unreadable, p.state(4, 1, update{h: h(5, 1), age: 4, now: 500, base: 8}))
	require.Equal(t, 10, p.points(h(5, 1)))
}

// FuzzReplica feeds a replica scripts of messages, whole, truncated and corrupted: it
// never panics, Len stays right, and Stale stays final.
func FuzzReplica(f *testing.F) {
	f.Add([]byte{0, 5, 1, 1, 5, 2, 2, 5, 3, 3, 5, 0xff})
	f.Add([]byte{0, 1, 0, 0, 2, 0, 3, 1, 9, 4, 2, 7, 5, 1, 1})
	f.Fuzz(func(t *testing.T, script []byte) {
		script = script[:min(len(script), 1200)]
		p := newReplicaServer(t, 1, 64)
		dead := map[bulk.Handle]bool{}
		seq := uint32(0)
		for len(script) >= 3 {
			op, a, b := script[0], script[1], script[2]
			script = script[3:]
			target := h(uint32(a%16), uint32(b%4)*2+1)
			switch op % 6 {
			case 0:
				_ = p.replica.ApplyStructure(p.bend(script, p.structure(p.enter(target, uint32(b)))))
			case 1:
				_ = p.replica.ApplyStructure(p.structure(leave(target)))
			case 2:
				_ = p.replica.ApplyStructure(p.structure(destroy(target)))
			default:
				seq += uint32(op % 3)
				d := p.state(seq+1, p.number-min(p.number, uint32(a%4)), update{h: target, age: uint32(b % 32), now: uint32(a)})
				_, _ = p.replica.ApplyState(p.bend(script, d))
			}
			p.number = p.replica.Stats().Ack.Structure
			for slot := range uint32(16) {
				for g := uint32(1); g < 8; g += 2 {
					verdict := p.replica.Resolve(h(slot, g))
					require.False(t, dead[h(slot, g)] && verdict != wire.Stale, "C3: %v came back as %v", h(slot, g), verdict)
					dead[h(slot, g)] = verdict == wire.Stale
					require.Equal(t, verdict == wire.Live, p.replica.Entity(h(slot, g)) != nil)
				}
			}
		}
		n := 0
		for e := range p.replica.All() {
			require.Equal(t, wire.Live, p.replica.Resolve(e.Handle()))
			n++
		}
		require.Equal(t, p.replica.Len(), n)
	})
}

// bend corrupts or truncates m as the script says.
func (p *replicaServer) bend(script, m []byte) []byte {
	if len(script) < 2 || script[0]%4 != 0 {
		return m
	}
	at := int(script[1]) % len(m)
	if script[0]%8 == 0 {
		return m[:at]
	}
	m[at] ^= script[0] >> 3
	return m
}

// Rows of a schema without values have baselines like any other.
func TestRowsWithoutValues(t *testing.T) {
	type marked struct{}
	s := schema.New()
	schema.Define[marked](s, "marked")
	require.NoError(t, s.Err())
	codec := rowcodec.New(s, rowcodec.DefaultTables())
	r := client.NewApplier(codec, 0, 64, client.Observer{})
	one := h(1, 1)
	require.NoError(t, r.ApplyStructure(stage.Structure(1, enterTick, wire.Record{Op: wire.OpEnter, Handle: one, Kind: 3, Row: []byte{1}})))
	for i, baseline := range []wire.Baseline{{}, {Age: 1}, {Age: 1, Gap: 1}} {
		var w bitio.Writer
		seq := uint32(i + 1)
		w.Reset(wire.AppendStateHeader(nil, wire.StateHeader{Seq: seq, Tick: 100 + seq, Structure: 1, Fold: wire.Fold16(wire.Fold(0, one)), Rows: 1}))
		wire.AppendRowCoding(&w, wire.RowCoding{})
		wire.AppendRowHeader(&w, wire.RowCoding{}, one.Index(), baseline)
		outcome := must.Get(r.ApplyState(w.Bytes()))
		require.Equal(t, client.Applied, outcome)
	}
}

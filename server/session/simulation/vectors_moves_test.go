package simulation

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/vectors"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// moveFloor is the first generation of the room to which the cases move.
const moveFloor = 101

// moveMaker makes the cases in which a session moves to another room (PROTOCOL.md, 4.2).
type moveMaker struct{ provisionalMaker }

func moved(slot uint32) bulk.Handle { return bulk.NewHandle(slot, moveFloor) }

// to returns the Welcome to the other room, with structure number fence.
func (k *moveMaker) to(fence uint32, change func(*wire.Welcome)) vectors.Step {
	return k.welcome(func(w *wire.Welcome) {
		w.Epoch, w.GenerationFloor, w.GenerationCeiling, w.Tick, w.Structure = 2, moveFloor, 2*moveFloor, 5000, fence
		w.Secret = fmt.Appendf(nil, "secret of room %d", fence)
		change(w)
	})
}

func same(*wire.Welcome) {}

// add adds a case that ends with an error, or none.
func (k *moveMaker) add(code wire.Code, name, about string, steps ...vectors.Step) {
	handles := []bulk.Handle{boundEntity(0), boundEntity(2), bulk.NewHandle(9, hostileFloor), moved(provisionalSlot), moved(9), wire.ProvisionalHandle(0), wire.ProvisionalHandle(1)}
	c := played(k.t, k.schema, name, about, handles, append([]vectors.Step{k.opening()}, steps...))
	requireEnd(k.t, code, &c)
	k.cases = append(k.cases, c)
}

func moveCases(t *testing.T) []vectors.Case {
	s := must.Get(vectors.ProvisionalSchema())
	k := &moveMaker{provisionalMaker{t: t, schema: s}}
	k.lawful()
	k.wrong()
	k.lost()
	return k.cases
}

func (k *moveMaker) lawful() {
	old := []vectors.Step{stream(structureAt(1, 9, record(k.enter(boundEntity(0))))), snapshotOf(1, 9, 1, 0)}
	from := func(steps ...vectors.Step) []vectors.Step { return append(old[:2:2], steps...) }
	next := stream(structureAt(3, 7, record(k.enter(moved(9)))))
	k.add(wire.OK, "moved", "the room's entities are gone, acknowledgements and ticks start again, and the Welcome counts as a record",
		from(k.to(2, same), next, snapshotOf(2, 7, 3, 0), stream(structureAt(4, 1, record(k.enter(moved(provisionalSlot))))))...)
	k.add(wire.OK, "late snapshot", "a snapshot of the old room arrives late", from(k.to(2, same), snapshotOf(3, 12, 1, 0), snapshotOf(4, 7, 2, 0), snapshotOf(2, 10, 0, 0))...)
	k.add(wire.OK, "early snapshots", "snapshots of the new room arrive before the Welcome, and wait for it and for their structure",
		from(snapshotOf(3, 7, 3, 0), snapshotOf(2, 6, 2, 0), k.to(2, same), next)...)
	simulated := vectors.Step{Datagram: wire.AppendStateHeader(nil, wire.StateHeader{Seq: 2, Tick: 6, Structure: 2, Complete: true})}
	k.add(wire.BadMessage, "early flags", "a flag that is an error waits with its snapshot", from(simulated, k.to(2, same))...)
	k.add(wire.OK, "provisional handles", "provisional handles are Stale, also one that stood for an entity",
		command(1, 0, 1), stream(structureAt(1, 9, answered(0, boundEntity(0)), record(k.enter(boundEntity(0))))), k.to(3, same))
	k.add(wire.BadMessage, "answer of the old room", "a provisional handle of the old room is answered in the new one",
		command(1, 0), k.to(1, same), stream(structureAt(2, 9, answered(0, 0))))
	k.add(wire.OK, "three rooms", "the session moves twice, and comes back to its first room",
		from(k.to(2, same), k.to(3, func(w *wire.Welcome) {
			w.Epoch, w.GenerationFloor, w.GenerationCeiling = 1, hostileFloor, hostileFloor+4
		}), stream(structureAt(4, 20, record(k.enter(boundEntity(2))))))...)
	other := k.schema.Clone()
	schema.Define[Identity](other, "identity")
	require.NoError(k.t, other.Err())
	there := provisionalMaker{t: k.t, schema: other}
	k.add(wire.OK, "another schema", "the room has another schema, and brings its text", from(k.to(2, func(w *wire.Welcome) { w.Schema, w.SchemaText = other.Hash(), other.Text() }), stream(structureAt(3, 7, record(there.enter(moved(9))))))...)
	k.add(wire.OK, "restarted with another schema", "the server was restarted with another schema, and brings its text although Hello named the hash of the one before",
		from(vectors.Step{Lost: true}, k.to(0, func(w *wire.Welcome) { w.Schema, w.SchemaText = other.Hash(), other.Text() }), stream(structureAt(1, 7, record(there.enter(moved(9))))))...)
	k.add(wire.OK, "resumed in the room", "the connection breaks after the move, and the session resumes",
		from(k.to(2, same), next, vectors.Step{Lost: true}, k.to(3, func(w *wire.Welcome) { w.Resumed = 1 }), stream(structureAt(4, 3, record(k.enter(moved(provisionalSlot))))))...)
}

func (k *moveMaker) wrong() {
	entered := stream(structureAt(1, 9, record(k.enter(boundEntity(0)))))
	for _, c := range []struct {
		name, about string
		change      func(*wire.Welcome)
	}{
		{"within a world", "a move to the same epoch", func(w *wire.Welcome) { w.Epoch = 1 }},
		{"another session", "a move of another session", func(w *wire.Welcome) { w.Session++ }},
		{"resumed move", "a move that resumes", func(w *wire.Welcome) { w.Resumed = 1 }},
		{"commands before a move", "a move after commands", func(w *wire.Welcome) { w.Commands = 1 }},
		{"not a record", "a move whose number is the client's own", func(w *wire.Welcome) { w.Structure = 1 }},
		{"records missed", "a move after records that have not arrived", func(w *wire.Welcome) { w.Structure = 3 }},
		{"text again", "a move with the text of the same schema", func(w *wire.Welcome) { w.SchemaText = k.schema.Text() }},
		{"schema without text", "a move to another schema without its text", func(w *wire.Welcome) { w.Schema++ }},
		{"other tables in a room", "a move to other tables", func(w *wire.Welcome) { w.Tables++ }},
		{"other protocol in a room", "a move to another protocol", func(w *wire.Welcome) { w.Protocol++ }},
	} {
		k.add(wire.BadMessage, c.name, c.about, entered, k.to(2, c.change))
	}
	k.add(wire.BadMessage, "record of the old room", "a record after the move with the old room's generation", entered, k.to(2, same), stream(structureAt(3, 1, record(k.enter(boundEntity(2))))))
}

func (k *moveMaker) lost() {
	broken := []vectors.Step{stream(structureAt(1, 9, record(k.enter(boundEntity(0))))), snapshotOf(1, 9, 1, 0), {Lost: true}}
	from := func(steps ...vectors.Step) []vectors.Step { return append(broken[:3:3], steps...) }
	next := stream(structureAt(6, 7, record(k.enter(moved(9)))))
	k.add(wire.OK, "lost move", "the connection breaks before the Welcome to the room, and the answer to the next Hello is that Welcome",
		from(k.to(5, same), snapshotOf(8, 7, 4, 0), next, snapshotOf(9, 7, 6, 0))...)
	k.add(wire.OK, "lost moves and back", "the session has come back to the room that the client knows",
		from(k.welcome(func(w *wire.Welcome) { w.Structure = 5 }), stream(structureAt(6, 7, record(k.enter(boundEntity(2))))))...)
	k.add(wire.BadMessage, "lost move of another session", "a new session begins with a structure number", from(k.to(5, func(w *wire.Welcome) { w.Session++ }))...)
	k.add(wire.BadMessage, "lost move that is none", "the number of a lost move is the client's own", from(k.to(1, same))...)
}

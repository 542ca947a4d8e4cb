package simulation

import (
	"testing"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/vectors"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// provisionalMaker makes the cases in which a client names provisional handles.
type provisionalMaker struct {
	t      *testing.T
	schema *schema.Schema
	cases  []vectors.Case
}

const provisionalSlot = 5

// welcome returns a step with the Welcome of a connection.
func (k *provisionalMaker) welcome(change func(*wire.Welcome)) vectors.Step {
	w := wire.Welcome{
		Protocol: wire.Version, Schema: k.schema.Hash(), Tables: rowcodec.DefaultTables().Version(), Epoch: 1, GenerationFloor: hostileFloor, GenerationCeiling: hostileFloor + 4,
		TickHz: 60, SnapshotHz: 20, MaxSlots: 64, Session: 7, Tick: 100, Secret: make([]byte, wire.SecretBytes),
	}
	change(&w)
	return stream(wire.AppendMessage(nil, w))
}

func (k *provisionalMaker) opening() vectors.Step {
	return k.welcome(func(w *wire.Welcome) { w.SchemaText = k.schema.Text() })
}

func (k *provisionalMaker) resumed(tick, commands uint32) vectors.Step {
	return k.welcome(func(w *wire.Welcome) { w.Resumed, w.Tick, w.Commands = 1, tick, commands })
}

func (k *provisionalMaker) enter(h bulk.Handle) wire.Record {
	var w bitio.Writer
	values := make([]uint32, k.schema.Values())
	values[0] = 3
	rowschema.New(k.schema).AppendFull(&w, rowschema.Row{Mask: 1, Values: values})
	return wire.Record{Op: wire.OpEnter, Handle: h, Row: w.Bytes()}
}

// add adds a case that ends with an error, or none.
func (k *provisionalMaker) add(code wire.Code, name, about string, steps ...vectors.Step) {
	handles := []bulk.Handle{boundEntity(0), boundEntity(2), bulk.NewHandle(0, 4)}
	for i := range uint32(4) {
		handles = append(handles, wire.ProvisionalHandle(i))
	}
	c := played(k.t, k.schema, name, about, handles, append([]vectors.Step{k.opening()}, steps...))
	requireEnd(k.t, code, &c)
	k.cases = append(k.cases, c)
}

// boundEntity returns a handle of the slot that the cases use.
func boundEntity(later uint32) bulk.Handle {
	return bulk.NewHandle(provisionalSlot, hostileFloor+later)
}

func command(id uint32, indexes ...uint32) vectors.Step {
	w := &vectors.Provisional{Command: id}
	for _, i := range indexes {
		w.Handles = append(w.Handles, wire.ProvisionalHandle(i))
	}
	return vectors.Step{Provisional: w}
}

func input(index uint32) vectors.Step {
	return vectors.Step{Provisional: &vectors.Provisional{Handles: []bulk.Handle{wire.ProvisionalHandle(index)}}}
}

func answered(index uint32, h bulk.Handle) []byte {
	return wire.AppendRecord(nil, wire.Record{Op: wire.OpAnswer, Number: index, Handle: h})
}

func resultOf(id uint32) vectors.Step {
	return stream(wire.AppendMessage(nil, wire.Result{ID: id, Verdict: wire.Live}))
}

// snapshotOf returns a snapshot that names the newest input applied, 0 for none.
func snapshotOf(seq, tick, structure, input uint32) vectors.Step {
	h := wire.StateHeader{Seq: seq, Tick: tick, Structure: structure}
	if input > 0 {
		h.InputAge = tick - input + 1
	}
	return vectors.Step{Datagram: wire.AppendStateHeader(nil, h)}
}

func provisionalCases(t *testing.T) []vectors.Case {
	s := must.Get(vectors.ProvisionalSchema())
	k := &provisionalMaker{t: t, schema: s}
	k.ofCommands()
	k.ofInputs()
	k.overConnections()
	k.wrongAnswers()
	return k.cases
}

func (k *provisionalMaker) ofCommands() {
	enter, destroy := record(k.enter(boundEntity(0))), record(wire.Record{Op: wire.OpDestroy, Handle: boundEntity(0)})
	leave := record(wire.Record{Op: wire.OpLeave, Handle: boundEntity(0)})
	k.add(wire.OK, "bound", "a provisional handle becomes an entity, which enters, leaves, dies and has a successor; another is not answered before the Result",
		command(1, 0, 1), stream(structureAt(1, 9, answered(0, boundEntity(0)))), resultOf(1), stream(structureAt(2, 1, enter)), stream(structureAt(3, 1, leave)),
		stream(structureAt(4, 1, destroy)), stream(structureAt(5, 1, record(k.enter(boundEntity(2))))))
	k.add(wire.OK, "rejected", "an Answer rejects a provisional handle", command(1, 0), stream(structureAt(1, 9, answered(0, 0))))
	k.add(wire.OK, "dead at once", "an entity dies before it enters", command(1, 0), stream(structureAt(1, 9, answered(0, boundEntity(0)), destroy)), resultOf(1))
	k.add(wire.OK, "dead before", "an entity has died before the Answer", command(1, 0), stream(structureAt(1, 9, destroy, answered(0, boundEntity(0)))), resultOf(1))
	k.add(wire.OK, "provisional target", "a Result says Stale of a provisional target, whose entity lives on",
		command(1, 0), stream(structureAt(1, 9, answered(0, boundEntity(0)), enter)), resultOf(1), command(2, 1),
		stream(wire.AppendMessage(nil, wire.Result{ID: 2, Code: wire.StaleHandle, Target: wire.ProvisionalHandle(0), Verdict: wire.Stale})))
	k.add(wire.OK, "the Result of another", "a Result rejects the provisional handles of its own Command", command(1, 0), command(2, 1), resultOf(2))
}

func (k *provisionalMaker) ofInputs() {
	k.add(wire.OK, "applied input", "a provisional handle of an input is rejected when that is applied", input(0), snapshotOf(1, 50, 0, 0), snapshotOf(2, 53, 0, 1))
	k.add(wire.OK, "input repeated", "the last input that names a provisional handle counts", input(0), input(0), input(1), snapshotOf(1, 50, 0, 1), snapshotOf(2, 53, 0, 2), snapshotOf(3, 56, 0, 9))
	k.add(wire.OK, "overtaken Answer", "a snapshot waits for the Answer to a provisional handle of the input that it names", input(0), snapshotOf(1, 50, 1, 1), stream(structureAt(1, 9, answered(0, boundEntity(0)))))
}

func (k *provisionalMaker) overConnections() {
	lost := vectors.Step{Lost: true}
	k.add(wire.OK, "lost command", "one Command of two was lost with the connection; the Answer to the other is sent again", command(1, 0, 1), command(2, 2),
		lost, k.resumed(200, 1), stream(structureAt(1, 9, answered(0, boundEntity(0)))), snapshotOf(1, 200, 1, 0), snapshotOf(2, 201, 1, 0))
	k.add(wire.OK, "commands go on", "Commands count on from those that the server has received", command(1, 0), command(2, 1),
		lost, k.resumed(200, 1), command(3, 2), lost, k.resumed(300, 2), snapshotOf(1, 300, 0, 0), snapshotOf(2, 301, 0, 0))
	bound := []vectors.Step{command(1, 0, 1), stream(structureAt(1, 9, answered(0, boundEntity(0)), record(k.enter(boundEntity(0))))), lost}
	k.add(wire.OK, "new session", "a new session rejects what is not answered", append(bound[:3:3], k.welcome(func(*wire.Welcome) {}), stream(structureAt(1, 9, record(k.enter(boundEntity(0))))))...)
	k.add(wire.OK, "new world", "in another world no provisional handle stands for an entity", append(bound[:3:3], k.welcome(func(w *wire.Welcome) { w.Epoch++ }), stream(structureAt(1, 9, record(k.enter(boundEntity(0))))))...)
}

func (k *provisionalMaker) wrongAnswers() {
	bad := func(name, about string, records ...[]byte) {
		k.add(wire.BadMessage, name, about, command(1, 0, 1), stream(structureAt(1, 9, answered(0, boundEntity(0)))), stream(structureAt(2, 0, records...)))
	}
	later := bulk.NewHandle(provisionalSlot+1, hostileFloor)
	bad("unknown", "an Answer to a provisional handle that was never made", answered(2, 0))
	bad("answered", "a second Answer", answered(0, later))
	bad("answered in one message", "two Answers in a message, of which none is applied", answered(1, later), answered(1, later))
	bad("entered", "the entity has entered before", record(k.enter(later)), answered(1, later))
	bad("beyond the slots", "the entity is in a slot beyond the world's", answered(1, bulk.NewHandle(64, hostileFloor)))
	bad("above the ceiling", "the entity is of another room", answered(1, bulk.NewHandle(provisionalSlot+1, hostileFloor+6)))
	bad("below the floor", "the entity is of an earlier run", answered(1, bulk.NewHandle(provisionalSlot+1, hostileFloor-2)))
}

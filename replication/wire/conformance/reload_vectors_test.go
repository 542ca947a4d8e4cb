package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
)

// reloadVectors has sessions of clients that lose what they have applied, as a page does that is
// reloaded. The Go client never does: the client of the page makes the expectations, and the
// TypeScript client passes them.
const reloadVectors = "reload.jsonl"

const reloadSchema = "worldd schema 2\ncomponent purse\nCoins uint 20\ninput raw\n"

// reloadMaker makes the lines of reload.jsonl.
type reloadMaker struct {
	t    *testing.T
	page *protocolPage
	text bytes.Buffer
}

func reloadHandle(slot uint32) bulk.Handle { return bulk.NewHandle(slot, 5) }

// reloadWelcome returns a Welcome of session 7, which brings the schema's text if it is asked for.
func (k *reloadMaker) welcome(change func(*wire.Welcome)) vectorStep {
	w := wire.Welcome{
		Protocol: wire.Version, Schema: fnv1a(reloadSchema), Tables: uint32(k.page.version), Epoch: 1, GenerationFloor: 5, GenerationCeiling: 9,
		TickHz: 60, SnapshotHz: 20, MaxSlots: 64, Session: 7, Tick: 100, Secret: []byte("the first secret"), SchemaText: reloadSchema,
	}
	change(&w)
	return vectorStep{Stream: wire.AppendMessage(nil, w)}
}

// again returns the Welcome that begins the session again after record number structure.
func (k *reloadMaker) again(structure uint32, change func(*wire.Welcome)) vectorStep {
	return k.welcome(func(w *wire.Welcome) {
		w.Structure, w.Secret = structure, []byte("the other secret")
		change(w)
	})
}

// resumed returns the Welcome that continues the session after record number structure.
func (k *reloadMaker) resumed(structure, commands uint32) vectorStep {
	return k.again(structure, func(w *wire.Welcome) { w.Resumed, w.SchemaText, w.Commands = 1, "", commands })
}

func reloadStructure(first uint32, records ...wire.Record) vectorStep {
	body := wire.AppendStructureHeader(nil, first, 9)
	for _, r := range records {
		body = wire.AppendRecord(body, r)
	}
	return vectorStep{Stream: wire.AppendFrame(nil, wire.TypeStructure, body)}
}

func reloadEnter(slot uint32) wire.Record {
	var w bitio.Writer
	w.Write(1, 1)
	w.Write(uint64(slot), 20)
	return wire.Record{Op: wire.OpEnter, Handle: reloadHandle(slot), Row: w.Bytes()}
}

func reloadSnapshot(seq, tick, structure uint32) vectorStep {
	return vectorStep{Datagram: wire.AppendStateHeader(nil, wire.StateHeader{Seq: seq, Tick: tick, Structure: structure})}
}

// add adds a case that ends with an error, or none.
func (k *reloadMaker) add(code wire.Code, name, about string, steps ...vectorStep) {
	handles := []bulk.Handle{reloadHandle(1), reloadHandle(2), wire.ProvisionalHandle(0), wire.ProvisionalHandle(1)}
	out := json.NewEncoder(&k.text)
	require.NoError(k.t, out.Encode(vectorStep{Case: name, About: about, Protocol: wire.Version, Schema: reloadSchema, SchemaHash: fmt.Sprintf("%016x", fnv1a(reloadSchema)), Handles: handles}))
	c := newPageClient(k.t, k.page, vectorCase{schema: reloadSchema}, 0)
	before, end := &pageResult{verdicts: map[bulk.Handle]string{}}, ""
	steps = append([]vectorStep{
		k.welcome(func(*wire.Welcome) {}), reloadStructure(1, reloadEnter(1), reloadEnter(2)), reloadSnapshot(1, 9, 2),
		reloadStructure(3, wire.Record{Op: wire.OpDestroy, Handle: reloadHandle(2)}),
	}, steps...)
	for _, s := range steps {
		got := c.play(s, handles, before)
		s.Expect, end = &got, got.Error
		require.NoError(k.t, out.Encode(s))
	}
	want := ""
	if code != wire.OK {
		want = code.String()
	}
	require.Equal(k.t, want, end, name)
}

func makeReloadVectors(t *testing.T) []byte {
	k := &reloadMaker{t: t, page: readPage(t)}
	reload, lost := vectorStep{Lost: true, Forgotten: true}, vectorStep{Lost: true}
	none := func(*wire.Welcome) {}
	command := func(index uint32) vectorStep {
		return vectorStep{Provisional: &vectorProvisional{Handles: []bulk.Handle{wire.ProvisionalHandle(index)}, Command: index + 1}}
	}
	k.add(wire.OK, "reloaded", "the session begins again behind the record that Welcome names, with all handles Pending; a snapshot from before is dropped, and then it resumes as any other",
		reload, k.again(4, none), reloadSnapshot(2, 12, 3), reloadStructure(5, reloadEnter(1)), reloadSnapshot(3, 9, 5), lost, k.resumed(5, 0), reloadStructure(6, reloadEnter(2)))
	k.add(wire.OK, "reloaded twice", "the connection of the new page breaks before the Welcome, and that page is reloaded too", reload, lost, reload, k.again(4, none))
	k.add(wire.OK, "reloaded in another room", "the session has moved meanwhile",
		reload, k.again(4, func(w *wire.Welcome) { w.Epoch, w.GenerationFloor, w.GenerationCeiling = 2, 101, 109 }))
	k.add(wire.OK, "reloaded too late", "the session has ended, and another one begins", reload, k.welcome(func(w *wire.Welcome) { w.Session = 8 }), reloadStructure(1, reloadEnter(2)))
	k.add(wire.OK, "commands of a reloaded page", "commands are counted from the number in Welcome: when the session resumes, the server has not received the second one",
		command(0), reload, k.again(4, func(w *wire.Welcome) { w.Commands = 1 }), command(0), lost, k.resumed(4, 1))
	k.add(wire.OK, "received commands of a reloaded page", "the server has received the command, so that its provisional handle waits for the next snapshot",
		command(0), reload, k.again(4, func(w *wire.Welcome) { w.Commands = 1 }), command(0), lost, k.resumed(4, 2), reloadSnapshot(2, 101, 4))
	k.add(wire.BadMessage, "reloaded and resumed", "a session resumes whose client has said that it has lost what it applied", reload, k.again(wire.NoStructure, func(w *wire.Welcome) { w.Resumed = 1 }))
	k.add(wire.BadMessage, "reloaded into another session", "another session begins with a structure number", reload, k.again(4, func(w *wire.Welcome) { w.Session = 8 }))
	return k.text.Bytes()
}

// TestReloadVectors checks that the client of the page makes reload.jsonl. TestConformanceVectors
// plays the file. -vectors.update writes it.
func TestReloadVectors(t *testing.T) {
	made, file := makeReloadVectors(t), filepath.Join(vectorsAt, reloadVectors)
	if *vectorsUpdate {
		require.NoError(t, os.WriteFile(file, made, 0o644))
	}
	require.Equal(t, string(must.Get(os.ReadFile(file))), string(made), "regenerate with -vectors.update")
}

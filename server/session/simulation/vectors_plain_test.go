package simulation

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/internal/vectors"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// plainScript is a script with riders, owners, references and deaths, over a perfect link, as WebSocket is, or over one that loses
// and delays datagrams and breaks.
func plainScript(perfect bool) *script {
	r := &script{
		seed: 11, first: 1, slots: 64, budget: 64_000, hz: 20, entities: 8, viewers: 1, ticks: 150,
		ops: []op{
			{0, "plain", []int{1}},
			{1, "refer", []int{1, 3}},
			{1, "ride", []int{2, 0}},
			{8, "own", []int{0, 4}},
			{20, "destroy", []int{5}},
			{21, "spawn", []int{0, 1, 1, 3, 3}},
			{110, "disown", []int{0, 0}},
		},
	}
	if !perfect {
		r.ops = append(r.ops, op{0, "link", []int{everybody, 8, 3, 10, 20, 50, 60}}, op{60, "cut", []int{0, 5, 20}}, op{120, "corrupt", []int{0}})
	}
	for tick := 3; tick < r.ticks; tick += 9 {
		r.ops = append(r.ops, op{tick, "push", []int{tick % 8, tick%17 - 8, tick%13 - 6}})
	}
	slices.SortStableFunc(r.ops, func(a, b op) int { return cmp.Compare(a.tick, b.tick) })
	return r
}

// plainCases returns the cases of a client that receives plain rows.
func plainCases(t *testing.T) []vectors.Case {
	steps := map[bool][]vectors.Step{}
	var handles []bulk.Handle
	var served *schema.Schema
	for _, perfect := range []bool{true, false} {
		x := newSim(plainScript(perfect))
		x.recording = &recording{}
		require.Nil(t, x.simulate())
		for _, l := range x.order {
			handles = append(handles, l.handle)
		}
		steps[perfect], served = x.recording.steps, x.core.Config().Schema
	}
	slices.Sort(handles)
	handles = slices.Compact(handles)
	var cases []vectors.Case
	add := func(code, name, about string, steps ...vectors.Step) {
		c := playedAs(t, served, vectors.Case{
			Name: name, About: about, Protocol: wire.Version, Schema: served.Text(), SchemaHash: fmt.Sprintf("%016x", served.Hash()), PlainRows: true, Handles: handles,
		}, steps)
		require.Equal(t, code, c.Steps[len(c.Steps)-1].Expect.Error, name)
		cases = append(cases, c)
	}
	recorded := steps[true]
	add("", "plain rows in order", "what a client received that had asked for plain rows, over a link that keeps the order and loses nothing, as WebSocket", recorded...)
	add("", "plain rows", "the same, over a link that loses and delays datagrams, and breaks", steps[false]...)
	last := slices.IndexFunc(cases[0].Steps, func(s vectors.Step) bool { return s.Expect.Outcome == "applied" && len(s.Expect.Entities) > 0 })
	require.Positive(t, last)

	w := must.Get(wire.Parse[wire.Welcome](stage.FirstMessage(recorded[0].Stream, wire.TypeWelcome)))
	rest := recorded[0].Stream[len(wire.AppendMessage(nil, w)):]
	w.Tables++
	others := slices.Clone(recorded[:last+1])
	others[0] = stream(wire.AppendMessage(nil, w), rest)
	add("", "plain rows and other tables", "the tables of a server are of no account", others...)

	broken := func(name, about string, own bool) {
		aged := vectors.Step{Datagram: agedRow(cases[0].Steps[last], served, own)}
		add("bad-message", name, about, append(slices.Clone(recorded[:last+1]), aged)...)
	}
	broken("rows with a baseline", "the coding has age 1, and rows are plain", false)
	broken("row with a baseline of its own", "the coding has age 0 and a row age 1, and rows are plain", true)
	return cases
}

// agedRow returns a datagram after the one of a step. It has the state of one of its entities again, coded against that state.
func agedRow(of vectors.Step, served *schema.Schema, own bool) []byte {
	var w bitio.Writer
	h := must.Get(wire.ParseStateHeader(of.Datagram, &bitio.Reader{}))
	e := of.Expect.Entities[0]
	h.Seq, h.Tick, h.Rows, h.Fold, h.Events = h.Seq+1, h.Tick+1, 1, wire.Fold16(wire.Fold(0, e.Handle)), nil
	w.Reset(wire.AppendStateHeader(nil, h))
	coding, aged := wire.RowCoding{}, wire.Baseline{Age: 1}
	if !own {
		coding.Usual = aged
	}
	wire.AppendRowCoding(&w, coding)
	wire.AppendRowHeader(&w, coding, e.Handle.Index(), aged)
	row := rowschema.Row{Mask: e.Components, Owned: e.Owned, Values: e.Values}
	rowcodec.New(served, rowcodec.DefaultTables()).Append(&w, row, &rowcodec.Past{Base: e.Values, Age: 1})
	return w.Bytes()
}

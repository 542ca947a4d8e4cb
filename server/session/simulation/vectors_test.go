package simulation

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/internal/vectors"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

var vectorsUpdate = flag.Bool("vectors.update", false, "write the conformance vectors")

const vectorsAt = "../../../replication/wire/testdata/vectors"

// vectorSeeds are the seeds of the simulations in which a client is recorded.
var vectorSeeds = []uint64{3, 5, 8, 13, 80}

// TestVectors makes the conformance vectors, and checks that a client passes them: data
// that a client received in simulations that passed the oracle, and data that a hostile
// server may send. -vectors.update writes the files; the tests of package client play them.
func TestVectors(t *testing.T) {
	racetest.SkipSequential(t)
	var cases []vectors.Case
	for _, seed := range vectorSeeds {
		cases = append(cases, recorded(t, seed))
	}
	cases = append(cases, recordedRiders(t), recordedTalk(t), recordedClean(t))
	files := map[string][]vectors.Case{"hostile.jsonl": hostileCases(t), "load.jsonl": loadCases(t), "rides.jsonl": rideCases(t), "provisional.jsonl": provisionalCases(t), "texts.jsonl": textCases(t), "moves.jsonl": moveCases(t), "bodies.jsonl": bodyCases(t), "plain.jsonl": plainCases(t)}
	for _, c := range cases {
		files[c.Name+".jsonl"] = []vectors.Case{c}
	}
	for file, cases := range files {
		text := must.Get(vectors.Append(nil, cases))
		again := must.Get(vectors.Read(bytes.NewReader(text)))
		for i := range again {
			require.NoError(t, again[i].Check(vectorSchemas(t)...))
		}
		if *vectorsUpdate {
			require.NoError(t, os.WriteFile(filepath.Join(vectorsAt, file), text, 0o644))
		}
		kept := must.Get(os.ReadFile(filepath.Join(vectorsAt, file)))
		require.True(t, bytes.Equal(text, kept), "%s is stale: go test -run TestVectors -vectors.update", file)
	}
}

// vectorSchemas returns the schemas of the cases.
func vectorSchemas(t testing.TB) []*schema.Schema {
	all := must.Get(vectors.Schemas())
	return append(all, simulationSchema(t), riderSchema())
}

func simulationSchema(t testing.TB) *schema.Schema {
	s := &sim{script: &script{}}
	s.makeSchema()
	return s.schema
}

// recorded returns the data that the first client of a small simulation received in its
// first session.
func recorded(t *testing.T, seed uint64) vectors.Case {
	s := generate(seed, 2)
	s.entities, s.ticks = min(s.entities, 8), 120
	s.ops = slices.DeleteFunc(s.ops, func(o op) bool {
		return o.tick > s.ticks || o.do == "mislead" || o.do == "revive" || o.do == "boast" || o.do == "ride" || o.do == "ask" || o.do == "rename" || o.do == "name" || o.do == "aim" || o.do == "plain" || ofClean(o) || strings.Contains(o.do, ":")
	})
	x, handles := recordScript(t, s)
	return played(t, x.core.Config().Schema, fmt.Sprintf("simulation-%d", seed), "what a client received in the simulation of this seed", handles, x.recording.steps)
}

// requireEnd requires that a case ends with a code.
func requireEnd(t testing.TB, code wire.Code, c *vectors.Case) {
	want := ""
	if code != wire.OK {
		want = code.String()
	}
	require.Equal(t, want, c.Steps[len(c.Steps)-1].Expect.Error, "%s: %s", c.Name, c.About)
}

// recordScript runs a script and records its first client. It returns the handles of all entities.
func recordScript(t *testing.T, s *script) (x *sim, handles []bulk.Handle) {
	x = newSim(s)
	x.recording = &recording{}
	require.Nil(t, x.simulate())
	for _, l := range x.order {
		handles = append(handles, l.handle)
	}
	return x, handles
}

// riderScript is a script in which entities ride on others that move, change seats, and lose
// their seats with the death of the entity below.
func riderScript() *script {
	r := &script{
		seed: 7, first: 1, slots: 64, budget: 64_000, hz: 20, entities: 8, viewers: 1, ticks: 300,
		ops: []op{
			{1, "ride", []int{1, 0}},
			{1, "ride", []int{2, 0}},
			{2, "ride", []int{4, 3}},
			{100, "ride", []int{1, 3}},
			{150, "ride", []int{5, 3}},
			{260, "destroy", []int{0}},
		},
	}
	for tick := 3; tick < r.ticks; tick += 9 {
		r.ops = append(r.ops, op{tick, "push", []int{0, tick%17 - 8, tick%13 - 6}}, op{tick + 3, "push", []int{3, tick%11 - 5, tick%19 - 9}})
	}
	slices.SortStableFunc(r.ops, func(a, b op) int { return cmp.Compare(a.tick, b.tick) })
	return r
}

func riderSchema() *schema.Schema {
	s := &sim{script: riderScript()}
	s.makeSchema()
	return s.schema
}

// recordedRiders returns the data that a client received while entities rode on others: the
// only vector with anchored rows.
func recordedRiders(t *testing.T) vectors.Case {
	x, handles := recordScript(t, riderScript())
	c := played(t, x.core.Config().Schema, "simulation-riders", "what a client received while entities rode on others, whose rows are anchored", handles, x.recording.steps)
	require.Greater(t, anchored(t, &c), 50)
	return c
}

// anchored counts the rows of c whose parent is in the same datagram with the same
// baseline.
func anchored(t *testing.T, c *vectors.Case) (rows int) {
	parents := map[uint32]bulk.Handle{} // by slot
	for _, s := range c.Steps {
		if s.Expect.Outcome == "applied" {
			baselines := baselinesOf(t, s.Datagram)
			for slot, b := range baselines {
				if on := parents[slot]; on != 0 && b.Age > 0 && b == baselines[on.Index()] && parents[on.Index()] == 0 {
					rows++
				}
			}
		}
		for _, e := range s.Expect.Entities {
			seat := e.Values[len(e.Values)-2:]
			parents[e.Handle.Index()] = bulk.NewHandle(seat[0], seat[1])
		}
	}
	return rows
}

// baselinesOf returns the baselines of a datagram's rows, by slot.
func baselinesOf(t *testing.T, d []byte) map[uint32]wire.Baseline {
	var r bitio.Reader
	h := must.Get(wire.ParseStateHeader(d, &r))
	all, slot := map[uint32]wire.Baseline{}, uint32(0)
	if h.Rows == 0 {
		return all
	}
	coding := wire.ReadRowCoding(&r, h.Tick)
	for range h.Rows {
		skip, b := wire.ReadRowHeader(&r, coding, h.Tick)
		slot += skip
		all[slot] = b
		slot++
	}
	return all
}

// recording keeps what the first client receives, over all connections of its session.
type recording struct {
	steps  []vectors.Step
	of     *conn
	client *simClient
}

func (t *recording) keep(n *conn, s vectors.Step) {
	if t == nil {
		return
	}
	if t.client == nil {
		t.of, t.client = n, n.client
	}
	if t.client != n.client {
		return
	}
	if t.of != n {
		t.of = n
		t.steps = append(t.steps, vectors.Step{Lost: true})
	}
	t.steps = append(t.steps, s)
}

// played returns a case of steps, with a client's results as the expected results.
func played(t *testing.T, served *schema.Schema, name, about string, handles []bulk.Handle, steps []vectors.Step) vectors.Case {
	return playedBy(t, served, served, name, about, handles, steps)
}

// playedBy returns a case for a client that declares its own schema.
func playedBy(t *testing.T, declared, served *schema.Schema, name, about string, handles []bulk.Handle, steps []vectors.Step) vectors.Case {
	c := vectors.Case{
		Name: name, About: about, Protocol: wire.Version, Schema: served.Text(),
		SchemaHash: fmt.Sprintf("%016x", served.Hash()), Handles: handles,
	}
	return playedAs(t, declared, c, steps)
}

// playedAs returns c with steps and their expected results.
func playedAs(t *testing.T, declared *schema.Schema, c vectors.Case, steps []vectors.Step) vectors.Case {
	p := must.Get(vectors.NewPlayer(declared, &c))
	for _, s := range steps {
		if s.Provisional != nil {
			w := *s.Provisional // Play sets the tick of its input
			s.Provisional = &w
		}
		if len(c.Steps) > 0 {
			s.Stream = withStructure(s.Stream, c.Steps[len(c.Steps)-1].Expect.Structure)
		}
		s.Expect = p.Play(s)
		c.Steps = append(c.Steps, s)
		if s.Expect.Error != "" && len(s.Datagram) == 0 {
			break // the session is over
		}
	}
	return c
}

// withStructure returns a stream with the structure number of a Welcome that resumes, unless
// the case names one.
func withStructure(stream []byte, number uint32) []byte {
	var frames wire.FrameReader
	frames.Feed(stream)
	kind, body, ok, err := frames.Next()
	if err != nil || !ok || kind != wire.TypeWelcome {
		return stream
	}
	w, err := wire.Parse[wire.Welcome](body)
	if err != nil || w.Resumed == 0 || w.Structure != 0 {
		return stream
	}
	before := wire.AppendMessage(nil, w)
	if !bytes.HasPrefix(stream, before) {
		return stream // a form that is wrong on purpose
	}
	w.Structure = number
	return append(wire.AppendMessage(nil, w), stream[len(before):]...)
}

// hostileMaker makes the cases of hostile.jsonl from a short connection over a perfect link, split
// into messages.
type hostileMaker struct {
	t         *testing.T
	schema    *schema.Schema // the server's
	opening   []byte         // Welcome and Control, framed
	stream    []byte         // the rest of the stream
	messages  [][]byte       // stream, split into messages
	records   uint32         // structure records in stream
	datagrams [][]byte       // in order
	enters    map[bulk.Handle]wire.Record
	handles   []bulk.Handle
	cases     []vectors.Case
}

const hostileFloor = 5

func newHostileMaker(t *testing.T) *hostileMaker {
	x := newSim(&script{
		seed: 1, first: hostileFloor, slots: 64, budget: 64_000, hz: 20, entities: 5, viewers: 1, ticks: 60,
		ops: []op{
			{1, "refer", []int{1, 3}},
			{4, "push", []int{2, 5, 5}},
			{10, "destroy", []int{0}},
			{11, "spawn", []int{0, 1, 1, 3, 3}},
			{20, "unrefer", []int{0}},
			{30, "destroy", []int{1}},
			{31, "spawn", []int{1, 0, 0, 0, 0}},
			{40, "push", []int{1, 9, -3}},
		},
	})
	x.recording = &recording{}
	require.Nil(t, x.simulate())
	k := &hostileMaker{t: t, schema: x.core.Config().Schema, enters: map[bulk.Handle]wire.Record{}}
	var frames wire.FrameReader
	for _, s := range x.recording.steps {
		if len(s.Datagram) > 0 {
			k.datagrams = append(k.datagrams, s.Datagram)
			continue
		}
		frames.Feed(s.Stream)
		for {
			kind, body, ok, err := frames.Next()
			require.NoError(t, err)
			if !ok {
				break
			}
			k.take(kind, body)
		}
	}
	k.datagrams = k.datagrams[:min(len(k.datagrams), 24)]
	for h := range k.enters {
		k.handles = append(k.handles, h, bulk.NewHandle(h.Index(), h.Generation()+2))
	}
	k.handles = append(k.handles, 0, bulk.NewHandle(1, 2), bulk.NewHandle(1, hostileFloor-2), bulk.NewHandle(1, hostileFloor), bulk.NewHandle(1, hostileFloor+1), bulk.NewHandle(2, hostileFloor), bulk.NewHandle(3, 1), bulk.NewHandle(4, 1), bulk.NewHandle(63, hostileFloor), bulk.NewHandle(64, hostileFloor))
	slices.Sort(k.handles)
	k.handles = slices.Compact(k.handles)
	return k
}

func (k *hostileMaker) take(kind byte, body []byte) {
	framed := wire.AppendFrame(nil, kind, body)
	if kind != wire.TypeStructure {
		k.opening = append(k.opening, framed...)
		return
	}
	m := must.Get(wire.ParseStructure(body))
	for r, err := range m.Records() {
		require.NoError(k.t, err)
		r.Row = slices.Clone(r.Row)
		if r.Op == wire.OpEnter {
			k.enters[r.Handle] = r
		}
	}
	k.stream = append(k.stream, framed...)
	k.messages = append(k.messages, framed)
	k.records += uint32(m.Count)
}

// anyEnter returns one of the Enter records, always the same.
func (k *hostileMaker) anyEnter() wire.Record {
	least := bulk.Handle(0)
	for h := range k.enters {
		if least == 0 || h < least {
			least = h
		}
	}
	return k.enters[least]
}

func stream(p ...[]byte) vectors.Step { return vectors.Step{Stream: bytes.Join(p, nil)} }

func datagrams(ds ...[]byte) (steps []vectors.Step) {
	for _, d := range ds {
		steps = append(steps, vectors.Step{Datagram: d})
	}
	return steps
}

func (k *hostileMaker) add(name, about string, steps ...vectors.Step) {
	k.cases = append(k.cases, played(k.t, k.schema, name, about, k.handles, steps))
}

// structure returns a framed Structure message whose first record has number first.
func structure(first uint32, records ...wire.Record) []byte {
	body := wire.AppendStructureHeader(nil, first, 9)
	for _, r := range records {
		body = appendRecord(body, r)
	}
	return wire.AppendFrame(nil, wire.TypeStructure, body)
}

// appendRecord is wire.AppendRecord without its assertions, for records that are wrong on
// purpose. Number is added to the detail.
func appendRecord(b []byte, r wire.Record) []byte {
	uvarint := func(v uint32) {
		for ; v >= 0x80; v >>= 7 {
			b = append(b, byte(v)|0x80)
		}
		b = append(b, byte(v))
	}
	detail := byte(r.Reason) | byte(r.Number)
	if r.Owned {
		detail |= 1
	}
	b = append(b, byte(r.Op)|detail<<3)
	uvarint(r.Handle.Index())
	uvarint(r.Handle.Generation())
	if r.Op == wire.OpEnter {
		uvarint(r.Kind)
		uvarint(uint32(len(r.Row)))
	}
	return append(b, r.Row...)
}

// hostileCases returns the cases that a correct server does not produce.
func hostileCases(t *testing.T) []vectors.Case {
	k := newHostileMaker(t)
	k.orderOfArrival()
	k.brokenDatagrams()
	k.lawfulStructure()
	k.brokenStructure()
	k.resumed()
	k.forms()
	k.welcomes()
	k.ceiling()
	k.fullRows()
	k.recordRules()
	k.newSessions()
	k.headers()
	return k.cases
}

func (k *hostileMaker) orderOfArrival() {
	opening, all := stream(k.opening), stream(k.stream)
	k.add("all at once", "the whole stream, then the datagrams", append([]vectors.Step{opening, all}, datagrams(k.datagrams...)...)...)
	bytewise := []vectors.Step{}
	for _, b := range append(slices.Clone(k.opening), k.stream...) {
		bytewise = append(bytewise, stream([]byte{b}))
	}
	k.add("byte by byte", "the bytes of the stream come one by one", bytewise...)
	k.add("datagrams first", "every datagram overtakes the structure that it stands on: 16 wait, of more the oldest are dropped",
		append(append([]vectors.Step{opening}, datagrams(k.datagrams...)...), all)...)
	k.add("datagrams before Welcome", "nothing can be made of them", append(datagrams(k.datagrams[:3]...), opening, all)...)
	twice := []vectors.Step{opening, all}
	for _, d := range k.datagrams {
		twice = append(twice, datagrams(d, d)...)
	}
	k.add("twice", "every datagram comes twice", twice...)
	backwards := slices.Clone(k.datagrams)
	slices.Reverse(backwards)
	k.add("newest first", "older state does not overwrite newer", append([]vectors.Step{opening, all}, datagrams(backwards...)...)...)
}

// withHeader returns d with a changed header.
func (k *hostileMaker) withHeader(d []byte, change func(*wire.StateHeader)) []byte {
	var rows bitio.Reader
	h := must.Get(wire.ParseStateHeader(d, &rows))
	rest := d[len(wire.AppendStateHeader(nil, h)):]
	change(&h)
	return append(wire.AppendStateHeader(nil, h), rest...)
}

func (k *hostileMaker) brokenDatagrams() {
	ready := []vectors.Step{stream(k.opening), stream(k.stream)}
	with := func(ds ...[]byte) []vectors.Step { return append(slices.Clone(ready), datagrams(ds...)...) }
	var folds, structures, cut [][]byte
	longest := k.datagrams[0]
	for _, d := range k.datagrams {
		folds = append(folds, k.withHeader(d, func(h *wire.StateHeader) { h.Fold ^= 0x40 }), d)
		structures = append(structures, k.withHeader(d, func(h *wire.StateHeader) { h.Structure -= min(h.Structure, 6) }), d)
		if len(d) > len(longest) {
			longest = d
		}
	}
	k.add("wrong fold", "each datagram with a wrong fold is refused whole and not acknowledged; then the right one is taken", with(folds...)...)
	for i, s := range k.cases[len(k.cases)-1].Steps[2:] {
		require.Equal(k.t, []string{"faulty", "applied"}[i%2], s.Expect.Outcome)
	}
	k.add("wrong structure", "each datagram names a structure number in the past; then the right one comes", with(structures...)...)
	for n := 1; n < len(longest); n++ {
		cut = append(cut, longest[:n])
	}
	k.add("cut", "a datagram cut at every byte changes nothing; then it comes whole", with(append(cut, longest)...)...)
	var flipped [][]byte
	rng := rand.New(rand.NewPCG(1, 2))
	for range 64 {
		d := slices.Clone(longest)
		bit := rng.IntN(8 * len(d))
		d[bit/8] ^= 1 << (bit % 8)
		flipped = append(flipped, d)
	}
	k.add("flipped", "a bit of a datagram is wrong: what the fold and the form of rows see is refused", with(flipped...)...)
	k.add("too long", "more than 1,200 bytes", with(append(slices.Clone(longest), make([]byte, 1201-len(longest))...), longest)...)
	k.add("trailing", "a byte after the last row", with(append(slices.Clone(longest), 0), longest)...)
	k.add("other types", "datagrams that are not for clients", with([]byte{0}, []byte{65}, append([]byte{63}, longest[1:]...))...)
}

func (k *hostileMaker) lawfulStructure() {
	e := k.anyEnter()
	h := e.Handle
	later := func(n uint32) bulk.Handle { return bulk.NewHandle(h.Index(), h.Generation()+n) }
	enter := func(of bulk.Handle) wire.Record { r := e; r.Handle = of; return r }
	leave := func(of bulk.Handle, why wire.Reason) wire.Record {
		return wire.Record{Op: wire.OpLeave, Reason: why, Handle: of}
	}
	destroy := func(of bulk.Handle) wire.Record {
		return wire.Record{Op: wire.OpDestroy, Handle: of}
	}
	add := func(name, about string, records ...wire.Record) {
		steps := []vectors.Step{stream(k.opening)}
		for i, r := range records {
			steps = append(steps, stream(structure(uint32(i+1), r)))
		}
		k.add(name, about, steps...)
	}
	add("killed early", "a handle dies before it was ever heard of, and all before it with it", destroy(later(2)), destroy(h))
	add("out and in", "an entity leaves for each reason, enters again, and dies out of view",
		enter(h), leave(h, wire.LeftInterest), enter(h), leave(h, wire.HiddenByRule), destroy(h))
	add("slot changes hands", "a later tenant enters over the present one, which is dead by that", enter(h), enter(later(2)), leave(h, wire.LeftInterest), destroy(h))
	add("old tenants", "an Enter, a Leave and a Destroy of an earlier tenant change nothing",
		enter(later(4)), enter(h), leave(h, wire.LeftInterest), destroy(h))
	add("again", "an Enter of who is there begins a new life of its row", enter(h), enter(h))
	add("last generation", "generations do not wrap", enter(bulk.NewHandle(h.Index(), bulk.MaxGeneration)), destroy(bulk.NewHandle(h.Index(), bulk.MaxGeneration)))
}

func (k *hostileMaker) brokenStructure() {
	e := k.anyEnter()
	h := e.Handle
	destroy := wire.Record{Op: wire.OpDestroy, Handle: h}
	of := func(h bulk.Handle) wire.Record { r := e; r.Handle = h; return r }
	ends := func(code wire.Code, name, about string, steps ...vectors.Step) {
		k.add(name, about, steps...)
		got := k.cases[len(k.cases)-1].Steps
		require.Equal(k.t, code.String(), got[len(got)-1].Expect.Error, "%s: %s", name, about)
	}
	add := func(name, about string, frames ...[]byte) {
		ends(wire.BadMessage, name, about, stream(k.opening), stream(frames...))
	}
	add("the dead enter", "an Enter of a destroyed handle ends the session", structure(1, e), structure(2, destroy), structure(3, e))
	add("a gap", "record 3 follows record 1", structure(1, e), structure(3, destroy))
	add("a repetition", "record 1 follows record 1", structure(1, e), structure(1, e))
	add("record 0", "records are counted from 1", structure(0, e))
	add("no records", "a message without records", structure(1))
	add("even generation", "a handle of a hole", structure(1, of(bulk.NewHandle(h.Index(), hostileFloor+1))))
	add("below the floor", "a handle of an earlier run", structure(1, of(bulk.NewHandle(h.Index(), hostileFloor-2))))
	add("beyond the slots", "a slot that the world does not have", structure(1, of(bulk.NewHandle(64, hostileFloor))))
	wrong := e
	wrong.Number = 1 << 4
	add("wrong detail of an Enter", "an Enter with a flag that there is not", structure(1, wrong))
	wrong = e
	wrong.Number = 1 << 1
	add("no texts", "an Enter that promises texts and ends", structure(1, wrong))
	wrong = destroy
	wrong.Number = 2
	add("wrong detail of a Destroy", "a Destroy with a flag that there is not", structure(1, wrong))
	wrong.Number = 1
	add("no cause", "a Destroy that promises a cause and ends", structure(1, wrong))
	wrong.Row = []byte{0}
	add("cause 0", "a Destroy that says the cause 0, which is not sent", structure(1, wrong))
	wrong = wire.Record{Op: wire.OpLeave, Number: 2, Handle: h}
	add("wrong reason", "a Leave for a reason that there is not", structure(1, wrong))
	wrong.Op = 0
	add("op 0", "a record of a kind that there is not", structure(1, wrong))
	wrong.Op = 7
	add("op 7", "a record of a kind that there is not", structure(1, wrong))
	short, long := e, e
	short.Row, long.Row = e.Row[:len(e.Row)-1], append(slices.Clone(e.Row), 0)
	add("row cut short", "an Enter whose row ends early", structure(1, short))
	add("row too long", "an Enter with a byte after its row", structure(1, long))
	add("half of it is good", "an Enter, and another whose row ends early: neither is applied", structure(1, e, short))
	ends(wire.BadMessage, "before Welcome", "the first message is Structure", stream(structure(1, e)))
	w, _ := k.welcomed()
	w.SchemaText = ""
	add("two Welcomes", "a second Welcome", wire.AppendMessage(nil, w))
	add("unknown message", "a type of message that is not a server's", wire.AppendFrame(nil, 99, nil))
	add("empty frame", "a frame of no bytes", []byte{0})
	add("endless frame", "a frame of four gigabytes", []byte{0xff, 0xff, 0xff, 0xff, 0x0f})
	ends(wire.Draining, "goodbye", "the server ends the session and says why", stream(k.opening), stream(wire.AppendMessage(nil, wire.Goodbye{Code: wire.Draining})))
}

// resumed adds cases in which a connection breaks and is replaced: the client presents the
// secret of its Welcome and the number of the last record that it applied, and the server
// resumes after that record or begins a new session.
func (k *hostileMaker) resumed() {
	w, control := k.welcomed()
	welcome := func(change func(*wire.Welcome)) []byte {
		next := w
		next.Resumed, next.Secret, next.SchemaText = 1, []byte("the next secret."), ""
		change(&next)
		return append(wire.AppendMessage(nil, next), control...)
	}
	resumes := welcome(func(*wire.Welcome) {})
	half := len(k.messages) / 2
	require.Greater(k.t, len(k.messages), half+1)
	require.Positive(k.t, half)
	before, torn := bytes.Join(k.messages[:half], nil), k.messages[half][:len(k.messages[half])/2]
	rest := bytes.Join(k.messages[half:], nil)
	again := bytes.Join(k.messages[half-1:], nil)
	lost := vectors.Step{Lost: true}
	broken := []vectors.Step{stream(k.opening), stream(before, torn), lost}
	with := func(steps ...vectors.Step) []vectors.Step { return append(slices.Clone(broken), steps...) }
	k.add("goes on", "a connection breaks in the middle of a message; the session goes on over another, which begins that message again",
		append(with(stream(resumes, rest)), datagrams(k.datagrams...)...)...)
	k.add("goes on twice", "the second connection breaks before its Welcome, the third after it: the secret is the one before, then the next",
		with(lost, stream(resumes), lost, stream(welcome(func(w *wire.Welcome) { w.Secret = []byte("and one more yet") }), rest))...)
	k.add("datagrams of before", "nothing can be made of a datagram between the loss and the next Welcome; after it they are taken as ever",
		with(append(datagrams(k.datagrams[:4]...), append([]vectors.Step{stream(resumes, rest)}, datagrams(k.datagrams...)...)...)...)...)
	another := stream(welcome(func(w *wire.Welcome) { w.Resumed, w.Session = 0, w.Session+1 }))
	e := k.anyEnter()
	enter := func(slot, generation uint32) wire.Record {
		r := e
		r.Handle = bulk.NewHandle(slot, generation)
		return r
	}
	destroy := wire.Record{Op: wire.OpDestroy, Handle: bulk.NewHandle(0, hostileFloor)}
	leave := wire.Record{Op: wire.OpLeave, Reason: wire.LeftInterest, Handle: bulk.NewHandle(1, hostileFloor+2)}
	seen := []vectors.Step{stream(k.opening), stream(structure(1, enter(0, hostileFloor), destroy, enter(1, hostileFloor+2), leave, enter(2, hostileFloor+2), enter(3, hostileFloor))), lost, another}
	k.add("begins anew", "a new session of the same run: what was Stale stays Stale, earlier tenants of the slots too, all else is Pending, and records count from 1",
		append(slices.Clone(seen), stream(structure(1, enter(1, hostileFloor+2), enter(2, hostileFloor+4))))...)
	ends := func(name, about string, steps ...vectors.Step) {
		k.add(name, about, steps...)
		got := k.cases[len(k.cases)-1].Steps
		require.Equal(k.t, wire.BadMessage.String(), got[len(got)-1].Expect.Error, name)
	}
	ends("the dead enter another session", "in a new session of the same run a handle enters that was Stale before", append(slices.Clone(seen), stream(structure(1, enter(0, hostileFloor))))...)
	ends("goes on too early", "the server sends a record again that the client has said it has", with(stream(resumes), stream(again))...)
	ends("goes on too late", "the server leaves out a record that the client has not", with(stream(resumes), stream(bytes.Join(k.messages[half+1:], nil)))...)
	ends("goes on as another", "the session that goes on is not the one that was asked for", with(stream(welcome(func(w *wire.Welcome) { w.Session++ })))...)
	ends("goes on elsewhere", "the session goes on in another run of the world", with(stream(welcome(func(w *wire.Welcome) { w.Epoch++ })))...)
	ends("goes on with another floor", "the session goes on with other generations", with(stream(welcome(func(w *wire.Welcome) { w.GenerationFloor += 2 })))...)
	ends("goes on with another ceiling", "the session goes on with other generations", with(stream(welcome(func(w *wire.Welcome) { w.GenerationCeiling -= 2 })))...)
	ends("goes on with other slots", "the session goes on with more slots", with(stream(welcome(func(w *wire.Welcome) { w.MaxSlots++ })))...)
	ends("goes on unasked", "the first Welcome goes on with a session", stream(welcome(func(next *wire.Welcome) { next.SchemaText = w.SchemaText })))
	ends("schema text unasked", "the second Hello named the hash, and Welcome has a text", with(stream(welcome(func(next *wire.Welcome) { next.SchemaText = w.SchemaText })))...)
	ends("goes on with another schema", "the second Hello named the hash, and Welcome has another", with(stream(welcome(func(next *wire.Welcome) { next.Schema++ })))...)
	ends("no text of another schema", "the second Hello named the hash, and a new session has another schema without its text", with(stream(welcome(func(next *wire.Welcome) { next.Resumed, next.Session, next.Schema = 0, next.Session+1, next.Schema+1 })))...)
	none := wire.AppendMessage(nil, func() wire.Welcome { m := w; m.Secret = nil; return m }())
	ends("goes on without a secret", "a session without a secret cannot be asked for, and goes on", stream(none, control), lost, stream(resumes))
}

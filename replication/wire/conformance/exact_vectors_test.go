package conformance

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/rowtest"
	"github.com/worldd/worldd/internal/wiretest"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

type (
	// exactFile is exact.jsonl: see testdata/vectors/README.md.
	exactFile struct {
		schema    []pageComponent
		tickHz    uint32
		restTicks uint64
		lines     []exactLine
	}
	exactHead struct {
		Case     string `json:"case"`
		Protocol int    `json:"protocol"`
		Schema   string `json:"schema"`
		Hash     string `json:"schema_hash"`
	}
	// exactLine has one of Structure, State, Row and Audited, which a simulating client may
	// receive. It also has the values that the client must read.
	exactLine struct {
		About     string       `json:"about"`
		TickHz    uint32       `json:"tick_hz,omitempty"` // tick rate of the session, if it is not the schema's
		Structure []byte       `json:"structure,omitempty"`
		State     []byte       `json:"state,omitempty"`
		Row       *exactRow    `json:"row,omitempty"`
		Audited   *exactBodies `json:"audited,omitempty"`
		exactRead
	}
	// exactRow is a row without its coded bits, in a datagram with exact rows: the header, then
	// the exact part.
	exactRow struct {
		Tick uint32    `json:"tick"`
		K    uint8     `json:"k"`
		Age  uint32    `json:"age"` // of the usual baseline
		Gap  uint32    `json:"gap"`
		Grid [6]uint32 `json:"grid"`
		Bits []byte    `json:"bits"`
	}
	exactBodies struct {
		Seq     uint32        `json:"seq"`
		Handles []bulk.Handle `json:"handles"`
		Bodies  []bodyState   `json:"bodies"`
	}
	exactRead struct {
		Records []extensionLine `json:"records,omitempty"`
		Header  *stateLine      `json:"header,omitempty"`
		Read    *rowLine        `json:"read,omitempty"`
		Audit   *uint32         `json:"audit,omitempty"`
		Error   string          `json:"error,omitempty"`
	}
	stateLine struct {
		Complete  bool    `json:"complete"`
		Continued bool    `json:"continued"`
		Exact     bool    `json:"exact"`
		Audit     *uint32 `json:"audit,omitempty"`
		Rows      int     `json:"rows"`
	}
	rowLine struct {
		Skip  uint32     `json:"skip"`
		Age   uint32     `json:"age"`
		Gap   uint32     `json:"gap"`
		Exact bool       `json:"exact"`
		Form  uint32     `json:"form"`
		Back  uint32     `json:"back"`
		Body  *bodyState `json:"body,omitempty"`
	}
)

const exactVectors = "exact.jsonl"

func readExactVectors(t testing.TB) *exactFile {
	text := must.Get(os.ReadFile(filepath.Join(vectorsAt, exactVectors)))
	f := &exactFile{}
	for line := range bytes.Lines(text) {
		if f.schema == nil {
			var head exactHead
			require.NoError(t, json.Unmarshal(line, &head))
			f.schema = parseSchemaText(t, head.Schema)
			_, motion, _ := strings.Cut(head.Schema, "motion ")
			f.restTicks = must.Get(strconv.ParseUint(strings.Fields(motion)[7], 10, 32))
			tickHz := must.Get(strconv.ParseUint(strings.Fields(motion)[0], 10, 16))
			f.tickHz = uint32(tickHz)
			continue
		}
		var l exactLine
		require.NoError(t, json.Unmarshal(line, &l))
		f.lines = append(f.lines, l)
	}
	return f
}

// equal reports whether the line's expectations equal got.
func (l exactLine) equal(got exactRead) bool {
	want, _ := json.Marshal(l.exactRead)
	was, _ := json.Marshal(got)
	return bytes.Equal(want, was)
}

// byPage reads a line with the independent decoder.
func (f *exactFile) byPage(l exactLine, m mutation) (got exactRead) {
	defer func() {
		if why := recover(); why != nil {
			got = exactRead{Error: "bad-message"}
		}
	}()
	decoder := func(b []byte) *pageDecoder { return &pageDecoder{mutation: m, b: b, quiet: true} }
	switch {
	case l.Structure != nil:
		s := decoder(l.Structure)
		c := s.structure(f.schema)
		for _, r := range c.Records {
			got.Records = append(got.Records, f.recordByPage(decoder(r.Data), r, &c, f.tickHzOf(l)))
		}
	case l.State != nil:
		h := decoder(l.State).stateHeader()
		got.Header = &stateLine{Complete: h.complete, Continued: h.continued, Exact: h.exact, Rows: h.rows}
		if h.audited {
			got.Header.Audit = &h.audit
		}
	case l.Row != nil:
		got.Read = f.rowByPage(decoder(l.Row.Bits), l.Row, f.tickHzOf(l))
	case l.Audited != nil:
		audit := exactPage{decoder(nil)}.audit(l.Audited.Seq, l.Audited.Handles, l.Audited.Bodies)
		got.Audit = &audit
	}
	return got
}

// tickHzOf returns the tick rate of a line's session.
func (f *exactFile) tickHzOf(l exactLine) uint64 { return uint64(cmp.Or(l.TickHz, f.tickHz)) }

func (f *exactFile) recordByPage(s *pageDecoder, r wire.Record, c *pageStructure, tickHz uint64) (l extensionLine) {
	page := exactPage{s}
	if r.Op != 1 {
		l = page.extension(uint64(r.Number))
		page.ticks(&l, uint64(c.Ticks), tickHz)
		l.back, l.age, l.life = 0, 0, 0
		return l
	}
	l = extensionLine{
		Op: "enter", Slot: r.Handle.Index(), Generation: r.Handle.Generation(), Kind: r.Kind,
		Form: uint32(r.Exact.Form - 1), Back: r.Exact.Back, Values: c.Rows[0].Values, Body: bitsOf(&c.Bodies[0]),
	}
	if uint64(l.Back) > page.maxBack(tickHz) && s.keeps(enterBackBound) || l.Back >= c.Ticks && s.keeps(backFromTick1) || uint64(l.Body.Rest) > f.restTicks && s.keeps(restBound) {
		s.fail("back %d, rest %d", l.Back, l.Body.Rest)
	}
	c.Rows, c.Bodies = c.Rows[1:], c.Bodies[1:]
	return l
}

func (f *exactFile) rowByPage(s *pageDecoder, r *exactRow, tickHz uint64) *rowLine {
	page := exactPage{s}
	l := &rowLine{Skip: uint32(s.golomb(int(r.K), "skip")), Age: r.Age, Gap: r.Gap}
	own := s.read(1) == 1
	if !s.keeps(exactLast) {
		l.Exact = s.read(1) == 1
	}
	if own {
		age, gap := s.baseline(uint64(r.Tick))
		l.Age, l.Gap = uint32(age), uint32(gap)
	}
	if s.keeps(exactLast) {
		l.Exact = s.read(1) == 1
	}
	if l.Exact {
		e := page.exactHeader(uint64(r.Tick), uint64(l.Age), tickHz)
		b := page.body(e.Form, floatsOf(r.Grid), f.restTicks)
		l.Form, l.Back, l.Body = uint32(e.Form-1), e.Back, bitsOf(&b)
	}
	s.expectEnd()
	return l
}

// byPackage reads a line with the package.
func (f *exactFile) byPackage(t testing.TB, s *schema.Schema, l exactLine) exactRead {
	got, err := f.readLine(s, l)
	if err != nil {
		require.Equal(t, wire.BadMessage, wire.CodeOf(err), "%v", err)
		return exactRead{Error: wire.CodeOf(err).String()}
	}
	return got
}

func (f *exactFile) readLine(s *schema.Schema, l exactLine) (got exactRead, err error) {
	var r bitio.Reader
	maxBack := wire.MaxBack(int(f.tickHzOf(l)))
	switch {
	case l.Structure != nil:
		m, err := wire.ParseStructure(l.Structure)
		if err != nil {
			return got, err
		}
		for record := range m.Records() {
			line, err := f.recordOf(s, record, m.Ticks, maxBack)
			if err != nil {
				return got, err
			}
			got.Records = append(got.Records, line)
		}
	case l.State != nil:
		h, err := wire.ParseStateHeader(l.State, &r)
		if err != nil {
			return got, err
		}
		got.Header = &stateLine{Complete: h.Complete, Continued: h.Continued, Exact: h.Exact, Rows: h.Rows}
		if h.Audited {
			got.Header.Audit = &h.Audit
		}
	case l.Row != nil:
		r.Reset(l.Row.Bits)
		skip, b := wire.ReadRowHeader(&r, wire.RowCoding{SkipBits: l.Row.K, Usual: wire.Baseline{Age: l.Row.Age, Gap: l.Row.Gap}}, l.Row.Tick)
		e := wire.ReadExact(&r, l.Row.Tick, b, maxBack)
		got.Read = &rowLine{Skip: skip, Age: b.Age, Gap: b.Gap, Exact: e.Form != wire.Ordinary, Back: e.Back}
		if e.Form != wire.Ordinary {
			body := wire.ReadBody(&r, e.Form, (*wire.Grid)(ptr(floatsOf(l.Row.Grid))), uint32(f.restTicks))
			got.Read.Form, got.Read.Body = uint32(e.Form-1), bitsOf(&body)
		}
		return got, wire.ExpectEnd(&r)
	case l.Audited != nil:
		audit := uint32(0)
		for i, b := range l.Audited.Bodies {
			if h := l.Audited.Handles[i]; wire.Audited(h, l.Audited.Seq) {
				audit = wire.Audit(audit, h, b.state())
			}
		}
		got.Audit = &audit
	}
	return got, nil
}

func ptr[T any](v T) *T { return &v }

// recordOf reads a record with the package.
func (f *exactFile) recordOf(s *schema.Schema, r wire.Record, tick, maxBack uint32) (l extensionLine, err error) {
	effect := func(h bulk.Handle) { l.Slot, l.Generation = h.Index(), h.Generation() }
	if r.Op == wire.OpEnter {
		row, body, err := readExactEnter(s, r, tick, maxBack, uint32(f.restTicks))
		l = extensionLine{Op: "enter", Kind: r.Kind, Form: uint32(r.Exact.Form - 1), Back: r.Exact.Back, Values: row.Values, Body: bitsOf(&body)}
		effect(r.Handle)
		return l, err
	}
	switch wire.Extension(r.Number) {
	case wire.ExtendProgram:
		p := r.Program()
		l = extensionLine{Op: "program", Program: uint32(p.Number), Code: p.Code}
	case wire.ExtendEffectAdded:
		e := r.EffectAdded()
		l = extensionLine{Op: "added", Program: uint32(e.Program), Mode: uint32(e.Mode), Layers: e.Layers, Path: pathOf(&e.Path), Params: bitsOfFloats(e.Params)}
		effect(e.Effect)
		l.Born, l.First, l.Last, err = e.Ticks(tick, maxBack)
	case wire.ExtendEffectChanged:
		e := r.EffectChanged()
		l.Op = "changed"
		effect(e.Effect)
		if e.HasPath {
			l.What, l.Path = 1, pathOf(&e.Path)
		}
		if e.HasParams {
			l.What, l.Params = l.What|2, bitsOfFloats(e.Params)
		}
		l.First, err = e.FirstTick(tick, maxBack)
	case wire.ExtendEffectEnded, wire.ExtendEffectLeft:
		e := r.EffectEnded()
		l.Op = map[bool]string{false: "ended", true: "left"}[e.Left]
		effect(e.Effect)
		l.First, err = e.FirstTick(tick, maxBack)
	case wire.ExtendKind:
		k := r.KindAdded()
		l = extensionLine{Op: "kind", Kind: k.Kind, Layers: k.Layers}
		for _, x := range []float32{k.InvMass, k.Coupling, k.Radius, k.Friction, k.Restitution} {
			l.Constants = append(l.Constants, math.Float32bits(x))
		}
	}
	return l, err
}

// readExactEnter reads the row of an exact Enter and the exact part after it.
func readExactEnter(s *schema.Schema, r wire.Record, tick, maxBack, restTicks uint32) (row rowschema.Row, body wire.BodyState, err error) {
	var bits bitio.Reader
	bits.Reset(r.Row)
	row = rowtest.NewRow(s, 0)
	row.Owned = r.Owned
	if err := rowschema.New(s).ReadFull(&bits, &row); err != nil {
		return row, body, err
	}
	var quantised schema.Body
	rowschema.New(s).Component(0).Restore(row.Values, &quantised)
	body = wire.ReadBody(&bits, r.Exact.Form, wiretest.Grid(&quantised), restTicks)
	if err := r.Exact.CheckBack(tick, maxBack); err != nil {
		return row, body, err
	}
	return row, body, wire.ExpectEnd(&bits)
}

func floatsOf(b [6]uint32) (f [6]float32) {
	for i, x := range b {
		f[i] = math.Float32frombits(x)
	}
	return f
}

func bitsOf(b *wire.BodyState) *bodyState {
	s := &bodyState{Awake: b.Awake, Rest: b.Rest}
	for i := range 3 {
		s.Position[i], s.Velocity[i] = math.Float32bits(b.Position[i]), math.Float32bits(b.Velocity[i])
	}
	return s
}

func (b *bodyState) state() *wire.BodyState {
	s := &wire.BodyState{Awake: b.Awake, Rest: b.Rest}
	for i := range 3 {
		s.Position[i], s.Velocity[i] = math.Float32frombits(b.Position[i]), math.Float32frombits(b.Velocity[i])
	}
	return s
}

func bitsOfFloats(f wire.Floats) (all []uint32) {
	for i := range f.Len() {
		all = append(all, math.Float32bits(f.At(i)))
	}
	return all
}

func pathOf(p *wire.Path) *path {
	vector := func(v [3]float32) (b [3]uint32) {
		for i := range v {
			b[i] = math.Float32bits(v[i])
		}
		return b
	}
	return &path{
		Form: uint32(p.Form), Center: vector(p.Center), Velocity: vector(p.Velocity), Axes: [2][3]uint32{vector(p.Axes[0]), vector(p.Axes[1])},
		Phase: p.Phase, Rate: p.Rate, Leader: p.Leader,
	}
}

// The package and the decoder of PROTOCOL.md read all lines of exact.jsonl as expected, and
// exactLines makes the file.
func TestExactVectors(t *testing.T) {
	s := exactSchema(t)
	head := exactHead{"exact states, effects and programs", wire.Version, s.Text(), fmt.Sprintf("%016x", s.Hash())}
	all := exactLines(s)
	if *vectorsUpdate {
		var text bytes.Buffer
		out := json.NewEncoder(&text)
		require.NoError(t, out.Encode(head))
		made := &exactFile{schema: parseSchemaText(t, s.Text()), tickHz: exactTickHz, restTicks: exactRestTicks}
		for _, l := range all {
			refused := l.Error != ""
			l.exactRead = made.byPackage(t, s, l)
			require.Equal(t, refused, l.Error != "", l.About)
			require.NoError(t, out.Encode(l))
		}
		require.NoError(t, os.WriteFile(filepath.Join(vectorsAt, exactVectors), text.Bytes(), 0o644))
	}
	f := readExactVectors(t)
	require.EqualValues(t, exactRestTicks, f.restTicks)
	require.Len(t, f.lines, len(all), "regenerate with -vectors.update")
	for i, l := range f.lines {
		made := all[i]
		made.exactRead = l.exactRead
		require.Equal(t, made, l, "regenerate with -vectors.update")
		require.Equal(t, l.exactRead, again(t, f.byPackage(t, s, l)), l.About)
		require.Equal(t, l.exactRead, again(t, f.byPage(l, mutation{})), l.About)
	}
	require.False(t, slices.ContainsFunc(f.lines, func(l exactLine) bool { return l.About == "" }))
}

// again returns a value after a round trip through JSON.
func again(t testing.TB, r exactRead) (got exactRead) {
	text := must.Get(json.Marshal(r))
	require.NoError(t, json.Unmarshal(text, &got))
	return got
}

package schema_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/rowtest"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// everything declares items of every sort.
func everything(t testing.TB) *schema.Schema {
	s := declared(t)
	world(t, s)
	first := len(s.Components())
	schema.Define[rowtest.Everything](s, fmt.Sprint("c", first))
	schema.Define[rowtest.Cube](s, fmt.Sprint("c", first+1))
	schema.Define[profile](s, fmt.Sprint("c", first+2))
	schema.Define[quantities](s, fmt.Sprint("c", first+3))
	schema.Define[purse](s, fmt.Sprint("c", first+4))
	require.NoError(t, s.Err())
	return s
}

// variants are the types of random fields, in addition to the kinds in rowtest.
var variants = []reflect.StructField{
	{Type: reflect.TypeFor[string](), Tag: `net:"max=9"`},
	{Type: reflect.TypeFor[[]byte](), Tag: `net:"max=200,owner"`},
	{Type: reflect.TypeFor[[2]string](), Tag: `net:"max=3,owner"`},
	{Type: reflect.TypeFor[[3]float32](), Tag: `net:"range=-8..8,step=1/64,always"`}, // for components
	{Type: reflect.TypeFor[bulk.Handle](), Tag: `net:"ref"`},
	{Type: reflect.TypeFor[[3]float32](), Tag: `net:"range=-8..8,step=1/64"`},
	{Type: reflect.TypeFor[[3]float32](), Tag: `net:"angle,bits=11"`},
	{Type: reflect.TypeFor[[4]float32](), Tag: `net:"range=-8..8,step=1/64"`},
	{Type: reflect.TypeFor[[4]float32](), Tag: `net:"quat,bits=5"`},
	{Type: reflect.TypeFor[[2][3]float64](), Tag: `net:"range=0..5,step=0.1"`},
	{Type: reflect.TypeFor[bool]()},
	{Type: reflect.TypeFor[uint16](), Tag: `net:"enum=300"`},
	{Type: reflect.TypeFor[int64]()},
	{Type: reflect.TypeFor[float64]()},
	{Type: reflect.TypeFor[int8]()},
}

// randomType returns a struct type of random fields, for components with attributes.
func randomType(r *rand.Rand, attributes bool, most int) reflect.Type {
	var fields []reflect.StructField
	for i := range r.IntN(most + 1) {
		f := variants[r.IntN(len(variants))]
		if (strings.Contains(string(f.Tag), "owner") || strings.Contains(string(f.Tag), "always")) && !attributes {
			continue
		}
		f.Name = fmt.Sprint("F", i)
		fields = append(fields, f)
	}
	return reflect.StructOf(fields)
}

// randomSchema declares random components, kinds, motion, input, commands and events.
func randomSchema(t testing.TB, r *rand.Rand) *schema.Schema {
	s := rowtest.RandomSchema(r)
	for i := range r.IntN(3) {
		schema.DefineType(s, fmt.Sprint("texts", i), randomType(r, true, 5))
	}
	for i := range r.IntN(4) {
		k := schema.EntityKind{Name: fmt.Sprint("kind", i)}
		if r.IntN(2) == 0 {
			k.Body = &schema.KindBody{InvMass: r.Float32(), Coupling: r.Float32(), Layers: r.Uint32()}
		}
		require.NoError(t, s.AddKind(k))
	}
	if r.IntN(2) == 0 {
		require.NoError(t, s.SetMotion(schema.Motion{TickHz: uint16(1 + r.IntN(1000)), Gravity: r.Float32(), Bounds: schema.Bounds(r.IntN(3))}))
	}
	if r.IntN(2) == 0 {
		schema.DefineInput[stick](s)
	}
	for i := range r.IntN(4) {
		args := randomType(r, false, 6)
		_, taken := s.CommandOf(args)
		switch name := fmt.Sprint("command", i); {
		case taken || r.IntN(3) == 0:
			require.NoError(t, s.AddRawCommand(name))
		case r.IntN(2) == 0:
			require.NoError(t, schema.AddCommandType(s, name, args, nil))
		default:
			require.NoError(t, schema.AddCommandType(s, name, args, randomType(r, false, 6)))
		}
	}
	for i := range r.IntN(4) {
		kind := randomType(r, false, 6)
		if _, taken := s.EventOf(kind); !taken {
			require.NoError(t, schema.AddEventType(s, fmt.Sprint("event", i), kind, r.IntN(2) == 0))
		}
	}
	require.NoError(t, s.Err())
	return s
}

// A parsed schema writes and reads the same bits as the original.
func TestParsedBehavesTheSame(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 21))
		s := randomSchema(t, r)
		parsed, err := schema.Parse(s.Text())
		require.NoError(t, err, s.Text())
		require.Equal(t, s.Text(), parsed.Text())
		require.Equal(t, s.Hash(), parsed.Hash())
		requireSameRows(t, r, s, parsed)
		requireSameMessages(t, r, s, parsed)
		bind(t, parsed, s)
		require.Equal(t, s, parsed, "with types they are the same in all")
	}
}

func requireSameRows(t *testing.T, r *rand.Rand, s, parsed *schema.Schema) {
	rows, parsedRows := rowschema.New(s), rowschema.New(parsed)
	t.Helper()
	require.Equal(t, s.Values(), parsed.Values())
	for i := range s.Components() {
		want := s.Components()[i]
		want.Type = nil
		require.Equal(t, want, parsed.Components()[i])
		j := must.Have(parsed.ByName(want.Name))
		require.Equal(t, i, j)
	}
	coded, parsedCoded := rowcodec.New(s, rowcodec.DefaultTables()), rowcodec.New(parsed, rowcodec.DefaultTables())
	states := rowtest.States(s, r, 3)
	past := rowtest.RandomPast(coded, r, states, states)
	var w, again bitio.Writer
	coded.Append(&w, states[2], past)
	parsedCoded.Append(&again, states[2], past)
	require.Equal(t, w.Bytes(), again.Bytes(), "predicted alike")
	for _, row := range states {
		var w, again bitio.Writer
		shares := rows.AppendFull(&w, row)
		require.Equal(t, shares, parsedRows.AppendFull(&again, row))
		require.Equal(t, w.Bytes(), again.Bytes())
		require.Equal(t, w.Bits(), again.Bits())
		var b bitio.Reader
		b.Reset(w.Bytes())
		got := rowtest.BlankRow(s, row)
		require.NoError(t, parsedRows.ReadFull(&b, &got))
		require.Equal(t, row, got)
		require.Equal(t, rows.Format(row, nil), parsedRows.Format(row, nil))
		require.Equal(t, rows.Load(row.Mask), parsedRows.Load(row.Mask))
		wantPart, wantParent := rows.Parent(row)
		part, parent := parsedRows.Parent(row)
		require.Equal(t, wantPart, part)
		require.Equal(t, wantParent, parent)

		texts := make([]string, len(rowschema.New(s).TextFields()))
		for i, f := range rowschema.New(s).TextFields() {
			texts[i] = strings.Repeat("x", r.IntN(f.Max+1))
		}
		require.Equal(t, rows.AppendTexts(nil, row.Mask, row.Owned, texts), parsedRows.AppendTexts(nil, row.Mask, row.Owned, texts))
	}
	require.Equal(t, rows.OwnedMask(), parsedRows.OwnedMask())
	require.Equal(t, rows.HasParents(), parsedRows.HasParents())
	require.Equal(t, rows.Refers(), parsedRows.Refers())
}

func requireSameMessages(t *testing.T, r *rand.Rand, s, parsed *schema.Schema) {
	t.Helper()
	same := func(a, b *schema.Message) {
		if a == nil {
			require.Nil(t, b)
			return
		}
		require.Nil(t, b.Type)
		require.Equal(t, schema.MaxBytes(a), schema.MaxBytes(b))
		bytes := make([]byte, schema.MaxBytes(a))
		of, parsedOf := rowschema.NewMessage(a), rowschema.NewMessage(b)
		var payload, again rowschema.Payload
		for range 20 {
			for i := range bytes {
				bytes[i] = byte(r.Uint32() & r.Uint32())
			}
			n := r.IntN(len(bytes) + 1)
			err := of.Parse(bytes[:n], &payload)
			require.Equal(t, err, parsedOf.Parse(bytes[:n], &again))
			if err != nil {
				require.NoError(t, of.Quantise(reflect.Zero(a.Type).Interface(), &payload))
			}
			require.Equal(t, of.Append(nil, &payload), parsedOf.Append(nil, &payload))
			require.Equal(t, of.Format(&payload), parsedOf.Format(&payload))
		}
	}
	same(s.Input(), parsed.Input())
	for i := range s.Commands() {
		require.Equal(t, s.Commands()[i].Name, parsed.Commands()[i].Name)
		same(s.Commands()[i].Args, parsed.Commands()[i].Args)
		same(s.Commands()[i].Answer, parsed.Commands()[i].Answer)
	}
	for i := range s.Events() {
		require.Equal(t, s.Events()[i].Name, parsed.Events()[i].Name)
		same(s.Events()[i].Message, parsed.Events()[i].Message)
	}
}

func TestParseRefuses(t *testing.T) {
	const head = "worldd schema 2\n"
	fields := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "F%d bool\n", i)
		}
		return b.String()
	}
	many := func(format string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	const vector = "P[0] range c090000000000000 3f70000000000000 524288 linear\nP[1] range c090000000000000 3f70000000000000 524288 linear\nP[2] range c090000000000000 3f70000000000000 524288 linear\n"
	const motion = "motion 60 411cf5c3 43800000 44000000 43800000 43000000 3da3d70a 30 bounce\n"
	// withInput adds a line for the input before commands and events, unless there is one.
	withInput := func(text string) (whole string, line int) {
		lines := strings.SplitAfter(text, "\n")
		at := len(lines) - 1 // the text after the last line feed
		for i, l := range slices.Backward(lines) {
			if strings.HasPrefix(l, "input") || l != "" && i == len(lines)-1 {
				return text, math.MaxInt
			}
			if strings.HasPrefix(l, "command") || strings.HasPrefix(l, "event") {
				at = i
			}
		}
		return strings.Join(slices.Insert(lines, at, "input raw\n"), ""), at + 2
	}
	for _, c := range []struct {
		text string // after the first line, without input raw
		line int    // 0: it is a schema
		want string // in the error
	}{
		{text: ""},
		{text: "component a\n"},
		{"component a", 0, "last line has no end"},
		{"\n", 2, "want one of component"},
		{"component a\n\n", 3, "want a path of 1 to 256 bytes"},
		{text: "component a\n" + strings.Repeat("x", 256) + " bool\n"},
		{"component a\n\x80 bool\n", 3, "want a path"},
		{"component  a\n", 2, "want component NAME"},
		{"component a \n", 2, "want component NAME"},
		{"component\n", 2, "want component NAME"},
		{"component \n", 2, "printable UTF-8"},
		{"component a\ncomponent a\n", 3, "twice"},
		{"component \x7f\n", 2, "printable UTF-8"},
		{"component \xff\n", 2, "printable UTF-8"},
		{"component a\r\n", 2, "printable UTF-8"},
		{text: "component " + strings.Repeat("x", 64) + "\n"},
		{"component " + strings.Repeat("x", 65) + "\n", 2, "1 to 64 bytes"},
		{text: many("component c%d\n", 32)},
		{many("component c%d\n", 33), 34, "one more than a schema's 32"},
		{text: "component a\n" + fields(64)},
		{"component a\n" + fields(65), 67, "one more than 64 fields"},
		{text: "component a\n" + fields(63) + "S string 1\n"},
		{"component a\n" + fields(64) + "S string 1\n", 67, "one more than 64 fields"},
		{text: many("command c%d raw\n", 256)},
		{many("command c%d raw\n", 257), 258, "one more than a schema's 256"},
		{text: many("event e%d\n", 256)},
		{many("event e%d unreliable\n", 257), 258, "one more than a schema's 256"},
		{text: many("kind %05d\n", 4465) + "kind abcde\n"}, // 48 KiB
		{many("kind %05d\n", 4465) + "kind abcdef\n", 0, "at most 49152"},

		{"component a\nX bool\nX bool\n", 4, "twice"},
		{"component a\nX bool\nX string 2\n", 4, "twice"},
		{"component a\nX\n", 3, "want PATH KIND"},
		{"component a\nX boolean 3\n", 3, `unknown kind "boolean"`},
		{"component a\nX uint\n", 3, "want PATH KIND N"},
		{text: "component a\nX uint 1\nY uint 32\nZ uint 64\n"},
		{"component a\nX uint 0\n", 3, "1 to 32"},
		{"component a\nX uint 33\n", 3, "1 to 32"},
		{"component a\nX int 65\n", 3, "1 to 32"},
		{"component a\nX uint 08\n", 3, `canonical form: want "X uint 8"`},
		{"component a\nX uint +8\n", 3, "not a number"},
		{"component a\nX uint 99999\n", 3, "not a number"},
		{"component a\nX float 16\n", 3, "float 16"},
		{"component a\nX float 33\n", 3, "float 33"},
		{text: "component a\nX enum 2\nY enum 65535\n"},
		{"component a\nX enum 1\n", 3, "2 to 65535"},
		{"component a\nX enum 65536\n", 3, "not a number"},
		{text: "component a\nX angle 1\nY angle 32\n"},
		{"component a\nX angle 0\n", 3, "1 to 32"},
		{"component a\nX angle 33\n", 3, "1 to 32"},
		{text: "component a\nX quat 2\nY quat 10\n"},
		{"component a\nX quat 1\n", 3, "2 to 10"},
		{"component a\nX quat 11\n", 3, "2 to 10"},
		{text: "component a\nX range 0000000000000000 3ff0000000000000 4294967294\n"},
		{"component a\nX range 0000000000000000 3ff0000000000000 4294967295\n", 3, "1 to 2^32-2"},
		{"component a\nX range 0000000000000000 3ff0000000000000 0\n", 3, "1 to 2^32-2"},
		{"component a\nX range 0000000000000000 3ff0000000000000\n", 3, "LOW STEP N"},
		{"component a\nX range 7ff8000000000000 3ff0000000000000 1\n", 3, "finite"},
		{"component a\nX range fff0000000000000 3ff0000000000000 1\n", 3, "finite"},
		{"component a\nX range 0000000000000000 0000000000000000 1\n", 3, "positive step"},
		{"component a\nX range 0000000000000000 bff0000000000000 1\n", 3, "positive step"},
		{"component a\nX range 0000000000000000 7ff0000000000000 1\n", 3, "finite"},
		{"component a\nX range 0000000000000000 7fe0000000000000 3\n", 3, "finite"},
		{text: "component a\nX range 0000000000000000 3ff0000000000000 3\n"},
		{"component a\nX range 8000000000000000 3ff0000000000000 3\n", 3, `canonical form: want "X range 0000000000000000`},
		{"component a\nX range 000000000000000A 3ff0000000000000 3\n", 3, "canonical"},
		{"component a\nX range 0 3ff0000000000000 3\n", 3, "canonical"},
		{text: "component a\nX uint 8 always owner\nY uint 8 linear owner\nZ bool owner\nQ quat 9 linear\nR ref always\n"},
		{"component a\nX uint 8 owner always\n", 3, "want always or linear, then owner"},
		{"component a\nX uint 8 always linear\n", 3, "want always or linear, then owner"},
		{"component a\nX uint 8 owner owner\n", 3, "want always or linear"},
		{"component a\nX uint 8 \n", 3, "want always or linear"},
		{"component a\nX bool linear\n", 3, "linear is for numbers"},
		{"component a\nX ref linear\n", 3, "linear is for numbers"},
		{"component a\nX uint 64 linear\n", 3, "linear is for numbers"},
		{"component a\nX float 32 linear\n", 3, "linear is for numbers"},

		{text: "component a\nX string 1\nY bytes 1024 owner\n"},
		{"component a\nX string 0\n", 3, "want 1 to 1024 bytes"},
		{"component a\nX bytes 1025\n", 3, "want 1 to 1024 bytes"},
		{"component a\nX string 01\n", 3, "canonical"},
		{"component a\nX string 9 always\n", 3, "canonical"},
		{"component a\nX string 9 owner owner\n", 3, "canonical"},
		{"component a\nX string\n", 3, "want PATH KIND N"},
		{"component a\nX string 9\nY bool\n", 4, "other fields precede"},

		{text: "component a\n" + vector + "On ref\nparent P[0] On\nS string 3\n"},
		{"component a\n" + vector + "On ref\nparent P[1] On\n", 7, "first field of a linear position"},
		{"component a\n" + vector + "On ref\nparent P[0] P[0]\n", 7, "not a ref"},
		{"component a\n" + vector + "On ref\nparent P[0]\n", 7, "want parent PATH HANDLE"},
		{"component a\n" + vector + "On ref\nparent P[0] Off\n", 7, "not a ref"},
		{"component a\n" + vector + "On ref owner\nparent P[0] On\n", 7, "owners"},
		{"component a\n" + strings.ReplaceAll(vector, " linear", "") + "On ref\nparent P[0] On\n", 7, "linear position"},
		{"component a\n" + vector + strings.Replace(vector[strings.LastIndex(vector, "P[2]"):], "P[2]", "P[3]", 1) + "On ref\nparent P[0] On\n", 8, "linear position"},
		{"component a\n" + strings.Replace(vector, "524288", "524287", 1), 4, "right after the one before, and alike"},
		{"component a\n" + vector + "P[3] bool\n", 6, "right after"},
		{"component a\nX[0] bool\nY bool\nX[1] bool\n", 5, "right after"},
		{"component a\nX[1] bool\n", 3, "indices in brackets from 0"},
		{"component a\nX[0] bool\nX[1] bool owner\n", 4, "alike"},
		{"component a\nX[0] bool\nX[01] bool\n", 4, "indices in brackets from 0"},
		{"component a\nX[00] bool\n", 3, "indices in brackets from 0"},
		{"component a\nX[65536] bool\n", 3, "indices in brackets from 0"},
		{"component a\nX[99999999999999999999] bool\n", 3, "indices in brackets from 0"},
		{"component a\nX[4294967294].Y bool\n", 3, "indices in brackets from 0"},
		{"component a\n. bool\n", 3, "names with dots between"},
		{"component a\nQ quat 9\nQ.length bool\n", 4, "no path is part of another"},
		{"component a\nX[1] string 3\n", 3, "indices in brackets from 0"},
		{"component a\nX[0] string 3\nX[01] string 3\n", 4, "indices in brackets from 0"},
		{"component a\n[] bool\n", 3, "names with dots between"},
		{"component a\nX[+0] bool\n", 3, "indices in brackets from 0"},
		{text: "component a\nX[0] bool\nX[1] bool\nY[0][0] bool\nY[1][0] bool\nZ[0].T string 3\nZ[1].T string 3\nZ[0].U bytes 3\n"},
		{"component a\n" + vector + "On ref\nparent P[0] On\nX bool\n", 8, "other fields precede"},
		{"component a\n" + vector + "On ref\nparent P[0] On\nparent P[0] On\n", 8, "want one of"},
		{"component a\nkind uint 8\n", 3, "want kind NAME"},

		{"kind a\ncomponent a\n", 3, "in this order"},
		{"kind a\nkind a\n", 3, "twice"},
		{"kind \n", 2, "printable"},
		{text: "kind a\nbody 3f000000 3e800000 3f800000 40000000 3e000000 80000001\n"},
		{"kind a\nbody 3f000000 3e800000 3f800000 40000000 3e000000\n", 3, "6 constants"},
		{"kind a\nbody 3f000000 3e800000 3f800000 40000000 3e000000 80000001 0\n", 3, "6 constants"},
		{"kind a\nbody 3f000000 3e800000 3f800000 40000000 3e000000 8000000A\n", 3, "canonical"},
		{"kind a\nbody 3f000000 3e800000 3f800000 40000000 3e000000 fffffffff\n", 3, "8 hexadecimal"},
		{"kind a\nbody 7fc00000 3e800000 3f800000 40000000 3e000000 80000001\n", 3, "finite"},
		{"kind a\nbody 3f000000 3fc00000 3f800000 40000000 3e000000 80000001\n", 3, "0 to 1"},
		{"kind a\nbody bf000000 3e800000 3f800000 40000000 3e000000 80000001\n", 3, "not negative"},
		{text: "kind a\nbody 00000000 00000000 00000000 00000000 00000000 00000000\n"},
		{"kind a\nbody 80000000 3e800000 3f800000 40000000 3e000000 80000001\n", 3, "not negative"},
		{"kind a\nbody 00000000 3e800000 3f800000 40000000 80000000 80000001\n", 3, "not negative"},
		{"kind a\nbody x 3e800000 3f800000 40000000 3e000000 80000001\n", 3, "8 hexadecimal"},
		{"body 3f000000 3e800000 3f800000 40000000 3e000000 80000001\n", 2, "want one of"},

		{text: motion},
		{motion + motion, 3, "once"},
		{strings.Replace(motion, " 60", " 0", 1), 2, "1 to 65535"},
		{strings.Replace(motion, " 60", " 65536", 1), 2, "16 bits"},
		{strings.Replace(motion, " 30", " 030", 1), 2, "canonical"},
		{strings.Replace(motion, " 30", " 4294967296", 1), 2, "32 bits"},
		{strings.Replace(motion, "bounce", "stop", 1), 2, "clamp, bounce, destroy"},
		{strings.Replace(motion, "bounce", "bounce x", 1), 2, "9 constants"},
		{strings.Replace(motion, "411cf5c3", "ff800000", 1), 2, "finite"},
		{strings.Replace(motion, "411cf5c3", "80000000", 1), 2, "not negative"},

		{text: "input\n"},
		{text: "input\nX uint 64\nS string 55\n"},
		{"input\nX uint 64\nS string 56\n", 2, "may take 65 bytes, at most 64"},
		{"input x\n", 2, "want input or input raw"},
		{"input raw x\n", 2, "want input or input raw"},
		{"input raw\nX bool\n", 3, "want one of"},
		{"input raw\ninput\n", 3, "input once"},
		{"input\ninput\n", 3, "once"},
		{"input\nX uint 8 owner\n", 3, "for components"},
		{"input\nX string 8 owner\n", 3, "for components"},
		{"input\nX uint 8\nparent X X\n", 4, "want one of"},
		{"input\nX uint 8\nanswer\n", 4, "want one of"},

		{text: "command a\nX uint 8\nanswer\ncommand b raw\ncommand c\nanswer\nY ref\nS bytes 3\n"},
		{"command a raw\nX uint 8\n", 3, "want one of"},
		{"command a raw\nanswer\n", 3, "want one of"},
		{"command a rare\n", 2, "want command NAME"},
		{"command a\nanswer x\n", 3, "want answer alone"},
		{"command a\nanswer\nanswer\n", 4, "want one of"},
		{"command a\nS string 1023\n", 2, "may take 1025 bytes"},
		{"command a\nanswer\nS string 1023\n", 3, "may take 1025 bytes"},
		{"command a\ncommand a raw\n", 3, "twice"},
		{"event a\ncommand a\n", 3, "in this order"},
		{text: "event a unreliable\nX uint 8\nevent b\n"},
		{"event a reliable\n", 2, "want event NAME"},
		{"event a\nS bytes 1023\n", 2, "may take 1025 bytes"},
		{"event a\nevent a unreliable\n", 3, "twice"},
		{"event a\nX uint 8 always\n", 3, "for components"},
	} {
		text, added := withInput(c.text)
		if added <= c.line {
			c.line++
		}
		c.text = text
		s, err := schema.Parse(head + c.text)
		if c.want == "" {
			require.NoError(t, err, c.text)
			require.True(t, head+c.text == s.Text(), c.text)
			continue
		}
		fault := &schema.ParseError{}
		require.ErrorAs(t, err, &fault, c.text)
		require.ErrorContains(t, err, c.want, c.text)
		require.Equal(t, c.line, fault.Line, c.text)
		require.Nil(t, s)
		if c.line > 0 {
			require.Equal(t, strings.Split(head+c.text, "\n")[c.line-1], fault.Text)
		}
	}
	for _, text := range []string{"", "\n", "worldd schema 2", "worldd schema 2\n", "worldd schema 1\ninput raw\n", "worldd schema 10\n"} {
		must.Fail(schema.Parse(text))
	}
	// An error shows a long line in part.
	long := strings.Repeat("\x01", 10_000)
	for _, text := range []string{
		"component " + long, "kind " + long, "event " + long, "command " + long, "input " + long, long,
		"component a\n" + strings.Repeat("x", 257) + " bool", "component a\nX " + long, "component a\nX " + long + " 1", "component a\nX uint " + long,
		"component a\nX uint 1 " + long, "component a\nX string " + long, "component a\nX string 1 " + long,
		"component a\nparent " + long + " x", "component a\n" + vector + "parent P[0] " + long,
		strings.Replace(motion, "30", long, 1), strings.Replace(motion, "bounce", long, 1), strings.Replace(motion, "411cf5c3", long, 1),
	} {
		_, err := schema.Parse(head + text + "\n")
		require.Error(t, err)
		require.Less(t, len(err.Error()), 1500, text[:20])
	}
	_, err := schema.Parse(long + "\n")
	require.Less(t, len(err.Error()), 1500)
}

// A text of the maximum length takes proportional memory.
func TestParseAllocates(t *testing.T) {
	for name, line := range map[string]string{"kinds": "kind %04x\n", "spaces": strings.Repeat(" ", 40_000) + "%d\n", "fields": "F%d bool\n"} {
		text := "worldd schema 2\n"
		if name == "fields" {
			for i := range 32 {
				text += fmt.Sprintf("component %d\n", i)
				for j := range 64 {
					text += fmt.Sprintf(line, j)
				}
			}
		} else {
			for i := 0; len(text) < 40_000; i++ {
				text += fmt.Sprintf(line, i)
			}
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = schema.Parse(text)
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(100*len(text)), name)
	}
}

func FuzzParse(f *testing.F) {
	body := func(s *schema.Schema) string {
		_, body, _ := strings.Cut(s.Text(), "\n")
		return body
	}
	f.Add(body(everything(f)))
	for _, section := range strings.SplitAfter(body(everything(f)), "\nc")[1:] {
		f.Add("c" + strings.TrimSuffix(section, "c"))
	}
	for seed := range uint64(20) {
		f.Add(body(randomSchema(f, rand.New(rand.NewPCG(seed, 22)))))
	}
	head, _, _ := strings.Cut(schema.New().Text(), "\n")
	f.Fuzz(func(t *testing.T, body string) { requireParsed(t, head+"\n"+body) })
}

// Texts with moved, doubled or removed lines and words.
func TestParseMutants(t *testing.T) {
	accepted := 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 23))
		text := randomSchema(t, rand.New(rand.NewPCG(seed%50, 24))).Text()
		lines := strings.SplitAfter(text, "\n")
		at, from := 1+r.IntN(len(lines)-1), 1+r.IntN(len(lines)-1)
		switch r.IntN(5) {
		case 0:
			lines[at] = ""
		case 1:
			lines[at] += lines[from]
		case 2:
			lines[at], lines[from] = lines[from], lines[at]
		case 3:
			words, others := strings.Split(lines[at], " "), strings.Split(strings.TrimSuffix(lines[from], "\n"), " ")
			words[r.IntN(len(words))] = others[r.IntN(len(others))]
			lines[at] = strings.Join(words, " ")
		default:
			i := r.IntN(len(lines[at]) + 1)
			lines[at] = lines[at][:i] + string("0 9af\n"[r.IntN(6)]) + lines[at][i:]
		}
		if requireParsed(t, strings.Join(lines, "")) {
			accepted++
		}
	}
	require.Greater(t, accepted, 300)
	require.Less(t, accepted, 2700)
}

// requireParsed parses any text. It reports whether the text is a schema.
func requireParsed(t *testing.T, text string) bool {
	s, err := schema.Parse(text)
	if err != nil {
		require.Nil(t, s)
		fault := &schema.ParseError{}
		require.ErrorAs(t, err, &fault)
		require.Less(t, len(err.Error()), 1500)
		return false
	}
	require.Equal(t, text, s.Text())
	require.LessOrEqual(t, len(s.Components()), wire.MaxComponents)
	require.NotZero(t, s.Hash())
	row := rowtest.NewRow(s, uint32(1<<len(s.Components())-1))
	require.NoError(t, rowtest.CheckRoundTrip(s, row))
	row.Owned = true
	require.NoError(t, rowtest.CheckRoundTrip(s, row))
	_ = rowschema.New(s).Format(row, make([]string, len(rowschema.New(s).TextFields())))
	again := must.Get(schema.Parse(text))
	bind(t, again, s)
	texts := make([]string, len(rowschema.New(s).TextFields()))
	b := rowschema.New(s).AppendTexts(nil, row.Mask, true, texts)
	require.NoError(t, rowschema.New(s).ReadTexts(b, row.Mask, true, texts))
	var payload rowschema.Payload
	for i := range s.Events() {
		m := s.Events()[i].Message
		if zero := make([]byte, schema.MaxBytes(m)); rowschema.NewMessage(m).Parse(zero, &payload) == nil {
			require.Equal(t, string(zero), string(rowschema.NewMessage(m).Append(nil, &payload)))
			_ = rowschema.NewMessage(m).Format(&payload)
		}
	}
	return true
}

// A row of a parsed schema needs no types to be shown.
func TestParsedFormat(t *testing.T) {
	s := everything(t)
	parsed := must.Get(schema.Parse(s.Text()))
	i, _ := s.ByName("c3")
	row := rowtest.NewRow(parsed, 1<<i)
	in := profile{Level: -7}
	at := s.Components()[i]
	rowschema.New(s).Component(i).Quantise(&in, row.Values[at.Offset:])
	require.Equal(t, "c3{Level=-7 Slots[0].Count=0 Slots[1].Count=0}", rowschema.New(parsed).Format(row, nil))
}

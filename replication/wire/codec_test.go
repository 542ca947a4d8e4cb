package wire_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/invariants"
	"github.com/worldd/worldd/replication/wire"
)

// everything has a field of every kind that there is.
type everything struct {
	Position [3]float32  `net:"range=-256..256,step=1/512,predict=linear,parent=Holder"`
	Facing   [4]float32  `net:"quat,bits=9,predict=linear"`
	Holder   bulk.Handle `net:"ref"`
	Aim      [4]float32  `net:"quat,bits=5"`
	Velocity [3]float32  `net:"range=-130..130,step=1"` // a ring of 261 numbers
	Yaw      float32     `net:"angle,bits=12,predict=linear"`
	Roll     float64     `net:"angle,bits=20"`
	Charge   float32     `net:"range=0..130,step=1,predict=linear"`
	Ammo     int32       `net:"bits=12,predict=linear"`
	State    uint8       `net:"enum=5"`
	Tiny     uint8       `net:"bits=3"`
	Count    uint32
	Alive    bool
	Armed    bool
	Raw      float32
	Serial   uint64
	Identity uint64 `net:"always"`
}

// carried has the shape that the default tables were trained with.
type carried struct {
	Position [3]float32 `net:"range=-256..256,step=1/512,predict=linear,parent=Holder"`
	Facing   [4]float32 `net:"quat,bits=9,predict=linear"`
	Lit      bool
	Holder   bulk.Handle `net:"ref"`
}

type codecKind struct {
	of  reflect.Type
	tag reflect.StructTag
}

// codecKinds are the fields that random schemas are made of.
var codecKinds = func() (all []codecKind) {
	t := reflect.TypeFor[everything]()
	for i := range t.NumField() {
		if f := t.Field(i); f.Name != "Position" {
			all = append(all, codecKind{f.Type, f.Tag})
		}
	}
	return append(all,
		codecKind{reflect.TypeFor[[3]float32](), `net:"range=-8..8,step=1/64,predict=linear"`},
		codecKind{reflect.TypeFor[[4]float32](), `net:"quat,bits=7,always"`},
		codecKind{reflect.TypeFor[[4]float32](), `net:"range=-1..1,step=1/64"`},
		codecKind{reflect.TypeFor[[3]float32](), `net:"range=-8..8,step=1/64,predict=linear,owner"`},
		codecKind{reflect.TypeFor[[4]float32](), `net:"quat,bits=8,owner"`},
		codecKind{reflect.TypeFor[bulk.Handle](), `net:"ref,owner"`},
		codecKind{reflect.TypeFor[uint64](), `net:"always,owner"`},
		codecKind{reflect.TypeFor[int32](), `net:"owner"`},
		codecKind{reflect.TypeFor[bool](), `net:"owner"`})
}()

// randomSchema has up to three components of random fields.
func randomSchema(t require.TestingT, r *rand.Rand) *wire.Schema {
	s := wire.NewSchema()
	switch r.IntN(3) {
	case 0:
		require.NoError(t, wire.AddComponent[everything](s, "posed"))
	case 1:
		require.NoError(t, wire.AddComponent[carried](s, "posed"))
	}
	for i := range 1 + r.IntN(2) {
		var fields []reflect.StructField
		for j := range r.IntN(12) {
			k := codecKinds[r.IntN(len(codecKinds))]
			fields = append(fields, reflect.StructField{Name: fmt.Sprintf("F%d", j), Type: k.of, Tag: k.tag})
		}
		require.NoError(t, s.AddType(fmt.Sprintf("c%d", i), reflect.StructOf(fields)))
	}
	return s
}

// randomise gives v a random value; with a chance of keep, it stays.
func randomise(v reflect.Value, r *rand.Rand, keep float64) {
	if v.Type() == reflect.TypeFor[bulk.Handle]() {
		if r.Float64() >= keep {
			v.SetUint(uint64(bulk.NewHandle(r.Uint32N(1000), r.Uint32N(4))))
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			randomise(v.Field(i), r, keep)
		}
	case reflect.Array:
		if r.Float64() >= keep {
			for i := range v.Len() {
				randomise(v.Index(i), r, keep/2)
			}
		}
	default:
		if r.Float64() < keep {
			return
		}
		switch near := r.Float64() < keep; v.Kind() {
		case reflect.Bool:
			v.SetBool(r.IntN(2) == 0)
		case reflect.Float32, reflect.Float64:
			if near {
				v.SetFloat(v.Float() + r.NormFloat64()/50)
			} else {
				v.SetFloat(r.NormFloat64() * 200)
			}
		case reflect.Int32:
			v.SetInt(int64(int32(r.Uint32()) >> r.IntN(32)))
		default:
			v.SetUint(r.Uint64() >> r.IntN(64) & (1<<v.Type().Bits() - 1))
		}
	}
}

// states are n rows of one mask, each a change of the one before, for an owner or
// for somebody else.
func states(s *wire.Schema, r *rand.Rand, n int) []wire.Row {
	mask, owned := r.Uint32N(1<<s.Components()), r.IntN(2) == 0
	rows := make([]wire.Row, n)
	values := make([]reflect.Value, s.Components())
	for i := range values {
		values[i] = reflect.New(s.Component(i).Type)
	}
	for j := range rows {
		rows[j] = newRow(s, mask)
		rows[j].Owned = owned
		keep := float64(r.IntN(3)) / 2.2
		for i, v := range values {
			if j == 0 {
				keep = 0
			}
			randomise(v.Elem(), r, keep)
			if spec := s.Component(i); mask>>i&1 != 0 {
				s.Quantise(i, v.UnsafePointer(), rows[j].Words[spec.Offset:spec.Offset+spec.Words])
			}
		}
		if !owned {
			s.HideOwned(rows[j])
		}
	}
	return rows
}

// randomPast is what may be known of rows[2] from rows[1] and rows[0], nil if
// nothing is; carriers
// are the same states of a parent.
func randomPast(c *wire.Codec, r *rand.Rand, rows, carriers []wire.Row) *wire.Past {
	if r.IntN(8) == 0 {
		return nil
	}
	past := &wire.Past{Base: rows[1].Words, Age: 1 + r.Uint32N(30), Gap: 1 + r.Uint32N(8)}
	if r.IntN(4) > 0 {
		past.Older = rows[0].Words
	}
	if i, ok := c.Schema().ByName("posed"); ok && r.IntN(2) == 0 {
		past.Anchor = new(wire.Anchor)
		c.SetAnchor(past.Anchor, i, carriers[2].Words, carriers[1].Words, past.Older)
	}
	return past
}

func TestCodecRoundTrip(t *testing.T) {
	tables := []*wire.Tables{wire.DefaultTables(), wire.UntrainedTables()}
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		s := randomSchema(t, r)
		c := wire.NewCodec(s, tables[r.IntN(2)])
		var w bitio.Writer
		var want []wire.Row
		var pasts []*wire.Past
		for range 4 {
			rows := states(s, r, 3)
			past := randomPast(c, r, rows, states(s, r, 3))
			c.Append(&w, rows[2], past)
			want, pasts = append(want, rows[2]), append(pasts, past)
		}
		var reader bitio.Reader
		reader.Reset(w.Bytes())
		for i, row := range want {
			got := blankRow(s, row)
			for j := range got.Words {
				got.Words[j] = 0xdeadbeef // whatever was there does not matter
			}
			require.NoError(t, c.Read(&reader, &got, pasts[i]))
			require.Equal(t, row, got, "row %d", i)
		}
		require.NoError(t, wire.ExpectEnd(&reader))
	})
}

// P6: a row and its past are all that its bits depend on, so a chunk is made
// once.
func TestChunksAreWhatTheCodecWrites(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	s := randomSchema(t, r)
	c := wire.NewCodec(s, wire.DefaultTables())
	var chunks wire.Chunks
	var made []wire.Chunk
	var direct, copied bitio.Writer
	want := make([]uint64, s.Components())
	for range 200 {
		rows := states(s, r, 3)
		past := randomPast(c, r, rows, states(s, r, 3))
		before := direct.Bits()
		shares := c.Append(&direct, rows[2], past)
		for i := range want {
			want[i] += shares.Bits(i)
		}
		made = append(made, chunks.Add(c, rows[2], past))
		require.Equal(t, direct.Bits()-before, made[len(made)-1].Bits())
	}
	for _, chunk := range made {
		chunks.Copy(&copied, chunk)
	}
	require.Equal(t, direct.Bytes(), copied.Bytes())
	got := make([]uint64, len(want))
	for _, chunk := range made { // a few hundred rows are more than a sum holds
		var sum wire.Shares
		chunks.AddShares(&sum, chunk, len(got))
		chunks.AddShares(&sum, chunk, len(got))
		for i := range got {
			got[i] += sum.Bits(i) / 2
		}
	}
	require.Equal(t, want, got)
	chunks.Reset()
	again := chunks.Add(c, newRow(s, 0), nil)
	require.Equal(t, 0, again.Bits())
}

func TestGaps(t *testing.T) {
	c := wire.NewCodec(wire.NewSchema(), wire.DefaultTables())
	gaps := []uint32{0, 1, 7, 8, 9, 63, 64, 1000, 1<<20 - 1}
	var w bitio.Writer
	for _, g := range gaps {
		c.AppendGap(&w, g)
	}
	c.AppendEnd(&w)
	var r bitio.Reader
	r.Reset(w.Bytes())
	for _, want := range gaps {
		got, more := c.ReadGap(&r)
		require.True(t, more)
		require.Equal(t, want, got)
	}
	_, more := c.ReadGap(&r)
	require.False(t, more)
	require.NoError(t, wire.ExpectEnd(&r))
}

// codecSample is one row with a past, the same on every machine.
func codecSample(t testing.TB, seed uint64) (c *wire.Codec, row wire.Row, past *wire.Past, bytes []byte) {
	s := wire.NewSchema()
	require.NoError(t, wire.AddComponent[everything](s, "everything"))
	c = wire.NewCodec(s, wire.DefaultTables())
	v := everything{Position: [3]float32{1, 2, 3}, Facing: [4]float32{0, 0, 0, 1}, Holder: bulk.NewHandle(7, 3), Identity: seed}
	r := rand.New(rand.NewPCG(seed, 0))
	quantised := func() []uint32 {
		row := newRow(s, 1)
		s.Quantise(0, unsafe.Pointer(&v), row.Words)
		return row.Words
	}
	past = &wire.Past{Age: 3, Gap: 2, Older: quantised()}
	v.Position[0] += 0.25
	v.Yaw += 0.5
	past.Base = quantised()
	v.Position = [3]float32{v.Position[0] + 0.4, 2 + r.Float32()/64, 3}
	v.Facing = [4]float32{0.6, 0, 0, 0.8}
	v.Ammo = int32(r.Uint32N(100))
	v.Alive = true
	row = wire.Row{Mask: 1, Words: quantised()}
	var w bitio.Writer
	c.Append(&w, row, past)
	return c, row, past, w.Bytes()
}

// Golden bytes: the same on every machine.
func TestCodecGolden(t *testing.T) {
	_, _, _, bytes := codecSample(t, 5)
	require.Equal(t, "b511fea7969f61461d420100000000000000", fmt.Sprintf("%x", bytes))
	require.Equal(t, uint32(0x54274d6d), wire.DefaultTables().Version())
}

// Cut anywhere, and with any bit flipped, a row is read to its end or refused.
func TestCodecReadsAnything(t *testing.T) {
	c, want, past, bytes := codecSample(t, 6)
	s := c.Schema()
	got := newRow(s, 1)
	var r bitio.Reader
	for n := range bytes {
		r.Reset(bytes[:n])
		require.ErrorIs(t, c.Read(&r, &got, past), &wire.Error{Code: wire.BadMessage}, "cut to %d bytes", n)
	}
	differs := 0
	for bit := range len(bytes) * 8 {
		flipped := append([]byte(nil), bytes...)
		flipped[bit/8] ^= 1 << (bit % 8)
		r.Reset(flipped)
		if err := c.Read(&r, &got, past); err != nil {
			require.ErrorIs(t, err, &wire.Error{Code: wire.BadMessage})
			differs++
			continue
		}
		requireLawful(t, s, got)
		if !reflect.DeepEqual(got.Words, want.Words) {
			differs++
		}
	}
	require.Greater(t, differs, len(bytes)*8-8, "all bits but the padding mean something")
}

// requireLawful checks that row is one that a full row can hold.
func requireLawful(t require.TestingT, s *wire.Schema, row wire.Row) {
	var w bitio.Writer
	var r bitio.Reader
	again := blankRow(s, row)
	s.AppendFull(&w, row)
	r.Reset(w.Bytes())
	require.NoError(t, s.ReadFull(&r, &again))
	require.Equal(t, row, again)
}

func FuzzCodecRead(f *testing.F) {
	_, _, _, bytes := codecSample(f, 7)
	f.Add(uint64(1), bytes)
	defaults := wire.DefaultTables()
	var codecs [16]*wire.Codec
	for i := range codecs {
		codecs[i] = wire.NewCodec(randomSchema(f, rand.New(rand.NewPCG(uint64(i), 2))), defaults)
	}
	f.Fuzz(func(t *testing.T, seed uint64, bytes []byte) {
		r := rand.New(rand.NewPCG(seed, 1))
		c := codecs[seed%uint64(len(codecs))]
		s := c.Schema()
		rows := states(s, r, 3)
		past := randomPast(c, r, rows, states(s, r, 3))
		var reader bitio.Reader
		reader.Reset(bytes)
		got := blankRow(s, rows[2])
		for i := 0; i < 4; i++ {
			if c.Read(&reader, &got, past) != nil {
				return
			}
			requireLawful(t, s, got)
			// and what was read is written and read as the same
			var w bitio.Writer
			var back bitio.Reader
			c.Append(&w, got, past)
			back.Reset(w.Bytes())
			again := blankRow(s, got)
			require.NoError(t, c.Read(&back, &again, past))
			require.Equal(t, got, again)
		}
	})
}

func TestCodecAllocatesNothing(t *testing.T) {
	c, row, past, _ := codecSample(t, 8)
	var w bitio.Writer
	var r bitio.Reader
	var chunks wire.Chunks
	var anchor wire.Anchor
	buffer := make([]byte, 0, 512)
	got := newRow(c.Schema(), 1)
	chunk := chunks.Add(c, row, past)
	past.Anchor = &anchor
	n := testing.AllocsPerRun(100, func() {
		c.SetAnchor(&anchor, 0, row.Words, past.Base, past.Older)
		chunks.Reset()
		chunk = chunks.Add(c, row, past)
		w.Reset(buffer)
		chunks.Copy(&w, chunk)
		r.Reset(w.Bytes())
		must(c.Read(&r, &got, past))
	})
	require.Equal(t, row, got)
	if !invariants.Enabled { // checked builds format their assertions
		require.Zero(t, n)
	}
}

func TestTablesAreReadWhole(t *testing.T) {
	whole, err := os.ReadFile("default.tables")
	require.NoError(t, err)
	read, err := wire.ParseTables(whole)
	require.NoError(t, err)
	require.Equal(t, whole, read.Bytes())
	require.Equal(t, wire.DefaultTables().Version(), read.Version())
	refused := &wire.Error{Code: wire.BadMessage}
	for n := 0; n < len(whole); n += 1 + n/50 {
		_, err := wire.ParseTables(whole[:n])
		require.ErrorIs(t, err, refused, "cut to %d bytes", n)
	}
	_, err = wire.ParseTables(append(whole, 0))
	require.ErrorIs(t, err, refused)
}

// With any bit flipped, tables are refused, or are others that say all of that file.
func TestTablesWithAnyBitFlipped(t *testing.T) {
	whole, err := os.ReadFile("default.tables")
	require.NoError(t, err)
	for n := 0; n < len(whole); n += 1 + n/50 {
		flipped := append([]byte(nil), whole...)
		flipped[n] ^= 1 << (n % 8)
		read, err := wire.ParseTables(flipped)
		if err != nil {
			require.ErrorIs(t, err, &wire.Error{Code: wire.BadMessage}, "byte %d", n)
			continue
		}
		require.Equal(t, flipped, read.Bytes(), "byte %d", n)
		require.NotEqual(t, wire.DefaultTables().Version(), read.Version(), "byte %d", n)
	}
}

// Whatever tables are accepted, a codec made of them reads and writes.
func FuzzTables(f *testing.F) {
	f.Add(0, byte(0), uint64(1))
	whole := wire.DefaultTables().Bytes()
	f.Fuzz(func(t *testing.T, at int, value byte, seed uint64) {
		if at < 0 || at >= len(whole) {
			return
		}
		changed := append([]byte(nil), whole...)
		changed[at] = value
		tables, err := wire.ParseTables(changed)
		if err != nil {
			return
		}
		r := rand.New(rand.NewPCG(seed, 1))
		s := randomSchema(t, r)
		c := wire.NewCodec(s, tables)
		rows := states(s, r, 3)
		past := randomPast(c, r, rows, states(s, r, 3))
		var w bitio.Writer
		var reader bitio.Reader
		c.Append(&w, rows[2], past)
		reader.Reset(w.Bytes())
		got := blankRow(s, rows[2])
		require.NoError(t, c.Read(&reader, &got, past))
		require.Equal(t, rows[2], got)
	})
}

package rowcodec_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/worldd/worldd/internal/alloctest"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/rowtest"
	"github.com/worldd/worldd/replication/wire"
)

func TestCodecRoundTrip(t *testing.T) {
	racetest.SkipSequential(t)
	tables := []*rowcodec.Tables{rowcodec.DefaultTables(), rowcodec.Untrained().Tables()}
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		s := rowtest.RandomSchema(r)
		c := rowcodec.New(s, tables[r.IntN(2)])
		var w bitio.Writer
		var want []rowschema.Row
		var pasts []*rowcodec.Past
		for range 4 {
			rows := rowtest.States(s, r, 3)
			past := rowtest.RandomPast(c, r, rows, rowtest.States(s, r, 3))
			c.Append(&w, rows[2], past)
			want, pasts = append(want, rows[2]), append(pasts, past)
		}
		var reader bitio.Reader
		reader.Reset(w.Bytes())
		for i, row := range want {
			got := rowtest.BlankRow(s, row)
			for j := range got.Values {
				got.Values[j] = 0xdeadbeef // Read overwrites it
			}
			require.NoError(t, c.Read(&reader, &got, pasts[i]))
			require.Equal(t, row, got, "row %d", i)
		}
		require.NoError(t, wire.ExpectEnd(&reader))
	})
}

// D4: the bits of a row depend only on the row and its past, so chunks equal direct
// encoding.
func TestChunksEqualDirectEncoding(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	s := rowtest.RandomSchema(r)
	c := rowcodec.New(s, rowcodec.DefaultTables())
	var chunks rowcodec.Chunks
	var made []rowcodec.Chunk
	var direct, copied bitio.Writer
	want := make([]uint64, len(s.Components()))
	for range 200 {
		rows := rowtest.States(s, r, 3)
		past := rowtest.RandomPast(c, r, rows, rowtest.States(s, r, 3))
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
	for _, chunk := range made { // a few hundred rows would overflow a sum
		var sum rowschema.Shares
		chunks.AddShares(&sum, chunk, len(got))
		chunks.AddShares(&sum, chunk, len(got))
		for i := range got {
			got[i] += sum.Bits(i) / 2
		}
	}
	require.Equal(t, want, got)
	chunks.Reset()
	again := chunks.Add(c, rowtest.NewRow(s, 0), nil)
	require.Equal(t, 0, again.Bits())
}

// The bytes are the same on every machine.
func TestCodecGolden(t *testing.T) {
	_, _, _, bytes := rowtest.Coded(5)
	require.Equal(t, "b511fea796bfc58c38840200000000000000", fmt.Sprintf("%x", bytes))
	require.Equal(t, uint32(0x1a382045), rowcodec.DefaultTables().Version())
}

// A row truncated anywhere or with any bit flipped is either read to its end or rejected.
func TestCodecReadsAnything(t *testing.T) {
	c, want, past, bytes := rowtest.Coded(6)
	s := c.Schema()
	got := rowtest.NewRow(s, 1)
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
		require.NoError(t, rowtest.CheckRoundTrip(s, got))
		if !reflect.DeepEqual(got.Values, want.Values) {
			differs++
		}
	}
	require.Greater(t, differs, len(bytes)*8-8, "all bits but the padding have an effect")
}

func FuzzCodecRead(f *testing.F) {
	_, _, _, bytes := rowtest.Coded(7)
	f.Add(uint64(1), bytes)
	defaults := rowcodec.DefaultTables()
	var codecs [16]*rowcodec.Codec
	for i := range codecs {
		codecs[i] = rowcodec.New(rowtest.RandomSchema(rand.New(rand.NewPCG(uint64(i), 2))), defaults)
	}
	f.Fuzz(func(t *testing.T, seed uint64, bytes []byte) {
		r := rand.New(rand.NewPCG(seed, 1))
		c := codecs[seed%uint64(len(codecs))]
		s := c.Schema()
		rows := rowtest.States(s, r, 3)
		past := rowtest.RandomPast(c, r, rows, rowtest.States(s, r, 3))
		var reader bitio.Reader
		reader.Reset(bytes)
		got := rowtest.BlankRow(s, rows[2])
		for i := 0; i < 4; i++ {
			if c.Read(&reader, &got, past) != nil {
				return
			}
			require.NoError(t, rowtest.CheckRoundTrip(s, got))
			// The row round-trips.
			var w bitio.Writer
			var back bitio.Reader
			c.Append(&w, got, past)
			back.Reset(w.Bytes())
			again := rowtest.BlankRow(s, got)
			require.NoError(t, c.Read(&back, &again, past))
			require.Equal(t, got, again)
		}
	})
}

func TestCodecAllocatesNothing(t *testing.T) {
	c, row, past, _ := rowtest.Coded(8)
	var w bitio.Writer
	var r bitio.Reader
	var chunks rowcodec.Chunks
	var anchor rowcodec.Anchor
	buffer := make([]byte, 0, 512)
	got := rowtest.NewRow(c.Schema(), 1)
	chunk := chunks.Add(c, row, past)
	past.Anchor = &anchor
	alloctest.RequireNone(t, 0, 100, func() {
		c.SetAnchor(&anchor, 0, row.Values, past.Base, past.Older)
		chunks.Reset()
		chunk = chunks.Add(c, row, past)
		w.Reset(buffer)
		chunks.Copy(&w, chunk)
		r.Reset(w.Bytes())
		must.Do(c.Read(&r, &got, past))
	})
	require.Equal(t, row, got)
}

func TestParseTablesRejectsCutFiles(t *testing.T) {
	whole := must.Get(os.ReadFile("default.tables"))
	read := must.Get(rowcodec.ParseTables(whole))
	require.Equal(t, whole, read.Bytes())
	require.Equal(t, rowcodec.DefaultTables().Version(), read.Version())
	refused := &wire.Error{Code: wire.BadMessage}
	for n := 0; n < len(whole); n += 1 + n/50 {
		require.ErrorIs(t, must.Fail(rowcodec.ParseTables(whole[:n])), refused, "cut to %d bytes", n)
	}
	require.ErrorIs(t, must.Fail(rowcodec.ParseTables(append(whole, 0))), refused)
}

// Tables with any bit flipped are either rejected or differ and round-trip.
func TestParseTablesWithFlippedBits(t *testing.T) {
	racetest.SkipSequential(t)
	whole := must.Get(os.ReadFile("default.tables"))
	for n := 0; n < len(whole); n += 1 + n/50 {
		flipped := append([]byte(nil), whole...)
		flipped[n] ^= 1 << (n % 8)
		read, err := rowcodec.ParseTables(flipped)
		if err != nil {
			require.ErrorIs(t, err, &wire.Error{Code: wire.BadMessage}, "byte %d", n)
			continue
		}
		require.Equal(t, flipped, read.Bytes(), "byte %d", n)
		require.NotEqual(t, rowcodec.DefaultTables().Version(), read.Version(), "byte %d", n)
	}
}

// A codec with any tables that ParseTables accepts reads and writes rows.
func FuzzTables(f *testing.F) {
	f.Add(0, byte(0), uint64(1))
	whole := rowcodec.DefaultTables().Bytes()
	f.Fuzz(func(t *testing.T, at int, value byte, seed uint64) {
		if at < 0 || at >= len(whole) {
			return
		}
		changed := append([]byte(nil), whole...)
		changed[at] = value
		tables, err := rowcodec.ParseTables(changed)
		if err != nil {
			return
		}
		r := rand.New(rand.NewPCG(seed, 1))
		s := rowtest.RandomSchema(r)
		c := rowcodec.New(s, tables)
		rows := rowtest.States(s, r, 3)
		past := rowtest.RandomPast(c, r, rows, rowtest.States(s, r, 3))
		var w bitio.Writer
		var reader bitio.Reader
		c.Append(&w, rows[2], past)
		reader.Reset(w.Bytes())
		got := rowtest.BlankRow(s, rows[2])
		require.NoError(t, c.Read(&reader, &got, past))
		require.Equal(t, rows[2], got)
	})
}

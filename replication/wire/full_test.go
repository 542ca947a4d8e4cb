package wire_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/worldd/worldd/replication/wire"
)

// anyRow draws a lawful row: random bits read as a full row, until one is.
func anyRow(t *rapid.T, s *wire.Schema, label string, mask uint32) wire.Row {
	row := newRow(s, 0)
	bytes := rapid.SliceOfN(rapid.Byte(), 256, 256).Draw(t, label)
	var w wire.BitWriter
	var r wire.BitReader
	w.Reset(nil)
	w.Write(uint64(mask), uint(s.Components()))
	r.Reset(append(w.Bytes(), bytes...))
	if s.ReadFull(&r, &row) == nil {
		return row
	}
	return wire.Row{Mask: mask, Words: make([]uint32, s.Words())}
}

// smallSchema has few enough narrow numbers that random bits often are lawful.
type small struct {
	A uint32  `net:"bits=3"`
	B uint32  `net:"bits=5"`
	C int32   `net:"bits=9"`
	D uint32  `net:"bits=13"`
	E int32   // 32 bits
	F uint32  `net:"bits=4,always"`
	G float32 `net:"range=0..130,step=1"` // 131 numbers in 8 bits: the ring is no power of two
	H bool
	I float64
	J uint64
}

type small2 struct {
	A bool
	B float32
}

func smallSchema(t testing.TB) *wire.Schema {
	s := wire.NewSchema()
	require.NoError(t, wire.AddComponent[small](s, "small"))
	require.NoError(t, wire.AddComponent[small2](s, "small2"))
	return s
}

// near moves some words of row a little, so that every class is drawn.
func near(t *rapid.T, s *wire.Schema, row wire.Row) wire.Row {
	var w wire.BitWriter
	out := wire.Row{Mask: row.Mask, Words: append([]uint32(nil), row.Words...)}
	for i := range out.Words {
		if rapid.Bool().Draw(t, "move") {
			before := out.Words[i]
			out.Words[i] += uint32(rapid.SampledFrom([]int32{1, -1, 7, -8, 8, 127, -128, 128, 2047, -2048, 2048, 70_000}).Draw(t, "by"))
			// back to what was if the schema has no such number
			w.Reset(nil)
			lawful := func() (ok bool) {
				defer func() { ok = recover() == nil && ok }()
				s.AppendFull(&w, out)
				var r wire.BitReader
				r.Reset(w.Bytes())
				again := newRow(s, 0)
				if s.ReadFull(&r, &again) != nil || wire.ExpectEnd(&r) != nil {
					return false
				}
				return again.Words[i] == out.Words[i]
			}()
			if !lawful {
				out.Words[i] = before
			}
		}
	}
	return out
}

func TestDeltaRoundTrip(t *testing.T) {
	s := smallSchema(t)
	rapid.Check(t, func(t *rapid.T) {
		mask := uint32(rapid.IntRange(0, 3).Draw(t, "mask"))
		base := anyRow(t, s, "base", mask)
		row := near(t, s, base)
		if rapid.Bool().Draw(t, "far") {
			row = anyRow(t, s, "row", mask)
		}
		var w wire.BitWriter
		s.AppendDelta(&w, row, base)
		var r wire.BitReader
		r.Reset(w.Bytes())
		got := newRow(s, 0)
		require.NoError(t, s.ReadDelta(&r, base, &got))
		require.NoError(t, wire.ExpectEnd(&r))
		require.Equal(t, row, got)

		// into the baseline's own words
		own := wire.Row{Words: append([]uint32(nil), base.Words...)}
		r.Reset(w.Bytes())
		require.NoError(t, s.ReadDelta(&r, wire.Row{Mask: mask, Words: own.Words}, &own))
		require.Equal(t, row, own)

		// absolute, against nil
		w.Reset(nil)
		s.AppendAbsolute(&w, row)
		r.Reset(w.Bytes())
		require.NoError(t, s.ReadDelta(&r, wire.Row{Mask: mask}, &got))
		require.NoError(t, wire.ExpectEnd(&r))
		require.Equal(t, row, got)

		// full
		w.Reset(nil)
		s.AppendFull(&w, row)
		r.Reset(w.Bytes())
		require.NoError(t, s.ReadFull(&r, &got))
		require.NoError(t, wire.ExpectEnd(&r))
		require.Equal(t, row, got)
	})
}

// P5: how a row parses does not depend on the values of its baseline.
func TestDeltaCanBeReadPast(t *testing.T) {
	s := sampleSchema(t)
	rapid.Check(t, func(t *rapid.T) {
		mask := uint32(rapid.IntRange(0, 31).Draw(t, "mask"))
		bytes := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "bytes")
		var first, second wire.BitReader
		first.Reset(bytes)
		second.Reset(bytes)
		out := newRow(s, 0)
		err1 := s.ReadDelta(&first, wire.Row{Mask: mask}, &out)
		err2 := s.ReadDelta(&second, anyRow(t, s, "base", mask), &out)
		require.Equal(t, err1 == nil, err2 == nil)
		if err1 == nil {
			require.Equal(t, first.Left(), second.Left())
		}
	})
}

func TestDeltaSizes(t *testing.T) {
	s := wire.NewSchema()
	require.NoError(t, wire.AddComponent[wire.Body](s, "body"))
	base := newRow(s, 0)
	set(t, s, &base, "body", wire.Body{Position: [3]float32{10, 1, -7}, Velocity: [3]float32{3, 0, 1}})
	moved := newRow(s, 0)
	set(t, s, &moved, "body", wire.Body{Position: [3]float32{10.15, 1, -6.95}, Velocity: [3]float32{3, 0, 1}})
	bits := func(row, base wire.Row) int {
		var w wire.BitWriter
		s.AppendDelta(&w, row, base)
		return w.Bits()
	}
	require.Equal(t, 1, bits(base, base), "unchanged")
	require.Equal(t, 1+(3+8)+1+(3+8)+3, bits(moved, base), "one step at 3 m/s")
	require.Equal(t, 1+3*(3+20)+3*(3+14), bits(base, wire.Row{Mask: base.Mask}), "whole")
}

func TestDeltaRefuses(t *testing.T) {
	s := smallSchema(t)
	read := func(write func(w *wire.BitWriter)) error {
		var w wire.BitWriter
		write(&w)
		var r wire.BitReader
		r.Reset(append(w.Bytes(), make([]byte, 64)...))
		row := newRow(s, 0)
		return s.ReadDelta(&r, wire.Row{Mask: 1}, &row)
	}
	refused := &wire.Error{Code: wire.BadMessage}
	require.NoError(t, read(func(*wire.BitWriter) {}), "all zeros say that nothing changed")
	for name, write := range map[string]func(w *wire.BitWriter){
		"5 bits by a difference of 8": func(w *wire.BitWriter) { w.Write(0b0, 1); w.Write(0b1|1<<1|200<<3, 11) },
		"13 bits, difference 0":       func(w *wire.BitWriter) { w.Write(0, 3); w.Write(0b1, 7) },
		"13 bits, 3 in a class of 8":  func(w *wire.BitWriter) { w.Write(0, 3); w.Write(0b1|1<<1|3<<3, 11) },
		"number above its range":      func(w *wire.BitWriter) { w.Write(0, 9); w.Write(0b1|3<<1|131<<3, 11) },
	} {
		require.ErrorIs(t, read(write), refused, name)
	}
}

func TestFullRefuses(t *testing.T) {
	s := wire.NewSchema()
	require.NoError(t, wire.AddComponent[link](s, "link"))
	require.NoError(t, wire.AddComponent[wire.Body](s, "body"))
	for name, c := range map[string]struct {
		word  int
		value uint32
		ok    bool
	}{
		"a handle":          {1, 3, true},
		"an even handle":    {1, 2, false},
		"slot too high":     {0, wire.MaxSlots, false},
		"the last position": {8, 2048 * 256, true},
		"one beyond":        {8, 2048*256 + 1, false},
	} {
		row := newRow(s, 3)
		row.Words[1] = 1 // a target, in slot 0
		row.Words[c.word] = c.value
		var w wire.BitWriter
		var r wire.BitReader
		s.AppendFull(&w, row)
		r.Reset(w.Bytes())
		again := newRow(s, 0)
		err := s.ReadFull(&r, &again)
		if c.ok {
			require.NoError(t, err, name)
			require.Equal(t, row, again)
		} else {
			require.ErrorIs(t, err, &wire.Error{Code: wire.BadMessage}, name)
		}
	}
}

// Bits of a mask beyond the schema are no components.
func TestReadDeltaMasksTheBaseline(t *testing.T) {
	s := smallSchema(t)
	var r wire.BitReader
	r.Reset(make([]byte, 64))
	row := newRow(s, 0)
	require.NoError(t, s.ReadDelta(&r, wire.Row{Mask: 1<<32 - 1}, &row))
	require.Equal(t, uint32(3), row.Mask)
}

func BenchmarkAppendDelta(b *testing.B) {
	s := wire.NewSchema()
	require.NoError(b, wire.AddComponent[wire.Body](s, "body"))
	base, row := newRow(s, 0), newRow(s, 0)
	set(b, s, &base, "body", wire.Body{Position: [3]float32{10, 1, -7}, Velocity: [3]float32{3, 0, 1}})
	set(b, s, &row, "body", wire.Body{Position: [3]float32{10.15, 1, -6.95}, Velocity: [3]float32{3.1, 0, 1}})
	buffer := make([]byte, 0, 256)
	var w wire.BitWriter
	b.Run("append", func(b *testing.B) {
		for b.Loop() {
			w.Reset(buffer)
			s.AppendDelta(&w, row, base)
		}
	})
	bits := w.Bytes()
	var r wire.BitReader
	out := newRow(s, 0)
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			r.Reset(bits)
			must(s.ReadDelta(&r, base, &out))
		}
	})
}

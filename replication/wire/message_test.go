package wire_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowtest"
	"github.com/worldd/worldd/internal/wiretest"
	"github.com/worldd/worldd/replication/wire"
)

func TestMessageRoundTrip(t *testing.T) {
	for _, m := range wiretest.Samples() {
		t.Run(m.Name, func(t *testing.T) {
			got := must.Get(m.Parse(m.Bytes))
			require.Equal(t, m.Want, got)
		})
	}
}

func TestMessageCutAtEveryByte(t *testing.T) {
	for _, m := range wiretest.Samples() {
		t.Run(m.Name, func(t *testing.T) {
			for n := range len(m.Bytes) {
				// A Structure message cut between two records is a valid shorter message:
				// only the length of the frame shows the cut.
				if got, err := m.Parse(m.Bytes[:n]); err == nil && m.Name == "structure" {
					require.Less(t, len(got.(wiretest.Structure).Records), len(m.Want.(wiretest.Structure).Records))
				} else {
					require.ErrorIs(t, err, &wire.Error{Code: wire.BadMessage}, "cut at byte %d of %d", n, len(m.Bytes))
				}
			}
		})
	}
}

func TestMessageTrailingByte(t *testing.T) {
	for _, m := range wiretest.Samples() {
		for _, extra := range []byte{0, 1, 0xff} {
			require.ErrorIs(t, must.Fail(m.Parse(append(bytes.Clone(m.Bytes), extra))), &wire.Error{Code: wire.BadMessage}, "%s with %#x", m.Name, extra)
		}
	}
}

func TestMessageEveryBitFlipped(t *testing.T) {
	for _, m := range wiretest.Samples() {
		t.Run(m.Name, func(t *testing.T) {
			for bit := range len(m.Bytes) * 8 {
				flipped := bytes.Clone(m.Bytes)
				flipped[bit/8] ^= 1 << (bit % 8)
				got, err := m.Parse(flipped)
				if err == nil {
					require.NotEqual(t, m.Want, got, "bit %d has no effect", bit)
				} else {
					require.NotEqual(t, wire.Internal, wire.CodeOf(err), "%v", err)
				}
				if m.Kind != 0 {
					require.NotEmpty(t, wiretest.Describe(m.Kind, flipped))
				}
			}
		})
	}
}

func TestMessageAliasing(t *testing.T) {
	for _, m := range wiretest.Samples() {
		switch m.Name {
		case "structure", "state", "exact", "input": // documented to alias
			continue
		}
		own := bytes.Clone(m.Bytes)
		got := must.Get(m.Parse(own))
		for i := range own {
			own[i] = 0xcc
		}
		require.Equal(t, m.Want, got, m.Name)
	}
}

func TestMessageEmptyFields(t *testing.T) {
	require.Empty(t, must.Get(wire.Parse[wire.Hello](wire.Hello{}.Append(nil))).Token)
	command := must.Get(wire.Parse[wire.Command](wire.Command{Name: "x"}.Append(nil)))
	require.Empty(t, command.Args)
	require.Equal(t, bulk.Handle(0), command.Target)
	require.ErrorIs(t, must.Fail(wire.Parse[wire.Command](wire.Command{}.Append(nil))), &wire.Error{Code: wire.BadMessage})
}

func TestMessageTextIsTruncated(t *testing.T) {
	long := strings.Repeat("ä", wire.MaxText) // two bytes each; MaxText is even
	m := must.Get(wire.Parse[wire.Goodbye](wire.Goodbye{Code: wire.Kicked, Text: "x" + long}.Append(nil)))
	require.Len(t, m.Text, wire.MaxText-1, "truncated between characters")
}

// A game may pass on text that is not UTF-8, often from another client. Sent unchanged,
// it would end the receiver's session.
func TestMessageTextBecomesUTF8(t *testing.T) {
	const invalid, valid = "no \xff\xfe, ä", "no \uFFFD, ä"
	require.Equal(t, valid, must.Get(wire.Parse[wire.Bye](wire.Bye{Text: invalid}.Append(nil))).Text)
	goodbye := must.Get(wire.Parse[wire.Goodbye](wire.Goodbye{Text: invalid}.Append(nil)))
	require.Equal(t, valid, goodbye.Text)
	refused := must.Get(wire.Parse[wire.Refused](wire.Refused{Text: invalid, Want: invalid}.Append(nil)))
	require.Equal(t, []string{valid, valid}, []string{refused.Text, refused.Want})
	result := must.Get(wire.Parse[wire.Result](wire.Result{Text: invalid}.Append(nil)))
	require.Equal(t, valid, result.Text)

	long := strings.Repeat("a\xff", wire.MaxText) // each invalid byte becomes three
	goodbye = must.Get(wire.Parse[wire.Goodbye](wire.Goodbye{Text: long}.Append(nil)))
	require.Len(t, goodbye.Text, wire.MaxText)
}

func TestMessageAnyUnsignedForm(t *testing.T) {
	// code 2 as uint 64
	m := must.Get(wire.Parse[wire.Bye]([]byte{0x92, 0xcf, 0, 0, 0, 0, 0, 0, 0, 2, 0xa1, 'x'}))
	require.Equal(t, wire.Bye{Code: wire.BadState, Text: "x"}, m)
	for name, body := range map[string][]byte{
		"signed":        {0x92, 0xd0, 2, 0xa1, 'x'},
		"negative":      {0x92, 0xff, 0xa1, 'x'},
		"too large":     {0x92, 0xce, 0, 1, 0, 0, 0xa1, 'x'},
		"nil":           {0x92, 0xc0, 0xa1, 'x'},
		"nil message":   {0xc0},
		"empty array":   {0x90},
		"map":           {0x82, 0xa4, 'C', 'o', 'd', 'e', 2, 0xa4, 'T', 'e', 'x', 't', 0xa1, 'x'},
		"one too few":   {0x91, 2},
		"one too many":  {0x93, 2, 0xa1, 'x', 0},
		"text as bin":   {0x92, 2, 0xc4, 1, 'x'},
		"not UTF-8":     {0x92, 2, 0xa1, 0xff},
		"nested":        {0x92, 2, 0x91, 2},
		"claimed array": {0xdd, 0xff, 0xff, 0xff, 0xff},
	} {
		require.ErrorIs(t, must.Fail(wire.Parse[wire.Bye](body)), &wire.Error{Code: wire.BadMessage}, name)
	}
}

func TestStructureRejects(t *testing.T) {
	head := wire.AppendStructureHeader(nil, 1, 0)
	for name, body := range map[string][]byte{
		"no records":            head,
		"first number 0":        {0, 0, 0, 0, 0, 3, 1, 1, 1},
		"long first number":     {0x81, 0, 0, 0, 0, 0, 3, 1, 1, 1},
		"unknown op":            append(bytes.Clone(head), 4, 1, 1, 1),
		"destroy, wrong reason": append(bytes.Clone(head), 3, 2, 1, 1),
		"leave, wrong reason":   append(bytes.Clone(head), 2, 1, 1, 1),
		"enter, wrong reason":   append(bytes.Clone(head), 1, 1, 1, 1, 0, 0),
		"even generation":       append(bytes.Clone(head), 3, 1, 1, 2),
		"slot too high":         append(bytes.Clone(head), 3, 1, 0x80, 0x80, 0x80, 0x08, 1),
		"kind too high":         append(bytes.Clone(head), 1, 0, 1, 1, 0x80, 0x80, 0x04, 0),
		"row too long":          append(append(bytes.Clone(head), 1, 0, 1, 1, 0, 0x81, 0x09), make([]byte, 1153)...),
		"numbers run out":       append(wire.AppendStructureHeader(nil, 1<<32-1, 0), 3, 1, 1, 1, 3, 1, 2, 1),
	} {
		require.ErrorIs(t, must.Fail(wire.ParseStructure(body)), &wire.Error{Code: wire.BadMessage}, name)
	}
}

func TestInputRejects(t *testing.T) {
	good := wire.Input{Stamp: 1, Ack: wire.Ack{Seen: true, Newest: 5}, Inputs: []wire.TickInput{{Tick: 9}, {Tick: 8}}}
	for name, change := range map[string]func([]byte){
		"seen is 2":        func(d []byte) { d[5] = 2 },
		"newest unseen":    func(d []byte) { d[5] = 0 },
		"seen nothing":     func(d []byte) { d[6] = 0 },
		"oldest first":     func(d []byte) { d[23] = 7 },
		"a tick twice":     func(d []byte) { d[23] = 8 },
		"another datagram": func(d []byte) { d[0] = wire.TypeState },
		"five inputs":      func(d []byte) { d[22] = 5 },
	} {
		d := good.Append(nil)
		require.NoError(t, new(wire.Input).Parse(d))
		change(d)
		require.ErrorIs(t, new(wire.Input).Parse(d), &wire.Error{Code: wire.BadMessage}, name)
	}
	require.ErrorIs(t, new(wire.Input).Parse(make([]byte, wire.InputBytes+1)), &wire.Error{Code: wire.BadMessage})
}

func TestStateRejects(t *testing.T) {
	rejected := &wire.Error{Code: wire.BadMessage}
	var r bitio.Reader
	good := wire.AppendStateHeader(nil, wire.StateHeader{Seq: 1, Tick: 5})
	must.Get(wire.ParseStateHeader(good, &r))
	for name, d := range map[string][]byte{
		"seq 0":            append(append(bytes.Clone(good[:7]), 0, 0, 0, 0), good[11:]...),
		"tick 0":           append(append(bytes.Clone(good[:11]), 0, 0, 0, 0), good[15:]...),
		"257 rows":         append(bytes.Clone(good[:21]), 0x81, 0x02),
		"exact, no rows":   append(append(bytes.Clone(good[:20]), 16), good[21:]...),
		"another datagram": append([]byte{wire.TypeInput}, good[1:]...),
		"too long":         append(bytes.Clone(good), make([]byte, wire.MaxDatagram)...),
	} {
		require.ErrorIs(t, must.Fail(wire.ParseStateHeader(d, &r)), rejected, name)
		require.Zero(t, r.Left(), "a rejected datagram has no rows")
	}
}

func TestRowHeaders(t *testing.T) {
	const tick = 1000
	baselines := []wire.Baseline{{}, {Age: 1}, {Age: 6, Gap: 3}, {Age: 999}, {Age: 500, Gap: 499}}
	rapid.Check(t, func(t *rapid.T) {
		c := wire.RowCoding{
			SkipBits: uint8(rapid.IntRange(0, wire.MaxSkipBits).Draw(t, "order")),
			Usual:    rapid.SampledFrom(baselines).Draw(t, "usual"),
		}
		skip := rapid.Uint32Max(wire.MaxSlots-1).Draw(t, "skip") >> rapid.IntRange(0, 24).Draw(t, "less")
		b := rapid.SampledFrom(baselines).Draw(t, "baseline")
		var w bitio.Writer
		wire.AppendRowCoding(&w, c)
		coding := w.Bits()
		wire.AppendRowHeader(&w, c, skip, b)
		require.Equal(t, coding+wire.RowHeaderBits(c, skip, b), w.Bits())
		var r bitio.Reader
		r.Reset(w.Bytes())
		require.Equal(t, c, wire.ReadRowCoding(&r, tick))
		gotSkip, got := wire.ReadRowHeader(&r, c, tick)
		require.Equal(t, skip, gotSkip)
		require.Equal(t, b, got)
		require.NoError(t, wire.ExpectEnd(&r))
	})
}

// AppendRowHeaders writes the same bits as AppendRowHeader, and RowHeaderBits counts them.
func TestAppendRowHeaders(t *testing.T) {
	edge := func(t *rapid.T, name string, shifts int) uint32 {
		return rapid.Uint32().Draw(t, name) >> rapid.IntRange(32-shifts, 32).Draw(t, name+" shift")
	}
	rapid.Check(t, func(t *rapid.T) {
		baseline := func() (b wire.Baseline) {
			b.Age = edge(t, "age", 32)
			if b.Age != 0 {
				b.Gap = edge(t, "gap", 32)
			}
			return b
		}
		c := wire.RowCoding{SkipBits: uint8(rapid.IntRange(0, wire.MaxSkipBits).Draw(t, "skip bits")), Usual: baseline()}
		var headers []wire.RowHeader
		for range rapid.IntRange(0, 40).Draw(t, "rows") {
			h := wire.RowHeader{Skip: edge(t, "skip", 24), Baseline: c.Usual}
			if rapid.Bool().Draw(t, "own") {
				h.Baseline = baseline()
			}
			headers = append(headers, h)
		}
		first := uint(rapid.IntRange(0, 9).Draw(t, "bits before"))
		var one, all bitio.Writer
		one.Write(0, first)
		all.Write(0, first)
		bits := int(first)
		for _, h := range headers {
			wire.AppendRowHeader(&one, c, h.Skip, h.Baseline)
			bits += wire.RowHeaderBits(c, h.Skip, h.Baseline)
		}
		wire.AppendRowHeaders(&all, c, headers)
		require.Equal(t, bits, all.Bits())
		require.Equal(t, one.Bytes(), all.Bytes())
		var r bitio.Reader
		r.Reset(all.Bytes())
		r.Read(first)
		for _, h := range headers {
			skip, b := wire.ReadRowHeader(&r, c, 1<<32-1)
			if uint64(h.Age)+uint64(h.Gap) >= 1<<32-1 || uint64(c.Usual.Age)+uint64(c.Usual.Gap) >= 1<<32-1 {
				return // ticks below 1 are rejected
			}
			require.NoError(t, r.Err())
			require.Equal(t, h, wire.RowHeader{Skip: skip, Baseline: b})
		}
		require.NoError(t, wire.ExpectEnd(&r))
	})
}

func TestRowHeadersReject(t *testing.T) {
	rejected := &wire.Error{Code: wire.BadMessage}
	coding := wire.RowCoding{SkipBits: 2, Usual: wire.Baseline{Age: 6, Gap: 3}}
	for name, c := range map[string]struct {
		write func(w *bitio.Writer)
		tick  uint32
		ok    bool
	}{
		"the last skip":        {func(w *bitio.Writer) { w.WriteGolomb(wire.MaxSlots-1, 2); w.Write(0, 1) }, 10, true},
		"one skip more":        {func(w *bitio.Writer) { w.WriteGolomb(wire.MaxSlots, 2); w.Write(0, 1) }, 10, false},
		"endless ones":         {func(w *bitio.Writer) { w.Write(1<<56-1, 56) }, 10, false},
		"the first tick":       {func(w *bitio.Writer) { w.Write(0b1000, 4); w.WriteGolomb(9, 4); w.WriteGolomb(0, 2) }, 10, true},
		"the tick below it":    {func(w *bitio.Writer) { w.Write(0b1000, 4); w.WriteGolomb(10, 4); w.WriteGolomb(0, 2) }, 10, false},
		"a gap to the first":   {func(w *bitio.Writer) { w.Write(0b1000, 4); w.WriteGolomb(5, 4); w.WriteGolomb(4, 2) }, 10, true},
		"one gap more":         {func(w *bitio.Writer) { w.Write(0b1000, 4); w.WriteGolomb(5, 4); w.WriteGolomb(5, 2) }, 10, false},
		"the usual as its own": {func(w *bitio.Writer) { w.Write(0b1000, 4); w.WriteGolomb(6, 4); w.WriteGolomb(3, 2) }, 10, false},
		"in full, no gap":      {func(w *bitio.Writer) { w.Write(0b1000, 4); w.WriteGolomb(0, 4) }, 10, true},
	} {
		var w bitio.Writer
		c.write(&w)
		var r bitio.Reader
		r.Reset(w.Bytes())
		wire.ReadRowHeader(&r, coding, c.tick)
		if c.ok {
			require.NoError(t, wire.ExpectEnd(&r), name)
		} else {
			require.ErrorIs(t, wire.Malformed(r.Err()), rejected, name)
		}
	}
}

// A number's Golomb form has GolombBits bits, and is rejected above the reader's limit.
func TestGolombBitsAndLimit(t *testing.T) {
	for k := range uint(16) {
		for _, v := range []uint32{0, 1, 2, 15, 16, 17, 255, 65_535, 1 << 24, 1<<32 - 1} {
			if k < 2 && v > 1<<24 {
				continue // the format writes such large numbers only with order 2 or 4
			}
			var w bitio.Writer
			w.WriteGolomb(v, k)
			require.Equal(t, bitio.GolombBits(v, k), w.Bits())
			var r bitio.Reader
			r.Reset(w.Bytes())
			require.Equal(t, v, r.ReadGolomb(k, v))
			require.NoError(t, wire.ExpectEnd(&r))
			if v > 0 {
				r.Reset(w.Bytes())
				r.ReadGolomb(k, v-1)
				require.Error(t, r.Err())
			}
		}
	}
}

func TestWelcomeRejects(t *testing.T) {
	for name, m := range map[string]wire.Welcome{
		"no ticks":                  {SnapshotHz: 20},
		"no snapshots":              {TickHz: 60},
		"more snapshots than ticks": {TickHz: 20, SnapshotHz: 60},
	} {
		require.ErrorIs(t, must.Fail(wire.Parse[wire.Welcome](m.Append(nil))), &wire.Error{Code: wire.BadMessage}, name)
	}
}

// A resume secret has SecretBytes bytes or none; without one, nothing can be resumed.
func TestSecretLength(t *testing.T) {
	whole := make([]byte, wire.SecretBytes)
	for name, m := range map[string]wire.Hello{
		"short":     {Protocol: wire.Version, Session: 1, Secret: whole[1:]},
		"session":   {Protocol: wire.Version, Session: 1},
		"structure": {Protocol: wire.Version, Structure: 1},
	} {
		require.ErrorIs(t, must.Fail(wire.Parse[wire.Hello](m.Append(nil))), &wire.Error{Code: wire.BadMessage}, name)
	}
	must.Get(wire.Parse[wire.Hello](wire.Hello{Protocol: wire.Version, Session: 1, Secret: whole, Structure: 7}.Append(nil)))
	_, err := wire.Parse[wire.Welcome](wire.Welcome{TickHz: 1, SnapshotHz: 1, Secret: whole[1:]}.Append(nil))
	require.ErrorIs(t, err, &wire.Error{Code: wire.BadMessage})
	must.Get(wire.Parse[wire.Welcome](wire.Welcome{TickHz: 1, SnapshotHz: 1, Secret: whole}.Append(nil)))
}

// Every version begins a Hello with its number, so that servers recognise other versions.
func TestHelloOfAnotherVersion(t *testing.T) {
	for _, body := range [][]byte{{0x99, 3, 0xcf}, {0x91, 0xcd, 0x01, 0x00}, {0xdc, 0x00, 0x10, 6}} {
		h := must.Get(wire.Parse[wire.Hello](body))
		require.NotEqualValues(t, wire.Version, h.Protocol)
		require.Equal(t, wire.Hello{Protocol: h.Protocol}, h)
	}
	for _, body := range [][]byte{{}, {0x90}, {0x9b, 5}, {3}, {0x99, 0xa1, '3'}, {0x99, 0xce, 0, 1, 0, 0}} {
		require.ErrorIs(t, must.Fail(wire.Parse[wire.Hello](body)), &wire.Error{Code: wire.BadMessage}, "%x", body)
	}
}

// A client can read the Want of a server of a later version.
func TestRefusedOfALaterVersion(t *testing.T) {
	body := wire.Refused{Code: wire.ProtocolVersion, Want: "protocol 6"}.Append(nil)
	body[0]++
	require.Equal(t, "protocol 6", must.Get(wire.Parse[wire.Refused](append(body, 0x92, 1, 2))).Want)
}

// A refusal has an address if and only if its code is Moved.
func TestMovedHasAnAddress(t *testing.T) {
	for _, m := range []wire.Refused{{Code: wire.Moved}, {Code: wire.Banned, Address: "a:1"}, {Code: wire.Banned, Token: []byte{1}}, {Code: wire.Moved, Token: []byte{1}}} {
		require.ErrorIs(t, must.Fail(wire.Parse[wire.Refused](m.Append(nil))), &wire.Error{Code: wire.BadMessage}, "%v", m)
		_, err := wire.Parse[wire.Goodbye](wire.Goodbye{Code: m.Code, Address: m.Address, Token: m.Token}.Append(nil))
		require.ErrorIs(t, err, &wire.Error{Code: wire.BadMessage}, "%v", m)
	}
}

func TestCommandProvisionals(t *testing.T) {
	rejected := func(body []byte) {
		require.ErrorIs(t, must.Fail(wire.Parse[wire.Command](body)), &wire.Error{Code: wire.BadMessage}, "%x", body)
	}
	for _, m := range []wire.Command{{FirstProvisional: 1}, {FirstProvisional: 1<<32 - 1, Provisionals: 1}} {
		m.Name = "x"
		rejected(m.Append(nil))
	}
	// Numbers beyond their limits are written over the numbers of a command.
	body := wire.Command{Name: "x", Provisionals: wire.MaxProvisionals}.Append(nil)
	body[len(body)-2]++
	rejected(body)
	body = wire.Command{Name: "x", View: 1<<40 - 1}.Append(nil)
	binary.BigEndian.PutUint64(body[len(body)-8:], 1<<40)
	rejected(body)
}

func TestResultAnswersOnlyIfExecuted(t *testing.T) {
	require.ErrorIs(t, must.Fail(wire.Parse[wire.Result](wire.Result{Code: wire.CommandRefused, Answer: []byte{1}}.Append(nil))), &wire.Error{Code: wire.BadMessage})
}

func TestStateStamp(t *testing.T) {
	d, _, _ := wiretest.State(rowtest.SampleSchema())
	for _, want := range [][2]uint32{{0x01020304, 250}, {0xfffefdfc, 65535}} {
		wire.StampState(d, want[0], uint16(want[1]))
		var rows bitio.Reader
		h := must.Get(wire.ParseStateHeader(d, &rows))
		require.Equal(t, want, [2]uint32{h.Echo, uint32(h.Hold)})
	}
}

func TestDescribeHidesSecrets(t *testing.T) {
	text := wiretest.Describe(wire.TypeHello, wire.Hello{Protocol: wire.Version, Token: []byte("secret"), Name: "n"}.Append(nil))
	require.NotContains(t, text, "secret")
	require.Contains(t, text, "token of 6 bytes")
	secret := []byte("0123456789abcdef")
	require.NotContains(t, wiretest.Describe(wire.TypeHello, wire.Hello{Protocol: wire.Version, Session: 7, Secret: secret}.Append(nil)), string(secret[:4]))
	require.NotContains(t, wiretest.Describe(wire.TypeWelcome, wire.Welcome{TickHz: 1, SnapshotHz: 1, Secret: secret}.Append(nil)), string(secret[:4]))
}

// An Answer with the detail created must name an entity.
func TestAnswerCreatedNothing(t *testing.T) {
	body := append(wire.AppendStructureHeader(nil, 1, 0), byte(wire.OpAnswer)|1<<3, 9, 0, 0)
	require.ErrorIs(t, must.Fail(wire.ParseStructure(body)), &wire.Error{Code: wire.BadMessage})
}

package schema_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

type hit struct {
	Damage uint8       `net:"bits=5"`
	At     [3]float32  `net:"range=-64..64,step=1/64"`
	By, To bulk.Handle `net:"ref"`
	Verb   string      `net:"max=12"`
	Raw    []byte      `net:"max=4"`
	Frozen bool
	local  int
}

type stick struct {
	X, Y  int8
	Jump  bool
	Aimed bulk.Handle `net:"ref"`
}

type buy struct {
	Item  uint16      `net:"bits=9"`
	Made  bulk.Handle `net:"ref"`
	Label string      `net:"max=16"`
}

type bought struct {
	Price uint32
	Item  bulk.Handle `net:"ref"`
}

func declared(t testing.TB) *schema.Schema {
	s := schema.New()
	schema.Define[schema.Body](s, "body")
	schema.DefineEvent[hit](s, "hit")
	schema.DefineUnreliableEvent[struct{ Volume float32 }](s, "sound")
	schema.DefineQuery[buy, bought](s, "buy")
	schema.DefineCommand[struct{}](s, "wave")
	require.NoError(t, s.Err())
	require.NoError(t, s.AddRawCommand("eval"))
	schema.DefineInput[stick](s)
	require.NoError(t, s.Err())
	return s
}

var hits = []hit{
	{},
	{Damage: 31, At: [3]float32{-64, 0.5, 64}, By: bulk.NewHandle(17, 3), To: bulk.NewHandle(wire.MaxSlots-1, math.MaxUint32), Verb: "verbrannt", Raw: []byte{1, 0xff}, Frozen: true},
	{Verb: "twelve bytes"},
}

func TestMessageRoundTrip(t *testing.T) {
	s := declared(t)
	i := must.Have(s.EventOf(reflect.TypeFor[hit]()))
	m := rowschema.NewMessage(s.Events()[i].Message)
	require.Equal(t, reflect.TypeFor[hit](), m.Type())
	var payload rowschema.Payload
	for _, in := range hits {
		b := must.Get(m.AppendValue([]byte("before"), in))
		again := must.Get(m.AppendValue(nil, &in))
		require.Equal(t, "before"+string(again), string(b), "a pointer does as well")
		require.LessOrEqual(t, len(again), schema.MaxBytes(s.Events()[i].Message))
		out := hit{local: 5}
		require.NoError(t, m.ReadValue(again, &out))
		require.Equal(t, 5, out.local)
		out.local = 0
		require.Equal(t, in, out)
		require.NoError(t, m.Parse(again, &payload), "memory is used again")
		require.Equal(t, again, m.Append(nil, &payload))
	}
}

// Golden bytes: PROTOCOL.md, section 5.
func TestMessageGolden(t *testing.T) {
	s := declared(t)
	i, _ := schema.EventByName(s, "hit")
	b := must.Get(rowschema.NewMessage(s.Events()[i].Message).AppendValue(nil, hit{Damage: 21, By: bulk.NewHandle(5, 3), Verb: "hi", Raw: []byte{9}, Frozen: true}))
	// 10101 | 3 times 4096 in 14 bits | 1 00 0101 00 0011 | 0 | 1, each from its lowest bit
	bits := "10101" + strings.Repeat("00000000000010", 3) + "1" + "00" + "1010" + "00" + "1100" + "0" + "1"
	require.Len(t, bits, 62)
	want := make([]byte, 8)
	for i, bit := range bits {
		want[i/8] |= byte(bit-'0') << (i % 8)
	}
	require.Equal(t, append(want, 2, 'h', 'i', 1, 9), b)
	empty := must.Have(s.CommandByName("wave"))
	b = must.Get(rowschema.NewMessage(s.Commands()[empty].Args).AppendValue(nil, struct{}{}))
	require.Empty(t, b)
	require.NoError(t, rowschema.NewMessage(s.Commands()[empty].Args).Parse(nil, &rowschema.Payload{}))
}

func TestMessageHandles(t *testing.T) {
	s := declared(t)
	made := bulk.NewHandle(wire.MaxSlots+9, 2)
	issued := bulk.NewHandle(7, 5)
	at, _ := s.CommandByName("buy")
	args, answer := s.Commands()[at].Args, s.Commands()[at].Answer

	b := must.Get(rowschema.NewMessage(args).AppendValue(nil, buy{Made: made}))
	var got buy
	require.NoError(t, rowschema.NewMessage(args).ReadValue(b, &got))
	require.Equal(t, made, got.Made, "a client may send a handle of its own")
	b = must.Get(rowschema.NewMessage(s.Input()).AppendValue(nil, stick{Aimed: made}))
	var input stick
	require.NoError(t, rowschema.NewMessage(s.Input()).ReadValue(b, &input))
	require.Equal(t, made, input.Aimed)

	b = must.Get(rowschema.NewMessage(answer).AppendValue(nil, bought{Item: made}))
	var out bought
	require.NoError(t, rowschema.NewMessage(answer).ReadValue(b, &out))
	require.Zero(t, out.Item, "a server has none of its own to send")

	// The same bits in an event and in arguments.
	s = schema.New()
	type one struct {
		H bulk.Handle `net:"ref"`
	}
	schema.DefineEvent[one](s, "e")
	schema.DefineCommand[one](s, "c")
	require.NoError(t, s.Err())
	event, command := rowschema.NewMessage(s.Events()[0].Message), rowschema.NewMessage(s.Commands()[0].Args)
	for _, c := range []struct {
		h                  bulk.Handle
		byServer, byClient bool
	}{
		{0, true, true},
		{issued, true, true},
		{bulk.NewHandle(7, 2), false, true},
		{made, false, true},
		{bulk.NewHandle(wire.MaxSlots, 3), false, false},
		{bulk.NewHandle(7, 0), false, false},
	} {
		payload := rowschema.Payload{Values: []uint32{c.h.Index(), c.h.Generation()}}
		b := command.Append(nil, &payload)
		if c.h == bulk.NewHandle(7, 0) { // Append writes none for it
			b = []byte{1 | 7<<3, 0}
		}
		for m, ok := range map[*rowschema.Message]bool{event: c.byServer, command: c.byClient} {
			var v one
			err := m.ReadValue(b, &v)
			if ok {
				require.NoError(t, err, "%v", c.h)
				require.Equal(t, c.h, v.H)
			} else {
				require.ErrorIs(t, err, &wire.Error{Code: wire.BadMessage}, "%v", c.h)
			}
		}
	}
}

// The longest body of handles is accepted, and its memory is reused for a message without
// handles.
func TestMessageHandlesAtTheirLongest(t *testing.T) {
	type eight struct {
		H [8]bulk.Handle `net:"ref"`
	}
	s := schema.New()
	schema.DefineCommand[eight](s, "c")
	require.NoError(t, s.Err())
	m := rowschema.NewMessage(s.Commands()[0].Args)
	var v eight
	for i := range v.H {
		v.H[i] = bulk.NewHandle(1<<32-1, 1<<32-2)
	}
	var payload rowschema.Payload
	require.NoError(t, m.Quantise(&v, &payload))
	longest := m.Append(nil, &payload)
	require.Len(t, longest, schema.MaxBytes(s.Commands()[0].Args))
	require.NoError(t, m.Parse(longest, &payload))
	none := m.Append(nil, &rowschema.Payload{Values: make([]uint32, 16)})
	require.NoError(t, m.Parse(none, &payload))
	m.References(&payload, func(h bulk.Handle) { require.Fail(t, "none is there", "%v", h) })
}

// A message without texts allocates nothing once its payload has capacity.
func TestMessageAllocates(t *testing.T) {
	m := rowschema.NewMessage(declared(t).Input())
	in, out := &stick{X: -3, Aimed: bulk.NewHandle(9, 2)}, &stick{}
	var payload rowschema.Payload
	buf := make([]byte, 0, 64)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		require.NoError(t, m.Quantise(in, &payload))
		b := m.Append(buf, &payload)
		require.NoError(t, m.Parse(b, &payload))
		require.NoError(t, m.Restore(&payload, out))
	}))
	require.Equal(t, in, out)
}

func TestMessageReferences(t *testing.T) {
	s := declared(t)
	m := rowschema.NewMessage(s.Events()[0].Message)
	var payload rowschema.Payload
	require.NoError(t, m.Quantise(&hits[1], &payload))
	var all []bulk.Handle
	m.References(&payload, func(h bulk.Handle) { all = append(all, h) })
	require.Equal(t, []bulk.Handle{hits[1].By, hits[1].To}, all)
	m.KeepReferences(&payload, func(h bulk.Handle) bool { return h == hits[1].To })
	var out hit
	require.NoError(t, m.Restore(&payload, &out))
	require.Zero(t, out.By)
	require.Equal(t, hits[1].To, out.To)
}

func TestMessageFormat(t *testing.T) {
	m := rowschema.NewMessage(declared(t).Events()[0].Message)
	var payload rowschema.Payload
	require.NoError(t, m.Quantise(hit{Damage: 3, By: bulk.NewHandle(17, 3), Verb: "a b", Raw: []byte{255}}, &payload))
	require.Equal(t, `Damage=3 At[0]=0 At[1]=0 At[2]=0 By=17v3 To=none Frozen=false Verb="a b" Raw=ff`, m.Format(&payload))
	for path, value := range m.View(&payload) {
		require.Equal(t, "Damage", path)
		require.Equal(t, "3", value)
		break
	}
}

func TestMessageOfAnotherType(t *testing.T) {
	m := rowschema.NewMessage(declared(t).Events()[0].Message)
	for _, v := range []any{nil, 5, stick{}, &stick{}, (*hit)(nil), new(*hit)} {
		require.ErrorContains(t, must.Fail(m.AppendValue(nil, v)), "want a schema_test.hit", "%T", v)
	}
	b := must.Get(m.AppendValue(nil, hits[1]))
	require.ErrorContains(t, m.ReadValue(b, hits[1]), "want a pointer")
}

// A message that is cut anywhere or has any bit flipped is refused, or read as a message
// with the same bytes.
func TestMessageReadsAnything(t *testing.T) {
	m := rowschema.NewMessage(declared(t).Events()[0].Message)
	b := must.Get(m.AppendValue(nil, hits[1]))
	var payload rowschema.Payload
	for n := range b {
		require.ErrorIs(t, m.Parse(b[:n], &payload), &wire.Error{Code: wire.BadMessage}, "cut to %d bytes", n)
	}
	require.ErrorIs(t, m.Parse(append(b[:len(b):len(b)], 0), &payload), &wire.Error{Code: wire.BadMessage})
	refused := 0
	for bit := range len(b) * 8 {
		flipped := append([]byte(nil), b...)
		flipped[bit/8] ^= 1 << (bit % 8)
		if err := m.Parse(flipped, &payload); err != nil {
			require.ErrorIs(t, err, &wire.Error{Code: wire.BadMessage}, "bit %d", bit)
			refused++
			continue
		}
		require.Equal(t, flipped, m.Append(nil, &payload), "bit %d", bit)
	}
	require.NotZero(t, refused)
	require.Less(t, refused, len(b)*8)
}

func FuzzMessage(f *testing.F) {
	s := declared(f)
	at, _ := s.CommandByName("buy")
	all := rowschema.NewMessages(s)
	messages := []*rowschema.Message{all.Events[0], all.Events[1], all.Input, all.Args[at], all.Answers[at]}
	var longest []int
	for _, m := range []*schema.Message{s.Events()[0].Message, s.Events()[1].Message, s.Input(), s.Commands()[at].Args, s.Commands()[at].Answer} {
		longest = append(longest, schema.MaxBytes(m))
	}
	for _, v := range hits {
		b := must.Get(messages[0].AppendValue(nil, v))
		f.Add(uint8(0), b)
	}
	for i, v := range []any{stick{-3, 5, true, bulk.NewHandle(2, 4)}, buy{300, bulk.NewHandle(1, 1), "sword"}, bought{5, bulk.NewHandle(9, 9)}} {
		b := must.Get(messages[2+i].AppendValue(nil, v))
		f.Add(uint8(2+i), b)
	}
	f.Fuzz(func(t *testing.T, which uint8, b []byte) {
		m := messages[int(which)%len(messages)]
		var payload rowschema.Payload
		if err := m.Parse(b, &payload); err != nil {
			require.Equal(t, wire.BadMessage, wire.CodeOf(err))
			return
		}
		require.LessOrEqual(t, len(b), longest[int(which)%len(longest)])
		require.Equal(t, string(b), string(m.Append(nil, &payload)))
		require.NotEmpty(t, m.Format(&payload))
		// Q1 for messages.
		v := reflect.New(m.Type())
		require.NoError(t, m.Restore(&payload, v.Interface()))
		again := must.Get(m.AppendValue(nil, v.Interface()))
		require.Equal(t, string(b), string(again))
	})
}

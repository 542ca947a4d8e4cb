package wire_test

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vmihailenco/msgpack/v5"
	"pgregory.net/rapid"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
)

// byLibrary is what msgpack v5 makes of a message, as an array of its fields: with
// numbers in their shortest form, or in that of their width.
func byLibrary[M wire.Message](t require.TestingT, m M, short bool) []byte {
	v := reflect.ValueOf(&m).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Slice && f.IsNil() {
			f.Set(reflect.MakeSlice(f.Type(), 0, 0)) // nil has a form of its own
		}
	}
	var out bytes.Buffer
	e := msgpack.NewEncoder(&out)
	e.UseArrayEncodedStructs(true)
	e.UseCompactInts(short)
	require.NoError(t, e.Encode(&m))
	return out.Bytes()
}

// agree holds what the package writes and reads of a message against msgpack v5.
func agree[M wire.Message](t *testing.T, draw func(t *rapid.T) M, parse func([]byte) (M, error)) {
	rapid.Check(t, func(t *rapid.T) {
		m := draw(t)
		ours := m.Append([]byte("before"))
		require.Equal(t, append([]byte("before"), byLibrary(t, m, true)...), ours)
		for _, short := range []bool{true, false} {
			theirs := byLibrary(t, m, short)
			got, err := parse(theirs)
			require.NoError(t, err)
			var want M
			d := msgpack.NewDecoder(bytes.NewReader(theirs))
			require.NoError(t, d.Decode(&want))
			require.Equal(t, want, got)
		}
	})
}

// The messages that are msgpack are what any msgpack makes of them.
func TestMessagesAgreeWithMsgpack(t *testing.T) {
	edges := []uint64{0, 1, 127, 128, 255, 256, 65_535, 65_536, 1<<32 - 1, 1 << 32, 1<<64 - 1}
	number := func(t *rapid.T, name string, most uint64) uint64 {
		return min(rapid.OneOf(rapid.SampledFrom(edges), rapid.Uint64()).Draw(t, name), most)
	}
	u8 := func(t *rapid.T, name string, most uint64) uint8 { return uint8(number(t, name, most)) }
	u16 := func(t *rapid.T, name string) uint16 { return uint16(number(t, name, 1<<16-1)) }
	u32 := func(t *rapid.T, name string) uint32 { return uint32(number(t, name, 1<<32-1)) }
	u64 := func(t *rapid.T, name string) uint64 { return number(t, name, 1<<64-1) }
	length := func(t *rapid.T, name string, least, most int) int {
		return min(rapid.OneOf(rapid.SampledFrom([]int{least, 31, 32, 255, 256, most}), rapid.IntRange(least, most)).Draw(t, name), most)
	}
	text := func(t *rapid.T, name string, least, most int) string {
		n := length(t, name+" length", least, most)
		if n >= 2 && rapid.Bool().Draw(t, name+" accented") {
			return string(bytes.Repeat([]byte("x"), n-2)) + "ë"
		}
		return string(bytes.Repeat([]byte("x"), n))
	}
	data := func(t *rapid.T, name string, most int) []byte {
		return bytes.Repeat([]byte{0xc1}, length(t, name, 0, most))
	}
	secret := func(t *rapid.T) []byte { return make([]byte, wire.SecretBytes*rapid.IntRange(0, 1).Draw(t, "secret")) }
	code := func(t *rapid.T) wire.Code { return wire.Code(u16(t, "code")) }
	handle := func(t *rapid.T) bulk.Handle { return bulk.Handle(u64(t, "handle")) }
	t.Run("hello", func(t *testing.T) {
		agree(t, func(t *rapid.T) wire.Hello {
			m := wire.Hello{
				Protocol: u16(t, "protocol"), Schema: u64(t, "schema"), Tables: u32(t, "tables"), Epoch: u64(t, "epoch"), Secret: secret(t),
				Token: data(t, "token", wire.MaxToken), Name: text(t, "name", 0, wire.MaxName),
			}
			if len(m.Secret) > 0 {
				m.Session, m.Structure = u64(t, "session"), u32(t, "structure")
			}
			return m
		}, wire.ParseHello)
	})
	t.Run("welcome", func(t *testing.T) {
		agree(t, func(t *rapid.T) wire.Welcome {
			hz := max(u16(t, "ticks"), 1)
			return wire.Welcome{
				Protocol: u16(t, "protocol"), Schema: u64(t, "schema"), Tables: u32(t, "tables"), Epoch: u64(t, "epoch"),
				GenerationFloor: u32(t, "floor"), TickHz: hz, SnapshotHz: min(max(u16(t, "snapshots"), 1), hz),
				MaxSlots: min(u32(t, "slots"), wire.MaxSlots), Session: u64(t, "session"), Tick: u32(t, "tick"),
				Resumed: u8(t, "resumed", 1), Secret: secret(t),
			}
		}, wire.ParseWelcome)
	})
	t.Run("command", func(t *testing.T) {
		agree(t, func(t *rapid.T) wire.Command {
			m := wire.Command{ID: u32(t, "id"), Name: text(t, "name", 1, wire.MaxName), Target: handle(t)}
			if n := length(t, "args", 0, wire.MaxCommandArgs-3); n > 0 {
				m.Args, _ = msgpack.Marshal(make([]byte, n-1))
			}
			return m
		}, wire.ParseCommand)
	})
	t.Run("result", func(t *testing.T) {
		agree(t, func(t *rapid.T) wire.Result {
			return wire.Result{ID: u32(t, "id"), Code: code(t), Target: handle(t), Verdict: wire.Verdict(u8(t, "verdict", 3)), Text: text(t, "text", 0, wire.MaxText)}
		}, wire.ParseResult)
	})
	t.Run("control", func(t *testing.T) {
		agree(t, func(t *rapid.T) wire.Control { return wire.Control{Entity: handle(t)} }, wire.ParseControl)
	})
	t.Run("refused", func(t *testing.T) {
		agree(t, func(t *rapid.T) wire.Refused {
			return wire.Refused{Code: code(t), Text: text(t, "text", 0, wire.MaxText), Want: text(t, "want", 0, wire.MaxText)}
		}, wire.ParseRefused)
	})
	t.Run("bye", func(t *testing.T) {
		agree(t, func(t *rapid.T) wire.Bye { return wire.Bye{Code: code(t), Text: text(t, "text", 0, wire.MaxText)} }, wire.ParseBye)
	})
	t.Run("goodbye", func(t *testing.T) {
		agree(t, func(t *rapid.T) wire.Goodbye {
			return wire.Goodbye{Code: code(t), Text: text(t, "text", 0, wire.MaxText)}
		}, wire.ParseGoodbye)
	})
}

// BenchmarkMessages is what the messages cost that come and go by the hundred.
func BenchmarkMessages(b *testing.B) {
	result := wire.Result{ID: 70_000, Code: wire.UnknownHandle, Target: bulk.NewHandle(17, 3)}
	command := wire.Command{ID: 70_000, Name: "push", Target: bulk.NewHandle(17, 3), Args: []byte{0x92, 0x01, 0xc3}}
	answer, asked := result.Append(nil), command.Append(nil)
	out := make([]byte, 0, 128)
	for _, c := range []struct {
		name string
		do   func()
	}{
		{"result/append", func() { out = result.Append(out[:0]) }},
		{"result/parse", func() { _, err := wire.ParseResult(answer); must(err) }},
		{"command/append", func() { out = command.Append(out[:0]) }},
		{"command/parse", func() { _, err := wire.ParseCommand(asked); must(err) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.do()
			}
		})
	}
}

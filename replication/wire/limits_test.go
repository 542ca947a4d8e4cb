package wire_test

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
)

func TestLimitsFitTogether(t *testing.T) {
	// QUIC's least packet carries MinDatagram: 1 byte of header, 20 of connection ID, 4 of packet
	// number, 16 of tag, 3 of frame, 1 of WebTransport.
	require.LessOrEqual(t, wire.MinDatagram, 1200-1-20-4-16-3-1)
	require.LessOrEqual(t, wire.MinDatagram, wire.MaxDatagram)
	// On any path, each row and each event fits into a separate datagram.
	require.LessOrEqual(t, wire.StateHeaderBytes*8+wire.MaxRowCodingBits+wire.MaxRowBytes*8, wire.MinDatagram*8)
	require.LessOrEqual(t, wire.StateHeaderBytes+4+2+6+wire.MaxEventBytes, wire.MinDatagram, "with an audit")
	require.LessOrEqual(t, wire.MaxEnterBytes, wire.MaxRowBytes)
	require.LessOrEqual(t, wire.InputBytes, wire.MinDatagram)
	require.Len(t, wire.AppendStateHeader(nil, wire.StateHeader{Seq: 1, Tick: 1<<32 - 1, InputAge: 1<<32 - 1, Rows: wire.MaxRows}), wire.StateHeaderBytes)
	// In a full datagram, MaxRows rows have 36 bits each.
	require.Equal(t, 36, (wire.MaxDatagram-wire.StateHeaderBytes)*8/wire.MaxRows)
	// An Ack (for the newest snapshot and the 64 before) covers every state that can be a
	// baseline.
	require.LessOrEqual(t, wire.MaxStates, 64)
	// Row.Mask has a bit for every component.
	require.Equal(t, 32, wire.MaxComponents)
	require.LessOrEqual(t, wire.MaxClientMessage, wire.MaxStreamMessage)
}

// An input may be half a second early at every tick rate, and at least 32 ticks.
func TestInputLead(t *testing.T) {
	for hz, want := range map[int]int{1: 32, 60: 32, 65: 33, 240: 120, 1000: 500} {
		require.Equal(t, want, wire.InputLead(hz))
	}
}

// States and effects may be a second old at every tick rate, and at least 63 ticks.
func TestMaxBack(t *testing.T) {
	for hz, want := range map[int]uint32{1: 63, 60: 63, 64: 64, 240: 240, 1000: 1000} {
		require.Equal(t, want, wire.MaxBack(hz))
	}
}

// The longest message of each type fits into its frame.
func TestLimitsFrames(t *testing.T) {
	text := strings.Repeat("x", wire.MaxText)
	name := strings.Repeat("n", wire.MaxName)
	const most64 = 1<<64 - 1
	for _, m := range []wire.Message{
		wire.Hello{Protocol: 1<<16 - 1, Schema: most64, Epoch: most64, Session: most64, Secret: make([]byte, wire.SecretBytes), Structure: 1<<32 - 1, Token: make([]byte, wire.MaxToken), Name: name, Room: name, Abilities: wire.Simulates},
		wire.Command{ID: 1<<32 - 1, Name: name, Target: most64, Args: append([]byte{0xc5, 1021 >> 8, 1021 & 0xff}, make([]byte, wire.MaxCommandArgs-3)...), FirstProvisional: 1<<32 - 1 - wire.MaxProvisionals, Provisionals: wire.MaxProvisionals, View: 1<<40 - 1},
		wire.Bye{Code: 1<<16 - 1, Text: text},
		wire.Resync{},
		wire.Arrived{},
		wire.Pad{},
	} {
		require.LessOrEqual(t, len(m.Append(nil))+1, wire.MaxClientMessage, m.String())
	}
	row := make([]byte, wire.MaxEnterBytes)
	enter := wire.AppendRecord(nil, wire.Record{Op: wire.OpEnter, Handle: bulk.NewHandle(wire.MaxSlots-1, math.MaxUint32), Kind: wire.MaxKinds - 1, Row: row})
	require.Less(t, 1+5+4+40*len(enter), wire.MaxStreamMessage, "a message holds dozens of the longest Enter records")
	input := wire.Input{Stamp: 1<<32 - 1, Ack: wire.Ack{Seen: true, Newest: 1<<32 - 1, Mask: most64, Structure: 1<<32 - 1}}
	for tick := range uint32(wire.MaxInputs) {
		input.Inputs = append(input.Inputs, wire.TickInput{Tick: wire.MaxInputs - tick, Back: 1, Fraction: 255, Data: make([]byte, wire.MaxInputBytes)})
	}
	for i := range input.Inputs {
		input.Inputs[i].Tick += wire.MaxView
		input.Inputs[i].Back = wire.MaxView
	}
	require.Len(t, input.Append(nil), wire.InputBytes)
}

// PROTOCOL.md repeats the limits and the codes.
func TestProtocolPageHasTheTables(t *testing.T) {
	page := must.Get(os.ReadFile("PROTOCOL.md"))
	var want strings.Builder
	want.WriteString("| code | name | fault | retry | text |\n|---|---|---|---|---|\n")
	last := -1
	for _, c := range wire.Codes() {
		require.Greater(t, int(c.Code), last)
		last = int(c.Code)
		retry := map[bool]string{false: "no", true: "yes"}[c.Retry]
		fmt.Fprintf(&want, "| %d | %s | %v | %s | %s |\n", c.Code, c.Name, c.Fault, retry, c.Text)
	}
	require.Contains(t, string(page), want.String()+"\n", "section 13 and errors.go differ; this is what errors.go says")
	comma := func(n int) string {
		if n < 1000 {
			return fmt.Sprint(n)
		}
		return fmt.Sprintf("%d,%03d", n/1000, n%1000)
	}
	for _, line := range []string{
		"| datagram; one that every path carries | " + comma(wire.MaxDatagram) + "; " + comma(wire.MinDatagram) + " bytes |",
		"| frame (type and body), from a client | " + comma(wire.MaxClientMessage) + " bytes |",
		"| frame, from a server | " + comma(wire.MaxStreamMessage) + " bytes |",
		fmt.Sprintf("| rows in a snapshot; their total load | %d; %s |", wire.MaxRows, comma(wire.MaxLoad)),
		fmt.Sprintf("| components; fields of one | %d; %d |", wire.MaxComponents, wire.MaxFieldsPerComponent),
		"| a row and its header, in their longest form | " + comma(wire.MaxRowBytes) + " bytes |",
		fmt.Sprintf("| states of a row that a client keeps | %d |", wire.MaxStates),
		"| slots; kinds | 2^24; " + comma(wire.MaxKinds) + " |",
		fmt.Sprintf("| names, rooms; texts, addresses; tokens | %d; %d; %s bytes |", wire.MaxName, wire.MaxText, comma(wire.MaxToken)),
		fmt.Sprintf("| command arguments; answers; events | %s bytes each |", comma(wire.MaxCommandArgs)),
		fmt.Sprintf("| one text field; all of an entity | %s; %s bytes |", comma(wire.MaxTextField), comma(wire.MaxTexts)),
		fmt.Sprintf("| schema text; its commands; its events; fields of one | %s bytes; %d; %d; %d |", comma(wire.MaxSchemaText), wire.MaxCommands, wire.MaxEvents, wire.MaxFieldsPerComponent),
		fmt.Sprintf("| provisional handles of a command | %d |", wire.MaxProvisionals),
		fmt.Sprintf("| view moment before its input | %s ticks |", comma(wire.MaxView)),
		fmt.Sprintf("| inputs in a datagram; one input | %d; %d bytes |", wire.MaxInputs, wire.MaxInputBytes),
		fmt.Sprintf("| msgpack nesting | %d |", wire.MaxMsgpackDepth),
		fmt.Sprintf("from first of an effect to the tick after its message | R; R + 1, where R is the larger of %d and tick_hz |", wire.MinBack),
		fmt.Sprintf("rows, in bits: %d for the header, %d more if there is a component `body`", wire.MaxRowHeaderBits, wire.MaxExactBits),
	} {
		require.Contains(t, string(page), line)
	}
	require.Equal(t, 1<<24, wire.MaxSlots)
	require.Equal(t, [4]int{wire.MaxName, wire.MaxText, wire.MaxCommandArgs, wire.MaxCommandArgs},
		[4]int{wire.MaxRoom, wire.MaxAddress, wire.MaxAnswer, wire.MaxEventBytes}, "the page gives them in one row")
}

func TestErrors(t *testing.T) {
	names := map[string]bool{}
	for _, c := range wire.Codes() {
		require.False(t, names[c.Name])
		names[c.Name] = true
		require.Equal(t, c.Name, c.Code.String())
		require.NotEmpty(t, c.Text)
	}
	err := fmt.Errorf("session 3: %w", &wire.Error{Code: wire.ServerFull, Detail: "100 sessions"})
	require.ErrorIs(t, err, &wire.Error{Code: wire.ServerFull})
	require.NotErrorIs(t, err, &wire.Error{Code: wire.Draining})
	require.Equal(t, wire.ServerFull, wire.CodeOf(err))
	require.Equal(t, wire.OK, wire.CodeOf(nil))
	require.Equal(t, wire.Internal, wire.CodeOf(os.ErrNotExist))
	require.Equal(t, "session 3: wire: server-full: 100 sessions (no free session: try again later)", err.Error())
	require.Equal(t, "code-999", wire.Code(999).String())
	require.Equal(t, wire.Nobody, wire.Code(999).Info().Fault)
}

// The fold depends on slots, generations and their order.
func TestFoldNoticesEveryBit(t *testing.T) {
	handles := []bulk.Handle{bulk.NewHandle(3, 1), bulk.NewHandle(4, 7), bulk.NewHandle(900, 12345)}
	fold := func() uint16 {
		var x uint64
		for _, h := range handles {
			x = wire.Fold(x, h)
		}
		return wire.Fold16(x)
	}
	want := fold()
	missed := 0
	for i := range handles {
		for bit := range 64 {
			handles[i] ^= 1 << bit
			if fold() == want {
				missed++
			}
			handles[i] ^= 1 << bit
		}
		for step := bulk.Handle(2); step < 200; step += 2 { // later tenants of the slot
			handles[i] += step << 32
			if fold() == want {
				missed++
			}
			handles[i] -= step << 32
		}
	}
	require.Zero(t, missed, "of 489 changes; a 16-bit fold may miss one in 65,536")
	handles[0], handles[1] = handles[1], handles[0]
	require.NotEqual(t, want, fold())
}

package wire

import (
	"encoding/binary"

	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/invariants"
)

// Ack is a client's acknowledgement of the records and snapshots that it has applied (H6).
type Ack struct {
	// Seen is false until the first State datagram is applied; Newest and Mask
	// are 0 then.
	Seen   bool
	Newest uint32 // the newest applied snapshot's Seq
	Mask   uint64 // bit i: snapshot Newest-1-i is applied
	// Structure is the number of structure records applied.
	Structure uint32
}

// TickInput is a client's input for one tick. The game interprets the bytes.
type TickInput struct {
	Tick uint32
	// Back and Fraction are the view moment: the client displayed the world at Tick - Back
	// + Fraction/256. Both are 0 if the client gives no moment.
	Back     uint32
	Fraction uint8
	Data     []byte
}

// Input is a client's datagram: its clock, its acknowledgement, and the inputs of the newest
// ticks, repeated in several datagrams against loss.
type Input struct {
	Stamp  uint32 // the client's clock in 1/10 ms, wrapping; echoed in State
	Ack    Ack
	Inputs []TickInput // newest first, at most MaxInputs
}

const (
	inputFixedBytes = 1 + 4 + 1 + 4 + 8 + 4
	// InputBytes is the maximum size of an Input datagram.
	InputBytes = inputFixedBytes + 1 + MaxInputs*(4+3+1+1+MaxInputBytes)
)

// check validates in, for both directions.
func (in *Input) check() error {
	a := in.Ack
	if !a.Seen && (a.Newest != 0 || a.Mask != 0) || a.Seen && a.Newest == 0 {
		return bad("acknowledges snapshot %d and %#x, seen %t", a.Newest, a.Mask, a.Seen)
	}
	for i := 1; i < len(in.Inputs); i++ {
		if now, before := in.Inputs[i].Tick, in.Inputs[i-1].Tick; now >= before {
			return bad("input of tick %d follows tick %d, want newest first", now, before)
		}
	}
	return nil
}

// Append appends the whole datagram.
func (in *Input) Append(b []byte) []byte {
	if invariants.Enabled {
		invariants.Check(in.check())
		invariants.Checkf(len(in.Inputs) <= MaxInputs, "%d inputs", len(in.Inputs))
	}
	b = append(b, TypeInput)
	b = binary.LittleEndian.AppendUint32(b, in.Stamp)
	seen := byte(0)
	if in.Ack.Seen {
		seen = 1
	}
	b = append(b, seen)
	b = binary.LittleEndian.AppendUint32(b, in.Ack.Newest)
	b = binary.LittleEndian.AppendUint64(b, in.Ack.Mask)
	b = binary.LittleEndian.AppendUint32(b, in.Ack.Structure)
	b = bitio.AppendUvarint(b, uint32(len(in.Inputs)))
	for _, t := range in.Inputs {
		if invariants.Enabled {
			invariants.Checkf(len(t.Data) <= MaxInputBytes, "input of %d bytes", len(t.Data))
			invariants.Checkf(t.Back <= MaxView && (t.Back != 0 || t.Fraction == 0), "view moment %d ticks back and %d/256", t.Back, t.Fraction)
		}
		b = binary.LittleEndian.AppendUint32(b, t.Tick)
		b = bitio.AppendUvarint(b, t.Back)
		if t.Back != 0 {
			b = append(b, t.Fraction)
		}
		b = bitio.AppendUvarint(b, uint32(len(t.Data)))
		b = append(b, t.Data...)
	}
	return b
}

// Parse reads an Input datagram into in. It reuses the memory of in.Inputs, and their Data
// alias d. After an error, the contents of in are undefined.
func (in *Input) Parse(d []byte) error {
	in.Inputs = in.Inputs[:0]
	if len(d) > InputBytes {
		return bad("input of %d bytes, at most %d are allowed", len(d), InputBytes)
	}
	c := bitio.NewCursor(d)
	if t := c.Byte("type"); t != TypeInput && c.Err() == nil {
		c.Fail("datagram type %d, want %d", t, TypeInput)
	}
	in.Stamp = c.Uint32("stamp")
	seen := c.Byte("seen")
	if seen > 1 {
		c.Fail("seen is %d, want 0 or 1", seen)
	}
	in.Ack = Ack{Seen: seen == 1, Newest: c.Uint32("newest"), Mask: c.Uint64("mask"), Structure: c.Uint32("structure")}
	for range c.Uvarint(MaxInputs, "input count") {
		t := TickInput{Tick: c.Uint32("tick"), Back: c.Uvarint(MaxView, "view moment")}
		if t.Back > t.Tick {
			c.Fail("input of tick %d with a view %d ticks before", t.Tick, t.Back)
		}
		if t.Back != 0 {
			t.Fraction = c.Byte("view fraction")
		}
		t.Data = c.Bytes(int(c.Uvarint(MaxInputBytes, "input length")), "input")
		in.Inputs = append(in.Inputs, t)
	}
	if err := c.End(); err != nil {
		return Malformed(err)
	}
	return in.check()
}

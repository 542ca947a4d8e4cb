package wire

import (
	"encoding/binary"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/fault"
	"github.com/worldd/worldd/internal/invariants"
)

// StateHeader begins a State datagram; the rows follow as one bit string.
type StateHeader struct {
	// Echo is the stamp of the newest Input datagram that the server received,
	// 0 before the first, and Hold is how long ago that was in 1/10 ms,
	// 65,535 meaning that or longer. Both are filled in by StampState.
	Echo uint32
	Hold uint16
	// Seq numbers the snapshots of a session from 1.
	Seq uint32
	// Tick is the tick of the frame that the rows are of.
	Tick uint32
	// Structure is the number of the newest structure record when the datagram
	// was made: the receiver must have applied that many (H1).
	Structure uint32
	// Fold is Fold16 over the handles of all rows, in order.
	Fold uint16
	// Rows is how many rows follow.
	Rows int
}

const (
	stateFixedBytes = 1 + 4 + 2 + 4 + 4 + 4 + 2
	// StateHeaderBytes is the most that a State header takes.
	StateHeaderBytes = stateFixedBytes + 2
	stateEchoAt      = 1
	stateHoldAt      = 5
	// rowHeaderBits is the most that the header of a row takes.
	rowHeaderBits = 2 + 32 + baselineBits
	baselineBits  = 5
)

// AppendStateHeader appends h; the rows' bits begin at the next byte.
func AppendStateHeader(b []byte, h StateHeader) []byte {
	if invariants.Enabled {
		mustHold(h.Rows >= 0 && h.Rows <= MaxRows && h.Seq != 0, "state %d with %d rows", h.Seq, h.Rows)
	}
	b = append(b, TypeState)
	b = binary.LittleEndian.AppendUint32(b, h.Echo)
	b = binary.LittleEndian.AppendUint16(b, h.Hold)
	b = binary.LittleEndian.AppendUint32(b, h.Seq)
	b = binary.LittleEndian.AppendUint32(b, h.Tick)
	b = binary.LittleEndian.AppendUint32(b, h.Structure)
	b = binary.LittleEndian.AppendUint16(b, h.Fold)
	return appendUvarint(b, uint32(h.Rows))
}

// StampState writes Echo and Hold into a finished State datagram, in place.
func StampState(d []byte, echo uint32, hold uint16) {
	if invariants.Enabled {
		mustHold(len(d) > stateFixedBytes && d[0] == TypeState, "stamp of %d bytes that are no State datagram", len(d))
	}
	binary.LittleEndian.PutUint32(d[stateEchoAt:], echo)
	binary.LittleEndian.PutUint16(d[stateHoldAt:], hold)
}

// StateStamp reads Echo and Hold of a datagram that ParseStateHeader accepts; of
// any other it returns zeros, or anything.
func StateStamp(d []byte) (echo uint32, hold uint16) {
	if len(d) < stateFixedBytes {
		return 0, 0
	}
	return binary.LittleEndian.Uint32(d[stateEchoAt:]), binary.LittleEndian.Uint16(d[stateHoldAt:])
}

// ParseStateHeader reads the header of a State datagram and leaves rows at the
// first row, aliasing d. The caller reads h.Rows times ReadRowHeader and
// Schema.ReadDelta, and then ExpectEnd.
func ParseStateHeader(d []byte, rows *BitReader) (StateHeader, error) {
	rows.Reset(nil)
	if len(d) > MaxDatagram {
		return StateHeader{}, bad("datagram of %d bytes, at most %d are allowed", len(d), MaxDatagram)
	}
	c := cursor{rest: d}
	if t := c.byte("type"); t != TypeState && c.err == nil {
		c.fail("datagram type %d, want %d", t, TypeState)
	}
	h := StateHeader{
		Echo: c.uint32("echo"), Hold: c.uint16("hold"), Seq: c.uint32("seq"), Tick: c.uint32("tick"),
		Structure: c.uint32("structure"), Fold: c.uint16("fold"), Rows: int(c.uvarint(MaxRows, "row count")),
	}
	if c.err == nil && h.Seq == 0 {
		c.fail("seq is 0: snapshots are counted from 1")
	}
	if c.err != nil {
		return StateHeader{}, c.err
	}
	rows.Reset(c.rest)
	return h, nil
}

// AppendRowHeader writes what precedes a delta row: gap is the row's slot minus
// the slot of the row before it, or minus 0 for the first row, so that it is 0
// for a first row of slot 0 and nowhere else. baseline is BaselineNone, 1 to
// MaxBaselineAge, or BaselineEnter.
func AppendRowHeader(w *BitWriter, gap uint32, baseline uint8) {
	if invariants.Enabled {
		mustHold(gap < MaxSlots && baseline < 1<<baselineBits, "row with gap %d, baseline %d", gap, baseline)
	}
	w.WriteSized(gap)
	w.Write(uint64(baseline), baselineBits)
}

// ReadRowHeader reads what AppendRowHeader wrote. The caller checks that slots
// ascend and stay below the world's.
func ReadRowHeader(r *BitReader) (gap uint32, baseline uint8, err error) {
	gap = r.ReadSized()
	baseline = uint8(r.Read(baselineBits))
	if gap >= MaxSlots {
		r.fail("row with gap %d, slots end at %d", gap, MaxSlots)
	}
	return gap, baseline, r.err
}

// Fold adds a handle to the fold of those before it; the first is added to 0.
// It is the check that both sides mean the same entities by the slots of a
// datagram. 32-bit multiplications only, for the sake of browsers.
func Fold(acc uint64, h bulk.Handle) uint64 {
	x := uint32(acc)
	x = (x ^ h.Index()) * 0x9e3779b1
	x ^= x >> 15
	if !fault.FoldIndexOnly {
		x = (x ^ h.Generation()) * 0x85ebca77
	}
	x ^= x >> 13
	return uint64(x)
}

// Fold16 is what goes on the wire of a fold.
func Fold16(acc uint64) uint16 {
	return uint16(acc ^ acc>>16)
}

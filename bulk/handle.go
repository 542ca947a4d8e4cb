package bulk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Handle names one tenancy of one slot: generation<<32 | index. It is weak (it
// keeps nothing alive) and it is a plain value: compare it with ==, use it as a
// map key, store it in a file, send it to another machine. The zero Handle
// names nothing, in every pool.
//
// A handle may come from anywhere, also from a hostile peer: every method of
// Pool that takes one checks its range and its generation.
type Handle uint64

// MaxGeneration is the last generation of a slot. It is odd; a slot that is
// freed at this generation is retired, since the next tenant would alias the
// first one (H4).
const MaxGeneration = 1<<32 - 1

// ErrHandle says that something is not a handle that could name an entity: a
// malformed text or msgpack form, or an even generation. The fault lies with
// whoever made the handle.
var ErrHandle = errors.New("bulk: not a handle")

const (
	noneText       = "none"
	msgpackUint64  = 0xcf // msgpack's tag of a big-endian uint64
	msgpackByteLen = 1 + 8
)

// NewHandle puts a handle together. It checks nothing: see Valid.
func NewHandle(index, generation uint32) Handle {
	return Handle(uint64(generation)<<32 | uint64(index))
}

// Index is the number of the slot in its pool.
func (h Handle) Index() uint32 { return uint32(h) }

// Generation tells the tenants of one slot apart. Live ones are odd.
func (h Handle) Generation() uint32 { return uint32(h >> 32) }

// Valid reports whether the generation is odd, so that h could name something
// that lives or lived. Whether it does is for Pool.Status to say.
func (h Handle) Valid() bool { return h>>32&1 != 0 }

// String is "17v3" for slot 17, generation 3, and "none" for the zero Handle.
// Each of the 2^64 values has exactly one text, which ParseHandle reads back.
func (h Handle) String() string {
	if h == 0 {
		return noneText
	}
	var buf [len("4294967295v4294967295")]byte
	b := strconv.AppendUint(buf[:0], uint64(h.Index()), 10)
	b = append(b, 'v')
	b = strconv.AppendUint(b, uint64(h.Generation()), 10)
	return string(b)
}

// ParseHandle reads what String wrote, and nothing else: no signs, spaces or
// leading zeros. The error wraps ErrHandle.
func ParseHandle(s string) (Handle, error) {
	if s == noneText {
		return 0, nil
	}
	// A text too long to be a handle is not repeated in the error, nor scanned.
	if len(s) > len("4294967295v4294967295") {
		return 0, fmt.Errorf("%w: a text of %d bytes; want one like 17v3", ErrHandle, len(s))
	}
	left, right, found := strings.Cut(s, "v")
	index, errIndex := strconv.ParseUint(left, 10, 32)
	generation, errGeneration := strconv.ParseUint(right, 10, 32)
	h := NewHandle(uint32(index), uint32(generation))
	if !found || errIndex != nil || errGeneration != nil || h.String() != s {
		return 0, fmt.Errorf("%w: %q; want a slot and a generation like 17v3, or none", ErrHandle, s)
	}
	return h, nil
}

// MarshalText returns the same as String. JSON thus carries handles as strings,
// which survive readers whose numbers are doubles.
func (h Handle) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText accepts what ParseHandle accepts, and leaves h alone otherwise.
func (h *Handle) UnmarshalText(text []byte) error {
	parsed, err := ParseHandle(string(text))
	if err != nil {
		return err
	}
	*h = parsed
	return nil
}

// MarshalMsgpack returns the msgpack form: always the nine bytes of a uint64
// (0xcf, then big-endian), never a shorter integer, so that the length of a
// message does not depend on the age of the slots in it.
func (h Handle) MarshalMsgpack() ([]byte, error) {
	b := make([]byte, 0, msgpackByteLen)
	return binary.BigEndian.AppendUint64(append(b, msgpackUint64), uint64(h)), nil
}

// UnmarshalMsgpack reads the nine bytes that MarshalMsgpack writes, refuses all
// other forms with an error that wraps ErrHandle, and leaves h alone then.
func (h *Handle) UnmarshalMsgpack(b []byte) error {
	if len(b) != msgpackByteLen || b[0] != msgpackUint64 {
		return fmt.Errorf("%w: msgpack of %d bytes; want 0xcf and eight bytes", ErrHandle, len(b))
	}
	*h = Handle(binary.BigEndian.Uint64(b[1:]))
	return nil
}

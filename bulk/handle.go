package bulk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Handle names one tenancy of one slot: generation<<32 | index. It is weak (it keeps
// nothing alive) and a plain value: compare it with ==, use it as a map key, store it,
// send it. The zero Handle names nothing in every pool.
//
// A handle may come from a hostile peer: every method of Pool that takes one checks its
// index and generation.
type Handle uint64

const (
	// MaxGeneration is a slot's last generation, unless Options says a lower one. It is odd. A slot freed at this
	// generation is retired: later tenants would alias earlier ones (H4).
	MaxGeneration = 1<<32 - 3
	// GoneGeneration is odd, and no pool issues it: a handle with it is Stale in every pool and to every client, for
	// ever (B11). See PoolState.Renamed.
	GoneGeneration = 1<<32 - 1
)

// ErrHandle reports input that cannot name an entity: malformed text or msgpack, or an
// even generation. The party that produced the handle is at fault.
var ErrHandle = errors.New("bulk: not a handle")

const (
	noneText       = "none"
	msgpackUint64  = 0xcf // msgpack's tag of a big-endian uint64
	msgpackByteLen = 1 + 8
)

// NewHandle combines index and generation without checking them: see Valid.
func NewHandle(index, generation uint32) Handle {
	return Handle(uint64(generation)<<32 | uint64(index))
}

// Index is the slot's number in its pool.
func (h Handle) Index() uint32 { return uint32(h) }

// Generation distinguishes the tenants of one slot. Live tenants have odd ones.
func (h Handle) Generation() uint32 { return uint32(h >> 32) }

// Valid reports whether the generation is odd, so that h may name a past or present
// tenant. Pool.Status decides.
func (h Handle) Valid() bool { return h>>32&1 != 0 }

// String returns "17v3" for slot 17, generation 3, and "none" for the zero Handle. Each
// of the 2^64 values has exactly one text, which ParseHandle reads back.
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

// ParseHandle reads exactly what String writes: no signs, spaces or leading zeros. The
// error wraps ErrHandle.
func ParseHandle(s string) (Handle, error) {
	if s == noneText {
		return 0, nil
	}
	// Overlong text is neither scanned nor quoted in the error.
	if len(s) > len("4294967295v4294967295") {
		return 0, fmt.Errorf("%w: %d bytes of text; want one like 17v3", ErrHandle, len(s))
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

// MarshalText returns String's text. JSON thus carries handles as strings, which
// survive readers that parse numbers as doubles.
func (h Handle) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText accepts what ParseHandle accepts; on an error h is unchanged.
func (h *Handle) UnmarshalText(text []byte) error {
	parsed, err := ParseHandle(string(text))
	if err != nil {
		return err
	}
	*h = parsed
	return nil
}

// MarshalMsgpack returns the nine bytes of a msgpack uint64 (0xcf, then big-endian),
// never a shorter integer: a message's length must not depend on the age of its slots.
func (h Handle) MarshalMsgpack() ([]byte, error) {
	b := make([]byte, 0, msgpackByteLen)
	return binary.BigEndian.AppendUint64(append(b, msgpackUint64), uint64(h)), nil
}

// UnmarshalMsgpack reads what MarshalMsgpack writes. Other forms give an error that
// wraps ErrHandle and leave h unchanged.
func (h *Handle) UnmarshalMsgpack(b []byte) error {
	if len(b) != msgpackByteLen || b[0] != msgpackUint64 {
		return fmt.Errorf("%w: msgpack of %d bytes; want 0xcf and eight bytes", ErrHandle, len(b))
	}
	*h = Handle(binary.BigEndian.Uint64(b[1:]))
	return nil
}

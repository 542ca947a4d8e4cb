package wire

import (
	"encoding/binary"
	"math"

	"github.com/worldd/worldd/internal/invariants"
)

// maxUvarint32 is the longest form of a 32-bit number, in bytes.
const maxUvarint32 = 5

func appendUvarint(b []byte, v uint32) []byte {
	return binary.AppendUvarint(b, uint64(v))
}

// cursor reads bytes of a message. The first thing that is wrong sticks: later
// reads return zeros, and err says what it was.
type cursor struct {
	rest []byte
	err  error
}

func (c *cursor) fail(format string, args ...any) {
	if c.err == nil {
		c.err = bad(format, args...)
		c.rest = nil
	}
}

func (c *cursor) byte(what string) byte {
	if len(c.rest) == 0 {
		c.fail("ends before %s", what)
		return 0
	}
	b := c.rest[0]
	c.rest = c.rest[1:]
	return b
}

func (c *cursor) uint16(what string) uint16 {
	if b := c.bytes(2, what); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (c *cursor) uint32(what string) uint32 {
	if b := c.bytes(4, what); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (c *cursor) uint64(what string) uint64 {
	if b := c.bytes(8, what); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// uvarint reads a number of at most limit. One value has one form: a longer
// one than needed is an error.
func (c *cursor) uvarint(limit uint32, what string) uint32 {
	v, n := binary.Uvarint(c.rest)
	switch {
	case n == 0:
		c.fail("ends inside %s", what)
		return 0
	case n < 0 || v > math.MaxUint32 || n > 1 && c.rest[n-1] == 0:
		c.fail("%s is not a 32-bit number in its shortest form", what)
		return 0
	case v > uint64(limit):
		c.fail("%s is %d, at most %d is allowed", what, v, limit)
		return 0
	}
	c.rest = c.rest[n:]
	return uint32(v)
}

// bytes returns the next n bytes, which alias the message, or nil.
func (c *cursor) bytes(n int, what string) []byte {
	if n > len(c.rest) {
		c.fail("%s: %d bytes wanted, %d left", what, n, len(c.rest))
		return nil
	}
	b := c.rest[:n:n]
	c.rest = c.rest[n:]
	return b
}

// end reports the first error, or that bytes are left.
func (c *cursor) end() error {
	if c.err == nil && len(c.rest) > 0 {
		c.fail("%d bytes too many", len(c.rest))
	}
	return c.err
}

// mustHold panics in checked builds when we are about to write what the other
// side has to refuse: the fault is ours.
func mustHold(ok bool, format string, args ...any) {
	if invariants.Enabled && !ok {
		invariants.Check(bad(format, args...))
	}
}

package bitio

import (
	"encoding/binary"
	"fmt"
	"math"
)

// MaxUvarint32 is the maximum size of an encoded 32-bit number, in bytes.
const MaxUvarint32 = 5

// AppendUvarint appends v in its shortest form.
func AppendUvarint(b []byte, v uint32) []byte {
	return binary.AppendUvarint(b, uint64(v))
}

// Cursor reads the bytes of a message, little endian. The first error is sticky: later
// reads return zeros. The what arguments name the value in errors.
type Cursor struct {
	rest []byte
	err  error
}

// NewCursor returns a cursor at the first byte of b, which it aliases.
func NewCursor(b []byte) Cursor { return Cursor{rest: b} }

// Fail records an error unless there already is one.
func (c *Cursor) Fail(format string, args ...any) { c.FailWith(fmt.Errorf(format, args...)) }

// FailWith records err unless there already is an error.
func (c *Cursor) FailWith(err error) {
	if c.err == nil {
		c.err, c.rest = err, nil
	}
}

// Err returns the first error, or nil.
func (c *Cursor) Err() error { return c.err }

// Rest returns the unread bytes, or nil after an error.
func (c *Cursor) Rest() []byte { return c.rest }

// Varint reads a signed number of magnitude at most limit, in its shortest form.
func (c *Cursor) Varint(limit int64, what string) int64 {
	v, n := binary.Varint(c.rest)
	if n <= 0 || v < -limit || v > limit {
		c.Fail("%s is cut off or beyond %d", what, limit)
		return 0
	}
	if n > 1 && c.rest[n-1] == 0 {
		c.Fail("%s takes more bytes than it needs", what)
		return 0
	}
	c.rest = c.rest[n:]
	return v
}

// Byte reads a byte.
func (c *Cursor) Byte(what string) byte {
	if len(c.rest) == 0 {
		c.Fail("ends before %s", what)
		return 0
	}
	b := c.rest[0]
	c.rest = c.rest[1:]
	return b
}

// Uint16 reads 2 bytes.
func (c *Cursor) Uint16(what string) uint16 {
	if b := c.Bytes(2, what); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

// Uint32 reads 4 bytes.
func (c *Cursor) Uint32(what string) uint32 {
	if b := c.Bytes(4, what); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// Uint64 reads 8 bytes.
func (c *Cursor) Uint64(what string) uint64 {
	if b := c.Bytes(8, what); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Uvarint reads a number of at most limit. It must be in its shortest form.
func (c *Cursor) Uvarint(limit uint32, what string) uint32 {
	v, n := binary.Uvarint(c.rest)
	switch {
	case n == 0:
		c.Fail("ends inside %s", what)
		return 0
	case n < 0 || v > math.MaxUint32 || n > 1 && c.rest[n-1] == 0:
		c.Fail("%s is not a 32-bit number in its shortest form", what)
		return 0
	case v > uint64(limit):
		c.Fail("%s is %d, at most %d is allowed", what, v, limit)
		return 0
	}
	c.rest = c.rest[n:]
	return uint32(v)
}

// Bytes returns the next n bytes, which alias the message, or nil.
func (c *Cursor) Bytes(n int, what string) []byte {
	if n > len(c.rest) {
		c.Fail("%s: %d bytes wanted, %d left", what, n, len(c.rest))
		return nil
	}
	b := c.rest[:n:n]
	c.rest = c.rest[n:]
	return b
}

// End returns Err, or an error if bytes are left.
func (c *Cursor) End() error {
	if c.err == nil && len(c.rest) > 0 {
		c.Fail("%d bytes too many", len(c.rest))
	}
	return c.err
}

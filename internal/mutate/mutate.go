package mutate

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
)

// A Source makes mutants of the inputs in its pool. It belongs to one goroutine.
type Source struct {
	rng  *rand.Rand
	pool [][]byte
	buf  []byte
}

// maxGrowth bounds what a mutant is longer than the input that it was made of.
const maxGrowth = 4096

// NewSource makes a source of mutants. The inputs are not changed; one at least is
// needed.
func NewSource(seed uint64, pool ...[]byte) *Source {
	return &Source{rng: rand.New(rand.NewPCG(seed, 0x6d)), pool: pool}
}

// IntN is a number below n, of the source's dice.
func (s *Source) IntN(n int) int { return s.rng.IntN(n) }

// Next returns the next mutant, of any input in the pool. It is valid until the
// next call.
func (s *Source) Next() []byte { return s.Of(s.pool[s.rng.IntN(len(s.pool))]) }

// Of returns a mutant of b, changed in one way as a rule, and in six at most. It is
// valid until the next call.
func (s *Source) Of(b []byte) []byte {
	s.buf = append(s.buf[:0], b...)
	for n := 1 + bits.TrailingZeros32(s.rng.Uint32()|1<<5); n > 0; n-- {
		s.change()
		if len(s.buf) > len(b)+maxGrowth {
			s.buf = s.buf[:len(b)+maxGrowth]
		}
	}
	return s.buf
}

// change does one thing to the mutant.
func (s *Source) change() {
	at := s.rng.IntN(len(s.buf) + 1)
	to := at + s.rng.IntN(len(s.buf)+1-at)
	switch s.rng.IntN(14) {
	case 0, 1, 12, 13:
		s.flip()
	case 2:
		s.overwrite(at, s.number())
	case 3:
		s.overwrite(at, s.varint())
	case 4:
		s.insert(at, s.varint())
	case 5:
		s.buf = s.buf[:at]
	case 6:
		s.buf = append(s.buf[:at], s.buf[to:]...)
	case 7: // a section again, there or elsewhere
		s.insert(s.rng.IntN(len(s.buf)+1), append([]byte(nil), s.buf[at:to]...))
	case 8:
		s.splice(at)
	case 9:
		s.insert(at, s.noise())
	case 10:
		s.overwrite(at, s.noise())
	case 11: // everything from there on
		for i := at; i < len(s.buf); i++ {
			s.buf[i] = byte(s.rng.Uint32())
		}
	}
}

// flip changes a bit.
func (s *Source) flip() {
	if len(s.buf) > 0 {
		s.buf[s.rng.IntN(len(s.buf))] ^= 1 << s.rng.IntN(8)
	}
}

// overwrite puts what in place of what is at a byte, as far as there is room.
func (s *Source) overwrite(at int, what []byte) { copy(s.buf[at:], what) }

func (s *Source) insert(at int, what []byte) {
	rest := append(what, s.buf[at:]...)
	s.buf = append(s.buf[:at], rest...)
}

// splice goes on from a byte with the end of another input.
func (s *Source) splice(at int) {
	other := s.pool[s.rng.IntN(len(s.pool))]
	s.buf = append(s.buf[:at], other[s.rng.IntN(len(other)+1):]...)
}

func (s *Source) noise() []byte {
	b := make([]byte, 1+s.rng.IntN(16))
	for i := range b {
		b[i] = byte(s.rng.Uint32())
	}
	return b
}

// limit is a number at an end of what some field holds, or next to one.
func (s *Source) limit() uint64 {
	n := uint64(1)<<s.rng.IntN(64) + uint64(s.rng.IntN(3)) - 1
	if s.rng.IntN(4) == 0 {
		n = -n
	}
	return n
}

// number is a limit as an integer of 1 to 8 bytes, of either order.
func (s *Source) number() []byte {
	n, width := s.limit(), 1<<s.rng.IntN(4)
	if s.rng.IntN(2) == 0 {
		return binary.LittleEndian.AppendUint64(nil, n)[:width]
	}
	return binary.BigEndian.AppendUint64(nil, n)[8-width:]
}

// varint is a limit as a LEB128 number, which now and then takes a byte too many.
func (s *Source) varint() []byte {
	n := s.limit()
	if s.rng.IntN(4) > 0 {
		n &= 1<<32 - 1
	}
	b := binary.AppendUvarint(nil, n)
	if s.rng.IntN(8) == 0 {
		b[len(b)-1] |= 0x80
		b = append(b, 0)
	}
	return b
}

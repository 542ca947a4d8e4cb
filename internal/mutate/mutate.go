package mutate

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"runtime/metrics"
	"testing"
)

// A Source derives mutants from the inputs in its pool. It is not safe for concurrent
// use.
type Source struct {
	rng  *rand.Rand
	pool [][]byte
	buf  []byte
}

// maxGrowth bounds the bytes that a mutant has more than its input.
const maxGrowth = 4096

// NewSource returns a source of mutants of at least one input. It does not modify the
// inputs.
func NewSource(seed uint64, pool ...[]byte) *Source {
	return &Source{rng: rand.New(rand.NewPCG(seed, 0x6d)), pool: pool}
}

// Count returns how many of n mutants a run tries: a quarter of them with -short.
func Count(n int) int {
	if testing.Short() {
		return n / 4
	}
	return n
}

// Allocated returns how many bytes the process has allocated since it began.
func Allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// IntN returns a random number below n.
func (s *Source) IntN(n int) int { return s.rng.IntN(n) }

// Next returns the next mutant, of a random input. It is valid until the next call.
func (s *Source) Next() []byte { return s.Of(s.pool[s.rng.IntN(len(s.pool))]) }

// Of returns a mutant of b, usually with one change, at most with six. It is valid
// until the next call.
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

// change applies one random change to the mutant.
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
	case 5: // truncate
		s.buf = s.buf[:at]
	case 6: // delete a section
		s.buf = append(s.buf[:at], s.buf[to:]...)
	case 7: // insert a copy of a section
		s.insert(s.rng.IntN(len(s.buf)+1), append([]byte(nil), s.buf[at:to]...))
	case 8:
		s.splice(at)
	case 9:
		s.insert(at, s.noise())
	case 10:
		s.overwrite(at, s.noise())
	case 11: // randomise the rest
		for i := at; i < len(s.buf); i++ {
			s.buf[i] = byte(s.rng.Uint32())
		}
	}
}

// flip flips a bit.
func (s *Source) flip() {
	if len(s.buf) > 0 {
		s.buf[s.rng.IntN(len(s.buf))] ^= 1 << s.rng.IntN(8)
	}
}

// overwrite replaces the bytes at an offset, up to the mutant's end.
func (s *Source) overwrite(at int, what []byte) { copy(s.buf[at:], what) }

func (s *Source) insert(at int, what []byte) {
	rest := append(what, s.buf[at:]...)
	s.buf = append(s.buf[:at], rest...)
}

// splice replaces everything from an offset with the end of another input.
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

// limit returns an extreme value of some field type, or a neighbour of one.
func (s *Source) limit() uint64 {
	n := uint64(1)<<s.rng.IntN(64) + uint64(s.rng.IntN(3)) - 1
	if s.rng.IntN(4) == 0 {
		n = -n
	}
	return n
}

// number returns a limit as an integer of 1 to 8 bytes in either byte order.
func (s *Source) number() []byte {
	n, width := s.limit(), 1<<s.rng.IntN(4)
	if s.rng.IntN(2) == 0 {
		return binary.LittleEndian.AppendUint64(nil, n)[:width]
	}
	return binary.BigEndian.AppendUint64(nil, n)[8-width:]
}

// varint returns a limit in LEB128, occasionally one byte too long.
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

package wire

// Shares is how many bits of a row are each component's. Four are in a word, of 16
// bits each, so that those of all rows of a datagram are summed four at a time;
// no sum runs over, since a datagram has fewer than 2^16 bits.
type Shares [MaxComponents / sharesPerWord]uint64

const (
	sharesPerWord = 4
	shareBits     = 64 / sharesPerWord
)

// ShareWords is how many words the shares of so many components are in.
func ShareWords(components int) int { return (components + sharesPerWord - 1) / sharesPerWord }

// Bits is the share of a component.
func (s *Shares) Bits(component int) uint64 {
	return s[component/sharesPerWord] >> (component % sharesPerWord * shareBits) & (1<<shareBits - 1)
}

// Add adds bits to the share of a component.
func (s *Shares) Add(component, bits int) {
	s[component/sharesPerWord] += uint64(bits) << (component % sharesPerWord * shareBits)
}

package bulk

import "math/bits"

// runGroups is how many summary words AppendTo and Count do at a time: 131,072 slots.
// The assembly is made for that many. It cannot be preempted, and takes some 20
// microseconds if all slots are in the set.
const runGroups = 32

// AppendTo appends the members to list, in ascending order: the fastest way to
// get at them, since nothing is called for each. It allocates if list has no
// room for them, and writes nothing behind the last one.
//
// It uses vector instructions where there are some, unless built with -tags
// purego.
func (b *Bitset) AppendTo(list []uint32) []uint32 {
	for s := 0; s < len(b.summary); s += runGroups {
		some := uint32(b.top[s>>wordShift] >> (s & wordMask))
		if some == 0 {
			continue
		}
		var done bool
		if list, done = b.appendRunFast(list, s, some); !done {
			list = b.appendRun(list, s, some)
		}
	}
	return list
}

// appendRun appends the members below the summary words that some has bits for,
// the lowest for summary word s. It is the definition of AppendTo, what other
// machines run, and the faster way to few members.
func (b *Bitset) appendRun(list []uint32, s int, some uint32) []uint32 {
	for ; some != 0; some &= some - 1 {
		s := s + bits.TrailingZeros32(some)
		group := (*[wordLen]uint64)(b.words[s<<wordShift:])
		for summary := b.summary[s]; summary != 0; summary &= summary - 1 {
			w := bits.TrailingZeros64(summary)
			base := uint32(s<<wordShift|w) << wordShift
			for word := group[w&wordMask]; word != 0; word &= word - 1 {
				list = append(list, base|uint32(bits.TrailingZeros64(word)))
			}
		}
	}
	return list
}

// Count returns the number of members. Like AppendTo, it uses vector
// instructions where there are some.
func (b *Bitset) Count() int {
	n := 0
	for s := 0; s < len(b.summary); s += runGroups {
		some := uint32(b.top[s>>wordShift] >> (s & wordMask))
		if some == 0 {
			continue
		}
		run, done := b.countRunFast(s, some)
		if !done {
			run = b.countRun(s)
		}
		n += run
	}
	return n
}

// countRun counts the members of the run from summary word s on, at each word
// that has one.
func (b *Bitset) countRun(s int) int {
	n := 0
	for i, summary := range b.summary[s:min(s+runGroups, len(b.summary))] {
		group := (*[wordLen]uint64)(b.words[(s+i)<<wordShift:])
		for ; summary != 0; summary &= summary - 1 {
			n += bits.OnesCount64(group[bits.TrailingZeros64(summary)&wordMask])
		}
	}
	return n
}

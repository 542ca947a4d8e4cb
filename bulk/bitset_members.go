package bulk

import "math/bits"

//go:generate go -C _asm run . -out ../kernel_amd64.s -stubs ../kernel_amd64.go -pkg bulk

// runGroups is the number of summary words that AppendTo and Count process per call:
// 131,072 slots, as the assembly expects. Assembly cannot be preempted; a full run
// takes about 20 microseconds.
const runGroups = 32

// AppendTo appends the members to list in ascending order: the fastest way to list
// them, without a call per member. It allocates if list lacks capacity and does not
// write past the last member.
//
// It uses vector instructions where available, unless built with -tags purego.
func (b *levels) AppendTo(list []uint32) []uint32 {
	for s := 0; s < len(b.summary); s += runGroups {
		nonempty := uint32(b.top[s>>wordShift] >> (s & wordMask))
		if nonempty == 0 {
			continue
		}
		var done bool
		list, done = b.appendRunFast(list, s, nonempty)
		if !done {
			list = b.appendRun(list, s, nonempty)
		}
	}
	return list
}

// appendRun appends the members under the summary words that nonempty selects. The lowest
// bit of nonempty stands for summary word s. It defines AppendTo. It is used for sparse
// runs, where it is faster, and where there is no kernel.
func (b *levels) appendRun(list []uint32, s int, nonempty uint32) []uint32 {
	for ; nonempty != 0; nonempty &= nonempty - 1 {
		s := s + bits.TrailingZeros32(nonempty)
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

// Count returns the number of members. Like AppendTo, it uses vector instructions where
// available.
func (b *levels) Count() int {
	n := 0
	for s := 0; s < len(b.summary); s += runGroups {
		nonempty := uint32(b.top[s>>wordShift] >> (s & wordMask))
		if nonempty == 0 {
			continue
		}
		run, done := b.countRunFast(s, nonempty)
		if !done {
			run = b.countRun(s)
		}
		n += run
	}
	return n
}

// countRun counts the members of the run that starts at summary word s, visiting
// nonempty words only.
func (b *levels) countRun(s int) int {
	n := 0
	for i, summary := range b.summary[s:min(s+runGroups, len(b.summary))] {
		group := (*[wordLen]uint64)(b.words[(s+i)<<wordShift:])
		for ; summary != 0; summary &= summary - 1 {
			n += bits.OnesCount64(group[bits.TrailingZeros64(summary)&wordMask])
		}
	}
	return n
}

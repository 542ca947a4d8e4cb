//go:build !purego

package bulk

import (
	"math/bits"
	"slices"
	"unsafe"

	x86 "golang.org/x/sys/cpu"

	"github.com/worldd/worldd/internal/cpu"
)

// minWholeWords is the minimum number of nonempty words in a group for which assignWhole is
// faster than a loop over words.
func minWholeWords() int {
	if cpu.Chosen() == cpu.AVX512 {
		return 8
	}
	return 16
}

// combine is combineGo, with vector instructions where available.
func (op operation) combine(to, a, b *[wordLen]uint64) uint64 {
	if cpu.Chosen() != cpu.AVX512 {
		return op.combineGo(to, a, b)
	}
	switch op {
	case intersection:
		return intersectAVX512(&to[0], &a[0], &b[0])
	case union:
		return uniteAVX512(&to[0], &a[0], &b[0])
	}
	return subtractAVX512(&to[0], &a[0], &b[0])
}

// countRunFast is countRun by the kernel. It returns false if the CPU does not support the
// kernel, or if less than half of the run's summary words have members: the kernel counts
// all words.
func (b *levels) countRunFast(s int, nonempty uint32) (int, bool) {
	groups := min(runGroups, len(b.summary)-s)
	if bits.OnesCount32(nonempty)*2 < groups || cpu.Chosen() != cpu.AVX512 || !x86.X86.HasAVX512VPOPCNTDQ {
		return 0, false
	}
	return countAVX512(unsafe.SliceData(b.words[s*wordLen:(s+groups)*wordLen]), groups), true
}

// appendRunFast is appendRun by the kernel. It returns false if the CPU does not support
// the kernel, or if less than half of the run's summary words have members: the kernel
// visits all words.
func (b *levels) appendRunFast(list []uint32, s int, nonempty uint32) ([]uint32, bool) {
	groups := min(runGroups, len(b.summary)-s)
	if bits.OnesCount32(nonempty)*2 < groups || !hasAppendMembers() {
		return list, false
	}
	words, summary := b.words[s*wordLen:(s+groups)*wordLen], b.summary[s:s+groups]
	for {
		room := list[len(list):cap(list)]
		n := appendMembersAVX512(unsafe.SliceData(room), len(room),
			unsafe.SliceData(words), unsafe.SliceData(summary), groups, uint32(s)<<(2*wordShift))
		if n >= 0 {
			return list[:len(list)+n], true
		}
		need := 0
		for _, word := range words {
			need += bits.OnesCount64(word)
		}
		list = slices.Grow(list, need)
	}
}

// hasAppendMembers reports CPU support. Byte compression is the rarest feature: Ice
// Lake servers and Zen 4 have it.
func hasAppendMembers() bool {
	x := &x86.X86
	return cpu.Chosen() == cpu.AVX512 && x.HasAVX512VBMI2 && x.HasAVX512VPOPCNTDQ && x.HasAVX512BW && x.HasBMI2 && x.HasPOPCNT
}

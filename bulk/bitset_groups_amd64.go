//go:build !purego

package bulk

import (
	"math/bits"
	"unsafe"

	x86 "golang.org/x/sys/cpu"

	"github.com/worldd/worldd/internal/cpu"
)

// minWholeWords is the number of nonempty words in a group from which assignWhole is
// faster than going word by word.
func minWholeWords() int {
	if cpu.Chosen() == cpu.AVX512 {
		return 8
	}
	return 16
}

// combine is combineGo in vector instructions, where available.
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

// countRunFast is countRun if the CPU supports the kernel and at least half of the
// run's summary words have members: the kernel counts all words.
func (b *Bitset) countRunFast(s int, nonempty uint32) (int, bool) {
	groups := min(runGroups, len(b.summary)-s)
	if bits.OnesCount32(nonempty)*2 < groups || cpu.Chosen() != cpu.AVX512 || !x86.X86.HasAVX512VPOPCNTDQ {
		return 0, false
	}
	return countAVX512(unsafe.SliceData(b.words[s*wordLen:(s+groups)*wordLen]), groups), true
}

package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const (
	vectorBytes = 64 // a 512-bit register
	vectorWords = 8
	groupWords  = 64
)

// combine generates a set operation on two groups. op applies it to two vectors and
// leaves the result in the second.
func combine(name, result string, op func(b Mem, a reg.VecVirtual)) {
	TEXT(name, NOSPLIT, "func(to, a, b *uint64) uint64")
	Doc(name+" sets the 64 words at to to "+result+" of the words at a and b, and", "returns the result's summary word. The pointers may be equal.")
	Pragma("noescape")
	to, a, b := Load(Param("to"), GP64()), Load(Param("a"), GP64()), Load(Param("b"), GP64())
	summary, byteOf := GP64(), GP64()
	XORQ(summary, summary)
	for i := groupWords/vectorWords - 1; i >= 0; i-- { // each vector shifts up the summary of the vectors above
		z, nonzero := ZMM(), K()
		VMOVDQU64(Mem{Base: a, Disp: i * vectorBytes}, z)
		op(Mem{Base: b, Disp: i * vectorBytes}, z)
		VPTESTMQ(z, z, nonzero)
		VMOVDQU64(z, Mem{Base: to, Disp: i * vectorBytes})
		KMOVB(nonzero, byteOf.As32())
		SHLQ(Imm(vectorWords), summary)
		ORQ(byteOf, summary)
	}
	Store(summary, ReturnIndex(0))
	VZEROUPPER()
	RET()
}

func combineGroups() {
	combine("intersectAVX512", "the intersection", func(b Mem, a reg.VecVirtual) { VPANDQ(b, a, a) })
	combine("uniteAVX512", "the union", func(b Mem, a reg.VecVirtual) { VPORQ(b, a, a) })
	combine("subtractAVX512", "the difference", func(b Mem, a reg.VecVirtual) {
		subtrahend := ZMM()
		VMOVDQU64(b, subtrahend)
		VPANDNQ(a, subtrahend, a)
	})
}

// countGroups counts the bits of whole groups in four independent sums, so that
// additions do not wait for each other.
func countGroups() {
	TEXT("countAVX512", NOSPLIT, "func(words *uint64, groups int) int")
	Doc("countAVX512 counts the bits of groups of 64 words each. groups is at least 1.")
	Pragma("noescape")
	words, groups := Load(Param("words"), GP64()), Load(Param("groups"), GP64())
	var sums [4]reg.VecVirtual
	for i := range sums {
		sums[i] = ZMM()
		VPXORQ(sums[i], sums[i], sums[i])
	}
	Label("group")
	for i := range groupWords / vectorWords {
		z := ZMM()
		VPOPCNTQ(Mem{Base: words, Disp: i * vectorBytes}, z)
		VPADDQ(z, sums[i%len(sums)], sums[i%len(sums)])
	}
	ADDQ(U32(groupWords*8), words)
	DECQ(groups)
	JNZ(LabelRef("group"))

	z := sums[0]
	VPADDQ(sums[1], z, z)
	VPADDQ(sums[3], sums[2], sums[2])
	VPADDQ(sums[2], z, z)
	half, quarter, total := YMM(), XMM(), GP64()
	VEXTRACTI64X4(Imm(1), z, half)
	VPADDQ(z.AsY(), half, half)
	VEXTRACTI128(Imm(1), half, quarter)
	VPADDQ(half.AsX(), quarter, quarter)
	VPSRLDQ(Imm(8), quarter, half.AsX())
	VPADDQ(half.AsX(), quarter, quarter)
	VMOVQ(quarter, total)
	Store(total, ReturnIndex(0))
	VZEROUPPER()
	RET()
}

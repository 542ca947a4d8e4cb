package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const (
	vectorBytes = 64 // of a 512-bit register
	vectorWords = 8
	groupWords  = 64
)

// combine is a function of two groups; op is that of two vectors, the second of
// which is where the result goes too.
func combine(name, what string, op func(b Mem, a reg.VecVirtual)) {
	TEXT(name, NOSPLIT, "func(to, a, b *uint64) uint64")
	Doc(name+" sets 64 words at to to "+what+" of those at a and b, and returns", "which of them are not zero. Any of the three may be the same.")
	Pragma("noescape")
	to, a, b := Load(Param("to"), GP64()), Load(Param("a"), GP64()), Load(Param("b"), GP64())
	summary, part := GP64(), GP64()
	XORQ(summary, summary)
	for i := groupWords/vectorWords - 1; i >= 0; i-- { // the highest words end up in the highest bits
		z, some := ZMM(), K()
		VMOVDQU64(Mem{Base: a, Disp: i * vectorBytes}, z)
		op(Mem{Base: b, Disp: i * vectorBytes}, z)
		VPTESTMQ(z, z, some)
		VMOVDQU64(z, Mem{Base: to, Disp: i * vectorBytes})
		KMOVB(some, part.As32())
		SHLQ(Imm(vectorWords), summary)
		ORQ(part, summary)
	}
	Store(summary, ReturnIndex(0))
	VZEROUPPER()
	RET()
}

func combines() {
	combine("intersectAVX512", "the intersection", func(b Mem, a reg.VecVirtual) { VPANDQ(b, a, a) })
	combine("uniteAVX512", "the union", func(b Mem, a reg.VecVirtual) { VPORQ(b, a, a) })
	combine("subtractAVX512", "the difference", func(b Mem, a reg.VecVirtual) {
		without := ZMM()
		VMOVDQU64(b, without)
		VPANDNQ(a, without, a)
	})
}

// countGroups adds up the bits of whole groups, in four sums so that one
// addition need not wait for the last.
func countGroups() {
	TEXT("countAVX512", NOSPLIT, "func(words *uint64, groups int) int")
	Doc("countAVX512 counts the bits of 64 words for each of the groups, of which there must be one.")
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

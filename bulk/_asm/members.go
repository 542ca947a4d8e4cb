package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const (
	wordLen   = 64
	maxGroups = 32 // summary words per call
	maxWords  = maxGroups * wordLen
	gathered  = 8            // words per gather
	overrun   = 2 * gathered // bytes that the last load may read past the word numbers
)

// appendMembers lists the bits of a run of words in two steps:
//
//  1. It compresses the set bits of each summary word (VPCOMPRESSB) to 16-bit word
//     numbers on the stack. No branch depends on the number of set bits: in appendRun, the end of
//     each summary word's loop costs more than its words.
//  2. It gathers eight of these words at a time and compresses their first and second
//     members (VPCOMPRESSD). If one of the eight has a third member, each is
//     compressed on its own, as the summary words were.
func appendMembers() {
	TEXT("appendMembersAVX512", 0, "func(list *uint32, room int, words, summary *uint64, groups int, base uint32) int")
	Doc(
		"appendMembersAVX512 writes base plus the bit's number to list for each bit of the words",
		"that 1 to 32 summary words mark as nonempty. It returns the number of members, or -1 if",
		"there are more than room. It writes nothing past room.",
	)
	list, room := Load(Param("list"), GP64()), Load(Param("room"), GP64())
	words, summary := Load(Param("words"), GP64()), Load(Param("summary"), GP64())
	groups := Load(Param("groups"), GP64())
	numbers := AllocLocal(2*maxWords + overrun)

	bitNumbers := GLOBL("bitNumbers", RODATA|NOPTR)
	for i := range 8 {
		var v uint64
		for j := range 8 {
			v |= uint64(i*8+j) << (8 * j)
		}
		DATA(i*8, U64(v))
	}
	bytes := ZMM()
	VMOVDQU64(bitNumbers, bytes)

	allOnes := GP64()
	MOVQ(I64(-1), allOnes)
	count := GP64()
	XORQ(count, count)
	wordNumbers(numbers, summary, groups, bytes, count)

	// From here on, next is the index of the next word number, and n counts members.
	ones := ZMM()
	VPTERNLOGD(Imm(0xff), ones, ones, ones)
	base := ZMM()
	VPBROADCASTD(Load(Param("base"), GP32()), base)
	limit := ZMM() // 64: the trailing-zero count of an empty word
	VPSRLD(Imm(31), ones, limit)
	VPSLLD(Imm(6), limit, limit)
	next, n, last := GP64(), GP64(), GP64()
	XORQ(next, next)
	XORQ(n, n)
	Load(Param("groups"), last)
	SHLQ(Imm(5), last)
	CMPQ(last, count)
	MOVQ(count, last)
	JL(LabelRef("word"))

	Label("eight")
	left, lanes := GP64(), GP64()
	MOVQ(count, left)
	SUBQ(next, left)
	JE(LabelRef("return"))
	MOVQ(U32(1<<gathered-1), lanes)
	CMPQ(left, Imm(gathered))
	JGE(LabelRef("gather"))
	BZHIQ(left, lanes, lanes)
	Label("gather")
	number, x := ZMM(), ZMM()
	k := K()
	KMOVW(lanes.As32(), k)
	VPMOVZXWQ(numbers.Idx(next, 2), number)
	VPXORQ(x, x, x)
	VPGATHERQQ(Mem{Base: words, Index: number, Scale: 8}, k, x)
	first, below := trailingZeros(x, ones)
	VPANDQ(x, below, x) // remove the first member
	second, below2 := trailingZeros(x, ones)
	VPTESTMQ(x, below2, k) // words with a third member
	many := GP32()
	KMOVW(k, many)
	TESTL(many, many)
	JNZ(LabelRef("each"))

	VPSLLQ(Imm(32), second, second)
	VPORQ(second, first, first)
	VPCMPUD(Imm(1), limit, first, k) // there is a member
	high := ZMM()
	VPSLLQ(Imm(38), number, high)
	VPSLLQ(Imm(6), number, number)
	VPORQ(high, number, number)
	VPADDD(number, first, first)
	VPADDD(base, first, first)
	VPCOMPRESSD_Z(first, k, first)
	members, end := GP64(), GP64()
	KMOVW(k, members.As32())
	POPCNTL(members.As32(), members.As32())
	LEAQ(Mem{Base: n, Index: members, Scale: 1}, end)
	CMPQ(end, room)
	JG(LabelRef("full"))
	mask := GP64()
	BZHIQ(members, allOnes, mask)
	KMOVW(mask.As32(), k)
	VMOVDQU32(first, k, Mem{Base: list, Index: n, Scale: 4})
	MOVQ(end, n)
	ADDQ(Imm(gathered), next)
	CMPQ(next, count)
	JL(LabelRef("eight"))
	JMP(LabelRef("return"))

	Label("each")
	LEAQ(Mem{Base: next, Disp: gathered}, last)
	CMPQ(last, count)
	CMOVQGT(count, last)
	Label("word")
	one, word := GP64(), GP64()
	MOVWQZX(numbers.Idx(next, 2), one)
	MOVQ(Mem{Base: words, Index: one, Scale: 8}, word)
	POPCNTQ(word, members)
	LEAQ(Mem{Base: n, Index: members, Scale: 1}, end)
	CMPQ(end, room)
	JG(LabelRef("full"))
	kw := K()
	KMOVQ(word, kw)
	packed, origin := ZMM(), ZMM()
	VPCOMPRESSB_Z(bytes, kw, packed)
	SHLL(Imm(6), one.As32())
	VPBROADCASTD(one.As32(), origin)
	VPADDD(base, origin, origin)
	BZHIQ(members, allOnes, mask)
	storeMembers(packed.AsX(), origin, mask, list, n, 0)
	CMPQ(members, Imm(16))
	JLE(LabelRef("stored"))
	part := XMM()
	for i := 1; i < 4; i++ {
		SHRQ(Imm(16), mask)
		VEXTRACTI32X4(Imm(uint64(i)), packed, part)
		storeMembers(part, origin, mask, list, n, i*16*4)
	}
	Label("stored")
	MOVQ(end, n)
	INCQ(next)
	CMPQ(next, last)
	JL(LabelRef("word"))
	JMP(LabelRef("eight"))

	Label("full")
	MOVQ(I32(-1), n)

	Label("return")
	Store(n, ReturnIndex(0))
	VZEROUPPER()
	RET()
}

// wordNumbers appends the numbers of the summary words' set bits to numbers, which has
// count of them. It clobbers summary and groups.
func wordNumbers(numbers Mem, summary, groups reg.Register, bytes, count reg.Register) {
	origin, step := ZMM(), ZMM()
	VPXORQ(origin, origin, origin)
	sixtyFour := GP32()
	MOVL(U32(wordLen), sixtyFour)
	VPBROADCASTW(sixtyFour, step)

	Label("summary")
	bits, members := GP64(), GP64()
	k := K()
	packed, low := ZMM(), ZMM()
	MOVQ(Mem{Base: summary}, bits)
	KMOVQ(bits, k)
	POPCNTQ(bits, members)
	VPCOMPRESSB_Z(bytes, k, packed)
	VPMOVZXBW(packed.AsY(), low)
	VPADDW(origin, low, low)
	VMOVDQU16(low, numbers.Idx(count, 2))
	CMPQ(members, Imm(32))
	JLE(LabelRef("numbered"))
	VEXTRACTI64X4(Imm(1), packed, packed.AsY())
	VPMOVZXBW(packed.AsY(), low)
	VPADDW(origin, low, low)
	VMOVDQU16(low, numbers.Idx(count, 2).Offset(64))
	Label("numbered")
	VPADDW(step, origin, origin)
	ADDQ(members, count)
	ADDQ(Imm(8), summary)
	DECQ(groups)
	JNZ(LabelRef("summary"))
}

// trailingZeros returns the trailing-zero counts of x (64 where x is 0), and x-1.
func trailingZeros(x, ones reg.Register) (zeros, below reg.VecVirtual) {
	zeros, below = ZMM(), ZMM()
	VPADDQ(ones, x, below)
	VPANDNQ(below, x, zeros) // below &^ x: ones below the lowest set bit
	VPOPCNTQ(zeros, zeros)
	return zeros, below
}

// storeMembers stores part's bytes selected by mask, plus origin, at list[n].
func storeMembers(part, origin, mask, list, n reg.Register, disp int) {
	k, z := K(), ZMM()
	KMOVW(mask.(reg.GPVirtual).As32(), k)
	VPMOVZXBD(part, z)
	VPADDD(origin, z, z)
	VMOVDQU32(z, k, Mem{Base: list, Index: n, Scale: 4, Disp: disp})
}

package main

import (
	"fmt"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// packs are PackDown and PackUp of whole words, for values of 2, 4 and 16 bytes:
// as many as a vector holds are squeezed together at once, and stored where those
// before them end, so that no branch depends on how many stay.
func packs() {
	frontPairs := permutations()
	for _, bytes := range []int{2, 4, 16} {
		p := packer{bytes: bytes, pairs: frontPairs}
		p.down()
		p.up()
	}
}

// permutations has a line for each set of four values of 16 bytes: the lanes that
// bring its members to the front. VPERMQ needs one port where VPCOMPRESSQ needs two.
func permutations() Mem {
	table := GLOBL("packPermutations", RODATA|NOPTR)
	for set := range 16 {
		at := set * vectorBytes
		for i := range 4 {
			if set>>i&1 != 0 {
				DATA(at, U64(uint64(2*i)))
				DATA(at+8, U64(uint64(2*i+1)))
				at += 16
			}
		}
		for ; at < (set+1)*vectorBytes; at += 8 {
			DATA(at, U64(0))
		}
	}
	return table
}

// packer writes the kernels for one size of values.
type packer struct {
	bytes int
	pairs Mem

	to, from, gone, drop, words reg.Register
	ones, table                 reg.GPVirtual
	stay, leave                 reg.GPVirtual // a bit a value of the word
}

func (p *packer) lanes() int { return vectorBytes / p.bytes }

func (p *packer) text(name, text string) {
	name = fmt.Sprintf("%s%dAVX512", name, p.bytes)
	TEXT(name, NOSPLIT, "func(values *byte, to, from int, dropped *byte, gone int, drop *uint64, words int) int")
	Pragma("noescape")
	Doc(strings.Split(fmt.Sprintf(text, name, p.bytes), "\n")...)
	p.to, p.from = Load(Param("to"), GP64()), Load(Param("from"), GP64())
	p.gone, p.drop = Load(Param("gone"), GP64()), Load(Param("drop"), GP64())
	p.words = Load(Param("words"), GP64())
	values, dropped := Load(Param("values"), GP64()), Load(Param("dropped"), GP64())
	ADDQ(dropped, p.gone)
	ADDQ(values, p.to)
	ADDQ(values, p.from)
	p.ones, p.table = GP64(), GP64()
	MOVQ(I64(-1), p.ones)
	if p.bytes == 16 {
		LEAQ(p.pairs, p.table)
	}
}

// word loads which of the next 64 values stay. If all do, it goes to whole.
func (p *packer) word(at Mem) {
	p.stay, p.leave = GP64(), GP64()
	MOVQ(at, p.leave)
	TESTQ(p.leave, p.leave)
	JZ(LabelRef("whole"))
	MOVQ(p.leave, p.stay)
	NOTQ(p.stay)
}

// down stores whole vectors of those that stay: what is behind them is
// overwritten by the next, and never beyond what has been loaded.
func (p *packer) down() {
	p.text("packDown", `%s moves those of 64 values of %d bytes a word, from byte from on, that have no bit
in drop, to byte to, which must not be above from, and those that have one to byte gone
of dropped. It returns how many bytes those are that stay.`)
	start := GP64()
	MOVQ(p.to, start)
	Label("word")
	p.word(Mem{Base: p.drop})
	for i := range 64 / p.lanes() {
		x := ZMM()
		VMOVDQU64(Mem{Base: p.from, Disp: i * vectorBytes}, x)
		moved, count, _ := p.squeeze(x, p.stay, i)
		VMOVDQU64(moved, Mem{Base: p.to})
		p.advance(p.to, count)
		moved, count, mask := p.squeeze(x, p.leave, i)
		p.store(moved, mask, p.gone)
		p.advance(p.gone, count)
	}
	Label("next")
	ADDQ(Imm(8), p.drop)
	ADDQ(I32(64*p.bytes), p.from)
	DECQ(p.words)
	JNZ(LabelRef("word"))

	SUBQ(start, p.to)
	Store(p.to, ReturnIndex(0))
	VZEROUPPER()
	RET()

	Label("whole")
	for i := range 64 / p.lanes() {
		x := ZMM()
		VMOVDQU64(Mem{Base: p.from, Disp: i * vectorBytes}, x)
		VMOVDQU64(x, Mem{Base: p.to, Disp: i * vectorBytes})
	}
	ADDQ(I32(64*p.bytes), p.to)
	JMP(LabelRef("next"))
}

// up goes from the last word to the first. It stores those that stay and nothing
// else, since they begin anywhere in front of those before.
func (p *packer) up() {
	p.text("packUp", `%s moves those of 64 values of %d bytes a word, from byte from on, that have no bit
in drop, to just in front of byte to, which must not be below their end, and those that
have one to just in front of byte gone of dropped. It returns how many bytes those are that stay.`)
	start, last := GP64(), GP64()
	MOVQ(p.to, start)
	MOVQ(p.words, last)
	SHLQ(Imm(uint64(log2(64*p.bytes))), last)
	ADDQ(last, p.from)
	Label("word")
	p.word(Mem{Base: p.drop, Index: p.words, Scale: 8, Disp: -8})
	for i := 64/p.lanes() - 1; i >= 0; i-- {
		x := ZMM()
		VMOVDQU64(Mem{Base: p.from, Disp: i*vectorBytes - 64*p.bytes}, x)
		moved, count, mask := p.squeeze(x, p.stay, i)
		p.retreat(p.to, count)
		p.store(moved, mask, p.to)
		moved, count, mask = p.squeeze(x, p.leave, i)
		p.retreat(p.gone, count)
		p.store(moved, mask, p.gone)
	}
	Label("next")
	SUBQ(I32(64*p.bytes), p.from)
	DECQ(p.words)
	JNZ(LabelRef("word"))

	SUBQ(p.to, start)
	Store(start, ReturnIndex(0))
	VZEROUPPER()
	RET()

	Label("whole")
	SUBQ(I32(64*p.bytes), p.to)
	for i := 64/p.lanes() - 1; i >= 0; i-- {
		x := ZMM()
		VMOVDQU64(Mem{Base: p.from, Disp: i*vectorBytes - 64*p.bytes}, x)
		VMOVDQU64(x, Mem{Base: p.to, Disp: i * vectorBytes})
	}
	JMP(LabelRef("next"))
}

// squeeze moves the values of vector i of the word that members has to its front.
// It returns how many they are, and a mask of so many bits.
func (p *packer) squeeze(x reg.VecVirtual, members reg.GPVirtual, i int) (moved reg.VecVirtual, count, mask reg.GPVirtual) {
	set, k := GP64(), K()
	moved, count, mask = ZMM(), GP64(), GP64()
	MOVQ(members, set)
	if i > 0 {
		SHRQ(Imm(uint64(i*p.lanes())), set)
	}
	switch p.bytes {
	case 2:
		KMOVD(set.As32(), k)
		VPCOMPRESSW_Z(x, k, moved)
		POPCNTL(set.As32(), count.As32())
	case 4:
		MOVWLZX(set.As16(), set.As32())
		KMOVW(set.As32(), k)
		VPCOMPRESSD_Z(x, k, moved)
		POPCNTQ(set, count)
	case 16: // counted in halves of 8 bytes
		ANDL(Imm(15), set.As32())
		POPCNTQ(set, count)
		SHLL(Imm(uint64(log2(vectorBytes))), set.As32())
		lanes := ZMM()
		VMOVDQU64(Mem{Base: p.table, Index: set, Scale: 1}, lanes)
		VPERMQ(x, lanes, moved)
		ADDL(count.As32(), count.As32())
	}
	BZHIQ(count, p.ones, mask)
	return moved, count, mask
}

// store stores as many values as mask has bits.
func (p *packer) store(moved reg.VecVirtual, mask reg.GPVirtual, at reg.Register) {
	k := K()
	switch p.bytes {
	case 2:
		KMOVD(mask.As32(), k)
		VMOVDQU16(moved, k, Mem{Base: at})
	case 4:
		KMOVW(mask.As32(), k)
		VMOVDQU32(moved, k, Mem{Base: at})
	case 16:
		KMOVB(mask.As32(), k)
		VMOVDQU64(moved, k, Mem{Base: at})
	}
}

func (p *packer) advance(at reg.Register, count reg.GPVirtual) {
	LEAQ(Mem{Base: at, Index: count, Scale: uint8(min(p.bytes, 8))}, at)
}

func (p *packer) retreat(at reg.Register, count reg.GPVirtual) {
	NEGQ(count)
	p.advance(at, count)
}

func log2(n int) (bits int) {
	for ; n > 1; n >>= 1 {
		bits++
	}
	return bits
}

package main

import (
	"fmt"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// packWords generates PackDown and PackUp of whole words, for values of 2, 4 and 16 bytes.
// The kernels compress one vector of values at a time and store it after the previous
// vector, so that no branch depends on the number of kept values.
func packWords() {
	permutations := permutationTable()
	for _, bytes := range []int{2, 4, 16} {
		p := packer{bytes: bytes, permutations: permutations}
		p.down()
		p.up()
	}
}

// permutationTable has an entry for each subset of four 16-byte values: the VPERMQ
// indexes that move its members to the front. VPERMQ needs one port, VPCOMPRESSQ two.
func permutationTable() Mem {
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

// packer generates the kernels for values of a size in bytes.
type packer struct {
	bytes        int
	permutations Mem

	to, from, droppedTo, drop, words reg.Register
	ones, table                      reg.GPVirtual
	kept, removed                    reg.GPVirtual // a bit for each value of the word
}

func (p *packer) lanes() int { return vectorBytes / p.bytes }

// begin begins a kernel and loads its arguments. doc is a format for its name and p.bytes.
func (p *packer) begin(name, doc string) {
	name = fmt.Sprintf("%s%dAVX512", name, p.bytes)
	TEXT(name, NOSPLIT, "func(values *byte, to, from int, dropped *byte, droppedTo int, drop *uint64, words int) int")
	Pragma("noescape")
	Doc(strings.Split(fmt.Sprintf(doc, name, p.bytes), "\n")...)
	p.to, p.from = Load(Param("to"), GP64()), Load(Param("from"), GP64())
	p.droppedTo, p.drop = Load(Param("droppedTo"), GP64()), Load(Param("drop"), GP64())
	p.words = Load(Param("words"), GP64())
	values, dropped := Load(Param("values"), GP64()), Load(Param("dropped"), GP64())
	ADDQ(dropped, p.droppedTo)
	ADDQ(values, p.to)
	ADDQ(values, p.from)
	p.ones, p.table = GP64(), GP64()
	MOVQ(I64(-1), p.ones)
	if p.bytes == 16 {
		LEAQ(p.permutations, p.table)
	}
}

// loadWord loads the drop bits of 64 values. It jumps to "whole" if there are none.
func (p *packer) loadWord(at Mem) {
	p.kept, p.removed = GP64(), GP64()
	MOVQ(at, p.removed)
	TESTQ(p.removed, p.removed)
	JZ(LabelRef("whole"))
	MOVQ(p.removed, p.kept)
	NOTQ(p.kept)
}

// down stores whole vectors. The kept values come first in each. The next store overwrites
// the rest. No store reaches values that are not loaded yet.
func (p *packer) down() {
	p.begin("packDown", `%s partitions 64 values of %d bytes for each word of drop, from byte from on.
Values without a bit in drop move to byte to, which is at most from, the others to byte
droppedTo of dropped. It returns the bytes of kept values.`)
	start := GP64()
	MOVQ(p.to, start)
	Label("word")
	p.loadWord(Mem{Base: p.drop})
	for i := range 64 / p.lanes() {
		x := ZMM()
		VMOVDQU64(Mem{Base: p.from, Disp: i * vectorBytes}, x)
		moved, count, _ := p.compress(x, p.kept, i)
		VMOVDQU64(moved, Mem{Base: p.to})
		p.advance(p.to, count)
		moved, count, mask := p.compress(x, p.removed, i)
		p.store(moved, mask, p.droppedTo)
		p.advance(p.droppedTo, count)
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

// up visits the last word first. It stores only the kept values: the memory on one side of
// them holds values that are not loaded yet, on the other side final values.
func (p *packer) up() {
	p.begin("packUp", `%s partitions 64 values of %d bytes for each word of drop, from byte from on.
Values without a bit in drop move to end at byte to, which is at least their end, the
others to end at byte droppedTo of dropped. It returns the bytes of kept values.`)
	start, last := GP64(), GP64()
	MOVQ(p.to, start)
	MOVQ(p.words, last)
	SHLQ(Imm(uint64(log2(64*p.bytes))), last)
	ADDQ(last, p.from)
	Label("word")
	p.loadWord(Mem{Base: p.drop, Index: p.words, Scale: 8, Disp: -8})
	for i := 64/p.lanes() - 1; i >= 0; i-- {
		x := ZMM()
		VMOVDQU64(Mem{Base: p.from, Disp: i*vectorBytes - 64*p.bytes}, x)
		moved, count, mask := p.compress(x, p.kept, i)
		p.retreat(p.to, count)
		p.store(moved, mask, p.to)
		moved, count, mask = p.compress(x, p.removed, i)
		p.retreat(p.droppedTo, count)
		p.store(moved, mask, p.droppedTo)
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

// compress moves vector i's values that are members of the word to its front. It returns
// their number in stored lanes, and a mask of that many ones.
func (p *packer) compress(x reg.VecVirtual, members reg.GPVirtual, i int) (moved reg.VecVirtual, count, mask reg.GPVirtual) {
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
	case 16: // a value is two stored lanes
		ANDL(Imm(15), set.As32())
		POPCNTQ(set, count)
		SHLL(Imm(uint64(log2(vectorBytes))), set.As32())
		indexes := ZMM()
		VMOVDQU64(Mem{Base: p.table, Index: set, Scale: 1}, indexes)
		VPERMQ(x, indexes, moved)
		ADDL(count.As32(), count.As32())
	}
	BZHIQ(count, p.ones, mask)
	return moved, count, mask
}

// store stores the lanes of moved selected by mask.
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

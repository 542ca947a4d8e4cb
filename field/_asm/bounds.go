package main

import (
	"log"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
	"github.com/mmcloughlin/avo/reg"
)

// boundsFile returns the file of boundsGo's kernels, one for each path.
func boundsFile() []byte {
	c := build.NewContext()
	c.ConstraintExpr("amd64,!purego")
	for _, p := range []path{avx512, avx2} {
		a := &assembler{Context: c, path: p}
		c.Function("bounds" + p.name)
		c.Attributes(attr.NOSPLIT)
		c.SignatureExpr("func(x, y, z *float32, chunks int, to *[9]uint32)")
		a.bounds()
	}
	file, err := c.Result()
	if err != nil {
		log.Fatal(err)
	}
	if err := pass.Compile.Execute(file); err != nil {
		log.Fatal(err)
	}
	text, err := printer.NewGoAsm(printer.Config{Name: "field/_asm", Pkg: "field"}).Print(file)
	if err != nil {
		log.Fatal(err)
	}
	return text
}

// chains is the number of independent minima and maxima, so that instructions do not wait
// for each other.
const chains = 2

// chunkPoints is the number of points in a chunk, as in set.go.
const chunkPoints = 256

// bounds emits the loops over the chunks of three planes, one plane after the other.
func (a *assembler) bounds() {
	infinity := a.GP32()
	for lane, plane := range []string{"x", "y", "z"} {
		at := a.Load(a.Param(plane), a.GP64()).(reg.GPVirtual)
		chunks := a.Load(a.Param("chunks"), a.GP64()).(reg.GPVirtual)
		to := a.Load(a.Param("to"), a.GP64()).(reg.GPVirtual)
		a.Label("chunk" + plane)
		var least, greatest [chains]reg.VecVirtual
		for i := range chains {
			least[i], greatest[i] = a.vector(), a.vector()
			a.broadcastBits(0x7f800000, infinity, least[i])
			a.broadcastBits(0xff800000, infinity, greatest[i])
		}
		nan := a.vector()
		a.xor(nan, nan, nan)
		for i := 0; i < chunkPoints/a.lanes; i += chains {
			var v [chains]reg.VecVirtual
			for j := range v {
				v[j] = a.load(operand.Mem{Base: at, Disp: (i + j) * a.vectorBytes()})
				a.min(v[j], least[j], least[j])
				a.max(v[j], greatest[j], greatest[j])
			}
			a.markNaN(v, nan)
		}
		a.reduce(least, func(x, y, to operand.Op) { a.VMINPS(y, x, to) }, operand.Mem{Base: to, Disp: 12 * lane})
		a.reduce(greatest, func(x, y, to operand.Op) { a.VMAXPS(y, x, to) }, operand.Mem{Base: to, Disp: 12*lane + 4})
		a.storeNaN(nan, operand.Mem{Base: to, Disp: 12*lane + 8})
		a.ADDQ(operand.U32(4*chunkPoints), at)
		a.ADDQ(operand.U8(36), to)
		a.DECQ(chunks)
		a.JNE(operand.LabelRef("chunk" + plane))
	}
	a.VZEROUPPER()
	a.RET()
}

// broadcastBits copies a number to all lanes.
func (a *assembler) broadcastBits(bits uint32, scratch reg.GPVirtual, to reg.VecVirtual) {
	a.MOVL(operand.U32(bits), scratch)
	a.VMOVD(scratch, to.AsX())
	a.VBROADCASTSS(to.AsX(), to)
}

// markNaN sets the lanes of marks where either vector is NaN.
func (a *assembler) markNaN(v [chains]reg.VecVirtual, marks reg.VecVirtual) {
	if a.wide() {
		k := a.K()
		a.VCMPPS(operand.U8(isUnordered), v[0], v[1], k)
		a.VPTERNLOGD(operand.U8(0xff), marks, marks, k, marks)
		return
	}
	nan := a.vector()
	a.VCMPPS(operand.U8(isUnordered), v[0], v[1], nan)
	a.VORPS(nan, marks, marks)
}

// storeNaN stores 0 if no lane of marks is set, otherwise a nonzero number.
func (a *assembler) storeNaN(marks reg.VecVirtual, to operand.Mem) {
	bits := a.GP32()
	if a.wide() {
		k := a.K()
		a.VPMOVD2M(marks, k)
		a.KMOVW(k, bits)
	} else {
		a.VMOVMSKPS(marks, bits)
	}
	a.MOVL(bits, to)
}

// reduce combines all lanes of all chains into one number.
func (a *assembler) reduce(v [chains]reg.VecVirtual, combine func(x, y, to operand.Op), to operand.Mem) {
	combine(v[0], v[1], v[0])
	if a.wide() {
		high := a.YMM()
		a.VEXTRACTF64X4(operand.U8(1), v[0], high)
		combine(v[0].AsY(), high, v[0].AsY())
	}
	x, high := v[0].AsX(), a.XMM()
	a.VEXTRACTF128(operand.U8(1), v[0].AsY(), high)
	combine(x, high, x)
	for _, order := range []uint8{0x4e, 0xb1} {
		a.VPERMILPS(operand.U8(order), x, high)
		combine(x, high, x)
	}
	a.VMOVSS(x, to)
}

// Command asm generates the assembly kernels of package columns; go generate runs it.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const (
	vectorBytes = 64 // of a 512-bit register
	laneBytes   = 4
	lanes       = 8 // float32s of a 256-bit register
	unroll      = 4
)

func main() {
	ConstraintExpr("amd64,!purego")
	addScaled()
	packWords()
	Generate()
}

// addScaled rounds the product before the addition, as float32(x*k) + y does in Go.
func addScaled() {
	TEXT("addScaledAVX", NOSPLIT, "func(to, from *float32, n int, k float32)")
	Doc("addScaledAVX does to[i] += from[i]*k for i < n. n is a multiple of 8.")
	to, from, n := Load(Param("to"), GP64()), Load(Param("from"), GP64()), Load(Param("n"), GP64())
	k := YMM()
	addr, _ := Param("k").Resolve()
	VBROADCASTSS(addr.Addr, k)

	Label("four")
	CMPQ(n, Imm(unroll*lanes))
	JL(LabelRef("one"))
	var y [unroll]reg.VecVirtual
	for i := range unroll {
		y[i] = YMM()
		VMULPS(Mem{Base: from, Disp: i * lanes * laneBytes}, k, y[i])
	}
	for i := range unroll {
		VADDPS(Mem{Base: to, Disp: i * lanes * laneBytes}, y[i], y[i])
	}
	for i := range unroll {
		VMOVUPS(y[i], Mem{Base: to, Disp: i * lanes * laneBytes})
	}
	ADDQ(Imm(unroll*lanes*laneBytes), to)
	ADDQ(Imm(unroll*lanes*laneBytes), from)
	SUBQ(Imm(unroll*lanes), n)
	JMP(LabelRef("four"))

	Label("one")
	CMPQ(n, Imm(lanes))
	JL(LabelRef("done"))
	VMULPS(Mem{Base: from}, k, y[0])
	VADDPS(Mem{Base: to}, y[0], y[0])
	VMOVUPS(y[0], Mem{Base: to})
	ADDQ(Imm(lanes*laneBytes), to)
	ADDQ(Imm(lanes*laneBytes), from)
	SUBQ(Imm(lanes), n)
	JMP(LabelRef("one"))

	Label("done")
	VZEROUPPER()
	RET()
}

//go:build !purego

package columns

import (
	"math/bits"
	"unsafe"

	x86 "golang.org/x/sys/cpu"

	"github.com/worldd/worldd/internal/cpu"
)

// packWords bounds one call to a few microseconds: assembly cannot be preempted.
const packWords = 128

// downFast is down from first, which starts a word, through the last whole word, if the
// CPU supports the kernel. It returns where it stopped.
func (p *packing[T]) downFast(first int) int {
	size := int(unsafe.Sizeof(p.values[0]))
	for hasPack() && len(p.values)-first >= wordLen {
		drop := p.drop[first>>wordShift : min(first>>wordShift+packWords, len(p.values)>>wordShift)]
		n := countDropped(drop)
		_ = p.dropped[p.droppedTo : p.droppedTo+n] // bounds check: the kernel has none
		p.to += kernelDown(size, memory(p.values), p.to*size, first*size,
			memory(p.dropped), p.droppedTo*size, unsafe.SliceData(drop), len(drop)) / size
		p.droppedTo += n
		first += len(drop) * wordLen
	}
	return first
}

// upFast is up from end, which ends a word, down through the first whole word. It
// returns where it stopped.
func (p *packing[T]) upFast(first, end int) int {
	size := int(unsafe.Sizeof(p.values[0]))
	for hasPack() && end-first >= wordLen {
		begin := max(end-packWords*wordLen, (first+wordMask)&^wordMask)
		drop := p.drop[begin>>wordShift : end>>wordShift]
		n := countDropped(drop)
		_ = p.dropped[p.droppedTo-n : p.droppedTo] // bounds check: the kernel has none
		p.to -= kernelUp(size, memory(p.values), p.to*size, begin*size,
			memory(p.dropped), p.droppedTo*size, unsafe.SliceData(drop), len(drop)) / size
		p.droppedTo -= n
		end = begin
	}
	return end
}

func countDropped(drop []uint64) (n int) {
	for _, word := range drop {
		n += bits.OnesCount64(word)
	}
	return n
}

func kernelDown(size int, values *byte, to, from int, dropped *byte, droppedTo int, drop *uint64, words int) int {
	switch size {
	case 2:
		return packDown2AVX512(values, to, from, dropped, droppedTo, drop, words)
	case 4:
		return packDown4AVX512(values, to, from, dropped, droppedTo, drop, words)
	}
	return packDown16AVX512(values, to, from, dropped, droppedTo, drop, words)
}

func kernelUp(size int, values *byte, to, from int, dropped *byte, droppedTo int, drop *uint64, words int) int {
	switch size {
	case 2:
		return packUp2AVX512(values, to, from, dropped, droppedTo, drop, words)
	case 4:
		return packUp4AVX512(values, to, from, dropped, droppedTo, drop, words)
	}
	return packUp16AVX512(values, to, from, dropped, droppedTo, drop, words)
}

func memory[T Packable](values []T) *byte { return (*byte)(unsafe.Pointer(unsafe.SliceData(values))) }

// hasPack reports CPU support. 16-bit compression is the rarest feature: Ice Lake
// servers and Zen 4 have it.
func hasPack() bool {
	x := &x86.X86
	return cpu.Chosen() == cpu.AVX512 && x.HasAVX512VBMI2 && x.HasAVX512BW && x.HasAVX512DQ && x.HasBMI2 && x.HasPOPCNT
}

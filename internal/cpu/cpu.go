// Package cpu selects the vector kernels of this process: the fastest that the processor
// supports, or the set that the operator requests.
//
// The environment variable WORLDD_KERNELS forces a set: go, avx2 or avx512. It is meant for
// tests, and for operators who suspect a kernel; all sets give bit-identical results. An
// unknown value, or a set that this processor or build lacks, panics at start: a silent
// fallback would test another set than the requested one.
package cpu

import (
	"fmt"
	"os"
)

// Kernels is a set of vector kernels. Greater is faster.
type Kernels uint8

// Each set includes the ones before it.
const (
	Go     Kernels = iota // no assembly: works everywhere
	AVX2                  // with FMA
	AVX512                // F, DQ and VL, besides AVX2
)

// Variable is the environment variable that forces a set.
const Variable = "WORLDD_KERNELS"

var names = [...]string{Go: "go", AVX2: "avx2", AVX512: "avx512"}

// String returns the set's name, as in Variable.
func (k Kernels) String() string { return names[k] }

// Best returns the fastest set that processor and build support.
func Best() Kernels { return best }

// Chosen returns the set that this process uses.
func Chosen() Kernels { return chosen }

var (
	best   = detect()
	chosen = mustChoose(os.Getenv(Variable), best)
)

func mustChoose(asked string, best Kernels) Kernels {
	k, err := choose(asked, best)
	if err != nil {
		panic(err)
	}
	return k
}

// choose returns the set that a value of Variable requests.
func choose(asked string, best Kernels) (Kernels, error) {
	if asked == "" {
		return best, nil
	}
	for k, name := range names {
		if name != asked {
			continue
		}
		if Kernels(k) > best {
			return Go, fmt.Errorf("%s=%s: this processor or build supports at most %v; unset it, or set it to %[3]v", Variable, asked, best)
		}
		return Kernels(k), nil
	}
	return Go, fmt.Errorf("%s=%q is unknown; unset it, or set it to one of %v", Variable, asked, names[:best+1])
}

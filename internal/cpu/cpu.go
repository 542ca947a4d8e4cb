// Package cpu says which vector kernels this process runs: the best that the
// processor has, or what the operator asks for.
//
// The environment variable WORLDD_KERNELS forces a path: go, avx2 or avx512. It is
// for tests and for an operator who suspects a kernel; results are the same bits on
// all of them. A value that is not known, or a path that this processor or this
// build lacks, ends the process at its start with a panic that says so: falling
// back silently would test something else than was asked for.
package cpu

import (
	"fmt"
	"os"
)

// Kernels is a set of vector kernels, the faster the greater.
type Kernels uint8

// The sets. Each processor that has one has those before it.
const (
	Go     Kernels = iota // no assembly: what every machine has
	AVX2                  // with FMA
	AVX512                // F, DQ and VL, besides AVX2
)

// Variable is the environment variable that forces a set.
const Variable = "WORLDD_KERNELS"

var names = [...]string{Go: "go", AVX2: "avx2", AVX512: "avx512"}

// String is the set as Variable spells it.
func (k Kernels) String() string { return names[k] }

// Best is the fastest set that processor and build have.
func Best() Kernels { return best }

// Chosen is the set that this process uses.
func Chosen() Kernels { return chosen }

var (
	best   = detect()
	chosen = mustChoose(os.Getenv(Variable), best)
)

func mustChoose(wish string, best Kernels) Kernels {
	k, err := choose(wish, best)
	if err != nil {
		panic(err)
	}
	return k
}

// choose finds the set that a value of Variable names.
func choose(wish string, best Kernels) (Kernels, error) {
	if wish == "" {
		return best, nil
	}
	for k, name := range names {
		if name != wish {
			continue
		}
		if Kernels(k) > best {
			return Go, fmt.Errorf("%s=%s: this processor or build has no more than %v; unset it, or set it to %[3]v", Variable, wish, best)
		}
		return Kernels(k), nil
	}
	return Go, fmt.Errorf("%s=%q is not known; unset it, or set it to one of %v", Variable, wish, names[:best+1])
}

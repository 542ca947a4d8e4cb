//go:build !(linux || darwin || freebsd || netbsd || openbsd)

package field

import "testing"

// guarded returns n float32s inside of a larger slice. It detects writes outside these
// floats. On this system it cannot detect reads.
func guarded(_ testing.TB, floats int) []float32 { return make([]float32, floats+1024) }

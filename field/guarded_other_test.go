//go:build !(linux || darwin || freebsd || netbsd || openbsd)

package field

import "testing"

// guarded is room for more than so many float32s. What is written beside those that
// are lent shows; reading there does not, on this system.
func guarded(_ testing.TB, floats int) []float32 { return make([]float32, floats+1024) }

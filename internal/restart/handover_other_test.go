//go:build unix && !linux

package restart

import "testing"

// testHandOvers: only Linux has hand-overs.
func testHandOvers(*testing.T, programs) {}

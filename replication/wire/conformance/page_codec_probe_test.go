package conformance

import (
	"fmt"
	"math"
)

// probe makes the decoder of CODEC.md misread one rule, and observes it. A nil probe
// does nothing.
type probe struct {
	wrong   string                               // the rule that is misread, or ""
	missing int                                  // 1 + the feature that scales ignore, or 0
	asked   map[string]bool                      // unless nil: receives the names of the rules consulted
	covered func(key string)                     // unless nil: called with each situation that occurs
	choose  func(s *pageDecoder, lengths []byte) // unless nil: called before each symbol
	largest float64                              // the largest product of a position or number so far
}

// Misreadings that tests name.
const (
	inDoubles    = "arithmetic in doubles"
	unboundedMag = "mag is not bounded"
)

// is reports whether a rule is misread.
func (m *probe) is(rule string) bool {
	if m == nil {
		return false
	}
	if m.asked != nil {
		m.asked[rule] = true
	}
	return m.wrong == rule
}

// or returns wrong if a rule is misread, else right.
func (m *probe) or(rule string, wrong, right int64) int64 {
	if m.is(rule) {
		return wrong
	}
	return right
}

// ignores reports whether scales are computed without a feature.
func (m *probe) ignores(feature int) bool { return m != nil && m.missing == feature+1 }

// cover reports that a situation has occurred.
func (m *probe) cover(format string, args ...any) {
	if m != nil && m.covered != nil {
		m.covered(fmt.Sprintf(format, args...))
	}
}

// mul multiplies numbers that may become large.
func (m *probe) mul(a, b int64) int64 {
	if m == nil {
		return a * b
	}
	product := float64(a) * float64(b)
	m.largest = max(m.largest, math.Abs(product))
	if m.is(inDoubles) {
		return int64(min(max(product, -0x1p63), 0x1.fffffffffffffp62))
	}
	if math.Abs(product) >= 0x1p63 && m.is("arithmetic in more than 64 bits") {
		return int64(math.Copysign(math.MaxInt64, product))
	}
	return a * b
}

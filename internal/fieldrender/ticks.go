package fieldrender

import (
	"math"
	"strconv"
)

// A tickStep is the distance between ticks on an axis: 1, 2 or 5 times a power of ten.
type tickStep struct{ mantissa, exponent int }

// stepFor returns the smallest step with which count steps cover span. span must be positive
// and finite.
func stepFor(span float64, count int) tickStep {
	for exponent := -50; ; exponent++ {
		for _, mantissa := range []int{1, 2, 5} {
			s := tickStep{mantissa, exponent}
			if s.value(count) >= span {
				return s
			}
		}
	}
}

// value returns i steps.
func (s tickStep) value(i int) float64 {
	if s.exponent < 0 {
		return float64(i*s.mantissa) / math.Pow10(-s.exponent) // one rounding
	}
	return float64(float64(i*s.mantissa) * math.Pow10(s.exponent))
}

// label returns i steps as text.
func (s tickStep) label(i int) string {
	if s.exponent < -4 || s.exponent > 5 {
		return strconv.FormatFloat(s.value(i), 'g', 3, 64)
	}
	return strconv.FormatFloat(s.value(i), 'f', max(0, -s.exponent), 64)
}

// within returns the numbers of the ticks from lo to hi, inclusive.
func (s tickStep) within(lo, hi float64) (numbers []int) {
	one := s.value(1)
	for i := int(math.Ceil(lo / one)); s.value(i) <= hi; i++ {
		numbers = append(numbers, i)
	}
	return numbers
}

// A scale maps magnitudes to colours.
type scale struct {
	step  tickStep
	steps int  // from 0 to the top of the scale
	over  bool // some magnitudes are above the top
	empty bool // all magnitudes are 0
}

// newScale returns a scale for magnitudes, which must be sorted and not NaN. A few very large
// ones, for example near the centre of an unbounded source, must not compress the rest: the top
// is then the 99th percentile.
func newScale(sorted []float32) scale {
	top := sorted[len(sorted)-1]
	if usual := sorted[(len(sorted)-1)*99/100]; top > 3*usual && usual > 0 {
		top = usual
	}
	for i := len(sorted) - 1; math.IsInf(float64(top), 1) && i >= 0; i-- {
		top = sorted[i]
	}
	if top == 0 || math.IsInf(float64(top), 1) {
		top = 1
	}
	step := stepFor(float64(top), 5)
	steps := 1
	for step.value(steps) < float64(top) {
		steps++
	}
	greatest := sorted[len(sorted)-1]
	return scale{step, steps, float64(greatest) > step.value(steps), greatest == 0}
}

func (s scale) top() float64 { return s.step.value(s.steps) }

// level returns the index of a magnitude's colour in the ramp.
func (s scale) level(magnitude float32) int {
	l := float64(float64(magnitude)/s.top()*float64(levels-1)) + 0.5
	if l >= float64(levels) { // also infinity
		return levels - 1
	}
	return int(l)
}

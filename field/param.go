package field

import "math"

// Vec4 is four lanes: x, y, z, w.
type Vec4 = [4]float32

// Param is a parameter of an effect: a number or a vector that each evaluation is
// given.
type Param struct {
	Name    string
	Default Vec4 // of a number: four times the same
	Scalar  bool // it is a number: its x counts, and nobody looks at the others
	// Bounded says that the author gave a range: Min to Max, for a number, or for
	// each of x, y and z of a vector. Evaluate does not look at it, because a
	// program stays safe with any value; whoever takes values from others does.
	Bounded  bool
	Min, Max float32
}

// Allows says whether the parameter may have the value: finite, and in its range
// if it has one.
func (p Param) Allows(v Vec4) bool {
	lanes := v[:]
	if p.Scalar {
		lanes = v[:1]
	}
	if !allFinite(lanes) {
		return false
	}
	for _, f := range lanes[:min(len(lanes), 3)] {
		if p.Bounded && !(f >= p.Min && f <= p.Max) {
			return false
		}
	}
	return true
}

// Allows says whether Evaluate may be given these parameters: as many as the program
// has, and each within its range.
func (p *Program) Allows(params []Vec4) bool {
	if len(params) != len(p.params) {
		return false
	}
	for i, v := range params {
		if !p.params[i].Allows(v) {
			return false
		}
	}
	return true
}

// UnusedParams returns a *SyntaxError for each parameter of an effect that nothing added
// to output depends on, at its declaration. Such a text compiles: callers may
// expect the parameter. The error is that of Compile.
func UnusedParams(source string) (unused []error, err error) {
	text, err := parse(source)
	if err != nil {
		return nil, err
	}
	p, err := Compile(source)
	if err != nil {
		return nil, err
	}
	used := make([]bool, len(p.params))
	for _, in := range p.code {
		if i := int(in.uniform) - uniformParams; in.op == opLoad && i >= 0 && i < 4*len(used) {
			used[i/4] = true
		}
	}
	for i, d := range text.declared {
		if !used[i] {
			unused = append(unused, d.line.fail(d.column, "a line that uses it, or no such parameter", "nothing added to output depends on the parameter %q", text.params[i].Name))
		}
	}
	return unused, nil
}

// isNumber says whether the default is one number four times, to the bit.
func (p Param) isNumber() bool {
	for _, f := range p.Default {
		if math.Float32bits(f) != math.Float32bits(p.Default[0]) {
			return false
		}
	}
	return true
}

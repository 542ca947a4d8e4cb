package field

import "math"

// Vec4 is four lanes: x, y, z, w.
type Vec4 = [4]float32

// Param is a parameter of an effect, a number or a vector, set per evaluation.
type Param struct {
	Name    string
	Default Vec4 // the lanes of a number are equal
	Scalar  bool // the parameter is a number: only x counts
	// Bounded means that the author gave a range, Min to Max, for a number or for each
	// of x, y and z. Evaluate ignores it: any value is safe. Callers that accept values
	// from others should check it.
	Bounded  bool
	Min, Max float32
}

// Allows reports whether v is finite and in the parameter's range, if any.
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

// Allows reports whether params has the program's number of parameters, each within its
// range.
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

// UnusedParams returns a *SyntaxError at the declaration of each parameter that does not
// affect the output. Such a text compiles: callers may expect the parameter. The error is
// Compile's.
func UnusedParams(source string) (unused []error, err error) {
	p, err := Compile(source)
	if err != nil {
		return nil, err
	}
	text := parse(source)
	used := make([]bool, len(p.params))
	for _, in := range p.code {
		if i := int(in.uniform) - uniformParams; in.op == opLoad && i >= 0 && i < 4*len(used) {
			used[i/4] = true
		}
	}
	for i, d := range text.declared {
		if !used[i] {
			unused = append(unused, d.line.fail(d.column, "a line that uses it, or no such parameter", "the output does not depend on the parameter %q", text.params[i].Name))
		}
	}
	return unused, nil
}

// isNumber reports whether the default's four lanes are bit-identical.
func (p Param) isNumber() bool {
	for _, f := range p.Default {
		if math.Float32bits(f) != math.Float32bits(p.Default[0]) {
			return false
		}
	}
	return true
}

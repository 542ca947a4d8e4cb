package field

// A builtin is a predefined function.
type builtin struct {
	operands    int
	lower       func(g *graph, v [4]term) term
	operandKind kind // of all operands
	resultKind  kind
	work        int // in parts of an expression
}

// A kind is the type of an expression.
type kind uint8

const (
	kindEither kind = iota // of a builtin: a number if all operands are numbers
	kindNumber
	kindVector
)

// builtinNames lists the builtins for error messages, including select.
var builtinNames = [...]string{
	"abs", "clamp", "cos", "cross", "curl_noise", "dot", "exp", "exp2", "floor", "fract", "hash", "length", "max", "min",
	"mix", "noise", "normalize", "rsqrt", "saturate", "select", "sign", "sin", "smooth", "smoothstep", "sqrt", "step",
}

// builtins holds the functions that are not operations of the assembly.
var builtins = map[string]builtin{
	"cos":        {operands: 1, lower: (*graph).cos},
	"exp":        {operands: 1, lower: (*graph).exp},
	"fract":      {operands: 1, lower: (*graph).fract},
	"sign":       {operands: 1, lower: (*graph).sign},
	"step":       {operands: 2, lower: (*graph).step},
	"clamp":      {operands: 3, lower: (*graph).clamp},
	"mix":        {operands: 3, lower: (*graph).mix},
	"smoothstep": {operands: 3, lower: (*graph).smoothstep},
	"noise":      {operands: 1, operandKind: kindVector, resultKind: kindNumber, lower: (*graph).noise, work: 50},
	"curl_noise": {operands: 1, operandKind: kindVector, resultKind: kindVector, lower: (*graph).curlNoise, work: 120},
}

func builtinOf(name string) (builtin, bool) {
	o, _ := operationOf(name)
	b := builtin{operands: o.operands, lower: func(g *graph, v [4]term) term { return g.apply(o, v) }}
	switch name {
	case "abs", "floor", "sqrt", "rsqrt", "sin", "exp2", "saturate", "smooth", "min", "max", "hash":
	case "dot", "length":
		b.operandKind, b.resultKind = kindVector, kindNumber
	case "cross", "normalize":
		b.operandKind, b.resultKind = kindVector, kindVector
	default:
		b, ok := builtins[name]
		return b, ok
	}
	return b, true
}

// operate applies an operation by name.
func (g *graph) operate(name string, v ...term) term {
	o, ok := operationOf(name)
	if !ok {
		panic("field: no operation " + name)
	}
	var operands [4]term
	copy(operands[:], v)
	return g.apply(o, operands)
}

func (g *graph) numberTerm(f float32) term { return g.literalTerm(Vec4{f, f, f, f}) }

// log2e is log2(e): exp(a) = exp2(a*log2e).
const log2e = 1.442695

func (g *graph) cos(v [4]term) term {
	return g.operate("sin", g.operate("add", v[0], g.numberTerm(0.25)))
}

func (g *graph) exp(v [4]term) term {
	return g.operate("exp2", g.operate("mul", v[0], g.numberTerm(log2e)))
}

func (g *graph) fract(v [4]term) term {
	a := v[0]
	for lane := range a.lanes {
		a.lanes[lane] = g.repeating(a.lanes[lane])
	}
	return g.operate("sub", a, g.operate("floor", a))
}

func (g *graph) sign(v [4]term) term {
	zero := g.numberTerm(0)
	above := g.operate("select_lt", zero, v[0], g.numberTerm(1), zero)
	return g.operate("select_lt", v[0], zero, g.numberTerm(-1), above)
}

func (g *graph) step(v [4]term) term {
	return g.operate("select_ge", v[1], v[0], g.numberTerm(1), g.numberTerm(0))
}

func (g *graph) clamp(v [4]term) term {
	return g.operate("min", g.operate("max", v[0], v[1]), v[2])
}

func (g *graph) mix(v [4]term) term {
	return g.operate("mad", v[2], g.operate("sub", v[1], v[0]), v[0])
}

// smoothstep multiplies by the width's inverse, which is usually uniform.
func (g *graph) smoothstep(v [4]term) term {
	inverse := g.operate("div", g.numberTerm(1), g.operate("sub", v[1], v[0]))
	return g.operate("smooth", g.operate("mul", g.operate("sub", v[2], v[0]), inverse))
}

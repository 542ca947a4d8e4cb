package field

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/shorttest"
)

// A translator writes random expressions twice: as expression text, and as the operations
// that LANGUAGE.md defines for it. It uses numbers, and vectors that are not products: the
// oracle of the operations covers the rules of products.
type translator struct {
	rng   *rand.Rand
	lines strings.Builder
	names int
}

// A translated is an expression: its text, its precedence (0: a sum, 1: a product, 2: a
// sign, 3: anything else), its operand in the operations, and the factors if it is a
// product.
type translated struct {
	text    string
	grade   int
	operand string
	factors []string
	literal bool
}

func (r *translator) emit(format string, args ...any) string {
	r.names++
	name := fmt.Sprintf("t%d", r.names)
	fmt.Fprintf(&r.lines, name+" = "+format+"\n", args...)
	return name
}

// in returns an expression for a context of that precedence, in parentheses if
// necessary and sometimes otherwise.
func (r *translator) in(e translated, grade int) string {
	if e.grade < grade || r.rng.IntN(8) == 0 {
		return "(" + e.text + ")"
	}
	return e.text
}

func (r *translator) number(depth int) translated {
	if depth == 0 {
		switch r.rng.IntN(5) {
		case 0:
			f := spell(float32(r.rng.IntN(64)) / 8)
			return translated{text: f, grade: 3, operand: f, literal: true}
		case 1:
			return translated{text: "time", grade: 3, operand: "time"}
		}
		lane := []string{"position", "p", "u"}[r.rng.IntN(3)] + "." + laneNames[r.rng.IntN(4):][:1]
		return translated{text: lane, grade: 3, operand: lane}
	}
	sub := func() translated { return r.number(r.rng.IntN(depth)) }
	switch r.rng.IntN(9) {
	case 0:
		a := sub()
		if a.literal {
			return a // -2 is a literal
		}
		return translated{text: "-" + r.in(a, 2), grade: 2, operand: r.emit("neg %s", a.operand)}
	case 1:
		a, b := sub(), sub()
		return translated{text: r.in(a, 1) + " / " + r.in(b, 2), grade: 1, operand: r.emit("div %s, %s", a.operand, b.operand)}
	case 2:
		v, w := r.vector(depth-1), r.vector(depth-1)
		return translated{text: "dot(" + v.text + ", " + w.text + ")", grade: 3, operand: r.emit("dot %s, %s", v.operand, w.operand)}
	case 3:
		a, b, c, d := sub(), sub(), sub(), sub()
		sign := []string{"<", ">", "<=", ">="}[r.rng.IntN(4)]
		x, y, op := a.operand, b.operand, "select_lt"
		if sign == ">" || sign == "<=" {
			x, y = y, x
		}
		if len(sign) == 2 {
			op = "select_ge"
		}
		return translated{text: "select(" + a.text + sign + b.text + ", " + c.text + ", " + d.text + ")", grade: 3, operand: r.emit("%s %s, %s, %s, %s", op, x, y, c.operand, d.operand)}
	case 4: // a function of the header: b - a*b
		a, b := sub(), sub()
		return translated{text: "rest(" + a.text + ", " + b.text + ")", grade: 3, operand: r.emit("nmad %s, %s, %s", a.operand, b.operand, b.operand)}
	case 5, 6:
		a, b := sub(), sub()
		return translated{text: r.in(a, 1) + "*" + r.in(b, 2), grade: 1, operand: r.emit("mul %s, %s", a.operand, b.operand), factors: []string{a.operand, b.operand}}
	}
	return r.sum(sub(), sub())
}

func (r *translator) sum(a, b translated) translated {
	sign := []string{"+", "-"}[r.rng.IntN(2)]
	t := translated{text: r.in(a, 0) + " " + sign + " " + r.in(b, 1)}
	switch {
	case a.factors != nil && sign == "+":
		t.operand = r.emit("mad %s, %s, %s", a.factors[0], a.factors[1], b.operand)
	case a.factors != nil && b.literal:
		minus := r.emit("neg %s", b.operand)
		t.operand = r.emit("mad %s, %s, %s", a.factors[0], a.factors[1], minus)
	case b.factors != nil && sign == "-":
		t.operand = r.emit("nmad %s, %s, %s", b.factors[0], b.factors[1], a.operand)
	case b.factors != nil:
		t.operand = r.emit("mad %s, %s, %s", b.factors[0], b.factors[1], a.operand)
	case sign == "-":
		t.operand = r.emit("sub %s, %s", a.operand, b.operand)
	default:
		t.operand = r.emit("add %s, %s", a.operand, b.operand)
	}
	return t
}

func (r *translator) vector(depth int) translated {
	switch {
	case depth <= 0 || r.rng.IntN(3) == 0:
		name := []string{"position", "p", "u"}[r.rng.IntN(3)]
		return translated{text: name, grade: 3, operand: name}
	case r.rng.IntN(2) == 0:
		v, w := r.vector(depth-1), r.vector(depth-1)
		return translated{text: "max(" + v.text + "," + w.text + ")", grade: 3, operand: r.emit("max %s, %s", v.operand, w.operand)}
	}
	var lanes [3]translated
	var texts []string
	for i := range lanes {
		lanes[i] = r.number(r.rng.IntN(depth))
		texts = append(texts, lanes[i].text)
	}
	name := r.emit("mov (0, 0, 0)")
	for i, lane := range lanes {
		fmt.Fprintf(&r.lines, "%s.%s = mov %s\n", name, laneNames[i:i+1], lane.operand)
	}
	return translated{text: "(" + strings.Join(texts, ", ") + ")", grade: 3, operand: name}
}

// TestTranslation compares expressions with operations, and thereby with the package
// comment, since oracles cover the operations.
func TestTranslation(t *testing.T) {
	programs := shorttest.Pick(2000, 300)
	const head = "param p = (0.5, -2, 0.75, 4)\nu = sin position\n"
	large := 0
	for seed := range programs {
		r := &translator{rng: rand.New(rand.NewPCG(uint64(seed), 21))}
		n := r.number(1 + r.rng.IntN(5))
		if n.factors != nil {
			fmt.Fprintf(&r.lines, "output.x = mad %s, %s, output.x\n", n.factors[0], n.factors[1])
		} else {
			fmt.Fprintf(&r.lines, "output.x = add output.x, %s\n", n.operand)
		}
		v := r.vector(1 + r.rng.IntN(4))
		operations := head + r.lines.String() + "output = sub output, " + v.operand + "\n"
		expressions := strings.Replace(head, "u =", "def rest(a, b) = b - a * b\nu =", 1) + "let n = " + n.text + "\noutput.x += " + n.text + "\noutput -= " + v.text + "\n"
		want, err := Compile(operations)
		got, other := Compile(expressions)
		require.Equal(t, err == nil, other == nil, "seed %d: %v and %v\n%s", seed, err, other, expressions)
		if err != nil {
			continue // exceeds the limits either way
		}
		require.Equal(t, want.String(), got.String(), "seed %d:\n%s\n%s", seed, operations, expressions)
		requireFormat(t, expressions)
		if len(got.code) > 30 {
			large++
		}
	}
	require.Greater(t, large, programs/40, "some must be large, or little is tried")
}

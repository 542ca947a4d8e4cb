package field_test

import (
	"fmt"

	"github.com/worldd/worldd/field"
)

// An explosion at its centre, near it, and out of reach.
func Example() {
	p, err := field.Compile(`
effect explosion
param strength = 50 in 0..1000 # m/s²
box (-6, -6, -6) (6, 6, 6)
let r = length(position)
output += normalize(position) * (strength * falloff_linear(r, 5))
`)
	if err != nil {
		panic(err)
	}
	points := field.Planes{X: []float32{0, 0, 0}, Y: []float32{0, 1, 5.5}, Z: []float32{0, 0, 0}}
	push := field.Planes{X: make([]float32, 3), Y: make([]float32, 3), Z: make([]float32, 3)}
	scratch := make([]float32, p.Scratch())
	if err := p.Evaluate(points, push, field.Env{}, scratch); err != nil {
		panic(err)
	}
	fmt.Printf("%.2f\n", push.Y)
	// Output: [0.00 40.00 0.00]
}

// The explosion of Frykholm's article, verbatim, in assembly form.
func ExampleCompile() {
	p, err := field.Compile(`
direction = sub position, (2,4,0,0)
lensqr = dot direction, direction
direction = normalize direction
direction = mul direction, (50,50,50,50)
direction = select_lt lensqr, (25,25,25,25), direction, (0,0,0,0)
output = add output, direction
`)
	if err != nil {
		panic(err)
	}
	points := field.Planes{X: []float32{2, 2, 2}, Y: []float32{4, 5, 9}, Z: []float32{0, 0, 0}}
	push := field.Planes{X: make([]float32, 3), Y: make([]float32, 3), Z: make([]float32, 3)}
	scratch := make([]float32, p.Scratch())
	if err := p.Evaluate(points, push, field.Env{}, scratch); err != nil {
		panic(err)
	}
	fmt.Printf("%.2f\n", push.Y)
	// Output: [0.00 50.00 0.00]
}

// One program runs with other parameters without being compiled again.
func ExampleEnv() {
	p, err := field.Compile(`
effect updraft
param strength = 9
box (-4, 0, -4) (4, 30, 4)
output.y += strength
`)
	if err != nil {
		panic(err)
	}
	box, _ := p.Box()
	fmt.Println(p.Name(), p.Params()[0].Name, box.Min, box.Max)
	height := []float32{0}
	out := field.Planes{X: []float32{0}, Y: []float32{0}, Z: []float32{0}}
	scratch := make([]float32, p.Scratch())
	for _, strength := range []float32{9, 2} {
		env := field.Env{Params: []field.Vec4{{strength, strength, strength, strength}}}
		_ = p.Evaluate(field.Planes{X: height, Y: height, Z: height}, out, env, scratch)
		fmt.Println(out.Y[0])
	}
	// Output:
	// updraft strength [-4 0 -4] [4 30 4]
	// 9
	// 11
}

// An error shows the position and the correct form.
func ExampleSyntaxError() {
	_, err := field.Compile("let away = nomralize(position)\noutput += away\n")
	wrong := err.(*field.SyntaxError)
	fmt.Println(wrong.Line, wrong.Column, wrong.Message)
	fmt.Println(wrong.Expected[:len("normalize?")])
	// Output:
	// 1 12 there is no function nomralize
	// normalize?
}

// Check untrusted parameters against the author's ranges.
func ExampleParam_Allows() {
	p, err := field.Compile("param strength = 9 in 0..50\noutput.y += strength")
	if err != nil {
		panic(err)
	}
	strength := p.Params()[0]
	for _, f := range []float32{0, 50, 51} {
		fmt.Print(strength.Allows(field.Vec4{f, f, f, f}), " ")
	}
	// Output: true true false
}

// The shipped effects are texts, to use as they are or to learn from.
func ExampleShipped() {
	for _, name := range field.ShippedNames() {
		text, _ := field.Shipped(name)
		p, err := field.Compile(text)
		fmt.Println(p.Name(), len(p.Params()), err)
	}
	// Output:
	// explosion 4 <nil>
	// gust 3 <nil>
	// storm_cell 5 <nil>
	// updraft 5 <nil>
	// whirl 5 <nil>
	// wind 4 <nil>
}

func ExampleFormat() {
	text, _ := field.Format("let d=position-( 1,2, 3 )\noutput+=normalize( d )*-2 # inwards")
	fmt.Print(text)
	// Output:
	// let d = position - (1, 2, 3)
	// output += normalize(d) * -2 # inwards
}

// Bytes from the network are verified.
func ExampleLoad() {
	p, _ := field.Compile("output = add output, (0,0,1)")
	b, _ := p.MarshalBinary()
	same, err := field.Load(b)
	fmt.Println(same.Hash() == p.Hash(), err)
	b[len(b)-16] = 99 // an invalid operation
	_, err = field.Load(b)
	fmt.Println(err)
	// Output:
	// true <nil>
	// field: bytecode rejected at instruction 1 (opcode 99): no such operation
}

package field_test

import (
	"fmt"

	"github.com/worldd/worldd/field"
)

// The explosion of the article, at its centre, near it and out of reach.
func Example() {
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
	wind := field.Planes{X: make([]float32, 3), Y: make([]float32, 3), Z: make([]float32, 3)}
	scratch := make([]float32, p.Scratch())
	if err := p.Evaluate(points, wind, field.Env{}, scratch); err != nil {
		panic(err)
	}
	fmt.Printf("%.2f\n", wind.Y)
	// Output: [0.00 50.00 0.00]
}

// One program, other parameters: nothing is compiled again.
func ExampleEnv() {
	p, err := field.Compile(`
effect updraft
param strength = 9
box (-4, 0, -4) (4, 30, 4)
output.y = add output.y, strength
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

// A mistake is shown where it is.
func ExampleSyntaxError() {
	_, err := field.Compile("direction = normalise position\noutput = add output, direction\n")
	wrong := err.(*field.SyntaxError)
	fmt.Println(wrong.Line, wrong.Column, wrong.Message)
	// Output: 1 13 there is no operation "normalise"
}

// Bytes from the network are verified before they are a program.
func ExampleLoad() {
	p, _ := field.Compile("output = add output, (0,0,1)")
	b, _ := p.MarshalBinary()
	same, err := field.Load(b)
	fmt.Println(same.Hash() == p.Hash(), err)
	b[len(b)-16] = 99 // an operation that there is not
	_, err = field.Load(b)
	fmt.Println(err)
	// Output:
	// true <nil>
	// field: bytecode refused at instruction 4 (opcode 99): no such operation
}

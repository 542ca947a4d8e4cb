package field

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

// small is a program with one of everything: r0 preloaded, r1 = x + r0, output.y += r1,
// end.
func small() *Program {
	return (&Program{
		name: "e", params: []Param{{Name: "p", Default: Vec4{1, 2, 3, 4}}}, literals: []float32{5}, preloads: 1,
		code: []instruction{
			{op: opLoad, to: 0, uniform: 5},
			{op: opAdd, to: 1, operands: [4]uint8{planePosition, 0}},
			{op: opAdd, to: planeOutput + 1, operands: [4]uint8{planeOutput + 1, 1}},
			{op: opEnd},
		},
	}).seal()
}

func TestVerify(t *testing.T) {
	require.NoError(t, small().verify())
	nan := float32(math.NaN())
	for name, c := range map[string]struct {
		pc     int
		change func(*Program)
		reason string
	}{
		"unknown operation":     {1, func(p *Program) { p.code[1].op = opcodes }, "no such operation"},
		"operation 0":           {1, func(p *Program) { p.code[1].op = opNone }, "no such operation"},
		"register unwritten":    {1, func(p *Program) { p.code[1].operands[1] = 7 }, "operand 2 is register 7, which has not been written"},
		"register of itself":    {1, func(p *Program) { p.code[1].operands[1] = 1 }, "operand 2 is register 1"},
		"output read":           {1, func(p *Program) { p.code[1].operands[1] = planeOutput }, "can't be read"},
		"operand out of range":  {1, func(p *Program) { p.code[1].operands[1] = planeCount }, "can't be read"},
		"operand far out":       {1, func(p *Program) { p.code[1].operands[0] = 255 }, "can't be read"},
		"operand too many":      {1, func(p *Program) { p.code[1].operands[2] = 1 }, "operand 3 is set, but it takes 2"},
		"register out of range": {1, func(p *Program) { p.code[1].to = 255 }, "it can't write plane 255"},
		"position written":      {1, func(p *Program) { p.code[1].to = planePosition }, "it can't write plane 32"},
		"preloaded written":     {1, func(p *Program) { p.code[1].to = 0 }, "register 0 was preloaded"},
		"uniform of an add":     {1, func(p *Program) { p.code[1].uniform = 1 }, "it names a uniform"},
		"uniform out of range":  {0, func(p *Program) { p.code[0].uniform = 6 }, "uniform 6 of 6"},
		"uniform far out":       {0, func(p *Program) { p.code[0].uniform = 65535 }, "uniform 65535 of 6"},
		"uniform of a number": {0, func(p *Program) {
			p.params[0].Scalar, p.params[0].Default, p.code[0].uniform = true, Vec4{1, 1, 1, 1}, 4
		}, "uniform 4 is y, z or w of a number"},
		"output loaded":          {0, func(p *Program) { p.code[0].to = planeOutput }, "it can't write plane 35"},
		"output from another":    {2, func(p *Program) { p.code[2].operands[0] = planeOutput }, "without adding to it"},
		"output overwritten":     {2, func(p *Program) { p.code[2].operands[0] = 1 }, "without adding to it"},
		"output added to itself": {2, func(p *Program) { p.code[2].operands[1] = planeOutput + 1 }, "can't be read"},
		"output multiplied":      {2, func(p *Program) { p.code[2].op = opMul; p.code[2].operands = [4]uint8{1, 1} }, "it can't write plane 36"},
		"output of a product":    {2, func(p *Program) { p.code[2].op = opMad; p.code[2].operands = [4]uint8{planeOutput + 1, 1, 1} }, "can't be read"},
		"no end":                 {3, func(p *Program) { p.code[3].op = opAdd }, "end must be the last"},
		"early end":              {1, func(p *Program) { p.code[1] = instruction{op: opEnd} }, "end must be the last"},
		"end with destination":   {3, func(p *Program) { p.code[3].to = 1 }, "it names a destination"},
		"preload computes":       {1, func(p *Program) { p.preloads = 2 }, "only loads can be preloads"},
		"no output":              {-1, func(p *Program) { p.code[2].to, p.code[2].operands[0] = 2, 1 }, "it never adds"},
		"no instructions":        {-1, func(p *Program) { p.code, p.preloads = nil, 0 }, "no instructions"},
		"preloads beyond":        {-1, func(p *Program) { p.preloads = 5 }, "5 of 4 instructions"},
		"NaN literal":            {-1, func(p *Program) { p.literals[0] = nan }, "a literal is not finite"},
		"NaN default":            {-1, func(p *Program) { p.params[0].Default[3] = nan }, "default of parameter"},
		"NaN box":                {-1, func(p *Program) { p.boxed, p.box.Min[1] = true, nan }, "the box is not finite"},
		"box inside out":         {-1, func(p *Program) { p.boxed, p.box.Min[1] = true, 1 }, "inside out"},
		"name is none":           {-1, func(p *Program) { p.name = "a b" }, "the effect's name"},
		"parameter is none":      {-1, func(p *Program) { p.params[0].Name = "" }, "the name of parameter 0"},
		"parameter is output":    {-1, func(p *Program) { p.params[0].Name = "output" }, "the name of parameter 0"},
		"parameters alike":       {-1, func(p *Program) { p.params = append(p.params, p.params[0]) }, "two parameters are called"},
	} {
		t.Run(name, func(t *testing.T) {
			p := small()
			c.change(p)
			_, err := Load(p.encode())
			var wrong *VerifyError
			require.ErrorAs(t, err, &wrong)
			require.Equal(t, c.pc, wrong.PC, "%v", err)
			require.ErrorContains(t, err, c.reason)
			if c.pc >= 0 {
				require.Equal(t, p.code[c.pc].op, wrong.Opcode)
			}
		})
	}
}

// TestLoadCut: programs truncated anywhere, or with an extra byte, are rejected.
func TestLoadCut(t *testing.T) {
	b := small().encode()
	must.Get(Load(b))
	for n := range b {
		require.Error(t, must.Fail(Load(b[:n])), "%d bytes", n)
	}
	require.ErrorContains(t, must.Fail(Load(append(b, 0))), "1 bytes of trailing data")
	require.ErrorContains(t, must.Fail(Load(make([]byte, MaxBinaryBytes+1))), "are allowed")
}

func TestLoadHeader(t *testing.T) {
	for name, c := range map[string]struct {
		at     int
		value  byte
		reason string
	}{
		"magic":        {0, 'x', "does not begin with wfld"},
		"version 0":    {4, 0, "version 0; want 1 to 2"},
		"version":      {4, 3, "version 3; want 1 to 2"},
		"flags":        {5, 2, "unknown flags 0x2"},
		"parameters":   {7, MaxParams + 1, "at most"},
		"literals":     {9, MaxLiterals>>8 + 1, "at most"},
		"instructions": {13, MaxInstructions>>8 + 1, "at most"},
	} {
		t.Run(name, func(t *testing.T) {
			b := small().encode()
			b[c.at] = c.value
			require.ErrorContains(t, must.Fail(Load(b)), c.reason)
		})
	}
}

// TestPortableForm pins the bytes: other machines and recordings have them.
func TestPortableForm(t *testing.T) {
	want := []byte("wfld\x01\x00\x01\x01" + "\x01\x00\x01\x00\x04\x00" + "e" +
		"\x01p\x00\x00\x80\x3f\x00\x00\x00\x40\x00\x00\x40\x40\x00\x00\x80\x40" +
		"\x00\x00\xa0\x40" +
		"\x02\x00\x00\x00\x00\x00\x05\x00" + "\x03\x01\x20\x00\x00\x00\x00\x00" + "\x03\x24\x24\x01\x00\x00\x00\x00" + "\x01\x00\x00\x00\x00\x00\x00\x00")
	b := must.Get(small().MarshalBinary())
	require.Equal(t, want, b)
	require.Equal(t, "effect e\nparam p = (1, 2, 3, 4)\nr1 = add position.x, 5\noutput.y = add output.y, r1\n", small().String())
}

// small2 is a program with all additions of version 2 of the portable form.
func small2() *Program {
	p := small()
	p.params = []Param{
		{Name: "p", Default: Vec4{1, 2, 3, 4}},
		{Name: "q", Default: Vec4{2, 2, 2, 2}, Scalar: true, Bounded: true, Min: -1, Max: 2},
	}
	p.code = []instruction{
		{op: opLoad, to: 0, uniform: 5},
		{op: opExp2, to: 1, operands: [4]uint8{0}},
		{op: opHash, to: 2, operands: [4]uint8{0, 1, planePosition}},
		{op: opAdd, to: planeOutput, operands: [4]uint8{planeOutput, 2}},
		{op: opEnd},
	}
	return p.seal()
}

// TestPortableForm2 pins the bytes of version 2, and that each program has exactly one
// version.
func TestPortableForm2(t *testing.T) {
	p := small2()
	require.NoError(t, p.verify())
	const head, code = "\x01\x00\x01\x00\x05\x00" + "e", "\x14\x01\x00\x00\x00\x00\x00\x00" + "\x15\x02\x00\x01\x20\x00\x00\x00"
	const first = "\x00\x00\x80\x3f\x00\x00\x00\x40\x00\x00\x40\x40\x00\x00\x80\x40"
	want := "wfld\x02\x00\x01\x02" + head +
		"\x01p\x00" + first +
		"\x01q\x03" + strings.Repeat("\x00\x00\x00\x40", 4) + "\x00\x00\x80\xbf\x00\x00\x00\x40" +
		"\x00\x00\xa0\x40" +
		"\x02\x00\x00\x00\x00\x00\x05\x00" + code + "\x03\x23\x23\x02\x00\x00\x00\x00" + "\x01\x00\x00\x00\x00\x00\x00\x00"
	b := p.encode()
	require.Equal(t, want, string(b))
	again := must.Get(Load(b))
	require.Equal(t, p.Hash(), again.Hash())
	require.Equal(t, p.Params(), again.Params())
	require.Equal(t, "effect e\nparam p = (1, 2, 3, 4)\nparam q = 2 in -1..2\n"+
		"r1 = exp2 q.x\nr2 = hash q.x, r1, position.x\noutput.x = add output.x, r2\n", p.String())

	old := strings.Replace(strings.Replace(string(b), "d\x02", "d\x01", 1), "p\x00", "p", 1)
	old = strings.Replace(old, "q\x03"+strings.Repeat("\x00\x00\x00\x40", 4)+"\x00\x00\x80\xbf\x00\x00\x00\x40", "q"+strings.Repeat("\x00\x00\x00\x40", 4), 1)
	require.ErrorContains(t, must.Fail(Load([]byte(old))), "the header says version 1, but the program needs version 2", "operations of version 2")
	newer := strings.Replace(strings.Replace(string(small().encode()), "d\x01", "d\x02", 1), "p", "p\x00", 1)
	require.ErrorContains(t, must.Fail(Load([]byte(newer))), "the header says version 2, but the program needs version 1", "nothing of version 2")
	b[len("wfld")+10+len("e")+2] = 4
	require.ErrorContains(t, must.Fail(Load(b)), "unknown kind 0x4 of a parameter")
}

// TestVerifyParams: parameters that no text could declare are rejected.
func TestVerifyParams(t *testing.T) {
	for name, c := range map[string]struct {
		change func(q *Param)
		reason string
	}{
		"lanes differ":    {func(q *Param) { q.Default[2] = 1 }, "a number, but the lanes of its default differ"},
		"range of NaN":    {func(q *Param) { q.Max = float32(math.NaN()) }, "the range of parameter"},
		"range is empty":  {func(q *Param) { q.Min = 3 }, "the range of parameter"},
		"default outside": {func(q *Param) { q.Max = 1 }, "the default of parameter \"q\" is outside of its range"},
	} {
		t.Run(name, func(t *testing.T) {
			p := small2()
			c.change(&p.params[1])
			_, err := Load(p.encode())
			var wrong *VerifyError
			require.ErrorAs(t, err, &wrong)
			require.ErrorContains(t, err, c.reason)
		})
	}
}

func TestOpcodeNames(t *testing.T) {
	seen := map[string]bool{}
	for o := opNone; o < opcodes; o++ {
		require.NotEmpty(t, o.String())
		require.False(t, seen[o.String()])
		seen[o.String()] = true
	}
	require.Equal(t, "opcode 200", Opcode(200).String())
}

// TestRegisterNames: a parameter may have the name of one of String's registers.
func TestRegisterNames(t *testing.T) {
	p := must.Get(Compile("param r1 = 2\nparam _r = 3\nparam _r7 = 3\na = sin position\noutput = mad a, r1, output"))
	require.Contains(t, p.String(), "__r")
	requireRoundTrip(t, p)
}

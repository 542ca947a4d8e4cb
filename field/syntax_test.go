package field_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/field"
)

func TestMistakes(t *testing.T) {
	const end = "\noutput = add output, 1"
	for _, c := range []struct {
		name         string
		text         string
		line, column int
		message      string
		expected     string
	}{
		{"unknown operation", "a = mull position, 2" + end, 1, 5, `there is no operation "mull"`, "one of mov, add"},
		{"unknown operation on output", "output = ad output, 2", 1, 10, `there is no operation "ad"`, "one of mov, add"},
		{"unknown name", "a = mul positon, 2" + end, 1, 9, "positon is not defined", "position, time"},
		{"name used before its line", "a = mov b\nb = mov a" + end, 1, 9, "b is not defined", ""},
		{"too few operands", "a = mul position # twice?" + end, 1, 17, "mul has too few operands", `"," and another operand, 2 in all`},
		{"too few operands at the end", "output = mad 1,  2  ", 1, 19, "mad has too few operands", "3 in all"},
		{"no operand", "a = mov" + end, 1, 8, "the line ends here", "a name, a number or a vector"},
		{"strange second word", "a ? 1" + end, 1, 3, `unexpected character '?'`, ""},
		{"a comment as elsewhere", "// a gale" + end, 1, 1, `"//" does not begin a comment`, `"#"`},
		{"a comment as elsewhere, behind something", "a = mov 1 // one" + end, 1, 11, `"//" does not begin a comment`, `"#"`},
		{"a comment as elsewhere, behind an expression", "let a = 1 // one" + end, 1, 11, `"//" does not begin a comment`, `"#"`},
		{"strange operation", "a = ?" + end, 1, 5, `unexpected character '?'`, ""},
		{"strange comma", "a = add 1; 2" + end, 1, 10, `unexpected character ';'`, ""},
		{"strange end of vector", "a = mov (1, 2; 3)" + end, 1, 14, `unexpected character ';'`, ""},
		{"strange number in vector", "a = mov (1, ?, 3)" + end, 1, 13, `unexpected character '?'`, ""},
		{"strange end of header", "everywhere ;" + end, 1, 12, `unexpected character ';'`, ""},
		{"strange default", "param p = ;" + end, 1, 11, `unexpected character ';'`, ""},
		{"strange equals", "param p ; 1" + end, 1, 9, `unexpected character ';'`, ""},
		{"parameter is a number", "param 5 = 1" + end, 1, 7, `"5" does not belong here`, "the parameter's name"},
		{"default and no equals", "param p 1" + end, 1, 9, `"1" does not belong here`, `"=" and the default`},
		{"output of nothing", "output = add output, b", 1, 22, "b is not defined", ""},
		{"many names", numbered("a%d = mov 1\n", 20) + "b = mov c" + end, 21, 9, "c is not defined", "a18, a19, ..."},
		{"too many operands", "a = abs position, 3" + end, 1, 19, "abs has too many operands", "1 in all"},
		{"assigning to position", "position = mov 1" + end, 1, 1, "position is built in and can't be assigned to", "another name"},
		{"assigning to a lane of position", "position.x = mov 1" + end, 1, 1, "position is built in", "another name"},
		{"assigning to time", "time = mov 1" + end, 1, 1, "time is built in", "another name"},
		{"assigning to a parameter", "param p = 1\np = mov 1" + end, 2, 1, "p is a parameter", "another name"},
		{"lane of nothing", "a.x = mov 1" + end, 1, 1, "a is not defined", ""},
		{"no such lane", "a = mov position.r" + end, 1, 17, `"position" has no lane "r"`, "x, y, z or w"},
		{"two lanes", "a = mov position.xy" + end, 1, 17, `"position" has no lane "xy"`, "x, y, z or w"},
		{"never adds", "a = mov 1\n\nb = mov 2", 3, 1, "the effect never adds to output", "output = add output, wind"},
		{"nothing at all", "", 1, 1, "the effect never adds to output", ""},
		{"output overwritten", "output = mov 1", 1, 10, "output can only be added to", `"output = add output, a"`},
		{"output multiplied", "output = mul output, 2", 1, 10, "output can only be added to", ""},
		{"output subtracted from", "output = sub 1, output", 1, 10, "output can only be added to", ""},
		{"output read", "a = mov output" + end, 1, 9, "output can't be read", ""},
		{"output added to itself", "output = add output, output", 1, 22, "output can't be read", ""},
		{"lanes of output mixed", "output.x = add output.y, 1", 1, 12, "output.x can only be added to", `"output.x = add output.x, a"`},
		{"output's w", "output.w = add output.w, 1", 1, 1, "output has no w", "x, y or z"},
		{"too large", "a = mov 3.5e38" + end, 1, 9, "3.5e38 is too large for a float32", "at most 3.4"},
		{"too small", "a = mov -1e-50" + end, 1, 9, "-1e-50 is too small for a float32", "0, or"},
		{"hexadecimal", "a = mov 0x10" + end, 1, 9, `"0x10" is not a number`, "a number like"},
		{"two points", "a = mov 1.2.3" + end, 1, 9, `"1.2.3" is not a number`, ""},
		{"sign alone", "a = mov -" + end, 1, 9, `"-" is not a number`, ""},
		{"no exponent", "a = mov 1e" + end, 1, 9, `"1e" is not a number`, ""},
		{"infinity", "a = mov inf" + end, 1, 9, "inf is not defined", ""},
		{"two numbers in a vector", "a = mov (1, 2)" + end, 1, 14, `")" does not belong here`, `"," and the next number`},
		{"five numbers in a vector", "a = mov (1,2,3,4,5)" + end, 1, 17, `"," does not belong here`, `")"`},
		{"name in a vector", "a = mov (1, position, 2)" + end, 1, 13, `"position" does not belong here`, "a number"},
		{"open vector", "a = mov (1, 2, 3" + end, 1, 17, "the line ends here", `")"`},
		{"no operation", "a = " + end, 1, 5, "the line ends here", "an operation"},
		{"number for an operation", "a = 5" + end, 1, 5, `"5" does not belong here`, "an operation"},
		{"two commas", "a = add 1,, 2" + end, 1, 11, `"," does not belong here`, "a name, a number or a vector"},
		{"no comma", "a = add 1 2" + end, 1, 11, `"2" does not belong here`, `","`},
		{"no assignment", "direction" + end, 1, 1, `a line can't begin with "direction"`, "name = op a, b"},
		{"a number begins the line", "5 = mov 1" + end, 1, 1, `"5" does not belong here`, ""},
		{"strange character", "a = mov 1;" + end, 1, 10, `unexpected character ';'`, ""},
		{"strange rune", "a = mov µ" + end, 1, 9, `unexpected character 'µ'`, ""},
		{"after a tab", "\ta = mov b" + end, 1, 10, "b is not defined", ""},
		{"windows", "a = mov 1\r\nb = mov c\r\n", 2, 9, "c is not defined", ""},
		{"long name", "a = mov " + strings.Repeat("b", 65) + end, 1, 9, "a name of 65 bytes", ""},
		{"long line", "a = mov 1 # " + strings.Repeat("b", 520) + end, 1, 513, "the line has 532 bytes", "at most 512"},

		{"let without a name", "let = position" + end, 1, 7, `there is no operation "position"`, `"let let = ..."`},
		{"let of a number", "let 5 = 1" + end, 1, 1, `a line can't begin with "let"`, "let name = ..."},
		{"let of a lane", "let a.x = 1" + end, 1, 5, `"a.x" does not belong here`, "the name of a value"},
		{"let without equals", "let a 5" + end, 1, 7, `"5" does not belong here`, `"="`},
		{"let of nothing", "let a =" + end, 1, 8, "the line ends here", "a number, a name"},
		{"let again", "let a = 1\nlet a = 2" + end, 2, 5, "the value a already exists", "another name"},
		{"let a parameter", "param p = 1\nlet p = 2" + end, 2, 5, "p is a parameter", "another name"},
		{"let the position", "let position = 2" + end, 1, 5, "position is built in", "another name"},
		{"let the output", "let output = 2" + end, 1, 5, "output is built in", "another name"},
		{"forgotten let", "a = position - 1" + end, 1, 5, "an expression needs a let", `"let a = ..."`},
		{"forgotten let of a call", "a = length(position)" + end, 1, 5, "an expression needs a let", `"let a = ..."`},
		{"forgotten let of a vector", "a = (1, 2, 3)" + end, 1, 5, `"(" does not belong here`, `or "let a = ..." for an expression`},
		{"forgotten let of a name", "a = position" + end, 1, 5, `there is no operation "position"`, `or "let a = ..." for an expression`},
		{"operand missing", "let a = 1 +" + end, 1, 12, "the line ends here", "a number, a name"},
		{"two signs", "let a = 1 * / 2" + end, 1, 13, `"/" does not belong here`, "a number, a name"},
		{"open parenthesis", "let a = (1 + 2" + end, 1, 15, "the line ends here", `+ - * /, "," or ")"`},
		{"closed too often", "let a = (1 + 2))" + end, 1, 16, `")" does not belong here`, "+ - * /, or the end of the line"},
		{"two values in parentheses", "let a = (1, 2)" + end, 1, 9, "2 values in parentheses", "(x, y, z)"},
		{"five values in parentheses", "let a = (1, 2, 3, 4, 5)" + end, 1, 9, "5 values in parentheses", "(x, y, z)"},
		{"lane is no word", "let a = (position).5" + end, 1, 19, `".5" does not belong here`, ""},
		{"no such lane of a parenthesis", "let a = (position).r" + end, 1, 20, `"r" does not belong here`, "x, y, z or w after the dot"},
		{"a lane is called", "let a = position.x(1)" + end, 1, 9, "position.x is not a function", ""},
		{"strange sign", "let a = 1 % 2" + end, 1, 11, "unexpected character '%'", ""},
		{"equality", "let a = select(1 == 2, 3, 4)" + end, 1, 18, `"=" does not belong here`, ""},
		{"unknown name in an expression", "let a = 1 + positon" + end, 1, 13, "positon is not defined", "position? or a name"},
		{"unknown function", "let a = nomralize(position)" + end, 1, 9, "there is no function nomralize", "normalize? or one of"},
		{"misspelled function of the library", "let a = whril(position, 1, 2, 3)" + end, 1, 9, "there is no function whril", "whirl? or one of"},
		{"misspelled operation", "a = normalise position" + end, 1, 5, `there is no operation "normalise"`, "normalize? or one of mov, add"},
		{"too few arguments", "let a = dot(position)" + end, 1, 9, "dot has 1 arguments", "2"},
		{"too many arguments", "let a = falloff(1, 2, 3)" + end, 1, 9, "falloff has 3 arguments", "2"},
		{"dot of a number", "let a = dot(position, 5)" + end, 1, 23, "dot takes vectors, but this is a number", "a vector like (x, y, z)"},
		{"vector in a vector", "let a = (1, position, 3)" + end, 1, 13, "y of a vector must be a number, but this is a vector", "a number, like a.x"},
		{"number to output", "output += 5", 1, 1, "output is a vector, and what is added to it is a number", "(x, y, z), or a lane"},
		{"vector to a lane of output", "output.y += position", 1, 1, "output.y is a number, and what is added to it is a vector", "a number, like a.x"},
		{"output's w in a sum", "output.w += 1", 1, 1, "output has no w", "x, y or z"},
		{"output read in an expression", "output += output * 2", 1, 11, "output can't be read", ""},
		{"adding to another name", "let a = 1\na += 2" + end, 2, 1, "only output can be added to", `"output += ..."`},
		{"comparison as a value", "let a = position < 5" + end, 1, 18, "a comparison is not a value", "select(a < b, this, that)"},
		{"select without comparison", "let a = select(1, 2, 3)" + end, 1, 16, "select must begin with a comparison", "select(a < b, this, that)"},
		{"select of two", "let a = select(1 < 2, 3)" + end, 1, 9, "select has 2 arguments", "select(a < b, this, that)"},
		{"function of the library given a number", "output += explosion(5, 6)", 1, 11, "in explosion: in outward: normalize takes vectors", ""},
		{"a mistake in a function's body", "def f(a) = a +\n" + end, 1, 15, "the line ends here", ""},
		{"a strange name in a body", "def f(first) = frist * 2" + end, 1, 16, "frist is not an argument of f; functions see only their arguments", "first? or an argument: first"},
		{"a function of the effect in a body", "param p = 1\ndef f(a) = a * p" + end, 2, 16, "p is not an argument of f", "an argument: a"},
		{"recursion", "def f(a) = f(a)" + end, 1, 12, "there is no function f", ""},
		{"function defined after its call", "def f(a) = g(a)\ndef g(a) = a" + end, 1, 12, "there is no function g", ""},
		{"function defined twice", "def f(a) = a\ndef f(b) = b" + end, 2, 5, "the function f is already defined in line 1", "another name"},
		{"function named like a builtin", "def dot(a) = a" + end, 1, 5, "the function dot is built in", "another name"},
		{"function without arguments", "def f() = 1" + end, 1, 7, `")" does not belong here`, "an argument's name"},
		{"function without parentheses", "def f = 1" + end, 1, 7, `"=" does not belong here`, `"("`},
		{"arguments alike", "def f(a, a) = a" + end, 1, 10, "the argument a already exists", "another name"},
		{"kinds in a function of the text", "def f(a) = dot(a, a)\noutput += f(5) * position", 1, 16, "dot takes vectors, but this is a number (called in line 2)", ""},
		{"comparison in a body", "def f(a) = a < 1" + end, 1, 14, "a comparison is not a value", ""},
		{"range with one end", "param p = 1 in 0" + end, 1, 17, "the range has one end", `".."`},
		{"range of words", "param p = 1 in a..b" + end, 1, 17, `"a" has no lane ""`, ""},
		{"range upside down", "param p = 1 in 5..0" + end, 1, 13, "the range 5 to 0 is empty", "the lowest value"},
		{"default outside of its range", "param p = 7 in 0..5" + end, 1, 11, "the default is outside of its own range", "0 to 5"},
		{"default's lane outside of its range", "param p = (1, 7, 1) in 0..5" + end, 1, 11, "the default is outside of its own range", "0 to 5"},
		{"text behind a range", "param p = 1 in 0..5 6" + end, 1, 21, `"6" does not belong here`, "the end of the line"},
		{"something else behind a default", "param p = 1 inside 0..5" + end, 1, 13, `"inside" does not belong here`, "the end of the line"},

		{"header after the body", "a = mov 1\nparam p = 1" + end, 2, 1, `"param" belongs to the header`, "before the first assignment"},
		{"two names", "effect a\neffect b" + end, 2, 1, `the effect is already called "a"`, ""},
		{"no name", "effect" + end, 1, 7, "the line ends here", "the effect's name"},
		{"text after the name", "effect a b" + end, 1, 10, `"b" does not belong here`, "the end of the line"},
		{"two parameters alike", "param p = 1\nparam p = 2" + end, 2, 7, `the parameter "p" already exists`, "another name"},
		{"parameter output", "param output = 1" + end, 1, 7, `"output" is built in`, "another name"},
		{"parameter without default", "param p" + end, 1, 8, "the line ends here", `"=" and the default`},
		{"default is a name", "param p = time" + end, 1, 11, `"time" does not belong here`, "a number or a vector"},
		{"two boxes", "box (0,0,0) (1,1,1)\neverywhere" + end, 2, 1, "the effect already has a region", ""},
		{"half a box", "box (0,0,0)" + end, 1, 12, "the line ends here", "a corner"},
		{"corner of four", "box (0,0,0,0) (1,1,1)" + end, 1, 11, `"," does not belong here`, `")"`},
		{"inside out", "box (0,5,0) (1,-1,1)" + end, 1, 1, "the box is inside out: y from 5 to -1", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := field.Compile(c.text)
			var wrong *field.SyntaxError
			require.ErrorAs(t, err, &wrong)
			require.Equal(t, [2]int{c.line, c.column}, [2]int{wrong.Line, wrong.Column}, "%v", err)
			require.Contains(t, wrong.Message, c.message)
			require.Contains(t, wrong.Expected, c.expected)
			require.True(t, strings.HasPrefix(strings.Split(c.text, "\n")[c.line-1], strings.TrimSuffix(wrong.Source, "\r")))
		})
	}
}

func TestMistakeIsShown(t *testing.T) {
	_, err := field.Compile("a = mov 1\n\tdirection\t= sub posision, \x1b[31m\n")
	require.EqualError(t, err, "effect:2:28: unexpected character '\\x1b'; "+
		"expected a name, a number or a vector like (1, 2, 3, 0)\n"+
		"\t\tdirection\t= sub posision, ?[31m\n"+
		"\t\t         \t                ^")
}

func TestLimits(t *testing.T) {
	const end = "\noutput = add output, 1\n"
	for name, c := range map[string]struct{ text, message string }{
		"source":     {strings.Repeat("#\n", field.MaxSourceBytes/2) + end, "the effect has 262168 bytes"},
		"statements": {strings.Repeat("a = mov 1\n", field.MaxStatements) + end, "more than 2048 assignments"},
		"parameters": {numbered("param p%d = 1\n", field.MaxParams+1) + end, "more than 64 parameters"},
		"literals":   {"a = mov 0\n" + numbered("a = add a, position\na = add a, (%[1]d.25,%[1]d.5,%[1]d.75)\n", 400) + "output = add output, a", "more than 1024 distinct numbers"},
		"instructions": {
			"a = mov position\n" + numbered("a = mul a, position # %d\na = add a, position\n", 171) + "output = add output, a",
			"more than 1024 instructions",
		},
		"registers": {
			numbered("v%[1]d = mul position, %[1]d.5\n", 12) + "a = mov 0\n" + numbered("a = add a, v%d\n", 12) + "output = add output, a",
			"more than 32 values alive at this point",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := field.Compile(c.text)
			var wrong *field.SyntaxError
			require.ErrorAs(t, err, &wrong)
			require.Contains(t, wrong.Message, c.message)
			require.NotZero(t, wrong.Line)
		})
	}
}

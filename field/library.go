package field

import (
	"embed"
	"slices"
	"strings"

	"github.com/worldd/worldd/internal/spelling"
)

// libraryText is the standard library: functions in the language itself, one per line. A
// function follows the functions that it calls.
//
//go:embed library.field
var libraryText string

const definition = "def "

// libraryFunction parses a library function by name, or returns nil. Uncalled functions
// are not parsed.
func libraryFunction(name string) *function {
	head := definition + name + "("
	for source := range strings.SplitSeq(libraryText, "\n") {
		if !strings.HasPrefix(source, head) {
			continue
		}
		l := line{source: source, at: len(definition)}
		f := l.function() // never fails: tests parse the whole library
		f.library = true
		return f
	}
	return nil
}

func libraryNames() (names []string) {
	for source := range strings.SplitSeq(libraryText, "\n") {
		if rest, ok := strings.CutPrefix(source, definition); ok {
			name, _, _ := strings.Cut(rest, "(")
			names = append(names, name)
		}
	}
	return names
}

// function resolves a name at a call. Within a function (nil for none), only earlier
// functions are visible, which rules out recursion. A text may redefine library
// functions; the library keeps its own.
func (c *compiler) function(name string, within *function) *function {
	if within == nil || !within.library {
		for _, f := range c.functions {
			if f == within {
				break
			}
			if f.name.text == name {
				return f
			}
		}
	}
	f, ok := c.library[name]
	if !ok {
		f = libraryFunction(name)
		c.library[name] = f
	}
	return f
}

// suggestFunction describes the expected function in place of an unknown one.
func (c *compiler) suggestFunction(name string) string {
	own := make([]string, 0, len(c.functions))
	for _, f := range c.functions {
		own = append(own, f.name.text)
	}
	known := slices.Concat(builtinNames[:], own, libraryNames())
	return suggestion(name, known) + "one of " + strings.Join(known, ", ")
}

// suggestion names the nearest known word, if one is near.
func suggestion(word string, known []string) string {
	if best := spelling.Nearest(word, known); best != "" {
		return best + "? or "
	}
	return ""
}

// define adds a function. It checks that all names in the body are arguments, and that the
// called functions exist and take this number of arguments.
func (c *compiler) define(f *function) {
	c.functions = append(c.functions, f)
	within := &scope{compiler: c, line: &f.line, function: f}
	within.check(f.body)
}

func (f *scope) check(n *node) {
	args := n.args
	switch n.kind {
	case nodeName:
		if !slices.Contains(f.function.args, n.token.text) && n.token.text != "pi" {
			known := suggestion(n.token.text, f.function.args) + "an argument: " + strings.Join(f.function.args, ", ")
			panic(f.fail(n, known, "%s is not an argument of %s; functions see only their arguments", n.token.text, f.function.name.text))
		}
	case nodeCompare:
		panic(f.comparisonIsNoValue(n))
	case nodeCall:
		if n.token.text == "select" {
			parts := f.selectParts(n)
			args = parts[:]
		} else {
			f.resolveCallee(n)
		}
	}
	for _, a := range args {
		f.check(a)
	}
}

// Effects that come with the package, one per file: use them as they are, with other
// parameters, or as a start.
//
//go:embed effects/*.field
var shipped embed.FS

const shippedSuffix = ".field"

// Shipped returns the text of an effect that comes with the package, or false.
func Shipped(name string) (text string, ok bool) {
	b, err := shipped.ReadFile("effects/" + name + shippedSuffix)
	return string(b), err == nil
}

// ShippedNames lists the shipped effects, sorted.
func ShippedNames() (names []string) {
	entries, _ := shipped.ReadDir("effects") // embedded: cannot fail
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), shippedSuffix))
	}
	return names
}

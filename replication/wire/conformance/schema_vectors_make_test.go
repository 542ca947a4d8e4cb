package conformance

import (
	"fmt"
	"strings"
)

// schemaMaker makes the lines of schemas.jsonl.
type schemaMaker struct{ lines []schemaLine }

const (
	schemaHead = "worldd schema 2\n"
	rawEnd     = "input raw\n"
	aRange     = "range c090000000000000 3f70000000000000 524288 linear\n"
	aPosition  = "p[0] " + aRange + "p[1] " + aRange + "p[2] " + aRange
	aBody      = "body 3f800000 3e000000 3f000000 00000000 3f000000 00000001\n"
	aMotion    = "motion 60 411cf5c3 43000000 42c80000 41a00000 42480000 3da3d70a 30 clamp\n"
)

func makeSchemaLines() []schemaLine {
	m := &schemaMaker{}
	m.whole()
	m.names()
	m.paths()
	m.kinds()
	m.attributes()
	m.parents()
	m.texts()
	m.world()
	m.messages()
	m.limits()
	return m.lines
}

func (m *schemaMaker) good(about, text string) {
	m.lines = append(m.lines, schemaLine{About: about, Text: text, Valid: true})
}

func (m *schemaMaker) bad(about, text string) {
	m.lines = append(m.lines, schemaLine{About: about, Text: text})
}

// fields returns a schema of one component.
func fields(lines ...string) string {
	return schemaHead + "component c\n" + strings.Join(lines, "\n") + "\n" + rawEnd
}

// world returns a schema without components.
func world(lines ...string) string { return schemaHead + strings.Join(lines, "") }

// numbered returns a line for each number below n.
func numbered(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// whole adds texts about lines, words and sections.
func (m *schemaMaker) whole() {
	m.good("nothing but the input", world(rawEnd))
	m.good("all sections", world("component c\n", aPosition, "on ref\nparent p[0] on\nname string 24\nkey bytes 8 owner\n",
		"kind a\n", aBody, "kind b\n", aMotion, "input\nx int 7\ncommand go raw\ncommand ask\ns string 9\nanswer\nn uint 3\nevent e\nevent f unreliable\nb bool\n"))
	m.bad("empty", "")
	m.bad("the header alone", schemaHead)
	m.bad("another version", "worldd schema 1\n"+rawEnd)
	m.bad("the last line has no end", schemaHead+"input raw")
	m.bad("a carriage return", "worldd schema 2\r\n"+rawEnd)
	m.bad("two spaces", fields("x  bool"))
	m.bad("a space at the end", fields("x bool "))
	m.bad("an empty line", world("\n", rawEnd))
	m.bad("an empty line at the end", world(rawEnd, "\n"))
	m.bad("no input", world("component c\n"))
	m.bad("two inputs", world(rawEnd, rawEnd))
	m.bad("two motions", world(aMotion, aMotion, rawEnd))
	m.bad("a kind before a component", world("kind a\ncomponent c\n", rawEnd))
	m.bad("an event before a command", world(rawEnd, "event e\ncommand c\n"))
	m.bad("a command before the input", world("command c\n", rawEnd))
	m.bad("motion before a kind", world(aMotion, "kind a\n", rawEnd))
	m.bad("an unknown line", world("units metric\n", rawEnd))
	m.lines = append(m.lines, schemaLine{About: "a name that is not UTF-8", Bytes: []byte(world("kind \xff\n", rawEnd))})
	m.good("names in other scripts", world("kind straße\nkind 村\n", rawEnd))
}

func (m *schemaMaker) names() {
	long := strings.Repeat("n", 64)
	m.good("a name of 64 bytes", world("kind "+long+"\n", rawEnd))
	m.bad("a name of 65 bytes", world("kind "+long+"n\n", rawEnd))
	m.bad("a name of 66 bytes in 33 characters", world("kind "+strings.Repeat("é", 33)+"\n", rawEnd))
	m.bad("an empty name", world("kind \n", rawEnd))
	m.bad("no name", world("kind\n", rawEnd))
	m.bad("a kind with two names", world("kind a b\n", rawEnd))
	m.bad("a component with two names", world("component a b\n", rawEnd))
	m.bad("a tab in a name", world("kind a\tb\n", rawEnd))
	m.bad("U+007F in a name", world("kind a\x7f\n", rawEnd))
	m.bad("U+00A0 in a name", world("kind a\u00a0b\n", rawEnd))
	m.good("U+00A1 in a name", world("kind ¡a\n", rawEnd))
	m.good("the same name in four sections", world("component x\nkind x\n", rawEnd, "command x\nevent x\n"))
	m.good("a name that begins other lines", world("component kind\nkind event\n", rawEnd))
	for _, section := range []string{"component", "kind", "command", "event"} {
		twice := section + " x\n" + section + " x\n"
		if section == "component" || section == "kind" {
			m.bad("a "+section+" twice", world(twice, rawEnd))
		} else {
			m.bad("a "+section+" twice", world(rawEnd, twice))
		}
	}
}

func (m *schemaMaker) paths() {
	long := strings.Repeat("p", 256)
	m.good("a path of 256 bytes", fields(long+" bool"))
	m.bad("a path of 257 bytes", fields(long+"p bool"))
	m.bad("a path of 257 bytes of a text", fields(long+"p string 4"))
	m.bad("an empty path", fields(" bool"))
	m.bad("a control character in a path", fields("a\x01 bool"))
	m.bad("a path twice", fields("a bool", "a uint 4"))
	m.bad("a path of a field and of a text", fields("a bool", "a string 4"))
	m.bad("a path that begins other lines", fields("event bool"))
	m.good("a path that begins like them", fields("events bool"))
	m.bad("a path without a kind", fields("a"))
	m.good("arrays", fields("a[0] bool", "a[1] bool", "b.c[0][0] uint 4 always", "b.c[0][1] uint 4 always", "d[0].x bool", "d[1].x bool", "d[0].t string 4", "d[1].t string 4"))
	m.bad("an array that begins with 1", fields("a[1] bool"))
	m.bad("an array with a gap", fields("a[0] bool", "a[2] bool"))
	m.bad("an array with a large gap", fields("a[0] bool", "a[70000] bool"))
	m.bad("a field within an array", fields("a[0] bool", "b bool", "a[1] bool"))
	m.bad("elements of two kinds", fields("a[0] uint 4", "a[1] uint 5"))
	m.bad("elements with other attributes", fields("a[0] uint 4", "a[1] uint 4 always"))
	for _, path := range []string{".", "a.", ".a", "a..b", "a[x]", "a[]", "a]", "a[0", "[0]", "a[0]b", "a[00]", "a[0].", "a[0][", "a[18446744073709551616]"} {
		m.bad("the path "+path, fields(path+" bool"))
	}
	m.good("a path of names that are no words", fields("__proto__ bool", "constructor.length bool", "0.1 bool", "a-b bool", "\u2028 bool"))
	for _, two := range [][2]string{
		{"a", "a.b"},
		{"a", "a[0]"},
		{"a.b", "a"},
		{"a[0]", "a"},
		{"a[0]", "a.b"},
		{"a.b", "a[0]"},
		{"a[0]", "a[0].b"},
		{"a[0]", "a[0][0]"},
	} {
		m.bad(fmt.Sprintf("the paths %s and %s", two[0], two[1]), fields(two[0]+" bool", two[1]+" bool"))
	}
	m.bad("a text within a field", fields("a quat 5", "a.length string 4"))
	m.good("the same paths in two components", world("component c\na bool\ncomponent d\na.b bool\n", rawEnd))
	m.bad("structs that begin with 1", fields("a[1].b bool"))
	m.bad("structs with a gap", fields("a[0].b bool", "a[2].b bool"))
	m.bad("a struct with the largest index", fields("a[4294967294].b bool"))
	m.good("elements that are texts", fields("a[0] string 4", "b bytes 4", "a[1] string 4"))
	m.bad("an array of texts that begins with 1", fields("a[1] string 4"))
}

func (m *schemaMaker) kinds() {
	m.good("all kinds", fields("a bool", "b uint 1", "c uint 32", "d uint 64", "e int 1", "f int 32", "g int 64", "h float 32", "i float 64", "j ref",
		"k enum 2", "l enum 65535", "m angle 1", "n angle 32", "o quat 2", "p quat 10", "q range 0000000000000000 3ff0000000000000 1", "r range c0f0000000000000 3ff0000000000000 4294967294"))
	for _, kind := range []string{
		"uint 0", "uint 33", "int 63", "float 16", "enum 1", "enum 65536", "angle 0", "angle 33", "quat 1", "quat 11",
		"byte 8", "bool 1", "uint", "uint 08", "uint +8", "uint 8 8", "enum 010", "Bool",
		"range 0000000000000000 3ff0000000000000 0", "range 0000000000000000 3ff0000000000000 4294967295", "range 0000000000000000 3ff0000000000000 07",
		"range 0000000000000000 0000000000000000 8", "range 0000000000000000 bff0000000000000 8", "range 0000000000000000 7ff0000000000000 8",
		"range 0000000000000000 7ff8000000000000 8", "range fff0000000000000 3ff0000000000000 8", "range 8000000000000000 3ff0000000000000 8", "range 7ff8000000000000 3ff0000000000000 8",
		"range 0000000000000000 7fefffffffffffff 2", "range 0 3ff0000000000000 8", "range 0000000000000000 3FF0000000000000 8", "range 000000000000000g 3ff0000000000000 8", "range 0000000000000000 3ff0000000000000",
	} {
		m.bad("the kind "+kind, fields("x "+kind))
	}
}

func (m *schemaMaker) attributes() {
	for _, a := range []string{"uint 8 always", "uint 8 linear", "uint 8 owner", "uint 8 always owner", "uint 8 linear owner", "quat 5 linear", "angle 8 linear", "enum 5 linear", "bool always", "ref owner", "float 64 always"} {
		m.good("the field "+a, fields("x "+a))
	}
	for _, a := range []string{"uint 8 always linear", "uint 8 owner linear", "uint 8 owner always", "uint 8 secret", "uint 8 owner owner", "bool linear", "ref linear", "float 32 linear", "uint 64 linear"} {
		m.bad("the field "+a, fields("x "+a))
	}
}

func (m *schemaMaker) parents() {
	position := strings.TrimSuffix(aPosition, "\n")
	m.good("a parent line", fields(position, "on ref", "parent p[0] on"))
	m.good("a parent line, and texts for owners", fields(position, "on ref", "parent p[0] on", "t string 4 owner"))
	m.bad("two parent lines", fields(position, "on ref", "parent p[0] on", "parent p[0] on"))
	m.bad("a field after the parent line", fields(position, "on ref", "parent p[0] on", "x bool"))
	m.bad("a text before the parent line", fields(position, "on ref", "t string 4", "parent p[0] on"))
	m.bad("a parent line before its handle", fields(position, "parent p[0] on", "on ref"))
	m.bad("a parent that is not a ref", fields(position, "on uint 8", "parent p[0] on"))
	m.bad("a parent that is not there", fields(position, "on ref", "parent p[0] of"))
	m.bad("a parent line of an unknown position", fields(position, "on ref", "parent q[0] on"))
	m.bad("a parent line of the second element", fields(position, "on ref", "parent p[1] on"))
	m.bad("a parent line of four elements", fields(position+"\np[3] "+strings.TrimSuffix(aRange, "\n"), "on ref", "parent p[0] on"))
	m.bad("a parent line of two elements", fields(strings.Join(strings.Split(position, "\n")[:2], "\n"), "on ref", "parent p[0] on"))
	m.bad("a parent line of a position that is not linear", fields(strings.ReplaceAll(position, " linear", ""), "on ref", "parent p[0] on"))
	m.bad("a parent line of a position that is always sent", fields(strings.ReplaceAll(position, "linear", "always"), "on ref", "parent p[0] on"))
	m.bad("a parent line of angles", fields("p[0] angle 9 linear", "p[1] angle 9 linear", "p[2] angle 9 linear", "on ref", "parent p[0] on"))
	m.bad("a parent line, and fields for owners", fields(position, "on ref", "x bool owner", "parent p[0] on"))
	m.bad("a parent line without a handle", fields(position, "on ref", "parent p[0]"))
	m.bad("a parent line with more words", fields(position, "on ref", "parent p[0] on on"))
	m.bad("a parent line in a message", world("input\n", aPosition, "on ref\nparent p[0] on\n"))
}

func (m *schemaMaker) texts() {
	m.good("texts", fields("a string 1", "b string 1024", "c bytes 1 owner", "d bytes 1024"))
	m.bad("a text of 0 bytes", fields("a string 0"))
	m.bad("a text of 1,025 bytes", fields("a bytes 1025"))
	m.bad("a length with a leading zero", fields("a string 012"))
	m.bad("a text without a length", fields("a string"))
	m.bad("a text that is always sent", fields("a string 8 always"))
	m.bad("a text with more words", fields("a string 8 owner 8"))
	m.bad("a field after a text", fields("a string 8", "b bool"))
	full := strings.TrimSuffix(numbered(7, "t%d string 1024\n"), "\n") // 7 times 1,026
	m.good("8,192 bytes of texts", fields(full, "u string 1008"))
	m.bad("8,193 bytes of texts", fields(full, "u string 1009"))
	m.bad("8,193 bytes of texts in two components", world("component c\n", full, "\ncomponent d\nu string 1009\n", rawEnd))
}

func (m *schemaMaker) world() {
	kind := func(body string) string { return world("kind a\n", body, rawEnd) }
	m.good("a body", kind(aBody))
	m.bad("two bodies", kind(aBody+aBody))
	m.bad("a body without a kind", world(aBody, rawEnd))
	m.bad("a body of 5 constants", kind("body 3f800000 3e000000 3f000000 00000000 3f000000\n"))
	m.bad("a body of 7 constants", kind("body 3f800000 3e000000 3f000000 00000000 3f000000 00000001 00000001\n"))
	for i, wrong := range []string{"bf800000", "3f800001", "7f800000", "7fc00000", "3f800001", "1"} {
		w := strings.Fields(aBody)
		w[1+i] = wrong
		m.bad(fmt.Sprintf("constant %d of a body is %s", i+1, wrong), kind(strings.Join(w, " ")+"\n"))
	}
	m.bad("a constant of -0", kind(strings.Replace(aBody, "00000000", "80000000", 1)))
	m.bad("a constant in capitals", kind(strings.Replace(aBody, "3e000000", "3E000000", 1)))
	m.good("coupling and restitution of 1", kind("body 3f800000 3f800000 3f000000 00000000 3f800000 ffffffff\n"))
	m.good("motion", world(aMotion, rawEnd))
	m.bad("motion without bounds", world(strings.TrimSuffix(aMotion, " clamp\n"), "\n", rawEnd))
	m.bad("motion with more words", world(strings.TrimSuffix(aMotion, "\n"), " bounce\n", rawEnd))
	for _, c := range [][3]string{
		{"unknown bounds", "clamp", "wrap"},
		{"0 ticks a second", "60", "0"},
		{"65,536 ticks a second", "60", "65536"},
		{"ticks with a leading zero", "60", "060"},
		{"2^32 ticks of rest", " 30 ", " 4294967296 "},
		{"infinite gravity", "411cf5c3", "7f800000"},
		{"negative gravity", "411cf5c3", "c11cf5c3"},
		{"gravity of -0", "411cf5c3", "80000000"},
	} {
		m.bad(c[0], world(strings.Replace(aMotion, c[1], c[2], 1), rawEnd))
	}
	m.good("the most ticks", world(strings.Replace(strings.Replace(aMotion, "60", "65535", 1), " 30 ", " 4294967295 ", 1), rawEnd))
}

func (m *schemaMaker) messages() {
	m.good("messages without fields", world("input\ncommand c\nanswer\nevent e\n"))
	m.bad("an input with more words", world("input cooked\n"))
	m.bad("a raw input with fields", world(rawEnd, "x bool\n"))
	m.bad("a raw command with fields", world(rawEnd, "command c raw\nx bool\n"))
	m.bad("a raw command with an answer", world(rawEnd, "command c raw\nanswer\n"))
	m.bad("two answers", world(rawEnd, "command c\nanswer\nanswer\n"))
	m.bad("an answer with a name", world(rawEnd, "command c\nanswer a\n"))
	m.bad("an answer to nothing", world(rawEnd, "answer\n"))
	m.bad("a command with more words", world(rawEnd, "command c cooked\n"))
	m.bad("an event with more words", world(rawEnd, "event e reliable\n"))
	for _, field := range []string{"uint 8 always", "uint 8 linear", "uint 8 owner", "string 8 owner"} {
		m.bad("in a message the field "+field, world(rawEnd, "event e\nx ", field, "\n"))
	}
	m.bad("in a message a text before a field", world(rawEnd, "event e\nt string 8\nx bool\n"))
	m.good("an input of 64 bytes", world("input\nx uint 7\nt bytes 62\n"))
	m.bad("an input of 65 bytes", world("input\nx uint 9\nt bytes 62\n"))
	m.bad("an input of 65 bytes by its refs", world("input\nr[0] ref\nr[1] ref\nt bytes 46\n")) // 138 bits
	const most, more = "x uint 8\nt bytes 1021\n", "x uint 9\nt bytes 1021\n"
	m.good("messages of 1,024 bytes", world(rawEnd, "command c\n", most, "answer\n", most, "event e\n", most))
	m.bad("arguments of 1,025 bytes", world(rawEnd, "command c\n", more))
	m.bad("an answer of 1,025 bytes", world(rawEnd, "command c\nanswer\n", more))
	m.bad("an event of 1,025 bytes", world(rawEnd, "event e\n", more))
}

func (m *schemaMaker) limits() {
	m.good("64 fields", fields(strings.TrimSuffix(numbered(60, "f%d bool\n"), "\n"), strings.TrimSuffix(numbered(4, "t%d string 1\n"), "\n")))
	m.bad("65 fields", fields(strings.TrimSuffix(numbered(65, "f%d bool\n"), "\n")))
	m.bad("65 fields with texts", fields(strings.TrimSuffix(numbered(61, "f%d bool\n"), "\n"), strings.TrimSuffix(numbered(4, "t%d string 1\n"), "\n")))
	m.bad("65 fields of a message", world(rawEnd, "event e\n", numbered(65, "f%d bool\n")))
	m.good("32 components", world(numbered(32, "component %d\n"), rawEnd))
	m.bad("33 components", world(numbered(33, "component %d\n"), rawEnd))
	m.good("256 commands and 256 events", world(rawEnd, numbered(256, "command %d\n"), numbered(256, "event %d\n")))
	m.bad("257 commands", world(rawEnd, numbered(257, "command %d raw\n")))
	m.bad("257 events", world(rawEnd, numbered(257, "event %d\n")))
	wide := numbered(64, "f%d uint 64\n")
	m.good("a row of 64 long fields", world("component c\n", wide, rawEnd))
	m.bad("a row of 192 long fields", world("component c\n", wide, "component d\n", wide, "component e\n", wide, rawEnd))
	room := 49_152 - len(schemaHead+rawEnd)
	kinds := numbered(room/70, "kind %064d\n") // 70 bytes each
	rest := room - len(kinds)
	last := "kind " + strings.Repeat("k", rest-6) + "\n"
	m.good("49,152 bytes", world(kinds, last, rawEnd))
	m.bad("49,153 bytes", world(kinds, strings.Replace(last, "k\n", "kk\n", 1), rawEnd))
}

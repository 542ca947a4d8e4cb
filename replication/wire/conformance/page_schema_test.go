package conformance

// The schema text, read from section 5 of PROTOCOL.md alone.

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

type (
	// pageSchema holds the parts of a schema text that a client uses.
	pageSchema struct {
		components []pageComponent
		texts      []pageText
		input      *pageMessage // nil: raw
		commands   []pageCommand
		events     []pageEvent
	}
	pageText struct {
		component  int
		path       string
		most       int
		raw, owner bool
	}
	// pageMessage is a message. A component describes its values.
	pageMessage struct {
		fields pageComponent
		texts  []pageText
	}
	pageCommand struct {
		name         string
		args, answer *pageMessage // nil: raw, none
	}
	pageEvent struct {
		name       string
		unreliable bool
		body       *pageMessage
	}
	// schemaReader reads a schema text line by line.
	schemaReader struct {
		mutation
		lines  []string
		schema pageSchema
		names  map[string]bool // of all sections
	}
)

var schemaWords = []string{"component", "parent", "kind", "body", "motion", "input", "command", "answer", "event"}

// parseSchemaText reads the components of a valid text.
func parseSchemaText(t testing.TB, text string) []pageComponent {
	s, err := readSchema(text, mutation{})
	require.NoError(t, err)
	return s.components
}

// readSchema reads a schema text.
func readSchema(text string, m mutation) (s *pageSchema, err error) {
	r := &schemaReader{mutation: m, names: map[string]bool{}}
	defer func() {
		if why := recover(); why != nil {
			s, err = nil, fmt.Errorf("%v: %v", r.line(), why)
		}
	}()
	r.must(len(text) <= 49_152, schemaTextBound)
	r.must(utf8.ValidString(text), schemaUTF8)
	r.must(strings.HasSuffix(text, "\n"), schemaLineEnds)
	r.lines = strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	r.must(r.line() == "worldd schema 2", schemaHeader)
	r.lines = r.lines[1:]
	r.sections()
	return &r.schema, nil
}

// must stops unless ok, or the mutant breaks the rule.
func (r *schemaReader) must(ok bool, broken rule) {
	if !ok && r.keeps(broken) {
		panic(rules[broken].text)
	}
}

func (r *schemaReader) line() string {
	if len(r.lines) == 0 {
		return ""
	}
	return r.lines[0]
}

// words returns the words of the current line.
func (r *schemaReader) words() []string {
	if !r.keeps(schemaOneSpace) {
		return strings.Fields(r.line())
	}
	return strings.Split(r.line(), " ")
}

// is reports whether the current line begins with a word.
func (r *schemaReader) is(word string) bool {
	return len(r.lines) > 0 && len(r.words()) > 0 && r.words()[0] == word
}

// take returns the words of the current line, which must be n.
func (r *schemaReader) take(n int, broken rule) []string {
	w := r.words()
	r.must(len(w) == n, broken)
	r.lines = r.lines[1:]
	return w
}

func (r *schemaReader) sections() {
	for r.is("component") {
		r.component()
	}
	for r.is("kind") {
		r.kind()
	}
	for motions := 0; r.is("motion"); motions++ {
		r.must(motions == 0, schemaMotionOnce)
		r.motion()
	}
	r.must(r.is("input"), schemaInputPresent)
	if r.is("input") {
		r.input()
	}
	for r.is("command") {
		r.command()
	}
	for r.is("event") {
		r.event()
	}
	r.must(len(r.lines) == 0, schemaOrder)
}

// name checks a name in a section.
func (r *schemaReader) name(section, name string) {
	r.must(len(name) <= 64, schemaNameBound)
	r.must(name != "", schemaNameNotEmpty)
	r.printable(name, schemaNameControls, schemaNameSpaces)
	if !r.keeps(schemaNameOfSection) {
		section = ""
	}
	r.must(!r.names[section+" "+name], schemaNameUnique)
	r.names[section+" "+name] = true
}

func (r *schemaReader) printable(s string, controls, spaces rule) {
	for _, c := range s {
		r.must(c > 0x20, controls)
		r.must(c < 0x7f || c > 0xa0, spaces)
	}
}

// decimal reads a number from least to most.
func (r *schemaReader) decimal(s string, least, most uint64, range_ rule) uint64 {
	n, err := strconv.ParseUint(s, 10, 64)
	r.must(err == nil, schemaNumbers)
	r.must(strconv.FormatUint(n, 10) == s, schemaDecimalForm)
	r.must(n >= least && n <= most, range_)
	return n
}

func (r *schemaReader) hex(s string, digits int) uint64 {
	n, err := strconv.ParseUint(s, 16, 64)
	r.must(err == nil, schemaNumbers)
	r.must(len(s) == digits, schemaHexDigits)
	r.must(strings.ToLower(s) == s, schemaHexCase)
	return n
}

// constant reads a finite number that is not negative.
func (r *schemaReader) constant(s string) float64 {
	x := float64(math.Float32frombits(uint32(r.hex(s, 8))))
	r.must(!math.IsNaN(x) && !math.IsInf(x, 1), schemaConstantFinite)
	r.must(!(x < 0), schemaConstantPositive)
	r.must(x != 0 || !math.Signbit(x), schemaConstantMinus0)
	return x
}

func (r *schemaReader) component() {
	w := r.take(2, schemaComponentLine)
	r.name("component", w[1])
	r.must(len(r.schema.components) < 32, schemaComponentsBound)
	c, texts := r.fields(w[1], true)
	for i := range texts {
		texts[i].component = len(r.schema.components)
	}
	r.schema.components, r.schema.texts = append(r.schema.components, c), append(r.schema.texts, texts...)
	total := 0
	for _, text := range r.schema.texts {
		total += text.longest()
	}
	r.must(total <= 8192, schemaTextsBound)
	r.row()
}

// row checks the size of rows in full: the page does not bound the size of coded rows.
func (r *schemaReader) row() {
	total := 0
	for _, c := range r.schema.components {
		total += 1 + longestOf(c.fields)
	}
	r.must(total <= 8*1104, schemaRowBound)
}

// longest returns the maximum size of a text in bytes.
func (x pageText) longest() int { return (bits.Len(uint(x.most))+6)/7 + x.most }

// longestOf returns the maximum size of fields in full, in bits.
func longestOf(fields []pageField) (n int) {
	for _, f := range fields {
		switch f.kind {
		case "quat":
			n += 2 + 3*f.n
		case "ref":
			n += 1 + 2*(2+32)
		default:
			n += f.n
		}
	}
	return n
}

// fields reads the fields of a component or a message.
func (r *schemaReader) fields(name string, rows bool) (c pageComponent, texts []pageText) {
	c.name = name
	paths, parents := pagePaths{}, 0
	for len(r.lines) > 0 {
		w := r.words()
		if rows && w[0] == "parent" && (parents == 0 || !r.keeps(schemaParentOnce)) {
			r.must(len(texts) == 0, schemaParentBeforeTexts)
			parents++
			r.parent(&c)
			continue
		}
		if slices.Contains(schemaWords, w[0]) && r.keeps(schemaPathNoKeyword) || slices.Contains(schemaWords, w[0]) && (len(w) < 2 || w[1] != "bool") {
			return c, texts
		}
		r.lines = r.lines[1:]
		r.must(len(w) > 1, schemaFieldLine)
		r.path(w[0], paths)
		if w[1] == "string" || w[1] == "bytes" {
			texts = append(texts, r.text(w, rows))
		} else {
			r.must(len(texts) == 0, schemaTextsLast)
			r.must(parents == 0, schemaParentLast)
			f := r.field(w, rows)
			r.element(c.fields, f)
			c.fields = append(c.fields, f)
		}
		n := len(c.fields)
		if r.keeps(schemaTextsCount) {
			n += len(texts)
		}
		r.must(n <= 64, schemaFieldsBound)
	}
	return c, texts
}

// pagePaths has the form of each part of a block's paths: '.' a struct, '[' an array, ' ' a field.
type pagePaths map[string]rune

var pagePath = regexp.MustCompile(`^[^][.]+(\[(0|[1-9][0-9]*)\])*(\.[^][.]+(\[(0|[1-9][0-9]*)\])*)*$`)

func (r *schemaReader) path(path string, taken pagePaths) {
	r.must(len(path) <= 256, schemaPathBound)
	r.must(path != "", schemaPathNotEmpty)
	r.printable(path, schemaPathPrintable, schemaPathPrintable)
	form, known := taken[path]
	r.must(!known || form != ' ', schemaPathUnique)
	r.must(pagePath.MatchString(path) || path == "", schemaPathForm)
	for at, c := range path + " " {
		if c != '.' && c != '[' && c != ' ' {
			continue
		}
		before := path[:at]
		form, known := taken[before]
		r.must(!known || form == c || !r.keeps(schemaPathUnique), schemaPathTree)
		taken[before] = c
		open := strings.LastIndexByte(before, '[')
		if !strings.HasSuffix(before, "]") || known || open < 0 {
			continue
		}
		n, _ := strconv.Atoi(before[open+1 : at-1])
		_, begun := taken[fmt.Sprintf("%s[%d]", before[:open], n-1)]
		r.must(n == 0 || begun, schemaPathElements)
	}
}

// element checks that an array element follows its predecessor and has the same form.
func (r *schemaReader) element(before []pageField, f pageField) {
	stem, index, found := strings.Cut(f.path, "[")
	for strings.Contains(index, "[") {
		var more string
		more, index, _ = strings.Cut(index, "[")
		stem += "[" + more
	}
	n, err := strconv.Atoi(strings.TrimSuffix(index, "]"))
	if !found || !strings.HasSuffix(index, "]") || err != nil && !errors.Is(err, strconv.ErrRange) || n <= 0 {
		return
	}
	r.must(len(before) > 0 && before[len(before)-1].path == fmt.Sprintf("%s[%d]", stem, n-1), schemaElementsFollow)
	if len(before) > 0 {
		last := before[len(before)-1]
		last.path = f.path
		r.must(last == f, schemaElementsAlike)
	}
}

func (r *schemaReader) text(w []string, rows bool) pageText {
	x := pageText{path: w[0], raw: w[1] == "bytes"}
	if len(w) == 4 && w[3] == "owner" {
		r.must(rows, schemaMessageTextPlain)
		x.owner, w = true, w[:3]
	}
	r.must(len(w) == 3, schemaFieldLine)
	least := uint64(1)
	if !r.keeps(schemaTextNot0) {
		least = 0
	}
	x.most = int(r.decimal(w[2], least, 1024, schemaTextBoundOfField))
	return x
}

// field reads the line of a field.
func (r *schemaReader) field(w []string, rows bool) pageField {
	f := pageField{path: w[0], kind: w[1], values: 1}
	rest := r.kindOf(&f, w[2:])
	if len(rest) > 0 && rest[0] == "always" {
		f.always, rest = true, rest[1:]
	}
	if len(rest) > 0 && rest[0] == "linear" && !(f.always && r.keeps(schemaAlwaysOrLinear)) {
		f.linear, rest = true, rest[1:]
	}
	if len(rest) > 0 && rest[0] == "owner" {
		f.owner, rest = true, rest[1:]
	}
	if len(rest) > 0 && f.owner && rest[0] == "linear" && !r.keeps(schemaOwnerLast) {
		f.linear, rest = true, rest[1:]
	}
	r.must(len(rest) == 0, schemaAttributesKnown)
	r.must(rows || !f.always && !f.linear && !f.owner, schemaMessagePlain)
	r.must(!f.linear || f.largest > 0 && f.kind != "float" && f.n <= 32, schemaLinearOfNumbers)
	return f
}

// kindOf reads a KIND and returns the words after it.
func (r *schemaReader) kindOf(f *pageField, w []string) (rest []string) {
	switch f.kind {
	case "bool":
		f.n = 1
		return w
	case "ref":
		f.values = 2
		return w
	case "range":
		r.rangeOf(f, w)
		return w[3:]
	}
	width := func(least, most uint64, broken rule) {
		n := r.decimal(w[0], least, most, broken)
		f.n, f.largest = int(n), 1<<min(n, 63)-1
	}
	switch f.kind {
	case "uint", "int":
		if w[0] == "64" {
			f.n, f.values, f.largest = 64, 2, math.MaxUint64
		} else {
			width(1, 32, schemaIntBound)
		}
	case "float":
		r.must(w[0] == "32" || w[0] == "64", schemaFloatWidth)
		f.n, _ = strconv.Atoi(w[0])
		f.values, f.largest = (f.n+31)/32, 1<<f.n-1
	case "enum":
		k := r.decimal(w[0], 2, 65_535, schemaEnumBound)
		f.largest, f.n = k-1, bits.Len64(k-1)
	case "angle":
		width(1, 32, schemaAngleBound)
	case "quat":
		width(2, 10, schemaQuatBound)
	default:
		r.must(false, schemaKindKnown)
	}
	return w[1:]
}

func (r *schemaReader) rangeOf(f *pageField, w []string) {
	f.low, f.step = math.Float64frombits(r.hex(w[0], 16)), math.Float64frombits(r.hex(w[1], 16))
	f.largest = r.decimal(w[2], 1, 1<<32-2, schemaRangeBound)
	f.n = bits.Len64(f.largest)
	finite := func(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
	r.must(finite(f.low), schemaLowFinite)
	r.must(f.low != 0 || !math.Signbit(f.low), schemaLowMinus0)
	r.must(!(f.step <= 0), schemaStepPositive)
	r.must(finite(f.step) || !finite(f.low), schemaStepFinite)
	product := float64(f.largest) * f.step
	r.must(finite(f.low+product) || !finite(f.low) || !finite(f.step), schemaEndFinite)
}

func (r *schemaReader) parent(c *pageComponent) {
	w := r.take(3, schemaParentLine)
	at, index := -1, 0
	for _, before := range r.schema.components {
		for _, f := range before.fields {
			index += f.values
		}
	}
	for i, f := range c.fields {
		if f.path == w[1] {
			at = i
		}
		if f.path == w[2] {
			c.holder = index
			r.must(f.kind == "ref", schemaParentRef)
		}
		index += f.values
	}
	r.must(at >= 0 && slices.ContainsFunc(c.fields, func(f pageField) bool { return f.path == w[2] }), schemaParentKnown)
	stem, first := strings.CutSuffix(w[1], "[0]")
	f, three := c.fields[at], at+2 < len(c.fields) && c.fields[at+2].path == stem+"[2]"
	r.must(first && f.kind == "range" && !f.always && three && (at+3 == len(c.fields) || c.fields[at+3].path != stem+"[3]"), schemaParentVector)
	r.must(f.linear, schemaParentLinear)
	r.must(!slices.ContainsFunc(c.fields, func(f pageField) bool { return f.owner }), schemaParentNoOwner)
	c.parent = w[1]
}

func (r *schemaReader) kind() {
	r.name("kind", r.take(2, schemaKindLine)[1])
	for bodies := 0; r.is("body") && (bodies == 0 || !r.keeps(schemaBodyOnce)); bodies++ {
		w := r.take(7, schemaBodyLine)
		for i, s := range w[1:6] {
			x := r.constant(s)
			r.must(i != 1 || x <= 1, schemaCouplingBound)
			r.must(i != 4 || x <= 1, schemaRestitutionBound)
		}
		r.hex(w[6], 8)
	}
}

func (r *schemaReader) motion() {
	w := r.take(10, schemaMotionLine)
	r.decimal(w[1], 1, 65_535, schemaTickRate)
	for _, s := range w[2:8] {
		r.constant(s)
	}
	r.decimal(w[8], 0, 1<<32-1, schemaRestTicks)
	r.must(slices.Contains([]string{"clamp", "bounce", "destroy"}, w[9]), schemaBoundsKnown)
}

// message reads the fields of a message with a limit.
func (r *schemaReader) message(limit int, broken rule) *pageMessage {
	c, texts := r.fields("", false)
	total := (longestOf(c.fields) + 7) / 8
	for _, x := range texts {
		total += x.longest()
	}
	r.must(total <= limit, broken)
	return &pageMessage{c, texts}
}

func (r *schemaReader) input() {
	if r.line() == "input raw" {
		r.lines = r.lines[1:]
		return
	}
	r.take(1, schemaInputLine)
	r.schema.input = r.message(64, schemaInputBound)
}

func (r *schemaReader) command() {
	w := r.words()
	raw := len(w) == 3 && w[2] == "raw"
	r.must(len(w) == 2 || raw, schemaCommandLine)
	r.lines = r.lines[1:]
	r.name("command", w[1])
	r.must(len(r.schema.commands) < 256, schemaCommandsBound)
	c := pageCommand{name: w[1]}
	if !raw {
		c.args = r.message(1024, schemaArgsBound)
	}
	if r.is("answer") && (!raw || !r.keeps(schemaAnswerOfFields)) {
		r.take(1, schemaAnswerLine)
		c.answer = r.message(1024, schemaAnswerBound)
	}
	r.schema.commands = append(r.schema.commands, c)
}

func (r *schemaReader) event() {
	w := r.words()
	e := pageEvent{name: w[1], unreliable: len(w) == 3 && w[2] == "unreliable"}
	r.must(len(w) == 2 || e.unreliable, schemaEventLine)
	r.lines = r.lines[1:]
	r.name("event", w[1])
	r.must(len(r.schema.events) < 256, schemaEventsBound)
	e.body = r.message(1024, schemaEventBound)
	r.schema.events = append(r.schema.events, e)
}

package schema

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/worldd/worldd/replication/wire"
)

// A ParseError reports the fault of a text that is not a schema.
type ParseError struct {
	Line   int    // counted from 1; 0 if the whole text is at fault
	Text   string // the line, shortened
	Detail string
}

// Error returns all fields in one line.
func (e *ParseError) Error() string {
	if e.Line == 0 {
		return "schema: text: " + e.Detail
	}
	return fmt.Sprintf("schema: text, line %d, %q: %s", e.Line, e.Text, e.Detail)
}

// Parse returns the schema with this Text, which may come from an untrusted peer. The text
// must be canonical and within all limits. The error is a *ParseError. Rows and messages of
// the schema can be read, written and formatted; its components and messages have no Go
// types until Bind.
func Parse(text string) (*Schema, error) {
	p := parser{schema: New(), rest: text}
	switch {
	case len(text) > wire.MaxSchemaText:
		return nil, &ParseError{Detail: fmt.Sprintf("%d bytes, at most %d are allowed", len(text), wire.MaxSchemaText)}
	case !strings.HasPrefix(text, header):
		first, _, _ := strings.Cut(text, "\n")
		return nil, &ParseError{1, shorten(first), fmt.Sprintf("want %q: the peer speaks another version, or this is no schema", strings.TrimSuffix(header, "\n"))}
	case !strings.HasSuffix(text, "\n"):
		return nil, &ParseError{Detail: "cut off: the last line has no end"}
	}
	p.next()
	p.next()
	p.each("component", p.component)
	p.each("kind", p.kind)
	if p.is("motion") {
		p.motion()
	}
	if p.is("input") {
		p.input()
	} else {
		p.misplaced()
	}
	p.each("command", p.command)
	p.each("event", p.event)
	if p.more {
		p.misplaced()
	}
	if p.err != nil {
		return nil, p.err
	}
	return p.schema, nil
}

// parser reads a schema's text line by line. After the first error it has no more lines.
type parser struct {
	schema *Schema
	rest   string
	number int      // of the current line
	line   string   // the current line
	words  []string // of the current line
	more   bool     // there is a current line
	err    error
}

// maxWords is one more than the number of words in the longest line, motion.
const maxWords = 11

// next makes the next line the current one.
func (p *parser) next() {
	p.more = p.rest != "" && p.err == nil
	if !p.more {
		return
	}
	p.line, p.rest, _ = strings.Cut(p.rest, "\n")
	p.number++
	p.words = p.words[:0]
	for word := range strings.SplitSeq(p.line, " ") {
		p.words = append(p.words, word)
		if len(p.words) == maxWords {
			break
		}
	}
}

// is reports whether the current line begins with keyword.
func (p *parser) is(keyword string) bool { return p.more && p.words[0] == keyword }

// each calls parse for all items of a section.
func (p *parser) each(keyword string, parse func()) {
	for p.is(keyword) {
		parse()
	}
}

// misplaced records an error: the current line must not follow the lines before it.
func (p *parser) misplaced() {
	if p.err == nil && !p.more {
		p.err = &ParseError{Detail: "ends before its input line"}
	}
	p.fail("want one of component, kind, motion, input, command, event, in this order, input once and motion at most once")
}

// fail records that the current line is wrong.
func (p *parser) fail(format string, args ...any) {
	p.failAt(p.number, p.line, format, args...)
}

// failAt records that a line is wrong.
func (p *parser) failAt(number int, line, format string, args ...any) {
	if p.err == nil {
		p.err, p.more = &ParseError{number, shorten(line), fmt.Sprintf(format, args...)}, false
	}
}

// check records err about the current line, unless it is nil.
func (p *parser) check(err error) { p.checkAt(p.number, p.line, err) }

// checkAt records err about a line, unless it is nil.
func (p *parser) checkAt(number int, line string, err error) {
	if err != nil {
		p.failAt(number, line, "%s", strings.TrimPrefix(err.Error(), "schema: "))
	}
}

// shorten returns a line for an error.
func shorten(line string) string {
	if len(line) <= 2*wire.MaxName {
		return line
	}
	return truncate(strings.ToValidUTF8(line[:2*wire.MaxName], string(utf8.RuneError)), 2*wire.MaxName) + "..."
}

// truncate cuts valid UTF-8 off at a rune boundary.
func truncate(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// canonical checks that the current line is written as in Text.
func (p *parser) canonical(line []byte) {
	if want := strings.TrimSuffix(string(line), "\n"); p.err == nil && p.line != want {
		p.fail("is not in its canonical form: want %q", shorten(want))
	}
}

// keywords are the first words of lines other than fields.
var keywords = []string{"component", "parent", "kind", "body", "motion", "input", "command", "answer", "event"}

// inBlock reports whether the current line belongs to the item that an earlier line began.
func (p *parser) inBlock() bool { return p.more && !slices.Contains(keywords, p.words[0]) }

func (p *parser) component() {
	number, line := p.number, p.line
	if len(p.words) != 2 {
		p.fail("want component NAME")
		return
	}
	name := p.words[1]
	p.check(p.schema.checkComponent(name))
	p.next()
	b := block{rows: true, value: p.schema.values, paths: paths{}}
	b.readFields(p)
	parent, anchored := -1, 0
	if p.is("parent") {
		parent, anchored = b.readParent(p)
	}
	b.readTexts(p)
	if p.err == nil {
		p.checkAt(number, line, p.schema.addComponent(name, nil, plan{b.fields, b.texts, b.value, parent, anchored, nil}))
	}
}

// A block is a component or a message while its lines are read.
type block struct {
	rows   bool // the block is a component: its fields have options
	value  int  // of the next field
	fields []Field
	texts  []TextField
	paths  paths
}

// readFields reads the lines of fields other than texts.
func (b *block) readFields(p *parser) {
	for ; p.inBlock() && !isTextLine(p.words); p.next() {
		if !b.admit(p) {
			return
		}
		f, options, err := parseField(p.words)
		if err != nil {
			p.check(err)
			return
		}
		if !b.rows && len(options) > 0 {
			p.fail("always, linear and owner are for components")
			return
		}
		p.check(f.setOptions(options))
		p.canonical(f.appendText(nil))
		if !b.continues(f) {
			p.fail("element of an array: want it right after the one before, and alike")
		}
		f.Index = b.value
		b.value += f.Values()
		b.fields = append(b.fields, f)
	}
	markVectors(b.fields)
}

// readTexts reads the lines of text fields.
func (b *block) readTexts(p *parser) {
	for ; p.inBlock(); p.next() {
		if !isTextLine(p.words) {
			p.fail("want PATH string N or PATH bytes N: other fields precede parent and these")
			return
		}
		if !b.admit(p) {
			return
		}
		n, err := strconv.ParseUint(p.words[2], 10, 16)
		if err != nil || n < 1 || n > wire.MaxTextField {
			p.fail("want 1 to %d bytes", wire.MaxTextField)
			return
		}
		f := TextField{Path: p.words[0], Bytes: p.words[1] == "bytes", Max: int(n), Owner: len(p.words) > 3}
		if f.Owner && !b.rows {
			p.fail("owner is for components")
			return
		}
		p.canonical(f.appendText(nil))
		b.texts = append(b.texts, f)
	}
}

func isTextLine(words []string) bool {
	return len(words) >= 3 && (words[1] == "string" || words[1] == "bytes")
}

// admit checks the path of the current line's field, and that there is room for it.
func (b *block) admit(p *parser) bool {
	path := p.words[0]
	known := slices.ContainsFunc(b.fields, func(f Field) bool { return f.Path == path }) ||
		slices.ContainsFunc(b.texts, func(f TextField) bool { return f.Path == path })
	switch {
	case len(path) > MaxPath || !isWord(path):
		p.fail("want a path of 1 to %d bytes of printable UTF-8", MaxPath)
	case known:
		p.fail("the path is there twice")
	case len(b.fields)+len(b.texts) == wire.MaxFieldsPerComponent:
		p.fail("one more than %d fields", wire.MaxFieldsPerComponent)
	case !b.paths.add(path):
		p.fail("want names with dots between, each followed by indices in brackets from 0; no path is part of another")
	}
	return p.err == nil
}

// readParent reads the parent line of a component.
func (b *block) readParent(p *parser) (parent, anchored int) {
	if len(p.words) != 3 {
		p.fail("want parent PATH HANDLE")
		return -1, 0
	}
	find := func(path string) int {
		return slices.IndexFunc(b.fields, func(f Field) bool { return f.Path == path })
	}
	anchored, parent = find(p.words[1]), find(p.words[2])
	switch {
	case anchored < 0 || !b.fields[anchored].Vector || !b.fields[anchored].Linear:
		p.fail("%.64q is not the first field of a linear position", p.words[1])
	case parent < 0 || b.fields[parent].Kind != KindHandle:
		p.fail("%.64q is not a ref", p.words[2])
	case slices.ContainsFunc(b.fields, func(f Field) bool { return f.Owner }):
		p.fail("the component has fields for owners")
	}
	p.next()
	return parent, anchored
}

// parseField reads the path and the kind of a field, and returns the words that follow.
func parseField(words []string) (f Field, options []string, err error) {
	if len(words) < 2 {
		return f, nil, fmt.Errorf("want PATH KIND, or a keyword")
	}
	f.Path = words[0]
	kind, rest := words[1], words[2:]
	switch kind {
	case "bool":
		f.Kind, f.Bits = KindBool, 1
		return f, rest, nil
	case "ref":
		f.Type, f.Kind = TypeHandle, KindHandle
		return f, rest, nil
	case "range":
		if len(rest) < 3 {
			return f, nil, fmt.Errorf("want PATH range LOW STEP N")
		}
		return f, rest[3:], f.parseRange(rest)
	}
	if len(rest) == 0 {
		return f, nil, fmt.Errorf("want PATH KIND N, or PATH bool, or PATH ref")
	}
	n, err := strconv.ParseUint(rest[0], 10, 16)
	if err != nil {
		return f, nil, fmt.Errorf("%.64q is not a number of at most 16 bits", rest[0])
	}
	return f, rest[1:], f.setKind(kind, uint(n))
}

// setKind sets the kind of a field with one numeric parameter.
func (f *Field) setKind(kind string, n uint) error {
	f.Bits = n
	low, high := uint(1), uint(32)
	switch kind {
	case "uint", "int":
		f.Type, f.Kind = TypeUint, KindNumber
		if kind == "int" {
			f.Type = TypeInt
		}
		if n == 64 {
			f.Kind = KindRaw64
			return nil
		}
	case "float":
		f.Type, f.Kind = TypeFloat, KindRaw32
		if n == 64 {
			f.Kind = KindRaw64
			return nil
		}
		low = 32
	case "enum":
		f.Type, f.Kind = TypeEnum, KindNumber
		f.Max, f.Bits = uint32(n-1), uint(bits.Len(n-1))
		low, high = 2, math.MaxUint16
	case "angle":
		f.Type, f.Kind = TypeAngle, KindNumber
	case "quat":
		f.Type, f.Kind = TypeRotation, KindRotation
		f.Bits, f.Max = 2+3*n, uint32(1<<min(n, 31)-1)
		low, high = 2, MaxRotationBits
	default:
		return fmt.Errorf("unknown kind %.64q", kind)
	}
	if n < low || n > high {
		return fmt.Errorf("%s %d: want %d to %d, or 64 for uint, int and float", kind, n, low, high)
	}
	if f.Kind == KindNumber && f.Type != TypeEnum {
		f.Max = uint32(1<<n - 1)
	}
	return nil
}

// parseRange reads LOW STEP N.
func (f *Field) parseRange(words []string) error {
	low, errLow := strconv.ParseUint(words[0], 16, 64)
	step, errStep := strconv.ParseUint(words[1], 16, 64)
	last, errLast := strconv.ParseUint(words[2], 10, 32)
	if errLow != nil || errStep != nil || errLast != nil || last < 1 || last > math.MaxUint32-1 {
		return fmt.Errorf("want LOW and STEP of 16 hexadecimal digits and N from 1 to 2^32-2")
	}
	f.setRange(math.Float64frombits(low), math.Float64frombits(step), uint32(last))
	if high := f.Low + float64(float64(f.Max)*f.Step); math.IsNaN(f.Low) || math.IsInf(f.Low, 0) || !(f.Step > 0) || math.IsInf(f.Step, 0) || math.IsInf(high, 0) {
		return fmt.Errorf("range from %v to %v in steps of %v: want finite numbers and a positive step", f.Low, high, f.Step)
	}
	return nil
}

// setOptions reads the words after the kind.
func (f *Field) setOptions(words []string) error {
	if len(words) > 0 && words[0] == "always" {
		f.Always, words = true, words[1:]
	} else if len(words) > 0 && words[0] == "linear" {
		f.Linear, words = true, words[1:]
	}
	if len(words) > 0 && words[0] == "owner" {
		f.Owner, words = true, words[1:]
	}
	if len(words) > 0 {
		return fmt.Errorf("%.64q: want always or linear, then owner", words[0])
	}
	if f.Linear && f.Kind != KindNumber && f.Kind != KindRotation {
		return fmt.Errorf("linear is for numbers of at most 32 bits, angles and rotations")
	}
	return nil
}

// markVectors sets Vector as a planner does, for arrays of three ranged floats without the
// option always: fields X[0], X[1] and X[2] without an X[3].
func markVectors(fields []Field) {
	for i := range fields {
		stem, isArray := strings.CutSuffix(fields[i].Path, "[0]")
		if !isArray || i+2 >= len(fields) || fields[i].Type != TypeRange || fields[i].Always {
			continue
		}
		longer := i+3 < len(fields) && fields[i+3].Path == stem+"[3]"
		fields[i].Vector = fields[i+2].Path == stem+"[2]" && !longer
	}
}

// continues reports whether f may follow the previous field: an array's element X[n] with n
// above 0 must follow X[n-1] and have the same kind.
func (b *block) continues(f Field) bool {
	open := strings.LastIndexByte(f.Path, '[')
	if open < 0 || !strings.HasSuffix(f.Path, "]") || strings.HasSuffix(f.Path, "[0]") {
		return true
	}
	n, err := strconv.Atoi(f.Path[open+1 : len(f.Path)-1])
	before := fmt.Sprintf("%s[%d]", f.Path[:open], n-1)
	last := len(b.fields) - 1
	return err == nil && last >= 0 && b.fields[last].Path == before && hasSameForm(b.fields[last], f)
}

func (p *parser) kind() {
	if len(p.words) != 2 {
		p.fail("want kind NAME")
		return
	}
	number, line := p.number, p.line
	k := EntityKind{Name: p.words[1]}
	p.next()
	if p.is("body") {
		k.Body = p.body()
		p.next()
	}
	if p.err == nil {
		p.checkAt(number, line, p.schema.AddKind(k))
	}
}

func (p *parser) body() *KindBody {
	b := &KindBody{}
	if len(p.words) != 7 {
		p.fail("want body and 6 constants")
		return nil
	}
	for i, x := range b.floats() {
		*x = p.float(1 + i)
	}
	b.Layers = p.hex(6)
	p.check(b.check())
	p.canonical(b.appendText(nil))
	return b
}

// hex reads a word of the current line as a number of 8 hexadecimal digits.
func (p *parser) hex(word int) uint32 {
	n, err := strconv.ParseUint(p.words[word], 16, 32)
	if err != nil {
		p.fail("%.64q: want 8 hexadecimal digits", p.words[word])
	}
	return uint32(n)
}

func (p *parser) float(word int) float32 { return math.Float32frombits(p.hex(word)) }

// decimal reads a word of the current line as a decimal number.
func (p *parser) decimal(word, bits int) uint32 {
	n, err := strconv.ParseUint(p.words[word], 10, bits)
	if err != nil {
		p.fail("%.64q: want a number of at most %d bits", p.words[word], bits)
	}
	return uint32(n)
}

func (p *parser) motion() {
	if len(p.words) != 10 {
		p.fail("want motion and 9 constants")
		return
	}
	m := Motion{TickHz: uint16(p.decimal(1, 16)), RestTicks: p.decimal(8, 32)}
	for i, x := range m.floats() {
		*x = p.float(2 + i)
	}
	bounds := slices.Index(boundsNames[:], p.words[9])
	if bounds < 0 {
		p.fail("%.64q: want one of %s", p.words[9], strings.Join(boundsNames[:], ", "))
		return
	}
	m.Bounds = Bounds(bounds)
	p.canonical(m.appendText(nil))
	if p.err == nil {
		p.check(p.schema.SetMotion(m))
	}
	p.next()
}

// message reads the lines of a message's fields. head is the line that began it.
func (p *parser) message(name string, r role, number int, head string) *Message {
	b := block{paths: paths{}}
	b.readFields(p)
	b.readTexts(p)
	m := &Message{role: r, Fields: b.fields, TextFields: b.texts}
	if err := m.checkLength(); err != nil {
		p.failAt(number, head, "%s %v", name, err)
	}
	return m
}

func (p *parser) input() {
	number, line := p.number, p.line
	p.next()
	if line+"\n" == rawInput {
		return
	}
	if line != "input" {
		p.failAt(number, line, "want input or input raw")
		return
	}
	m := p.message("input", ofInput, number, line)
	if p.err == nil {
		p.check(p.schema.setInput(m))
	}
}

func (p *parser) command() {
	number, line, words := p.number, p.line, len(p.words)
	raw := words == 3 && p.words[2] == "raw"
	if words != 2 && !raw {
		p.fail("want command NAME or command NAME raw")
		return
	}
	c := Command{Name: p.words[1]}
	p.next()
	if !raw {
		c.Args = p.message("command", fromClient, number, line)
		if p.is("answer") {
			number, line := p.number, p.line
			if len(p.words) != 1 {
				p.fail("want answer alone")
			}
			p.next()
			c.Answer = p.message("answer", fromServer, number, line)
		}
	}
	if p.err == nil {
		p.checkAt(number, line, p.schema.addCommand(c))
	}
}

func (p *parser) event() {
	number, line, words := p.number, p.line, len(p.words)
	e := Event{Unreliable: words == 3 && p.words[2] == "unreliable"}
	if words != 2 && !e.Unreliable {
		p.fail("want event NAME or event NAME unreliable")
		return
	}
	e.Name = p.words[1]
	p.next()
	e.Message = p.message("event", fromServer, number, line)
	if p.err == nil {
		p.checkAt(number, line, p.schema.addEvent(e))
	}
}

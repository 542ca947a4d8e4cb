package schema

import (
	"fmt"
	"math"
	"math/bits"
	"reflect"
	"strconv"
	"strings"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/fieldtag"
	"github.com/worldd/worldd/replication/wire"
)

// tag is a parsed net tag.
type tag struct {
	given  bool // the field has a tag, possibly inherited
	skip   bool
	ref    bool
	always bool
	owner  bool
	bits   uint // 0: not given
	ranged bool
	low    float64
	high   float64
	step   float64
	enum   uint32 // number of values; 0: not given
	angle  bool
	quat   bool
	linear bool
	parent string
	max    int // maximum bytes of a string or []byte; 0: not given
}

// A TagError reports why a component type cannot be added to a schema: it names the field
// at fault and the remedy.
type TagError struct {
	Component string       // name passed to Define
	Path      string       // the field, like Aim.Pitch[2]
	Type      reflect.Type // of the field
	Detail    string
	Message   bool // Component names a message: "event hit", "answer of command buy"
}

// Error returns all fields in one line.
func (e *TagError) Error() string {
	if e.Message {
		return fmt.Sprintf("schema: %s, field %s (%v): %s", e.Component, e.Path, e.Type, e.Detail)
	}
	return fmt.Sprintf("schema: component %q, field %s (%v): %s", e.Component, e.Path, e.Type, e.Detail)
}

// isSwitch reports whether an option takes no value.
func isSwitch(key string) bool {
	return key == "ref" || key == "always" || key == "owner" || key == "angle" || key == "quat"
}

// parseTag reads the text of a net tag.
func parseTag(text string) (tag, error) {
	t := tag{given: true}
	if text == "-" {
		t.skip = true
		return t, nil
	}
	hasStep := false
	for _, option := range strings.Split(text, ",") {
		key, value, given := strings.Cut(option, "=")
		if given && isSwitch(key) {
			return tag{}, fmt.Errorf("%s: %s takes no value (bits=N gives the bits of an angle or quat)", option, key)
		}
		var err error
		switch key {
		case "ref":
			t.ref = true
		case "always":
			t.always = true
		case "owner":
			t.owner = true
		case "angle":
			t.angle = true
		case "quat":
			t.quat = true
		case "predict":
			t.linear = value == "linear"
			if !t.linear {
				err = fmt.Errorf("predict=%s: want predict=linear", value)
			}
		case "parent":
			t.parent = value
			if value == "" {
				err = fmt.Errorf("parent names no field: want a handle of the same struct, like parent=Vehicle")
			}
		case "max":
			var n uint64
			n, err = strconv.ParseUint(value, 10, 16)
			t.max = int(n)
			if err != nil || n < 1 || n > wire.MaxTextField {
				err = fmt.Errorf("max=%s: want the most bytes of a string or []byte, 1 to %d", value, wire.MaxTextField)
			}
		case "enum":
			var n uint64
			n, err = strconv.ParseUint(value, 10, 16)
			t.enum = uint32(n)
			if err != nil || n < 2 {
				err = fmt.Errorf("enum=%s: want the number of values, 2 to 65535", value)
			}
		case "bits":
			var n uint64
			n, err = strconv.ParseUint(value, 10, 8)
			t.bits = uint(n)
			if err != nil || n < 1 || n > 32 {
				err = fmt.Errorf("bits=%s: want 1 to 32", value)
			}
		case "range":
			t.ranged = true
			low, high, found := strings.Cut(value, "..")
			var errLow, errHigh error
			t.low, errLow = parseNumber(low)
			t.high, errHigh = parseNumber(high)
			if !found || errLow != nil || errHigh != nil || t.low >= t.high {
				err = fmt.Errorf("range=%s: want two finite numbers, the smaller one first, like range=-512..512", value)
			}
		case "step":
			hasStep = true
			if t.step, err = parseNumber(value); err != nil || t.step <= 0 {
				err = fmt.Errorf("step=%s: want a positive number or quotient, like step=1/512", value)
			}
		default:
			err = fmt.Errorf("unknown option %q: want range=LOW..HIGH,step=STEP or bits=N or enum=N or max=N or ref, or angle or quat with bits=N; and always, owner, predict=linear, parent=FIELD; or - alone", option)
		}
		if err != nil {
			return tag{}, err
		}
	}
	if err := t.contradiction(hasStep); err != nil {
		return tag{}, err
	}
	return t, nil
}

// contradiction returns an error if options of t exclude each other.
func (t *tag) contradiction(hasStep bool) error {
	if t.ranged != hasStep {
		return fmt.Errorf("range and step belong together")
	}
	if count(t.ranged, t.bits != 0, t.ref, t.enum != 0) > 1 {
		return fmt.Errorf("range, bits, enum and ref exclude each other")
	}
	if count(t.angle, t.quat) > 1 || (t.angle || t.quat) && t.bits == 0 {
		return fmt.Errorf("angle and quat exclude each other; want bits=N with either")
	}
	if t.linear && t.always {
		return fmt.Errorf("always leaves nothing to predict: the field is written in full")
	}
	if t.parent != "" && !t.linear {
		return fmt.Errorf("parent wants predict=linear")
	}
	if t.max != 0 && (t.ranged || t.bits != 0 || t.ref || t.enum != 0 || t.always || t.linear) {
		return fmt.Errorf("max is for string and []byte, and takes no option beside it but owner")
	}
	return nil
}

// count returns how many of its arguments are true.
func count(all ...bool) (n int) {
	for _, one := range all {
		if one {
			n++
		}
	}
	return n
}

// parseNumber reads a decimal number or a quotient of two.
func parseNumber(s string) (float64, error) {
	top, bottom, quotient := strings.Cut(s, "/")
	v, err := strconv.ParseFloat(top, 64)
	if quotient && err == nil {
		var d float64
		d, err = strconv.ParseFloat(bottom, 64)
		v /= d
	}
	if err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
		err = strconv.ErrRange
	}
	return v, err
}

// planner flattens one component type into fields.
type planner struct {
	component string
	message   *Message // message to plan; nil: a component
	values    int
	fields    []Field
	texts     []TextField
	vector    int                 // number of next fields that belong to the present vector
	anchored  int                 // first field of the position that has a parent
	parent    string              // path of the handle in a position's parent= tag
	was       map[string][]string // former names of struct fields, by path
}

func (p *planner) complain(path string, t reflect.Type, format string, args ...any) error {
	return &TagError{p.component, path, t, fmt.Sprintf(format, args...), p.message != nil}
}

func (p *planner) structure(t reflect.Type, path string, outer tag) error {
	for i := range t.NumField() {
		f := t.Field(i)
		inner := outer
		fieldPath := path + f.Name
		text, tagged, err := net.Lookup(f.Tag)
		if err != nil {
			return p.complain(fieldPath, f.Type, "%v", err)
		}
		if !f.IsExported() {
			if tagged {
				return p.complain(fieldPath, f.Type, "has a net tag and is not exported: export it or remove the tag")
			}
			continue
		}
		if tagged {
			if inner, err = parseTag(text); err != nil {
				return p.complain(fieldPath, f.Type, "tag `net:%q`: %v", text, err)
			}
		}
		if inner.skip {
			continue
		}
		if outer.owner && !inner.owner { // everyone would receive it
			return p.complain(fieldPath, f.Type, "is inside a field for owners alone, and its own tag, which replaces that field's, lacks owner: add it")
		}
		if err := p.noteFormer(f, fieldPath); err != nil {
			return err
		}
		if p.message != nil && (inner.always || inner.owner || inner.linear) {
			return p.complain(fieldPath, f.Type, "always, owner, predict and parent are for components: a message is always whole")
		}
		if err := p.value(f.Type, fieldPath, inner, tagged); err != nil {
			return err
		}
	}
	return nil
}

// net is the key of the tags of this package. If a misspelled one were ignored, everyone would
// receive a field meant for owners only.
var net = fieldtag.Key{Name: "net", IsValue: isTagText}

// isTagText reports whether text is a valid net tag with at least one option.
func isTagText(text string) bool {
	_, err := parseTag(text)
	return err == nil && text != ""
}

// value plans one value. own tells whether the tag is on the value itself or on its array.
// Such a tag must fit the value; a tag of an enclosing struct need not.
func (p *planner) value(t reflect.Type, path string, g tag, own bool) error {
	switch {
	case t == reflect.TypeFor[bulk.Handle]():
		return p.handle(t, path, g, own)
	case isText(t):
		return p.text(t, path, g, own)
	case t.Kind() == reflect.Struct:
		if own && g.ref {
			return p.complain(path, t, "ref is for bulk.Handle")
		}
		return p.structure(t, path+".", g)
	case t.Kind() == reflect.Array && g.quat:
		return p.quaternion(t, path, g)
	case t.Kind() == reflect.Array:
		if own && g.parent != "" {
			if t.Len() != 3 || !isFloat(t.Elem()) || !g.ranged || p.parent != "" {
				return p.complain(path, t, "parent is for one position in a component: an array of 3 floats with range and step")
			}
			p.parent = path[:len(path)-len(lastName(path))] + g.parent
			p.anchored, g.parent = len(p.fields), ""
		}
		if t.Len() == 3 && isFloat(t.Elem()) && g.ranged && !g.always {
			p.vector = 3
		}
		for i := range t.Len() {
			if err := p.value(t.Elem(), fmt.Sprintf("%s[%d]", path, i), g, own); err != nil {
				return err
			}
		}
		return nil
	}
	if own && g.parent != "" {
		return p.complain(path, t, "parent is for a position: an array of 3 floats with range and step")
	}
	return p.scalar(t, path, g, own)
}

func isFloat(t reflect.Type) bool {
	return t.Kind() == reflect.Float32 || t.Kind() == reflect.Float64
}

// lastName returns the part of a path after the last dot.
func lastName(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// quaternion plans a rotation: one value, which packs the smallest
// three components and the index of the largest.
func (p *planner) quaternion(t reflect.Type, path string, g tag) error {
	if t.Len() != 4 || t.Elem().Kind() != reflect.Float32 {
		return p.complain(path, t, "quat is for a unit quaternion x, y, z, w: want [4]float32")
	}
	if g.bits < 2 || g.bits > MaxRotationBits {
		return p.complain(path, t, "quat,bits=%d: want 2 to %d for each of the three components sent", g.bits, MaxRotationBits)
	}
	return p.add(t, Field{
		Type: TypeRotation, Kind: KindRotation, Always: g.always, Owner: g.owner, Linear: g.linear,
		Bits: 2 + 3*g.bits, Max: 1<<g.bits - 1, Path: path,
	}, 1)
}

func (p *planner) handle(t reflect.Type, path string, g tag, own bool) error {
	if own && !g.ref || !own {
		return p.complain(path, t, "a handle requires its own tag `net:\"ref\"`, so that its target's fate is reported, or `net:\"-\"`")
	}
	return p.add(t, Field{Type: TypeHandle, Kind: KindHandle, Always: g.always, Owner: g.owner, Path: path}, 2)
}

func (p *planner) scalar(t reflect.Type, path string, g tag, own bool) error {
	if g.quat {
		return p.complain(path, t, "quat is for a unit quaternion x, y, z, w: want [4]float32")
	}
	if own && g.max != 0 {
		return p.complain(path, t, "max is for string and []byte")
	}
	f := Field{Always: g.always, Owner: g.owner, Linear: g.linear, Path: path}
	size := uint(t.Size() * 8)
	switch t.Kind() {
	case reflect.Bool:
		f.Kind, f.Bits = KindBool, 1
		if own && (g.ranged || g.bits != 0 || g.enum != 0 || g.linear) {
			return p.complain(path, t, "range, bits, enum and predict are for numbers; a bool takes one bit by itself")
		}
		f.Linear = false
	case reflect.Float32, reflect.Float64:
		f.Type, f.Kind, f.Bits = TypeFloat, KindRaw32, size
		if size == 64 {
			f.Kind = KindRaw64
		}
		if g.angle {
			if g.bits > size/2+6 {
				return p.complain(path, t, "angle,bits=%d is finer than the type resolves: want at most %d", g.bits, size/2+6)
			}
			f.Type, f.Kind, f.Bits, f.Max = TypeAngle, KindNumber, g.bits, uint32(1<<g.bits-1)
		} else if g.bits != 0 || g.enum != 0 {
			return p.complain(path, t, "bits is for integers, and enum: want range=LOW..HIGH,step=STEP, or angle,bits=N")
		}
		if g.ranged {
			if err := f.planRange(g, size); err != nil {
				return p.complain(path, t, "%v", err)
			}
		}
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		f.Type, f.Kind, f.Bits = TypeUint, KindNumber, size
		if t.Kind() <= reflect.Int64 {
			f.Type = TypeInt
		}
		if g.ranged {
			return p.complain(path, t, "range is for floats: want bits=N")
		}
		if g.angle {
			return p.complain(path, t, "angle is for floats, in radians")
		}
		if g.enum != 0 {
			if f.Type == TypeInt || uint64(g.enum) > 1<<size {
				return p.complain(path, t, "enum=%d is for unsigned integers that hold 0 to %d", g.enum, g.enum-1)
			}
			f.Type, f.Max, f.Bits = TypeEnum, g.enum-1, uint(bits.Len32(g.enum-1))
			break
		}
		if g.bits > size {
			return p.complain(path, t, "bits=%d is more than the type has", g.bits)
		}
		if g.bits != 0 {
			f.Bits = g.bits
		} else if size == 64 {
			f.Kind = KindRaw64
		}
		if f.Kind == KindNumber {
			f.Max = uint32(1<<f.Bits - 1)
		}
	case reflect.Int, reflect.Uint, reflect.Uintptr:
		return p.complain(path, t, "its size differs between machines: want int32 or int64 and the like")
	default:
		return p.complain(path, t, "type not supported: want numbers, bools, handles, strings, []byte, and structs and arrays of them, or `net:\"-\"`")
	}
	if f.Linear && f.Kind != KindNumber {
		return p.complain(path, t, "predict=linear is for numbers of at most 32 bits: give a float a range and a step")
	}
	if g.ref && own {
		return p.complain(path, t, "ref is for bulk.Handle")
	}
	values := 1
	if f.Kind == KindRaw64 {
		values = 2
	}
	return p.add(t, f, values)
}

func (p *planner) add(t reflect.Type, f Field, values int) error {
	if err := p.admit(t, f.Path); err != nil {
		return err
	}
	f.Index = p.values
	p.values += values
	if p.vector > 0 {
		f.Vector = p.vector == 3
		p.vector--
	}
	p.fields = append(p.fields, f)
	return nil
}

// planRange plans a ranged float of size bits. It rejects a step that the type cannot
// resolve at the ends of the range: a restored value would not quantise to the same number.
func (f *Field) planRange(g tag, size uint) error {
	steps := math.Floor((g.high-g.low)/g.step + 0.5)
	if math.Abs((g.high-g.low)/g.step-steps) > 1e-6 {
		return fmt.Errorf("range %v..%v is not a whole number of steps of %v", g.low, g.high, g.step)
	}
	if steps > math.MaxUint32-1 || steps < 1 {
		return fmt.Errorf("range %v..%v has %v steps of %v: want 1 to 2^32-2", g.low, g.high, steps, g.step)
	}
	precision := 0x1p-24
	if size == 64 {
		precision = 0x1p-52
	}
	if max(math.Abs(g.low), math.Abs(g.high))*precision > g.step/4 {
		return fmt.Errorf("step %v is finer than the type resolves at the ends of %v..%v", g.step, g.low, g.high)
	}
	f.setRange(g.low, g.step, uint32(steps))
	return nil
}

// setRange makes f a ranged float of the values low + n*step, n at most last.
func (f *Field) setRange(low, step float64, last uint32) {
	if low == 0 {
		low = 0 // not -0: it would be a second text for the same values
	}
	f.Type, f.Kind = TypeRange, KindNumber
	f.Low, f.Step, f.Max = low, step, last
	f.Bits = uint(bits.Len32(f.Max))
}

// findParent returns the field named by the parent= tag of a position, or -1.
func (p *planner) findParent(t reflect.Type) (int, error) {
	if p.parent == "" {
		return -1, nil
	}
	for i := range p.fields {
		if p.fields[i].Owner {
			return -1, p.complain(p.fields[i].Path, t, "a component with parent= cannot have owner fields: move them into another component")
		}
	}
	for i := range p.fields {
		if p.fields[i].Path == p.parent && p.fields[i].Kind == KindHandle {
			return i, nil
		}
	}
	return -1, p.complain(p.fields[p.anchored].Path, t, "its parent=%s is no replicated handle", p.parent)
}

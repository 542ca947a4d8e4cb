package rowschema

import (
	"math"
	"reflect"
	"slices"
	"unsafe"

	"github.com/worldd/worldd/replication/schema"
)

// bindFields returns the fields of an item in the order of the server's schema, mapped by binding to
// a struct of type t.
func bindFields(t reflect.Type, fields []schema.Field, binding *schema.Binding) []field {
	all := make([]field, len(fields))
	for i, f := range fields {
		if binding.Fields[i] < 0 {
			all[i] = newField(f)
			all[i].memory = memNone
			continue
		}
		own := &binding.Declared[binding.Fields[i]]
		all[i] = newFieldIn(t, f, own.Path)
		all[i].convertTo(own)
	}
	return all
}

// lackedHandles returns the offsets in a struct of type t of the handles that the server lacks.
func lackedHandles(t reflect.Type, binding *schema.Binding) (offsets []uintptr) {
	for i := range binding.Declared {
		if f := &binding.Declared[i]; t != nil && f.Type == schema.TypeHandle && !slices.Contains(binding.Fields, i) {
			_, offset := locate(t, f.Path)
			offsets = append(offsets, offset)
		}
	}
	return offsets
}

// convertTo sets the memory of f, a field of the server, for a struct that declares it as own.
func (f *field) convertTo(own *schema.Field) {
	switch f.Type {
	case schema.TypeUint, schema.TypeInt, schema.TypeEnum:
		if f.Type != own.Type || f.Bits != own.Bits || f.Max != own.Max {
			f.own, f.top, f.memory = f.memory, own.Max, memInteger
		}
	case schema.TypeFloat, schema.TypeRange, schema.TypeAngle:
		switch {
		case f.memory == memFloat32 && !f.fitsFloat32():
			f.memory = memNarrow
		case f.memory == memFloat64 && f.Kind == schema.KindRaw32:
			f.memory = memWide
		}
	}
}

// fitsFloat32 reports whether a float32 resolves all numbers of f: each, restored, quantises to
// itself.
func (f *field) fitsFloat32() bool {
	const digits = 24 // of a float32, in bits
	switch {
	case f.angle:
		return f.Bits <= digits-2
	case f.ranged:
		far := max(math.Abs(f.Low), math.Abs(f.value(f.Max)))
		return far <= math.MaxFloat32 && f.Step >= math.Ldexp(far, 1-digits)
	}
	return f.Kind == schema.KindRaw32
}

// quantiseBound quantises a field that the struct lacks, as 0, or has in another form.
func (f *field) quantiseBound(at unsafe.Pointer, to []uint32) {
	switch f.memory {
	case memNone:
		var zero [2]uint64
		alone := []field{*f}
		alone[0].memory, alone[0].offset = defaultMemory(&f.Field), 0
		quantise(alone, f.Index, unsafe.Pointer(&zero), to)
	case memInteger:
		f.quantiseConverted(at, to)
	default:
		f.quantiseFloat(f.load(at), to)
	}
}

func (f *field) quantiseFloat(x float64, to []uint32) {
	switch {
	case f.ranged:
		to[0] = f.number(x)
	case f.angle:
		to[0] = f.turn(x)
	case f.Kind == schema.KindRaw64:
		putUint64(to, math.Float64bits(x))
	default:
		to[0] = math.Float32bits(narrow(x))
	}
}

// narrow rounds to float32. A finite number beyond its range becomes the largest.
func narrow(x float64) float32 {
	if !math.IsInf(x, 0) {
		x = min(max(x, -math.MaxFloat32), math.MaxFloat32)
	}
	return float32(x)
}

// restoreBound restores a field that the struct has in another form.
func (f *field) restoreBound(at unsafe.Pointer, from []uint32) {
	switch f.memory {
	case memNone:
	case memInteger:
		f.restoreConverted(at, from)
	default:
		f.store(at, f.float(from))
	}
}

// float returns the number of a float field.
func (f *field) float(from []uint32) float64 {
	switch {
	case f.ranged:
		return f.value(from[0])
	case f.angle:
		return f.radians(from[0])
	case f.Kind == schema.KindRaw64:
		return math.Float64frombits(getUint64(from))
	}
	return float64(math.Float32frombits(from[0]))
}

// quantiseConverted quantises an integer of another form than the server's.
func (f *field) quantiseConverted(at unsafe.Pointer, to []uint32) {
	own := field{memory: f.own}
	low, high := f.limits()
	var v uint64
	if f.own <= memInt64 {
		v = clampSigned(own.loadSigned(at), low, high)
	} else {
		v = min(own.loadUnsigned(at), high)
	}
	switch {
	case f.Kind == schema.KindRaw64:
		putUint64(to, v)
	case f.signed():
		to[0] = uint32(v) & f.Max
	default:
		to[0] = uint32(v)
	}
}

// restoreConverted restores an integer to a struct that declares it in another form than the
// server's.
func (f *field) restoreConverted(at unsafe.Pointer, from []uint32) {
	own := field{memory: f.own, Field: schema.Field{Type: schema.TypeUint, Kind: schema.KindNumber, Max: f.top}}
	if f.own <= memInt64 {
		own.Type = schema.TypeInt
	}
	if f.top == 0 {
		own.Kind = schema.KindRaw64
	}
	low, high := own.limits()
	v := f.integer(from)
	if f.signed() {
		v = clampSigned(int64(v), low, high)
	} else {
		v = min(v, high)
	}
	own.storeInteger(at, v)
}

// limits returns the least number of an integer field, and the greatest.
func (f *field) limits() (low int64, high uint64) {
	switch wide := f.Kind == schema.KindRaw64; {
	case wide && f.signed():
		return math.MinInt64, math.MaxInt64
	case wide:
		return 0, math.MaxUint64
	case f.signed():
		return -int64(f.Max/2) - 1, uint64(f.Max / 2)
	}
	return 0, uint64(f.Max)
}

// clampSigned returns v within limits.
func clampSigned(v, low int64, high uint64) uint64 {
	if v < 0 {
		return uint64(max(v, low))
	}
	return min(uint64(v), high)
}

// nearestInStruct returns want, a value of the server, as the struct can hold it. The result may be
// in scratch.
func (f *field) nearestInStruct(want []uint32, scratch *[2]uint32) []uint32 {
	switch f.memory {
	case memNarrow, memWide, memInteger:
		var memory uint64
		f.restoreBound(unsafe.Pointer(&memory), want)
		f.quantiseBound(unsafe.Pointer(&memory), scratch[:])
		return scratch[:len(want)]
	}
	return want
}

// initials holds the defaults of the fields that the server's schema lacks.
type initials struct {
	of     reflect.Value // a struct with these values
	fields []memberOf
}

// memberOf is a member of a struct.
type memberOf struct {
	offset, size uintptr
	text         *textField // nil: the member has no pointers
}

// newInitials returns the initial values of a struct of type t, nil if all are zero. A rotation that
// is zero becomes the identity.
func newInitials(t reflect.Type, binding *schema.Binding) *initials {
	if binding == nil {
		return nil
	}
	s := &initials{of: reflect.New(t)}
	if binding.Default != nil {
		s.of.Elem().Set(reflect.ValueOf(binding.Default))
	}
	for i := range binding.Declared {
		f := &binding.Declared[i]
		isRotation := f.Type == schema.TypeRotation
		if slices.Contains(binding.Fields, i) || binding.Default == nil && !isRotation {
			continue
		}
		of, offset := locate(t, f.Path)
		s.fields = append(s.fields, memberOf{offset, of.Size(), nil})
		member := reflect.NewAt(of, unsafe.Add(s.of.UnsafePointer(), offset)).Elem()
		if isRotation && member.IsZero() {
			member.Index(3).SetFloat(1)
		}
	}
	for i := range binding.DeclaredTexts {
		if binding.Default != nil && !slices.Contains(binding.Texts, i) {
			f := newTexts(t, binding.DeclaredTexts[i:i+1], nil)
			s.fields = append(s.fields, memberOf{text: &f[0]})
		}
	}
	if len(s.fields) == 0 {
		return nil
	}
	return s
}

// NewUnserved returns component i of s, the caller's schema, as bound to a server that lacks all its
// fields.
func NewUnserved(s *schema.Schema, i int) *Component {
	spec := s.Components()[i]
	lacking := &schema.Binding{Declared: spec.Fields, DeclaredTexts: spec.TextFields, Default: spec.Default}
	return &Component{name: spec.Name, pointer: reflect.PointerTo(spec.Type), initials: newInitials(spec.Type, lacking)}
}

// Initialise sets the fields that the server lacks to the caller's defaults. v points to a struct of
// the component's type.
func (c *Component) Initialise(v any) {
	if c.initials != nil {
		c.initials.copyTo(c.structAt(v))
	}
}

// copyTo sets the fields that the server lacks in the struct at p.
func (s *initials) copyTo(p unsafe.Pointer) {
	of := s.of.UnsafePointer()
	for _, m := range s.fields {
		if m.text != nil {
			m.text.set(p, m.text.get(of))
			continue
		}
		copy(unsafe.Slice((*byte)(unsafe.Add(p, m.offset)), m.size), unsafe.Slice((*byte)(unsafe.Add(of, m.offset)), m.size))
	}
}

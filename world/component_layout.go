package world

import (
	"fmt"
	"reflect"
	"unsafe"

	"github.com/worldd/worldd/internal/fieldtag"
)

// layout lists the numbers of a component type by offset. Hashes read values number by
// number, which ignores padding and byte order.
type layout struct {
	numbers    []number
	references []uintptr // offsets of the numbers that are handles
	textFields []textField
}

type number struct {
	offset uintptr
	kind   reflect.Kind
}

func layoutOf(t reflect.Type) (layout, error) {
	var l layout
	if err := l.walk(t, 0, t.String()); err != nil {
		return layout{}, err
	}
	return l, nil
}

func (l *layout) walk(t reflect.Type, offset uintptr, path string) error {
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if f.Name == "_" && f.Type.Size() != 0 && !holdsPointers(f.Type) {
				continue // explicit padding
			}
			if _, err := formerNames(f); err != nil {
				return fmt.Errorf("%s.%s: %w", path, f.Name, err)
			}
			if err := l.walk(f.Type, offset+f.Offset, path+"."+f.Name); err != nil {
				return err
			}
		}
		return nil
	case reflect.Array:
		if t.Len() == 0 {
			return nil
		}
		for i := range t.Len() {
			if err := l.walk(t.Elem(), offset+uintptr(i)*t.Elem().Size(), fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
		return nil
	}
	if isText(t) {
		l.textFields = append(l.textFields, textField{offset, t.Kind() == reflect.Slice})
		return nil
	}
	if t == reflect.TypeFor[Entity]() {
		l.references = append(l.references, offset)
	}
	switch t.Kind() {
	case reflect.Bool,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		l.numbers = append(l.numbers, numbers(t.Kind(), offset)...)
		return nil
	}
	return fmt.Errorf("%s is a %s, which refers to other memory; use numbers, booleans, strings, []byte, arrays and structs of these, and bulk.Handle for references to entities", path, t)
}

// formerNames returns the names in the tag was:"A,B" of a struct field.
func formerNames(f reflect.StructField) ([]string, error) {
	text, tagged, err := fieldtag.Was.Lookup(f.Tag)
	if err != nil || !tagged {
		return nil, err
	}
	names := fieldtag.FormerNames(text)
	if names == nil {
		return nil, fmt.Errorf("tag `was:%q`: want former names of the field, separated by commas", text)
	}
	return names, nil
}

func numbers(k reflect.Kind, offset uintptr) []number {
	switch k {
	case reflect.Complex64:
		return []number{{offset, reflect.Float32}, {offset + 4, reflect.Float32}}
	case reflect.Complex128:
		return []number{{offset, reflect.Float64}, {offset + 8, reflect.Float64}}
	}
	return []number{{offset, k}}
}

// holdsPointers reports whether a type, even as a blank field, cannot be stored.
func holdsPointers(t reflect.Type) bool {
	l, err := layoutOf(t)
	return err != nil || len(l.textFields) > 0
}

func (l layout) hash(h hash, p unsafe.Pointer) hash {
	for _, n := range l.numbers {
		h = h.add(n.load(unsafe.Add(p, n.offset)))
	}
	for _, f := range l.textFields {
		h = h.text(f.get(p))
	}
	return h
}

// load returns the value as 64 bits, sign-extended. All NaNs map to one value, because the
// payload of a computed NaN differs between machines.
func (n number) load(p unsafe.Pointer) uint64 {
	switch n.kind {
	case reflect.Bool, reflect.Uint8:
		return uint64(*(*uint8)(p))
	case reflect.Int8:
		return uint64(*(*int8)(p))
	case reflect.Int16:
		return uint64(*(*int16)(p))
	case reflect.Uint16:
		return uint64(*(*uint16)(p))
	case reflect.Int32:
		return uint64(*(*int32)(p))
	case reflect.Uint32:
		return uint64(*(*uint32)(p))
	case reflect.Int:
		return uint64(*(*int)(p))
	case reflect.Uint:
		return uint64(*(*uint)(p))
	case reflect.Float32:
		return float32Bits(*(*float32)(p))
	case reflect.Float64:
		return float64Bits(*(*float64)(p))
	}
	return *(*uint64)(p)
}

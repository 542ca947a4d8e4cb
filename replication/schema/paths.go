package schema

import (
	"strconv"
	"strings"
)

// paths are the parts of an item's paths, which describe one struct: each part is either a field,
// or a struct, or an array.
type paths map[string]part

type part struct {
	form partForm
	size int // elements of an array
}

type partForm uint8

const (
	unknownPart partForm = iota
	fieldPart
	structPart
	arrayPart
)

// add adds a path, NAME{[N]}{.NAME{[N]}}. It returns false if the path has another form, or
// describes a part in another form than earlier paths do. The elements of an array begin in
// order, from 0.
func (p paths) add(path string) bool {
	for at := 0; ; at++ { // at each name
		name := strings.IndexAny(path[at:]+".", ".[]")
		if name == 0 {
			return false
		}
		at += name
		for at < len(path) && path[at] == '[' {
			digits, _, closed := strings.Cut(path[at+1:], "]")
			if !closed || !p.addElement(path[:at], digits) {
				return false
			}
			at += len(digits) + 2
		}
		if at == len(path) {
			return p.note(path, fieldPart)
		}
		if path[at] != '.' || !p.note(path[:at], structPart) {
			return false
		}
	}
}

// note returns false if a part is known in another form, or as a field.
func (p paths) note(path string, form partForm) bool {
	known := p[path]
	if known.form == unknownPart {
		p[path] = part{form: form}
		return true
	}
	return known.form == form && form != fieldPart
}

// addElement returns false unless the array has element n, or n is its next element.
func (p paths) addElement(array, digits string) bool {
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || digits != strconv.FormatUint(n, 10) || !p.note(array, arrayPart) {
		return false
	}
	size := p[array].size
	p[array] = part{arrayPart, max(size, int(n)+1)}
	return int(n) <= size
}

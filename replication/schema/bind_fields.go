package schema

import (
	"slices"
	"strconv"
)

// form is the wire form of a component or a message. Its fields are numbered from 0; text fields
// follow the others.
type form struct {
	fields []Field
	texts  []TextField
	parent string              // the parent line; empty: none
	was    map[string][]string // former paths by path
	absent any                 // see Binding.Default
}

func (c *Component) form() form {
	f := form{c.Fields, c.TextFields, "", c.was, c.Default}
	if c.Parent >= 0 {
		f.parent = firstLine(c.appendParent(nil))
	}
	return f
}

func (m *Message) form() form { return form{m.Fields, m.TextFields, "", m.was, m.absent} }

func (f *form) len() int { return len(f.fields) + len(f.texts) }

func (f *form) path(i int) string {
	if i < len(f.fields) {
		return f.fields[i].Path
	}
	return f.texts[i-len(f.fields)].Path
}

// line returns the line of field i in Text.
func (f *form) line(i int) string {
	if i < len(f.fields) {
		return firstLine(f.fields[i].appendText(nil))
	}
	return firstLine(f.texts[i-len(f.fields)].appendText(nil))
}

// equals reports whether two items have the same lines.
func (f *form) equals(g *form) bool {
	return f.parent == g.parent && slices.EqualFunc(f.fields, g.fields, isSameField) && slices.EqualFunc(f.texts, g.texts, isSameText)
}

// isSameField reports whether two fields have the same line.
func isSameField(a, b Field) bool { return a.Path == b.Path && hasSameForm(a, b) }

// hasSameForm reports whether two fields have the same line but for the path.
func hasSameForm(a, b Field) bool {
	a.Path, a.Index, a.Vector = b.Path, b.Index, b.Vector
	return a == b
}

// isSameText reports whether two text fields have the same line.
func isSameText(a, b TextField) bool {
	a.Component = b.Component
	return a == b
}

// family is a set of field types whose values convert into each other.
type family uint8

const (
	bools family = iota
	integers
	floats
	handles
	rotations
	texts
)

func (f *form) familyOf(i int) family {
	if i >= len(f.fields) {
		return texts
	}
	switch f.fields[i].Type {
	case TypeBool:
		return bools
	case TypeFloat, TypeRange, TypeAngle:
		return floats
	case TypeHandle:
		return handles
	case TypeRotation:
		return rotations
	}
	return integers
}

// pairFields returns for each field of own the number of the peer's field, -1 if the peer has
// none.
func pairFields(peer, own *form) []int {
	byPath := make(map[string]int, peer.len())
	for i := range peer.len() {
		byPath[peer.path(i)] = i
	}
	pairs := slices.Repeat([]int{-1}, own.len())
	for i := range pairs {
		if to, found := byPath[own.path(i)]; found {
			pairs[i] = to
			delete(byPath, own.path(i))
		}
	}
	for i := range pairs { // a former path finds only fields that no present path has found
		for _, was := range own.was[own.path(i)] {
			if to, found := byPath[was]; found && pairs[i] < 0 {
				pairs[i] = to
				delete(byPath, was)
			}
		}
	}
	return pairs
}

// bindFields returns the binding of the peer's item to a declared one, nil if they are the same.
func (b *binder) bindFields(peer, own form, item string) *Binding {
	if peer.equals(&own) {
		return nil
	}
	by := &Binding{
		Fields: slices.Repeat([]int{-1}, len(peer.fields)), Texts: slices.Repeat([]int{-1}, len(peer.texts)),
		Declared: slices.Clone(own.fields), DeclaredTexts: slices.Clone(own.texts), Default: own.absent,
	}
	all := make([]bool, peer.len())
	last, reordered := -1, false
	for i, to := range pairFields(&peer, &own) {
		if to < 0 {
			b.noteChange(item, "field added %s", own.path(i))
			continue
		}
		all[to] = true
		reordered = reordered || to < last
		last = max(last, to)
		switch {
		case !b.compareField(&peer, to, &own, i, item):
		case i < len(own.fields):
			by.Fields[to] = i
		default:
			by.Texts[to-len(peer.fields)] = i - len(own.fields)
		}
	}
	for i, paired := range all {
		if !paired {
			b.noteChange(item, "field dropped %s", peer.path(i))
		}
	}
	if peer.parent != own.parent {
		b.noteChange(item, "parent changed: server %s, client %s", quoteLine(peer.parent), quoteLine(own.parent))
	}
	if reordered {
		b.noteChange(item, "fields reordered")
	}
	return by
}

// compareField notes how a declared field differs from the peer's, and returns false for a
// misfit.
func (b *binder) compareField(peer *form, to int, own *form, i int, item string) bool {
	if peer.familyOf(to) != own.familyOf(i) {
		b.misfits = append(b.misfits, Misfit{item, own.line(i), peer.line(to)})
		return false
	}
	was, is := peer.path(to), own.path(i)
	if was != is {
		b.noteChange(item, "field renamed %s to %s", was, is)
	}
	theirs, ours := peer.line(to), own.line(i)
	if theirs[len(was):] != ours[len(is):] {
		b.noteChange(item, "field changed: server %q, client %q", theirs, ours)
	}
	return true
}

func quoteLine(line string) string {
	if line == "" {
		return "none"
	}
	return strconv.Quote(line)
}

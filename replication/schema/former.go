package schema

import (
	"reflect"
	"slices"
	"strings"

	"github.com/worldd/worldd/internal/fieldtag"
)

// maxFormer bounds the former paths of a field, which nested structs multiply.
const maxFormer = 16

// noteFormer records the names in the tag was:"A,B" of a struct field.
func (p *planner) noteFormer(f reflect.StructField, path string) error {
	text, tagged, err := fieldtag.Was.Lookup(f.Tag)
	if err != nil {
		return p.complain(path, f.Type, "%v", err)
	}
	if !tagged {
		return nil
	}
	names := strings.Split(text, ",")
	for _, name := range names {
		if !isWord(name) || strings.ContainsAny(name, ".[]") {
			return p.complain(path, f.Type, "tag `was:%q`: want former names of the field, separated by commas", text)
		}
	}
	if p.was == nil {
		p.was = map[string][]string{}
	}
	p.was[path] = names
	return nil
}

// formerPaths returns the former paths of the planned fields, by path.
func (p *planner) formerPaths(t reflect.Type) (map[string][]string, error) {
	if len(p.was) == 0 {
		return nil, nil
	}
	all := map[string][]string{}
	for i := range len(p.fields) + len(p.texts) {
		path := (&form{fields: p.fields, texts: p.texts}).path(i)
		former := p.formerOf(path)
		if len(former) > maxFormer {
			return nil, p.complain(path, t, "has %d former paths, at most %d are allowed: remove old names", len(former), maxFormer)
		}
		if len(former) > 0 {
			all[path] = former
		}
	}
	return all, nil
}

// formerOf returns the former paths of a path: all combinations of the names that its struct
// fields had, the present ones first.
func (p *planner) formerOf(path string) []string {
	combined, prefix := []string{""}, ""
	for step := range strings.SplitSeq(path, ".") {
		name, indices := step, ""
		if open := strings.IndexByte(step, '['); open >= 0 {
			name, indices = step[:open], step[open:]
		}
		var next []string
		for _, name := range append([]string{name}, p.was[prefix+name]...) {
			for _, before := range combined {
				next = append(next, before+name+indices)
				if len(next) > maxFormer+1 {
					return next
				}
			}
		}
		prefix += step + "."
		for i := range next {
			next[i] += "."
		}
		combined = next
	}
	for i := range combined {
		combined[i] = strings.TrimSuffix(combined[i], ".")
	}
	return slices.DeleteFunc(combined, func(former string) bool { return former == path })
}

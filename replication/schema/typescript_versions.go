package schema

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// tsForm is an item as the options of declareSchema name it.
type tsForm struct {
	item string
	form
}

// tsForms returns all items that may have former paths or defaults.
func (s *Schema) tsForms() []tsForm {
	var all []tsForm
	add := func(m *Message, item, name string) {
		if m != nil {
			all = append(all, tsForm{item + name, m.form()})
		}
	}
	for i := range s.components {
		all = append(all, tsForm{"component " + quoteName(s.components[i].Name), s.components[i].form()})
	}
	add(s.input, "input", "")
	for i := range s.commands {
		c := &s.commands[i]
		add(c.Args, "command ", quoteName(c.Name))
		add(c.Answer, "answer of command ", quoteName(c.Name))
	}
	for i := range s.events {
		add(s.events[i].Message, "event ", quoteName(s.events[i].Name))
	}
	return all
}

// quoteName quotes a name as JSON.stringify does: without escapes other than for quotes and backslashes.
func quoteName(name string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name) + `"`
}

// tsOptions returns the second argument of declareSchema: former paths and defaults, which Text
// lacks. It is empty if there are none.
func (s *Schema) tsOptions() string {
	var was, defaults strings.Builder
	for _, f := range s.tsForms() {
		writeEntry(&was, f.item, f.tsFormer())
		writeEntry(&defaults, f.item, f.tsDefaults())
	}
	if was.Len()+defaults.Len() == 0 {
		return ""
	}
	return ", {\n" + section("was", was.String()) + section("defaults", defaults.String()) + "}"
}

func section(name, entries string) string {
	if entries == "" {
		return ""
	}
	return "  " + name + ": {\n" + entries + "  },\n"
}

func writeEntry(b *strings.Builder, item string, properties []string) {
	if len(properties) > 0 {
		fmt.Fprintf(b, "    %s: { %s },\n", tsString(item), strings.Join(properties, ", "))
	}
}

// tsFormer returns the former paths of the fields as properties.
func (f *form) tsFormer() []string {
	var all []string
	for i := range f.len() {
		path := f.path(i)
		if was := f.was[path]; len(was) > 0 {
			quoted := make([]string, len(was))
			for i := range was {
				quoted[i] = tsString(was[i])
			}
			all = append(all, tsKey(path)+": ["+strings.Join(quoted, ", ")+"]")
		}
	}
	return all
}

// tsDefaults returns the default of each field that is not zero as a property. A handle names an
// entity of one world, and is no default.
func (f *form) tsDefaults() []string {
	if f.absent == nil {
		return nil
	}
	var all []string
	for i := range f.len() {
		v := valueAt(reflect.ValueOf(f.absent), f.path(i))
		if f.familyOf(i) != handles && !v.IsZero() {
			all = append(all, tsKey(f.path(i))+": "+f.tsValue(i, v))
		}
	}
	return all
}

// valueAt returns the part of a struct that a path names.
func valueAt(v reflect.Value, path string) reflect.Value {
	for _, part := range tsPathParts(path) {
		if !isIndex(part) {
			v = v.FieldByName(part)
			continue
		}
		i, _ := strconv.Atoi(strings.Trim(part, "[]")) // paths name elements of their arrays
		v = v.Index(i)
	}
	return v
}

// tsValue returns the literal of a value of field i.
func (f *form) tsValue(i int, v reflect.Value) string {
	switch v.Kind() {
	case reflect.String:
		return tsString(v.String())
	case reflect.Slice:
		return "Uint8Array.of(" + tsElements(v) + ")"
	case reflect.Array: // a quaternion
		return "[" + tsElements(v) + "]"
	}
	literal := tsNumber(v)
	if t := f.fields[i].Type; f.fields[i].Kind == KindRaw64 && t != TypeFloat {
		literal += "n"
	}
	return literal
}

// tsNumber returns the literal of a number or a bool, whatever its type prints. A float32 is the
// double that it stands for, to which clients restore it.
func tsNumber(v reflect.Value) string {
	switch {
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10)
	case v.CanUint():
		return strconv.FormatUint(v.Uint(), 10)
	case v.CanFloat(): // NaN is a name in both languages
		return strings.TrimPrefix(strings.Replace(strconv.FormatFloat(v.Float(), 'g', -1, 64), "Inf", "Infinity", 1), "+")
	}
	return strconv.FormatBool(v.Bool())
}

// tsElements returns the numbers in a list, separated by commas.
func tsElements(v reflect.Value) string {
	all := make([]string, v.Len())
	for i := range all {
		all[i] = tsNumber(v.Index(i))
	}
	return strings.Join(all, ", ")
}

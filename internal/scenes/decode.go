package scenes

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// decoder fills a File from a YAML tree. It replaces the library's decoder in order to
// record each value's position and to convert nothing: "5" is not 5, and 1.5 is not 1.
type decoder struct {
	complaints
	places map[string]place
}

func (d *decoder) wrong(node ast.Node, path, expected string) {
	if n, ok := node.(*ast.NullNode); ok {
		d.add(placeOf(n.Token), path, path+" has no value", expected)
		return
	}
	d.add(placeOf(start(node)), path, fmt.Sprintf("%s is %s", nameOf(path), describe(node)), expected)
}

// nameOf returns a path's name for messages; the root has none.
func nameOf(path string) string {
	if path == "" {
		return "the file"
	}
	return path
}

func (d *decoder) value(node ast.Node, path string, v reflect.Value, block bool) {
	if path != "" {
		d.places[path] = placeOf(start(node))
	}
	if r, ok := v.Addr().Interface().(defaulter); ok {
		r.defaults()
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.value(node, path, v.Elem(), false)
	case reflect.Struct:
		d.mapping(node, path, v)
	case reflect.Slice:
		if tagged(v.Type().Elem(), ",key") >= 0 {
			d.named(node, path, v)
		} else {
			d.list(node, path, v)
		}
	case reflect.Array:
		d.array(node, path, v)
	case reflect.String:
		d.text(node, path, v, block)
	default:
		d.scalar(node, path, v)
	}
}

func (d *decoder) scalar(node ast.Node, path string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		if n, ok := node.(*ast.BoolNode); ok {
			v.SetBool(n.Value)
			return
		}
		d.wrong(node, path, "true or false")
	case reflect.Int:
		if n, ok := node.(*ast.IntegerNode); ok {
			switch i := n.Value.(type) {
			case int64:
				if !v.OverflowInt(i) {
					v.SetInt(i)
					return
				}
			case uint64:
				if i <= math.MaxInt64 && !v.OverflowInt(int64(i)) {
					v.SetInt(int64(i))
					return
				}
			}
		}
		d.wrong(node, path, "a whole number")
	case reflect.Uint64:
		if n, ok := node.(*ast.IntegerNode); ok {
			switch i := n.Value.(type) {
			case int64:
				if i >= 0 {
					v.SetUint(uint64(i))
					return
				}
			case uint64:
				v.SetUint(i)
				return
			}
		}
		d.wrong(node, path, "a whole number from 0 to 2^64-1")
	case reflect.Float32, reflect.Float64:
		if x, ok := number(node); ok && (v.Kind() == reflect.Float64 || math.Abs(x) <= math.MaxFloat32) {
			v.SetFloat(x)
			return
		}
		d.wrong(node, path, "a number")
	default:
		panic("scenes: a world file has no values of type " + v.Type().String())
	}
}

func number(node ast.Node) (float64, bool) {
	switch n := node.(type) {
	case *ast.FloatNode:
		return n.Value, !math.IsNaN(n.Value) && !math.IsInf(n.Value, 0)
	case *ast.IntegerNode:
		switch i := n.Value.(type) {
		case int64:
			return float64(i), true
		case uint64:
			return float64(i), true
		}
	case *ast.StringNode:
		// The parser treats 1e3 and integers above 2^64 as strings; YAML and operators
		// treat them as numbers.
		if n.Token.Type == token.StringType && strings.Trim(n.Value, "0123456789.eE+-") == "" {
			x, err := strconv.ParseFloat(n.Value, 64)
			return x, err == nil
		}
	}
	return 0, false
}

func (d *decoder) text(node ast.Node, path string, v reflect.Value, block bool) {
	switch n := node.(type) {
	case *ast.LiteralNode:
		if block && strings.HasPrefix(n.Start.Value, "|") {
			d.block(n, path)
			v.SetString(n.Value.Value)
			return
		}
	case *ast.StringNode:
		if !block && d.oneLine(n) {
			v.SetString(n.Value)
			return
		}
	}
	if block {
		d.wrong(node, path, "a literal block: `|` and then the text, indented, on the lines below")
		return
	}
	d.wrong(node, path, "a text on one line")
}

// block records where the lines of a literal block begin, so that an error inside an
// effect is reported at its place in the file.
func (d *decoder) block(n *ast.LiteralNode, path string) {
	p := d.places[path]
	p.blockLine = p.line + 1
	for i, line := range strings.Split(n.Value.Value, "\n") {
		if strings.TrimSpace(line) == "" || p.line+i >= len(d.lines) {
			continue
		}
		p.blockIndent = max(spaces(d.lines[p.line+i])-spaces(line), 0)
		break
	}
	d.places[path] = p
}

func spaces(s string) int { return len(s) - len(strings.TrimLeft(s, " ")) }

// oneLine rejects plain strings over several lines: they are usually indentation mistakes,
// and positions inside them are unknown.
func (d *decoder) oneLine(n *ast.StringNode) bool {
	if n.Token.Type != token.StringType {
		return !strings.Contains(n.Value, "\n")
	}
	p := placeOf(n.Token)
	return p.line <= len(d.lines) && strings.Contains(d.lines[p.line-1], n.Value)
}

// array decodes [x, y, z]. Four numbers, as in effects' parameters, may also be given
// as three (the last is 0) or one (all are equal).
func (d *decoder) array(node ast.Node, path string, v reflect.Value) {
	vec4 := v.Len() == 4
	expected := fmt.Sprintf("a list of %d numbers", v.Len())
	if vec4 {
		expected = "a number, or a list of 3 or 4 numbers"
		if x, ok := number(node); ok && math.Abs(x) <= math.MaxFloat32 {
			for i := range v.Len() {
				v.Index(i).SetFloat(x)
			}
			return
		}
	}
	n, ok := node.(*ast.SequenceNode)
	if !ok || len(n.Values) != v.Len() && (!vec4 || len(n.Values) != 3) {
		d.wrong(node, path, expected)
		return
	}
	for i, x := range n.Values {
		d.value(x, fmt.Sprintf("%s[%d]", path, i), v.Index(i), false)
	}
}

func (d *decoder) list(node ast.Node, path string, v reflect.Value) {
	n, ok := node.(*ast.SequenceNode)
	if !ok {
		d.wrong(node, path, "a list: lines that begin with `- `")
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Values), len(n.Values)))
	for i, x := range n.Values {
		d.value(x, fmt.Sprintf("%s[%d]", path, i), v.Index(i), false)
	}
}

// named decodes a mapping from names into a slice, in file order.
func (d *decoder) named(node ast.Node, path string, v reflect.Value) {
	pairs, ok := pairsOf(node)
	if !ok {
		d.wrong(node, path, "a mapping: `name: ...` on the lines below, indented")
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(pairs), len(pairs)))
	elem := v.Type().Elem()
	for i, pair := range pairs {
		key, ok := d.key(pair, path)
		if !ok {
			continue
		}
		target, whole := v.Index(i), v.Index(i)
		if j := tagged(elem, ",value"); j >= 0 {
			target = whole.Field(j)
		}
		at := path + "." + key
		d.value(pair.Value, at, target, false)
		d.places[at+"#"] = placeOf(start(pair.Key))
		whole.Field(tagged(elem, ",key")).SetString(key)
	}
}

// mapping decodes a mapping with fixed keys into a struct.
func (d *decoder) mapping(node ast.Node, path string, v reflect.Value) {
	pairs, ok := pairsOf(node)
	if !ok {
		d.wrong(node, path, "a mapping with the keys "+strings.Join(keys(v.Type()), ", "))
		return
	}
	for _, pair := range pairs {
		key, ok := d.key(pair, path)
		if !ok {
			continue
		}
		i, block := fieldOf(v.Type(), key)
		if i < 0 {
			where := path
			if where == "" {
				where = "the world file"
			}
			d.add(placeOf(start(pair.Key)), path, fmt.Sprintf("unknown key %q in %s", key, where), suggest(key, keys(v.Type())))
			continue
		}
		at := key
		if path != "" {
			at = path + "." + key
		}
		d.value(pair.Value, at, v.Field(i), block)
	}
}

func (d *decoder) key(pair *ast.MappingValueNode, path string) (string, bool) {
	n, ok := pair.Key.(*ast.StringNode)
	if !ok {
		d.add(placeOf(start(pair.Key)), path, fmt.Sprintf("a key of %s is %s", nameOf(path), describe(pair.Key)), "a name (in quotes, if it looks like something else)")
		return "", false
	}
	return n.Value, true
}

func pairsOf(node ast.Node) ([]*ast.MappingValueNode, bool) {
	switch n := node.(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	}
	return nil, false
}

// start returns a node's first token. A block mapping's own token is its first colon;
// it begins at its first key.
func start(node ast.Node) *token.Token {
	switch n := node.(type) {
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return n.Values[0].Key.GetToken()
		}
	case *ast.MappingValueNode:
		return n.Key.GetToken()
	}
	return node.GetToken()
}

// describe describes a node, for "x is ...".
func describe(node ast.Node) string {
	switch n := node.(type) {
	case *ast.NullNode:
		return "empty"
	case *ast.BoolNode:
		return fmt.Sprintf("the truth value %t", n.Value)
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "the number " + shorten(node.GetToken().Value)
	case *ast.StringNode:
		if _, ok := number(n); ok {
			return "the number " + shorten(n.Value)
		}
		return fmt.Sprintf("the text %q", shorten(n.Value))
	case *ast.LiteralNode:
		return "a block of text"
	case *ast.SequenceNode:
		return fmt.Sprintf("a list of %d", len(n.Values))
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	}
	return "something else"
}

func shorten(s string) string {
	const most = 40
	if utf8.RuneCountInString(s) > most {
		return string([]rune(s)[:most]) + "..."
	}
	return s
}

func tag(f reflect.StructField) string { return f.Tag.Get("yaml") }

// tagged returns the index of the field with this tag, or -1.
func tagged(t reflect.Type, want string) int {
	for i := range t.NumField() {
		if tag(t.Field(i)) == want {
			return i
		}
	}
	return -1
}

// keys lists the keys of a mapping that decodes into t.
func keys(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(tag(t.Field(i)), ","); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// fieldOf returns the index of a key's field, and whether it is a literal block.
func fieldOf(t reflect.Type, key string) (index int, block bool) {
	for i := range t.NumField() {
		if name, option, _ := strings.Cut(tag(t.Field(i)), ","); name != "" && name == key {
			return i, option == "block"
		}
	}
	return -1, false
}

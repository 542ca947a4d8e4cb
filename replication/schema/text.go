package schema

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/worldd/worldd/bulk"
)

// Hash identifies the schema: names, order, fields, kinds and quantisation. It
// is FNV-1a, 64 bits, over Text.
func (s *Schema) Hash() uint64 { return fnv(s.Text()) }

func fnv(text string) uint64 {
	const offset, prime = 0xcbf29ce484222325, 0x100000001b3
	h := uint64(offset)
	for _, c := range []byte(text) {
		h = (h ^ uint64(c)) * prime
	}
	return h
}

// Text returns the canonical text of the schema, as defined in PROTOCOL.md. If two hashes
// differ, comparing the texts shows why.
func (s *Schema) Text() string {
	b := []byte("worldd schema 1\n")
	for i := range s.components {
		b = s.appendText(b, i)
	}
	return string(b)
}

// Outline lists the components in order, each with four hexadecimal digits that hash its
// Text: "body 36c2, health 9e01". If two hashes differ and only one text is available, it
// shows which component differs.
func (s *Schema) Outline() string {
	var parts []string
	for i := range s.components {
		parts = append(parts, s.components[i].Name+" "+s.digits(i))
	}
	return strings.Join(parts, ", ")
}

// OutlineWithin returns Outline, or only the digits if that exceeds so many bytes. The
// digits of MaxComponents components take 159 bytes.
func (s *Schema) OutlineWithin(bytes int) string {
	if text := s.Outline(); len(text) <= bytes {
		return text
	}
	var parts []string
	for i := range s.components {
		parts = append(parts, s.digits(i))
	}
	return strings.Join(parts, " ")
}

// digits returns four digits that hash the Text of component i.
func (s *Schema) digits(i int) string {
	return fmt.Sprintf("%04x", uint16(fnv(string(s.appendText(nil, i)))))
}

// appendText appends the lines of component i.
func (s *Schema) appendText(b []byte, i int) []byte {
	c := &s.components[i]
	b = fmt.Appendf(b, "component %s\n", c.Name)
	for j := c.first; j < c.last; j++ {
		b = s.fields[j].appendText(b)
	}
	if c.Parent >= 0 {
		b = fmt.Appendf(b, "parent %s %s\n", s.fields[c.first+c.Anchored].Path, s.fields[c.first+c.Parent].Path)
	}
	return b
}

func (f *Field) appendText(b []byte) []byte {
	b = append(append(b, f.Path...), ' ')
	switch {
	case f.Kind == KindRotation:
		b = fmt.Appendf(b, "quat %d", (f.Bits-2)/3)
	case f.angle:
		b = fmt.Appendf(b, "angle %d", f.Bits)
	case f.enum:
		b = fmt.Appendf(b, "enum %d", uint64(f.Max)+1)
	case f.Ranged:
		b = fmt.Appendf(b, "range %016x %016x %d", math.Float64bits(f.low), math.Float64bits(f.step), f.Max)
	case f.Kind == KindBool:
		b = append(b, "bool"...)
	case f.Kind == KindHandle:
		b = append(b, "ref"...)
	case f.memory == memFloat32:
		b = append(b, "float 32"...)
	case f.memory == memFloat64:
		b = append(b, "float 64"...)
	case f.signed():
		b = strconv.AppendUint(append(b, "int "...), uint64(f.Bits), 10)
	default:
		b = strconv.AppendUint(append(b, "uint "...), uint64(f.Bits), 10)
	}
	if f.Always {
		b = append(b, " always"...)
	}
	if f.Linear {
		b = append(b, " linear"...)
	}
	if f.Owner {
		b = append(b, " owner"...)
	}
	return append(b, '\n')
}

// Format returns the present components of row, field by field, as the values that Restore
// gives. Owner fields are included only if row.Owned is set.
func (s *Schema) Format(row Row) string {
	var b strings.Builder
	for i := range s.components {
		if row.Mask>>i&1 == 0 {
			continue
		}
		c := &s.components[i]
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(c.Name)
		b.WriteByte('{')
		gap := ""
		for j := c.first; j < c.last; j++ {
			if !s.fields[j].SentTo(row.Owned) {
				continue
			}
			b.WriteString(gap)
			gap = " "
			b.WriteString(s.fields[j].Path)
			b.WriteByte('=')
			b.WriteString(s.fields[j].format(row.Values))
		}
		b.WriteByte('}')
	}
	return b.String()
}

// format shows the value of one field.
func (f *Field) format(values []uint32) string {
	at := values[f.Index:]
	switch {
	case f.Kind == KindHandle:
		return bulk.NewHandle(at[0], at[1]).String()
	case f.Kind == KindBool:
		return strconv.FormatBool(at[0] != 0)
	case f.Kind == KindRotation:
		return fmt.Sprint(f.quaternion(at[0]))
	case f.angle:
		return strconv.FormatFloat(f.radians(at[0]), 'g', -1, 64)
	case f.Ranged:
		return strconv.FormatFloat(f.value(at[0]), 'g', -1, 64)
	case f.memory == memFloat32:
		return strconv.FormatFloat(float64(math.Float32frombits(at[0])), 'g', -1, 32)
	case f.memory == memFloat64:
		return strconv.FormatFloat(math.Float64frombits(getUint64(at)), 'g', -1, 64)
	case f.signed():
		return strconv.FormatInt(int64(f.integer(at)), 10)
	}
	return strconv.FormatUint(f.integer(at), 10)
}

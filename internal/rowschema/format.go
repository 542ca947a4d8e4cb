package rowschema

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/schema"
)

// Format returns the present components of row as text, field by field, with the values
// that Restore sets. Owner fields are included only if row.Owned is set. texts are the text
// fields of all components by number; nil leaves them out.
func (l *Layout) Format(row Row, texts []string) string {
	var b strings.Builder
	for i := range l.components {
		if row.Mask>>i&1 == 0 {
			continue
		}
		c := &l.components[i]
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(c.name)
		b.WriteByte('{')
		gap := ""
		for j := range c.fields {
			if !c.fields[j].isSentTo(row.Owned) {
				continue
			}
			b.WriteString(gap)
			gap = " "
			b.WriteString(c.fields[j].Path)
			b.WriteByte('=')
			b.WriteString(c.fields[j].format(row.Values))
		}
		c.formatTexts(&b, row.Owned, texts, gap)
		b.WriteByte('}')
	}
	return b.String()
}

// formatTexts appends the component's text fields. gap precedes the first. texts may be
// nil.
func (c *Component) formatTexts(b *strings.Builder, owned bool, texts []string, gap string) {
	for i := range c.texts {
		if f := &c.texts[i]; texts != nil && f.isSentTo(owned) {
			b.WriteString(gap)
			gap = " "
			b.WriteString(f.Path)
			b.WriteByte('=')
			b.WriteString(f.format(texts[c.firstText+i]))
		}
	}
}

// format shows the value of one field.
func (f *field) format(values []uint32) string {
	at := values[f.Index:]
	switch f.Type {
	case schema.TypeHandle:
		return bulk.NewHandle(at[0], at[1]).String()
	case schema.TypeBool:
		return strconv.FormatBool(at[0] != 0)
	case schema.TypeRotation:
		return fmt.Sprint(f.quaternion(at[0]))
	case schema.TypeAngle:
		return strconv.FormatFloat(f.radians(at[0]), 'g', -1, 64)
	case schema.TypeRange:
		return strconv.FormatFloat(f.value(at[0]), 'g', -1, 64)
	case schema.TypeFloat:
		if f.Kind == schema.KindRaw64 {
			return strconv.FormatFloat(math.Float64frombits(getUint64(at)), 'g', -1, 64)
		}
		return strconv.FormatFloat(float64(math.Float32frombits(at[0])), 'g', -1, 32)
	case schema.TypeInt:
		return strconv.FormatInt(int64(f.integer(at)), 10)
	}
	return strconv.FormatUint(f.integer(at), 10)
}

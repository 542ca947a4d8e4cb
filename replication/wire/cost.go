package wire

import (
	"strings"

	"github.com/worldd/worldd/internal/bitio"
)

// Cost writes row as Append does, and tells what each part of it takes, in bits:
// what says which of a component's fields changed, with an empty field, and each
// field, or each vector as a whole, by its path. It is for people who want to know
// what their components cost, and slower than Append.
func (c *Codec) Cost(w *bitio.Writer, row Row, past *Past, tell func(component, field string, bits int)) {
	if past == nil {
		c.schema.costFull(w, row, tell)
		return
	}
	c.schema.mustFit(row)
	var f forecast
	f.ratio = past.ratio()
	parts := c.partsOf(row.Owned)
	for i := range parts {
		if row.Mask>>i&1 == 0 {
			continue
		}
		p := &parts[i]
		name := c.schema.components[p.component].Name
		from := w.Bits()
		c.forecast(p, past, &f)
		written := c.appendHeads(w, p, row.Words, past, &f)&^p.silent | p.always
		tell(name, "", w.Bits()-from)
		for j := range p.units {
			from = w.Bits()
			if written>>j&1 != 0 {
				c.appendUnit(w, p, j, row.Words, past, &f)
			}
			tell(name, c.unitName(&p.units[j]), w.Bits()-from)
		}
	}
}

// unitName is the path of a unit's field, without the number of its element if
// there are more.
func (c *Codec) unitName(u *unit) string {
	path := u.fields[0].Path
	if u.kind == unitVector || u.kind == unitPosition {
		path, _, _ = strings.Cut(path, "[")
	}
	return path
}

// costFull is Cost without a past.
func (s *Schema) costFull(w *bitio.Writer, row Row, tell func(component, field string, bits int)) {
	s.mustFit(row)
	for i := range s.components {
		if row.Mask>>i&1 == 0 {
			continue
		}
		for j := s.components[i].first; j < s.components[i].last; j++ {
			from := w.Bits()
			if s.fields[j].SentTo(row.Owned) {
				s.fields[j].Append(w, row.Words)
			}
			tell(s.components[i].Name, s.fields[j].Path, w.Bits()-from)
		}
	}
}

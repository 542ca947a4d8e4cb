package rowtrain

import (
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/schema"
)

// Pricer encodes rows as its codec does and reports the bits of each part: the heads of a
// component, with an empty field, and each field, or each vector as a whole, by its path.
type Pricer struct {
	codec  *rowcodec.Codec
	fields [][]schema.Field
	report func(component, field string, bits int)
}

// NewPricer returns a Pricer for rows that c encodes.
func NewPricer(c *rowcodec.Codec, report func(component, field string, bits int)) *Pricer {
	p := &Pricer{codec: c.Observed(rowcodec.Observer{Cost: report}), report: report}
	for i := range c.Schema().Components() {
		p.fields = append(p.fields, c.Schema().Fields(i))
	}
	return p
}

// Append writes row relative to past, or in full if past is nil.
func (p *Pricer) Append(w *bitio.Writer, row rowschema.Row, past *rowcodec.Past) {
	if past != nil {
		p.codec.Append(w, row, past)
		return
	}
	for i, fields := range p.fields {
		if row.Mask>>i&1 == 0 {
			continue
		}
		for j := range fields {
			from := w.Bits()
			if fields[j].SentTo(row.Owned) {
				rowschema.AppendField(w, &fields[j], row.Values)
			}
			p.report(p.codec.Schema().Component(i).Name, fields[j].Path, w.Bits()-from)
		}
	}
}

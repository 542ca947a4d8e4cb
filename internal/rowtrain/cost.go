package rowtrain

import (
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
)

// Pricer encodes rows as its codec does and reports the bits of each part: the heads of a
// component, with an empty field, and each field, or each vector as a whole, by its path.
type Pricer struct {
	codec  *rowcodec.Codec
	report func(component, field string, bits int)
}

// NewPricer returns a Pricer for rows that c encodes.
func NewPricer(c *rowcodec.Codec, report func(component, field string, bits int)) *Pricer {
	return &Pricer{codec: c.Observed(rowcodec.Observer{Cost: report}), report: report}
}

// Append writes row relative to past, or in full if past is nil.
func (p *Pricer) Append(w *bitio.Writer, row rowschema.Row, past *rowcodec.Past) {
	if past != nil {
		p.codec.Append(w, row, past)
		return
	}
	for i, c := range p.codec.Schema().Components() {
		if row.Mask>>i&1 == 0 {
			continue
		}
		for j := range c.Fields {
			from := w.Bits()
			if row.Owned || !c.Fields[j].Owner {
				rowschema.AppendField(w, &c.Fields[j], row.Values)
			}
			p.report(c.Name, c.Fields[j].Path, w.Bits()-from)
		}
	}
}

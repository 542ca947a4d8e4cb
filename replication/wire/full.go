package wire

import (
	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/invariants"
)

// AppendFull writes row as an Enter record carries it: the mask, then every
// field of the present components in full, as far as the receiver is sent it. It
// returns what each component takes, which is all but the mask.
func (s *Schema) AppendFull(w *bitio.Writer, row Row) Shares {
	w.Write(uint64(row.Mask), uint(len(s.components)))
	return s.AppendFields(w, row)
}

// AppendFields is AppendFull without the mask: the reader knows it.
func (s *Schema) AppendFields(w *bitio.Writer, row Row) (shares Shares) {
	s.mustFit(row)
	for i := range s.components {
		if row.Mask>>i&1 == 0 {
			continue
		}
		c := &s.components[i]
		from := w.Bits()
		for j := c.first; j < c.last; j++ {
			if s.fields[j].SentTo(row.Owned) {
				s.fields[j].Append(w, row.Words)
			}
		}
		shares.Add(i, w.Bits()-from)
	}
	return shares
}

// mustFit asserts that row is one of this schema.
func (s *Schema) mustFit(row Row) {
	if invariants.Enabled {
		invariants.Checkf(len(row.Words) == s.words, "row has %d words, its schema %d", len(row.Words), s.words)
		invariants.Checkf(row.Mask&^s.mask() == 0, "row has components %b, its schema %d of them", row.Mask, len(s.components))
	}
}

// Append writes the field of a row with these words, in full.
func (f *Field) Append(w *bitio.Writer, words []uint32) {
	at := words[f.Word:]
	switch f.Kind {
	case KindRaw64:
		w.Write(uint64(at[0]), 32)
		w.Write(uint64(at[1]), 32)
	case KindHandle:
		if at[1] == 0 {
			w.Write(0, 1)
			return
		}
		w.Write(1, 1)
		w.WriteSized(at[0])
		w.WriteSized(at[1])
	default:
		w.Write(uint64(at[0]), f.Bits)
	}
}

// ReadFull reads what AppendFull wrote into row, whose Words must have the
// schema's length; row.Owned says which fields are there. After an error row holds anything.
func (s *Schema) ReadFull(r *bitio.Reader, row *Row) error {
	row.Mask = uint32(r.Read(uint(len(s.components))))
	s.ReadFields(r, row)
	return Malformed(r.Err())
}

// ReadFields reads what AppendFields wrote into row, whose Mask is set.
func (s *Schema) ReadFields(r *bitio.Reader, row *Row) {
	clear(row.Words)
	for i := range s.components {
		if row.Mask>>i&1 == 0 {
			continue
		}
		c := &s.components[i]
		for j := c.first; j < c.last; j++ {
			if s.fields[j].SentTo(row.Owned) {
				s.fields[j].Read(r, row.Words)
			}
		}
	}
}

// Read reads the field in full into the words of a row.
func (f *Field) Read(r *bitio.Reader, words []uint32) {
	at := words[f.Word:]
	switch f.Kind {
	case KindRaw64:
		at[0], at[1] = uint32(r.Read(32)), uint32(r.Read(32))
	case KindHandle:
		at[0], at[1] = 0, 0
		if r.ReadBool() {
			at[0], at[1] = r.ReadSized(), r.ReadSized()
			if r.Err() == nil && (at[0] >= MaxSlots || !bulk.NewHandle(at[0], at[1]).Valid()) {
				r.Fail("%s refers to slot %d, generation %d: no handle", f.Path, at[0], at[1])
			}
		}
	case KindNumber:
		if at[0] = uint32(r.Read(f.Bits)); at[0] > f.Max {
			r.Fail("%s is %d, at most %d is allowed", f.Path, at[0], f.Max)
		}
	default:
		at[0] = uint32(r.Read(f.Bits))
	}
}

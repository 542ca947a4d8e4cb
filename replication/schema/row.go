package schema

import (
	"math/bits"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/invariants"
	"github.com/worldd/worldd/replication/wire"
)

// Row is the quantised state of one entity: a bit in Mask for each component
// that it has, and the words of all components of the schema. Words of absent
// components are zero in what this package reads, and ignored in what it writes;
// so are those of fields that say owner, if the receiver is none.
type Row struct {
	Mask  uint32
	Owned bool     // the receiver owns the entity
	Words []uint32 // Schema.Words() of them
}

// Shares is how many bits of a row are each component's. Four are in a word, of 16
// bits each, so that those of all rows of a datagram are summed four at a time;
// no sum runs over, since a datagram has fewer than 2^16 bits.
type Shares [wire.MaxComponents / sharesPerWord]uint64

const (
	sharesPerWord = 4
	shareBits     = 64 / sharesPerWord
)

// ShareWords is how many words the shares of so many components are in.
func ShareWords(components int) int { return (components + sharesPerWord - 1) / sharesPerWord }

// Bits is the share of a component.
func (s *Shares) Bits(component int) uint64 {
	return s[component/sharesPerWord] >> (component % sharesPerWord * shareBits) & (1<<shareBits - 1)
}

// Add adds bits to the share of a component.
func (s *Shares) Add(component, bits int) {
	s[component/sharesPerWord] += uint64(bits) << (component % sharesPerWord * shareBits)
}

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
	return wire.Malformed(r.Err())
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
			if r.Err() == nil && (at[0] >= wire.MaxSlots || !bulk.NewHandle(at[0], at[1]).Valid()) {
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

// References calls f with every handle in the present components of row, in
// order; fields that hold none are skipped. A viewer that is sent the row is
// sent these handles.
func (s *Schema) References(row Row, f func(bulk.Handle)) {
	for i := range s.components {
		c := &s.components[i]
		if row.Mask>>i&1 == 0 {
			continue
		}
		for j := c.first; j < c.last; j++ {
			if at := s.fields[j].Word; s.fields[j].Kind == KindHandle && row.Words[at+1] != 0 {
				f(bulk.NewHandle(row.Words[at], row.Words[at+1]))
			}
		}
	}
}

// HideOwned makes the fields that only owners are sent zero: the row that
// everybody else is sent.
func (s *Schema) HideOwned(row Row) {
	for _, at := range s.secret {
		row.Words[at] = 0
	}
}

// Parent is the handle of the entity that row names as its parent, and the
// component that does: the first present one that has a parent line. It is 0 if
// there is none.
func (s *Schema) Parent(row Row) (component int, parent bulk.Handle) {
	for _, i := range s.carried {
		if row.Mask>>i&1 != 0 {
			c := &s.components[i]
			at := s.fields[c.first+c.Parent].Word
			return i, bulk.NewHandle(row.Words[at], row.Words[at+1])
		}
	}
	return 0, 0
}

// KeepReferences makes none of every reference of row that keep is false for.
func (s *Schema) KeepReferences(row Row, keep func(bulk.Handle) bool) {
	for i := range s.components {
		c := &s.components[i]
		if row.Mask>>i&1 == 0 {
			continue
		}
		for j := c.first; j < c.last; j++ {
			if at := s.fields[j].Word; s.fields[j].Kind == KindHandle && row.Words[at+1] != 0 {
				if !keep(bulk.NewHandle(row.Words[at], row.Words[at+1])) {
					row.Words[at], row.Words[at+1] = 0, 0
				}
			}
		}
	}
}

// What it takes to read a row, in units of about 80 ns, whatever its bits say.
const (
	loadOfRow       = 1
	loadOfComponent = 2
	loadOfRotation  = 2   // of each, unpacked and forecast
	loadOfParent    = 6   // of a component that has one: its motion, and the row's on it
	fieldsOfLoad    = 12  // that are read in a unit, at a bit each
	wordsOfLoad     = 256 // that are copied in one, three times
)

// Load is what a row with these components counts towards MaxLoad.
func (s *Schema) Load(mask uint32) int {
	load := loadOfRow + s.words/wordsOfLoad
	for ; mask != 0; mask &= mask - 1 {
		load += s.components[bits.TrailingZeros32(mask)].load
	}
	return load
}

// loadOf is the part of the component whose fields these are.
func loadOf(fields []Field, parent bool) int {
	load := loadOfComponent + len(fields)/fieldsOfLoad
	for i := range fields {
		if fields[i].Kind == KindRotation {
			load += loadOfRotation
		}
	}
	if parent {
		load += loadOfParent
	}
	return load
}

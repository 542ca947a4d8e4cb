package rowschema

import (
	"math/bits"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/invariants"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// Row is the quantised state of one entity: a bit in Mask for each component it has, and
// the values of all components of the schema. Values of absent components, and of owner
// fields if the receiver is not an owner, are zero in rows that this package reads and
// ignored in rows that it writes.
type Row struct {
	Mask   uint32
	Owned  bool     // the receiver owns the entity
	Values []uint32 // length Layout.Values()
}

// Shares holds the number of bits of each component in a row, 16 bits each, four to a
// uint64. Adding two uint64s sums four components at once. No sum overflows: a datagram has
// fewer than 2^16 bits.
type Shares [wire.MaxComponents / sharesPerUint64]uint64

const (
	sharesPerUint64 = 4
	shareBits       = 64 / sharesPerUint64
)

// ShareLen returns the number of elements of Shares for a number of components.
func ShareLen(components int) int { return (components + sharesPerUint64 - 1) / sharesPerUint64 }

// Bits returns the bits of a component.
func (s *Shares) Bits(component int) uint64 {
	return s[component/sharesPerUint64] >> (component % sharesPerUint64 * shareBits) & (1<<shareBits - 1)
}

// Add adds bits to a component.
func (s *Shares) Add(component, bits int) {
	s[component/sharesPerUint64] += uint64(bits) << (component % sharesPerUint64 * shareBits)
}

// AppendFull writes row as in an Enter record: the mask, then the full value of each field
// of the present components, if the receiver is sent the field. It returns the size of each
// component in bits, without the mask.
func (l *Layout) AppendFull(w *bitio.Writer, row Row) Shares {
	w.Write(uint64(row.Mask), uint(len(l.components)))
	return l.AppendFields(w, row)
}

// AppendFields is like AppendFull without the mask, for readers that know the mask.
func (l *Layout) AppendFields(w *bitio.Writer, row Row) (shares Shares) {
	l.mustFit(row)
	for i := range l.components {
		if row.Mask>>i&1 == 0 {
			continue
		}
		c := &l.components[i]
		from := w.Bits()
		for j := range c.fields {
			if c.fields[j].isSentTo(row.Owned) {
				AppendField(w, &c.fields[j].Field, row.Values)
			}
		}
		shares.Add(i, w.Bits()-from)
	}
	return shares
}

// mustFit asserts that row belongs to this schema.
func (l *Layout) mustFit(row Row) {
	if invariants.Enabled {
		invariants.Checkf(len(row.Values) == l.values, "row has %d values, its schema %d", len(row.Values), l.values)
		invariants.Checkf(row.Mask&^l.mask() == 0, "row has components %b, its schema %d of them", row.Mask, len(l.components))
	}
}

// AppendField writes a field in full from the values of a row.
func AppendField(w *bitio.Writer, f *schema.Field, values []uint32) {
	at := values[f.Index:]
	switch f.Kind {
	case schema.KindRaw64:
		w.Write(uint64(at[0]), 32)
		w.Write(uint64(at[1]), 32)
	case schema.KindHandle:
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

// ReadFull reads into row a row that AppendFull wrote. row.Values must have the schema's
// length and row.Owned must be set. After an error, the contents of row are undefined.
func (l *Layout) ReadFull(r *bitio.Reader, row *Row) error {
	row.Mask = uint32(r.Read(uint(len(l.components))))
	l.ReadFields(r, row)
	return wire.Malformed(r.Err())
}

// ReadFields reads a row that AppendFields wrote into row. row.Mask must be set.
func (l *Layout) ReadFields(r *bitio.Reader, row *Row) {
	clear(row.Values)
	for i := range l.components {
		if row.Mask>>i&1 == 0 {
			continue
		}
		c := &l.components[i]
		for j := range c.fields {
			if c.fields[j].isSentTo(row.Owned) {
				ReadField(r, &c.fields[j].Field, row.Values)
			}
		}
	}
}

// ReadField reads a field in full into the values of a row.
func ReadField(r *bitio.Reader, f *schema.Field, values []uint32) {
	at := values[f.Index:]
	switch f.Kind {
	case schema.KindRaw64:
		at[0], at[1] = uint32(r.Read(32)), uint32(r.Read(32))
	case schema.KindHandle:
		at[0], at[1] = 0, 0
		if r.ReadBool() {
			at[0], at[1] = r.ReadSized(), r.ReadSized()
			if r.Err() == nil && (at[0] >= wire.MaxSlots || !bulk.NewHandle(at[0], at[1]).Valid()) {
				r.Fail("%s refers to slot %d, generation %d: no handle", f.Path, at[0], at[1])
			}
		}
	case schema.KindNumber:
		at[0] = uint32(r.Read(f.Bits))
		if at[0] > f.Max {
			r.Fail("%s is %d, at most %d is allowed", f.Path, at[0], f.Max)
		}
	default:
		at[0] = uint32(r.Read(f.Bits))
	}
}

// References calls f with every handle in the present components of row, in order, except
// null handles. A viewer that receives the row receives these handles.
func (l *Layout) References(row Row, f func(bulk.Handle)) {
	l.KeepReferences(row, func(h bulk.Handle) bool {
		f(h)
		return true
	})
}

// HideOwned zeroes the fields sent only to owners, which makes row the row for other
// receivers.
func (l *Layout) HideOwned(row Row) {
	for _, at := range l.secret {
		row.Values[at] = 0
	}
}

// Parent returns the first present component with a parent tag, and the row's parent that
// it names. parent is 0 if the row has no parent.
func (l *Layout) Parent(row Row) (component int, parent bulk.Handle) {
	for _, i := range l.parented {
		if row.Mask>>i&1 != 0 {
			c := &l.components[i]
			at := c.fields[c.parent].Index
			return i, bulk.NewHandle(row.Values[at], row.Values[at+1])
		}
	}
	return 0, 0
}

// KeepReferences sets each handle in row to null unless keep returns true for it.
func (l *Layout) KeepReferences(row Row, keep func(bulk.Handle) bool) {
	for i := range l.components {
		c := &l.components[i]
		if row.Mask>>i&1 == 0 {
			continue
		}
		for j := range c.fields {
			if at := c.fields[j].Index; c.fields[j].Kind == schema.KindHandle && row.Values[at+1] != 0 {
				if !keep(bulk.NewHandle(row.Values[at], row.Values[at+1])) {
					row.Values[at], row.Values[at+1] = 0, 0
				}
			}
		}
	}
}

// Costs of decoding a row, in units of about 80 ns, independent of its contents.
const (
	loadOfRow       = 1
	loadOfComponent = 2
	loadOfRotation  = 2   // unpacking and predicting one rotation
	loadOfParent    = 6   // a component with a parent: both motions
	fieldsOfLoad    = 12  // one-bit fields read per unit
	valuesOfLoad    = 256 // values copied three times per unit
)

// Load returns the cost of decoding a row with these components, counted towards
// wire.MaxLoad.
func (l *Layout) Load(mask uint32) int {
	load := loadOfRow + l.values/valuesOfLoad
	for ; mask != 0; mask &= mask - 1 {
		load += l.components[bits.TrailingZeros32(mask)].load
	}
	return load
}

// loadOf returns the load of one component.
func loadOf(fields []field, parent bool) int {
	load := loadOfComponent + len(fields)/fieldsOfLoad
	for i := range fields {
		if fields[i].Kind == schema.KindRotation {
			load += loadOfRotation
		}
	}
	if parent {
		load += loadOfParent
	}
	return load
}

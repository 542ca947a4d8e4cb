package wire

import (
	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/invariants"
)

// AppendFull writes row as an Enter record carries it: the mask, then every
// field of the present components in full.
func (s *Schema) AppendFull(w *BitWriter, row Row) {
	s.mustFit(row)
	w.Write(uint64(row.Mask), uint(len(s.components)))
	for i := range s.components {
		if row.Mask>>i&1 == 0 {
			continue
		}
		c := &s.components[i]
		for j := c.first; j < c.last; j++ {
			s.fields[j].append(w, row.Words)
		}
	}
}

// AppendDelta writes row against base, which must have the same Mask.
// base.Words may be nil, which means all zeros.
func (s *Schema) AppendDelta(w *BitWriter, row, base Row) {
	s.mustFit(row)
	if invariants.Enabled {
		mustHold(row.Mask == base.Mask, "row has components %b, its baseline %b", row.Mask, base.Mask)
	}
	for i := range s.components {
		if row.Mask>>i&1 == 0 {
			continue
		}
		c := &s.components[i]
		if !c.always {
			changed := c.changed(row.Words, base.Words)
			w.WriteBool(changed)
			if !changed {
				continue
			}
		}
		for j := c.first; j < c.last; j++ {
			s.fields[j].appendDelta(w, row.Words, base.Words)
		}
	}
}

// AppendAbsolute writes row against the zero row: what baseline code 0 means.
func (s *Schema) AppendAbsolute(w *BitWriter, row Row) {
	s.AppendDelta(w, row, Row{Mask: row.Mask})
}

// mustFit asserts that row is one of this schema.
func (s *Schema) mustFit(row Row) {
	if invariants.Enabled {
		mustHold(len(row.Words) == s.words, "row has %d words, its schema %d", len(row.Words), s.words)
		mustHold(row.Mask&^s.mask() == 0, "row has components %b, its schema %d of them", row.Mask, len(s.components))
	}
}

func (c *component) changed(words, base []uint32) bool {
	for i := c.Offset; i < c.Offset+c.Words; i++ {
		if words[i] != wordOf(base, i) {
			return true
		}
	}
	return false
}

// wordOf reads a word of a baseline, nil meaning all zeros.
func wordOf(base []uint32, i int) uint32 {
	if base == nil {
		return 0
	}
	return base[i]
}

// append writes the field in full.
func (f *field) append(w *BitWriter, words []uint32) {
	at := words[f.word:]
	switch f.kind {
	case kindRaw64:
		w.Write(uint64(at[0]), 32)
		w.Write(uint64(at[1]), 32)
	case kindRef:
		if at[1] == 0 {
			w.Write(0, 1)
			return
		}
		w.Write(1, 1)
		w.WriteSized(at[0])
		w.WriteSized(at[1])
	default:
		w.Write(uint64(at[0]), f.bits)
	}
}

// appendDelta writes the field as a delta row carries it.
func (f *field) appendDelta(w *BitWriter, words, base []uint32) {
	if f.always {
		f.append(w, words)
		return
	}
	now, was := words[f.word], wordOf(base, f.word)
	changed := now != was
	if f.kind == kindRaw64 || f.kind == kindRef {
		changed = changed || words[f.word+1] != wordOf(base, f.word+1)
	}
	w.WriteBool(changed)
	switch {
	case !changed || f.kind == kindBool:
	case f.kind == kindNumber:
		f.appendNumber(w, now, was)
	default:
		f.append(w, words)
	}
}

// Classes of changed numbers: a zigzag delta of 4, 8 or 12 bits, or the number.
const (
	classBits     = 2
	classAbsolute = 3
	classStep     = 4 // class c has (c+1)*classStep bits
)

// appendNumber writes a changed number. Numbers too narrow for any class go
// without one.
func (f *field) appendNumber(w *BitWriter, now, was uint32) {
	if f.bits <= classStep {
		w.Write(uint64(now), f.bits)
		return
	}
	zigzag := f.difference(now, was)
	for class := uint(0); class < classAbsolute; class++ {
		n := (class + 1) * classStep
		if n >= f.bits {
			break
		}
		if zigzag>>n == 0 {
			w.Write(uint64(class)|zigzag<<classBits, classBits+n)
			return
		}
	}
	w.Write(classAbsolute|uint64(now)<<classBits, classBits+f.bits)
}

// difference is now-was in the ring of max+1 numbers, the short way round, in
// zigzag form: 0, -1, 1, -2, 2 are 0, 1, 2, 3, 4.
func (f *field) difference(now, was uint32) uint64 {
	modulus := int64(f.max) + 1
	d := int64(now) - int64(was)
	if d < 0 {
		d += modulus
	}
	if d > (modulus-1)/2 {
		d -= modulus
	}
	return uint64(d<<1) ^ uint64(d>>63)
}

// sum is was plus a zigzag difference, in the ring of max+1 numbers.
func (f *field) sum(was uint32, zigzag uint64) uint32 {
	modulus := int64(f.max) + 1
	v := int64(was) + (int64(zigzag>>1) ^ -int64(zigzag&1))
	if v < 0 {
		v += modulus
	} else if v >= modulus {
		v -= modulus
	}
	return uint32(v)
}

// ReadFull reads what AppendFull wrote into row, whose Words must have the
// schema's length. After an error row holds anything.
func (s *Schema) ReadFull(r *BitReader, row *Row) error {
	row.Mask = uint32(r.Read(uint(len(s.components))))
	clear(row.Words)
	for i := range s.components {
		if row.Mask>>i&1 == 0 {
			continue
		}
		c := &s.components[i]
		for j := c.first; j < c.last; j++ {
			s.fields[j].read(r, row.Words)
		}
	}
	return r.Err()
}

// ReadDelta reads what AppendDelta wrote against base into row, whose Words
// must have the schema's length and may be base's own. base.Words may be nil,
// which means all zeros. row.Mask becomes base.Mask. After an error row holds
// anything.
//
// How many bits a row takes, and whether they are well-formed, depends on the
// mask and not on base.Words: a row whose baseline is lost can still be read
// past.
func (s *Schema) ReadDelta(r *BitReader, base Row, row *Row) error {
	row.Mask = base.Mask & s.mask()
	if base.Words == nil {
		clear(row.Words)
	} else {
		copy(row.Words, base.Words)
	}
	for i := range s.components {
		if row.Mask>>i&1 == 0 {
			continue
		}
		c := &s.components[i]
		if !c.always && !r.ReadBool() {
			continue
		}
		for j := c.first; j < c.last; j++ {
			s.fields[j].readDelta(r, row.Words)
		}
	}
	return r.Err()
}

// read reads the field in full.
func (f *field) read(r *BitReader, words []uint32) {
	at := words[f.word:]
	switch f.kind {
	case kindRaw64:
		at[0], at[1] = uint32(r.Read(32)), uint32(r.Read(32))
	case kindRef:
		at[0], at[1] = 0, 0
		if r.ReadBool() {
			at[0], at[1] = r.ReadSized(), r.ReadSized()
			if r.err == nil && (at[0] >= MaxSlots || !bulk.NewHandle(at[0], at[1]).Valid()) {
				r.fail("%s refers to slot %d, generation %d: no handle", f.path, at[0], at[1])
			}
		}
	case kindNumber:
		if at[0] = uint32(r.Read(f.bits)); at[0] > f.max {
			r.fail("%s is %d, at most %d is allowed", f.path, at[0], f.max)
		}
	default:
		at[0] = uint32(r.Read(f.bits))
	}
}

// readDelta reads the field of a delta row; words hold the baseline.
func (f *field) readDelta(r *BitReader, words []uint32) {
	switch {
	case f.always:
		f.read(r, words)
	case !r.ReadBool():
	case f.kind == kindBool:
		words[f.word] ^= 1
	case f.kind == kindNumber && f.bits > classStep:
		f.readNumber(r, words)
	default:
		f.read(r, words)
	}
}

func (f *field) readNumber(r *BitReader, words []uint32) {
	class := uint(r.Read(classBits))
	n := (class + 1) * classStep
	switch {
	case class == classAbsolute:
		f.read(r, words)
	case n >= f.bits:
		r.fail("%s has %d bits, so a delta of %d is not allowed", f.path, f.bits, n)
	default:
		zigzag := r.Read(n)
		if zigzag>>(class*classStep) == 0 {
			r.fail("%s has a difference of %d bits that is 0 or would fit into fewer", f.path, n)
		}
		words[f.word] = f.sum(words[f.word], zigzag)
	}
}

package wire

import (
	"math"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/invariants"
)

// Form is the way in which a row encodes the exact state of a body.
type Form uint8

// Forms. All but Ordinary occur only in sessions whose client simulates.
const (
	Ordinary     Form = iota // no exact state: the row has only the quantised state
	OnGrid                   // the body is awake, and its quantised state is exact; its rest timer is 0
	OnGridAsleep             // the body is asleep, and its quantised position is exact
	Raw                      // the body is awake; the difference to its quantised state follows the row
	RawAsleep                // the body is asleep; the difference to its quantised position follows the row
)

// Exact is the form of a body's exact state in a row, and the tick of that state and of the
// whole row. The zero value belongs to an ordinary row.
type Exact struct {
	Form Form
	Back uint32 // ticks from the row's state to its message's tick, at most MaxBack
}

// BodyState is the exact state of a body.
type BodyState struct {
	Position, Velocity [3]float32 // m and m/s
	Awake              bool
	Rest               uint32 // ticks at rest; 0 if the body is asleep
}

// Grid is a row's body after rowschema.Component.Restore: the position, then the velocity.
type Grid [6]float32

const (
	formBits      = 2
	backOrder     = 1 // orders of Golomb forms
	restOrder     = 2
	positionOrder = 10
	velocityOrder = 16
	// MaxExactBits is the maximum size of a row's Exact and BodyState. Back takes 18 bits at 1,000
	// ticks a second, the most that a world has.
	MaxExactBits = 1 + formBits + 18 + 3*(65-positionOrder) + 3*(65-velocityOrder) + (65 - restOrder)
)

// FormOf returns the shortest form that encodes b exactly, for a row that restores to g.
func FormOf(b *BodyState, g *Grid) Form {
	snapped := b.Rest == 0
	for i, x := range b.Position {
		snapped = snapped && math.Float32bits(x) == math.Float32bits(g[i])
	}
	for i, x := range b.Velocity {
		snapped = snapped && math.Float32bits(x) == math.Float32bits(g[3+i])
	}
	switch {
	case snapped && b.Awake:
		return OnGrid
	case snapped:
		return OnGridAsleep
	case b.Awake:
		return Raw
	}
	return RawAsleep
}

// AppendExact writes e, which follows a row's header in a datagram with StateHeader.Exact.
func AppendExact(w *bitio.Writer, e Exact) {
	if invariants.Enabled {
		invariants.Checkf(e.Form <= RawAsleep, "exact form %d", e.Form)
	}
	if e.Form == Ordinary {
		w.Write(0, 1)
		return
	}
	w.Write(1|uint64(e.Form-1)<<1, 1+formBits)
	w.WriteGolomb(e.Back, backOrder)
}

// Bits returns the number of bits that AppendExact writes.
func (e Exact) Bits() int {
	if e.Form == Ordinary {
		return 1
	}
	return 1 + formBits + bitio.GolombBits(e.Back, backOrder)
}

// ReadExact reads the Exact of a row with baseline b in a datagram of the given tick, in a
// session with the given MaxBack. It requires a baseline of tick 1 or later that precedes
// the row's state.
func ReadExact(r *bitio.Reader, tick uint32, b Baseline, maxBack uint32) (e Exact) {
	if !r.ReadBool() {
		return Exact{}
	}
	e.Form = Form(r.Read(formBits)) + 1
	most := min(maxBack, max(tick, 1)-1)
	if b.Age != 0 {
		most = min(most, b.Age-1)
	}
	e.Back = r.ReadGolomb(backOrder, most)
	return e
}

// CheckBack checks the Back of an Enter in a message of the given tick, in a session with the given
// MaxBack. The error is a protocol error.
func (e Exact) CheckBack(tick, maxBack uint32) error {
	if e.Back > maxBack || e.Back >= tick {
		return bad("an exact state of %d ticks before tick %d, at most %d", e.Back, tick, maxBack)
	}
	return nil
}

// AppendBody writes the exact part that follows a row of form f: the difference of b from
// g.
func AppendBody(w *bitio.Writer, f Form, b *BodyState, g *Grid) {
	if f != Raw && f != RawAsleep {
		return
	}
	for i, x := range b.Position {
		w.WriteGolomb(residual(x, g[i]), positionOrder)
	}
	if f == RawAsleep {
		return
	}
	for i, x := range b.Velocity {
		w.WriteGolomb(residual(x, g[3+i]), velocityOrder)
	}
	w.WriteGolomb(b.Rest, restOrder)
}

// ReadBody reads the exact part that follows a row of form f, which restores to g.
// restTicks is the maximum of a rest timer. The caller checks r.Err (see Malformed).
func ReadBody(r *bitio.Reader, f Form, g *Grid, restTicks uint32) (b BodyState) {
	b.Position, b.Awake = [3]float32(g[:3]), f == OnGrid || f == Raw
	if f == Raw || f == RawAsleep {
		for i := range b.Position {
			b.Position[i] = readResidual(r, g[i], positionOrder)
		}
	}
	switch f {
	case OnGrid:
		b.Velocity = [3]float32(g[3:])
	case OnGridAsleep:
		if *(*[3]float32)(g[3:]) != ([3]float32{}) {
			r.Fail("an exact body that is asleep moves")
		}
	case Raw:
		for i := range b.Velocity {
			b.Velocity[i] = readResidual(r, g[3+i], velocityOrder)
		}
		b.Rest = r.ReadGolomb(restOrder, restTicks)
	}
	return b
}

// residual returns the distance from base to x in representable floats, with the sign in
// the lowest bit.
func residual(x, base float32) uint32 {
	d := int32(ordered(x) - ordered(base))
	return uint32(d<<1) ^ uint32(d>>31)
}

func readResidual(r *bitio.Reader, base float32, order uint) float32 {
	z := r.ReadGolomb(order, math.MaxUint32)
	o := ordered(base) + (z>>1 ^ -(z & 1))
	bits := ^o
	if o>>31 != 0 {
		bits = o ^ 1<<31
	}
	x := math.Float32frombits(bits)
	if !finite(x) {
		r.Fail("an exact body with %v", x)
		return 0
	}
	return x
}

// ordered numbers all floats in ascending order: -0 directly precedes 0.
func ordered(x float32) uint32 {
	b := math.Float32bits(x)
	if b>>31 != 0 {
		return ^b
	}
	return b ^ 1<<31
}

func finite(x float32) bool { return x-x == 0 }

// Audited reports whether the audit of snapshot seq covers the entity. AuditTurns
// consecutive snapshots cover all entities.
func Audited(h bulk.Handle, seq uint32) bool { return h.Index()%AuditTurns == seq%AuditTurns }

// Audit adds an exact body to an audit, which starts at 0. Entities are added by slot.
func Audit(acc uint32, h bulk.Handle, b *BodyState) uint32 {
	acc = auditValue(auditValue(acc, h.Index()), h.Generation())
	for _, x := range b.Position {
		acc = auditValue(acc, math.Float32bits(x))
	}
	for _, x := range b.Velocity {
		acc = auditValue(acc, math.Float32bits(x))
	}
	awake := uint32(0)
	if b.Awake {
		awake = 1
	}
	return auditValue(auditValue(acc, awake), b.Rest)
}

func auditValue(x, v uint32) uint32 {
	x = (x ^ v) * 0x9e3779b1
	return x ^ x>>15
}

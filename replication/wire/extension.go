package wire

import (
	"encoding/binary"
	"math"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/invariants"
)

// Extension is the kind of an OpExtension record: its Number.
type Extension uint32

// Extensions, as numbered on the wire.
const (
	ExtendProgram       Extension = 0 // Program
	ExtendEffectAdded   Extension = 1 // EffectAdded
	ExtendEffectChanged Extension = 2 // EffectChanged
	ExtendEffectEnded   Extension = 3 // EffectEnded
	ExtendEffectLeft    Extension = 4 // EffectEnded
	ExtendKind          Extension = 5 // KindAdded
)

// Program gives the session a program that effects name by its number.
type Program struct {
	Number uint8
	Code   []byte // the portable form of package field, 1 to MaxProgram bytes
}

// EffectAdded adds an effect, which acts from its own first tick on (Ticks).
type EffectAdded struct {
	Effect  bulk.Handle // names the effect, not an entity: its slot is below MaxEffects
	Program uint8
	Mode    uint8  // 0 wind, 1 acceleration
	Layers  uint32 // bodies that feel it; 0 means all
	Back    uint32 // ticks from its first tick to the tick after the message's, at most MaxBack + 1
	Age     uint32 // ticks from its birth to its first tick
	Life    uint32 // number of ticks in which it acts; 0: until an EffectEnded
	Path    Path
	Params  Floats // empty: the program's defaults
}

// EffectChanged changes an effect from its own first tick on (FirstTick).
type EffectChanged struct {
	Effect    bulk.Handle
	Back      uint32 // as in EffectAdded
	HasPath   bool
	HasParams bool
	Path      Path
	Params    Floats
}

// EffectEnded says that an effect has ended, or that the receiver gets no further records
// about it.
type EffectEnded struct {
	Effect bulk.Handle
	Back   uint32 // from the first tick without the effect, as in EffectAdded
	Left   bool   // the effect may still act
}

// KindAdded gives the motion constants of a kind with bodies that the schema lacks.
type KindAdded struct {
	Kind uint32
	KindConstants
}

// KindConstants has the fields of schema.KindBody.
type KindConstants struct {
	InvMass, Coupling, Radius, Friction, Restitution float32
	Layers                                           uint32
}

// PathForm is the way in which the centre of an effect moves.
type PathForm uint8

// Forms of paths, as numbered on the wire.
const (
	PathFixed     PathForm = 0
	PathLinear    PathForm = 1
	PathOrbit     PathForm = 2
	PathFollowing PathForm = 3
)

// Path is the position of an effect's centre as a function of the tick.
type Path struct {
	Form        PathForm
	Center      [3]float32    // metres; PathFollowing: relative to the leader
	Velocity    [3]float32    // PathLinear: m/s, at most 1e6 in each coordinate
	Axes        [2][3]float32 // PathOrbit: metres, at most 1e6; from Center to the path's points at angle 0 and at a quarter turn
	Phase, Rate uint32        // PathOrbit: turns / 2^32, and turns / 2^32 in a tick
	Leader      bulk.Handle   // PathFollowing: an entity
}

// Floats is a list of finite float32s, little-endian.
type Floats []byte

// Len returns the number of floats.
func (f Floats) Len() int { return len(f) / 4 }

// At returns float i.
func (f Floats) At(i int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(f[4*i:]))
}

// Append appends the program as a record.
func (p Program) Append(b []byte) []byte {
	if invariants.Enabled {
		invariants.Checkf(len(p.Code) > 0 && len(p.Code) <= MaxProgram, "program of %d bytes", len(p.Code))
	}
	return appendSized(append(appendExtension(b, ExtendProgram), p.Number), p.Code)
}

// Append appends the effect as a record.
func (e EffectAdded) Append(b []byte) []byte {
	b = appendHandle(appendExtension(b, ExtendEffectAdded), e.Effect)
	b = bitio.AppendUvarint(append(b, e.Program, e.Mode), e.Layers)
	b = bitio.AppendUvarint(bitio.AppendUvarint(bitio.AppendUvarint(b, e.Back), e.Age), e.Life)
	return appendFloats(e.Path.append(b), e.Params)
}

// Bits of an EffectChanged.
const (
	changesPath   = 1
	changesParams = 2
)

// Append appends the change as a record.
func (e EffectChanged) Append(b []byte) []byte {
	if invariants.Enabled {
		invariants.Checkf(e.HasPath || e.HasParams, "effect %v changed in nothing", e.Effect)
	}
	b = bitio.AppendUvarint(appendHandle(appendExtension(b, ExtendEffectChanged), e.Effect), e.Back)
	what := byte(0)
	if e.HasPath {
		what |= changesPath
	}
	if e.HasParams {
		what |= changesParams
	}
	b = append(b, what)
	if e.HasPath {
		b = e.Path.append(b)
	}
	if e.HasParams {
		b = appendFloats(b, e.Params)
	}
	return b
}

// Append appends the end of the effect as a record.
func (e EffectEnded) Append(b []byte) []byte {
	x := ExtendEffectEnded
	if e.Left {
		x = ExtendEffectLeft
	}
	return bitio.AppendUvarint(appendHandle(appendExtension(b, x), e.Effect), e.Back)
}

// Append appends the kind as a record.
func (k KindAdded) Append(b []byte) []byte {
	b = bitio.AppendUvarint(appendExtension(b, ExtendKind), k.Kind)
	for _, x := range k.floats() {
		b = appendFloat(b, *x)
	}
	return binary.LittleEndian.AppendUint32(b, k.Layers)
}

// floats returns the floats in the order of the wire.
func (k *KindConstants) floats() [5]*float32 {
	return [...]*float32{&k.InvMass, &k.Coupling, &k.Radius, &k.Friction, &k.Restitution}
}

func appendExtension(b []byte, x Extension) []byte {
	return append(b, byte(OpExtension)|byte(x)<<opBits)
}

func appendFloat(b []byte, x float32) []byte {
	return binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
}

func appendVector(b []byte, v *[3]float32) []byte {
	return appendFloat(appendFloat(appendFloat(b, v[0]), v[1]), v[2])
}

func appendFloats(b []byte, f Floats) []byte {
	return append(bitio.AppendUvarint(b, uint32(f.Len())), f...)
}

func (p *Path) append(b []byte) []byte {
	b = append(b, byte(p.Form))
	if p.Form == PathFollowing {
		b = appendHandle(b, p.Leader)
	}
	b = appendVector(b, &p.Center)
	switch p.Form {
	case PathLinear:
		b = appendVector(b, &p.Velocity)
	case PathOrbit:
		b = appendVector(appendVector(b, &p.Axes[0]), &p.Axes[1])
		b = binary.LittleEndian.AppendUint32(b, p.Phase)
		b = binary.LittleEndian.AppendUint32(b, p.Rate)
	}
	return b
}

// Program returns the content of an ExtendProgram record. Code aliases the record.
func (r Record) Program() Program {
	c := bitio.NewCursor(r.Data)
	return readProgram(&c)
}

// EffectAdded returns the content of an ExtendEffectAdded record. Params aliases it.
func (r Record) EffectAdded() EffectAdded {
	c := bitio.NewCursor(r.Data)
	return readAdded(&c)
}

// EffectChanged returns the content of an ExtendEffectChanged record. Params aliases it.
func (r Record) EffectChanged() EffectChanged {
	c := bitio.NewCursor(r.Data)
	return readChanged(&c)
}

// EffectEnded returns the content of an ExtendEffectEnded or ExtendEffectLeft record.
func (r Record) EffectEnded() EffectEnded {
	c := bitio.NewCursor(r.Data)
	e := readEnded(&c)
	e.Left = Extension(r.Number) == ExtendEffectLeft
	return e
}

// KindAdded returns the content of an ExtendKind record.
func (r Record) KindAdded() KindAdded {
	c := bitio.NewCursor(r.Data)
	return readKind(&c)
}

// readExtension checks an extension and returns its bytes.
func readExtension(c *bitio.Cursor, x Extension) []byte {
	all := c.Rest()
	switch x {
	case ExtendProgram:
		readProgram(c)
	case ExtendEffectAdded:
		readAdded(c)
	case ExtendEffectChanged:
		readChanged(c)
	case ExtendEffectEnded, ExtendEffectLeft:
		readEnded(c)
	case ExtendKind:
		readKind(c)
	default:
		c.Fail("extension %d", x)
	}
	return all[:len(all)-len(c.Rest())]
}

func readProgram(c *bitio.Cursor) Program {
	p := Program{Number: c.Byte("program"), Code: readSized(c, MaxProgram, "program")}
	if c.Err() == nil && len(p.Code) == 0 {
		c.Fail("a program of no bytes")
	}
	return p
}

func readAdded(c *bitio.Cursor) EffectAdded {
	e := EffectAdded{Effect: readEffect(c), Program: c.Byte("program"), Mode: c.Byte("mode")}
	e.Layers, e.Back = c.Uvarint(math.MaxUint32, "layers"), readBack(c)
	e.Age, e.Life = c.Uvarint(math.MaxUint32, "age"), c.Uvarint(math.MaxUint32, "life")
	e.Path, e.Params = readPath(c), readFloats(c)
	if e.Mode > maxMode {
		c.Fail("an effect of mode %d", e.Mode)
	}
	return e
}

// maxMode is the highest mode of an effect: acceleration.
const maxMode = 1

func readChanged(c *bitio.Cursor) EffectChanged {
	e := EffectChanged{Effect: readEffect(c), Back: readBack(c)}
	what := c.Byte("what changed")
	e.HasPath, e.HasParams = what&changesPath != 0, what&changesParams != 0
	if c.Err() == nil && (what == 0 || what > changesPath|changesParams) {
		c.Fail("an effect changed in %d", what)
	}
	if e.HasPath {
		e.Path = readPath(c)
	}
	if e.HasParams {
		e.Params = readFloats(c)
	}
	return e
}

func readEnded(c *bitio.Cursor) EffectEnded {
	return EffectEnded{Effect: readEffect(c), Back: readBack(c)}
}

func readKind(c *bitio.Cursor) (k KindAdded) {
	k.Kind = c.Uvarint(MaxKinds-1, "kind")
	for _, x := range k.floats() {
		*x = readFloat(c, "constant of a kind")
		if math.Signbit(float64(*x)) {
			c.Fail("a kind with the constant %v", *x)
		}
	}
	if k.Coupling > 1 || k.Restitution > 1 {
		c.Fail("a kind with coupling %v and restitution %v", k.Coupling, k.Restitution)
	}
	k.Layers = c.Uint32("layers")
	return k
}

func readEffect(c *bitio.Cursor) bulk.Handle {
	slot := c.Uvarint(MaxEffects-1, "effect")
	h := bulk.NewHandle(slot, c.Uvarint(math.MaxUint32, "generation of an effect"))
	if c.Err() == nil && !h.Valid() {
		c.Fail("effect %d of generation %d", slot, h.Generation())
	}
	return h
}

// readBack reads a Back. firstTick checks it, because its bound depends on the session.
func readBack(c *bitio.Cursor) uint32 { return c.Uvarint(math.MaxUint32, "ticks back") }

func readPath(c *bitio.Cursor) (p Path) {
	p.Form = PathForm(c.Byte("path"))
	if p.Form > PathFollowing {
		c.Fail("a path of form %d", p.Form)
	}
	if p.Form == PathFollowing {
		p.Leader = readHandle(c)
		if c.Err() == nil && !p.Leader.Valid() {
			c.Fail("an effect that follows slot %d, generation %d", p.Leader.Index(), p.Leader.Generation())
		}
	}
	p.Center = readVector(c)
	switch p.Form {
	case PathLinear:
		p.Velocity = readBounded(c)
	case PathOrbit:
		p.Axes[0], p.Axes[1] = readBounded(c), readBounded(c)
		p.Phase, p.Rate = c.Uint32("phase"), c.Uint32("rate")
	}
	return p
}

func readVector(c *bitio.Cursor) [3]float32 {
	return [3]float32{readFloat(c, "x"), readFloat(c, "y"), readFloat(c, "z")}
}

// maxPathNumber bounds the coordinates of velocities and axes, so that no centre overflows.
const maxPathNumber = 1e6

// readBounded reads a velocity or an axis.
func readBounded(c *bitio.Cursor) [3]float32 {
	v := readVector(c)
	for _, x := range v {
		if x < -maxPathNumber || x > maxPathNumber {
			c.Fail("a path with a velocity or axis of %v", x)
		}
	}
	return v
}

func readFloat(c *bitio.Cursor, what string) float32 {
	x := math.Float32frombits(c.Uint32(what))
	if !finite(x) {
		c.Fail("%s is %v", what, x)
	}
	return x
}

func readFloats(c *bitio.Cursor) Floats {
	f := Floats(c.Bytes(4*int(c.Uvarint(MaxEffectNumbers, "parameters")), "parameters"))
	for i := range f.Len() {
		if !finite(f.At(i)) {
			c.Fail("parameter %d is %v", i, f.At(i))
		}
	}
	return f
}

// Ticks returns the effect's tick of birth, its first tick, and its last tick, or 0 for an
// effect without end. tick is the tick of its message, maxBack the session's MaxBack. The
// error is a protocol error.
func (e *EffectAdded) Ticks(tick, maxBack uint32) (born, first, last uint32, err error) {
	if first, err = firstTick(tick, e.Back, maxBack); err != nil {
		return 0, 0, 0, err
	}
	if e.Age > first {
		return 0, 0, 0, bad("an effect that was born %d ticks before tick %d", e.Age, first)
	}
	born = first - e.Age
	if e.Life == 0 {
		return born, first, 0, nil
	}
	end := uint64(first) + uint64(e.Life) - 1
	if end > math.MaxUint32 {
		return 0, 0, 0, bad("an effect with the last tick %d", end)
	}
	return born, first, uint32(end), nil
}

// FirstTick returns the first tick of the change. For its arguments and error see
// EffectAdded.Ticks.
func (e *EffectChanged) FirstTick(tick, maxBack uint32) (uint32, error) {
	return firstTick(tick, e.Back, maxBack)
}

// FirstTick returns the first tick without the effect. For its arguments and error see
// EffectAdded.Ticks.
func (e *EffectEnded) FirstTick(tick, maxBack uint32) (uint32, error) {
	return firstTick(tick, e.Back, maxBack)
}

func firstTick(tick, back, maxBack uint32) (uint32, error) {
	if back > maxBack+1 {
		return 0, bad("an effect from %d ticks before its message on, at most %d", int64(back)-1, maxBack)
	}
	first := int64(tick) + 1 - int64(back)
	if first < 1 || first > math.MaxUint32 {
		return 0, bad("an effect from tick %d on", first)
	}
	return uint32(first), nil
}

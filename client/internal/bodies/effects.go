package bodies

import (
	"slices"
	"unsafe"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world/motion"
)

// effects holds the effects that the server sent the session, with their versions of the last
// maxBack+1 ticks: exact states may be that old.
type effects struct {
	maxBack  uint32 // wire.MaxBack of the session
	programs [wire.MaxPrograms]program
	replaced []program // programs that were replaced, but that a version still uses
	slots    []effect  // by slot
	used     []uint32  // slots with versions
	due      []uint32  // slots with a version that no computed tick includes yet
	versions int       // in all slots
	leaders  map[bulk.Handle]*leader
	size     int // memory of programs, versions and leaders
}

// leader is an entity that effects follow.
type leader struct {
	versions int    // versions of effects that follow it
	ghost    *track // its body, if the entity has left
}

type program struct {
	*field.Program
	bytes int
}

// effect is the tenant of a slot.
type effect struct {
	generation uint32 // newest received
	state      effectState
	program    uint8
	first      uint32 // first tick of the newest record
	last       uint32 // last tick, 0 if unknown
	versions   []version
	used       bool // in effects.used
	due        bool // in effects.due
}

type effectState uint8

const (
	effectUnknown effectState = iota
	effectKnown
	effectEnded
	effectLeft
)

// version is the state of an effect from a tick on.
type version struct {
	from     uint32
	gone     bool // the effect has ended
	wakesOld bool // the previous version wakes the bodies in its reach
	wakesNew bool // this version wakes the bodies in its reach
	applied  bool // a computed tick includes this version
	leader   bulk.Handle
	source   motion.Source
}

// noNumber is the number of no body: an effect that follows it stands still.
const noNumber = 1<<32 - 1

const (
	bytesOfVersion = int(unsafe.Sizeof(version{}))
	bytesOfVector  = int(unsafe.Sizeof(field.Vec4{}))
	bytesOfLeader  = int(unsafe.Sizeof(leader{})) + 64 // with its entry in a map
	// bytesOfProgram and bytesOfCode bound the memory of a loaded program: decoded instructions
	// and bound kernels for each byte of its portable form.
	bytesOfProgram = 4 << 10
	bytesOfCode    = 24
)

// bytes returns the memory of the effects.
func (f *effects) bytes() int {
	return f.size + capacity(f.slots) + capacity(f.replaced) + capacity(f.used) + capacity(f.due)
}

// addProgram applies a Program record of a message of the given tick.
func (f *effects) addProgram(p wire.Program, tick uint32) error {
	for _, slot := range f.used {
		if e := &f.slots[slot]; e.state == effectKnown && e.program == p.Number && (e.last == 0 || e.last > tick) {
			return badMessage("program %d is replaced while effect %d has it", p.Number, slot)
		}
	}
	loaded, err := field.Load(p.Code)
	if err != nil {
		return wire.Malformed(err)
	}
	at := &f.programs[p.Number]
	if at.Program != nil {
		f.replaced = append(f.replaced, *at) // until forgetBefore
	}
	*at = program{loaded, bytesOfProgram + bytesOfCode*len(p.Code)}
	f.size += at.bytes
	return nil
}

// addEffect applies an EffectAdded record of a message of the given tick.
func (f *effects) addEffect(r *wire.EffectAdded, tick uint32) error {
	born, first, last, err := r.Ticks(tick, f.maxBack)
	if err != nil {
		return err
	}
	slot, generation := r.Effect.Index(), r.Effect.Generation()
	if n := int(slot) + 1 - len(f.slots); n > 0 {
		f.slots = append(f.slots, make([]effect, n)...)
	}
	e := &f.slots[slot]
	switch {
	case generation < e.generation, generation == e.generation && e.state != effectLeft:
		return badMessage("effect %v is added, %v was before it", r.Effect, bulk.NewHandle(slot, e.generation))
	case first < e.first:
		return badMessage("effect %v acts from tick %d on, its slot changed in tick %d", r.Effect, first, e.first)
	}
	p := f.programs[r.Program].Program
	if p == nil {
		return badMessage("effect %v has program %d, which is not known", r.Effect, r.Program)
	}
	params, err := paramsOf(p, r.Params)
	if err != nil {
		return err
	}
	v := version{from: first, wakesNew: r.Age <= 1, leader: r.Path.Leader}
	v.source = motion.Source{
		Program: p, Params: params, Mode: motion.Mode(r.Mode), Layers: motion.Layers(r.Layers), Path: pathOf(&r.Path),
		Leader: noNumber, Born: uint64(born), First: uint64(first), Last: uint64(last),
	}
	if err := v.source.Path.Check(); err != nil {
		return wire.Malformed(err)
	}
	e.generation, e.state, e.program, e.last = generation, effectKnown, r.Program, last
	f.appendVersion(slot, v)
	return nil
}

// changeEffect applies an EffectChanged record of a message of the given tick.
func (f *effects) changeEffect(r *wire.EffectChanged, tick uint32) error {
	first, err := r.FirstTick(tick, f.maxBack)
	if err != nil {
		return err
	}
	e, err := f.findEffect(r.Effect, first)
	if err != nil {
		return err
	}
	v := e.versions[len(e.versions)-1]
	v.from, v.wakesOld, v.wakesNew, v.applied = first, true, true, false
	if r.HasParams {
		if v.source.Params, err = paramsOf(v.source.Program, r.Params); err != nil {
			return err
		}
	}
	if r.HasPath {
		v.source.Path, v.source.PathBorn, v.leader, v.source.Leader = pathOf(&r.Path), uint64(first), r.Path.Leader, noNumber
		if err := v.source.Path.Check(); err != nil {
			return wire.Malformed(err)
		}
	}
	f.appendVersion(r.Effect.Index(), v)
	return nil
}

// endEffect applies an EffectEnded or EffectLeft record of a message of the given tick.
func (f *effects) endEffect(r *wire.EffectEnded, tick uint32) error {
	first, err := r.FirstTick(tick, f.maxBack)
	if err != nil {
		return err
	}
	e, err := f.findEffect(r.Effect, first)
	if err != nil {
		return err
	}
	e.state = effectEnded
	if r.Left {
		e.state = effectLeft
	}
	f.appendVersion(r.Effect.Index(), version{from: first, gone: true, wakesOld: !r.Left, source: motion.Source{Leader: noNumber}})
	return nil
}

// findEffect returns the effect that a record changes from tick first on.
func (f *effects) findEffect(h bulk.Handle, first uint32) (*effect, error) {
	slot := h.Index()
	if int(slot) >= len(f.slots) || f.slots[slot].generation != h.Generation() || f.slots[slot].state != effectKnown {
		return nil, badMessage("a record of effect %v, which is not known", h)
	}
	e := &f.slots[slot]
	if first < e.first || e.last != 0 && e.last < first || len(e.versions) == 0 {
		return nil, badMessage("a record of effect %v from tick %d on; it changed in tick %d and acts to tick %d", h, first, e.first, e.last)
	}
	return e, nil
}

// appendVersion adds the newest version of the effect on a slot.
func (f *effects) appendVersion(slot uint32, v version) {
	e := &f.slots[slot]
	e.first = v.from
	e.versions = append(e.versions, v)
	f.countVersion(&v)
	if !e.used {
		e.used = true
		f.used = append(f.used, slot)
	}
	if !e.due {
		e.due = true
		f.due = append(f.due, slot)
	}
}

// countDue returns the number of versions on the slots in f.due.
func (f *effects) countDue() (versions int) {
	for _, slot := range f.due {
		versions += len(f.slots[slot].versions)
	}
	return versions
}

// takeLate marks the versions of a slot as applied whose ticks are computed already, and reports
// whether there were any.
func (f *effects) takeLate(slot, now uint32) (late bool) {
	versions := f.slots[slot].versions
	for i := range versions {
		if v := &versions[i]; !v.applied && v.from <= now {
			v.applied, late = true, true
		}
	}
	return late
}

// dropSettled removes a slot from f.due once computed ticks include all its versions.
func (f *effects) dropSettled() {
	f.due = slices.DeleteFunc(f.due, func(slot uint32) bool {
		e := &f.slots[slot]
		e.due = len(e.versions) > 0 && !e.versions[len(e.versions)-1].applied
		return !e.due
	})
}

// forgetBefore forgets the versions and programs that ticks from oldest on do not need.
func (f *effects) forgetBefore(oldest uint32) {
	kept := f.used[:0]
	for _, slot := range f.used {
		e := &f.slots[slot]
		n := 0
		for n+1 < len(e.versions) && e.versions[n+1].from <= oldest {
			f.uncountVersion(&e.versions[n])
			n++
		}
		if v := &e.versions[n]; n+1 == len(e.versions) && v.applied &&
			(v.gone && v.from <= oldest || v.source.Last != 0 && v.source.Last < uint64(oldest)) {
			f.uncountVersion(v)
			n++
		}
		if n > 0 {
			e.versions = slices.Delete(e.versions, 0, n)
		}
		e.used = len(e.versions) > 0
		if e.used {
			kept = append(kept, slot)
		} else {
			e.versions = nil
		}
	}
	f.used = kept
	f.forgetReplaced()
}

// countVersion counts a version, and uncountVersion stops counting it.
func (f *effects) countVersion(v *version) {
	f.versions++
	f.size += v.bytes()
	if !v.followsEntity() {
		return
	}
	l := f.leaders[v.leader]
	if l == nil {
		if f.leaders == nil {
			f.leaders = map[bulk.Handle]*leader{}
		}
		l = &leader{}
		f.leaders[v.leader] = l
		f.size += bytesOfLeader
	}
	l.versions++
}

func (f *effects) uncountVersion(v *version) {
	f.versions--
	f.size -= v.bytes()
	if !v.followsEntity() {
		return
	}
	l := f.leaders[v.leader]
	l.versions--
	if l.versions == 0 {
		delete(f.leaders, v.leader)
		f.size -= bytesOfLeader
	}
}

// forgetReplaced forgets the replaced programs that no version uses.
func (f *effects) forgetReplaced() {
	if len(f.replaced) == 0 {
		return
	}
	needed := map[*field.Program]bool{}
	for _, slot := range f.used {
		for _, v := range f.slots[slot].versions {
			needed[v.source.Program] = true // Program is nil if gone
		}
	}
	f.replaced = slices.DeleteFunc(f.replaced, func(p program) bool {
		if needed[p.Program] {
			return false
		}
		f.size -= p.bytes
		return true
	})
}

// followsEntity reports whether the effect follows an entity.
func (v *version) followsEntity() bool { return !v.gone && v.source.Path.Form == motion.Following }

// bytes returns the memory of a version, including its share of the list's spare capacity.
func (v *version) bytes() int { return 2*bytesOfVersion + bytesOfVector*len(v.source.Params) }

// versionAfter returns the version in force after tick, or nil.
func (e *effect) versionAfter(tick uint32) *version {
	for i := len(e.versions) - 1; i >= 0; i-- {
		v := &e.versions[i]
		if v.from > tick {
			continue
		}
		if v.gone || v.source.Last != 0 && v.source.Last <= uint64(tick) {
			return nil
		}
		return v
	}
	return nil
}

// paramsOf returns the parameters that a record gives a program.
func paramsOf(p *field.Program, numbers wire.Floats) ([]field.Vec4, error) {
	declared := p.Params()
	params := make([]field.Vec4, len(declared))
	at := 0
	for i, d := range declared {
		n := 4
		if d.Scalar {
			n = 1
		}
		switch {
		case numbers.Len() == 0:
			params[i] = d.Default
		case at+n > numbers.Len():
			return nil, badMessage("%d numbers for the parameters of a program with %d", numbers.Len(), len(declared))
		case d.Scalar:
			x := numbers.At(at)
			params[i] = field.Vec4{x, x, x, x}
		default:
			for lane := range 4 {
				params[i][lane] = numbers.At(at + lane)
			}
		}
		at += n
	}
	if numbers.Len() != 0 && numbers.Len() != at || numbers.Len() != 0 && !p.Allows(params) {
		return nil, badMessage("%d numbers that do not fit a program with %d parameters", numbers.Len(), len(declared))
	}
	return params, nil
}

func pathOf(p *wire.Path) motion.Path {
	return motion.Path{
		Form: motion.PathForm(p.Form), Center: motion.VecOf(p.Center), Velocity: motion.VecOf(p.Velocity),
		AxisU: motion.VecOf(p.Axes[0]), AxisV: motion.VecOf(p.Axes[1]), Phase: p.Phase, Rate: p.Rate,
	}
}

func capacity[T any](list []T) int {
	var element T
	return cap(list) * int(unsafe.Sizeof(element))
}

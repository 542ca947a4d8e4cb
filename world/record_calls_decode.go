package world

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"time"
	"unsafe"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/field"
)

// callDecoder repeats the calls that a callEncoder has encoded.
type callDecoder struct {
	w        *World
	setup    *Image // has the components of the world in which the values are converted
	mapping  imageMapping
	rest     []byte // unread part of the calls
	programs []*field.Program
	parts    int // number of hashes behind opHashes
	wanted   []uint64
	late     time.Duration
}

// apply repeats the calls before a step. It returns the name of the first call whose outcome differs: only
// successful calls are encoded. It returns false if the calls are incomplete.
func (d *callDecoder) apply(calls []byte) (differs string, complete bool) {
	d.rest, d.wanted, d.late = calls, d.wanted[:0], 0
	for len(d.rest) > 0 {
		code := d.byte()
		if !d.applyOp(code) {
			return opNames[code], true
		}
		if d.rest == nil {
			return "", false
		}
	}
	return "", true
}

var opNames = [...]string{
	opSpawn: "Spawn", opDeferSpawn: "DeferSpawn", opApplyDeferred: "ApplyDeferred", opDestroy: "Destroy", opPosition: "SetPosition", opVelocity: "SetVelocity", opWake: "Wake",
	opSleep: "Sleep", opSet: "Set", opUnset: "Remove", opAddEffect: "AddEffect", opMoveEffect: "MoveEffect",
	opEffectParams: "SetEffectParams", opRemoveEffect: "RemoveEffect", opRandom: "Rand", opHashes: "",
	opDestroyBecause: "DestroyBecause", opForgetPrograms: "", opLate: "",
}

// applyOp repeats one call. It returns false if the outcome differs.
func (d *callDecoder) applyOp(code byte) bool {
	w := d.w
	switch code {
	case opSpawn, opDeferSpawn:
		return d.spawn(code)
	case opApplyDeferred:
		w.ApplyDeferred()
		return true
	case opDestroy:
		return w.Destroy(d.handle())
	case opDestroyBecause:
		return w.DestroyBecause(d.handle(), d.byte())
	case opPosition:
		return w.SetPosition(d.handle(), d.vec())
	case opVelocity:
		return w.SetVelocity(d.handle(), d.vec())
	case opWake:
		return w.Wake(d.handle())
	case opSleep:
		return w.Sleep(d.handle())
	case opSet, opUnset:
		return d.component(code)
	case opAddEffect:
		return d.addEffect()
	case opMoveEffect:
		return w.MoveEffect(d.handle(), d.vec())
	case opEffectParams:
		return d.effectParams()
	case opRemoveEffect:
		return w.RemoveEffect(d.handle())
	case opRandom:
		state := d.take(int(d.byte()))
		return new(rand.PCG).UnmarshalBinary(state) == nil && w.pcg.UnmarshalBinary(state) == nil
	case opForgetPrograms:
		d.programs = nil
		return true
	case opLate:
		d.late = time.Duration(d.u32()) * time.Millisecond
		return true
	case opHashes:
		for range d.parts {
			d.wanted = append(d.wanted, d.u64())
		}
		return true
	}
	d.rest = nil
	return true
}

func (d *callDecoder) spawn(code byte) bool {
	k, at, velocity, life, want := d.u16(), d.vec(), d.vec(), d.u32(), d.handle()
	if int(k) >= len(d.mapping.kinds) || d.mapping.kinds[k] < 0 {
		return false
	}
	spawn := d.w.SpawnFor
	if code == opDeferSpawn {
		spawn = d.w.DeferSpawn
	}
	e, err := spawn(KindID(d.mapping.kinds[k]), at, velocity, life)
	return err == nil && e == want
}

func (d *callDecoder) component(code byte) bool {
	number, e := d.u16(), d.handle()
	if int(number) >= len(d.mapping.columns) {
		return false
	}
	source := d.mapping.columns[number]
	var recorded values
	if code == opSet {
		recorded = values{d.take(int(source.shape.size)), d.takeTexts(&source.shape)}
	}
	live := d.w.pool.Get(e) != nil
	if source.column < 0 || !live {
		return live || source.column < 0
	}
	c := d.w.components[source.column]
	if code == opUnset {
		if c.present().Has(e.Index()) { // if not, a later opSet has the value
			c.clear(wordOf(e.Index()))
		}
		return true
	}
	return source.shape.isValid(recorded.bytes) && d.set(source, c, e.Index(), recorded)
}

// set sets a recorded value.
func (d *callDecoder) set(source *columnSource, c column, slot uint32, v values) bool {
	source.shape.convert(v.bytes)
	own := &source.shape
	if source.conversion != nil {
		own = &d.setup.components[source.into].shape
		from := v
		v = values{make([]byte, own.size), make([]string, len(own.textFields))}
		defaultOf := func(int) unsafe.Pointer { return d.w.defaultOf(d.w.pool.At(slot).kind, source.column) }
		if source.convertTo(v, from, 1, defaultOf) != nil {
			return false
		}
	}
	for _, f := range own.textFields {
		f.set(c.at(slot), "") // before the raw copy, which the garbage collector does not see
	}
	copy(valueOf(c, slot), v.bytes)
	for i, f := range own.textFields {
		f.set(c.at(slot), v.texts[i])
	}
	c.present().Set(slot)
	c.changed().add(wordOf(slot))
	d.w.dirty.Set(slot)
	return true
}

func (d *callDecoder) addEffect() bool {
	number := d.u32()
	if int(number) == len(d.programs) {
		p, err := field.Load(d.take(int(min(d.u32(), field.MaxBinaryBytes))))
		if err != nil {
			return false
		}
		d.programs = append(d.programs, p)
	}
	if int(number) >= len(d.programs) {
		return false
	}
	def := EffectDef{
		Program: d.programs[number], Mode: EffectMode(d.byte()), Center: d.vec(),
		Layers: Layers(d.u32()), Velocity: d.vec(),
		Orbit:  EffectOrbit{AxisU: d.vec(), AxisV: d.vec(), Phase: d.u32(), Rate: d.u32()},
		Follow: d.handle(), LifeTicks: d.u32(), Hidden: d.byte() != 0,
	}
	for range def.Program.Params() {
		def.Params = append(def.Params, d.vec4())
	}
	want := d.handle()
	id, err := d.w.AddEffect(def)
	return err == nil && id == want
}

func (d *callDecoder) effectParams() bool {
	id := d.handle()
	if d.w.effects.pool.Get(id) == nil {
		return false
	}
	var params []field.Vec4
	for range d.w.effects.params[id.Index()] {
		params = append(params, d.vec4())
	}
	return d.w.SetEffectParams(id, params)
}

// takeTexts reads the texts that callEncoder.texts wrote.
func (d *callDecoder) takeTexts(s *shape) (texts []string) {
	for range s.textFields {
		texts = append(texts, string(d.take(int(min(d.u32(), MaxTextBytes)))))
	}
	return texts
}

// take reads from the calls. Past its end it returns zeros and sets rest to nil.
func (d *callDecoder) take(n int) []byte {
	if d.rest == nil || n > len(d.rest) {
		d.rest = nil
		return make([]byte, n)
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

func (d *callDecoder) byte() byte          { return d.take(1)[0] }
func (d *callDecoder) u16() uint16         { return binary.LittleEndian.Uint16(d.take(2)) }
func (d *callDecoder) u32() uint32         { return binary.LittleEndian.Uint32(d.take(4)) }
func (d *callDecoder) u64() uint64         { return binary.LittleEndian.Uint64(d.take(8)) }
func (d *callDecoder) f32() float32        { return math.Float32frombits(d.u32()) }
func (d *callDecoder) handle() bulk.Handle { return bulk.Handle(d.u64()) }
func (d *callDecoder) vec() Vec3           { return Vec3{X: d.f32(), Y: d.f32(), Z: d.f32()} }
func (d *callDecoder) vec4() field.Vec4    { return field.Vec4{d.f32(), d.f32(), d.f32(), d.f32()} }

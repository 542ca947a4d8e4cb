package world

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"unsafe"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/field"
)

// ErrRecording: the bytes are not a recording, are damaged, or were written by another
// version. The steps replayed before are valid. If errors.Is also finds
// io.ErrUnexpectedEOF, the recording was not closed: its server crashed.
var ErrRecording = errors.New("world: recording damaged")

// DivergenceError reports that a replay differs from its recording: a system keeps state
// of its own, draws from a source other than World.Rand, or was changed, or two machines
// compute differently.
type DivergenceError struct {
	Tick  uint64   // first step after which the state differs
	Parts []string // parts that differ: "bodies", "component health", ...
	// RulesDiffer says that the recorded world was set up differently: see Image.Changes of Replay.Image.
	RulesDiffer bool
	// Recorded is the program of the recording, and Replayed the program of the world (World.SetProgram).
	Recorded, Replayed Program
}

// Error names the tick and the parts, and both programs if they differ: a changed system is no difference
// of the setup.
func (e *DivergenceError) Error() string {
	since, programs := "", ""
	if e.RulesDiffer {
		since = " since the rules differ"
	}
	if e.Recorded != e.Replayed {
		programs = fmt.Sprintf("; it was recorded by %q, and this is %q", e.Recorded.text(), e.Replayed.text())
	}
	return fmt.Sprintf("world: the replay differs from the recording%s, first after tick %d: in %s%s", since, e.Tick, strings.Join(e.Parts, ", "), programs)
}

// recordedPart is a part of the state that a recording hashes.
type recordedPart struct {
	name string
	own  int // its index in the world's parts, or -1: it is not compared, since it is not the same
}

// Replay repeats a recording in a world.
type Replay struct {
	w        *World
	reader   *recordingReader
	image    *Image
	mapping  imageMapping
	rest     []byte // unread part of the step record
	programs []*field.Program
	parts    []recordedPart
	wanted   []uint64
	hashes   []uint64
	checked  uint64
}

// Replay restores the image at the beginning of a recording, as Restore does; Next then
// repeats it step by step. The world's systems run again. If it is set up differently, kinds and components
// are mapped as by ReadImage, for the calls too; the steps then show what the difference makes. The error
// wraps ErrRecording, or comes from ReadImage or Restore.
func (w *World) Replay(from io.Reader) (*Replay, error) {
	reader, err := newRecordingReader(from)
	if err != nil {
		return nil, err
	}
	img, mapping, err := w.readImage(from)
	if err != nil {
		return nil, err
	}
	reader.tick = img.tick
	r := &Replay{w: w, reader: reader, image: img, mapping: mapping}
	if err := r.findParts(); err != nil {
		return nil, err
	}
	return r, w.Restore(img)
}

// findParts reads the names of the hashed parts. They must exist in this world, which may
// number its components differently.
func (r *Replay) findParts() error {
	own := r.w.hashParts()
	names, err := r.reader.readParts(len(own) + len(r.mapping.columns))
	if err != nil {
		return err
	}
	for _, name := range names {
		part := recordedPart{name, slices.Index(own, name)}
		if name == partEntities && r.mapping.reordered {
			part.own = -1
		}
		for _, c := range r.mapping.columns {
			if name == partComponent+c.name {
				part.own = r.partOf(c, own)
			}
		}
		if part.own < 0 && name != partEntities && !strings.HasPrefix(name, partComponent) {
			return fmt.Errorf("%w: the world has no part %q", ErrRecording, name)
		}
		r.parts = append(r.parts, part)
	}
	return nil
}

// partOf returns the index of a component in the world's parts, or -1 if its values are not the recorded ones.
func (r *Replay) partOf(c *columnSource, own []string) int {
	if c.column < 0 || c.conversion != nil {
		return -1
	}
	return slices.Index(own, partComponent+r.w.components[c.column].info().Name)
}

// Image returns the image at the beginning of the recording, with its Extra.
func (r *Replay) Image() *Image { return r.image }

// Checked returns the number of steps compared with recorded hashes.
func (r *Replay) Checked() uint64 { return r.checked }

// Next repeats a step: the recorded calls, the step, and a comparison with the recorded
// hashes, if there are any. It returns io.EOF at the end of a closed recording without
// further bytes, a *DivergenceError, or an error that wraps ErrRecording. Each error ends
// the replay.
func (r *Replay) Next() error {
	step, err := r.reader.readStep()
	if err != nil {
		return err
	}
	r.rest, r.wanted = step, r.wanted[:0]
	if err := r.apply(); err != nil {
		return err
	}
	r.w.Step()
	if len(r.wanted) == 0 {
		return nil
	}
	r.checked++
	r.hashes = r.w.appendHashes(r.hashes[:0])
	var differ []string
	same := len(r.image.changes) == 0 && len(r.parts) == len(r.hashes)
	for i, part := range r.parts {
		same = same && part.own == i
		if part.own >= 0 && r.hashes[part.own] != r.wanted[i] && part.name != partState {
			differ = append(differ, part.name)
		}
	}
	// A world with additional components has a different StateHash.
	if len(differ) == 0 && same && r.hashes[0] != r.wanted[0] {
		differ = []string{partState}
	}
	if len(differ) > 0 {
		return r.divergence(r.w.tick, differ)
	}
	return nil
}

func (r *Replay) divergence(tick uint64, parts []string) error {
	return &DivergenceError{tick, parts, len(r.image.changes) > 0, r.image.program, r.w.program}
}

// apply repeats the calls of a step record.
func (r *Replay) apply() error {
	for len(r.rest) > 0 {
		code := r.byte()
		if !r.applyOp(code) {
			return r.divergence(r.w.tick+1, []string{opNames[code] + " before it"})
		}
		if r.rest == nil {
			return fmt.Errorf("%w: the step after tick %d is incomplete", ErrRecording, r.w.tick)
		}
	}
	return nil
}

var opNames = [...]string{
	opSpawn: "Spawn", opDeferSpawn: "DeferSpawn", opApplyDeferred: "ApplyDeferred", opDestroy: "Destroy", opPosition: "SetPosition", opVelocity: "SetVelocity", opWake: "Wake",
	opSleep: "Sleep", opSet: "Set", opUnset: "Remove", opAddEffect: "AddEffect", opMoveEffect: "MoveEffect",
	opEffectParams: "SetEffectParams", opRemoveEffect: "RemoveEffect", opRandom: "Rand", opHashes: "",
	opDestroyBecause: "DestroyBecause",
}

// applyOp repeats one call. It returns false if the outcome differs: only successful
// calls are recorded.
func (r *Replay) applyOp(code byte) bool {
	w := r.w
	switch code {
	case opSpawn, opDeferSpawn:
		return r.spawn(code)
	case opApplyDeferred:
		w.ApplyDeferred()
		return true
	case opDestroy:
		return w.Destroy(r.handle())
	case opDestroyBecause:
		return w.DestroyBecause(r.handle(), r.byte())
	case opPosition:
		return w.SetPosition(r.handle(), r.vec())
	case opVelocity:
		return w.SetVelocity(r.handle(), r.vec())
	case opWake:
		return w.Wake(r.handle())
	case opSleep:
		return w.Sleep(r.handle())
	case opSet, opUnset:
		return r.component(code)
	case opAddEffect:
		return r.addEffect()
	case opMoveEffect:
		return w.MoveEffect(r.handle(), r.vec())
	case opEffectParams:
		return r.effectParams()
	case opRemoveEffect:
		return w.RemoveEffect(r.handle())
	case opRandom:
		state := r.take(int(r.byte()))
		return new(rand.PCG).UnmarshalBinary(state) == nil && w.pcg.UnmarshalBinary(state) == nil
	case opHashes:
		for range r.parts {
			r.wanted = append(r.wanted, r.u64())
		}
		return true
	}
	r.rest = nil
	return true
}

func (r *Replay) spawn(code byte) bool {
	k, at, velocity, life, want := r.u16(), r.vec(), r.vec(), r.u32(), r.handle()
	if int(k) >= len(r.mapping.kinds) || r.mapping.kinds[k] < 0 {
		return false
	}
	spawn := r.w.SpawnFor
	if code == opDeferSpawn {
		spawn = r.w.DeferSpawn
	}
	e, err := spawn(KindID(r.mapping.kinds[k]), at, velocity, life)
	return err == nil && e == want
}

func (r *Replay) component(code byte) bool {
	number, e := r.u16(), r.handle()
	if int(number) >= len(r.mapping.columns) {
		return false
	}
	source := r.mapping.columns[number]
	var recorded values
	if code == opSet {
		recorded = values{r.take(int(source.shape.size)), r.takeTexts(&source.shape)}
	}
	live := r.w.pool.Get(e) != nil
	if source.column < 0 || !live {
		return live || source.column < 0
	}
	c := r.w.components[source.column]
	if code == opUnset {
		if c.present().Has(e.Index()) { // if not, a later opSet has the value
			c.clear(wordOf(e.Index()))
		}
		return true
	}
	return source.shape.isValid(recorded.bytes) && r.set(source, c, e.Index(), recorded)
}

// set sets a recorded value.
func (r *Replay) set(source *columnSource, c column, slot uint32, v values) bool {
	source.shape.convert(v.bytes)
	own := &source.shape
	if source.conversion != nil {
		own = &r.image.components[source.into].shape
		from := v
		v = values{make([]byte, own.size), make([]string, len(own.textFields))}
		defaultOf := func(int) unsafe.Pointer { return r.w.defaultOf(r.w.pool.At(slot).kind, source.column) }
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
	r.w.dirty.Set(slot)
	return true
}

func (r *Replay) addEffect() bool {
	number := r.u32()
	if int(number) == len(r.programs) {
		p, err := field.Load(r.take(int(min(r.u32(), field.MaxBinaryBytes))))
		if err != nil {
			return false
		}
		r.programs = append(r.programs, p)
	}
	if int(number) >= len(r.programs) {
		return false
	}
	d := EffectDef{
		Program: r.programs[number], Mode: EffectMode(r.byte()), Center: r.vec(),
		Layers: Layers(r.u32()), Velocity: r.vec(),
		Orbit:  EffectOrbit{AxisU: r.vec(), AxisV: r.vec(), Phase: r.u32(), Rate: r.u32()},
		Follow: r.handle(), LifeTicks: r.u32(), Hidden: r.byte() != 0,
	}
	for range d.Program.Params() {
		d.Params = append(d.Params, r.vec4())
	}
	want := r.handle()
	id, err := r.w.AddEffect(d)
	return err == nil && id == want
}

func (r *Replay) effectParams() bool {
	id := r.handle()
	if r.w.effects.pool.Get(id) == nil {
		return false
	}
	var params []field.Vec4
	for range r.w.effects.params[id.Index()] {
		params = append(params, r.vec4())
	}
	return r.w.SetEffectParams(id, params)
}

// take reads from the step record. Past its end it returns zeros and sets rest to nil.
func (r *Replay) take(n int) []byte {
	if r.rest == nil || n > len(r.rest) {
		r.rest = nil
		return make([]byte, n)
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *Replay) byte() byte          { return r.take(1)[0] }
func (r *Replay) u16() uint16         { return binary.LittleEndian.Uint16(r.take(2)) }
func (r *Replay) u32() uint32         { return binary.LittleEndian.Uint32(r.take(4)) }
func (r *Replay) u64() uint64         { return binary.LittleEndian.Uint64(r.take(8)) }
func (r *Replay) f32() float32        { return math.Float32frombits(r.u32()) }
func (r *Replay) handle() bulk.Handle { return bulk.Handle(r.u64()) }
func (r *Replay) vec() Vec3           { return Vec3{X: r.f32(), Y: r.f32(), Z: r.f32()} }
func (r *Replay) vec4() field.Vec4    { return field.Vec4{r.f32(), r.f32(), r.f32(), r.f32()} }

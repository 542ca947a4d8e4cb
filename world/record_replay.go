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

	"github.com/cespare/xxhash/v2"

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
}

// Error names the tick and the parts.
func (e *DivergenceError) Error() string {
	since := ""
	if e.RulesDiffer {
		since = " since the rules differ"
	}
	return fmt.Sprintf("world: the replay differs from the recording%s, first after tick %d: in %s", since, e.Tick, strings.Join(e.Parts, ", "))
}

// recordedPart is a part of the state that a recording hashes.
type recordedPart struct {
	name string
	own  int // its index in the world's parts, or -1: it is not compared, since it is not the same
}

// Replay repeats a recording in a world.
type Replay struct {
	w        *World
	from     io.Reader
	image    *Image
	mapping  imageMapping
	sum      xxhash.Digest
	step     []byte
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
	var head [12]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return nil, readError(err, "the header")
	}
	if string(head[:4]) != recordMagic {
		return nil, fmt.Errorf("%w: not a recording: it does not begin with %q", ErrRecording, recordMagic)
	}
	if version := binary.LittleEndian.Uint32(head[4:]); version != recordVersion {
		return nil, fmt.Errorf("%w: version %d; this program reads %d", ErrRecording, version, recordVersion)
	}
	img, mapping, err := w.readImage(from)
	if err != nil {
		return nil, err
	}
	r := &Replay{w: w, from: from, image: img, mapping: mapping}
	r.sum.Reset()
	_, _ = r.sum.Write(head[:]) // never fails
	if err := r.readParts(); err != nil {
		return nil, err
	}
	return r, w.Restore(img)
}

// readError returns the error of a recording that ends early, or its reader's error.
func readError(err error, where string) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it ends early, in %s: %w", ErrRecording, where, io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("world: recording: reading: %w", err)
}

// readParts reads the names of the hashed parts. They must exist in this world, which may
// number its components differently.
func (r *Replay) readParts() error {
	own := r.w.hashParts()
	n, err := r.number()
	if err != nil {
		return err
	}
	if most := len(own) + len(r.mapping.columns); int(n) > most {
		return fmt.Errorf("%w: it has %d parts; at most %d are known", ErrRecording, n, most)
	}
	for range n {
		length, err := r.number()
		if err != nil {
			return err
		}
		name := make([]byte, min(length, maxTextBytes))
		if err := r.readHead(name); err != nil {
			return err
		}
		part := recordedPart{string(name), slices.Index(own, string(name))}
		if part.name == partEntities && r.mapping.reordered {
			part.own = -1
		}
		for _, c := range r.mapping.columns {
			if part.name == partComponent+c.name {
				part.own = r.partOf(c, own)
			}
		}
		if part.own < 0 && part.name != partEntities && !strings.HasPrefix(part.name, partComponent) {
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

func (r *Replay) number() (uint32, error) {
	var b [4]byte
	err := r.readHead(b[:])
	return binary.LittleEndian.Uint32(b[:]), err
}

// readHead reads a piece of the names, which the first step record's sum covers.
func (r *Replay) readHead(b []byte) error {
	if _, err := io.ReadFull(r.from, b); err != nil {
		return readError(err, "the names of the parts")
	}
	_, _ = r.sum.Write(b) // never fails
	return nil
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
	if err := r.readStep(); err != nil {
		return err
	}
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
	return &DivergenceError{Tick: tick, Parts: parts, RulesDiffer: len(r.image.changes) > 0}
}

func (r *Replay) readStep() error {
	where := fmt.Sprintf("the step after tick %d", r.w.tick)
	var head [stepHeaderBytes]byte
	if _, err := io.ReadFull(r.from, head[:]); err != nil {
		return readError(err, where)
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n > maxStepBytes {
		return fmt.Errorf("%w: %s has %d bytes; at most %d", ErrRecording, where, n, maxStepBytes)
	}
	r.step = r.step[:0]
	for uint32(len(r.step)) < n { // allocate as data arrives: the claimed length may be false
		part := min(int(n)-len(r.step), chunkBytes)
		r.step = slices.Grow(r.step, part)[:len(r.step)+part]
		if _, err := io.ReadFull(r.from, r.step[len(r.step)-part:]); err != nil {
			return readError(err, where)
		}
	}
	_, _ = r.sum.Write(r.step) // never fails
	if r.sum.Sum64() != binary.LittleEndian.Uint64(head[4:]) {
		return fmt.Errorf("%w: wrong checksum of %s", ErrRecording, where)
	}
	if n == 0 {
		return r.endOfFile()
	}
	r.rest, r.wanted = r.step, r.wanted[:0]
	if tick := r.u64(); tick != r.w.tick+1 {
		return fmt.Errorf("%w: the step after tick %d has number %d", ErrRecording, r.w.tick, tick)
	}
	return nil
}

// endOfFile returns io.EOF, or an error if bytes follow the end of the recording: the file
// was not truncated, or holds another recording.
func (r *Replay) endOfFile() error {
	var more [1]byte
	switch _, err := io.ReadFull(r.from, more[:]); {
	case err == nil:
		return fmt.Errorf("%w: data follows its end after tick %d: the steps up to here are valid", ErrRecording, r.w.tick)
	case errors.Is(err, io.EOF):
		return io.EOF
	default:
		return readError(err, "its end")
	}
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

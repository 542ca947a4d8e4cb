package world

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/worldd/worldd/field"
)

// The file format of a recording, all little-endian:
//
//	magic "wrec" | version u32 | ticks between hashes u32
//	image (with its own magic and end)
//	parts u32 x { length u32 | name }
//	step records x { length u32 | sum u64 | bytes }
//	the last step record of a closed recording is empty
//
// A step record holds the tick of a step, the calls before it in order, and the hashes
// after it. A sum is xxhash64 of everything before it except the image, which has its own
// sums: the head, the parts, and all step records including the present one.
const (
	recordMagic     = "wrec"
	recordVersion   = 4 // up to 3, bodies fell asleep by speed alone
	stepHeaderBytes = 12
	// maxStepBytes bounds a step record for readers: a million spawns are 50 MB.
	maxStepBytes = 1 << 28
)

// Operations in a step record: the external changes to a world. Changes by systems are not
// recorded: a replay runs the systems again.
const (
	opSpawn = iota + 1
	opDeferSpawn
	opApplyDeferred
	opDestroy
	opPosition
	opVelocity
	opWake
	opSleep
	opSet
	opUnset
	opAddEffect
	opMoveEffect
	opEffectParams
	opRemoveEffect
	opRandom
	opHashes
	opDestroyBecause
)

// Recorder writes the external changes to a world, for Replay. It belongs to the world's
// goroutine. A write error ends the recording, not the world: see Err.
type Recorder struct {
	w        *World
	to       io.Writer
	every    uint64
	sum      xxhash.Digest
	step     []byte
	programs map[*field.Program]uint32
	random   []byte // state of the random generator after the last step
	now      []byte
	hashes   []uint64
	shapes   []shape // shapes of the components
	saved    []int   // by component: its number in the image; -1: local, not saved
	written  int64   // bytes written
	limit    int64   // limit of written; 0: none
	full     func()  // called at the limit
	err      error
}

// Record starts a recording of the world. It writes the image, which must have been taken
// since the last step, and then makes one Write per Step. The world must not change between
// TakeImage and this call: neither part would contain the change. The recording holds
// hashes of all parts of the state after each every-th tick, or after each tick if every is
// 0. They cost about as much as two StateHashes.
//
// Until Close, every call that changes the world between two steps is recorded. Writes
// through Component.Mut and similar calls are recorded with the next Step. Adding kinds,
// components or systems, or restoring the world, ends the recording with an error.
func (w *World) Record(to io.Writer, img *Image, every uint64) (*Recorder, error) {
	if w.recorder != nil {
		return nil, fmt.Errorf("%w: the world is being recorded already", ErrValue)
	}
	if img.tick != w.tick || w.running {
		return nil, fmt.Errorf("%w: the image was taken at tick %d, but the world is at tick %d", ErrValue, img.tick, w.tick)
	}
	r := &Recorder{w: w, to: to, every: max(every, 1), programs: map[*field.Program]uint32{}}
	r.sum.Reset()
	head := binary.LittleEndian.AppendUint32([]byte(recordMagic), recordVersion)
	head = binary.LittleEndian.AppendUint32(head, uint32(r.every))
	if err := r.writeHead(head); err != nil {
		return nil, err
	}
	n, err := img.WriteTo(to)
	if err != nil {
		return nil, err
	}
	r.written += n
	names := w.hashParts()
	head = binary.LittleEndian.AppendUint32(head[:0], uint32(len(names)))
	for _, name := range names {
		head = append(binary.LittleEndian.AppendUint32(head, uint32(len(name))), name...)
	}
	if err := r.writeHead(head); err != nil {
		return nil, err
	}
	r.random = append(r.random, img.random...)
	r.shapes, r.saved = w.shapes(), w.savedNumbers()
	r.begin()
	w.recorder = r
	return r, nil
}

// writeHead writes a part of the file other than the image and the step records.
func (r *Recorder) writeHead(b []byte) error {
	_, _ = r.sum.Write(b) // never fails
	if _, err := r.to.Write(b); err != nil {
		return fmt.Errorf("world: recording: %w", err)
	}
	r.written += int64(len(b))
	return nil
}

// EndAt closes the recording before a step that would make it longer than limit bytes, and
// then calls full, inside that Step. The image is always written, even if it is longer. 0
// is no limit.
func (r *Recorder) EndAt(limit int64, full func()) { r.limit, r.full = limit, full }

// Close ends the recording with the last step; later changes are not recorded. It returns
// the error that ended the recording earlier, or the writer's. The writer stays open.
func (r *Recorder) Close() error {
	if r.w.recorder == r {
		r.w.recorder = nil
		r.step = r.step[:stepHeaderBytes]
		r.write()
	}
	return r.err
}

// shapes returns the shapes of the components by ID.
func (w *World) shapes() (all []shape) {
	for _, c := range w.components {
		all = append(all, newShape(c.info().Type))
	}
	return all
}

// savedNumbers returns the numbers of the components in an image by ID; -1 for local ones.
func (w *World) savedNumbers() (all []int) {
	n := 0
	for _, c := range w.components {
		if c.info().Local {
			all = append(all, -1)
			continue
		}
		all = append(all, n)
		n++
	}
	return all
}

// fail ends the recording.
func (r *Recorder) fail(err error) {
	r.err = err
	r.w.recorder = nil
}

// recording returns the recorder, or nil inside a step.
func (w *World) recording() *Recorder {
	if w.running {
		return nil
	}
	return w.recorder
}

// begin starts the record of the next step with its tick.
func (r *Recorder) begin() {
	r.step = append(r.step[:0], make([]byte, stepHeaderBytes)...)
	r.u64(r.w.tick + 1)
}

// beforeStep records the component values that were set or opened for writing, and the
// state of the random generator.
func (r *Recorder) beforeStep() {
	r.w.ApplyDeferred()
	for _, c := range r.w.components {
		changed := &c.changed().next
		if c.info().Local {
			continue
		}
		for slot, ok := changed.Next(0); ok; slot, ok = changed.Next(slot + 1) {
			r.set(c, r.w.tenant(slot))
		}
	}
	r.now, _ = r.w.pcg.AppendBinary(r.now[:0]) // the error is always nil
	if !slices.Equal(r.now, r.random) {
		r.op(opRandom)
		r.step = append(r.step, byte(len(r.now)))
		r.step = append(r.step, r.now...)
	}
}

// afterStep completes the step record and writes it.
func (r *Recorder) afterStep() {
	if r.w.tick%r.every == 0 {
		r.op(opHashes)
		r.hashes = r.w.appendHashes(r.hashes[:0])
		for _, h := range r.hashes {
			r.u64(h)
		}
	}
	r.random, _ = r.w.pcg.AppendBinary(r.random[:0])
	r.write()
}

func (r *Recorder) write() {
	n := len(r.step) - stepHeaderBytes
	if n > maxStepBytes {
		r.fail(fmt.Errorf("%w: a step record of %d bytes; at most %d", ErrFull, n, maxStepBytes))
		return
	}
	if n > 0 && r.limit > 0 && r.written+int64(len(r.step)+stepHeaderBytes) > r.limit {
		if r.Close() == nil {
			r.full()
		}
		return
	}
	_, _ = r.sum.Write(r.step[stepHeaderBytes:]) // never fails
	binary.LittleEndian.PutUint32(r.step, uint32(n))
	binary.LittleEndian.PutUint64(r.step[4:], r.sum.Sum64())
	_, err := r.to.Write(r.step)
	if err != nil {
		r.fail(fmt.Errorf("world: recording: tick %d: %w", r.w.tick, err))
		return
	}
	r.written += int64(len(r.step))
	r.begin()
}

func (r *Recorder) op(code byte)    { r.step = append(r.step, code) }
func (r *Recorder) u16(v uint16)    { r.step = binary.LittleEndian.AppendUint16(r.step, v) }
func (r *Recorder) u32(v uint32)    { r.step = binary.LittleEndian.AppendUint32(r.step, v) }
func (r *Recorder) u64(v uint64)    { r.step = binary.LittleEndian.AppendUint64(r.step, v) }
func (r *Recorder) f32(v float32)   { r.u32(math.Float32bits(v)) }
func (r *Recorder) handle(h Entity) { r.u64(uint64(h)) }
func (r *Recorder) vec(v Vec3)      { r.f32(v.X); r.f32(v.Y); r.f32(v.Z) }
func (r *Recorder) vec4(v field.Vec4) {
	for _, x := range v {
		r.f32(x)
	}
}

// The operations. Each is followed by the arguments of the call, then by the returned
// handle.

func (r *Recorder) spawn(code byte, e Entity, k KindID, at, velocity Vec3, lifeTicks uint32) {
	r.op(code)
	r.u16(uint16(k))
	r.vec(at)
	r.vec(velocity)
	r.u32(lifeTicks)
	r.handle(e)
}

// handleOp records a call whose only argument is an entity or effect.
func (r *Recorder) handleOp(code byte, e Entity) {
	r.op(code)
	r.handle(e)
}

// vectorOp records a call whose arguments are an entity or effect, and a vector.
func (r *Recorder) vectorOp(code byte, h Entity, v Vec3) {
	r.op(code)
	r.handle(h)
	r.vec(v)
}

func (r *Recorder) set(c column, e Entity) {
	id := c.info().ID
	r.op(opSet)
	r.u16(uint16(r.saved[id]))
	r.handle(e)
	from := len(r.step)
	r.step = append(r.step, valueOf(c, e.Index())...)
	r.shapes[id].convert(r.step[from:])
	r.texts(&r.shapes[id], c.at(e.Index()))
}

func (r *Recorder) unset(component int, e Entity) {
	number := r.saved[component]
	if number < 0 {
		return
	}
	r.op(opUnset)
	r.u16(uint16(number))
	r.handle(e)
}

func (r *Recorder) addEffect(id EffectID, d *EffectDef, params []field.Vec4) {
	r.op(opAddEffect)
	number, known := r.programs[d.Program]
	if !known {
		number = uint32(len(r.programs))
		r.programs[d.Program] = number
	}
	r.u32(number)
	if !known {
		text, _ := d.Program.MarshalBinary() // the error is always nil
		r.u32(uint32(len(text)))
		r.step = append(r.step, text...)
	}
	r.op(byte(d.Mode))
	r.vec(d.Center)
	r.u32(uint32(d.Layers))
	r.vec(d.Velocity)
	r.vec(d.Orbit.AxisU)
	r.vec(d.Orbit.AxisV)
	r.u32(d.Orbit.Phase)
	r.u32(d.Orbit.Rate)
	r.handle(d.Follow)
	r.u32(d.LifeTicks)
	hidden := byte(0)
	if d.Hidden {
		hidden = 1
	}
	r.op(hidden)
	for _, p := range params {
		r.vec4(p)
	}
	r.handle(id)
}

func (r *Recorder) effectParams(id EffectID, params []field.Vec4) {
	r.op(opEffectParams)
	r.handle(id)
	for _, p := range params {
		r.vec4(p)
	}
}

// errSetup ends a recording when the world's setup changes: a replay cannot reproduce the
// change.
var errSetup = errors.New("world: recording: the world's setup changed, or it was restored, while it was recorded")

// noteSetupChange ends the recording at a change that a recording cannot hold.
func (w *World) noteSetupChange() {
	if w.recorder != nil {
		w.recorder.fail(errSetup)
	}
}

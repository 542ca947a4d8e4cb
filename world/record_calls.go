package world

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/worldd/worldd/field"
)

// Operations: the external changes to a world. Changes by systems are not encoded: a replay runs
// the systems again.
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
	opForgetPrograms // the next program has number 0 again
	opLate           // in recordings: how late the step began in ms, rounded up
)

// callEncoder encodes the calls that change a world between two steps, for a recording or a journal. Writes
// through Component.Mut and similar calls are found by their marks before the step.
type callEncoder struct {
	w        *World
	bytes    []byte                    // the calls since the last step, behind what the owner put there
	programs map[*field.Program]uint32 // numbers of the programs encoded so far
	random   []byte                    // state of the random generator that a replay has
	now      []byte                    // scratch
	shapes   []shape                   // of the components
	saved    []int                     // by component: its number in an image; -1: local, not saved
	err      error                     // why the encoder ended early
}

// startCalls starts an encoder in the world's present state.
func (w *World) startCalls(c *callEncoder) {
	*c = callEncoder{w: w, programs: map[*field.Program]uint32{}, shapes: w.shapes(), saved: w.savedNumbers()}
	c.random, _ = w.pcg.AppendBinary(nil) // the error is always nil
	w.encoders = append(w.encoders, c)
}

// endCalls ends an encoder, if it has not ended. The list is a new one: a caller may be ranging over the old.
func (w *World) endCalls(c *callEncoder) {
	var others []*callEncoder
	for _, other := range w.encoders {
		if other != c {
			others = append(others, other)
		}
	}
	w.encoders = others
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

// recording returns the encoders of calls: none inside a step.
func (w *World) recording() []*callEncoder {
	if w.running {
		return nil
	}
	return w.encoders
}

// errSetup ends recordings and journals when the world's setup changes: a replay cannot reproduce the
// change.
var errSetup = errors.New("world: the world's setup changed, or it was restored, while it had a recording or a journal")

// noteSetupChange ends recordings and journals at a change that they cannot hold.
func (w *World) noteSetupChange() {
	for _, c := range w.encoders {
		c.fail(errSetup)
	}
}

// forgetPrograms numbers effect programs from 0 again, for a replay that begins here.
func (c *callEncoder) forgetPrograms() {
	clear(c.programs)
	c.op(opForgetPrograms)
}

// fail ends the encoder early.
func (c *callEncoder) fail(err error) {
	c.err = err
	c.w.endCalls(c)
}

// encodeWrites encodes the component values that were set or opened for writing since the last step or image, and
// the state of the random generator.
func (c *callEncoder) encodeWrites() {
	for _, column := range c.w.components {
		if column.info().Local {
			continue
		}
		changed := &column.changed().next
		for slot, ok := changed.Next(0); ok; slot, ok = changed.Next(slot + 1) {
			c.set(column, c.w.tenant(slot))
		}
	}
	c.now, _ = c.w.pcg.AppendBinary(c.now[:0]) // the error is always nil
	if !slices.Equal(c.now, c.random) {
		c.op(opRandom)
		c.op(byte(len(c.now)))
		c.bytes = append(c.bytes, c.now...)
		c.random = append(c.random[:0], c.now...)
	}
}

// noteState notes the state of the random generator that a replay has from here on.
func (c *callEncoder) noteState() { c.random, _ = c.w.pcg.AppendBinary(c.random[:0]) }

func (c *callEncoder) op(code byte)    { c.bytes = append(c.bytes, code) }
func (c *callEncoder) u16(v uint16)    { c.bytes = binary.LittleEndian.AppendUint16(c.bytes, v) }
func (c *callEncoder) u32(v uint32)    { c.bytes = binary.LittleEndian.AppendUint32(c.bytes, v) }
func (c *callEncoder) u64(v uint64)    { c.bytes = binary.LittleEndian.AppendUint64(c.bytes, v) }
func (c *callEncoder) f32(v float32)   { c.u32(math.Float32bits(v)) }
func (c *callEncoder) handle(h Entity) { c.u64(uint64(h)) }
func (c *callEncoder) vec(v Vec3)      { c.f32(v.X); c.f32(v.Y); c.f32(v.Z) }
func (c *callEncoder) vec4(v field.Vec4) {
	for _, x := range v {
		c.f32(x)
	}
}

// The operations. Each is followed by the arguments of the call, then by the returned
// handle.

func (c *callEncoder) spawn(code byte, e Entity, k KindID, at, velocity Vec3, lifeTicks uint32) {
	c.op(code)
	c.u16(uint16(k))
	c.vec(at)
	c.vec(velocity)
	c.u32(lifeTicks)
	c.handle(e)
}

// handleOp records a call whose only argument is an entity or effect.
func (c *callEncoder) handleOp(code byte, e Entity) {
	c.op(code)
	c.handle(e)
}

// vectorOp records a call whose arguments are an entity or effect, and a vector.
func (c *callEncoder) vectorOp(code byte, h Entity, v Vec3) {
	c.op(code)
	c.handle(h)
	c.vec(v)
}

func (c *callEncoder) set(of column, e Entity) {
	id := of.info().ID
	c.op(opSet)
	c.u16(uint16(c.saved[id]))
	c.handle(e)
	from := len(c.bytes)
	c.bytes = append(c.bytes, valueOf(of, e.Index())...)
	c.shapes[id].convert(c.bytes[from:])
	c.texts(&c.shapes[id], of.at(e.Index()))
}

func (c *callEncoder) unset(component int, e Entity) {
	number := c.saved[component]
	if number < 0 {
		return
	}
	c.op(opUnset)
	c.u16(uint16(number))
	c.handle(e)
}

func (c *callEncoder) addEffect(id EffectID, d *EffectDef, params []field.Vec4) {
	c.op(opAddEffect)
	number, known := c.programs[d.Program]
	if !known {
		number = uint32(len(c.programs))
		c.programs[d.Program] = number
	}
	c.u32(number)
	if !known {
		text, _ := d.Program.MarshalBinary() // the error is always nil
		c.u32(uint32(len(text)))
		c.bytes = append(c.bytes, text...)
	}
	c.op(byte(d.Mode))
	c.vec(d.Center)
	c.u32(uint32(d.Layers))
	c.vec(d.Velocity)
	c.vec(d.Orbit.AxisU)
	c.vec(d.Orbit.AxisV)
	c.u32(d.Orbit.Phase)
	c.u32(d.Orbit.Rate)
	c.handle(d.Follow)
	c.u32(d.LifeTicks)
	hidden := byte(0)
	if d.Hidden {
		hidden = 1
	}
	c.op(hidden)
	for _, p := range params {
		c.vec4(p)
	}
	c.handle(id)
}

func (c *callEncoder) effectParams(id EffectID, params []field.Vec4) {
	c.op(opEffectParams)
	c.handle(id)
	for _, p := range params {
		c.vec4(p)
	}
}

// texts encodes the texts of a component's value.
func (c *callEncoder) texts(s *shape, p unsafe.Pointer) {
	for _, f := range s.textFields {
		text := f.get(p)
		if len(text) > MaxTextBytes {
			c.fail(fmt.Errorf("%w: a text of %d bytes was set; a recording or journal holds at most %d", ErrValue, len(text), MaxTextBytes))
			return
		}
		c.u32(uint32(len(text)))
		c.bytes = append(c.bytes, text...)
	}
}

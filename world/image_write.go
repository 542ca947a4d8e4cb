package world

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/world/motion"
)

// imageEncoder encodes the contents of an image, in the order of WriteTo.
type imageEncoder struct {
	*chunkWriter
	scratch []byte
}

func (e *imageEncoder) u32(v uint32) { e.bytes(binary.LittleEndian.AppendUint32(e.scratch[:0], v)) }
func (e *imageEncoder) u64(v uint64) { e.bytes(binary.LittleEndian.AppendUint64(e.scratch[:0], v)) }

func (e *imageEncoder) f32s(all ...float32) {
	for _, v := range all {
		e.u32(math.Float32bits(v))
	}
}

// blob writes a length and the bytes.
func (e *imageEncoder) blob(b []byte) {
	e.u32(uint32(len(b)))
	e.bytes(b)
}

func (e *imageEncoder) bit(v bool) {
	if v {
		e.u32(1)
	} else {
		e.u32(0)
	}
}

// writeArray writes elements without their number.
func writeArray[T fixed](e *imageEncoder, s []T) {
	if littleEndian() {
		e.bytes(bytesOf(s))
		return
	}
	for len(s) > 0 {
		part := append([]T(nil), s[:min(len(s), 4096)]...)
		s = s[len(part):]
		swapBytes(part)
		e.bytes(bytesOf(part))
	}
}

// writeList writes the number of elements and the elements.
func writeList[T fixed](e *imageEncoder, s []T) {
	e.u32(uint32(len(s)))
	writeArray(e, s)
}

// set writes the words of a bitset up to the last that is not zero.
func (e *imageEncoder) set(s *bulk.Bitset) {
	n := s.WordCount()
	for n > 0 && s.Word(n-1) == 0 {
		n--
	}
	e.u32(n)
	for word := range n {
		e.u64(s.Word(word))
	}
}

// WriteTo writes the image in a portable format. The same state gives the same bytes. It
// may run concurrently with the world. The error is w's.
func (img *Image) WriteTo(w io.Writer) (int64, error) {
	if len(img.Extra) > MaxExtraBytes {
		return 0, fmt.Errorf("%w: %d extra bytes; at most %d", ErrValue, len(img.Extra), MaxExtraBytes)
	}
	chunks, err := newChunkWriter(w)
	if err != nil {
		return 0, err
	}
	e := &imageEncoder{chunkWriter: chunks, scratch: make([]byte, 8)}
	e.setup(img)
	e.entities(img)
	e.rows(&img.rows)
	for i := range img.components {
		e.column(&img.components[i])
	}
	e.effects(&img.effects)
	e.volumes(&img.volumes)
	e.events(&img.spawned)
	e.events(&img.destroyed)
	e.blob(img.Extra)
	if err := e.end(); err != nil {
		return e.written, fmt.Errorf("world: image: writing: %w", err)
	}
	return e.written, nil
}

// setup writes the program, configuration, kinds, components and counters.
func (e *imageEncoder) setup(img *Image) {
	c := &img.config
	e.blob([]byte(img.program.Name))
	e.blob([]byte(img.program.Version))
	e.u64(c.Seed)
	for _, n := range []int{c.TickHz, c.MaxEntities, int(c.restTicks()), int(c.Compaction), int(c.Bounds)} {
		e.u32(uint32(n))
	}
	e.f32s(c.CellMetres, c.HalfExtent.X, c.HalfExtent.Y, c.HalfExtent.Z, c.Gravity, c.RestSpeed)
	e.u32(uint32(len(img.kinds)))
	for _, k := range img.kinds {
		e.blob([]byte(k.Name))
		e.bit(k.Body != nil)
		if b := k.Body; b != nil {
			e.f32s(b.Mass, b.Drag, b.Radius, b.Friction, b.Restitution)
			e.u32(uint32(b.Layers))
			e.bit(b.Solid)
			e.bit(b.Kinematic)
		}
	}
	e.u32(uint32(len(img.components)))
	for i := range img.components {
		e.blob([]byte(img.components[i].name))
		e.blob([]byte(img.components[i].text))
		e.u32(uint32(img.components[i].size))
	}
	e.u64(img.tick)
	e.blob(img.random)
	for _, n := range []uint64{img.counts.spawned, img.counts.destroyed, img.counts.reused, img.counts.quarantined} {
		e.u64(n)
	}
}

func (e *imageEncoder) pool(s *bulk.PoolState) {
	e.u32(s.FirstGeneration)
	e.u32(s.Newest)
	writeList(e, s.Generations)
	writeList(e, s.Retired)
	writeList(e, s.Holes)
}

func (e *imageEncoder) entities(img *Image) {
	e.pool(&img.entities)
	writeList(e, img.bodiless.slots)
	writeArray(e, img.bodiless.kinds)
	writeList(e, img.lifetimes.slots)
	writeArray(e, img.lifetimes.expires)
	e.set(&img.doomed)
	writeList(e, img.causes)
	e.set(&img.newborn)
}

func (e *imageEncoder) rows(img *rowImage) {
	e.u32(uint32(img.awake))
	e.set(&img.inPlace)
	writeList(e, img.flips)
	writeList(e, img.slot)
	writeArray(e, img.kind)
	for _, c := range [][]float32{img.posX, img.posY, img.posZ, img.velX, img.velY, img.velZ} {
		writeArray(e, c)
	}
	writeArray(e, img.rest)
}

// column writes a component's values in file format.
func (e *imageEncoder) column(img *columnImage) {
	e.set(&img.has)
	e.set(&img.changed)
	for word, values := range img.words {
		if !img.plain {
			e.scratch = append(e.scratch[:0], values...)
			values = e.scratch
			img.convert(values)
		}
		e.bytes(values)
		for text := range img.presentTexts(word) {
			e.text(img.name, *text)
		}
	}
}

func (e *imageEncoder) effects(img *effectImage) {
	e.pool(&img.pool)
	params := img.params
	for i, p := range img.programs {
		text, _ := p.MarshalBinary() // the error is always nil
		e.blob(text)
		r := &img.records[i]
		e.u64(r.born)
		e.u64(r.expires)
		e.f32s(r.Center.X, r.Center.Y, r.Center.Z)
		e.u32(uint32(r.mode))
		e.u32(uint32(r.Layers))
		e.u64(uint64(r.follows))
		e.u64(r.first)
		e.path(&r.path)
		e.bit(r.hidden)
		for range p.Params() {
			e.f32s(params[0][:]...)
			params = params[1:]
		}
	}
}

func (e *imageEncoder) path(p *motion.Path) {
	e.u32(uint32(p.Form))
	for _, v := range []Vec3{p.Center, p.Velocity, p.AxisU, p.AxisV} {
		e.f32s(v.X, v.Y, v.Z)
	}
	e.u32(p.Phase)
	e.u32(p.Rate)
}

func (e *imageEncoder) events(l *eventList) {
	e.u32(uint32(l.seen))
	writeList(e, l.list)
}

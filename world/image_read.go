package world

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/world/motion"
)

const (
	// maxTextBytes bounds a name, and the shape text of a component.
	maxTextBytes = 1 << 16
	// maxNamedBytes bounds the sum of all names and shapes of an image.
	maxNamedBytes = 16 << 20
	// manyComponents bounds the components of an image for a world with fewer.
	manyComponents = 4096
)

// ReadImage reads an image written by WriteTo, up to the end of r, for this world. The
// world must have the same settings as the image's world, and at least the same kinds
// and components under the same names; it is not changed. The image's generations may be
// above the world's range: see RestoreRun. Every length is checked before
// memory is allocated, so corrupt lengths are harmless.
//
// The error wraps ErrImage, ErrImageVersion or ErrImageWorld, or is r's error. It is
// ErrImage if and only if the image fails its checksums, whatever its contents.
func (w *World) ReadImage(r io.Reader) (*Image, error) {
	img, err := w.readImage(r)
	if err != nil {
		return nil, err
	}
	var more [1]byte
	if _, err := io.ReadFull(r, more[:]); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: data follows its end", ErrImage)
	}
	return img, nil
}

// readImage reads an image, up to its last byte.
func (w *World) readImage(r io.Reader) (*Image, error) {
	chunks, err := newChunkReader(r)
	if err != nil {
		return nil, err
	}
	defer chunks.close()
	if chunks.version > imageVersion {
		err = fmt.Errorf("%w: version %d; this program reads 1 to %d", ErrImageVersion, chunks.version, imageVersion)
		if damage := chunks.checkRest(); damage != nil { // damage may have changed the version
			err = fmt.Errorf("%w (if it is a newer one: %v)", err, damage)
		}
		return nil, err
	}
	img, err := w.decodeImage(chunks.version, chunks.read)
	if err == nil {
		err = chunks.end()
	}
	if err == nil {
		return img, nil
	}
	if damage := chunks.checkRest(); damage != nil { // damage prevails over contents that do not fit
		return nil, damage
	}
	return nil, err
}

// decodeImage decodes and checks the contents of an image of a version. read fills its
// argument or returns an error.
func (w *World) decodeImage(version uint32, read func([]byte) error) (*Image, error) {
	d := &imageDecoder{version: version, read: read, w: w, img: &Image{version: version}}
	for _, part := range []func(){d.setup, d.entities, d.rows, d.columns, d.effects, d.volumes, d.rest} {
		part()
		if d.err != nil {
			return nil, d.err
		}
	}
	if _, err := d.img.check(w); err != nil {
		return nil, err
	}
	return d.img, nil
}

// imageDecoder decodes the contents of an image in the order of WriteTo. After an error
// it returns zeros.
type imageDecoder struct {
	version uint32
	read    func([]byte) error
	w       *World
	img     *Image
	named   int // bytes of names and shapes
	err     error
	buf     [8]byte
}

// fail records the first error. Only the chunks' sums detect damage.
func (d *imageDecoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: "+format, append([]any{ErrImageWorld}, args...)...)
	}
}

func (d *imageDecoder) bytes(b []byte) {
	if d.err == nil {
		d.err = d.read(b)
	}
	if d.err != nil {
		clear(b)
	}
}

func (d *imageDecoder) u32() uint32 {
	d.bytes(d.buf[:4])
	return binary.LittleEndian.Uint32(d.buf[:])
}

func (d *imageDecoder) u64() uint64 {
	d.bytes(d.buf[:8])
	return binary.LittleEndian.Uint64(d.buf[:])
}

func (d *imageDecoder) f32() float32 { return math.Float32frombits(d.u32()) }
func (d *imageDecoder) vec() Vec3    { return Vec3{X: d.f32(), Y: d.f32(), Z: d.f32()} }

func (d *imageDecoder) bit() bool {
	v := d.u32()
	if v > 1 {
		d.fail("%d is not a boolean", v)
	}
	return v == 1
}

// length reads a count and checks that it is at most most.
func (d *imageDecoder) length(most int, what string) int {
	n := d.u32()
	if uint64(n) > uint64(most) {
		d.fail("%d %s; at most %d are allowed", n, what, most)
	}
	if d.err != nil {
		return 0
	}
	return int(n)
}

func (d *imageDecoder) blob(most int, what string) []byte {
	b := make([]byte, d.length(most, "bytes of "+what))
	d.bytes(b)
	return b
}

// name reads a name or a shape.
func (d *imageDecoder) name() string {
	b := d.blob(min(maxTextBytes, maxNamedBytes-d.named), "names and shapes")
	d.named += len(b)
	return string(b)
}

// readArray reads n elements. The caller has checked n.
func readArray[T fixed](d *imageDecoder, n int) []T {
	if d.err != nil {
		return nil
	}
	s := make([]T, n)
	d.bytes(bytesOf(s))
	if !littleEndian() {
		swapBytes(s)
	}
	return s
}

func readList[T fixed](d *imageDecoder, most int, what string) []T {
	return readArray[T](d, d.length(most, what))
}

// set reads a bitset with members below most.
func (d *imageDecoder) set(s *bulk.Bitset, most int, what string) {
	for word := range uint32(d.length((most+63)/64, "words of "+what)) {
		s.SetWord(word, d.u64())
	}
}

// setup reads the configuration, kinds and components and compares them with the world's.
func (d *imageDecoder) setup() {
	img := d.img
	img.config = Config{Seed: d.u64(), TickHz: int(d.u32()), MaxEntities: int(d.u32())}
	restTicks := d.u32()
	img.config.Compaction = Compaction(d.length(int(InPlace), "as compaction"))
	img.config.Bounds = Bounds(d.length(int(BoundsDestroy), "as bounds"))
	img.config.CellMetres, img.config.HalfExtent = d.f32(), d.vec()
	img.config.Gravity, img.config.RestSpeed = d.f32(), d.f32()
	img.config.RestSeconds = d.w.cfg.RestSeconds
	if own := d.w.cfg.restTicks(); restTicks != own && d.version >= 4 {
		img.config.RestSeconds = float32(restTicks) / float32(img.config.TickHz)
	}
	if d.err == nil {
		d.err = img.config.checkSettings(d.w.cfg)
	}
	for range d.length(maxKinds, "kinds") {
		k := Kind{Name: d.name()}
		if d.bit() {
			k.Body = &BodyDef{Mass: d.f32(), Drag: d.f32(), Radius: d.f32(), Friction: d.f32(), Restitution: d.f32(), Layers: Layers(d.u32()), Solid: d.bit(), Kinematic: d.bit()}
		}
		img.kinds = append(img.kinds, k)
		if d.err != nil {
			return
		}
	}
	for range d.length(max(len(d.w.components), manyComponents), "components") {
		img.components = append(img.components, columnImage{name: d.name(), shape: shape{text: d.name()}})
		if d.err != nil {
			return
		}
	}
	if d.err == nil {
		_, d.err = img.match(d.w)
	}
	img.tick = d.u64()
	img.random = d.blob(64, "random state")
	img.counts = counts{spawned: d.u64(), destroyed: d.u64(), reused: d.u64(), quarantined: d.u64()}
}

func (d *imageDecoder) pool(s *bulk.PoolState, most int) {
	s.FirstGeneration, s.Newest = d.u32(), d.u32()
	s.Generations = readList[uint32](d, most, "slots")
	s.Retired = readList[uint32](d, len(s.Generations), "retired slots")
	s.Holes = readList[uint32](d, len(s.Generations), "holes")
}

func (d *imageDecoder) entities() {
	img := d.img
	d.pool(&img.entities, d.w.cfg.MaxEntities)
	img.config.FirstGeneration = img.entities.FirstGeneration
	slots := len(img.entities.Generations)
	img.bodiless.slots = readList[uint32](d, slots, "bodiless entities")
	img.bodiless.kinds = readArray[KindID](d, len(img.bodiless.slots))
	img.lifetimes.slots = readList[uint32](d, slots, "lifetimes")
	img.lifetimes.expires = readArray[uint64](d, len(img.lifetimes.slots))
	d.set(&img.doomed, slots, "doomed slots")
	if d.version > 1 {
		img.causes = readList[uint8](d, slots, "causes")
	} else {
		img.causes = make([]uint8, img.doomed.Count())
	}
	d.set(&img.newborn, slots, "new bodies")
}

func (d *imageDecoder) rows() {
	rows, slots := &d.img.rows, len(d.img.entities.Generations)
	rows.awake = d.length(slots, "rows awake")
	d.set(&rows.inPlace, slots, "rows awake in place")
	rows.flips = readList[uint32](d, slots, "rows to change")
	rows.slot = readList[uint32](d, slots, "rows")
	n, moving := len(rows.slot), 0
	for range rows.moving {
		moving++
	}
	rows.kind = readArray[KindID](d, n)
	for _, c := range []*[]float32{&rows.posX, &rows.posY, &rows.posZ} {
		*c = readArray[float32](d, n)
	}
	for _, c := range []*[]float32{&rows.velX, &rows.velY, &rows.velZ} {
		*c = readArray[float32](d, moving)
	}
	rows.rest = readArray[uint32](d, rows.awake)
	if d.version < 4 {
		for i, ticks := range rows.rest {
			rows.rest[i] = min(ticks, d.w.motion.RestTicks)
		}
	}
}

func (d *imageDecoder) columns() {
	slots := len(d.img.entities.Generations)
	for i := range d.img.components {
		c := &d.img.components[i]
		d.set(&c.has, slots, "slots with "+c.name)
		d.set(&c.changed, slots, "changes of "+c.name)
		if d.err != nil {
			return
		}
		c.makeRoom(c.highestWord())
		for word, values := range c.words {
			d.bytes(values)
			c.convert(values)
			for text := range c.presentTexts(word) {
				*text = string(d.blob(MaxTextBytes, "a text in "+c.name))
			}
		}
	}
}

func (d *imageDecoder) effects() {
	img := &d.img.effects
	d.pool(&img.pool, maxEffects)
	for _, generation := range img.pool.Generations {
		if generation&1 == 0 || d.err != nil {
			continue
		}
		p, err := field.Load(d.blob(field.MaxBinaryBytes, "an effect's program"))
		if err != nil {
			d.fail("%w", err)
			return
		}
		e := effect{born: d.u64(), expires: d.u64()}
		e.Center = d.vec()
		mode := d.u32()
		if mode > uint32(Acceleration) {
			d.fail("unknown effect mode %d", mode)
		}
		e.mode, e.Layers = EffectMode(mode), Layers(d.u32())
		e.follows = Entity(d.u64())
		d.path(&e)
		first := len(img.params)
		for range p.Params() {
			img.params = append(img.params, field.Vec4{d.f32(), d.f32(), d.f32(), d.f32()})
		}
		e.Reach.Set(p, img.params[first:])
		img.records, img.programs = append(img.records, e), append(img.programs, p)
	}
}

// path reads the path of an effect whose other state is read. Before version 3, effects
// stood still or followed an entity.
func (d *imageDecoder) path(e *effect) {
	p := &e.path
	if d.version < 3 {
		e.first, p.Center = e.born, e.Center
		if offset := d.vec(); e.follows != 0 {
			p.Form, p.Center = motion.Following, offset
		}
		return
	}
	e.first = d.u64()
	p.Form = motion.PathForm(d.length(int(motion.Following), "as path form"))
	p.Center, p.Velocity, p.AxisU, p.AxisV = d.vec(), d.vec(), d.vec(), d.vec()
	p.Phase, p.Rate = d.u32(), d.u32()
	e.hidden = d.bit()
}

func (d *imageDecoder) rest() {
	d.events(&d.img.spawned)
	d.events(&d.img.destroyed)
	d.img.Extra = d.blob(MaxExtraBytes, "extra")
}

// events reads a list of events. A slot occurs at most twice: an entity that the last
// step destroyed, and one spawned since.
func (d *imageDecoder) events(l *eventList) {
	slots := len(d.img.entities.Generations)
	l.seen = int(d.u32())
	l.list = readList[Entity](d, 2*slots, "events")
	strange := func(e Entity) bool { return !e.Valid() || int(e.Index()) >= slots }
	if l.seen > len(l.list) || slices.ContainsFunc(l.list, strange) {
		d.fail("%d events, %d of them seen, with invalid entities or counts", len(l.list), l.seen)
	}
}

package world

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
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
	// eagerElements of an array are allocated before they are read.
	eagerElements = 1 << 20
)

// ReadImage reads an image written by WriteTo, up to the end of r, for this world, which is
// not changed. The image's world may have been set up differently, by another version of
// the game; Image.Changes lists the differences:
//
//   - Kinds, components and fields are found by name. A field that the image lacks has the default value
//     of its entity's kind (SetDefault), or zero. Fields and components that the world lacks are dropped.
//   - Integers and floats may have become larger, and arrays longer. Any other change of a field needs
//     a function: see Migrate.
//   - The world's settings and the bodies of its kinds apply. Durations stay equal in seconds.
//
// Entities of a kind that the world lacks, and fields that cannot be mapped, are errors.
// One error contains all of them. The image's generations may be above the world's range:
// see RestoreRun. Every length is checked before memory is allocated, so corrupt lengths
// are harmless.
//
// The error wraps ErrImage, ErrImageVersion or ErrImageWorld, or is r's error. It is
// ErrImage if and only if the image fails its checksums, whatever its contents.
func (w *World) ReadImage(r io.Reader) (*Image, error) {
	img, _, err := w.readImage(r)
	if err == nil {
		err = checkEnd(r)
	}
	if err != nil {
		return nil, err
	}
	return img, nil
}

// checkEnd checks that r has no more bytes.
func checkEnd(r io.Reader) error {
	var more [1]byte
	if _, err := io.ReadFull(r, more[:]); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: data follows its end", ErrImage)
	}
	return nil
}

// readImage reads an image, up to its last byte.
func (w *World) readImage(r io.Reader) (img *Image, mapping imageMapping, err error) {
	err = readContents(r, func(version uint32, read func([]byte) error) (err error) {
		img, mapping, err = w.decodeImage(version, read)
		return err
	})
	if err != nil {
		return nil, imageMapping{}, err
	}
	return img, mapping, nil
}

// readContents reads a file up to its last byte and lets decode read its contents. If the file is damaged, the
// error says so, whatever decode made of it.
func readContents(r io.Reader, decode func(version uint32, read func([]byte) error) error) error {
	chunks, err := newChunkReader(r)
	if err != nil {
		return err
	}
	defer chunks.close()
	if chunks.version > imageVersion {
		err = fmt.Errorf("%w: version %d; this program reads 1 to %d", ErrImageVersion, chunks.version, imageVersion)
		if damage := chunks.checkRest(); damage != nil { // damage may have changed the version
			err = fmt.Errorf("%w (if it is a newer one: %v)", err, damage)
		}
		return err
	}
	err = decode(chunks.version, chunks.read)
	if err == nil {
		err = chunks.end()
	}
	if err == nil {
		return nil
	}
	if damage := chunks.checkRest(); damage != nil { // damage prevails over contents that do not fit
		return damage
	}
	return err
}

// decodeImage decodes the contents of an image of a version, maps them to the world and checks them. read
// fills its argument or returns an error.
func (w *World) decodeImage(version uint32, read func([]byte) error) (*Image, imageMapping, error) {
	d := newImageDecoder(version, read, w)
	for _, part := range []func(){d.setup, d.entities, d.rows, d.mapParts, d.columns, d.effects, d.volumes, d.rest, d.mapper.mapState} {
		part()
		if d.err != nil {
			return nil, imageMapping{}, d.err
		}
	}
	if _, err := d.img.check(w); err != nil {
		return nil, imageMapping{}, err
	}
	return d.img, d.mapper.imageMapping, nil
}

// imageDecoder decodes the contents of an image in the order of WriteTo. After an error
// it returns zeros.
type imageDecoder struct {
	version uint32
	read    func([]byte) error
	w       *World
	img     *Image
	mapper  imageMapper
	named   int // bytes of names and shapes
	err     error
	buf     [8]byte
}

func newImageDecoder(version uint32, read func([]byte) error, w *World) *imageDecoder {
	d := &imageDecoder{version: version, read: read, w: w, img: &Image{version: version}}
	d.mapper = imageMapper{w: w, img: d.img, file: &imageSetup{version: version}}
	return d
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

// length reads a count and rejects counts above most.
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
	var s []T
	for len(s) < n && d.err == nil { // memory follows the data of a file that claims more
		more := min(n-len(s), max(len(s), eagerElements))
		s = slices.Grow(s, more)[:len(s)+more]
		d.bytes(bytesOf(s[len(s)-more:]))
	}
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

// setup reads the program, configuration, kinds and components.
func (d *imageDecoder) setup() {
	img, file := d.img, d.mapper.file
	if d.version > 4 {
		img.program = Program{string(d.blob(MaxProgramBytes, "a program's name")), string(d.blob(MaxProgramBytes, "a program's version"))}
	}
	file.config = Config{Seed: d.u64(), TickHz: int(d.u32()), MaxEntities: int(d.u32())}
	restTicks := d.u32()
	file.config.Compaction = Compaction(d.length(int(InPlace), "as compaction"))
	file.config.Bounds = Bounds(d.length(int(BoundsDestroy), "as bounds"))
	file.config.CellMetres, file.config.HalfExtent = d.f32(), d.vec()
	file.config.Gravity, file.config.RestSpeed = d.f32(), d.f32()
	file.config.RestSeconds = d.w.cfg.RestSeconds
	if file.config.TickHz < 1 || file.config.TickHz > maxTickHz {
		d.fail("%d ticks a second", file.config.TickHz)
		return
	}
	if restTicks != file.config.restTicks() && d.version >= 4 {
		file.config.RestSeconds = float32(restTicks) / float32(file.config.TickHz)
	}
	for range d.length(maxKinds, "kinds") {
		k := Kind{Name: d.name()}
		if d.bit() {
			k.Body = &BodyDef{Mass: d.f32(), Drag: d.f32(), Radius: d.f32(), Friction: d.f32(), Restitution: d.f32(), Layers: Layers(d.u32()), Solid: d.bit(), Kinematic: d.bit()}
		}
		file.kinds = append(file.kinds, k)
		if d.err != nil {
			return
		}
	}
	for range d.length(max(len(d.w.components), manyComponents), "components") {
		c := savedComponent{name: d.name(), text: d.name()}
		if d.version > 4 {
			c.size = uintptr(d.u32())
		}
		file.components = append(file.components, c)
		if d.err != nil {
			return
		}
	}
	img.setup = file.hash()
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
}

// mapParts maps what is read so far.
func (d *imageDecoder) mapParts() {
	if err := d.img.checkRows(d.mapper.file); err != nil {
		d.fail("%w", err)
		return
	}
	d.err = d.mapper.mapSetup()
}

func (d *imageDecoder) columns() {
	for _, source := range d.mapper.columns {
		count := d.readColumn(source)
		if d.err != nil {
			return
		}
		d.mapper.noteColumn(source, count)
	}
}

// readColumn reads a component and returns the number of entities that have it.
func (d *imageDecoder) readColumn(source *columnSource) (count int) {
	to := &columnImage{name: source.name, shape: source.shape}
	if source.column >= 0 {
		to = &d.img.components[source.into]
	}
	slots := len(d.img.entities.Generations)
	d.set(&to.has, slots, "slots with "+source.name)
	d.set(&to.changed, slots, "changes of "+source.name)
	switch {
	case d.err != nil:
	case source.column < 0 || source.conversion != nil:
		d.convertColumn(source, to)
	default:
		d.column(to)
	}
	return to.has.Count()
}

// column reads the values of a component that has the same type in the file.
func (d *imageDecoder) column(to *columnImage) {
	to.makeRoom(to.highestWord(), math.MaxInt)
	for word, bytes := range to.words {
		d.bytes(bytes)
		to.convert(bytes)
		for text := range to.presentTexts(word) {
			*text = string(d.blob(MaxTextBytes, "a text in "+to.name))
		}
	}
}

// convertColumn reads the values of a component, converts them and drops those that the world lacks.
func (d *imageDecoder) convertColumn(source *columnSource, to *columnImage) {
	texts := len(source.shape.textFields)
	file := values{make([]byte, 64*source.shape.size), make([]string, 64*texts)}
	if source.column >= 0 {
		to.makeRoom(to.highestWord(), math.MaxInt)
	}
	for word := range to.has.WordCount() {
		mask := to.has.Word(word)
		if mask == 0 {
			continue
		}
		d.bytes(file.bytes)
		source.shape.convert(file.bytes)
		for rest := mask; rest != 0 && texts > 0; rest &= rest - 1 {
			for i := range file.of(bits.TrailingZeros64(rest), &source.shape).texts {
				file.texts[bits.TrailingZeros64(rest)*texts+i] = string(d.blob(MaxTextBytes, "a text in "+source.name))
			}
		}
		if d.err != nil {
			return
		}
		if source.column < 0 {
			continue
		}
		result := values{to.word(word), to.textsOf(word)}
		if err := source.convertTo(result, file, mask, d.mapper.defaults(source, word)); err != nil {
			d.fail("%w", err)
			return
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

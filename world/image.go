package world

import (
	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/field"
)

// Image is a whole world at one moment, between two steps: everything that later
// steps and later handles depend on, rows in their order, and nothing that can
// be worked out from it (the grid, the wheel). It shares no memory with the
// world, so that another goroutine may write it to a file while the world goes
// on. The zero value is ready for TakeImage.
//
// What code adds to a world is not in it: kinds, components and systems. They
// are set up again by the same code, and Restore checks that they fit. Neither
// are local components: after a Restore nobody has any.
type Image struct {
	// Extra is what the game keeps outside the world, in whatever form: set it
	// after TakeImage, in the same moment. At most MaxExtraBytes.
	Extra []byte

	config     Config
	tick       uint64
	random     []byte
	counts     counts
	kinds      []Kind // the Body of each is the world's, which nobody changes
	entities   bulk.PoolState
	bodiless   kindList // live entities without body
	lifetimes  lifetimeList
	doomed     bulk.Bitset
	newborn    bulk.Bitset // bodies that no flush has seen
	rows       rowImage
	components []columnImage
	effects    effectImage
	volumes    volumeImage
	spawned    eventList
	destroyed  eventList
}

// MaxExtraBytes bounds Image.Extra: a game that keeps more than this outside the
// world should make it components.
const MaxExtraBytes = 16 << 20

// kindList holds the kinds of some slots, ascending by slot.
type kindList struct {
	slots []uint32
	kinds []KindID
}

// lastTicks holds who has a lifetime, ascending by slot.
type lifetimeList struct {
	slots   []uint32
	expires []uint64
}

// effectImage holds the effects by live slot, ascending.
type effectImage struct {
	pool     bulk.PoolState
	records  []effect
	programs []*field.Program // read-only, and so shared
	params   []field.Vec4     // of all, one after the other
}

// Tick returns the tick that the image was taken after.
func (img *Image) Tick() uint64 { return img.tick }

// Entities returns how many entities live in the image.
func (img *Image) Entities() int {
	return len(img.rows.slot) + len(img.bodiless.slots)
}

// TakeImage copies the world's state into img, reusing its memory: what it costs
// is copying. A world of a million sleeping bodies is copied in a few
// milliseconds, into an image that held as much before; a first image is slower,
// since its memory is new: take one before the clock runs. Deferred changes that
// wait are carried out first, as the next step would. It must not be called by a
// system, and panics then: the middle of a step is no moment.
func (w *World) TakeImage(img *Image) {
	if w.running {
		panic("world: TakeImage was called by a system")
	}
	w.ApplyDeferred()
	w.markSpawned()
	img.Extra = img.Extra[:0]
	img.config, img.tick, img.counts = w.cfg, w.tick, w.counts
	img.random, _ = w.pcg.AppendBinary(img.random[:0]) // the error is always nil
	img.kinds = img.kinds[:0]
	for i := range w.kinds {
		img.kinds = append(img.kinds, w.kinds[i].def)
	}
	w.endPreparing(img)
	w.pool.State(&img.entities)
	w.takeEntities(img)
	w.takeRows(&img.rows)
	w.takeComponents(img)
	w.takeEffects(&img.effects)
	w.takeVolumes(&img.volumes)
	img.spawned.copyFrom(&w.events.spawned)
	img.destroyed.copyFrom(&w.events.destroyed)
}

// takeEntities copies what is kept by slot, and only of those slots that have
// something: most bodies have neither a lifetime nor a kind of their own row.
func (w *World) takeEntities(img *Image) {
	img.bodiless.slots, img.bodiless.kinds = img.bodiless.slots[:0], img.bodiless.kinds[:0]
	if w.pool.Len() > w.bodies.len() {
		live := w.pool.Live()
		for slot, ok := live.Next(0); ok; slot, ok = live.Next(slot + 1) {
			if w.rowOf[slot] == noRow {
				img.bodiless.slots = append(img.bodiless.slots, slot)
				img.bodiless.kinds = append(img.bodiless.kinds, w.pool.At(slot).kind)
			}
		}
	}
	img.lifetimes.slots = w.expiring.AppendTo(img.lifetimes.slots[:0])
	img.lifetimes.expires = img.lifetimes.expires[:0]
	for _, slot := range img.lifetimes.slots {
		img.lifetimes.expires = append(img.lifetimes.expires, w.pool.At(slot).expires)
	}
	img.doomed.CopyFrom(&w.doomed)
	img.newborn.CopyFrom(&w.sleepState.newborn)
}

func (w *World) takeEffects(img *effectImage) {
	w.effects.pool.State(&img.pool)
	img.records, img.programs, img.params = img.records[:0], img.programs[:0], img.params[:0]
	live := w.effects.pool.Live()
	for slot, ok := live.Next(0); ok; slot, ok = live.Next(slot + 1) {
		img.records = append(img.records, *w.effects.pool.At(slot))
		img.programs = append(img.programs, w.effects.programs[slot])
		img.params = append(img.params, w.effects.params[slot]...)
	}
}

func (l *eventList) copyFrom(from *eventList) {
	l.list, l.seen = append(l.list[:0], from.list...), from.seen
}

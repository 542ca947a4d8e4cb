package world

import (
	"fmt"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/field"
)

// Image is the whole world between two steps: everything that determines later steps and
// handles, including the order of rows, without derived data (the grid, the timing wheel).
// It shares no memory with the world, so another goroutine may write it to a file while the
// world continues. The zero value is ready for TakeImage.
//
// Kinds, components and systems are set up by code. An image describes the kinds and
// components of its world: ReadImage maps them to a world of another version, and Restore
// checks that they match. Local components are not part of an image: after a Restore no
// entity has a local component.
type Image struct {
	// Extra is game state outside the world, in any format. Set it right after
	// TakeImage. At most MaxExtraBytes.
	Extra []byte

	known      uint32 // by SkipGenerations; 0: none
	version    uint32 // version of the file format
	program    Program
	setup      uint64 // Setup of an image from a file; 0 for an image of this program
	changes    []ImageChange
	config     Config
	tick       uint64
	random     []byte
	counts     counts
	kinds      []Kind // shares each Body with the world, which never changes it
	entities   bulk.PoolState
	bodiless   kindList // live entities without a body
	lifetimes  lifetimeList
	doomed     bulk.Bitset
	causes     []uint8     // causes of the doomed entities, in ascending order of slots
	newborn    bulk.Bitset // bodies added since the last flush
	rows       rowImage
	components []columnImage
	effects    effectImage
	volumes    volumeImage
	spawned    eventList
	destroyed  eventList
}

// MaxExtraBytes bounds Image.Extra. Games with more state outside the world should turn
// it into components.
const MaxExtraBytes = 16 << 20

// kindList holds slots in ascending order and their kinds.
type kindList struct {
	slots []uint32
	kinds []KindID
}

// lifetimeList holds the slots with a lifetime in ascending order, and their last ticks.
type lifetimeList struct {
	slots   []uint32
	expires []uint64
}

// effectImage holds the effects in ascending order of their slots.
type effectImage struct {
	pool     bulk.PoolState
	records  []effect
	programs []*field.Program // shared, because they are read-only
	params   []field.Vec4     // parameters of all effects, concatenated
}

// Tick returns the tick of the last step before the image was taken.
func (img *Image) Tick() uint64 { return img.tick }

// NewestGeneration returns the newest generation of any handle that the world had issued, or that SkipGenerations names.
func (img *Image) NewestGeneration() uint32 {
	return max(img.entities.Newest, img.entities.FirstGeneration, img.known)
}

// SkipGenerations makes RestoreRun also skip the generations up to newest, if the world's range has
// it. Use it for an older image: later runs have issued generations that the image does not know.
func (img *Image) SkipGenerations(newest uint32) {
	if newest > img.NewestGeneration() {
		img.known = newest | 1
	}
}

// Program names a program and its version, for people.
type Program struct {
	Name, Version string // at most MaxProgramBytes each
}

func (p Program) text() string { return strings.TrimSpace(p.Name + " " + p.Version) }

// MaxProgramBytes bounds the name and the version of a Program.
const MaxProgramBytes = 256

// SetProgram names the program in the images and recordings of the world. Longer names are cut.
func (w *World) SetProgram(p Program) {
	w.program = Program{p.Name[:min(len(p.Name), MaxProgramBytes)], p.Version[:min(len(p.Version), MaxProgramBytes)]}
}

// Setup returns a hash of the setup of the world that saved the image: the format, settings, kinds and
// components. Images of the same program have the same.
func (img *Image) Setup() uint64 {
	if img.setup != 0 {
		return img.setup
	}
	s := imageSetup{version: img.version, config: img.config, kinds: img.kinds}
	for i := range img.components {
		s.components = append(s.components, savedComponent{name: img.components[i].name, text: img.components[i].text})
	}
	return s.hash()
}

// imageSetup is the setup of the world that saved an image.
type imageSetup struct {
	version    uint32 // of the file format
	config     Config
	kinds      []Kind
	components []savedComponent
}

func (s *imageSetup) hash() uint64 {
	h := xxhash.New()
	put := func(format string, args ...any) { _, _ = fmt.Fprintf(h, format, args...) } // never fails
	put("%d %d %+v", s.version, s.config.MaxEntities, s.config.settings())
	for _, k := range s.kinds {
		put("kind %q", k.Name)
		if k.Body != nil {
			put("%+v", *k.Body)
		}
	}
	for _, c := range s.components {
		put("component %q %q", c.name, c.text)
	}
	return h.Sum64()
}

// Entities returns the number of live entities in the image.
func (img *Image) Entities() int {
	return len(img.rows.slot) + len(img.bodiless.slots)
}

// TakeImage copies the world's state into img and reuses its memory. A world of a million
// sleeping bodies takes a few milliseconds if img already held as much. New memory is
// slower, so take a first image before time matters, or call PrepareImage. TakeImage applies pending deferred
// changes first, as the next step would. TakeImage panics if a system calls it: an image
// exists only between steps.
func (w *World) TakeImage(img *Image) {
	if w.running {
		panic("world: TakeImage was called by a system")
	}
	w.ApplyDeferred()
	w.markSpawned()
	img.Extra = img.Extra[:0]
	img.known, img.version, img.config, img.tick, img.counts = 0, imageVersion, w.cfg, w.tick, w.counts
	img.program, img.setup, img.changes = w.program, 0, nil
	img.random, _ = w.pcg.AppendBinary(img.random[:0]) // the error is always nil
	img.kinds = w.appendKinds(img.kinds[:0])
	w.endPreparing(img)
	w.pool.State(&img.entities)
	w.takeEntities(img)
	w.takeRows(&img.rows)
	w.takeComponents(img)
	w.takeEffects(&img.effects)
	w.takeVolumes(&img.volumes)
	img.spawned.copyFrom(&w.events.spawned)
	img.destroyed.copyFrom(&w.events.destroyed)
	w.separateWrites()
	if w.journal != nil {
		w.journal.noteImage()
	}
}

// separateWrites encodes the writes that an image of the present state contains, so that
// those that follow it are known.
func (w *World) separateWrites() {
	for _, c := range w.encoders {
		c.encodeWrites()
	}
	for _, c := range w.components {
		c.changed().noteImage()
	}
}

// appendKinds appends the kinds of the world, with Bodies that are shared and never change.
func (w *World) appendKinds(to []Kind) []Kind {
	for i := range w.kinds {
		to = append(to, w.kinds[i].def)
	}
	return to
}

// takeEntities copies the entity state that rows do not contain, by slot. For most bodies
// there is none: they have no lifetime, and their row contains the kind.
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
	img.doomed.CopyFrom(w.doomed.View())
	img.causes = img.causes[:0]
	for slot := range w.doomed.All() {
		img.causes = append(img.causes, w.causes[slot])
	}
	img.newborn.CopyFrom(w.sleepState.newborn.View())
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

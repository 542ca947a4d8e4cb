package world

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/worldd/worldd/world/motion"
)

// ImageChange is a difference between an image and the world that has read it. ReadImage has changed the
// image so that the world can be restored.
type ImageChange struct {
	Part   string // "settings", `kind "crate"`, `component "purse"`
	What   string // the difference: "field dropped Gold"
	Count  int    // number of entities concerned; 0: all, or none
	Losing bool   // the world lacks data that the image has
}

// String returns the change in one line.
func (c ImageChange) String() string {
	text := c.Part + ": " + c.What
	switch {
	case c.Count == 1:
		text += " (1 entity)"
	case c.Count > 1:
		text += fmt.Sprintf(" (%d entities)", c.Count)
	}
	return text
}

// Changes lists the changes that ReadImage made because the image's world was set up
// differently. It is empty if both worlds were set up alike.
func (img *Image) Changes() []ImageChange { return img.changes }

// imageMapping maps the kinds and components of a file to a world's kinds and components.
type imageMapping struct {
	kinds     []int           // by number in the file: a KindID, or -1
	columns   []*columnSource // by number in the file
	reordered bool            // kinds have other numbers in the world
}

// imageMapper changes an image, while it is read, to suit the world.
type imageMapper struct {
	w      *World
	img    *Image
	file   *imageSetup
	wrong  misfits
	moves  bool     // bodies may move differently now
	kindOf []KindID // by slot; nil until needed
	imageMapping
}

func (m *imageMapper) note(part string, count int, losing bool, format string, args ...any) {
	m.img.changes = append(m.img.changes, ImageChange{part, fmt.Sprintf(format, args...), count, losing})
}

// mapSetup maps the kinds and components, after the entities and before the components are read. The
// error names everything that cannot be mapped.
func (m *imageMapper) mapSetup() error {
	m.mapKinds()
	for i := range m.file.components {
		m.mapComponent(&m.file.components[i])
	}
	m.addComponents()
	return m.wrong.err()
}

// mapState changes the whole image for the settings of the world.
func (m *imageMapper) mapState() {
	m.mapSettings()
	for i, ticks := range m.img.rows.rest { // also before version 4, which had a constant of its own
		m.img.rows.rest[i] = min(ticks, m.w.motion.RestTicks)
	}
	if m.moves {
		m.img.rows.wakeAll()
	}
}

// mapKinds maps kinds by name.
func (m *imageMapper) mapKinds() {
	img, counts := m.img, m.countKinds()
	for i, k := range m.file.kinds {
		part := fmt.Sprintf("kind %q", k.Name)
		id := m.w.kindNamed(k.Name)
		m.kinds = append(m.kinds, id)
		m.reordered = m.reordered || id >= 0 && id != i
		switch {
		case id < 0 && counts[i] > 0:
			m.wrong.add("%d entities are of kind %q, which the world lacks", counts[i], k.Name)
		case id < 0:
			m.note(part, 0, false, "dropped: no entity was of this kind")
		case (k.Body == nil) != (m.w.kinds[id].def.Body == nil) && counts[i] > 0:
			m.wrong.add("%d entities are of kind %q, which has a body only in the %s", counts[i], k.Name, whoHas(k.Body != nil))
		default:
			m.compareKinds(part, &k, &m.w.kinds[id].def, counts[i])
		}
	}
	img.kinds = m.w.appendKinds(nil)
	if !m.reordered || m.wrong.list != nil {
		return
	}
	m.note("kinds", 0, false, "have other numbers")
	for _, list := range [][]KindID{img.rows.kind, img.bodiless.kinds} {
		for i, k := range list {
			list[i] = KindID(m.kinds[k])
		}
	}
}

func whoHas(image bool) string {
	if image {
		return "image"
	}
	return "world"
}

// countKinds counts the entities of each kind in the file.
func (m *imageMapper) countKinds() []int {
	counts := make([]int, len(m.file.kinds))
	for _, list := range [][]KindID{m.img.rows.kind, m.img.bodiless.kinds} {
		for _, k := range list {
			counts[k]++
		}
	}
	return counts
}

// compareKinds notes the differences between a kind in the file and in the world. The
// world's constants apply.
func (m *imageMapper) compareKinds(part string, file, own *Kind, count int) {
	if file.Name != own.Name {
		m.note(part, 0, false, "is now kind %q", own.Name)
	}
	if file.Body == nil || own.Body == nil || *file.Body == *own.Body {
		return
	}
	m.note(part, count, false, "%s", fieldChanges(*file.Body, *own.Body))
	m.moves = true
}

// fieldChanges lists the fields in which two structs differ.
func fieldChanges(file, own any) string {
	var list []string
	was, is := reflect.ValueOf(file), reflect.ValueOf(own)
	for i := range was.NumField() {
		if a, b := was.Field(i).Interface(), is.Field(i).Interface(); a != b {
			list = append(list, fmt.Sprintf("%s was %+v and is now %+v", was.Type().Field(i).Name, a, b))
		}
	}
	return strings.Join(list, ", ")
}

// mapSettings gives the image the world's settings.
func (m *imageMapper) mapSettings() {
	img, own := m.img, m.w.cfg.settings()
	file := m.file.config.settings()
	img.config = own
	img.config.FirstGeneration, img.config.MaxEntities = img.entities.FirstGeneration, m.w.cfg.MaxEntities
	if file == own {
		return
	}
	m.note("settings", 0, false, "%s", fieldChanges(file, own))
	if file.Compaction != own.Compaction {
		img.rows.compact(own.Compaction)
	}
	if file.TickHz != own.TickHz {
		m.scaleTicks(tickScale{file.TickHz, own.TickHz})
	}
	if n := img.rows.clamp(&m.w.motion); n > 0 {
		m.note("settings", n, true, "bodies outside of the new HalfExtent moved to its edge")
	}
	file.Seed, file.CellMetres, file.Compaction = own.Seed, own.CellMetres, own.Compaction
	m.moves = m.moves || file != own
}

// tickScale converts durations in ticks from one rate to another.
type tickScale struct{ from, to int }

func (s tickScale) ticks(n uint64) uint64 {
	return uint64(min(math.Round(float64(n)*float64(s.to)/float64(s.from)), math.MaxInt64))
}

// later converts a future tick: the result is as many seconds after now as tick was. Other
// ticks stay as they are.
func (s tickScale) later(tick, now uint64) uint64 {
	if tick <= now {
		return tick
	}
	return now + max(s.ticks(tick-now), 1)
}

// scaleTicks converts durations to another tick rate, so that they last as many seconds as
// before. It does not change ticks in components of the game.
func (m *imageMapper) scaleTicks(s tickScale) {
	img := m.img
	for i, tick := range img.lifetimes.expires {
		img.lifetimes.expires[i] = s.later(tick, img.tick)
	}
	for i := range img.effects.records {
		img.effects.records[i].scale(s, img.tick)
	}
	for i, ticks := range img.rows.rest {
		img.rows.rest[i] = uint32(s.ticks(uint64(ticks)))
	}
	for _, id := range m.w.timers {
		img.components[m.w.savedNumbers()[id]].scaleTimer(s, img.tick)
	}
}

// scale converts an effect to another tick rate: its age and remaining time in seconds stay
// the same, and so does its present centre. An effect whose beginning would precede the
// world's begins with the world.
func (e *effect) scale(s tickScale, now uint64) {
	if e.born > now {
		return // check refuses it
	}
	delay, age := e.first-e.born, now-e.born
	scaled := min(s.ticks(age), now)
	e.born = now - scaled
	e.first = e.born + delay
	e.expires = s.later(e.expires, now)
	p := &e.path
	seconds := float64(age)/float64(s.from) - float64(scaled)/float64(s.to)
	p.Center = Vec3{X: p.Center.X + float32(float64(p.Velocity.X)*seconds), Y: p.Center.Y + float32(float64(p.Velocity.Y)*seconds), Z: p.Center.Z + float32(float64(p.Velocity.Z)*seconds)}
	rate := uint32(int32(math.Round(float64(int32(p.Rate)) * float64(s.from) / float64(s.to))))
	p.Phase += uint32(age)*p.Rate - uint32(scaled)*rate
	p.Rate = rate
}

// compact orders the rows as the mode requires.
func (img *rowImage) compact(mode Compaction) {
	if mode == InPlace {
		for row := range img.awake {
			img.inPlace.Set(uint32(row))
		}
		return
	}
	if !img.inPlace.Any() {
		return
	}
	order := make([]uint32, 0, len(img.slot)) // old rows in their new order
	for row := range img.inPlace.All() {
		order = append(order, row)
	}
	for row := range uint32(len(img.slot)) {
		if !img.inPlace.Has(row) {
			order = append(order, row)
		}
	}
	img.slot, img.kind = permuted(img.slot, order), permuted(img.kind, order)
	img.posX, img.posY, img.posZ = permuted(img.posX, order), permuted(img.posY, order), permuted(img.posZ, order)
	place := make([]uint32, len(order))
	for row, old := range order {
		place[old] = uint32(row)
	}
	for i, row := range img.flips {
		img.flips[i] = place[row]
	}
	slices.Sort(img.flips) // the velocities of sleeping rows keep their order
	img.inPlace.Reset()
}

// permuted returns the elements of list in the given order of their indexes.
func permuted[T any](list []T, order []uint32) []T {
	result := make([]T, len(order))
	for i, from := range order {
		result[i] = list[from]
	}
	return result
}

// clamp moves bodies into the world and returns how many were outside.
func (img *rowImage) clamp(s *motion.Stepper) (moved int) {
	for row := range img.slot {
		at := Vec3{X: img.posX[row], Y: img.posY[row], Z: img.posZ[row]}
		if in := s.Clamp(at); in != at && motion.Finite(at) {
			img.posX[row], img.posY[row], img.posZ[row] = in.X, in.Y, in.Z
			moved++
		}
	}
	return moved
}

// wakeAll makes every body awake after the next flush.
func (img *rowImage) wakeAll() {
	var flips []uint32
	velocity := map[uint32]Vec3{}
	i := 0
	for row, awake := range img.moving {
		if !awake {
			velocity[row] = Vec3{X: img.velX[i], Y: img.velY[i], Z: img.velZ[i]}
		}
		i++
	}
	img.velX, img.velY, img.velZ = img.velX[:len(img.rest)], img.velY[:len(img.rest)], img.velZ[:len(img.rest)]
	for row := range uint32(len(img.slot)) {
		if img.isAwake(row) {
			continue
		}
		flips = append(flips, row)
		v := velocity[row]
		img.velX, img.velY, img.velZ = append(img.velX, v.X), append(img.velY, v.Y), append(img.velZ, v.Z)
	}
	img.flips = flips
}

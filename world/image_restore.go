package world

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"unsafe"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/world/motion"
)

// RunGenerations is the number of generations that RestoreRun skips in the range of the old run. A slot uses at most
// two per tick (an entity and a hole), so this covers a world that continued for 524,288
// ticks after its last image: 2.4 hours at 60 Hz. It allows 4,095 restarts.
const RunGenerations = 1 << 20

// Restore replaces the world's state with the image. From then on the world behaves like
// the image's world, with the same hashes and handles, provided that its systems are the
// same and keep no state of their own. It rewinds: handles issued after the image was
// taken will be issued again for other entities. Holders of such handles, especially
// clients, must not be connected to this world; see RestoreRun.
//
// The error wraps ErrImageWorld and leaves the world unchanged. Restore
// panics if a system calls it.
func (w *World) Restore(img *Image) error {
	return w.restore(img, &img.entities, false)
}

// RestoreRun restores an image for a new run of a server, which does not know the handles
// that the old run issued after the image was taken. Every entity gets a new handle in the
// same slot, and every handle of the old run is Stale (H5).
//
// The world's range of generations may be above the image's or below. FirstGeneration stays as in Config, unless
// the old run may have reached the range: then it becomes RunGenerations above all
// generations in the image. If that leaves none up to Config.LastGeneration, the error is ErrImageWorld: make the
// world with another range, or begin a new world under a new epoch. The caller ensures that nobody else issues
// generations of the range, or keeps handles of an earlier run in it.
//
// Handles of live entities in components are updated, and all others become Stale for ever (bulk.GoneGeneration): in
// another range they could name a later entity. RenamedEntity does the same for handles in Image.Extra.
// Spawned and Destroyed are empty. The image's effects replace all
// effects of the world: a game that wants others removes and adds them afterwards.
func (w *World) RestoreRun(img *Image) error {
	renewed := bulk.PoolState{
		FirstGeneration: img.entities.FirstGeneration, Newest: img.entities.Newest,
		Generations: append([]uint32(nil), img.entities.Generations...), // retired slots are usable again
		Holes:       img.entities.Holes,
	}
	to := bulk.Renewal{First: w.cfg.FirstGeneration, Last: w.cfg.LastGeneration, Known: img.known, Skip: RunGenerations}
	if err := renewed.Renew(to); err != nil {
		return fmt.Errorf("%w: %w", ErrImageWorld, err)
	}
	return w.restore(img, &renewed, true)
}

// RenamedEntity returns the handle, in the run that RestoreRun has begun from img, of the entity that e named when
// img was taken. If that entity was dead, the result is Stale for ever.
func (w *World) RenamedEntity(img *Image, e Entity) Entity {
	return img.entities.Renamed(e, w.cfg.FirstGeneration)
}

func (w *World) restore(img *Image, entities *bulk.PoolState, renewed bool) error {
	if w.running {
		panic("world: Restore was called by a system")
	}
	m, err := img.check(w)
	if err != nil {
		return err
	}
	if err := w.pool.SetState(entities); err != nil {
		return fmt.Errorf("%w: %w", ErrImageWorld, err)
	}
	if err := w.effects.pool.SetState(&img.effects.pool); err != nil {
		panic("world: W10: effects that check accepted: " + err.Error())
	}
	w.cfg.FirstGeneration = entities.FirstGeneration
	w.tick, w.counts = img.tick, img.counts
	if err := w.pcg.UnmarshalBinary(img.random); err != nil {
		panic("world: a random state that check accepted: " + err.Error())
	}
	w.noteSetupChange()
	w.preparing, w.bodies.written = nil, nil
	w.restoreEntities(img, entities, m)
	w.restoreBodies(img, m)
	w.restoreComponents(img, m)
	w.restoreEffects(&img.effects)
	if img.version < 4 {
		w.wakeChanging()
	}
	w.restoreVolumes(&img.volumes)
	w.events = events{}
	w.history.reset(w.cfg, w.tick)
	if renewed {
		w.renameHandles(img)
	} else {
		w.events.spawned.copyFrom(&img.spawned)
		w.events.destroyed.copyFrom(&img.destroyed)
		w.events.causes = make([]uint8, len(img.destroyed.list))
	}
	return nil
}

func (w *World) restoreEntities(img *Image, s *bulk.PoolState, m matched) {
	slots := len(s.Generations)
	w.rowOf = zeroed(w.rowOf, slots)
	w.generations = append(w.generations[:0], s.Generations...)
	for slot, g := range w.generations {
		w.rowOf[slot] = noRow
		switch {
		case g == s.FirstGeneration-1:
			w.generations[slot] = 0 // never used
		case g&1 == 0:
			w.generations[slot] = g - 1
		}
	}
	for _, slot := range s.Retired {
		w.generations[slot] = w.cfg.LastGeneration
	}
	for i, slot := range img.bodiless.slots {
		w.pool.At(slot).kind = m.kinds[img.bodiless.kinds[i]]
	}
	w.deferred = deferred{}
	for _, c := range w.components {
		c.dropDeferred()
	}
	w.unmarked.Reset()
	w.doomed.CopyFrom(img.doomed.View())
	w.causes = zeroed(w.causes, slots)
	causes := img.causes
	for slot := range w.doomed.All() {
		w.causes[slot], causes = causes[0], causes[1:]
	}
	w.disturbNext()
	w.recent[w.tick&1].Reset()
	w.teleported[w.tick&1].Reset()
	w.disturbed, w.spawned = zeroed(w.disturbed, slots), w.spawned[:0]
	for slot := range w.disturbed {
		w.disturb(uint32(slot))
	}
	w.dirty.CopyFrom(w.pool.Live())
	w.movedSlots.Reset()
	for _, r := range w.readers {
		r.pending.Reset()
		r.pendingWritten.Reset()
	}
	w.expiring.Reset()
	w.wheel = wheel{}
	for i, slot := range img.lifetimes.slots {
		w.pool.At(slot).expires = img.lifetimes.expires[i]
		w.wheel.insert(w.pool, slot)
		w.expiring.Set(slot)
	}
}

// restoreBodies restores the rows and the data derived from them.
func (w *World) restoreBodies(img *Image, m matched) {
	b := &w.bodies
	b.restore(&img.rows, m.kinds)
	w.sleepState = sleepState{}
	w.sleepState.slotSet.reserve(len(w.generations))
	w.sleepState.newborn.CopyFrom(img.newborn.View())
	for row, slot := range b.slot {
		w.rowOf[slot] = int32(row)
		w.pool.At(slot).kind = b.Kind[row]
		if b.isAwake(row) {
			w.sleepState.awake.Set(slot)
		}
	}
	w.grid = newGrid(w.cfg)
	for slot, row := range w.rowOf { // in ascending order of slots: each is appended to its cell
		if row != noRow {
			b.cell[row] = w.grid.cellOf(b.Pos.X[row], b.Pos.Z[row])
			w.grid.insert(b.cell[row], uint32(slot))
		}
	}
}

func (w *World) restoreComponents(img *Image, m matched) {
	for _, c := range w.components {
		var own *columnImage
		for i, id := range m.components {
			if id == c.info().ID {
				own = &img.components[i]
			}
		}
		restoreColumn(c, own, w.pool.Slots())
	}
}

func (w *World) restoreEffects(img *effectImage) {
	f := &w.effects
	clear(f.programs)
	clear(f.params)
	f.followers, f.moving = 0, 0
	f.ended, f.acted = f.ended[:0], f.acted[:0]
	params, i := img.params, 0
	live := f.pool.Live()
	for slot, ok := live.Next(0); ok; slot, ok = live.Next(slot + 1) {
		e := f.pool.At(slot)
		*e = img.records[i]
		e.changed, e.disturbs = 0, false
		f.countPath(e, 1)
		p := img.programs[i]
		n := len(p.Params())
		f.set(slot, p, append([]field.Vec4(nil), params[:n]...))
		params = params[n:]
		i++
	}
}

// wakeChanging wakes the bodies in reach of effects that change with time.
func (w *World) wakeChanging() {
	for _, e := range w.effects.pool.All() {
		if e.Changing {
			w.wakeEffect(e)
		}
	}
}

// renameHandles replaces the old run's handles in components and effects (RenamedEntity).
func (w *World) renameHandles(img *Image) {
	rename := func(h *Entity) { *h = w.RenamedEntity(img, *h) }
	for _, e := range w.effects.pool.All() {
		rename(&e.follows)
	}
	for _, c := range w.components {
		references, present := c.references(), c.present()
		if len(references) == 0 {
			continue
		}
		for slot, ok := present.Next(0); ok; slot, ok = present.Next(slot + 1) {
			for _, offset := range references {
				rename((*Entity)(unsafe.Add(c.at(slot), offset)))
			}
		}
	}
}

// matched maps the kinds and components of an image to those in the world.
type matched struct {
	kinds      []KindID
	components []int
}

// settings returns the settings that determine how a world continues.
func (c Config) settings() Config {
	c.MaxEntities, c.FirstGeneration, c.LastGeneration = 0, 0, 0
	c.HistoryTicks, c.Workers = 0, 0 // parallelism has no influence (W11)
	return c
}

// checkSettings checks that a world with settings w can continue one with settings c.
func (c Config) checkSettings(w Config) error {
	c, w = c.settings(), w.settings()
	if c != w {
		return fmt.Errorf("%w: %s", ErrImageWorld, c.differences(w))
	}
	return nil
}

// differences lists the settings in which c and w differ.
func (c Config) differences(w Config) string {
	var list []string
	was, is := reflect.ValueOf(c), reflect.ValueOf(w)
	for i := range was.NumField() {
		if a, b := was.Field(i).Interface(), is.Field(i).Interface(); a != b {
			list = append(list, fmt.Sprintf("its %s is %+v, the world's %+v", was.Type().Field(i).Name, a, b))
		}
	}
	return strings.Join(list, "; ")
}

// maxMisfits bounds the differences that an error lists.
const maxMisfits = 8

// misfits are differences between an image and a world.
type misfits struct {
	list []string
	more int
}

func (m *misfits) add(format string, args ...any) {
	if len(m.list) == maxMisfits {
		m.more++
		return
	}
	m.list = append(m.list, fmt.Sprintf(format, args...))
}

func (m *misfits) err() error {
	text := strings.Join(m.list, "; ")
	switch {
	case text == "":
		return nil
	case m.more > 0:
		text += fmt.Sprintf("; and %d more differences", m.more)
	}
	return fmt.Errorf("%w: %s", ErrImageWorld, text)
}

// match finds the image's kinds and components in the world by name. The error lists all that
// the world lacks.
func (img *Image) match(w *World) (matched, error) {
	var m matched
	var wrong misfits
	kinds, components := map[string]int{}, map[string]int{}
	for i := range w.kinds {
		kinds[w.kinds[i].def.Name] = i
	}
	for i, c := range w.components {
		if info := c.info(); !info.Local {
			components[info.Name] = i
		}
	}
	for _, k := range img.kinds {
		id, found := kinds[k.Name]
		if !found {
			wrong.add("it has kind %q, which the world lacks", k.Name)
		} else if own := w.kinds[id].def.Body; (own == nil) != (k.Body == nil) || own != nil && *own != *k.Body {
			wrong.add("its kind %q has another body", k.Name)
		}
		m.kinds = append(m.kinds, KindID(id))
	}
	for i := range img.components {
		c := &img.components[i]
		id, found := components[c.name]
		if !found {
			wrong.add("it has component %q, which the world lacks", c.name)
			continue
		}
		own := newShape(w.components[id].info().Type)
		if own.text != c.text {
			wrong.add("its component %q is %s, the world's %s", c.name, c.text, own.text)
			continue
		}
		c.shape = own
		m.components = append(m.components, id)
	}
	return m, wrong.err()
}

// check checks that the world can be restored from the image, except that its generations may
// be of another range. It audits the contents against the invariants, because they may come
// from a file.
func (img *Image) check(w *World) (matched, error) {
	if err := img.config.checkSettings(w.cfg); err != nil {
		return matched{}, err
	}
	m, err := img.match(w)
	if err != nil {
		return m, err
	}
	for _, part := range []func(*World) error{img.checkState, img.checkTenants, img.checkBits, img.checkEffects, img.checkVolumes} {
		if err := part(w); err != nil {
			return m, fmt.Errorf("%w: %w", ErrImageWorld, err)
		}
	}
	if err := img.rows.check(w); err != nil {
		return m, fmt.Errorf("%w: %w", ErrImageWorld, err)
	}
	return m, nil
}

func (img *Image) checkState(w *World) error {
	if err := w.pool.CheckRenewable(&img.entities); err != nil {
		return err
	}
	if err := w.effects.pool.CheckState(&img.effects.pool); err != nil {
		return err
	}
	return new(rand.PCG).UnmarshalBinary(img.random)
}

// checkRows checks what the mapping of a file's entities relies on.
func (img *Image) checkRows(file *imageSetup) error {
	slots := len(img.entities.Generations)
	for _, list := range []kindList{{img.rows.slot, img.rows.kind}, img.bodiless} {
		for i, slot := range list.slots {
			if int64(slot) >= int64(slots) || int(list.kinds[i]) >= len(file.kinds) {
				return fmt.Errorf("slot %d of %d has kind %d of %d", slot, slots, list.kinds[i], len(file.kinds))
			}
		}
	}
	return img.rows.checkLayout(file.config.Compaction)
}

// checkTenants checks that every live slot occurs once, in the rows or in bodiless.
func (img *Image) checkTenants(*World) error {
	var seen bulk.Bitset
	tenant := func(slot uint32, k KindID, embodied bool) error {
		if !img.isLive(slot) || seen.Has(slot) {
			return fmt.Errorf("slot %d is listed, but free or listed twice", slot)
		}
		if int(k) >= len(img.kinds) || (img.kinds[k].Body != nil) != embodied {
			return fmt.Errorf("slot %d has kind %d, but body %t", slot, k, embodied)
		}
		seen.Set(slot)
		return nil
	}
	for row, slot := range img.rows.slot {
		if err := tenant(slot, img.rows.kind[row], true); err != nil {
			return err
		}
	}
	for i, slot := range img.bodiless.slots {
		if err := tenant(slot, img.bodiless.kinds[i], false); err != nil {
			return err
		}
	}
	live := 0
	for _, g := range img.entities.Generations {
		live += int(g & 1)
	}
	if live != img.Entities() {
		return fmt.Errorf("%d slots are live, but %d are listed", live, img.Entities())
	}
	return nil
}

func (img *Image) isLive(slot uint32) bool {
	return uint64(slot) < uint64(len(img.entities.Generations)) && img.entities.Generations[slot]&1 != 0
}

// checkBits checks that sets by slot contain live slots only (W7), and that lifetimes
// end in the future (W8).
func (img *Image) checkBits(*World) error {
	sets := []*bulk.Bitset{&img.doomed, &img.newborn, &img.volumes.displaced}
	for i := range img.components {
		c := &img.components[i]
		for word := range bulk.AndNot(c.changed.View(), c.has.View()) {
			return fmt.Errorf("component %q has changes of slots without it in word %d", c.name, word)
		}
		sets = append(sets, &c.has)
	}
	if n := img.doomed.Count(); n != len(img.causes) {
		return fmt.Errorf("%d entities are doomed, for %d causes", n, len(img.causes))
	}
	for i, set := range sets {
		for slot, ok := set.Next(0); ok; slot, ok = set.Next(slot + 1) {
			if !img.isLive(slot) {
				return fmt.Errorf("free slot %d is in set %d", slot, i)
			}
		}
	}
	for i := range img.components {
		if err := img.components[i].check(); err != nil {
			return err
		}
	}
	for i, slot := range img.lifetimes.slots {
		if !img.isLive(slot) || i > 0 && img.lifetimes.slots[i-1] >= slot || img.lifetimes.expires[i] <= img.tick {
			return fmt.Errorf("slot %d: invalid lifetime, last tick %d at tick %d", slot, img.lifetimes.expires[i], img.tick)
		}
	}
	return nil
}

func (img *Image) checkEffects(*World) error {
	params := img.effects.params
	for i, p := range img.effects.programs {
		e := &img.effects.records[i]
		if !motion.Finite(e.Center) || e.born > img.tick || e.first-e.born > 1 || e.expires != 0 && e.expires <= img.tick {
			return fmt.Errorf("effect %d: centre %v, from tick %d to %d, at tick %d", i, e.Center, e.born, e.expires, img.tick)
		}
		if err := e.path.Check(); err != nil || (e.path.Form == motion.Following) != (e.follows != 0) {
			return fmt.Errorf("effect %d: path %+v, following %v: %w", i, e.path, e.follows, err)
		}
		for range p.Params() {
			if !finiteVec4(params[0]) {
				return fmt.Errorf("effect %d has a parameter %v", i, params[0])
			}
			params = params[1:]
		}
	}
	return nil
}

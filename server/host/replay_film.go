package host

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/worldd/worldd/world"
)

const (
	keyframeSeconds  = 5
	maxKeyframeBytes = 128 << 20
	maxMoments       = 1 << 20 // 24 MB
	// maxSlow is the number of slowest ticks that a film knows.
	maxSlow = 20
)

// filmLimits bound the memory of a film.
type filmLimits struct {
	every         uint64 // ticks between keyframes; doubled whenever they exceed keyframeBytes
	keyframeBytes int
	moments       int
}

// film is a recording that can be shown at any tick. It replays forward from keyframes, so that its memory does not
// grow with the recording.
type film struct {
	game   *Instance
	replay *world.Replay
	file   io.ReaderAt

	first, last uint64 // ticks
	keyframes   []keyframe
	bytes       int // of the keyframes
	filmLimits

	kinds  []world.KindID // by slot, of its newest entity: the dead have none
	events []moment       // in order
	full   bool           // later moments are missing
	slow   []slowTick
	late   lateness

	end     error // of the replay: io.EOF, a *world.DivergenceError or world.ErrRecording
	image   world.Image
	encoded bytes.Buffer
}

// keyframe is the state at a mark.
type keyframe struct {
	tick  uint64
	mark  world.ReplayMark
	image []byte // encoded
}

// moment is an event to which a viewer may jump.
type moment struct {
	tick   uint64
	entity world.Entity
	kind   world.KindID
	what   momentKind
	cause  uint8
	lateMS uint32
}

type momentKind uint8

const (
	momentDeath momentKind = iota
	momentSpawn            // of an avatar
	momentStop             // a body was quarantined
	momentLate             // the tick began late on the server
	momentSlow             // the tick took long to replay
)

// slowTick is a tick among those that took longest to replay: recordings do not say how long ticks took.
type slowTick struct {
	tick uint64
	took time.Duration
}

// newFilm replays a recording to its end, and notes what a viewer may look for. progress is called at each keyframe.
func newFilm(ctx context.Context, g *Instance, replay *world.Replay, file io.ReaderAt, l filmLimits, progress func(tick uint64)) (*film, error) {
	f := &film{game: g, replay: replay, file: file, first: g.World.Tick(), filmLimits: l}
	if err := f.addKeyframe(); err != nil {
		return nil, err
	}
	slots := g.World.Slots()
	for slot := range slots.Len() {
		f.noteKind(slots.Handle(slot))
	}
	for f.end == nil {
		if ctx.Err() != nil {
			return nil, errors.New("interrupted before the end of the recording")
		}
		began := time.Now()
		f.end = replay.Next()
		if g.World.Tick() > f.last || f.end == nil {
			f.noteTick(time.Since(began))
		}
		if f.end == nil && (g.World.Tick()-f.first)%f.every == 0 {
			if err := f.addKeyframe(); err != nil {
				return nil, err
			}
			progress(g.World.Tick())
		}
	}
	f.last = g.World.Tick()
	return f, nil
}

// addKeyframe keeps the present state. It drops every other keyframe if they have become too large.
func (f *film) addKeyframe() error {
	f.game.takeImage(&f.image)
	f.encoded.Reset()
	if _, err := f.image.WriteTo(&f.encoded); err != nil {
		return err
	}
	f.keyframes = append(f.keyframes, keyframe{f.game.World.Tick(), f.replay.Mark(), bytes.Clone(f.encoded.Bytes())})
	f.bytes += f.encoded.Len()
	for f.bytes > f.keyframeBytes && len(f.keyframes) > 2 {
		f.every *= 2
		f.keyframes = slices.DeleteFunc(f.keyframes, func(k keyframe) bool {
			drop := (k.tick-f.first)%f.every != 0
			if drop {
				f.bytes -= len(k.image)
			}
			return drop
		})
	}
	return nil
}

// noteTick notes what the newest step has done.
func (f *film) noteTick(took time.Duration) {
	w := f.game.World
	f.last = w.Tick()
	if late := f.late.addTick(f.replay, w.Tick()); late > 0 {
		f.noteMoment(moment{tick: w.Tick(), what: momentLate, lateMS: uint32(late / time.Millisecond)})
	}
	for e, cause := range w.Destroyed() {
		f.noteMoment(moment{w.Tick(), e, f.kindOf(e), momentDeath, cause, 0})
	}
	for e := range w.Spawned() {
		f.noteKind(e)
		if kind := f.kindOf(e); slices.Contains(f.game.Avatars, kind) {
			f.noteMoment(moment{w.Tick(), e, kind, momentSpawn, 0, 0})
		}
	}
	for q := range w.Quarantined() {
		f.noteMoment(moment{w.Tick(), q.Entity, f.kindOf(q.Entity), momentStop, 0, 0})
	}
	at, _ := slices.BinarySearchFunc(f.slow, took, func(s slowTick, t time.Duration) int { return int(t - s.took) })
	if at < maxSlow {
		f.slow = slices.Insert(f.slow, at, slowTick{w.Tick(), took})
		f.slow = f.slow[:min(len(f.slow), maxSlow)]
	}
}

func (f *film) noteMoment(m moment) {
	f.full = len(f.events) >= f.moments
	if !f.full {
		f.events = append(f.events, m)
	}
}

// noteKind notes the kind of a live entity.
func (f *film) noteKind(e world.Entity) {
	kind, live := f.game.World.KindOf(e)
	if !live {
		return
	}
	if n := int(e.Index()) + 1; n > len(f.kinds) {
		f.kinds = slices.Grow(f.kinds, n-len(f.kinds))[:n]
	}
	f.kinds[e.Index()] = kind
}

// kindOf returns the kind of the newest entity in the slot of e.
func (f *film) kindOf(e world.Entity) world.KindID {
	if int(e.Index()) < len(f.kinds) {
		return f.kinds[e.Index()]
	}
	return 0
}

// seek brings the world to the state after a tick, at most the last one.
func (f *film) seek(ctx context.Context, tick uint64) error {
	tick = min(max(tick, f.first), f.last)
	at, found := slices.BinarySearchFunc(f.keyframes, tick, func(k keyframe, t uint64) int { return int(int64(k.tick - t)) })
	if !found {
		at--
	}
	if k := &f.keyframes[at]; tick < f.game.World.Tick() || k.tick > f.game.World.Tick() {
		if err := f.restore(k); err != nil {
			return err
		}
	}
	for f.game.World.Tick() < tick {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := f.replay.Next(); err != nil && f.game.World.Tick() < tick {
			return err
		}
	}
	return nil
}

// restore brings the world to the state of a keyframe.
func (f *film) restore(k *keyframe) error {
	img, err := f.game.World.ReadImage(bytes.NewReader(k.image))
	if err != nil {
		return err
	}
	from := io.NewSectionReader(f.file, k.mark.Offset, 1<<62-k.mark.Offset)
	if err := f.replay.Return(&k.mark, img, bufio.NewReaderSize(from, 1<<20)); err != nil {
		return err
	}
	if f.game.LoadExtra != nil {
		return f.game.LoadExtra(img.Extra)
	}
	return nil
}

// jump says which moments a viewer looks for.
type jump struct {
	from   uint64
	back   bool
	what   string       // deaths, players, stops, late or slow; followed: all of the entity
	entity world.Entity // if set, its moments alone
}

// find returns the moment next to a tick, before or after it.
func (f *film) find(j jump) (m moment, found bool) {
	better := func(tick uint64) bool {
		if j.back {
			return tick < j.from && (!found || tick > m.tick)
		}
		return tick > j.from && (!found || tick < m.tick)
	}
	if j.what == "slow" {
		for _, s := range f.slow {
			if better(s.tick) {
				m, found = moment{tick: s.tick, what: momentSlow}, true
			}
		}
		return m, found
	}
	for _, each := range f.events {
		if f.matches(&each, &j) && better(each.tick) {
			m, found = each, true
		}
	}
	return m, found
}

func (f *film) matches(m *moment, j *jump) bool {
	switch {
	case m.what == momentLate || j.what == "late":
		return m.what == momentLate && j.what == "late" && m.entity == j.entity
	case j.entity != 0 || j.what == "followed":
		return m.entity == j.entity
	case j.what == "players":
		return slices.Contains(f.game.Avatars, m.kind) && m.what != momentStop
	case j.what == "stops":
		return m.what == momentStop
	}
	return m.what == momentDeath
}

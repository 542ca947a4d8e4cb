package scenes

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/worldd/worldd/internal/scenes/messages"
	"github.com/worldd/worldd/world"
)

// state is the part of a scene's state that is not in its world: the Extra of its images.
type state struct {
	Name    string // of the world file; older versions refuse to continue under another
	Avatars []avatarState
	Effects []effectState     `json:",omitempty"`
	Flashes uint32            `json:",omitempty"` // see Scene.NextFlash
	Keys    map[string]uint64 `json:",omitempty"` // see File.fingerprints; nil in older images, and so is Effects

	// Before effects had paths, a system moved them.
	Orbits []world.EffectID `json:",omitempty"` // by effect with an orbit or a pulse; 0 for a pulse
	Pulses [][]movedPulse   `json:",omitempty"`
}

// movedPulse is an explosion of an image from before effects had paths.
type movedPulse struct {
	ID               world.EffectID
	Velocity, Center world.Vec3
	Until            uint64 // last tick in which it acts
}

type avatarState struct{ Entity world.Entity }

// Extra appends the state that is not in the world.
func (s *Scene) Extra(b []byte) []byte {
	s.ids = s.ids[:0]
	for i := range s.effects {
		f := &s.effects[i]
		f.ids = s.live(f.ids)
		s.ids = append(append(s.ids, f.ids...), 0)
	}
	if len(s.extra.all) == 0 || !slices.Equal(s.ids, s.extra.effects) {
		s.encodeExtra()
	}
	return append(b, s.extra.all...)
}

// extraCache holds the newest Extra, and the parts of it that change less often than others: a journal asks for Extra each
// tick.
type extraCache struct {
	all              []byte           // empty: it has changed
	effects          []world.EffectID // in all
	avatars          []byte           // empty: they have changed
	beginning, edits []byte           // constant: the name of the file, and File.fingerprints
}

// forgetAvatars makes the next Extra encode the avatars again.
func (c *extraCache) forgetAvatars() { c.all, c.avatars = c.all[:0], c.avatars[:0] }

// encodeExtra encodes the state again after a change, as JSON of state.
func (s *Scene) encodeExtra() {
	c := &s.extra
	if c.beginning == nil {
		c.beginning = append([]byte(`{"Name":`), encodeJSON(s.File.Name)...)
		c.edits = encodeJSON(s.File.fingerprints())
	}
	if len(c.avatars) == 0 {
		all := []avatarState{}
		for _, e := range slices.Sorted(maps.Keys(s.avatars)) {
			all = append(all, avatarState{e})
		}
		c.avatars = encodeJSON(all)
	}
	c.all = append(append(append(c.all[:0], c.beginning...), `,"Avatars":`...), c.avatars...)
	if len(s.effects) > 0 {
		c.all = append(append(c.all, `,"Effects":`...), encodeJSON(s.effectStates())...)
	}
	if s.flashes > 0 {
		c.all = strconv.AppendUint(append(c.all, `,"Flashes":`...), uint64(s.flashes), 10)
	}
	c.all = append(append(append(c.all, `,"Keys":`...), c.edits...), '}')
	c.effects = append(c.effects[:0], s.ids...)
}

func encodeJSON(value any) []byte {
	b, err := json.Marshal(value)
	if err != nil {
		panic("scenes: a state that JSON lacks: " + err.Error())
	}
	return b
}

// LoadExtra restores what Extra has appended, in the world as it was then. The error wraps
// world.ErrImageWorld.
func (s *Scene) LoadExtra(extra []byte) error {
	then, err := s.stateOf(extra)
	if err != nil {
		return err
	}
	ids := map[string][]world.EffectID{}
	for _, e := range then.Effects {
		ids[e.Name] = e.IDs
	}
	for i := range s.effects {
		f := &s.effects[i]
		f.ids = slices.Clone(ids[f.file.Name])
	}
	clear(s.avatars)
	for _, a := range then.Avatars {
		s.avatars[a.Entity] = [2]float32{}
	}
	s.missiles = s.missiles[:0]
	for e, name := range s.names.All() {
		if strings.HasPrefix(name.Text, MissilePrefix) {
			s.missiles = append(s.missiles, e)
		}
	}
	s.extra.forgetAvatars()
	s.flashes = then.Flashes
	return nil
}

// Edited reports whether the world file has changed since a scene appended extra. The scene then begins a new
// run, which applies the edits.
func (s *Scene) Edited(extra []byte) bool {
	then, err := s.stateOf(extra)
	sameEffect := func(old, now effectState) bool { return old.Name == now.Name && old.Sum == now.Sum }
	return err != nil || !slices.EqualFunc(then.Effects, s.effectStates(), sameEffect) || len(s.File.edits(then.Keys)) > 0
}

// stateOf decodes what Extra has appended in a scene of this file.
func (s *Scene) stateOf(extra []byte) (state, error) {
	var then state
	if err := json.Unmarshal(extra, &then); err != nil {
		return then, fmt.Errorf("%w: not an image of a scene: %w", world.ErrImageWorld, err)
	}
	if then.Orbits == nil && then.Pulses == nil {
		return then, nil
	}
	moving := 0
	for i := range s.File.Effects {
		if e := &s.File.Effects[i]; e.Orbit != nil || e.Pulse != nil {
			moving++
		}
	}
	if len(then.Orbits) != moving || len(then.Pulses) != moving {
		return then, fmt.Errorf("%w: it has %d moving effects, but the world file has %d", world.ErrImageWorld, len(then.Orbits), moving)
	}
	return then, nil
}

// replaceMoved replaces effects that a system moved by effects with equal paths.
func (s *Scene) replaceMoved(then state) {
	if then.Orbits == nil {
		return
	}
	i := 0
	for f := range s.File.Effects {
		e := &s.File.Effects[f]
		switch {
		case e.Orbit != nil:
			orbit := e.Orbit.path(s.File.TickHz)
			orbit.Phase += uint32(s.World.Tick()) * orbit.Rate
			s.replace(then.Orbits[i], func(def *world.EffectDef) { def.Center, def.Orbit = vec3(e.Center), orbit })
		case e.Pulse != nil:
			for _, p := range then.Pulses[i] {
				if p.Until <= s.World.Tick() {
					s.World.RemoveEffect(p.ID)
					continue
				}
				left := uint32(p.Until - s.World.Tick())
				s.replace(p.ID, func(def *world.EffectDef) { def.Center, def.Velocity, def.LifeTicks = p.Center, p.Velocity, left })
			}
		default:
			continue
		}
		i++
	}
}

// replace replaces an effect by a copy that change has modified.
func (s *Scene) replace(id world.EffectID, change func(*world.EffectDef)) {
	e, ok := s.World.Effect(id)
	if !ok {
		return
	}
	def := world.EffectDef{Program: e.Program, Params: e.Params, Mode: e.Mode, Layers: e.Layers}
	change(&def)
	if _, err := s.World.AddEffect(def); err == nil {
		s.World.RemoveEffect(id)
	}
}

// RestoreRun starts a new run from an image of a scene of the same file; see
// World.RestoreRun. The first step destroys the old run's avatars. Effects with an
// unchanged description continue; all others are created from the file. On an error
// (world.ErrImageWorld) the scene is unchanged.
func (s *Scene) RestoreRun(img *world.Image) error {
	then, err := s.stateOf(img.Extra)
	if err != nil {
		return err
	}
	if err := s.World.RestoreRun(img); err != nil {
		return err
	}
	s.replaceMoved(then)
	if then.Keys == nil {
		then.Effects = s.findEffects()
	}
	s.restored = append(s.renewEffects(then.Effects), s.File.edits(then.Keys)...)
	s.extra.forgetAvatars()
	clear(s.avatars)
	for slot := range s.World.Slots().Len() {
		if e := s.World.Slots().Handle(slot); e != 0 {
			s.identity.Set(e, messages.NewIdentity(s.Identity(e))) // S2: its handle is new
		}
	}
	for _, a := range then.Avatars {
		s.World.Destroy(s.World.RenamedEntity(img, a.Entity))
	}
	return nil
}

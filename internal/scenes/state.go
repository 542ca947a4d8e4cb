package scenes

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/worldd/worldd/internal/scenes/messages"
	"github.com/worldd/worldd/world"
)

// state is the part of a scene's state that is not in its world: the Extra of its images.
type state struct {
	Name    string // of the world file
	Avatars []avatarState
	Effects []effectState     `json:",omitempty"`
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

type avatarState struct {
	Entity world.Entity
	Steer  [2]float32
}

// TakeImage copies the whole scene into img, as World.TakeImage does.
func (s *Scene) TakeImage(img *world.Image) error {
	now := state{Name: s.File.Name, Effects: s.effectStates(), Keys: s.File.fingerprints()}
	for _, e := range slices.Sorted(maps.Keys(s.avatars)) {
		now.Avatars = append(now.Avatars, avatarState{e, s.avatars[e]})
	}
	extra, err := json.Marshal(now)
	if err != nil {
		return fmt.Errorf("scenes: image: %w", err)
	}
	s.World.TakeImage(img)
	img.Extra = append(img.Extra, extra...)
	return nil
}

// stateOf decodes the state in an image of this scene.
func (s *Scene) stateOf(img *world.Image) (state, error) {
	var then state
	if err := json.Unmarshal(img.Extra, &then); err != nil {
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
	then, err := s.stateOf(img)
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
	clear(s.avatars)
	for slot := range s.World.Slots().Len() {
		if e := s.World.Slots().Handle(slot); e != 0 {
			s.identity.Set(e, messages.NewIdentity(s.Identity(e))) // S2: its handle is new
		}
	}
	for _, a := range then.Avatars {
		s.World.Destroy(s.World.Slots().Handle(a.Entity.Index()))
	}
	return nil
}

// Replay starts replaying a recording of a scene of the same file; see World.Replay.
func (s *Scene) Replay(from io.Reader) (*world.Replay, error) {
	r, err := s.World.Replay(from)
	if err != nil {
		return nil, err
	}
	then, err := s.stateOf(r.Image())
	if err == nil && then.Name != s.File.Name {
		err = fmt.Errorf("%w: it was recorded in the world %q, but this is %q", world.ErrImageWorld, then.Name, s.File.Name)
	}
	if err != nil {
		return nil, err
	}
	clear(s.avatars)
	for _, a := range then.Avatars {
		s.avatars[a.Entity] = a.Steer
	}
	return r, nil
}

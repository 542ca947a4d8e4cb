package scenes

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/worldd/worldd/world"
)

// state is a scene's state outside of its world: the Extra of its images.
type state struct {
	Name    string           // of the world file
	Orbits  []world.EffectID // by moving effect; 0 for a pulse
	Pulses  [][]pulse        // by moving effect
	Avatars []avatarState
}

type avatarState struct {
	Entity world.Entity
	Steer  [2]float32
}

// TakeImage copies the whole scene into img, as World.TakeImage does.
func (s *Scene) TakeImage(img *world.Image) error {
	now := state{Name: s.File.Name}
	for i := range s.effects {
		e := &s.effects[i]
		now.Orbits = append(now.Orbits, e.id)
		now.Pulses = append(now.Pulses, append([]pulse{}, e.live...)) // [] in JSON, not null
	}
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
		return then, fmt.Errorf("%w: not an image of a scene: %w", world.ErrImage, err)
	}
	if then.Name != s.File.Name {
		return then, fmt.Errorf("%w: it is an image of the world %q, but this is %q", world.ErrImageWorld, then.Name, s.File.Name)
	}
	if len(then.Orbits) != len(s.effects) || len(then.Pulses) != len(s.effects) {
		return then, fmt.Errorf("%w: it has %d moving effects, but the world file has %d", world.ErrImageWorld, len(then.Orbits), len(s.effects))
	}
	return then, nil
}

func (s *Scene) resume(then state) {
	for i := range s.effects {
		e := &s.effects[i]
		e.id, e.live = then.Orbits[i], then.Pulses[i]
	}
	clear(s.avatars)
}

// RestoreRun starts a new run from an image of a scene of the same file; see
// World.RestoreRun. The old run's avatars are destroyed by the first step. On an error
// (world.ErrImage, world.ErrImageWorld) the scene is unchanged.
func (s *Scene) RestoreRun(img *world.Image) error {
	then, err := s.stateOf(img)
	if err != nil {
		return err
	}
	if err := s.World.RestoreRun(img); err != nil {
		return err
	}
	s.resume(then)
	for slot := range s.World.Slots() {
		if e := s.World.HandleAt(slot); e != 0 {
			s.identity.Set(e, NewIdentity(s.Identity(e))) // S2: its handle is new
		}
	}
	for _, a := range then.Avatars {
		s.World.Destroy(s.World.HandleAt(a.Entity.Index()))
	}
	return nil
}

// Record starts recording the scene; see World.Record.
func (s *Scene) Record(to io.Writer, every uint64) (*world.Recorder, error) {
	var img world.Image
	if err := s.TakeImage(&img); err != nil {
		return nil, err
	}
	return s.World.Record(to, &img, every)
}

// Replay starts replaying a recording of a scene of the same file; see World.Replay.
func (s *Scene) Replay(from io.Reader) (*world.Replay, error) {
	r, err := s.World.Replay(from)
	if err != nil {
		return nil, err
	}
	then, err := s.stateOf(r.Image())
	if err != nil {
		return nil, err
	}
	s.resume(then)
	for _, a := range then.Avatars {
		s.avatars[a.Entity] = a.Steer
	}
	return r, nil
}

package scenes

import (
	"errors"
	"fmt"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/scenes/messages"
	"github.com/worldd/worldd/internal/scenes/steering"
	"github.com/worldd/worldd/world"
)

// Scene is a world made from a file, with its players. It belongs to the goroutine that
// owns the world.
type Scene struct {
	World *world.World
	File  *File

	identity *world.Component[messages.Identity]
	names    *world.Component[messages.Name]
	kinds    map[string]world.KindID
	effects  []fileEffect
	emitters []emitter
	avatars  map[world.Entity][2]float32 // last steering of each avatar
	missiles []world.Entity              // launched missiles; some may have ended
	flashes  uint32                      // see NextFlash
	restored []string                    // see Restored

	extra extraCache
	ids   []world.EffectID // scratch: the effects now
}

// ErrPlayers: the world has limits.max_players avatars. The client may try again later.
var ErrPlayers = fmt.Errorf("%w: the world file's player limit is reached", world.ErrFull)

// Identities returns the component that every entity has.
func (s *Scene) Identities() *world.Component[messages.Identity] { return s.identity }

// Identity returns the identity for a handle, live or not.
func (s *Scene) Identity(h world.Entity) uint64 { return IdentityOf(h, s.File.Seed) }

// Spawn calls World.SpawnFor and sets the identity (S2); lifeTicks 0 means no limit. All
// spawns into a scene's world must use it.
func (s *Scene) Spawn(kind world.KindID, at, velocity world.Vec3, lifeTicks uint32) (world.Entity, error) {
	e, err := s.World.SpawnFor(kind, at, velocity, lifeTicks)
	if err != nil {
		return 0, err
	}
	s.identity.Set(e, messages.NewIdentity(s.Identity(e)))
	return e, nil
}

// AvatarKind returns the kind of avatars.
func (s *Scene) AvatarKind() world.KindID { return s.kinds[s.File.Players.Kind] }

// Join spawns an avatar at rest, at a random place of the players' region. The error is
// ErrPlayers; Validate ensures capacity for limits.max_players.
func (s *Scene) Join() (world.Entity, error) {
	if len(s.avatars) >= s.File.Limits.MaxPlayers {
		return 0, ErrPlayers
	}
	players := &s.File.Players
	e, err := s.Spawn(s.AvatarKind(), s.within(players.Region), world.Vec3{}, 0)
	if err != nil {
		return 0, fmt.Errorf("scenes: join: %w", err)
	}
	s.avatars[e] = [2]float32{}
	s.extra.forgetAvatars()
	return e, nil
}

// Leave destroys an avatar at the end of the step, with messages.CauseLeft. It returns
// false unless e is an avatar.
func (s *Scene) Leave(e world.Entity) bool {
	if _, ok := s.avatars[e]; !ok {
		return false
	}
	delete(s.avatars, e)
	s.extra.forgetAvatars()
	return s.World.DestroyBecause(e, messages.CauseLeft)
}

// Steer sets an avatar's horizontal velocity to dir * players.speed, with dir shortened to
// length 1 if it is longer, and keeps the vertical velocity. dir comes from a client: Steer
// returns false and does nothing unless e is an avatar and dir is finite.
//
// Repeating the previous steering has no effect, so that an idle avatar may fall
// asleep.
func (s *Scene) Steer(e world.Entity, dir [2]float32) bool {
	last, ok := s.avatars[e]
	dir, finite := steering.ClampCourse(dir)
	if !ok || !finite {
		return false
	}
	if dir == last && dir == [2]float32{} {
		return true
	}
	v, ok := s.World.Velocity(e)
	if !ok {
		return false
	}
	s.avatars[e] = dir
	speed := s.File.Players.Speed
	want := world.Vec3{X: float32(dir[0] * speed), Y: v.Y, Z: float32(dir[1] * speed)}
	if want != v {
		s.World.SetVelocity(e, want)
	}
	return true
}

// Steering returns the last steering of an avatar.
func (s *Scene) Steering(e world.Entity) [2]float32 { return s.avatars[e] }

// RestoreSteering sets what Steering returns, for an avatar that a crash has not stopped.
func (s *Scene) RestoreSteering(e world.Entity, dir [2]float32) {
	if _, ok := s.avatars[e]; ok {
		s.avatars[e] = dir
	}
}

// NextFlash returns the serial of a flash: one more than the last.
func (s *Scene) NextFlash() uint32 {
	s.flashes++
	return s.flashes
}

// SkipFlashes makes the next flash follow one that Extra may not know.
func (s *Scene) SkipFlashes(newest uint32) { s.flashes = max(s.flashes, newest) }

// ErrPoke: a poke needs a live target with a body that is not kinematic. The sender is
// at fault.
var ErrPoke = errors.New("scenes: nothing to poke")

// Poke throws a body upwards by players.poke m/s, which wakes it. On an error, which
// wraps ErrPoke and describes the target, nothing happens.
func (s *Scene) Poke(e world.Entity) error {
	if status := s.World.Status(e); status != bulk.Live {
		return fmt.Errorf("%w: %v is %v", ErrPoke, e, status)
	}
	kind, _ := s.World.KindOf(e)
	body := s.File.Kinds[kind].Body
	switch {
	case body == nil:
		return fmt.Errorf("%w: %v is a %s, which has no body", ErrPoke, e, s.File.Kinds[kind].Name)
	case body.Kinematic:
		return fmt.Errorf("%w: %v is a %s, which no force moves", ErrPoke, e, s.File.Kinds[kind].Name)
	}
	s.World.Impulse(e, world.Vec3{Y: float32(body.Mass * s.File.Players.Poke)})
	return nil
}

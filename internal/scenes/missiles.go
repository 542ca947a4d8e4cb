package scenes

import (
	"errors"
	"slices"

	"github.com/worldd/worldd/internal/scenes/messages"
	"github.com/worldd/worldd/world"
)

// MissilePrefix begins the names of missiles, and of no other entities.
const MissilePrefix = "*"

// ErrMissiles: the maximum number of missiles is live (S3).
var ErrMissiles = errors.New("scenes: too many missiles: launch again when some have ended")

// Launch spawns a missile with a name, for lifeTicks. The error is ErrMissiles, or
// world.ErrFull if a restored world has no room.
func (s *Scene) Launch(from, velocity world.Vec3, lifeTicks uint32, name string) (world.Entity, error) {
	s.missiles = slices.DeleteFunc(s.missiles, func(e world.Entity) bool { _, alive := s.World.KindOf(e); return !alive })
	if float64(len(s.missiles)) >= float64(s.File.Limits.MaxEntities)-s.File.most() {
		return 0, ErrMissiles
	}
	e, err := s.Spawn(s.missileKind(), from, velocity, lifeTicks)
	if err != nil {
		return 0, err
	}
	s.names.Set(e, messages.Name{Text: name})
	s.missiles = append(s.missiles, e)
	return e, nil
}

// missileKind returns the kind of the first emitter, or the first kind with a body that
// forces move, or else the players' kind.
func (s *Scene) missileKind() world.KindID {
	if len(s.emitters) > 0 {
		return s.emitters[0].kind
	}
	for _, k := range s.File.Kinds {
		if k.Body != nil && !k.Body.Kinematic {
			return s.kinds[k.Name]
		}
	}
	return s.kinds[s.File.Players.Kind]
}

// IsAvatar reports whether e is the avatar of a player.
func (s *Scene) IsAvatar(e world.Entity) bool {
	_, ok := s.avatars[e]
	return ok
}

// AvatarRadius returns the radius of avatars.
func (s *Scene) AvatarRadius() float32 {
	for _, k := range s.File.Kinds {
		if k.Name == s.File.Players.Kind {
			return k.Body.Radius
		}
	}
	return 0 // impossible: Validate has checked the kind
}

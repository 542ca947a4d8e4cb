package rules

import (
	"fmt"
	"math"

	"github.com/worldd/worldd/internal/scenes"
	"github.com/worldd/worldd/internal/scenes/messages"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

const (
	shotRange   = 30 // metres
	shotsASec   = 10
	launchesSec = 2
	// missileSpeed is a missile's speed at its launch, m/s.
	missileSpeed = 15
	// maxSerial bounds Launch.Serial, so that names of missiles have 24 bytes.
	maxSerial = 499_999
)

var errNoAvatar = &server.Rejection{Text: "this session has no avatar"}

// describe answers with the constants that clients need to predict their avatars and to
// judge shots.
func (g *Game) describe(s *server.Session, _ world.Entity, _ messages.Describe) (messages.Rules, error) {
	f := g.scene.File
	return messages.Rules{
		Speed: f.Players.Speed, HalfX: f.Bounds[0], HalfZ: f.Bounds[2], Radius: g.scene.AvatarRadius(), Range: shotRange,
		ViewTicks: uint16(float32(f.TickHz) * f.Limits.ViewAgeS),
	}, nil
}

// shoot judges a shot by the positions that the player saw. Only avatars stop a shot.
func (g *Game) shoot(s *server.Session, _ world.Entity, shot messages.Shoot) (messages.Shot, error) {
	w, p := g.scene.World, g.players[s]
	from, ok := w.Position(s.Entity())
	if !ok || p == nil {
		return messages.Shot{}, errNoAvatar
	}
	if !ready(&p.shoots, w.Tick(), w.TickHz()/shotsASec) {
		return messages.Shot{}, &server.Rejection{Code: wire.RateLimited, Text: fmt.Sprintf("%d shots a second", shotsASec)}
	}
	seen, named := s.View()
	answer := messages.Shot{
		From: from.Array(), Tick: uint16(w.Tick()), Named: named,
		View: uint16(seen.Tick), Fraction: uint8(seen.Fraction * 256),
	}
	g.hits = w.AppendRayAt(g.hits[:0], seen, from, from.Add(direction(shot.Aim).Scale(shotRange)), 0)
	for _, h := range g.hits {
		if h.Entity != s.Entity() && g.scene.IsAvatar(h.Entity) {
			answer.Hit = h.Entity
			break
		}
	}
	return answer, nil
}

// launch spawns a missile for each provisional handle with a life. A missile's name holds
// its serial and its maker's identity.
func (g *Game) launch(s *server.Session, _ world.Entity, l messages.Launch) error {
	w, p := g.scene.World, g.players[s]
	from, ok := w.Position(s.Entity())
	maker := g.scene.Identities().Get(s.Entity())
	switch {
	case !ok || p == nil || maker == nil:
		return errNoAvatar
	case l.Serial > maxSerial:
		return &server.Rejection{Code: wire.BadArguments, Text: fmt.Sprintf("serials end at %d", maxSerial)}
	case !ready(&p.launches, w.Tick(), w.TickHz()/launchesSec):
		return &server.Rejection{Code: wire.RateLimited, Text: fmt.Sprintf("%d launches a second", launchesSec)}
	}
	velocity := direction(l.Aim).Scale(missileSpeed)
	for i, provisional := range []world.Entity{l.Left, l.Right} {
		life := [2]uint8{l.LeftLife, l.RightLife}[i]
		if life == 0 || !s.IsProvisional(provisional) {
			continue
		}
		missile, err := g.scene.Launch(from, velocity, uint32(life), MissileName(2*l.Serial+uint32(i), maker.Number()))
		if err != nil {
			return &server.Rejection{Text: err.Error()}
		}
		if err := s.Bind(provisional, missile); err != nil {
			return err
		}
	}
	return nil
}

// MissileName returns the name of a missile whose maker has this identity.
func MissileName(serial uint32, maker uint64) string {
	return fmt.Sprintf("%s%d %016x", scenes.MissilePrefix, serial, maker)
}

// ready reports whether the tick in since is past. If it has, ready sets since to the end
// of the next pause.
func ready(since *uint64, now uint64, pause int) bool {
	if now < *since {
		return false
	}
	*since = now + uint64(pause)
	return true
}

// direction returns the unit vector of an aim.
func direction(aim float32) world.Vec3 {
	sin, cos := math.Sincos(float64(aim))
	return world.Vec3{X: float32(cos), Z: float32(sin)}
}

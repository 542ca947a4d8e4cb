package rules

import (
	"encoding/binary"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/worldd/worldd/internal/scenes"
	"github.com/worldd/worldd/internal/scenes/messages"
	"github.com/worldd/worldd/internal/scenes/steering"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// Host sends events: it is a *server.Room, or the core of a rig.
type Host interface {
	SendSeen(entity world.Entity, event any) error
	SendWithin(center world.Vec3, radius float32, event any) error
}

// Game is a scene with its players' sessions.
type Game struct {
	// Mistaken, if set, is called for a poke whose argument is not the target's identity:
	// some code confused a handle. actual is 0 if the target has no identity.
	Mistaken func(s *server.Session, target world.Entity, believed, actual uint64)

	scene   *scenes.Scene
	server  Host // nil: no events
	players map[*server.Session]*player
	hits    []world.Hit // scratch
}

// player counts the successes of a session.
type player struct {
	renames, scored  uint32
	flash            uint32 // serial of the newest flash of its pokes
	renamed          uint64 // tick of the newest rename
	shoots, launches uint64 // ticks from which the session may shoot or launch again
}

// New returns the game of a scene.
func New(scene *scenes.Scene) *Game {
	return &Game{scene: scene, players: map[*server.Session]*player{}}
}

// Attach sets the server that sends the events of g. Call it before Serve.
func (g *Game) Attach(s Host) { g.server = s }

// Hooks returns the server's callbacks.
func (g *Game) Hooks() server.Hooks {
	return server.Hooks{
		Join:        g.join,
		Leave:       g.leave,
		SaveSession: g.saveSession, RestoreSession: g.restoreSession,
		Input: server.OnInput(messages.Stick, g.Steer),
		Commands: []server.Command{
			server.OnRawCommand(messages.PokeCommand, g.Poke),
			server.OnQuery(messages.RenameCommand, g.rename),
			server.OnQuery(messages.DescribeCommand, g.describe),
			server.OnQuery(messages.ShootCommand, g.shoot),
			server.OnCommand(messages.LaunchCommand, g.launch),
		},
	}
}

func (g *Game) join(s *server.Session) (world.Entity, error) {
	avatar, err := g.scene.Join()
	if err != nil {
		return 0, err
	}
	g.players[s] = &player{}
	name := firstName(s.Name())
	g.scene.Rename(avatar, name)
	return avatar, g.sendSeen(avatar, &messages.Named{Player: avatar, Name: name})
}

func (g *Game) leave(s *server.Session) {
	delete(g.players, s)
	g.scene.Leave(s.Entity())
}

// Steer sets the course of the session's avatar.
func (g *Game) Steer(s *server.Session, _ uint64, stick steering.Stick) {
	g.scene.Steer(s.Entity(), stick.Course())
}

// Poke is the command poke.
func (g *Game) Poke(s *server.Session, target world.Entity, args []byte) error {
	if len(args) > 0 {
		believed, ok := decodeIdentity(args)
		if !ok {
			return &wire.Error{Code: wire.BadArguments, Detail: "want no arguments, or an identity as a msgpack uint64"}
		}
		if actual := g.scene.Identities().Get(target); actual == nil || actual.Number() != believed {
			g.mistake(s, target, believed, actual)
			return &wire.Error{Code: wire.IdentityFault, Detail: fmt.Sprintf("%v has another identity", target)}
		}
	}
	if err := g.scene.Poke(target); err != nil {
		return &wire.Error{Code: wire.CommandRefused, Detail: err.Error()}
	}
	return g.reportPoke(s, target)
}

func (g *Game) mistake(s *server.Session, target world.Entity, believed uint64, actual *messages.Identity) {
	var number uint64
	if actual != nil {
		number = actual.Number()
	}
	if g.Mistaken != nil {
		g.Mistaken(s, target, believed, number)
	}
}

// reportPoke sends the events of an executed poke.
func (g *Game) reportPoke(s *server.Session, target world.Entity) error {
	if g.scene.Break(target) {
		if err := g.sendSeen(target, &messages.Broken{Entity: target, By: s.Entity()}); err != nil {
			return err
		}
	}
	if g.server == nil {
		return nil
	}
	p := g.players[s]
	if s.Send(&messages.Scored{Entity: target, Count: p.scored + 1}) == nil { // else the client has too much to receive
		p.scored++
	}
	at, _ := g.scene.World.Position(target)
	p.flash = g.scene.NextFlash()
	return g.server.SendWithin(at, messages.FlashRadius, &messages.Flash{At: [2]float32{at.X, at.Z}, Serial: p.flash, Tick: uint16(g.scene.World.Tick())})
}

func (g *Game) rename(s *server.Session, target world.Entity, args messages.Rename) (messages.Renamed, error) {
	avatar := s.Entity()
	switch {
	case target != 0 && target != avatar:
		return messages.Renamed{}, &server.Rejection{Text: "players rename themselves only"}
	case !validName(args.Name):
		return messages.Renamed{}, &server.Rejection{Code: wire.BadArguments, Text: "a name has 1 to 24 bytes of printable UTF-8, without spaces at its ends"}
	}
	p, now := g.players[s], g.scene.World.Tick()
	if p != nil && p.renames > 0 && now-p.renamed < uint64(g.scene.World.TickHz()) {
		return messages.Renamed{}, &server.Rejection{Code: wire.RateLimited, Text: "one new name a second"}
	}
	if p == nil || !g.scene.Rename(avatar, args.Name) {
		return messages.Renamed{}, &server.Rejection{Text: errNoAvatar.Text}
	}
	p.renames, p.renamed = p.renames+1, now
	return messages.Renamed{Player: avatar, Count: p.renames, Name: args.Name}, g.sendSeen(avatar, &messages.Named{Player: avatar, Name: args.Name})
}

// sendSeen sends an event to all who see e.
func (g *Game) sendSeen(e world.Entity, event any) error {
	if g.server == nil {
		return nil
	}
	return g.server.SendSeen(e, event)
}

func validName(name string) bool {
	return name != "" && !strings.HasPrefix(name, scenes.MissilePrefix) && len(name) <= messages.MaxNameText && utf8.ValidString(name) && strings.TrimSpace(name) == name &&
		strings.IndexFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

// firstName returns the initial name of a session's avatar.
func firstName(session string) string {
	name := session[:min(len(session), messages.MaxNameText)]
	for len(name) > 0 && !utf8.ValidString(name) && utf8.ValidString(session) {
		name = name[:len(name)-1] // cut off the rest of a character
	}
	name = strings.TrimSpace(name)
	if !validName(name) {
		return "player"
	}
	return name
}

// decodeIdentity decodes a msgpack uint64: 0xcf and 8 bytes, big-endian.
func decodeIdentity(args []byte) (uint64, bool) {
	if len(args) != 9 || args[0] != 0xcf {
		return 0, false
	}
	return binary.BigEndian.Uint64(args[1:]), true
}

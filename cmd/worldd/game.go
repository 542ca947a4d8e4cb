package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/scenes"
	"github.com/worldd/worldd/loadtest/bot"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// game runs a scene for the server: joins, inputs and pokes.
type game struct {
	scene *scenes.Scene

	mu         sync.Mutex
	confusions uint64
	recorded   []bot.Confusion // first bot.ReportedConfusions of them
}

// hooks returns the server's callbacks, which run on the world's goroutine.
func (g *game) hooks() server.Game {
	return server.Game{
		Join:     func(*server.Session) (world.Entity, error) { return g.scene.Join() },
		Leave:    func(s *server.Session) { g.scene.Leave(s.Entity()) },
		Input:    server.OnRawInput(g.steer),
		Commands: map[string]server.Command{"poke": server.OnRawCommand(g.poke)},
	}
}

// steer sets the course of the session's entity.
func (g *game) steer(s *server.Session, _ uint64, data []byte) {
	if dir, ok := scenes.DecodeSteer(data); ok {
		g.scene.Steer(s.Entity(), dir)
	}
}

// poke throws its target into the air. Its optional argument is the identity that the
// client expects: a different one means that a handle was confused somewhere.
func (g *game) poke(s *server.Session, target world.Entity, args []byte) error {
	if len(args) > 0 {
		believed, ok := decodeIdentity(args)
		if !ok {
			return &wire.Error{Code: wire.BadArguments, Detail: "want no arguments, or an identity as a msgpack uint64"}
		}
		actual := g.scene.Identities().Get(target)
		if actual == nil || actual.Number() != believed {
			g.confuse(s, target, believed, actual)
			return &wire.Error{Code: wire.IdentityFault, Detail: fmt.Sprintf("%v has another identity", target)}
		}
	}
	if err := g.scene.Poke(target); err != nil {
		return &wire.Error{Code: wire.CommandRefused, Detail: err.Error()}
	}
	return nil
}

func (g *game) confuse(s *server.Session, h bulk.Handle, believed uint64, actual *scenes.Identity) {
	c := bot.Confusion{Tick: uint32(g.scene.World.Tick()), Handle: h, Remembered: believed}
	if actual != nil {
		c.Seen = actual.Number()
	}
	c.What = fmt.Sprintf("B5: %q named it to the server, which has another identity for it", s.Name())
	_, _ = fmt.Sscanf(s.Name(), "bot-%d", &c.Bot) // otherwise not a bot: the text has its name
	g.mu.Lock()
	defer g.mu.Unlock()
	g.confusions++
	if len(g.recorded) < bot.ReportedConfusions {
		g.recorded = append(g.recorded, c)
	}
}

// confused returns the number of pokes with a wrong identity, and the first of them.
func (g *game) confused() (uint64, []bot.Confusion) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.confusions, g.recorded
}

// decodeIdentity decodes a msgpack uint64: 0xcf and 8 bytes, big-endian.
func decodeIdentity(args []byte) (uint64, bool) {
	if len(args) != 9 || args[0] != 0xcf {
		return 0, false
	}
	return binary.BigEndian.Uint64(args[1:]), true
}

// newSchema returns the wire schema of all scenes: bodies and identities.
func newSchema() (*schema.Schema, error) {
	s := schema.New()
	return s, errors.Join(schema.Add[schema.Body](s, schema.BodyComponent), schema.Add[scenes.Identity](s, scenes.IdentityName))
}

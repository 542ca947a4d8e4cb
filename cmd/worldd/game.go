package main

import (
	"encoding/binary"
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

// game plays a scene: it is what the server asks for joins, inputs and pokes.
type game struct {
	scene *scenes.Scene

	mu         sync.Mutex
	confusions uint64
	recorded   []bot.Confusion // the first bot.ReportedConfusions
}

// hooks is what the server calls, on the goroutine that owns the world.
func (g *game) hooks() server.Game {
	return server.Game{
		Join:  func(*server.Session) (world.Entity, error) { return g.scene.Join() },
		Leave: func(s *server.Session) { g.scene.Leave(s.Entity()) },
		Input: func(s *server.Session, _ uint64, data []byte) {
			if dir, ok := scenes.DecodeSteer(data); ok {
				g.scene.Steer(s.Entity(), dir)
			}
		},
		Commands: map[string]server.Command{"poke": g.poke},
	}
}

// poke throws its target into the air. Its argument, if there is one, is the
// identity that the client believes the target to have: another one than the
// target's means that a handle lied somewhere on the way here.
func (g *game) poke(s *server.Session, target world.Entity, args []byte) error {
	if len(args) > 0 {
		believed, ok := decodeIdentity(args)
		if !ok {
			return &wire.Error{Code: wire.BadArguments, Detail: "want nothing, or an identity as a msgpack uint64"}
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
	c.What = fmt.Sprintf("B5: %q named it to the server, which knows it by another identity", s.Name())
	_, _ = fmt.Sscanf(s.Name(), "bot-%d", &c.Bot) // else it is no bot, and the text says who
	g.mu.Lock()
	defer g.mu.Unlock()
	g.confusions++
	if len(g.recorded) < bot.ReportedConfusions {
		g.recorded = append(g.recorded, c)
	}
}

// confused returns how often a client named a handle by another identity, and
// the first of these.
func (g *game) confused() (uint64, []bot.Confusion) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.confusions, g.recorded
}

// decodeIdentity reads a msgpack uint64: 0xcf and 8 bytes, big-endian.
func decodeIdentity(args []byte) (uint64, bool) {
	if len(args) != 9 || args[0] != 0xcf {
		return 0, false
	}
	return binary.BigEndian.Uint64(args[1:]), true
}

// newSchema makes the wire schema of every scene: bodies and identities.
func newSchema() (*schema.Schema, error) {
	s := schema.New()
	if err := schema.Add[schema.Body](s, schema.BodyComponent); err != nil {
		return nil, err
	}
	if err := schema.Add[scenes.Identity](s, scenes.IdentityName); err != nil {
		return nil, err
	}
	return s, nil
}

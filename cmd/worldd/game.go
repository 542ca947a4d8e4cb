package main

import (
	"fmt"
	"sync"

	"github.com/worldd/worldd/internal/scenes"
	"github.com/worldd/worldd/internal/scenes/rules"
	"github.com/worldd/worldd/loadtest/bot"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/host"
	"github.com/worldd/worldd/world"
)

// game runs a scene for the server, and counts confused handles.
type game struct {
	world string // the name that was given on the command line
	scene *scenes.Scene
	*rules.Game

	mu         sync.Mutex
	confusions uint64
	recorded   []bot.Confusion // the first bot.ReportedConfusions confusions
}

func newGame(file *scenes.File, name string) (*game, error) {
	scene, err := scenes.Build(file)
	if err != nil {
		return nil, host.WrongUsage(err)
	}
	g := &game{world: name, scene: scene, Game: rules.New(scene)}
	g.Mistaken = g.noteConfusion
	return g, nil
}

func (g *game) noteConfusion(s *server.Session, h world.Entity, believed, actual uint64) {
	c := bot.Confusion{Tick: uint32(g.scene.World.Tick()), Handle: h, Remembered: believed, Seen: actual}
	c.What = fmt.Sprintf("B5: %q named it to the server, which has another identity for it", s.Name())
	_, _ = fmt.Sscanf(s.Name(), "bot-%d", &c.Bot) // not for other clients: the text has their name
	g.mu.Lock()
	defer g.mu.Unlock()
	g.confusions++
	if len(g.recorded) < bot.ReportedConfusions {
		g.recorded = append(g.recorded, c)
	}
}

// listConfusions returns the number of pokes with a wrong identity, and the first of them.
func (g *game) listConfusions() (uint64, []bot.Confusion) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.confusions, g.recorded
}

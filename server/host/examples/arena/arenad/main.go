// Command arenad serves the arena, with everything that package host gives a game: a demo and
// load tests with bots of the arena, images, recordings and their replay, tokens, metrics.
//
//	arenad demo --bots 20 --duration 30s
//	arenad serve --listen :4433 --image arena.image --admin 127.0.0.1:4434
//	arenad loadtest --addr 127.0.0.1:4433 --insecure-dev --loss 0.05 --fail 'confusions>0'
package main

import (
	"fmt"

	"github.com/worldd/worldd/loadtest/bot"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/host"
	"github.com/worldd/worldd/server/host/examples/arena"
)

func main() {
	host.Main(host.Definition{
		Name: "arenad", About: "Ships in a windy arena.", New: newArena, Bots: &bot.Game{Bot: newBot},
	})
}

func newArena(o host.Options) (*host.Game, error) {
	a, err := arena.New(o.SeedOr(1))
	if err != nil {
		return nil, err
	}
	c := a.Config()
	return &host.Game{
		Config: c, Seed: 1, Attach: func(s *server.Server) { a.Attach(s) },
		RestoreRun: a.RestoreRun,
	}, nil
}

// newBot makes a bot of a player, who checks the rules that it can see.
func newBot(seat bot.Seat) (bot.Behavior, error) {
	p, config, err := arena.NewPlayer(seat.Name)
	b := arena.NewBot(p, seat.Rand.Uint64())
	return bot.Behavior{
		Schema: config.Schema, Events: config.Events, State: config.State, Joined: p.Joined,
		Input: func(*bot.Frame) any {
			p.Show()
			b.Think()
			return &p.Stick
		},
		Act: func(*bot.Frame) error {
			p.TakePart()
			return nil
		},
		Check: func(*bot.Frame) error {
			for s := range p.Ships() {
				if s.Hull > arena.FullHull {
					return fmt.Errorf("%v has %d points", s.Handle, s.Hull)
				}
			}
			if own, ok := p.Own(); ok && own.Pilot.Name != seat.Name {
				return fmt.Errorf("the ship of %q is flown by %q", seat.Name, own.Pilot.Name)
			}
			return nil
		},
	}, err
}

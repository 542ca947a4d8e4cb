package main

import (
	"errors"
	"os"

	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/host"
	"github.com/worldd/worldd/world"
)

// upgrade makes the next version of a game, with a component, a kind and a command more; or, if the
// environment says so, a version whose component has another type.
func upgrade(build func(host.Options) (*host.Instance, error)) func(host.Options) (*host.Instance, error) {
	return func(o host.Options) (*host.Instance, error) {
		g, err := build(o)
		if err != nil {
			return nil, err
		}
		if os.Getenv("RESTART_TEST_CHANGED") != "" {
			_, err = world.Register[float32](g.World, "mana")
		} else {
			_, err = world.Register[int32](g.World, "mana")
		}
		_, added := g.World.AddKind(world.Kind{Name: "wizard"})
		g.Hooks.Commands = append(g.Hooks.Commands, server.OnRawCommand("cast", func(*server.Session, world.Entity, []byte) error { return nil }))
		return g, errors.Join(err, added)
	}
}

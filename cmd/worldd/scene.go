package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/worldd/worldd/internal/scenes"
	"github.com/worldd/worldd/internal/scenes/messages"
	"github.com/worldd/worldd/internal/spelling"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/server"
)

// loadWorld loads a world: an embedded one by name, or a file by path. Errors are
// wrongUsage.
func loadWorld(name string) (*scenes.File, error) {
	load := scenes.Load
	if slices.Contains(scenes.Names(), name) {
		load = scenes.Named
	}
	file, err := load(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, wrongUsage{fmt.Errorf("worldd: %w%s", err, knownWorlds(name))}
	case errors.As(err, new(*fs.PathError)):
		return nil, wrongUsage{fmt.Errorf("worldd: %w", err)}
	case err != nil:
		return nil, wrongUsage{err}
	}
	return file, nil
}

// knownWorlds suggests an embedded world for a name that is not a file.
func knownWorlds(name string) string {
	all := scenes.Names()
	guess := ""
	if near := spelling.Nearest(name, all); near != "" {
		guess = fmt.Sprintf("; did you mean %s?", near)
	}
	return fmt.Sprintf("%s (the embedded worlds are %s)", guess, strings.Join(all, ", "))
}

// host builds the world of a file, its game, and the server configuration that depends
// on them.
func host(file *scenes.File) (*game, server.Config, error) {
	scene, err := scenes.Build(file)
	if err != nil {
		return nil, server.Config{}, wrongUsage{err}
	}
	schema, err := messages.NewSchema()
	if err != nil {
		return nil, server.Config{}, err
	}
	g := newGame(scene)
	return g, server.Config{
		World: scene.World, Schema: schema, Game: g.Hooks(),
		Replication: replication.Config{
			EnterRadius: file.Interest.EnterRadius, LeaveRadius: file.Interest.LeaveRadius,
			SnapshotHz: file.SnapshotHz, BudgetBytesPerSecond: file.BudgetBytesPerSecond,
		},
		MaxSessions: file.Limits.MaxPlayers,
		MaxViewAge:  viewAge(file),
	}, nil
}

// viewAge is how far back the game judges shots.
func viewAge(f *scenes.File) time.Duration {
	return time.Duration(float64(f.Limits.ViewAgeS) * float64(time.Second))
}

func describe(f *scenes.File) string {
	spawned, perSecond := 0, 0.0
	for _, s := range f.Spawns {
		spawned += s.Count
		if s.Grid != nil {
			spawned += s.Grid.Count[0] * s.Grid.Count[1] * s.Grid.Count[2]
		}
	}
	for _, e := range f.Emitters {
		perSecond += e.PerSecond
	}
	parts := []string{
		fmt.Sprintf("world %s", f.Name),
		fmt.Sprintf("%d Hz", f.TickHz), fmt.Sprintf("%d snapshots/s", f.SnapshotHz),
		count(len(f.Kinds), "kind"), count(len(f.Effects), "effect"), fmt.Sprintf("%d entities at the start", spawned),
	}
	if perSecond > 0 {
		parts = append(parts, fmt.Sprintf("%g spawned a second", perSecond))
	}
	parts = append(parts, fmt.Sprintf("at most %d with %s", f.Limits.MaxEntities, count(f.Limits.MaxPlayers, "player")))
	return strings.Join(parts, ", ")
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

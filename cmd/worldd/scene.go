package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/worldd/worldd/internal/scenes"
	"github.com/worldd/worldd/internal/scenes/messages"
	"github.com/worldd/worldd/internal/spelling"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/host"
	"github.com/worldd/worldd/world"
)

// loadWorld loads a world: an embedded one by name, or a file by path. Errors are
// a host.Usage.
func loadWorld(name string) (*scenes.File, error) {
	load := scenes.Load
	if slices.Contains(scenes.Names(), name) {
		load = scenes.Named
	}
	file, err := load(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, host.WrongUsage(fmt.Errorf("worldd: %w%s", err, knownWorlds(name)))
	case errors.As(err, new(*fs.PathError)):
		return nil, host.WrongUsage(fmt.Errorf("worldd: %w", err))
	case err != nil:
		return nil, host.WrongUsage(err)
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
	return fmt.Sprintf("%s (the embedded worlds are %s); worldd help world describes the files", guess, strings.Join(all, ", "))
}

// newWorld makes the game of the chosen world.
func newWorld(o host.Options) (*host.Instance, error) {
	file, err := loadWorld(o.World)
	if err != nil {
		return nil, err
	}
	file.Seed = o.SeedOr(file.Seed)
	if o.Demo {
		file.Limits.ViewAgeS = 0 // its bots do not shoot
	}
	g, err := newGame(file, o.World)
	if err != nil {
		return nil, err
	}
	return g.newInstance(), nil
}

// newInstance describes g to package host.
func (g *game) newInstance() *host.Instance {
	scene, file := g.scene, g.scene.File
	return &host.Instance{
		WorldConfig: server.WorldConfig{
			World: scene.World, Schema: messages.Schema, Hooks: g.Hooks(),
			Replication: replication.Config{
				EnterRadius: file.Interest.EnterRadius, LeaveRadius: file.Interest.LeaveRadius,
				SnapshotHz: file.SnapshotHz, BudgetBytesPerSecond: file.BudgetBytesPerSecond,
			},
			MaxSessions: file.Limits.MaxPlayers,
			MaxViewAge:  viewAge(file),
		},
		Title:       "world " + file.Name,
		MorePlayers: fmt.Sprintf("a --world file with a higher limits.max_players, at most %d", scenes.MaxPlayers),
		Seed:        file.Seed, AreaMetres: areaOf(file), Avatars: []world.KindID{scene.AvatarKind()},
		Attach: func(r *server.Room) { g.Attach(r) },
		Extra:  scene.Extra, LoadExtra: scene.LoadExtra, Edited: scene.Edited, RestoreRun: scene.RestoreRun, Restored: scene.Restored,
		Reload:   g.reloadLimits,
		Describe: g.describeWorld,
		Confused: g.listConfusions,
	}
}

// reloadLimits reads the limits of the world file. changed lists other changed keys, which
// require a restart.
func (g *game) reloadLimits() (l server.Limits, changed []string, err error) {
	file, err := loadWorld(g.world)
	if err != nil {
		return l, nil, err
	}
	running := g.scene.File
	if n, players := file.Limits.MaxPlayers, running.Limits.MaxPlayers; n > players {
		return l, nil, fmt.Errorf("limits.max_players is %d, but this world was started for %d: restart to raise it", n, players)
	}
	l = server.Limits{MaxSessions: file.Limits.MaxPlayers, BudgetBytesPerSecond: file.BudgetBytesPerSecond}
	file.Limits.MaxPlayers, file.BudgetBytesPerSecond = running.Limits.MaxPlayers, running.BudgetBytesPerSecond
	return l, running.ChangedKeys(file), nil
}

// describeWorld summarises the file. Expensive effects cause a warning, not an error: their
// cost depends on the host and on how many bodies sleep. Effects that become coarse after days
// cause a warning too.
func (g *game) describeWorld() (summary string, warnings []string) {
	if warning := costWarning(g.scene.EffectCosts(), g.scene.File.TickHz); warning != "" {
		warnings = append(warnings, warning)
	}
	if names := g.scene.KeepAwake(); len(names) > 0 {
		warnings = append(warnings, keepAwakeWarning(names))
	}
	return describeFile(g.scene.File), append(warnings, g.scene.File.TimeWarnings()...)
}

// viewAge is how far back the game judges shots.
func viewAge(f *scenes.File) time.Duration {
	return time.Duration(float64(f.Limits.ViewAgeS) * float64(time.Second))
}

func describeFile(f *scenes.File) string {
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
		countOf(len(f.Kinds), "kind"), countOf(len(f.Effects), "effect"), fmt.Sprintf("%d entities at the start", spawned),
	}
	if perSecond > 0 {
		parts = append(parts, fmt.Sprintf("%g spawned a second", perSecond))
	}
	parts = append(parts, fmt.Sprintf("at most %d with %s", f.Limits.MaxEntities, countOf(f.Limits.MaxPlayers, "player")))
	return strings.Join(parts, ", ")
}

func countOf(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// areaOf returns how far from the centre bots roam: the distance at which players appear, at
// least the view radius, and inside the world.
func areaOf(f *scenes.File) float64 {
	area := float64(f.Interest.EnterRadius)
	if r := f.Players.Region; r != nil {
		for _, i := range []int{0, 2} {
			area = max(area, math.Abs(float64(r.Min[i])), math.Abs(float64(r.Max[i])))
		}
	}
	return min(area, float64(f.Bounds[0]), float64(f.Bounds[2]))
}

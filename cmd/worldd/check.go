package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/worldd/worldd/internal/cpu"
	"github.com/worldd/worldd/internal/scenes"
	"github.com/worldd/worldd/replication/wire"
)

// checkCommand validates a world file.
type checkCommand struct {
	File string `arg:"" placeholder:"FILE" help:"World file, or name of an embedded world."`
}

// Run summarises the file or reports its mistakes. It also builds the world, so serve
// will accept a file that passes. Expensive effects only cause a warning: their cost
// depends on the host and on how many bodies sleep.
func (c *checkCommand) Run(_ context.Context, std streams) error {
	file, err := loadWorld(c.File)
	if err != nil {
		return err
	}
	scene, err := scenes.Build(file)
	if err != nil {
		return wrongUsage{err}
	}
	if warning := costWarning(scene.EffectCosts(), file.TickHz); warning != "" {
		fmt.Fprintf(std.err, "%s: warning: %s\n", c.File, warning)
	}
	_, err = fmt.Fprintf(std.out, "%s: ok: %s\n", c.File, describe(file))
	return err
}

const (
	// warnedShare is the share of a tick's time from which effects cause a warning;
	// contacts, snapshots and transport need the rest.
	warnedShare = 0.5
	// warnedEffects is the number of effects named in a warning.
	warnedEffects = 3
)

// costWarning returns a warning about the effects' cost, or "".
func costWarning(costs []scenes.EffectCost, tickHz int) string {
	var all time.Duration
	for _, e := range costs {
		all += e.PerTick
	}
	tick := time.Second / time.Duration(tickHz)
	if all.Seconds() < warnedShare*tick.Seconds() {
		return ""
	}
	var named []string
	for _, e := range costs[:min(len(costs), warnedEffects)] {
		named = append(named, fmt.Sprintf("%s %.1f ms (%s)", e.Name, milliseconds(e.PerTick), bodies(e.Bodies)))
	}
	if more := len(costs) - len(named); more > 0 {
		named = append(named, fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("effects may take about %.1f ms of a tick of %.1f ms, if no body in them sleeps: %s", milliseconds(all), milliseconds(tick), strings.Join(named, ", "))
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }

func bodies(n int) string {
	if n == 1 {
		return "1 body"
	}
	return fmt.Sprintf("%d bodies", n)
}

// release is the newest release in CHANGELOG.md.
const release = "v0.1.0"

// versionOf returns the version of a build from its main module's version: a tag's, a
// commit's, or none.
func versionOf(module string) string {
	if module == "" || module == "(devel)" {
		return release + "+source"
	}
	return module
}

// versionCommand prints the version.
type versionCommand struct{}

// Run prints one line.
func (versionCommand) Run(_ context.Context, std streams) error {
	module := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		module = info.Main.Version
	}
	_, err := fmt.Fprintf(std.out, "worldd %s, protocol %d, %s %s/%s, kernels %v\n", versionOf(module), wire.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH, cpu.Chosen())
	return err
}

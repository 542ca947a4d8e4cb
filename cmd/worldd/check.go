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
	File string `arg:"" placeholder:"FILE" help:"A world file, or the name of an embedded world."`
}

// Run prints what the file holds, or what is wrong with it. What it lets pass,
// serve will host: the world is built too. Effects that may take too much of a tick are
// a warning, since how fast the host is and how many bodies sleep decides.
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
	// warnedShare is the part of a tick's time from which on effects are warned of: what
	// is left is for contacts, snapshots and the transport.
	warnedShare = 0.5
	// warnedEffects is how many a warning names.
	warnedEffects = 3
)

// costWarning says what effects may take of a tick; empty if that is not too much.
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

// versionOf is the version of a build whose main module has the version that Go noted:
// that of a tag or of a commit, or none.
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

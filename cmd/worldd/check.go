package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/worldd/worldd/internal/cpu"
	"github.com/worldd/worldd/internal/scenes"
	"github.com/worldd/worldd/replication/wire"
)

// checkCommand validates a world file.
type checkCommand struct {
	File string `arg:"" placeholder:"FILE" help:"A world file, or the name of an embedded world."`
}

// Run prints what the file holds, or what is wrong with it. What it lets pass,
// serve will host: the world is built too.
func (c *checkCommand) Run(_ context.Context, std streams) error {
	file, err := loadWorld(c.File)
	if err != nil {
		return err
	}
	if _, err := scenes.Build(file); err != nil {
		return wrongUsage{err}
	}
	_, err = fmt.Fprintf(std.out, "%s: ok: %s\n", c.File, describe(file))
	return err
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

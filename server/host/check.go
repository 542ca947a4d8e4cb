package host

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/worldd/worldd/internal/cpu"
	"github.com/worldd/worldd/internal/printable"
	"github.com/worldd/worldd/replication/wire"
)

// checkCommand validates a world with its rules.
type checkCommand struct {
	worldFlags

	Determinism bool   `help:"Also let bots play the world, repeat its ticks in a world made again, and name the first system whose effect differs."`
	Ticks       uint64 `default:"600" placeholder:"N" help:"Number of ticks of --determinism, once its bots have joined."`
}

// Validate is called by kong.
func (c *checkCommand) Validate() error {
	if c.Ticks < 2 {
		return fmt.Errorf("--ticks is %d, want at least 2", c.Ticks)
	}
	return nil
}

// run describes the world, or reports all mistakes that serve would report, and prints the
// game's warnings.
func (c *checkCommand) run(_ context.Context, p *program) error {
	describe := p.checkWorld
	if p.Rooms != nil {
		describe = p.checkRooms
	}
	summary, warnings, err := describe(Options{World: c.worldName()})
	if err != nil {
		return err
	}
	name := cmp.Or(c.worldName(), p.Name)
	for _, w := range warnings {
		fmt.Fprintf(p.err, "%s: warning: %s\n", name, printable.Lines(w))
	}
	if _, err = fmt.Fprintf(p.out, "%s: ok: %s\n", name, printable.Lines(summary)); err != nil || !c.Determinism {
		return err
	}
	return p.checkDeterminism(name, c.worldName(), c.Ticks)
}

func (p *program) checkWorld(o Options) (summary string, warnings []string, err error) {
	g, err := p.buildInstance(o)
	if err != nil {
		return "", nil, err
	}
	summary, warnings = g.Describe()
	if _, err := p.hostInstance(g).config.NewCore(); err != nil {
		return "", nil, usageError("%w", err)
	}
	return summary, warnings, nil
}

// release is the newest release in CHANGELOG.md.
const release = "v0.1.0"

// versionOf returns the version of a build from its main module's version: a tag's, a commit's,
// or empty.
func versionOf(module string) string {
	if module == "" || module == "(devel)" {
		return release + "+source"
	}
	return module
}

// module is this module's path.
const module = "github.com/worldd/worldd"

// buildVersion returns the version of the program's module, or an empty one.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	switch {
	case !ok || info.Main.Version == "(devel)" && info.Main.Path != module:
		return ""
	case info.Main.Path == module:
		return versionOf(info.Main.Version)
	}
	return info.Main.Version
}

// versionsOf returns the versions of the program and of worldd in a build.
func versionsOf(program string, info *debug.BuildInfo) string {
	own := versionOf(info.Main.Version)
	if info.Main.Path == module || info.Main.Path == "" {
		return program + " " + own
	}
	own = info.Main.Version
	if own == "" || own == "(devel)" {
		own = "source"
	}
	used := ""
	for _, d := range info.Deps {
		if d.Path == module {
			used = d.Version
			if d.Replace != nil {
				used = d.Replace.Version
			}
		}
	}
	return fmt.Sprintf("%s %s, worldd %s", program, own, versionOf(used))
}

// versionCommand prints the version.
type versionCommand struct{}

// run prints one line.
func (versionCommand) run(_ context.Context, p *program) error {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	_, err := fmt.Fprintf(p.out, "%s, protocol %d, %s %s/%s, kernels %v\n", versionsOf(p.Name, info), wire.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH, cpu.Chosen())
	return err
}

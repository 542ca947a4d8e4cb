package main

import (
	"context"
	"io"

	"github.com/worldd/worldd/internal/commandline"
	"github.com/worldd/worldd/server/host"
)

// Constants that package host does not export.
const (
	exitOK    = commandline.OK
	exitError = commandline.Error
	exitUsage = commandline.Usage

	defaultAudience = "worldd"
	maxBanList      = 16 << 20
)

type streams struct {
	in       io.Reader
	out, err io.Writer
}

// run is main without the process around it.
func run(ctx context.Context, args []string, std streams) int {
	return host.Run(ctx, definition(), args, host.Streams{In: std.in, Out: std.out, Err: std.err})
}

package host

import (
	"context"
	"strconv"

	loadtest "github.com/worldd/worldd/loadtest/command"
)

// loadtestCommand loads a running server with bots of the game.
type loadtestCommand struct{ loadtest.Flags }

// exitStatus ends a command that has already printed everything.
type exitStatus int

func (s exitStatus) Error() string { return "exit status " + strconv.Itoa(int(s)) }

// run plays, and reports.
func (c *loadtestCommand) run(ctx context.Context, p *program) error {
	if status := c.Flags.Run(ctx, p.Name, p.out, p.err); status != exitOK {
		return exitStatus(status)
	}
	return nil
}

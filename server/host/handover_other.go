//go:build !linux

package host

import (
	"context"
	"os"

	"go.uber.org/zap"

	"github.com/worldd/worldd/server"
)

// Hand-overs are for Linux: elsewhere a process does not find its own executable once it was replaced.

type handOver struct{}

func (*handOver) complete(context.Context, requests) error { return nil }

type predecessor struct{}

func (*predecessor) awaitInheritance(offer) (inheritance, error) { return inheritance{}, nil }

func (*predecessor) confirm() error { return nil }

func findPredecessor() (*predecessor, error) { return nil, nil }

func notifyHandOver() <-chan os.Signal { return nil }

func (c *serveCommand) prepareSuccessor(context.Context, *server.Server, *zap.Logger, <-chan os.Signal) *handOver {
	return nil
}

package client_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// The client of README.md, whose functions an engine would have.
var (
	_         = play
	draw      = func(schema.Body, Health) {}
	held      = func() Stick { return Stick{} }
	nextFrame = func() {}
)

// begin

// Protocol declares what crosses the wire, best in a package that server and clients import.
var (
	Protocol = schema.NewWithBody()
	Healths  = schema.Define[Health](Protocol, "health")
	Sticks   = schema.DefineInput[Stick](Protocol)
)

type Health struct{ Points uint8 }

type Stick struct{ X, Z int8 }

func play(ctx context.Context, fingerprint string) error {
	c, err := client.Dial(ctx, client.Config{Addr: "game.example:4433", Fingerprint: fingerprint, Schema: Protocol})
	if err != nil {
		return err // says what to do
	}
	defer c.Close()
	var target bulk.Handle // remembered from some event, long ago
	for ctx.Err() == nil { // once per drawn picture, on the game's own goroutine
		if _, err := client.SetInput(c, Sticks, held()); err != nil {
			return err
		}
		if err := c.Update(); err != nil {
			return err // a *wire.Error: why the session ended
		}
		moment := c.Render() // slightly in the past, between two snapshots
		switch c.Resolve(target) {
		case wire.Live: // in view
			e := c.Entity(target)
			body, _ := client.Body.At(e, moment)
			health, _ := client.Of(Healths).Get(e)
			draw(body, health)
		case wire.Hidden: // out of view; may well be alive
		case wire.Pending: // not here yet, or never issued
		case wire.Stale: // destroyed; final
		}
		nextFrame()
	}
	return ctx.Err()
}

// end

// The client of README.md is the one that this file compiles.
func TestReadmeCompiles(t *testing.T) {
	page := must.Get(os.ReadFile("../README.md"))
	source := must.Get(os.ReadFile("example_readme_test.go"))
	_, code, _ := strings.Cut(string(source), "// begin\n\n")
	code, _, _ = strings.Cut(code, "\n// end\n")
	require.Contains(t, string(page), "```go\n"+code+"```\n")
}

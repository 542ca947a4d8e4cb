package host

import (
	"context"
	"fmt"

	"go.uber.org/zap"

	"github.com/worldd/worldd/internal/printable"
	"github.com/worldd/worldd/server/cluster"
)

// clusterForgetCommand lets a room begin without its newest image.
type clusterForgetCommand struct {
	directoryFlags
	Room string `arg:"" placeholder:"ROOM" help:"The room, which nobody runs. It begins with the image of the node that makes it, or empty."`
}

// Validate is called by kong.
func (c *clusterForgetCommand) Validate() error { return c.require() }

func (c *clusterForgetCommand) run(ctx context.Context, p *program) error {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	store, err := c.open(ctx, zap.NewNop())
	if err != nil {
		return err
	}
	defer store.Close()
	image, err := cluster.ForgetImage(ctx, store, c.Room)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "forgotten: room %s begins without its image %s\n", c.Room, printable.Text(image.Name()))
	return nil
}

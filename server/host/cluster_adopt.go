package host

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"

	"github.com/worldd/worldd/internal/printable"
	"github.com/worldd/worldd/server/cluster"
)

// clusterAdoptCommand makes a directory the one of nodes that know another.
type clusterAdoptCommand struct {
	directoryFlags
	Was []string `placeholder:"ID,..." help:"Identities of the directories that this one replaces, as the nodes log them."`
}

// Validate is called by kong.
func (c *clusterAdoptCommand) Validate() error {
	if err := c.require(); err != nil {
		return err
	}
	if len(c.Was) == 0 {
		return errors.New("--was ID is missing: the directory that the nodes know, as they log it when they stand still")
	}
	return nil
}

func (c *clusterAdoptCommand) run(ctx context.Context, p *program) error {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	store, err := c.open(ctx, zap.NewNop())
	if err != nil {
		return err
	}
	defer store.Close()
	random, err := newRandom()
	if err != nil {
		return err
	}
	id, err := cluster.Adopt(ctx, store, random, c.Was...)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "adopted: the directory is %s, and rooms continue after the time of a lease\n", printable.Text(id))
	return nil
}

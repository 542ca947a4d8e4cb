package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// moveTimeout bounds the command cluster move, and the wait for an answer of cluster drain.
	moveTimeout = 15 * time.Second
	// progressPoll is the interval at which cluster drain asks for the progress.
	progressPoll = 200 * time.Millisecond
	// maxDrainAnswer bounds the answers.
	maxDrainAnswer = 1 << 20
)

// nodePort is the admin port of a node.
type nodePort struct {
	adminPort
	AdminToken string `type:"path" placeholder:"FILE" help:"File with the token that the admin port requires."`
}

// clusterMoveCommand moves a room.
type clusterMoveCommand struct {
	nodePort
	Room string `arg:"" placeholder:"ROOM" help:"The room."`
	Node string `arg:"" placeholder:"NODE" help:"The node to which it goes. --admin is of the node that has it."`
}

func (c *clusterMoveCommand) run(ctx context.Context, p *program) error {
	ctx, cancel := context.WithTimeout(ctx, moveTimeout)
	defer cancel()
	query := url.Values{"room": {c.Room}, "node": {c.Node}}
	if _, err := c.ask(ctx, http.MethodPost, "/cluster/move?"+query.Encode(), c.AdminToken, maxDrainAnswer); err != nil {
		return err
	}
	fmt.Fprintf(p.out, "moved: room %s to node %s\n", c.Room, c.Node)
	return nil
}

// clusterDrainCommand moves the rooms of a node, and waits for that.
type clusterDrainCommand struct {
	nodePort
	Within time.Duration `default:"60s" placeholder:"TIME" help:"Time after which no more rooms are moved (${default})."`
	Node   string        `arg:"" placeholder:"NODE" help:"The node, whose admin port --admin is."`
}

// Validate is called by kong.
func (c *clusterDrainCommand) Validate() error {
	if c.Within <= 0 {
		return fmt.Errorf("--within is %v, want more than 0", c.Within)
	}
	return nil
}

func (c *clusterDrainCommand) run(ctx context.Context, p *program) error {
	query := url.Values{"node": {c.Node}, "seconds": {fmt.Sprint(c.Within.Seconds())}}
	left, err := c.askProgress(ctx, http.MethodPost, "/cluster/drain?"+query.Encode())
	for heard := time.Now(); err == nil && left.Moving; {
		select {
		case <-time.After(progressPoll):
		case <-ctx.Done():
			return ctx.Err()
		}
		now, silent := c.askProgress(ctx, http.MethodGet, "/drain")
		switch { // a busy node is asked again
		case silent == nil:
			left, heard = now, time.Now()
		case time.Since(heard) > moveTimeout:
			err = silent
		}
	}
	if err != nil {
		return err
	}
	if len(left.Stay) > 0 {
		return errors.New("these rooms stay, since they are not saved, end by themselves, or no node takes them: " + strings.Join(left.Stay, ", "))
	}
	fmt.Fprintf(p.out, "drained: the rooms of node %s are on other nodes; it admits nobody new\n", c.Node)
	return nil
}

// drainProgress is a part of the JSON of /drain.
type drainProgress struct {
	Moving bool     `json:"moving"`
	Stay   []string `json:"stay"`
}

func (c *clusterDrainCommand) askProgress(ctx context.Context, method, path string) (left drainProgress, err error) {
	ctx, cancel := context.WithTimeout(ctx, moveTimeout)
	defer cancel()
	text, err := c.ask(ctx, method, path, c.AdminToken, maxDrainAnswer)
	if err == nil {
		err = json.Unmarshal([]byte(text), &left)
	}
	return left, err
}

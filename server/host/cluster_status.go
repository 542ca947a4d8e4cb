package host

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"go.uber.org/zap"

	"github.com/worldd/worldd/internal/printable"
	"github.com/worldd/worldd/server/cluster"
)

// clusterCommand is for operators of a cluster.
type clusterCommand struct {
	Status clusterStatusCommand `cmd:"" help:"Print the nodes of a cluster and their rooms, as its directory has them."`
	Move   clusterMoveCommand   `cmd:"" help:"Move a room to another node."`
	Drain  clusterDrainCommand  `cmd:"" help:"Move all rooms of a node to the others, and admit nobody new there."`
	Forget clusterForgetCommand `cmd:"" help:"Let a room begin without its newest image, of which no node is left."`
	Adopt  clusterAdoptCommand  `cmd:"" help:"Let rooms continue that stand still since their directory was replaced."`
}

// clusterStatusCommand prints what a directory holds. It asks no node.
type clusterStatusCommand struct {
	directoryFlags
	JSON bool `name:"json" help:"Print JSON."`
}

// Validate is called by kong.
func (c *clusterStatusCommand) Validate() error { return c.require() }

// statusTimeout bounds the command.
const statusTimeout = 10 * time.Second

// directoryInfo is the JSON of the command.
type directoryInfo struct {
	Directory  string       `json:"directory"` // its identity
	Nodes      []nodeInfo   `json:"nodes"`
	Stored     []string     `json:"stored_rooms"` // that run nowhere
	FreeBlocks int          `json:"free_blocks"`  // of generations
	Images     []imagesInfo `json:"images"`
}

// imagesInfo are the rooms whose newest images the same nodes have.
type imagesInfo struct {
	Nodes []string `json:"nodes"`
	Rooms []string `json:"rooms"`
}

type nodeInfo struct {
	Name      string   `json:"name"`
	Addresses []string `json:"addresses"`
	Dead      bool     `json:"dead"` // it has left, or its lease has ended
	Rooms     []string `json:"rooms"`
}

func (c *clusterStatusCommand) run(ctx context.Context, p *program) error {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	store, err := c.open(ctx, zap.NewNop())
	if err != nil {
		return err
	}
	defer store.Close()
	status, unreadable := cluster.ReadDirectory(ctx, store)
	if status.FreeBlocks == 0 && unreadable != nil && len(status.Nodes) == 0 { // nothing was read
		return unreadable
	}
	nodes, stored := nodesOf(status)
	info := directoryInfo{Directory: status.Directory, Nodes: []nodeInfo{}, Stored: append([]string{}, stored...), FreeBlocks: status.FreeBlocks, Images: []imagesInfo{}}
	for _, same := range imagesOf(status) {
		info.Images = append(info.Images, imagesInfo(same))
	}
	for _, n := range nodes {
		info.Nodes = append(info.Nodes, nodeInfo{n.Name, n.Addresses, n.Dead, append([]string{}, n.Rooms...)})
	}
	if c.JSON {
		text, err := json.Marshal(info)
		if err != nil {
			return err
		}
		fmt.Fprintln(p.out, printable.Text(string(text)))
		return unreadable
	}
	c.printTable(p, info)
	return unreadable
}

// printTable prints a line for each node, and one for the stored rooms.
func (c *clusterStatusCommand) printTable(p *program, d directoryInfo) {
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NODE\tSTATE\tADDRESS\tROOMS")
	for _, n := range d.Nodes {
		state := "live"
		if n.Dead {
			state = "dead"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", printable.Text(n.Name), state, printable.Text(strings.Join(n.Addresses, ",")), shortList(n.Rooms))
	}
	if len(d.Stored) > 0 {
		fmt.Fprintf(w, "-\tstored\t-\t%s\n", shortList(d.Stored))
	}
	if len(d.Images) > 0 {
		fmt.Fprintln(w, "\nIMAGES ON\t\t\tROOMS")
	}
	for _, same := range d.Images {
		fmt.Fprintf(w, "%s\t\t\t%s\n", printable.Text(strings.Join(same.Nodes, ",")), shortList(same.Rooms))
	}
	_ = w.Flush() // a closed terminal is not an error
	fmt.Fprintf(p.out, "%d more rooms can be opened\n", d.FreeBlocks)
}

// maxListed bounds the names that a line of the table has.
const maxListed = 8

// shortList returns the number of names, and the first of them.
func shortList(names []string) string {
	shown, more := names, ""
	if len(names) > maxListed {
		shown, more = names[:maxListed], " ..."
	}
	if len(names) == 0 {
		return "0"
	}
	return fmt.Sprintf("%d: %s%s", len(names), printable.Text(strings.Join(shown, " ")), more)
}

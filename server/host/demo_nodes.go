package host

import (
	"bytes"
	"cmp"
	"context"
	cryptorand "crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/worldd/worldd/internal/botrun"
	"github.com/worldd/worldd/internal/printable"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/cluster"
)

const (
	maxDemoNodes = 16
	// demoLease is the lease of the demo's nodes, after which the others take the rooms of the one that is killed.
	demoLease = 4 * time.Second
	nodePoll  = 50 * time.Millisecond
	// nodeStart bounds the start of a node, and nodeEnd its end.
	nodeStart = time.Minute
	nodeEnd   = 20 * time.Second
	// settleTime bounds the wait for the first rooms: in a new directory none is taken before the end of a lease.
	settleTime = 5 * demoLease
	// warmUp is how long the nodes have between the first taking of a room and the bots.
	warmUp = demoLease / 4
)

// nodesFlags make the demo run on several servers.
type nodesFlags struct {
	directoryFlags
	Nodes int `placeholder:"N" help:"Share the rooms among so many servers, processes on this machine, and kill one of them half way (needs --cluster)."`
}

func (f *nodesFlags) checkFlags() error {
	switch {
	case f.Nodes < 0 || f.Nodes == 1 || f.Nodes > maxDemoNodes:
		return fmt.Errorf("--nodes is %d, want 2 to %d, or 0 for one server without a cluster", f.Nodes, maxDemoNodes)
	case f.Nodes > 0 && len(f.Cluster) == 0:
		return errors.New("--nodes needs --cluster URL, where the directory of the nodes is: go run -C server/cluster/engine . starts one")
	case f.Nodes == 0 && (len(f.Cluster) > 0 || f.ClusterPrefix != ""):
		return errors.New("--cluster needs --nodes N, the number of servers")
	}
	return nil
}

// demoNodes are the servers of a demo.
type demoNodes struct {
	*demoCommand
	dir         string // of their images and logs
	fingerprint string
	nodes       []*demoNode
	killed      *demoNode       // nil: none yet
	orphans     map[string]bool // rooms that it had
}

type demoNode struct {
	name, addr string
	process    *exec.Cmd
	ended      chan struct{}
}

// runNodes plays on several servers, of which it kills one.
func (c *demoCommand) runNodes(ctx context.Context, p *program) error {
	if p.Rooms == nil {
		return usageError("--nodes: this game has one world, and no rooms to share")
	}
	h, err := c.hostDemo(p)
	if err != nil {
		return err
	}
	if c.ClusterPrefix == "" { // the demo's nodes must not meet others
		c.ClusterPrefix = "worldd-demo-" + strings.ToLower(cryptorand.Text()[:8])
	}
	c.Duration = cmp.Or(c.Duration, demoDuration) // also on a terminal: it has a middle
	n, err := c.startNodes(ctx)
	if n != nil {
		defer n.end()
	}
	if err != nil {
		return err
	}
	room := c.roomName()
	if kind, id, _ := strings.Cut(room, "/"); id == "" {
		room = kind + "/open-{n/10}"
	}
	talk := p.out
	if c.JSON {
		talk = p.err
	}
	fmt.Fprintf(talk, "%s demo: %s, %s for %v on %d nodes, of which one is killed half way\n\n", p.Name, printable.Text(h.title), countOf(c.Bots, "bot", "bots"), c.Duration, c.Nodes)
	child := &botsCommand{
		Addr: n.nodes[0].addr, Fingerprint: n.fingerprint, Bots: c.Bots, Duration: c.Duration, Seed: Options{Seed: c.Seed}.SeedOr(h.seed), Area: h.areaMetres, Room: room,
	}
	for _, other := range n.nodes[1:] {
		child.Addrs = append(child.Addrs, other.addr)
	}
	live, began := botrun.NewLive(talk, true), time.Now()
	var series []botrun.Progress
	report, err := runChild(ctx, child, p.err, func(now botrun.Progress) {
		series = append(series, now)
		live.Row(now)
		if n.killed == nil && time.Since(began) > c.Duration/2 {
			fmt.Fprintln(talk, n.killBusiest(ctx))
		}
	})
	if err != nil {
		return err
	}
	report.Series = series
	moved, err := n.describeMoved(ctx)
	fmt.Fprintln(talk)
	fmt.Fprintln(talk, moved)
	return cmp.Or(c.writeResult(report, talk, p.out), err)
}

// startNodes starts the servers, and waits until each serves. After an error the servers that have started must end.
func (c *demoCommand) startNodes(ctx context.Context) (*demoNodes, error) {
	dir, err := os.MkdirTemp("", "worldd-demo-")
	if err != nil {
		return nil, err
	}
	n := &demoNodes{demoCommand: c, dir: dir}
	identity := filepath.Join(dir, "identity.pem")
	kept, err := server.KeptCertificate(identity) // the same on all nodes
	if err != nil {
		return n, err
	}
	sum := sha256.Sum256(kept.Certificate[0])
	n.fingerprint = hex.EncodeToString(sum[:])
	for i := range c.Nodes {
		if err := n.startNode(fmt.Sprint("node-", i+1), identity); err != nil {
			return n, err
		}
	}
	for _, node := range n.nodes {
		if err := n.awaitServing(ctx, node); err != nil {
			return n, err
		}
	}
	if err := n.awaitRooms(ctx); err != nil {
		return n, err
	}
	select {
	case <-time.After(warmUp): // the room opens when its first image is saved
	case <-ctx.Done():
	}
	return n, ctx.Err()
}

// awaitRooms waits until a node has a room. A game may have none before the bots come.
func (n *demoNodes) awaitRooms(ctx context.Context) error {
	for began := time.Now(); time.Since(began) < settleTime; {
		rooms, err := n.readRooms(ctx)
		if err != nil {
			return err
		}
		for _, names := range rooms {
			if len(names) > 0 {
				return nil
			}
		}
		select {
		case <-time.After(nodePoll):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// freeAddress returns an address that a node can listen on later. Systems give clients ports above 32767, so no client takes it meanwhile.
func freeAddress() (address string, err error) {
	for range 100 {
		var port net.PacketConn
		address = fmt.Sprint("127.0.0.1:", 10_000+rand.IntN(10_000))
		if port, err = net.ListenPacket("udp", address); err == nil {
			return address, port.Close()
		}
	}
	return "", err
}

func (n *demoNodes) logOf(node *demoNode) string { return filepath.Join(n.dir, node.name+".log") }

func (n *demoNodes) startNode(name, identity string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("cannot find this executable to run a node: %w", err)
	}
	addr, err := freeAddress()
	if err != nil {
		return err
	}
	node := &demoNode{name: name, addr: addr, ended: make(chan struct{})}
	log, err := os.Create(n.logOf(node))
	if err != nil {
		return err
	}
	defer log.Close() // the child has its own
	node.process = exec.Command(self, append([]string{
		"serve", "--listen=" + node.addr, "--anyone", "--identity=" + identity, "--node=" + name, flag("lease", demoLease),
		"--image=" + filepath.Join(n.dir, name), "--image-every=2s", flag("max-sessions", max(n.Bots, 1024)), "--log-level=warn",
	}, n.directoryFlags.args()...)...)
	node.process.Stdout, node.process.Stderr = log, log
	if err := node.process.Start(); err != nil {
		return fmt.Errorf("cannot start a node: %w", err)
	}
	n.nodes = append(n.nodes, node)
	go func() {
		_ = node.process.Wait() // its log says why
		close(node.ended)
	}()
	return nil
}

// args returns the flags as a command line.
func (f *directoryFlags) args() []string {
	args := []string{"--cluster=" + strings.Join(f.Cluster, ","), "--cluster-prefix=" + f.ClusterPrefix}
	for name, file := range map[string]string{"cluster-ca": f.ClusterCA, "cluster-cert": f.ClusterCert, "cluster-key": f.ClusterKey} {
		if file != "" {
			args = append(args, flag(name, file))
		}
	}
	return args
}

// awaitServing waits until a node prints its address.
func (n *demoNodes) awaitServing(ctx context.Context, node *demoNode) error {
	deadline := time.After(nodeStart)
	for {
		text, err := os.ReadFile(n.logOf(node))
		switch {
		case err != nil:
			return err
		case bytes.Contains(text, []byte("fingerprint "+n.fingerprint)):
			return nil
		}
		select {
		case <-time.After(nodePoll):
		case <-ctx.Done():
			return ctx.Err()
		case <-node.ended:
			text, err = os.ReadFile(n.logOf(node)) // with what it said last
			return errors.Join(fmt.Errorf("%s has ended: %s", node.name, bytes.TrimSpace(text)), err)
		case <-deadline:
			return fmt.Errorf("%s does not serve after %v: %s", node.name, nodeStart, bytes.TrimSpace(text))
		}
	}
}

// readRooms returns the rooms of each living node, by its name.
func (n *demoNodes) readRooms(ctx context.Context) (map[string][]string, error) {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	store, err := n.open(ctx, zap.NewNop())
	if err != nil {
		return nil, err
	}
	defer store.Close()
	status, err := cluster.ReadDirectory(ctx, store)
	if err != nil {
		return nil, err
	}
	rooms := map[string][]string{}
	nodes, _ := nodesOf(status)
	for _, node := range nodes {
		if !node.Dead {
			rooms[node.Name] = node.Rooms
		}
	}
	return rooms, nil
}

// killBusiest kills the node with the most rooms, and tells what has happened.
func (n *demoNodes) killBusiest(ctx context.Context) string {
	rooms, err := n.readRooms(ctx)
	if err != nil {
		return "no node is killed: " + err.Error()
	}
	n.killed = slices.MaxFunc(n.nodes, func(a, b *demoNode) int { return cmp.Compare(len(rooms[a.name]), len(rooms[b.name])) })
	n.orphans = map[string]bool{}
	for _, room := range rooms[n.killed.name] {
		n.orphans[room] = true
	}
	if err := n.killed.process.Process.Kill(); err != nil {
		return err.Error() // it has ended by itself
	}
	return fmt.Sprintf("%s is killed, with %s", n.killed.name, countOf(len(n.orphans), "room", "rooms"))
}

// describeMoved tells where the rooms of the killed node are.
func (n *demoNodes) describeMoved(ctx context.Context) (string, error) {
	if n.killed == nil {
		return "no node was killed: the demo ended early", nil
	}
	rooms, err := n.readRooms(ctx)
	if err != nil {
		return "", err
	}
	moved, text := 0, ""
	nowhere := len(n.orphans)
	for _, node := range n.nodes {
		here := 0
		for _, room := range rooms[node.name] {
			if n.orphans[room] && node != n.killed {
				here++
			}
		}
		moved += here
		nowhere -= here
		if here > 0 {
			text += fmt.Sprintf(", %s to %s", countOf(here, "room", "rooms"), node.name)
		}
	}
	if nowhere > 0 { // a node takes a room when somebody asks for it
		text += fmt.Sprintf("; %s without players on no node", countOf(nowhere, "room", "rooms"))
	}
	return fmt.Sprintf("%s was killed with %s; %d of them have moved%s", n.killed.name, countOf(len(n.orphans), "room", "rooms"), moved, text), nil
}

// end ends the nodes, and removes what they have written.
func (n *demoNodes) end() {
	for _, node := range n.nodes {
		_ = node.process.Process.Signal(os.Interrupt) // those that have ended are no matter
	}
	deadline := time.After(nodeEnd)
	for _, node := range n.nodes {
		select {
		case <-node.ended:
		case <-deadline:
			_ = node.process.Process.Kill()
			<-node.ended
		}
	}
	_ = os.RemoveAll(n.dir) // the system removes it otherwise
}

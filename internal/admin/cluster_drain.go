package admin

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/worldd/worldd/replication/wire"
)

const (
	// moveTimeout bounds POST /cluster/move, below answerTimeout.
	moveTimeout = 12 * time.Second
	// defaultNodeDrain is the time of POST /cluster/drain, in seconds.
	defaultNodeDrain = 60
)

// clusterDrain is the move of all rooms to other nodes, if there is one.
type clusterDrain struct {
	mu   sync.Mutex
	end  context.CancelFunc // nil: no rooms are being moved
	stay []string           // of the newest one
}

// begin begins to move the rooms, and returns false if they are being moved already.
func (d *clusterDrain) begin(within time.Duration, move func(context.Context) ([]string, error), log *zap.Logger) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.end != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), within)
	d.end, d.stay = cancel, nil
	go func() {
		stay, err := move(ctx)
		if err != nil {
			log.Error("the rooms do not move", zap.Error(err))
		}
		cancel()
		d.mu.Lock()
		defer d.mu.Unlock()
		d.end, d.stay = nil, stay
	}()
	return true
}

// cancel moves no more rooms.
func (d *clusterDrain) cancel() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.end != nil {
		d.end()
	}
}

// progress reports whether rooms are being moved, and which could not move.
func (d *clusterDrain) progress() (moving bool, stay []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.end != nil, slices.Clone(d.stay)
}

// isOtherNode answers a request that names another node than this one.
func (p pages) isOtherNode(w http.ResponseWriter, named string) bool {
	if p.Cluster == nil {
		http.Error(w, "the server is no node of a cluster (--cluster)", http.StatusNotFound)
		return true
	}
	if own := p.Cluster().Node; named != "" && named != own {
		http.Error(w, fmt.Sprintf("this is node %s: ask the admin port of node %s", own, named), http.StatusConflict)
		return true
	}
	return false
}

// drainNode is the handler of POST /cluster/drain?node=NAME&seconds=N. It answers at once.
func (p pages) drainNode(w http.ResponseWriter, r *http.Request) {
	if p.isOtherNode(w, r.FormValue("node")) {
		return
	}
	within, ok := durationOf(w, r, defaultNodeDrain, maxDrain)
	if !ok {
		return
	}
	if !p.leaving.begin(within, p.MoveRooms, p.Log) {
		http.Error(w, "the rooms are being moved already: GET /drain has the progress", http.StatusConflict)
		return
	}
	p.whatIsLeft(w, r)
}

// moveRoom is the handler of POST /cluster/move?room=NAME&node=NAME.
func (p pages) moveRoom(w http.ResponseWriter, r *http.Request) {
	if p.isOtherNode(w, "") {
		return
	}
	node := r.FormValue("node")
	if status, why := p.checkTarget(node); why != "" {
		http.Error(w, why, status)
		return
	}
	p.changeRoom(w, r, func(name string) error {
		ctx, cancel := context.WithTimeout(r.Context(), moveTimeout)
		defer cancel()
		err := p.MoveRoom(ctx, name, node)
		code := wire.CodeOf(err) // Draining: a pinned room waits here for its turn
		if owner := p.nodeOf(name); (code == wire.NoRoom || code == wire.Draining) && owner != "" {
			return &wire.Error{Code: wire.Draining, Detail: fmt.Sprintf("node %s has the room: ask its admin port", owner)}
		}
		return err
	})
}

// checkTarget returns why no room can move to a node, as far as this one knows, with the status of the answer; or "".
func (p pages) checkTarget(node string) (status int, why string) {
	c := p.Cluster()
	i := slices.IndexFunc(c.Nodes, func(n ClusterNode) bool { return n.Name == node })
	switch {
	case node == "":
		return http.StatusBadRequest, "node: want the name of the node to which the room moves"
	case node == c.Node:
		return http.StatusConflict, fmt.Sprintf("this is node %s: name another one", node)
	case i < 0:
		return http.StatusNotFound, fmt.Sprintf("the cluster has no node %q", node)
	case c.Nodes[i].Dead:
		return http.StatusConflict, fmt.Sprintf("node %s has left the cluster, or has failed", node)
	}
	return 0, ""
}

// nodeOf returns the other node that has a room, or "".
func (p pages) nodeOf(room string) string {
	c := p.Cluster()
	for _, n := range c.Nodes {
		if n.Name != c.Node && slices.Contains(n.Rooms, room) {
			return n.Name
		}
	}
	return ""
}

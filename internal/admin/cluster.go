package admin

import (
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Cluster describes a server's part of a cluster, with the fields of server.ClusterStatus, which documents them.
type Cluster struct {
	Node       string
	Directory  string
	Margin     time.Duration
	Trouble    string
	Nodes      []ClusterNode
	Stored     []string
	FreeBlocks int
	Images     []ClusterImages
	FewCopies  int
	Events     map[string]uint64

	// These count since the server's start.
	FrozenRooms int           // now
	Frozen      time.Duration // sum over all rooms
	Lost        uint64        // rooms that another node has taken while they ran here
	LateSaves   uint64        // images that were saved here after that, and are not the rooms' newest
	Redirects   map[string]uint64
	Takes       map[string]uint64
	Passes      map[string]uint64
	Moves       map[string]uint64
}

// ClusterNode has the fields of server.ClusterNode, which documents them.
type ClusterNode struct {
	Name      string
	Addresses []string
	Dead      bool
	Silent    time.Duration
	Rooms     []string
}

// ClusterImages has the fields of server.ClusterImages, which documents them.
type ClusterImages struct {
	Nodes []string `json:"nodes"`
	Rooms []string `json:"rooms"`
}

// trouble returns why rooms may stand still soon, or already do; empty: nothing is wrong.
func (c Cluster) trouble() string {
	switch {
	case c.Trouble != "":
		return fmt.Sprintf("node %s: %s", c.Node, c.Trouble)
	case c.Margin < 0:
		return fmt.Sprintf("node %s: the cluster's directory has not answered in time: rooms are frozen since %v", c.Node, (-c.Margin).Round(time.Millisecond))
	}
	return ""
}

// clusterInfo is the JSON of /cluster.
type clusterInfo struct {
	Node          string            `json:"node"`
	Directory     string            `json:"directory"`            // identity of the directory that the node knows
	MarginSeconds float64           `json:"lease_margin_seconds"` // for which rooms may run without another answer of the directory
	Trouble       string            `json:"trouble,omitempty"`
	FrozenRooms   int               `json:"frozen_rooms"`
	Nodes         []clusterNodeInfo `json:"nodes"`
	Stored        []string          `json:"stored_rooms"` // that run nowhere
	FreeBlocks    int               `json:"free_blocks"`  // of generations: as many rooms more can be open
	Images        []ClusterImages   `json:"images"`       // rooms by the nodes that have their newest images
	FewCopies     int               `json:"few_copies"`   // rooms whose image fewer living nodes have than was asked for
}

type clusterNodeInfo struct {
	Name          string   `json:"name"`
	Addresses     []string `json:"addresses"`
	Dead          bool     `json:"dead"`
	SilentSeconds float64  `json:"silent_seconds"`
	Rooms         []string `json:"rooms"`
}

// cluster answers with the nodes and their rooms.
func (p pages) cluster(w http.ResponseWriter, _ *http.Request) {
	if p.Cluster == nil {
		http.Error(w, "the server is no node of a cluster (--cluster)", http.StatusNotFound)
		return
	}
	c := p.Cluster()
	info := clusterInfo{
		Node: c.Node, Directory: c.Directory, MarginSeconds: c.Margin.Seconds(), Trouble: c.trouble(), FrozenRooms: c.FrozenRooms,
		Nodes: []clusterNodeInfo{}, Stored: append([]string{}, c.Stored...), FreeBlocks: c.FreeBlocks,
		Images: append([]ClusterImages{}, c.Images...), FewCopies: c.FewCopies,
	}
	for _, n := range c.Nodes {
		info.Nodes = append(info.Nodes, clusterNodeInfo{n.Name, n.Addresses, n.Dead, n.Silent.Seconds(), append([]string{}, n.Rooms...)})
	}
	writeJSON(w, info)
}

// collectCluster reports the rooms of a node.
func collectCluster(c Cluster, counter countFunc, gauge gaugeFunc, send sendFunc) {
	gauge(c.Margin.Seconds(), "worldd_cluster_lease_margin_seconds", "Time for which rooms may run without another answer of the cluster's directory; negative while they stand still.")
	gauge(oneIf(c.trouble() != ""), "worldd_cluster_trouble", "1 while the node cannot use the cluster's directory: GET /cluster says why.")
	gauge(float64(c.FreeBlocks), "worldd_cluster_free_blocks", "Rooms that can still be opened in the cluster.")
	gauge(float64(c.FewCopies), "worldd_cluster_few_copies_rooms", "Rooms of the cluster whose newest image fewer living nodes have than --image-copies asks for.")
	for name, n := range c.Events {
		counter(n, "worldd_cluster_events_total", "Events between this node and the cluster's directory.", "event", name)
	}
	gauge(float64(c.FrozenRooms), "worldd_cluster_frozen_rooms", "Rooms that stand still, since the cluster's directory has not confirmed this node in time.")
	send(prometheus.CounterValue, c.Frozen.Seconds(), "worldd_cluster_frozen_seconds_total", "Time for which rooms stood still, of all rooms.")
	counter(c.Lost, "worldd_cluster_lost_rooms_total", "Rooms that another node has taken while they were open here. Their sessions ended, and nothing was saved.")
	counter(c.LateSaves, "worldd_cluster_late_saves_total", "Images that this node saved after another had taken their rooms. They are not used.")
	for reason, n := range c.Redirects {
		counter(n, "worldd_cluster_redirects_total", "Clients sent to another node, by reason: join, they asked for its room; lost, their room was lost to it; move, the game has moved their session to its room.", "reason", reason)
	}
	for event, n := range c.Passes {
		counter(n, "worldd_cluster_passes_total", "Passes for clients that other nodes send here, by event: issued; used; refused, since the pass was used, too old, or of an earlier process.", "event", event)
	}
	for event, n := range c.Moves {
		counter(n, "worldd_cluster_moves_total", "Rooms that were to move between this node and others, by event: out; in; stayed, the other node did not take the room after it had agreed to.", "event", event)
	}
	for result, n := range c.Takes {
		counter(n, "worldd_cluster_takes_total", "Attempts to take a room, by result: new, with a new block of generations; stored, with the block of its stored run; elsewhere, another node has it; failed.", "result", result)
	}
}

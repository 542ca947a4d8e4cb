package admin

import "github.com/prometheus/client_golang/prometheus"

// collectCluster reports the rooms of a node.
func collectCluster(c Cluster, counter countFunc, gauge gaugeFunc, send sendFunc) {
	gauge(float64(c.FrozenRooms), "worldd_cluster_frozen_rooms", "Rooms that stand still, since the cluster's directory has not confirmed this node in time.")
	send(prometheus.CounterValue, c.Frozen.Seconds(), "worldd_cluster_frozen_seconds_total", "Time for which rooms stood still, of all rooms.")
	counter(c.Lost, "worldd_cluster_lost_rooms_total", "Rooms that another node has taken while they were open here. Their sessions ended, and nothing was saved.")
	for reason, n := range c.Redirects {
		counter(n, "worldd_cluster_redirects_total", "Clients sent to another node, by reason: join, they asked for its room; lost, their room was lost to it.", "reason", reason)
	}
	for reason, n := range c.Takes {
		counter(n, "worldd_cluster_takes_total", "Attempts to take a room: new, with a new block of generations; stored, with the block of its stored run; elsewhere, another node has it; failed.", "result", reason)
	}
}

package client

import "time"

// Stats is how a client fares.
type Stats struct {
	Traffic
	SessionStats
	Clock Clock // at the time of the call
}

// Traffic counts what connections carried.
type Traffic struct {
	BytesReceived    uint64 // of the stream and of datagrams, without packet headers
	Datagrams        uint64 // received
	DatagramsDropped uint64 // received and dropped, because Update was not called
}

// SessionStats counts what a session asked for and saw.
type SessionStats struct {
	Commands   uint64 // sent
	Rejected   uint64
	Unanswered uint64 // the connection broke first
	// Delay is how far the moments that Render aims at lie behind the server's
	// time: half a round trip, an interval of snapshots, and what the link adds.
	Delay time.Duration
	// Lead is how long before their tick inputs are made.
	Lead    time.Duration
	Replica ReplicaStats // snapshots by what became of them
}

// Stats returns the counters since the start.
func (s *Session) Stats() SessionStats {
	n := s.stats
	n.Delay, n.Lead = s.renderer.delay.value, s.inputs.way.value
	if s.replica != nil {
		n.Replica = s.replica.Stats()
	}
	return n
}

// Stats returns how the client fares, counted since the start.
func (c *Client) Stats() Stats {
	return Stats{Traffic: c.past.plus(c.link), SessionStats: c.session.Stats(), Clock: c.session.Clock(time.Since(c.start))}
}

// plus adds what a connection carried, if there is one.
func (t Traffic) plus(link *connection) Traffic {
	if link == nil {
		return t
	}
	o := link.lanes.counters()
	return Traffic{t.BytesReceived + o.BytesReceived, t.Datagrams + o.Datagrams, t.DatagramsDropped + o.DatagramsDropped}
}

package replication_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/wire"
)

// appliedClient is package client's replica of a viewer, to which tests apply messages one by one.
type appliedClient struct {
	*client.Replica
	session *client.Session
	now     time.Duration
}

// newAppliedClient returns the client of a viewer of r, after its Welcome.
func newAppliedClient(t testing.TB, r *replication.Replicator, tickHz int, c client.SessionConfig) *appliedClient {
	c.Schema, c.Tables = r.Schema(), r.Config().Tables
	s := must.Get(client.NewSession(c))
	welcome := wire.Welcome{
		Protocol: wire.Version, Schema: c.Schema.Hash(), Tables: c.Tables.Version(), Epoch: 1, Session: 1,
		GenerationFloor: 1, GenerationCeiling: math.MaxUint32, TickHz: uint16(tickHz), SnapshotHz: uint16(tickHz), MaxSlots: wire.MaxSlots, SchemaText: c.Schema.Text(),
	}
	if c.Simulate {
		welcome.Simulate = 1
	}
	require.NoError(t, s.ReceiveStream(wire.AppendMessage(nil, welcome)))
	return &appliedClient{Replica: s.Replica(), session: s}
}

// ApplyState applies a State datagram. Each snapshot arrives long after the previous one,
// so that the client's work limit allows it.
func (c *appliedClient) ApplyState(datagram []byte) (client.Outcome, error) {
	c.now += 10 * time.Second
	return c.session.ReceiveDatagram(datagram, c.now)
}

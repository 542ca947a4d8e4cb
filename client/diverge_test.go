package client_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
)

// fail delivers a snapshot whose audit is wrong.
func (m *exactServer) fail(tick uint32, at time.Duration) {
	m.seq++
	d := wire.AppendStateHeader(nil, wire.StateHeader{Seq: m.seq, Tick: tick, Structure: m.number, Complete: true, Audited: true, Audit: 1})
	must.Get(m.session.ReceiveDatagram(d, at))
}

// reconnect returns the Hello after a lost connection.
func (m *exactServer) reconnect() wire.Hello {
	m.session.Lost(client.ErrDiverged)
	m.session.TakeStream()
	m.session.Reconnect()
	return m.hello()
}

// A client whose audits keep failing begins one session that does not simulate, and later
// resumes it.
func TestKeepsDiverging(t *testing.T) {
	m := newExactServer(t, client.SessionConfig{})
	require.NoError(t, m.send(10, m.enter(h(1, 1), 0, floating(0), 0)))
	for i := range 9 {
		m.fail(uint32(12+60*i), time.Duration(1+i)*time.Second)
		require.False(t, m.session.Stats().Ordinary)
	}
	hello := m.reconnect()
	require.Equal(t, wire.Simulates, hello.Abilities)
	require.EqualValues(t, 7, hello.Session)
	m.welcome(1, 1)
	m.fail(600, 18*time.Second)
	require.True(t, m.session.Stats().Ordinary)

	hello = m.reconnect()
	require.Zero(t, hello.Abilities)
	require.Zero(t, hello.Session)
	m.number, m.tick = 0, 0
	m.welcome(0, 0)
	require.Zero(t, m.session.Replica().Len())
	require.NoError(t, m.send(700, m.ordinary(h(1, 1))))
	hello = m.reconnect()
	require.Zero(t, hello.Abilities)
	require.EqualValues(t, 7, hello.Session)
	m.welcome(1, 0)
	require.Equal(t, wire.BadMessage, wire.CodeOf(m.session.ReceiveStream(wire.AppendMessage(nil, wire.Welcome{}))))
}

// Simulating continues despite failures with long times between them, and despite failures of a
// client that could not join again.
func TestDivergesSeldom(t *testing.T) {
	for name, c := range map[string]struct {
		config client.SessionConfig
		every  time.Duration
	}{
		"seldom":     {client.SessionConfig{}, 31 * time.Second},
		"used token": {client.SessionConfig{Token: []byte("once")}, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			m := newExactServer(t, c.config)
			for i := range 30 {
				m.fail(uint32(12+60*i), time.Duration(1+i)*c.every)
			}
			require.False(t, m.session.Stats().Ordinary)
			require.Equal(t, wire.Simulates, m.reconnect().Abilities)
		})
	}
}

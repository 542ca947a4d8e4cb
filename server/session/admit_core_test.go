package session_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// A slow check of a token delays only its connection, not the tick.
func TestAdmitHoldsNoTick(t *testing.T) {
	asked, answer := make(chan struct{}), make(chan struct{})
	d := newTestServerWith(t, func(c *session.Config) {
		c.Admit = func(context.Context, []byte) (session.Admission, error) {
			close(asked)
			<-answer
			return session.Admission{User: "alice"}, nil
		}
	})
	c := d.connect()
	received := make(chan error)
	go func() { received <- c.Send(d.hello()) }()
	<-asked
	ticked := make(chan struct{})
	go func() {
		d.ticks(3)
		close(ticked)
	}()
	select {
	case <-ticked:
	case <-time.After(time.Minute):
		t.Fatal("the tick waits for Admit")
	}
	require.Zero(t, d.core.Active())
	close(answer)
	require.NoError(t, <-received)
	d.ticks(1)
	c.want("joins", wire.TypeWelcome)
	require.Equal(t, "alice", c.peer.Session().User())
}

// No away session ends for a client that is refused anyway.
func TestRefusedClientMakesNoRoom(t *testing.T) {
	d := newTestServerWith(t, func(c *session.Config) {
		c.Admit = func(_ context.Context, token []byte) (session.Admission, error) {
			if len(token) == 0 {
				return session.Admission{}, errors.New("no token")
			}
			return session.Admission{User: "alice"}, nil
		}
	})
	hello := d.hello()
	hello.Token = []byte("good")
	var clients []*testClient
	for range 2 { // all slots
		c := d.connect()
		c.send(hello)
		c.want("joins", wire.TypeWelcome)
		c.input(wire.Ack{})
		clients = append(clients, c)
	}
	clients[0].lose()
	require.Equal(t, 1, d.core.Away())
	c := d.dial()
	c.wantRefused("has no token", wire.Unauthorized)
	require.Equal(t, []int{1, 0}, []int{d.core.Away(), d.left})
	c = d.connect()
	c.send(hello)
	c.want("has one, and takes the slot", wire.TypeWelcome)
	require.Equal(t, []int{0, 1}, []int{d.core.Away(), d.left})
}

// The longest grace period does not overflow to no grace.
func TestLongestGrace(t *testing.T) {
	d := newTestServerWith(t, func(c *session.Config) { c.Grace = 1<<63 - 1 })
	c, _ := d.enter()
	c.peer.Gone()
	d.ticks(20 * 60)
	require.Equal(t, 1, d.core.Away())
}

// Simultaneous Hellos are answered in arrival order, over several ticks. A client that
// breaks the protocol meanwhile is refused at once.
func TestJoinsAreSpread(t *testing.T) {
	const crowd = 30
	d := newTestServerWith(t, func(c *session.Config) { c.MaxSessions = crowd })
	var clients []*testClient
	for range crowd {
		c := d.connect()
		require.NoError(t, c.Send(d.hello()))
		clients = append(clients, c)
	}
	last := clients[crowd-1]
	require.Error(t, last.Send(d.hello()))
	held := 0
	for _, joined := range []int{9, 18, 27, 29} { // 500 a second, of 60 ticks
		d.tick()
		held += crowd - 1 - joined
		require.EqualValues(t, held, d.core.Stats().HellosHeld)
		require.Equal(t, joined, d.core.Active())
		require.Equal(t, []wire.Code{wire.BadState}, last.Closed)
		for i, c := range clients[:crowd-1] {
			require.Equal(t, i < joined, c.peer.Session() != nil, "client %d", i)
		}
	}
}

// Once a tick has answered its maximum of Hellos, the Hello of a connection with a fault is dropped, and
// the connection is refused at once.
func TestFaultsDoNotPassHeldHellos(t *testing.T) {
	joins := 0
	d := newTestServerWith(t, func(c *session.Config) {
		c.Hooks.Join = func(*session.Session) (world.Entity, error) {
			joins++
			return 0, nil
		}
	})
	most := (500 + d.world.TickHz() - 1) / d.world.TickHz()
	var clients []*testClient
	for range 3 * most {
		c := d.connect()
		require.NoError(t, c.Send(d.hello()))
		c.peer.Fail(&wire.Error{Code: wire.TooFast})
		clients = append(clients, c)
	}
	d.tick()
	require.Equal(t, most, joins)
	for _, c := range clients {
		require.Equal(t, []wire.Code{wire.TooFast}, c.Closed)
	}
}

package server

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/admin"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
)

// move moves the sessions of a room to another room, between two ticks.
func (h *testRooms) move(from, to string) (err error) {
	now := h.now(from)
	require.NoError(h.t, now.loop.runBetweenTicks(context.Background(), func() {
		for s := range now.core.Sessions() {
			err = errors.Join(err, s.Move(to))
		}
	}))
	return err
}

// between makes ann play in match/1 on node a, while b has match/2.
func (x *twoServers) between() *roomClient {
	require.NoError(x.t, x.b.createRoom(context.Background(), "match/2"))
	c := greetAs(x.a, "match/1", "ann")
	require.Equal(x.t, wire.OK, c.code())
	require.Equal(x.t, []string{"join match/1 ann"}, x.a.takeCalls())
	return c
}

// sessions returns in how many sessions ann is.
func (x *twoServers) sessions() (n int) {
	for _, h := range []*testRooms{x.a, x.b} {
		for _, room := range h.names() {
			n += len(h.values(room))
		}
	}
	return n
}

// A session moves to a room of another node: Leave, Depart, and Join there with its Value; its client gets a pass last, and again if it asks.
func TestMoveToAnotherNode(t *testing.T) {
	departed := make(chan Traveller, 2)
	before := make(chan []string, 2)
	var x *twoServers
	inTwoServers(t, func(c *RoomsConfig) {
		c.Depart = func(_ context.Context, who Traveller) error {
			before <- x.a.takeCalls()
			departed <- who
			time.Sleep(2 * time.Second) // its room ticks
			return nil
		}
	}, func(servers *twoServers) {
		x = servers
		c := x.between()
		id := c.newestWelcome().Session
		require.NoError(t, x.a.move("match/1", "match/2"))
		require.NoError(t, x.a.move("match/1", "match/2"), "the game asks again")
		time.Sleep(time.Second)
		require.Equal(t, wire.OK, c.code())
		require.Equal(t, []string{askHold}, x.nodeB.takeAsked(), "one question, since Depart still saves")
		time.Sleep(2 * time.Second)
		moved := c.Snapshot().Ended
		require.Equal(t, wire.Moved, moved.Code)
		require.Equal(t, "b:2", moved.Address)
		require.Equal(t, Traveller{Session: id, User: "ann", From: "match/1", To: "match/2", Value: "of ann"}, <-departed)
		require.Equal(t, []string{"leave match/1 ann"}, <-before)
		resumes := func(h *testRooms, token []byte) *roomClient {
			return h.greet(func(m *wire.Hello) {
				w := c.newestWelcome()
				m.Room, m.Session, m.Epoch, m.Secret, m.Token = w.Room, w.Session, w.Epoch, w.Secret, token
			})
		}
		require.Equal(t, moved, resumes(x.a, []byte("ann")).Snapshot().Ended, "the message was lost")
		require.Equal(t, 1, x.tokens["ann"])
		there := resumes(x.b, moved.Token) // a client that knows both nodes
		require.Equal(t, "match/2", there.newestWelcome().Room)
		require.Equal(t, map[string]any{"ann": `"of ann"`}, x.b.values("match/2"))
		require.Equal(t, 1, x.sessions())
		require.Equal(t, []string{"join match/2 ann"}, x.b.takeCalls())
		require.Empty(t, x.a.takeCalls())
		require.EqualValues(t, 1, x.a.clusterReport().Redirects["move"])
	})
}

// Without a place in the other room, the session stays as it is. Another move replaces the first, whose place is free again.
func TestMoveWithoutAPlace(t *testing.T) {
	inTwoServers(t, func(c *RoomsConfig) {
		k := c.Kinds["match"]
		k.MaxSessions = 1
		c.Kinds["match"] = k
	}, func(x *twoServers) {
		c := x.between()
		eve := greetAs(x.b, "match/2", "eve")
		require.NoError(t, x.a.move("match/1", "match/2"))
		time.Sleep(time.Second)
		require.Equal(t, []string{"refused match/2 ann server-full"}, x.a.takeCalls())
		eve.leave()
		time.Sleep(time.Second)

		x.nodeB.lost = func(seatQuestion) error { // no answer before the next move
			time.Sleep(time.Second)
			return nil
		}
		require.NoError(t, x.a.move("match/1", "match/2"))
		require.NoError(t, x.a.move("match/1", "match/3"))
		time.Sleep(4 * time.Second)
		require.Equal(t, []string{"leave match/1 ann", "join match/3 ann"}, x.a.takeCalls(), "match/3 is made here")
		require.Equal(t, "match/3", c.newestWelcome().Room)
		require.Equal(t, wire.OK, greetAs(x.b, "match/2", "eve").code(), "nobody holds the place")

		x.nodeA.peers = nil
		require.ErrorIs(t, x.a.move("match/3", "match/2"), &wire.Error{Code: wire.Draining})
	})
}

// Whatever fails between the rooms, the session returns to the first, and is in no other.
func TestCrossingsThatFail(t *testing.T) {
	fails := func(ask string) func(seatQuestion) error {
		return func(q seatQuestion) error {
			if q.Ask == ask {
				return &wire.Error{Code: wire.Draining}
			}
			return nil
		}
	}
	returned := []string{"leave match/1 ann", "join match/1 ann"}
	for _, c := range []struct {
		name  string
		fault func(x *twoServers)
		want  []string
	}{
		{"the owner dies before the question", func(x *twoServers) { x.nodeB.cut = fails(askHold) }, []string{"refused match/2 ann draining"}},
		{"its answer is lost", func(x *twoServers) { x.nodeB.lost = fails(askHold) }, []string{"refused match/2 ann draining"}},
		{"the owner dies before it knows who comes", func(x *twoServers) { x.nodeB.cut = fails(askFill) }, append(returned, "refused match/2 ann draining")},
		{"the owner knows who comes, and its answer is lost", func(x *twoServers) { x.nodeB.lost = fails(askFill) }, append(returned, "refused match/2 ann draining")},
		{"Depart fails", func(x *twoServers) {
			x.a.rooms.config.Depart = func(context.Context, Traveller) error { return errors.New("no database") }
		}, append(returned, "refused match/2 ann internal")},
		{"Depart panics", func(x *twoServers) {
			x.a.rooms.config.Depart = func(context.Context, Traveller) error { panic("no database") }
		}, append(returned, "refused match/2 ann internal")},
		{"Carry fails", func(x *twoServers) {
			x.a.rooms.config.Carry = func(any) ([]byte, error) { return nil, errors.New("unknown type") }
		}, append(returned, "refused match/2 ann internal")},
		{"Arrive fails", func(x *twoServers) {
			x.b.rooms.config.Arrive = func([]byte) (any, error) { return nil, errors.New("unknown type") }
		}, append(returned, "refused match/2 ann internal")},
	} {
		t.Run(c.name, func(t *testing.T) {
			inTwoServers(t, asIs, func(x *twoServers) {
				client := x.between()
				c.fault(x)
				require.NoError(t, x.a.move("match/1", "match/2"))
				time.Sleep(2 * time.Second)
				require.Equal(t, c.want, x.a.takeCalls())
				require.Equal(t, wire.OK, client.code())
				require.Equal(t, 1, x.sessions())
				synctest.Wait()
				x.nodeB.cut, x.nodeB.lost = nil, nil
				require.Empty(t, x.b.issuedAndFilled(), "the pass is dropped")
				require.Empty(t, x.b.takeCalls())
			})
		})
	}
}

// issuedAndFilled returns the users who hold passes of the node.
func (h *testRooms) issuedAndFilled() (users []string) {
	h.passes.mu.Lock()
	defer h.passes.mu.Unlock()
	for _, p := range h.passes.issued {
		if p.filled {
			users = append(users, p.user)
		}
	}
	return users
}

// departIn returns a Depart that takes some time.
func departIn(d time.Duration) func(context.Context, Traveller) error {
	return func(context.Context, Traveller) error {
		time.Sleep(d)
		return nil
	}
}

// resume connects a client again, with the secret of its session.
func (h *testRooms) resume(c *roomClient) *roomClient {
	was := c.newestWelcome()
	return h.greet(func(m *wire.Hello) {
		m.Session, m.Secret, m.Structure = was.Session, was.Secret, c.Snapshot().Records
	})
}

// Players on the way may lose their connection, leave, or be kicked: they are then in the first room, or in none.
func TestPlayersWhoEndOnTheWay(t *testing.T) {
	for _, c := range []struct {
		name  string
		event func(x *twoServers, c *roomClient)
		calls []string
		left  int
	}{
		{"the connection breaks", func(_ *twoServers, c *roomClient) { c.peer.Gone() }, []string{"leave match/1 ann", "join match/1 ann", "refused match/2 ann timeout"}, 1},
		{"the player leaves", func(_ *twoServers, c *roomClient) { c.leave() }, []string{"leave match/1 ann"}, 0},
		{"the operator kicks", func(x *twoServers, c *roomClient) { x.a.router.Kick(c.newestWelcome().Session, "bye") }, []string{"leave match/1 ann"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			inTwoServers(t, func(config *RoomsConfig) { config.Depart = departIn(time.Second) }, func(x *twoServers) {
				client := x.between()
				require.NoError(t, x.a.move("match/1", "match/2"))
				time.Sleep(500 * time.Millisecond)
				c.event(x, client)
				time.Sleep(2 * time.Second)
				require.Equal(t, c.calls, x.a.takeCalls())
				require.Empty(t, client.Snapshot().Ended.Token, "nobody has the pass")
				require.Equal(t, c.left, x.sessions())
				if c.left > 0 {
					back := x.a.resume(client)
					require.EqualValues(t, 1, back.newestWelcome().Resumed)
				}
			})
		})
	}
}

// A client that resumes its session while that is between the rooms waits for the outcome.
func TestResumeOnTheWay(t *testing.T) {
	inTwoServers(t, func(config *RoomsConfig) { config.Depart = departIn(3 * time.Second) }, func(x *twoServers) {
		client := x.between()
		require.NoError(t, x.a.move("match/1", "match/2"))
		time.Sleep(500 * time.Millisecond)
		client.peer.Gone()
		back := x.a.resume(client)
		require.Empty(t, back.Snapshot().Welcomes)
		time.Sleep(3 * time.Second)
		require.EqualValues(t, 1, back.newestWelcome().Resumed)
		require.Equal(t, 1, x.sessions())
	})
}

// The node that has issued the pass dies, or loses the room: its client comes back to the door. A node that ends sends its travellers to the
// door too.
func TestNodesThatEndOnTheWay(t *testing.T) {
	inTwoServers(t, asIs, func(x *twoServers) {
		client := x.between()
		require.NoError(t, x.a.move("match/1", "match/2"))
		time.Sleep(time.Second)
		token := string(client.Snapshot().Ended.Token)
		next := must.Get(newRooms(x.b.process, admin.NewTimings(admin.KindLabel))) // the next process
		x.b.rooms, next = next, x.b.rooms
		require.Equal(t, wire.Timeout, greetAs(x.b, "match/2", token).Snapshot().Ended.Code)
		x.b.rooms = next

		x.a.rooms.config.Depart = departIn(4 * time.Second)
		bob := greetAs(x.a, "match/1", "bob")
		require.NoError(t, x.a.move("match/1", "match/2"))
		time.Sleep(time.Second)
		require.NoError(t, x.a.drainRoom("match/1", 0))
		time.Sleep(time.Second)
		require.True(t, bob.Snapshot().Ended.Code.Info().Retry || bob.Snapshot().Ended.Code == wire.RoomClosed, bob.Snapshot().Ended)
		time.Sleep(4 * time.Second)
		require.Empty(t, bob.Snapshot().Ended.Token)
	})
}

// A user who begins another session joins when the earlier one has ended: in a room of this node, by a pass from another node, and
// only after Depart has saved a session on its way to another node.
func TestUserBeginsAgain(t *testing.T) {
	var x *twoServers
	inTwoServers(t, func(c *RoomsConfig) {
		c.Depart = func(_ context.Context, who Traveller) error {
			time.Sleep(2 * time.Second)
			x.a.noteCall("departs %s", who.User)
			return nil
		}
	}, func(servers *twoServers) {
		x = servers
		first := x.between()
		again := greetAs(x.a, "match/1", "ann")
		time.Sleep(time.Second)
		require.Equal(t, []string{"leave match/1 ann", "join match/1 ann"}, x.a.takeCalls())
		require.Equal(t, wire.SignedInElsewhere, first.code())

		require.NoError(t, x.a.move("match/1", "match/2"))
		time.Sleep(time.Second)
		require.NoError(t, x.a.createRoom(context.Background(), "match/3"))
		there := greetAs(x.a, "match/3", "ann")
		time.Sleep(3 * time.Second)
		require.Equal(t, []string{"leave match/1 ann", "departs ann", "join match/3 ann"}, x.a.takeCalls())
		require.Equal(t, wire.SignedInElsewhere, again.code())
		require.Empty(t, x.b.issuedAndFilled())
		require.Equal(t, wire.OK, there.code())

		moved := greetAs(x.b, "match/3", "ann").Snapshot().Ended
		require.Equal(t, wire.Moved, moved.Code)
		greetAs(x.a, "", string(moved.Token))
		time.Sleep(time.Second)
		require.Equal(t, []string{"leave match/3 ann", "join match/3 ann"}, x.a.takeCalls())
		require.Equal(t, wire.SignedInElsewhere, there.code())
	})
}

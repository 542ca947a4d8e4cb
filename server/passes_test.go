package server

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/admin"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
)

// passing is the link of a testNode to the others of its directory.
type passing struct {
	peers   map[string]*testNode // by address; nil: no link
	answers func(context.Context, []byte) ([]byte, error)
	moves   func(context.Context, []byte) error
	asked   []string                   // what this node was asked
	cutMove func(ask string) error     // of moves to this node, before they arrive
	missed  func(ask string) error     // of its answers to these
	cut     func(q seatQuestion) error // of questions to this node, before they arrive
	lost    func(q seatQuestion) error // of its answers
	hears   func([]byte) error
	mail    func(to *testNode, messages []byte) error // what becomes of messages to others; nil: they arrive
}

func (n *testNode) Reaches(room string) bool { return n.peers[n.FindRoom(room)] != nil }

func (n *testNode) Answer(f func(context.Context, []byte) ([]byte, error)) { n.answers = f }

func (n *testNode) Ask(ctx context.Context, room string, question []byte) ([]byte, string, error) {
	other := n.peers[n.FindRoom(room)]
	if other == nil {
		return nil, "", &wire.Error{Code: wire.Draining}
	}
	q := must.Get(parseQuestion(question))
	n.mu.Lock()
	other.asked = append(other.asked, q.Ask)
	n.mu.Unlock()
	if other.cut != nil {
		if err := other.cut(q); err != nil {
			return nil, "", err
		}
	}
	answer, err := other.answers(ctx, question)
	if err == nil && other.lost != nil {
		err = other.lost(q)
	}
	return answer, other.address, err
}

func (n *testNode) HostOf(room string) string {
	if other := n.peers[n.FindRoom(room)]; other != nil {
		return other.address
	}
	return ""
}

func (n *testNode) Living() []string { return slices.Collect(maps.Keys(n.peers)) }

func (n *testNode) Receive(f func([]byte) error) { n.hears = f }

func (n *testNode) Send(_ context.Context, node string, messages []byte) error {
	to := n.peers[node]
	if n.mail != nil {
		return n.mail(to, messages)
	}
	return to.hears(messages)
}

func (n *testNode) AnswerMoves(f func(context.Context, []byte) error) { n.moves = f }

func (n *testNode) AskNode(ctx context.Context, node string, question []byte) error {
	other := n.peers[node]
	if other == nil {
		return errors.New("no such node")
	}
	var q moveQuestion
	if err := json.Unmarshal(question, &q); err != nil {
		return err
	}
	if other.cutMove != nil {
		if err := other.cutMove(q.Ask); err != nil {
			return err
		}
	}
	err := other.moves(ctx, question)
	if err == nil && other.missed != nil {
		err = other.missed(q.Ask)
	}
	return err
}

// takeAsked returns what the node was asked, and forgets it.
func (n *testNode) takeAsked() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	asked := n.asked
	n.asked = nil
	return asked
}

// twoServers has two nodes of a cluster. The token of a user is the user's name, and each user has a Value.
type twoServers struct {
	t      *testing.T
	a, b   *testRooms
	nodeA  *testNode
	nodeB  *testNode
	tokens map[string]int    // how often each was admitted
	once   bool              // tokens are good once
	lasts  time.Duration     // of sessions
	rooms  map[string]string // that tokens name
}

// inTwoServers runs a test with two nodes.
func inTwoServers(t *testing.T, change func(*RoomsConfig), test func(x *twoServers)) {
	synctest.Test(t, func(t *testing.T) {
		d := newDirectory()
		x := &twoServers{t: t, nodeA: &testNode{sharedDirectory: d, address: "a:1"}, nodeB: &testNode{sharedDirectory: d, address: "b:2"}, tokens: map[string]int{}}
		x.nodeA.peers, x.nodeB.peers = map[string]*testNode{"b:2": x.nodeB}, map[string]*testNode{"a:1": x.nodeA}
		x.a, x.b = x.start(x.nodeA, change), x.start(x.nodeB, change)
		test(x)
		for _, h := range []*testRooms{x.a, x.b} {
			require.NoError(t, h.endRooms())
			h.descriptors.close()
		}
	})
}

// start starts a process of a node.
func (x *twoServers) start(n *testNode, change func(*RoomsConfig)) *testRooms {
	h := newClusterRooms(x.t, n, func(c *RoomsConfig) {
		withoutPinned(c)
		c.Carry = func(v any) ([]byte, error) { return json.Marshal(v) }
		c.Arrive = func(b []byte) (any, error) { return string(b), nil }
		change(c)
	})
	h.process.OneSessionPerUser = true
	h.process.Admit = func(_ context.Context, token []byte) (Admission, error) {
		x.tokens[string(token)]++
		if x.once && x.tokens[string(token)] > 1 {
			return Admission{}, errors.New("the token was used")
		}
		return Admission{User: string(token), Value: "of " + string(token), Lasts: x.lasts, Room: x.rooms[string(token)]}, nil
	}
	h.rooms = must.Get(newRooms(h.process, admin.NewTimings(admin.KindLabel)))
	h.begin()
	return h
}

// crashB kills the process of node b, which has a room, and starts the next one with what the disks had.
func (x *twoServers) crashB(room string, change func(*RoomsConfig)) {
	synctest.Wait()
	images := x.b.config.Images
	own, shared, newest := filesIn(x.t, images.Dir), filesIn(x.t, images.Shared), x.nodeB.imageOf(room)
	require.NoError(x.t, x.b.endRooms()) // it saves more than the process did: the disks are restored
	x.b.descriptors.close()
	crashTo(x.t, images.Dir, own)
	crashTo(x.t, images.Shared, shared)
	x.nodeB.setImage(room, newest)
	x.b = x.start(x.nodeB, func(c *RoomsConfig) {
		change(c)
		c.Images = images
	})
}

func greetAs(h *testRooms, room, token string) *roomClient {
	return h.greet(func(m *wire.Hello) { m.Room, m.Token = room, []byte(token) })
}

// values returns the Values of a room's sessions, by user.
func (h *testRooms) values(room string) map[string]any {
	all := map[string]any{}
	now := h.now(room)
	require.NoError(h.t, now.loop.runBetweenTicks(context.Background(), func() {
		for s := range now.core.Sessions() {
			all[s.User()] = s.Value()
		}
	}))
	return all
}

// A client that asks another node for a room is admitted there, once, and gets a pass, which admits it to the room, with its
// user, its Value and its time, whatever room its Hello names.
func TestPassOfAClient(t *testing.T) {
	inTwoServers(t, asIs, func(x *twoServers) {
		require.NoError(t, x.b.createRoom(context.Background(), "match/1"))
		x.lasts = 8 * time.Second
		moved := greetAs(x.a, "match/1", "ann").Snapshot().Ended
		require.Equal(t, wire.Moved, moved.Code)
		require.Equal(t, "b:2", moved.Address)
		require.Contains(t, string(moved.Token), passPrefix)
		require.Equal(t, map[string]uint64{"issued": 1, "used": 0, "refused": 0}, x.b.clusterReport().Passes)

		there := greetAs(x.b, "lobby", string(moved.Token))
		require.Equal(t, "match/1", there.newestWelcome().Room)
		require.Equal(t, map[string]any{"ann": `"of ann"`}, x.b.values("match/1"))
		require.Equal(t, map[string]int{"ann": 1}, x.tokens, "the pass is no token")
		again := greetAs(x.b, "match/1", string(moved.Token))
		require.Equal(t, wire.Timeout, again.Snapshot().Ended.Code, "once")
		time.Sleep(8 * time.Second)
		require.Equal(t, wire.SessionExpired, there.code())
		require.Equal(t, map[string]uint64{"issued": 1, "used": 1, "refused": 1}, x.b.clusterReport().Passes)
	})
}

// A pass has the Value of its issue: it is void once its user begins another session, on the node that has ordered it or on the one that has issued
// it. Otherwise a player could spend goods there, and have them again by the pass. The session waits for that.
func TestPassIsVoidOnceItsUserPlaysOn(t *testing.T) {
	inTwoServers(t, asIs, func(x *twoServers) {
		t := x.t
		x.between()
		var silent atomic.Bool
		x.nodeB.cut = func(q seatQuestion) error {
			if q.Ask == askDrop && silent.Load() {
				return &wire.Error{Code: wire.Draining}
			}
			return nil
		}
		require.NoError(t, x.a.createRoom(context.Background(), "match/3"))
		require.NoError(t, x.b.createRoom(context.Background(), "match/4"))
		byMove := func() string {
			ann := greetAs(x.a, "match/1", "ann")
			time.Sleep(time.Second)
			require.NoError(t, x.a.move("match/1", "match/2"))
			time.Sleep(time.Second)
			return string(ann.Snapshot().Ended.Token)
		}
		byClient := func() string { return string(greetAs(x.a, "match/2", "ann").Snapshot().Ended.Token) }
		for _, issue := range []func() string{byMove, byClient} {
			for _, plays := range []func(){
				func() { greetAs(x.a, "match/3", "ann").leave() },
				func() { greetAs(x.b, "match/4", "ann").leave() },
			} {
				pass := issue()
				require.Contains(t, pass, passPrefix)
				plays()
				time.Sleep(time.Second)
				require.Equal(t, wire.Timeout, greetAs(x.b, "match/2", pass).Snapshot().Ended.Code)
				require.Zero(t, x.sessions())
			}
		}

		pass := byClient()
		silent.Store(true)
		again := greetAs(x.a, "match/3", "ann")
		time.Sleep(2 * time.Second)
		require.Empty(t, again.Snapshot().Welcomes, "the other node does not answer")
		silent.Store(false)
		time.Sleep(time.Second)
		require.NotEmpty(t, again.Snapshot().Welcomes)
		require.Equal(t, wire.Timeout, greetAs(x.b, "match/2", pass).Snapshot().Ended.Code)

		again.leave()
		time.Sleep(time.Second)
		there := greetAs(x.b, "match/2", byClient())
		require.Equal(t, "match/2", there.newestWelcome().Room)
		require.Equal(t, 1, x.sessions())
	})
}

// A pass is good for 15 s, for one run of a room, in one process. Passes that nobody uses cost no places.
func TestPassesEnd(t *testing.T) {
	inTwoServers(t, func(c *RoomsConfig) {
		k := c.Kinds["match"]
		k.MaxSessions = 2
		c.Kinds["match"] = k
	}, func(x *twoServers) {
		require.NoError(t, x.b.createRoom(context.Background(), "match/1"))
		first, second := greetAs(x.a, "match/1", "ann").Snapshot().Ended, greetAs(x.a, "match/1", "bob").Snapshot().Ended
		require.Equal(t, wire.Moved, second.Code)
		require.Equal(t, wire.ServerFull, greetAs(x.a, "match/1", "eve").Snapshot().Ended.Code, "two are on their way")
		require.Equal(t, wire.ServerFull, greetAs(x.b, "match/1", "eve").Snapshot().Ended.Code)
		time.Sleep(passTime)
		require.Equal(t, wire.Timeout, greetAs(x.b, "match/1", string(first.Token)).Snapshot().Ended.Code)
		require.Equal(t, wire.OK, greetAs(x.b, "match/1", "eve").code(), "the places are free again")

		fresh := greetAs(x.a, "match/1", "ann").Snapshot().Ended
		require.Equal(t, wire.Moved, fresh.Code)
		require.NoError(t, x.b.drainRoom("match/1", 0))
		time.Sleep(time.Second)
		require.NoError(t, x.b.createRoom(context.Background(), "match/1"))
		require.Equal(t, wire.Timeout, greetAs(x.b, "match/1", string(fresh.Token)).Snapshot().Ended.Code, "another run")

		fresh = greetAs(x.a, "match/1", "ann").Snapshot().Ended
		other := must.Get(newRooms(x.b.process, admin.NewTimings(admin.KindLabel))) // the next process
		x.b.rooms, other = other, x.b.rooms
		require.Equal(t, wire.Timeout, greetAs(x.b, "match/1", string(fresh.Token)).Snapshot().Ended.Code)
		x.b.rooms = other
	})
}

// Without a link clients take their tokens along, unused. If the node fails to answer after that was promised, the client comes back.
func TestTokensWithoutALink(t *testing.T) {
	inTwoServers(t, asIs, func(x *twoServers) {
		require.NoError(t, x.b.createRoom(context.Background(), "match/1"))
		peers := x.nodeA.peers
		x.nodeA.peers = nil
		require.Equal(t, wire.Error{Code: wire.Moved, Detail: wire.RoomIs + "match/1", Address: "b:2", Token: []byte("ann")}, greetAs(x.a, "match/1", "ann").Snapshot().Ended)
		require.Empty(t, x.tokens)
		x.nodeA.peers = peers
		for _, ask := range []string{askHold, askFill} {
			x.nodeB.cut = func(q seatQuestion) error {
				if q.Ask == ask {
					return &wire.Error{Code: wire.Draining}
				}
				return nil
			}
			ended := greetAs(x.a, "match/1", "ann").Snapshot().Ended
			require.True(t, ended.Code.Info().Retry, ended)
		}
		x.nodeB.cut = nil
		x.b.router.Cordon()
		require.Equal(t, wire.Draining, greetAs(x.a, "match/1", "ann").Snapshot().Ended.Code)
		x.b.router.Uncordon()
		require.Equal(t, wire.Moved, greetAs(x.a, "match/1", "ann").Snapshot().Ended.Code)
	})
}

// Rules for clients hold for those who ask another node.
func TestRulesForPasses(t *testing.T) {
	inTwoServers(t, func(c *RoomsConfig) {
		c.Kinds["duel"] = RoomKind{New: c.Kinds["match"].New, Visibility: Private}
	}, func(x *twoServers) {
		require.NoError(t, x.b.createRoom(context.Background(), "duel/1"))
		require.Equal(t, wire.NoRoom, greetAs(x.a, "duel/1", "ann").Snapshot().Ended.Code)
		for _, text := range []string{"", "{}", `{"ask":"fill"}`, `{"ask":"hold","by":3}`, `{"ask":"hold","lasts":-1}`, `{"ask":"sell","room":"duel/1"}`} {
			_, err := x.nodeB.answers(context.Background(), []byte(text))
			require.Equal(t, wire.BadArguments, wire.CodeOf(err), text)
		}
		name := must.Get(x.nodeB.answers(context.Background(), []byte(`{"ask":"hold","by":2,"room":"duel/1","user":"ann"}`)))
		require.Equal(t, wire.Timeout, greetAs(x.b, "duel/1", passPrefix+string(name)).Snapshot().Ended.Code, "nobody holds it yet")
		fill := func(room, user string) wire.Code {
			_, err := x.nodeB.answers(context.Background(), must.Get(json.Marshal(seatQuestion{Ask: askFill, Room: room, User: user, Pass: name})))
			return wire.CodeOf(err)
		}
		require.Equal(t, wire.Timeout, fill("duel/2", "ann"))
		require.Equal(t, wire.Timeout, fill("duel/1", "eve"))
		require.Equal(t, wire.OK, fill("duel/1", "ann"))
		require.Equal(t, wire.Timeout, fill("duel/1", "ann"))
	})
}

// The game's faults refuse a client, and nothing more.
func TestFaultsOfCarryAndArrive(t *testing.T) {
	var carry func(any) ([]byte, error)
	var arrive func([]byte) (any, error)
	inTwoServers(t, func(c *RoomsConfig) {
		c.Carry = func(v any) ([]byte, error) { return carry(v) }
		c.Arrive = func(b []byte) (any, error) { return arrive(b) }
	}, func(x *twoServers) {
		require.NoError(t, x.b.createRoom(context.Background(), "match/1"))
		good := func(any) ([]byte, error) { return nil, nil }
		for _, c := range []func(any) ([]byte, error){
			func(any) ([]byte, error) { panic("carry") },
			func(any) ([]byte, error) { return nil, errors.New("carry") },
			func(any) ([]byte, error) { return make([]byte, maxCarried+1), nil },
		} {
			carry = c
			require.Equal(t, wire.Internal, greetAs(x.a, "match/1", "ann").Snapshot().Ended.Code)
		}
		carry, arrive = good, func([]byte) (any, error) { panic("arrive") }
		require.Equal(t, wire.Internal, greetAs(x.a, "match/1", "ann").Snapshot().Ended.Code)
		arrive = func([]byte) (any, error) { return nil, &wire.Error{Code: wire.JoinRefused} }
		require.Equal(t, wire.JoinRefused, greetAs(x.a, "match/1", "ann").Snapshot().Ended.Code)
		require.Len(t, x.a.logs.FilterMessageSnippet("Carry").All(), 3)
	})
}

func FuzzSeatQuestion(f *testing.F) {
	f.Add(must.Get(json.Marshal(seatQuestion{Ask: askFill, Room: "match/1", User: "ann", Pass: make([]byte, passBytes), Value: []byte("x"), Lasts: time.Hour})))
	f.Add([]byte(`{"ask":"hold"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		q, err := parseQuestion(b)
		if err != nil {
			return
		}
		text := must.Get(json.Marshal(q))
		require.Equal(t, text, must.Get(json.Marshal(must.Get(parseQuestion(text)))))
	})
}

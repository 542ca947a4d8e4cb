package server

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/admin"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/shorttest"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/imagefile"
	"github.com/worldd/worldd/world"
)

var crossingSeeds = flag.Uint64("crossings", 6, "number of seeds of the simulation of crossings")

// crossings plays two nodes of a cluster, each with a room, in virtual time, under a seed: players go to and fro by Session.Move and by passes.
// The link loses, delays and repeats questions and answers; Depart is slow and fails; clients lose their connections, begin second sessions,
// come late, and use passes twice; processes are killed at any moment, also between a pass and the arrival, and their journals restored. The
// oracle checks in each hook of the game:
//
//	a user has one session
//	its Value is never older than what Depart has saved, nor newer than what Leave has set, and Depart never saves the same twice
//	a pass admits once, within passTime, to the process that has issued it, unless its user has begun another session since there, or in the
//	process that has ordered it
//
// A seed gives the same events each time, although goroutines run side by side: what each draws depends on its own purpose alone (draw), and
// no two of them wake at the same instant, since all waits are drawn to the nanosecond.
type crossings struct {
	t     *testing.T
	seed  uint64
	dir   string
	d     *sharedDirectory
	nodes [2]*crossingNode
	began time.Time

	mu      sync.Mutex // guards the rest
	drawn   map[string]int
	players map[string]*crossingPlayer
	passes  map[string]*passUse
	events  []string
	failure string
	counts  map[string]int
}

// crossingNode is a process of a node. Its room is "match/NAME".
type crossingNode struct {
	*testRooms
	*testNode
	index     int
	name, dir string
	killed    bool
}

// crossingPlayer is a user, with what the oracle knows of the user's Value: its number rises with each Leave.
type crossingPlayer struct {
	user     string
	at       map[*crossingNode]uint64 // sessions in rooms
	left     int                      // number that the newest Leave has set
	departed int                      // newest number that Depart has saved
	conns    []*crossingConn          // of which none is welcomed but the first
	wakes    time.Time                // the client does nothing before
	retired  bool                     // a process has died that may have begun a session of which the client knows nothing
}

// crossingConn is a connection of a player.
type crossingConn struct {
	*roomClient
	node   *crossingNode
	dialed time.Time
	pass   *passUse      // its token, if that is a pass
	was    *crossingConn // whose session it asks for; nil: none
	lost   bool          // the client has, or its process was killed
	blind  bool          // the client has forgotten a session that may live
	kept   *wire.Error   // redirection that the client follows once it has a session here; nil: none
	void   bool          // the pass admits nobody any more
	seen   stage.Received
}

type passUse struct {
	by, orderer *crossingNode
	filled      time.Time
	used        bool
}

// note records an event.
func (x *crossings) note(format string, args ...any) {
	x.events = append(x.events, fmt.Sprintf("%v ", time.Since(x.began))+fmt.Sprintf(format, args...))
}

func (x *crossings) failf(format string, args ...any) {
	if x.failure == "" {
		x.note(format, args...)
		x.failure = x.events[len(x.events)-1]
	}
}

// draw returns a number from 0 to 1, the next one for a purpose.
func (x *crossings) draw(purpose string) float64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, purpose, x.drawn[purpose])
	x.drawn[purpose]++
	return rand.New(rand.NewPCG(x.seed, h.Sum64())).Float64()
}

// chance draws 1 of n.
func (x *crossings) chance(purpose string, n float64) bool { return x.draw(purpose+" chance") < 1/n }

func (x *crossings) sleep(purpose string, least, most time.Duration) {
	time.Sleep(least + time.Duration(x.draw(purpose+" time")*float64(most-least)))
}

func numbered(user string, n int) string { return fmt.Sprint(user, ":", n) }

func numberOf(value any) int {
	_, text, _ := strings.Cut(value.(string), ":")
	return must.Get(strconv.Atoi(text))
}

// enter checks a session that begins, returns or is restored. A Value without a number is loaded.
func (x *crossings) enter(n *crossingNode, s *Session, how string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	p := x.players[s.User()]
	if n.killed {
		return
	}
	if s.Value() == "new" {
		s.SetValue(numbered(p.user, p.departed))
	}
	v := numberOf(s.Value())
	x.note("%s %s at %s with Value %d", p.user, how, n.name, v)
	for other, id := range p.at {
		if other != n || id != s.ID() {
			x.failf("%s %s at %s as session %d, and is at %s as %d", p.user, how, n.name, s.ID(), other.name, id)
		}
	}
	p.at[n] = s.ID()
	if v < p.departed || v > p.left {
		x.failf("%s %s at %s with Value %d, after Depart has saved %d and Leave has set %d", p.user, how, n.name, v, p.departed, p.left)
	}
}

// watch makes the hooks of a room tell the oracle.
func (x *crossings) watch(n *crossingNode, g *RoomGame) {
	join, leave := g.Hooks.Join, g.Hooks.Leave
	g.Hooks.Join = func(s *Session) (world.Entity, error) {
		x.enter(n, s, "joins")
		return join(s)
	}
	g.Hooks.Leave = func(s *Session) {
		x.mu.Lock()
		if p := x.players[s.User()]; !n.killed {
			if p.at[n] == s.ID() {
				delete(p.at, n)
			}
			v := numberOf(s.Value()) + 1
			p.left = max(p.left, v)
			s.SetValue(numbered(p.user, v))
			x.note("%s leaves %s with Value %d", p.user, n.name, v)
			if e := s.Ending(); e != nil && e.Code == wire.SignedInElsewhere {
				x.counts["replaced"]++
			}
		}
		x.mu.Unlock()
		leave(s)
	}
	g.Hooks.SaveSession = func(s *Session, b []byte) []byte { return append(b, s.Value().(string)...) }
	g.Hooks.RestoreSession = func(s *Session, saved []byte) error {
		s.SetValue(string(saved))
		x.enter(n, s, "is restored")
		x.counts["restored"]++
		return nil
	}
}

// depart is RoomsConfig.Depart: a database that is slow, and fails now and then.
func (x *crossings) depart(n *crossingNode, t Traveller) error {
	purpose := "depart " + t.User
	x.sleep(purpose, 0, 600*time.Millisecond)
	fails := x.chance(purpose, 8)
	x.mu.Lock()
	defer x.mu.Unlock()
	if n.killed || fails {
		return errors.New("no database")
	}
	p, v := x.players[t.User], numberOf(t.Value)
	if v <= p.departed {
		x.failf("Depart of %s saves %d after %d", t.User, v, p.departed)
	}
	x.note("Depart saves Value %d of %s", v, t.User)
	p.departed = v
	return nil
}

// purpose names a question to n in draws. Questions at one instant differ, since goroutines ask them in any order: a user may have several
// passes.
func (x *crossings) purpose(n *crossingNode, q seatQuestion) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	filled := time.Duration(0)
	if use := x.passes[string(q.Pass)]; use != nil {
		filled = use.filled.Sub(x.began)
	}
	return fmt.Sprint(q.Ask, " ", q.User, " ", n.name, " ", filled)
}

// disturb delays, loses and repeats a question to n.
func (x *crossings) disturb(n *crossingNode, q seatQuestion) error {
	purpose := x.purpose(n, q)
	x.sleep(purpose, 0, 200*time.Millisecond)
	if x.chance(purpose+" hangs", 15) {
		x.sleep(purpose, 0, 4*time.Second)
	}
	if x.chance(purpose+" is lost", 12) || x.isKilled(n) {
		return &wire.Error{Code: wire.Draining}
	}
	if x.chance(purpose+" is repeated", 6) {
		text := must.Get(json.Marshal(q))
		_, _ = n.answers(context.Background(), text)
		go func() {
			x.sleep(purpose+" again", 0, 2*time.Second)
			if !x.isKilled(n) {
				_, _ = n.answers(context.Background(), text)
			}
		}()
	}
	return nil
}

func (x *crossings) isKilled(n *crossingNode) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return n.killed
}

// noteAnswer notes a pass that n has filled, and loses some answers.
func (x *crossings) noteAnswer(n *crossingNode, q seatQuestion) error {
	lost := x.chance(x.purpose(n, q)+" without answer", 12)
	x.mu.Lock()
	defer x.mu.Unlock()
	if q.Ask == askFill {
		x.passes[string(q.Pass)] = &passUse{by: n, orderer: x.nodes[1-n.index], filled: time.Now()}
		x.note("%s fills a pass for %s", n.name, q.User)
	}
	if n.killed || lost {
		return &wire.Error{Code: wire.Draining}
	}
	return nil
}

// start starts the process of node i.
func (x *crossings) start(i int) {
	name, address := string(rune('a'+i)), [2]string{"a:1", "b:2"}[i]
	n := &crossingNode{index: i, name: name, dir: filepath.Join(x.dir, name), testNode: &testNode{sharedDirectory: x.d, address: address}}
	require.NoError(x.t, os.MkdirAll(n.dir, 0o700))
	n.testRooms = newClusterRooms(x.t, n.testNode, func(c *RoomsConfig) {
		withoutPinned(c)
		c.Images = RoomImages{Dir: n.dir, Every: 2 * time.Second, Journal: imagefile.JournalAlways}
		c.Carry = func(v any) ([]byte, error) { return []byte(v.(string)), nil }
		c.Arrive = func(b []byte) (any, error) { return string(b), nil }
		c.Depart = func(_ context.Context, t Traveller) error { return x.depart(n, t) }
		changeGames(c, func(_ RoomRequest, g *RoomGame) { x.watch(n, g) })
	})
	n.testRooms.process.OneSessionPerUser = true
	n.testRooms.process.Admit = func(_ context.Context, token []byte) (Admission, error) {
		if x.players[string(token)] == nil {
			return Admission{}, errors.New("no player")
		}
		return Admission{User: string(token), Value: "new"}, nil
	}
	n.rooms = must.Get(newRooms(n.testRooms.process, admin.NewTimings(admin.KindLabel)))
	n.cut = func(q seatQuestion) error { return x.disturb(n, q) }
	n.testNode.lost = func(q seatQuestion) error { return x.noteAnswer(n, q) }
	x.sleep("start "+name, 0, 20*time.Millisecond) // rooms tick at different instants
	require.NoError(x.t, n.createRoom(context.Background(), n.room()))
	x.nodes[i] = n
	if other := x.nodes[1-i]; other != nil {
		n.peers, other.peers = map[string]*testNode{other.address: other.testNode}, map[string]*testNode{address: n.testNode}
	}
}

func (n *crossingNode) room() string { return "match/" + n.name }

// kill kills the process of a node, and starts the next one with what the disk had.
func (x *crossings) kill(i int) {
	n := x.nodes[i]
	synctest.Wait()
	x.mu.Lock()
	n.killed = true
	x.counts["kills"]++
	x.note("%s is killed", n.name)
	for _, p := range x.players {
		delete(p.at, n)
		for _, c := range p.conns {
			if c.node == n {
				c.lose()
			}
		}
		p.retired = p.retired || time.Now().Before(p.wakes) // the process may have died before it knew that its client has left
	}
	x.mu.Unlock()
	left, image := filesIn(x.t, n.dir), x.d.imageOf(n.room())
	_ = n.endRooms() // it saves no more than the process did: the disk is restored
	n.descriptors.close()
	crashTo(x.t, n.dir, left)
	x.d.setImage(n.room(), image)
	x.start(i)
}

func (c *crossingConn) lose() {
	if !c.lost {
		c.lost, c.seen = true, c.Snapshot()
	}
}

// state returns what the client knows of its connection.
func (c *crossingConn) state() stage.Received {
	if c.lost {
		return c.seen
	}
	return c.Snapshot()
}

// dial sends a Hello to a node, and adds the connection to the player's.
func (x *crossings) dial(p *crossingPlayer, n *crossingNode, hello wire.Hello) *crossingConn {
	ctx, end := context.WithCancel(context.Background())
	c := &crossingConn{roomClient: &roomClient{end: end}, node: n, dialed: time.Now()}
	if name, ok := strings.CutPrefix(string(hello.Token), passPrefix); ok {
		c.pass = x.passes[name]
	}
	c.peer = n.router.Open(ctx, "198.51.100.1/32", c)
	c.Peer = c.peer
	p.conns = append(p.conns, c)
	go func() { _ = c.Send(hello) }() // Admit and Join may wait
	return c
}

// helloAs returns a Hello for a room.
func helloAs(token string, room string) wire.Hello {
	h := stage.Hello(nil)
	h.Token, h.Room = []byte(token), room
	return h
}

// play lets a client do the next thing.
func (x *crossings) play(p *crossingPlayer) {
	if p.retired || time.Now().Before(p.wakes) {
		return
	}
	if len(p.conns) == 0 {
		x.dial(p, x.anyNode(p, "asks"), helloAs(p.user, x.anyNode(p, "chooses").room()))
		return
	}
	for _, c := range p.conns {
		if to := c.state().Ended; to.Code == wire.Moved && x.chance(p.user+" is orphaned", 6) {
			x.counts["orphans"]++
			x.kill(indexOf(to.Address))
		}
	}
	conns := p.conns
	p.conns = nil
	for _, c := range conns {
		x.follow(p, c)
	}
}

func (x *crossings) anyNode(p *crossingPlayer, purpose string) *crossingNode {
	return x.nodes[int(2*x.draw(p.user+" "+purpose))]
}

func indexOf(address string) int { return int(address[0] - 'a') }

// follow does the next thing for a connection of a client, and keeps it among the player's unless it is over.
func (x *crossings) follow(p *crossingPlayer, c *crossingConn) {
	now := c.state()
	welcomed := len(now.Welcomes) > 0
	switch ended := now.Ended; {
	case ended.Code == wire.Moved:
		x.travel(p, &ended)
	case ended.Code == wire.Timeout && welcomed: // the client has sent no inputs: it resumes
		c.lose()
		x.resume(p, c)
	case ended.Code != wire.OK || len(now.Closed) > 0:
		switch {
		case welcomed:
			x.failf("the session of %s ends: %v", p.user, &ended)
		case c.was != nil && ended.Code.Info().Retry:
			x.resume(p, c.was)
		case c.blind: // another node would give the user a second session
			p.retired = true
		}
	case c.lost && !welcomed:
		p.retired = true
	case c.lost:
		x.resume(p, c)
	case !welcomed:
		p.conns = append(p.conns, c)
	default:
		x.checkPass(p, c)
		x.showKept(p, c)
		x.act(p, c, now.Welcomes[len(now.Welcomes)-1])
	}
}

// resume asks the node of a lost connection for the session, or for another one.
func (x *crossings) resume(p *crossingPlayer, c *crossingConn) {
	now := c.state()
	w := now.Welcomes[len(now.Welcomes)-1]
	h := helloAs(p.user, w.Room)
	h.Session, h.Secret, h.Structure, h.Epoch = w.Session, w.Secret, now.Records, w.Epoch
	x.dial(p, x.nodes[c.node.index], h).was = c
}

// travel goes where a redirection sends the client: at once, late, twice with the same pass, or after another session has begun.
func (x *crossings) travel(p *crossingPlayer, to *wire.Error) {
	x.counts["moves"]++
	if x.chance(p.user+" keeps a pass", 6) {
		n := x.anyNode(p, "plays meanwhile")
		x.dial(p, n, helloAs(p.user, n.room())).kept = to
		return
	}
	n := x.nodes[indexOf(to.Address)]
	if x.chance(p.user+" is late", 6) {
		x.sleep(p.user+" is late", 0, 2*passTime) // the other players wait too
	}
	x.dial(p, n, helloAs(string(to.Token), n.room()))
	if x.chance(p.user+" goes twice", 4) {
		x.dial(p, n, helloAs(string(to.Token), n.room()))
	}
}

// showKept shows the pass that a client has kept from before its present session.
func (x *crossings) showKept(p *crossingPlayer, c *crossingConn) {
	if c.kept == nil {
		return
	}
	n := x.nodes[indexOf(c.kept.Address)]
	late := x.dial(p, n, helloAs(string(c.kept.Token), n.room()))
	c.kept = nil
	if late.pass != nil && (late.pass.by == c.node || late.pass.orderer == c.node) {
		late.void = true
		x.counts["void"]++
	}
}

// checkPass checks a client that a pass may have let in.
func (x *crossings) checkPass(p *crossingPlayer, c *crossingConn) {
	use := c.pass
	c.pass = nil
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case use == nil:
	case c.void:
		x.failf("a pass of %s admits although another session has begun since", p.user)
	case use.used:
		x.failf("a pass of %s admits twice", p.user)
	case use.by != c.node:
		x.failf("a pass of %s admits in another process than has issued it", p.user)
	case c.dialed.Sub(use.filled) >= passTime:
		x.failf("a pass of %s admits after %v", p.user, c.dialed.Sub(use.filled))
	default:
		use.used = true
	}
}

// act does what a player does in a room.
func (x *crossings) act(p *crossingPlayer, c *crossingConn, w wire.Welcome) {
	switch int(12 * x.draw(p.user+" acts")) {
	case 0, 1, 2, 3:
		to, now := x.nodes[1-c.node.index].room(), c.node.now(c.node.room())
		require.NoError(x.t, now.loop.runBetweenTicks(context.Background(), func() {
			if s := now.core.Session(w.Session); s != nil {
				_ = s.Move(to) // an error changes nothing
			}
		}))
	case 4:
		synctest.Wait()
		c.lose()
		c.peer.Gone()
	case 5:
		c.leave()
		ends := time.Second // the session ends meanwhile
		x.mu.Lock()
		if len(p.at) == 0 {
			ends = 10 * time.Second // once it is no longer between two rooms
		}
		x.mu.Unlock()
		p.wakes = time.Now().Add(ends)
		return
	case 6: // the client forgets the connection, and any redirection that is on its way
		x.dial(p, c.node, helloAs(p.user, c.node.room())).blind = true
		return
	}
	p.conns = append(p.conns, c)
}

// playCrossings plays a seed.
func playCrossings(t *testing.T, seed uint64) *crossings {
	var x *crossings
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		x = &crossings{t: t, seed: seed, dir: dir, d: newDirectory(), began: time.Now(), drawn: map[string]int{}, players: map[string]*crossingPlayer{}, passes: map[string]*passUse{}, counts: map[string]int{}}
		var order []*crossingPlayer
		for i := range 4 {
			p := &crossingPlayer{user: fmt.Sprint("user", i), at: map[*crossingNode]uint64{}}
			x.players[p.user], order = p, append(order, p)
		}
		for i := range x.nodes {
			x.start(i)
		}
		for time.Since(x.began) < 30*time.Second && x.failure == "" {
			x.play(order[int(4*x.draw("who plays"))])
			if x.chance("kill", 200) {
				x.kill(int(2 * x.draw("whom to kill")))
			}
			x.sleep("step", 5*time.Millisecond, 80*time.Millisecond)
		}
		for _, n := range x.nodes {
			x.mu.Lock()
			n.killed = true
			x.mu.Unlock()
		}
		for _, n := range x.nodes {
			_ = n.endRooms()
			n.descriptors.close()
		}
		time.Sleep(time.Minute) // questions under way end
	})
	return x
}

// TestCrossings plays seeds of crossings, and the first one twice: go test ./server -run Crossings -crossings 1000.
func TestCrossings(t *testing.T) {
	x := playCrossings(t, 0)
	require.Empty(t, x.failure, "seed 0")
	require.Equal(t, x.events, playCrossings(t, 0).events, "seed 0 again")
	seeds := shorttest.Pick(*crossingSeeds, 1)
	for seed := uint64(1); seed < seeds; seed++ {
		next := playCrossings(t, seed)
		require.Empty(t, next.failure, "seed %d", seed)
		for what, n := range next.counts {
			x.counts[what] += n
		}
	}
	t.Logf("%v", x.counts)
	for _, what := range []string{"moves", "restored", "kills", "orphans", "replaced", "void"} {
		require.True(t, x.counts[what] > 0 || seeds == 1, what) // one seed has not all of them
	}
}

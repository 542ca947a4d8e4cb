package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/admin"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/imagefile"
	"github.com/worldd/worldd/world"
)

// sharedDirectory is the directory of a cluster of testNodes.
type sharedDirectory struct {
	mu     sync.Mutex
	grants map[string]*testGrant // by room
	stored map[string]int        // blocks of stored runs, by room
	heirs  map[string]*testNode  // for which rooms were released, by room
	source map[string]*testNode  // that have released them
	images map[string]*RoomImage // newest, by room
	epoch  uint64
	dead   map[string]bool // nodes, by address
	next   int             // block
	events []string
}

func newDirectory() *sharedDirectory {
	return &sharedDirectory{grants: map[string]*testGrant{}, stored: map[string]int{}, heirs: map[string]*testNode{}, source: map[string]*testNode{}, dead: map[string]bool{}, images: map[string]*RoomImage{}, next: 100}
}

// imageOf returns the newest image of a room.
func (d *sharedDirectory) imageOf(room string) *RoomImage {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.images[room]
}

// setImage makes an image the newest of a room.
func (d *sharedDirectory) setImage(room string, image *RoomImage) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.images[room] = image
}

func (d *sharedDirectory) note(format string, args ...any) {
	d.events = append(d.events, fmt.Sprintf(format, args...))
}

// testNode is a node of a cluster, by the address for its clients.
type testNode struct {
	*sharedDirectory
	address string
	fails   atomic.Pointer[error]
	waits   atomic.Bool       // TakeRoom has no answer
	silent  atomic.Bool       // other nodes are
	blind   atomic.Bool       // it has not heard yet who has which room
	onFree  func(room string) // called as a room is released
	takes   atomic.Int64      // calls of TakeRoom
	passing
}

func (n *testNode) FindRoom(room string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.blind.Load() {
		return ""
	}
	if g := n.grants[room]; g != nil && g.node != n {
		return g.node.address
	}
	if next := n.successor(room); next != nil {
		return next.address
	}
	return ""
}

// successor returns the other node to which a room is left that was released for one, or nil. Callers hold mu.
func (n *testNode) successor(room string) *testNode {
	heir, source := n.heirs[room], n.source[room]
	switch {
	case heir == nil || heir == n:
	case !n.dead[heir.address]:
		return heir
	case source != n && !n.dead[source.address]:
		return source
	}
	return nil
}

func (n *testNode) IsSilent(room string) bool { return n.silent.Load() && n.FindRoom(room) != "" }

func (n *testNode) TakeRoom(ctx context.Context, room string, stored int) (RoomGrant, error) {
	n.takes.Add(1)
	if n.waits.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if failed := n.fails.Load(); failed != nil {
		return nil, *failed
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if g := n.grants[room]; g != nil {
		if g.node == n {
			return nil, errors.New("the node takes a room that it has")
		}
		return nil, must.Get(wire.MovedTo(g.node.address, nil))
	}
	if next := n.successor(room); next != nil {
		return nil, must.Get(wire.MovedTo(next.address, nil))
	}
	delete(n.heirs, room)
	block := n.next
	if kept, ok := n.stored[room]; ok && kept == stored {
		block = stored
	} else {
		n.next++
	}
	delete(n.stored, room)
	n.epoch++
	g := &testGrant{node: n, room: room, block: block, epoch: n.epoch, lost: make(chan struct{})}
	g.runs.Store(true)
	n.grants[room] = g
	n.note("take %s %d", room, block)
	return g, nil
}

func (n *testNode) FindImage(room string) (*RoomImage, []string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	image := n.images[room]
	if image == nil || slices.Contains(image.Nodes, n.address) {
		return image, nil, nil
	}
	return image, slices.DeleteFunc(slices.Clone(image.Nodes), func(node string) bool { return n.dead[node] }), nil
}

func (n *testNode) Changed(room string) <-chan struct{} {
	was, changed := n.FindRoom(room), make(chan struct{})
	var look func()
	look = func() {
		if n.FindRoom(room) != was {
			close(changed)
			return
		}
		time.AfterFunc(10*time.Millisecond, look)
	}
	look()
	return changed
}

func (n *testNode) Status() ClusterStatus {
	return ClusterStatus{Node: n.address, Nodes: []ClusterNode{{Name: n.address, Addresses: []string{n.address}}}}
}

// lose gives a room to another node, as after a lease.
func (n *testNode) lose(room string, to *testNode) {
	n.mu.Lock()
	defer n.mu.Unlock()
	g := n.grants[room]
	g.runs.Store(false)
	close(g.lost)
	n.stored[room] = g.block
	delete(n.grants, room)
	if to != nil {
		n.grants[room] = &testGrant{node: to, room: room}
	}
}

// giveNext sets the block of the next new run.
func (d *sharedDirectory) giveNext(block int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.next = block
}

// grant returns the grant of a room.
func (n *testNode) grant(room string) *testGrant {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.grants[room]
}

// taken returns the events of a room, and forgets them.
func (n *testNode) taken() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	events := n.events
	n.events = nil
	return events
}

type testGrant struct {
	node  *testNode
	room  string
	block int
	epoch uint64
	runs  atomic.Bool
	lost  chan struct{}
}

func (g *testGrant) Block() int            { return g.block }
func (g *testGrant) MayRun() bool          { return g.runs.Load() }
func (g *testGrant) Lost() <-chan struct{} { return g.lost }

func (g *testGrant) Taking() RoomTaking { return RoomTaking{g.node.address, "directory", g.epoch} }

func (g *testGrant) Image() *RoomImage {
	g.node.mu.Lock()
	defer g.node.mu.Unlock()
	return g.node.images[g.room]
}

func (g *testGrant) SetImage(_ context.Context, image *RoomImage) error {
	g.node.mu.Lock()
	defer g.node.mu.Unlock()
	if g.node.grants[g.room] != g {
		return ErrNotOwner
	}
	g.node.images[g.room] = image
	return nil
}

func (g *testGrant) Release(_ context.Context, stored bool) {
	if g.node.onFree != nil {
		g.node.onFree(g.room)
	}
	g.node.mu.Lock()
	defer g.node.mu.Unlock()
	if g.node.grants[g.room] != g {
		return
	}
	delete(g.node.grants, g.room)
	if stored {
		g.node.stored[g.room] = g.block
	}
	g.node.note("release %s %v", g.room, stored)
}

func (g *testGrant) HandOver(ctx context.Context, node string) {
	g.node.mu.Lock()
	g.node.heirs[g.room], g.node.source[g.room] = g.node.peers[node], g.node
	g.node.mu.Unlock()
	g.Release(ctx, true)
}

func (g *testGrant) AwaitHeir(ctx context.Context) bool {
	for ; ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		g.node.mu.Lock()
		heir := g.node.heirs[g.room]
		waits := g.node.grants[g.room] == nil && heir != nil && heir != g.node
		gone := waits && g.node.dead[heir.address]
		g.node.mu.Unlock()
		if !waits || gone {
			return !gone
		}
	}
	return true
}

// followTick returns a function that returns the tick of the room's newest step.
func (h *testRooms) followTick(room string) func() uint64 {
	var tick atomic.Uint64
	h.in(room, func(w *world.World) { tick.Store(w.Tick()) })
	return tick.Load
}

// inCluster runs a test with the rooms of one node, "a:1", of a cluster.
func inCluster(t *testing.T, d *sharedDirectory, change func(*RoomsConfig), test func(h *testRooms, n *testNode)) {
	onNode(t, d, "a:1", change, test)
}

// onNode is inCluster for the node of an address.
func onNode(t *testing.T, d *sharedDirectory, address string, change func(*RoomsConfig), test func(h *testRooms, n *testNode)) {
	synctest.Test(t, func(t *testing.T) {
		n := &testNode{sharedDirectory: d, address: address}
		h := newClusterRooms(t, n, change)
		h.begin()
		defer func() {
			require.NoError(t, h.endRooms())
			h.descriptors.close()
		}()
		test(h, n)
	})
}

func withoutPinned(c *RoomsConfig) {
	k := c.Kinds["lobby"]
	k.Pinned = false
	c.Kinds["lobby"] = k
}

// A room that fails and is made again at once, as a pinned room of another node, has not ended for those who wait for it.
func TestWaitForARoomThatIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestRooms(t, withoutPinned)
		r := &Room{name: "match/1", kind: "match", state: roomOpening, ready: make(chan struct{})}
		failed := make(chan error, 1)
		go func() {
			_, err := h.awaitOpen(t.Context(), r)
			failed <- err
		}()
		synctest.Wait()
		h.rooms.mu.Lock()
		close(r.ready)
		r.setOpening()
		h.rooms.mu.Unlock()
		synctest.Wait()
		require.Empty(t, failed)
		h.rooms.mu.Lock()
		r.state, r.err = roomFailed, errStays
		close(r.ready)
		h.rooms.mu.Unlock()
		require.Equal(t, errStays, <-failed)
	})
}

// A room has the block of its grant, and is released once, after its last save.
func TestRoomOfAClusterTakesItsBlock(t *testing.T) {
	dir, d := t.TempDir(), newDirectory()
	image := filepath.Join(dir, "match", "a.image")
	inCluster(t, d, func(c *RoomsConfig) { withoutPinned(c); journaledRooms(dir, imagefile.JournalAlways)(c) }, func(h *testRooms, n *testNode) {
		free := make(chan string, 1)
		n.onFree = func(string) {
			store, err := imagefile.Open(image, 0) // the image is saved, and no process has it open
			require.NoError(t, err)
			require.NotZero(t, store.NewestGeneration())
			require.NoError(t, store.Close())
			free <- h.existingRoom("match/a").name // clients do not make it before
		}
		h.mustVisit("match/a")
		time.Sleep(time.Second)
		require.Equal(t, generationsOf(100).First, h.now("match/a").core.World().Config().FirstGeneration)
		require.NoError(t, h.drainRoom("match/a", 0))
		require.Equal(t, "match/a", <-free)
		time.Sleep(time.Second)
		require.Equal(t, []string{"take match/a 100", "release match/a true"}, n.taken())
	})
	inCluster(t, d, func(c *RoomsConfig) { withoutPinned(c); journaledRooms(dir, imagefile.JournalAlways)(c) }, func(h *testRooms, n *testNode) {
		n.giveNext(300)
		require.NoError(t, h.createRoom(context.Background(), "match/a"))
		require.Equal(t, generationsOf(100).First, h.now("match/a").core.World().Config().FirstGeneration, "the run continues in its block")
		require.Equal(t, []string{"take match/a 100"}, n.taken())
	})
}

// Another node has the room: its clients are sent there with their tokens, which were not used, also the clients of a pinned room,
// which this node makes once the other node has left.
func TestRoomOfAnotherNode(t *testing.T) {
	d := newDirectory()
	other := &testNode{sharedDirectory: d, address: "b:2"}
	synctest.Test(t, func(t *testing.T) {
		lobby := must.Get(other.TakeRoom(context.Background(), "lobby", -1))
		match := must.Get(other.TakeRoom(context.Background(), "match/a", -1))
		n := &testNode{sharedDirectory: d, address: "a:1"}
		h := newClusterRooms(t, n, asIs)
		spent, there := 0, func(room string) wire.Error {
			return wire.Error{Code: wire.Moved, Detail: wire.RoomIs + room, Address: "b:2", Token: []byte("ann")}
		}
		admit := h.process.Admit
		h.process.Admit = func(ctx context.Context, token []byte) (Admission, error) {
			spent++
			return admit(ctx, token)
		}
		h.rooms = must.Get(newRooms(h.process, admin.NewTimings(admin.KindLabel)))
		h.begin()
		defer func() { require.NoError(t, h.endRooms()) }()
		for _, room := range []string{"lobby", "match/a"} {
			c := h.greet(func(m *wire.Hello) { m.Room, m.Token = room, []byte("ann") })
			require.Equal(t, there(room), c.Snapshot().Ended)
		}
		n.silent.Store(true) // and may not take the client, nor may this node yet
		require.Equal(t, wire.Draining, h.greet(func(m *wire.Hello) { m.Room, m.Token = "match/a", []byte("ann") }).Snapshot().Ended.Code)
		n.silent.Store(false)
		require.Zero(t, spent)
		c := h.greet(func(m *wire.Hello) { m.Token = []byte("ann") }) // its token might name a room
		require.Equal(t, wire.Error{Code: wire.Moved, Address: "b:2", Token: []byte("ann")}, c.Snapshot().Ended)
		require.Equal(t, map[string]uint64{"join": 3, "lost": 0, "move": 0}, h.clusterReport().Redirects)
		require.Empty(t, h.times(), "no world is made in vain")
		require.False(t, h.report().LastTick.IsZero(), "a node without rooms is healthy")

		lobby.Release(context.Background(), false)
		match.Release(context.Background(), false)
		time.Sleep(2 * brokenFor)
		require.Equal(t, wire.OK, h.greet(func(m *wire.Hello) { m.Room = "lobby" }).code())
		require.Equal(t, wire.OK, h.greet(func(m *wire.Hello) { m.Room = "match/a" }).code())

		before := spent
		n.grant("match/a").runs.Store(false)
		time.Sleep(2 * staleTick)
		require.Equal(t, errStalled.Detail, h.greet(func(m *wire.Hello) { m.Room, m.Token = "match/a", []byte("ann") }).Snapshot().Ended.Detail)
		require.Equal(t, before, spent)
		n.grant("match/a").runs.Store(true)
	})
}

// A client whose session is here resumes it, wherever its Hello believes the room to be.
func TestPresentSessionIsNotRedirected(t *testing.T) {
	d := newDirectory()
	inCluster(t, d, asIs, func(h *testRooms, n *testNode) {
		was := h.greet(func(m *wire.Hello) { m.Room = "match/a" })
		welcome := was.newestWelcome()
		other := &testNode{sharedDirectory: d, address: "b:2"}
		must.Get(other.TakeRoom(context.Background(), "match/old", -1))
		back := h.greet(func(m *wire.Hello) {
			m.Room, m.Session, m.Secret, m.Structure = "match/old", welcome.Session, welcome.Secret, welcome.Structure
		})
		require.EqualValues(t, 1, back.newestWelcome().Resumed)
	})
}

// A frozen room neither steps nor sends nor saves. Its connections stay. It continues as soon as it may.
func TestRoomFreezesAndThaws(t *testing.T) {
	dir := t.TempDir()
	inCluster(t, newDirectory(), func(c *RoomsConfig) { c.Images = RoomImages{Dir: dir, Every: time.Second} }, func(h *testRooms, n *testNode) {
		newest := h.followTick("match/a")
		c := h.mustVisit("match/a")
		time.Sleep(5 * time.Second)
		now, g := h.now("match/a"), n.grant("match/a")
		g.runs.Store(false)
		time.Sleep(100 * time.Millisecond)
		tick, sent, saved := newest(), c.Snapshot(), now.loop.saver.report().Saved
		time.Sleep(20 * time.Second)
		require.Equal(t, tick, newest())
		require.Equal(t, sent, c.Snapshot())
		require.Equal(t, saved, now.loop.saver.report().Saved)
		require.Equal(t, wire.OK, c.code())
		require.Equal(t, "frozen", (&Server{rooms: h.rooms}).stateOf(h.existingRoom("match/a")))
		require.Zero(t, time.Since(now.loop.report().LastTick), "probes let the process live")
		require.Equal(t, 1, h.clusterReport().FrozenRooms)
		_, err := h.visit("match/a")
		require.Equal(t, wire.Internal, wire.CodeOf(err), "clients ask again")
		require.Equal(t, wire.OK, h.mustVisit("match/b").code(), "other rooms run")

		g.runs.Store(true)
		time.Sleep(time.Second)
		require.InDelta(t, 50, newest()-tick, 5, "no ticks are made up for")
		require.Zero(t, now.loop.report().Tick.Missed)
		require.Greater(t, c.Snapshot().Newest, sent.Newest)
		figures := h.clusterReport()
		require.Equal(t, []admin.ClusterNode{{Name: "a:1", Addresses: []string{"a:1"}}}, figures.Nodes)
		require.Zero(t, figures.FrozenRooms)
		require.InDelta(t, 20, figures.Frozen.Seconds(), 0.2)
		require.Len(t, h.logs.FilterMessageSnippet("frozen").All(), 1)
	})
}

// A room that may run when a tick begins, and not when it has stepped, sends nothing. A save that has begun is not written.
func TestRightEndsWithinATick(t *testing.T) {
	inCluster(t, newDirectory(), func(c *RoomsConfig) { c.Images = RoomImages{Dir: t.TempDir(), Every: time.Second} }, func(h *testRooms, n *testNode) {
		c := h.mustVisit("match/a")
		time.Sleep(1500 * time.Millisecond)
		now, g := h.now("match/a"), n.grant("match/a")
		require.NoError(t, now.loop.runBetweenTicks(context.Background(), func() {
			g.runs.Store(false)
			now.loop.saver.saving.Wait()
			require.ErrorIs(t, now.loop.saver.saveNow(), errMayNotSave)
			g.runs.Store(true)
		}))
		var last atomic.Uint64
		h.in("match/a", func(w *world.World) {
			last.Store(w.Tick())
			g.runs.Store(false)
		})
		time.Sleep(time.Second)
		require.Less(t, uint64(c.Snapshot().Tick), last.Load())
		h.in("match/a", nil)
		g.runs.Store(true)
	})
}

// Output that waits for the disk does not leave while the room must not run, also when its tick has become durable: what a lost room
// would have told its clients is never told.
func TestHeldOutputWaitsForTheRight(t *testing.T) {
	for _, lost := range []bool{false, true} {
		inCluster(t, newDirectory(), journaledRooms(t.TempDir(), imagefile.JournalAlways), func(h *testRooms, n *testNode) {
			h.mustVisit("match/a")
			time.Sleep(1500 * time.Millisecond)
			now, g := h.now("match/a"), n.grant("match/a")
			h.in("match/a", func(*world.World) {
				if now.core.Active() == 2 {
					g.runs.Store(false) // in the tick that has welcomed the second client
				}
			})
			second := h.mustVisit("match/a")
			time.Sleep(time.Second)
			require.False(t, g.MayRun())
			require.Empty(t, second.Snapshot().Welcomes)
			h.in("match/a", nil)
			if lost {
				n.lose("match/a", &testNode{sharedDirectory: n.sharedDirectory, address: "b:1"})
			} else {
				g.runs.Store(true)
			}
			time.Sleep(time.Second)
			require.Equal(t, lost, len(second.Snapshot().Welcomes) == 0)
		})
	}
}

// A lost room ends without a step and without saving, and its sessions with a code that clients retry: they are then sent to the new node.
func TestLostRoomEndsUnsaved(t *testing.T) {
	dir, d := t.TempDir(), newDirectory()
	other := &testNode{sharedDirectory: d, address: "b:2"}
	inCluster(t, d, func(c *RoomsConfig) { c.Images = RoomImages{Dir: dir, Every: time.Second} }, func(h *testRooms, n *testNode) {
		for _, room := range []string{"match/a", "lobby"} {
			newest := h.followTick(room)
			c := h.greet(func(m *wire.Hello) { m.Room = room })
			time.Sleep(2500 * time.Millisecond)
			n.grant(room).runs.Store(false)
			time.Sleep(2 * time.Second)
			tick, left := newest(), filesIn(t, dir)
			n.lose(room, other)
			synctest.Wait()
			require.Equal(t, wire.Draining, c.code())
			require.Equal(t, tick, newest())
			require.Equal(t, left, filesIn(t, dir))
			time.Sleep(time.Second)
			require.Equal(t, wire.Moved, h.greet(func(m *wire.Hello) { m.Room = room }).code())
		}
		require.Equal(t, []string{"lobby"}, h.names(), "the pinned room waits for its turn")
		figures := h.clusterReport()
		require.EqualValues(t, 2, figures.Lost)
		require.EqualValues(t, 2, figures.Redirects["lost"])
		other.grant("lobby").Release(context.Background(), false)
		time.Sleep(2 * brokenFor)
		require.Equal(t, wire.OK, h.greet(func(m *wire.Hello) { m.Room = "lobby" }).code())
	})
}

// A room that is restored after a panic keeps the grant if its run continues, and takes another block for a new run.
func TestPanicKeepsTheGrant(t *testing.T) {
	for mode, events := range map[imagefile.JournalMode][]string{
		imagefile.JournalAlways: nil,
		imagefile.JournalOff:    {"release match/a true", "take match/a 101"}, // it hands the room to itself: no other node takes it meanwhile
	} {
		dir := t.TempDir()
		config := func(c *RoomsConfig) {
			journaledRooms(dir, mode)(c)
			withoutPinned(c)
		}
		inCluster(t, newDirectory(), config, func(h *testRooms, n *testNode) {
			h.mustVisit("match/a")
			time.Sleep(2 * time.Second)
			require.Equal(t, []string{"take match/a 100"}, n.taken())
			was := h.now("match/a")
			h.in("match/a", func(*world.World) {
				h.in("match/a", nil)
				panic("a mistake")
			})
			time.Sleep(2 * time.Second)
			require.NotSame(t, was, h.now("match/a"))
			require.Equal(t, mode == imagefile.JournalAlways, was.core.Config().Epoch == h.now("match/a").core.Config().Epoch)
			require.Equal(t, events, n.taken())
			require.True(t, n.grant("match/a").MayRun())
		})
	}
}

// A cluster gives any free block to a new run of a stored room, also one below the blocks of its earlier runs. A block that an
// earlier run had is given back.
func TestStoredRoomBeginsInAnyBlock(t *testing.T) {
	dir, d, tick := t.TempDir(), newDirectory(), uint64(0)
	for _, block := range []int{100, 30, 200} {
		inCluster(t, d, func(c *RoomsConfig) { withoutPinned(c); c.Images.Dir = dir }, func(h *testRooms, n *testNode) {
			visit := func(want int) {
				h.mustVisit("match/a")
				time.Sleep(time.Second)
				require.Equal(t, want, blockOf(h.now("match/a").core.World().Config().FirstGeneration))
				require.Greater(t, h.tick("match/a"), tick, "it continues from its image")
				tick = h.tick("match/a")
			}
			n.giveNext(block)
			visit(block)
			require.NoError(t, h.drainRoom("match/a", 0))
			time.Sleep(time.Second)
			require.NoError(t, h.createRoom(context.Background(), "match/a"))
			require.NoError(t, h.drainRoom("match/a", 0))
			time.Sleep(time.Second)
			n.giveNext(block + 1) // the newest run had it
			require.NoError(t, h.createRoom(context.Background(), "match/a"))
			visit(block + 2)
		})
	}
}

// A cluster that does not answer refuses clients for a moment, and no world is made.
func TestRoomThatCannotBeTaken(t *testing.T) {
	inCluster(t, newDirectory(), asIs, func(h *testRooms, n *testNode) {
		failed := errors.New("the directory does not answer")
		n.fails.Store(&failed)
		_, err := h.visit("match/a")
		require.Equal(t, wire.Internal, wire.CodeOf(err))
		require.Zero(t, h.times()["match/a"])
		n.fails.Store(nil)
		time.Sleep(2 * brokenFor)
		h.mustVisit("match/a")
		require.EqualValues(t, 1, h.clusterReport().Takes["failed"])
	})
}

// The start of a server does not fail for a pinned room for whose lease it has to wait. The room is taken later.
func TestPinnedRoomWaitsForTheCluster(t *testing.T) {
	d := newDirectory()
	n := &testNode{sharedDirectory: d, address: "a:1"}
	synctest.Test(t, func(t *testing.T) {
		n.waits.Store(true)
		h := newClusterRooms(t, n, asIs)
		h.begin()
		require.NoError(t, h.startPinned(t.Context()))
		n.waits.Store(false)
		time.Sleep(2 * brokenFor)
		h.mustVisit("lobby")
		require.NoError(t, h.endRooms())
		h.descriptors.close()
	})
}

// A pinned room of another node is not asked for again before that node has released it, and then at once.
func TestStandbyOfAPinnedRoom(t *testing.T) {
	d := newDirectory()
	other, n := &testNode{sharedDirectory: d, address: "b:2"}, &testNode{sharedDirectory: d, address: "a:1"}
	synctest.Test(t, func(t *testing.T) {
		lobby := must.Get(other.TakeRoom(context.Background(), "lobby", -1))
		h := newClusterRooms(t, n, asIs)
		h.begin()
		time.Sleep(standbyFor / 2)
		require.EqualValues(t, 1, n.takes.Load())
		lobby.Release(context.Background(), false)
		time.Sleep(20 * time.Millisecond)
		require.NotNil(t, h.now("lobby"))
		require.EqualValues(t, 2, n.takes.Load())
		require.NoError(t, h.endRooms())
		h.descriptors.close()
	})
}

// A frozen room that ends is closed to clients, also while the cluster has not answered its release.
func TestFrozenRoomThatEndsIsClosed(t *testing.T) {
	inCluster(t, newDirectory(), withoutPinned, func(h *testRooms, n *testNode) {
		released := make(chan struct{})
		defer close(released)
		n.onFree = func(string) { <-released }
		h.mustVisit("match/a")
		time.Sleep(time.Second)
		n.grant("match/a").runs.Store(false)
		r := h.existingRoom("match/a")
		require.NoError(t, r.End("won"))
		time.Sleep(2 * thawTimeout)
		require.Nil(t, r.run.Load())
		require.Equal(t, "ending", (&Server{rooms: h.rooms}).stateOf(r))
		_, err := h.visit("match/a")
		require.Equal(t, wire.CodeOf(errClosing), wire.CodeOf(err))
	})
}

// A room that cannot be made after it was taken is released.
func TestFailedRoomIsReleased(t *testing.T) {
	inCluster(t, newDirectory(), withoutPinned, func(h *testRooms, n *testNode) {
		h.failing("match/a", errors.New("no map"))
		_, err := h.visit("match/a")
		require.Equal(t, wire.Internal, wire.CodeOf(err))
		time.Sleep(2 * brokenFor)
		require.Equal(t, []string{"take match/a 100", "release match/a false"}, n.taken())
	})
}

// A session that moves to a room of another node stays.
func TestMoveToAnotherNodeIsRefused(t *testing.T) {
	d := newDirectory()
	inCluster(t, d, asIs, func(h *testRooms, n *testNode) {
		other := &testNode{sharedDirectory: d, address: "b:2"}
		must.Get(other.TakeRoom(context.Background(), "match/there", -1))
		c := h.mustVisit("lobby")
		time.Sleep(time.Second)
		now, moved := h.now("lobby"), error(nil)
		require.NoError(t, now.loop.runBetweenTicks(context.Background(), func() {
			for s := range now.core.Sessions() {
				moved = s.Move("match/there")
			}
		}))
		require.ErrorContains(t, moved, "another node")
		require.Equal(t, wire.OK, c.code())
	})
}

// A server that ends while its rooms are frozen waits for a moment, and then leaves the disk as it is.
func TestFrozenRoomsEndUnsaved(t *testing.T) {
	dir := t.TempDir()
	for thaws, unsaved := range map[bool]string{true: "", false: "does not let the room run"} {
		synctest.Test(t, func(t *testing.T) {
			n := &testNode{sharedDirectory: newDirectory(), address: "a:1"}
			h := newClusterRooms(t, n, func(c *RoomsConfig) { c.Images = RoomImages{Dir: dir, Every: time.Hour} })
			newest := h.followTick("lobby")
			h.begin()
			c := h.mustVisit("lobby")
			time.Sleep(time.Second)
			g, path := n.grant("lobby"), filepath.Join(dir, "lobby.image")
			before := must.Get(os.ReadFile(path))
			g.runs.Store(false)
			time.Sleep(time.Second)
			tick := newest()
			if thaws {
				time.AfterFunc(time.Second, func() { g.runs.Store(true) })
			}
			err := h.endRooms()
			h.descriptors.close()
			require.Equal(t, wire.Draining, c.code())
			if unsaved == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, unsaved)
			}
			require.Equal(t, tick, newest())
			require.Equal(t, thaws, !slices.Equal(before, must.Get(os.ReadFile(path))))
		})
	}
}

// A server of one world shares no rooms.
func TestClusterNeedsRooms(t *testing.T) {
	w := stage.NewCrates(world.Config{TickHz: 50, MaxEntities: 8})
	c := Config{Listen: "127.0.0.1:0", WorldConfig: WorldConfig{World: w.World}, Cluster: &testNode{}}
	require.ErrorContains(t, c.Validate(), "Cluster without Rooms")
}

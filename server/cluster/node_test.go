package cluster_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"
	"go.uber.org/zap/zaptest/observer"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/server/cluster"
)

// nodes opens nodes of one directory, in the time of a synctest bubble.
type nodes struct {
	t     *testing.T
	store cluster.Store
	seed  uint64
}

func (ns *nodes) config(name string) cluster.Config {
	ns.seed++
	return cluster.Config{
		Store: ns.store, Name: name, Addrs: []string{name + ".example:4433"},
		Random: rand.New(rand.NewPCG(ns.seed, 0)), Now: time.Now, AfterFunc: time.AfterFunc, Log: zaptest.NewLogger(ns.t),
	}
}

func (ns *nodes) open(name string) *cluster.Node {
	return must.Get(cluster.Open(ns.t.Context(), ns.config(name)))
}

func (ns *nodes) entries(prefix string) []cluster.Entry {
	all, _, err := cluster.ReadAll(ns.t.Context(), ns.store, prefix)
	require.NoError(ns.t, err)
	return all
}

func inBubble(t *testing.T, f func(t *testing.T, ns *nodes)) {
	synctest.Test(t, func(t *testing.T) {
		f(t, &nodes{t: t, store: cluster.NewMemory()})
	})
}

// A room runs on one node, is released, and runs on another one in another block with a higher epoch.
func TestRoomRunsOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, ns *nodes) {
		ctx := t.Context()
		a, b := ns.open("a"), ns.open("b")
		held := must.Get(a.Take(ctx, "arena/1", cluster.AnyBlock))
		require.True(t, held.MayRun())

		_, err := b.Take(ctx, "arena/1", cluster.AnyBlock)
		var elsewhere *cluster.ElsewhereError
		require.ErrorAs(t, err, &elsewhere)
		require.Equal(t, []string{"a.example:4433"}, elsewhere.Addrs)
		_, err = a.Take(ctx, "arena/1", cluster.AnyBlock)
		require.ErrorIs(t, err, cluster.ErrHeld)
		found := must.Get(b.Find(ctx, "arena/1"))
		require.Less(t, found.Silent, 2*time.Second)
		found.Silent = 0
		require.Equal(t, cluster.Location{Node: "a", Addrs: []string{"a.example:4433"}, Epoch: held.Epoch()}, found)

		changed := b.Changed("arena/1")
		time.Sleep(time.Minute)
		require.True(t, held.MayRun())
		select {
		case <-changed:
			require.Fail(t, "renewals change nothing")
		default:
		}
		require.NoError(t, held.Release(ctx, false))
		<-changed
		require.False(t, held.MayRun())
		synctest.Wait()
		again := must.Get(b.Take(ctx, "arena/1", cluster.AnyBlock))
		require.Greater(t, again.Epoch(), held.Epoch())
		require.NotEqual(t, held.Block(), again.Block())
		require.NoError(t, a.Close(ctx))
		require.NoError(t, b.Close(ctx))
		require.False(t, again.MayRun())
	})
}

// The rooms of a node that ends without a word run elsewhere after its lease, and no earlier.
func TestSilentNode(t *testing.T) {
	inBubble(t, func(t *testing.T, ns *nodes) {
		ctx := t.Context()
		silent := &cut{Store: ns.store}
		config := ns.config("a")
		config.Store = silent
		a := must.Get(cluster.Open(ctx, config))
		b := ns.open("b")
		held := must.Get(a.Take(ctx, "arena/1", cluster.AnyBlock))
		time.Sleep(time.Minute)
		changed := b.Changed("arena/1")
		silent.isCut.Store(true)
		began := time.Now()
		time.Sleep(3 * time.Second) // until b waits for the end of the lease, instead of naming the owner
		taken := must.Get(b.Take(ctx, "arena/1", cluster.AnyBlock))
		require.False(t, held.MayRun())
		t.Log("elsewhere after", time.Since(began))
		require.Greater(t, taken.Epoch(), held.Epoch())
		<-changed
		silent.isCut.Store(false)
		<-held.Lost()
		require.NoError(t, a.Close(ctx))
		require.NoError(t, b.Close(ctx))
	})
}

// cut is a Store that the node does not reach for a while.
type cut struct {
	cluster.Store
	isCut atomic.Bool
}

func (c *cut) Swap(ctx context.Context, swaps ...cluster.Swap) (uint64, error) {
	if c.isCut.Load() {
		<-ctx.Done()
		return 0, cluster.ErrUnknown
	}
	return c.Store.Swap(ctx, swaps...)
}

func (c *cut) Read(ctx context.Context, r cluster.Range) (cluster.Page, error) {
	if c.isCut.Load() {
		<-ctx.Done()
		return cluster.Page{}, ctx.Err()
	}
	return c.Store.Read(ctx, r)
}

// lose closes a node that does not reach the directory.
func (ns *nodes) lose(n *cluster.Node) {
	ctx, cancel := context.WithTimeout(ns.t.Context(), time.Second)
	defer cancel()
	require.ErrorIs(ns.t, n.Close(ctx), context.DeadlineExceeded)
}

// A process that starts again under its name takes its rooms at once if it knows that its predecessor has ended, and else after that
// one's lease.
func TestSuccessor(t *testing.T) {
	for _, knows := range []bool{true, false} {
		inBubble(t, func(t *testing.T, ns *nodes) {
			dead := &cut{Store: ns.store}
			config := ns.config("a")
			config.Store = dead
			first := must.Get(cluster.Open(t.Context(), config))
			held := must.Get(first.Take(t.Context(), "arena", cluster.AnyBlock))
			dead.isCut.Store(true)
			next := ns.config("a")
			if knows {
				next.Past.Incarnations = []string{first.Status().Incarnation}
			}
			ns.lose(first)

			began := time.Now()
			second := must.Get(cluster.Open(t.Context(), next))
			again := must.Get(second.Take(t.Context(), "arena", held.Block()))
			require.Equal(t, held.Block(), again.Block(), "the stored run continues")
			require.Greater(t, again.Epoch(), held.Epoch())
			if waited := time.Since(began); knows {
				require.Less(t, waited, time.Second)
			} else {
				require.Greater(t, waited, 4*time.Second)
				require.Less(t, waited, 6*time.Second)
			}
			require.NoError(t, second.Close(t.Context()))
		})
	}
}

// A node keeps each incarnation before the directory has it. A disk that refuses or does not answer does not keep the node from the
// cluster.
func TestKeep(t *testing.T) {
	inBubble(t, func(t *testing.T, ns *nodes) {
		keeping := make(chan cluster.Past, 10)
		config := ns.config("a")
		config.Keep = func(p cluster.Past) error {
			for _, e := range ns.entries("node/a") {
				require.NotContains(t, string(e.Value), p.Incarnations[len(p.Incarnations)-1])
			}
			keeping <- p
			return nil
		}
		silent := &cut{Store: ns.store}
		config.Store = silent
		config.Past.Incarnations = []string{"00000000000000b2"}
		a, b := must.Get(cluster.Open(t.Context(), config)), ns.open("b")
		first := <-keeping
		require.Equal(t, cluster.Past{Directory: a.Status().Directory, Incarnations: []string{"00000000000000b2", a.Status().Incarnation}}, first)
		silent.isCut.Store(true)
		time.Sleep(time.Minute) // b writes a's tombstone
		silent.isCut.Store(false)
		time.Sleep(time.Second)
		require.Equal(t, append(first.Incarnations, a.Status().Incarnation), (<-keeping).Incarnations)
		require.Empty(t, keeping)
		require.NoError(t, a.Close(t.Context()))
		require.NoError(t, b.Close(t.Context()))
	})
	for name, keep := range map[string]func(cluster.Past) error{
		"refuses": func(cluster.Past) error { return errors.New("full") },
		"hangs":   func(cluster.Past) error { time.Sleep(time.Hour); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, ns *nodes) {
				seen, logs := observer.New(zap.WarnLevel)
				config := ns.config("a")
				config.Keep, config.Log = keep, zap.New(seen)
				began := time.Now()
				a := must.Get(cluster.Open(t.Context(), config))
				require.Less(t, time.Since(began), 3*time.Second)
				require.Equal(t, 1, logs.FilterMessageSnippet("file was not written").Len())
				require.NoError(t, a.Close(t.Context()))
			})
		})
	}
}

// Two processes under one name: the second one is refused, and the first one continues.
func TestNameInUse(t *testing.T) {
	inBubble(t, func(t *testing.T, ns *nodes) {
		first := ns.open("a")
		held := must.Get(first.Take(t.Context(), "arena", cluster.AnyBlock))
		_, err := cluster.Open(t.Context(), ns.config("a"))
		require.ErrorIs(t, err, cluster.ErrNameInUse)
		time.Sleep(time.Minute)
		require.True(t, held.MayRun())
		require.NoError(t, first.Close(t.Context()))
	})
}

// A node with another lease does not join: one of them would wait too short for the end of the other. The first node writes its lease
// into a directory that has none, of an earlier version.
func TestOneLeaseForAll(t *testing.T) {
	inBubble(t, func(t *testing.T, ns *nodes) {
		must.Get(ns.store.Swap(t.Context(), cluster.Swap{Key: "id", Value: []byte(`{"v":1,"id":"00000000000000a1","settled":true}`)}))
		first := ns.open("a")
		synctest.Wait()
		require.Contains(t, string(ns.entries("id")[0].Value), `"lease_ms":5000`)
		config := ns.config("b")
		config.Lease = 7 * time.Second
		_, err := cluster.Open(t.Context(), config)
		var refused *cluster.LeaseError
		require.ErrorAs(t, err, &refused)
		require.ErrorContains(t, err, "a lease of 7s, and the nodes of this directory have 5s")
		require.NoError(t, ns.open("c").Close(t.Context()))
		require.NoError(t, first.Close(t.Context()))

		must.Get(cluster.Adopt(t.Context(), ns.store, config.Random, "00000000000000a1"))
		require.NoError(t, must.Get(cluster.Open(t.Context(), config)).Close(t.Context()), "the operator has changed the lease")
	})
}

// replaceable is a Store whose directory is replaced. Watches of the one before hear nothing more.
type replaceable struct{ atomic.Pointer[cluster.Memory] }

func (r *replaceable) Swap(ctx context.Context, swaps ...cluster.Swap) (uint64, error) {
	return r.Load().Swap(ctx, swaps...)
}

func (r *replaceable) Read(ctx context.Context, keys cluster.Range) (cluster.Page, error) {
	return r.Load().Read(ctx, keys)
}

func (r *replaceable) Watch(ctx context.Context, prefix string, from uint64, f func(cluster.Entry)) error {
	return r.Load().Watch(ctx, prefix, from, f)
}

// After the directory was wiped, rooms stand still, also if another node has founded a new one meanwhile. They continue, each in its
// block, when an operator adopts the directory (C9).
func TestWipedDirectory(t *testing.T) {
	inBubble(t, func(t *testing.T, ns *nodes) {
		store := &replaceable{}
		store.Store(cluster.NewMemory())
		ns.store = store
		a, b := ns.open("a"), ns.open("b")
		held, lobby := must.Get(a.Take(t.Context(), "arena", cluster.AnyBlock)), must.Get(b.Take(t.Context(), "lobby", cluster.AnyBlock))
		block, epoch := held.Block(), held.Epoch()
		known := a.Status().Directory

		synctest.Wait()
		store.Store(cluster.NewMemory())
		time.Sleep(2 * time.Second)
		require.False(t, held.MayRun())
		require.False(t, lobby.MayRun())
		_, err := a.Take(t.Context(), "cellar", cluster.AnyBlock)
		require.ErrorIs(t, err, cluster.ErrForeign)
		_, err = a.Find(t.Context(), "arena")
		require.ErrorIs(t, err, cluster.ErrForeign)

		old := ns.config("d")
		old.Past.Directory = known
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err = cluster.Open(ctx, old)
		require.ErrorIs(t, err, cluster.ErrForeign)

		c := ns.open("c")
		time.Sleep(time.Minute)
		require.False(t, held.MayRun())
		id := must.Get(cluster.Adopt(t.Context(), store, rand.New(rand.NewPCG(1, 1)), known))
		time.Sleep(10 * time.Second)
		require.True(t, held.MayRun())
		require.True(t, lobby.MayRun())
		require.Equal(t, block, held.Block())
		require.Greater(t, held.Epoch(), epoch)
		for _, n := range []*cluster.Node{a, b, c} {
			require.Equal(t, id, n.Status().Directory)
			require.Empty(t, n.Status().Foreign)
			require.Len(t, n.Status().Rooms, 2)
			require.NoError(t, n.Close(t.Context()))
		}
	})
}

// A caller that waits for a room gives up when its context ends.
func TestTakeGivesUp(t *testing.T) {
	inBubble(t, func(t *testing.T, ns *nodes) {
		a := ns.open("a") // has just founded the directory: nothing can be taken yet
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := a.Take(ctx, "arena", cluster.AnyBlock)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		held := must.Get(a.Take(t.Context(), "arena", cluster.AnyBlock))
		require.NoError(t, a.Close(t.Context()))
		require.False(t, held.MayRun())
		require.NoError(t, held.Release(t.Context(), false), "closing has released it")
		_, err = a.Take(t.Context(), "arena", cluster.AnyBlock)
		require.ErrorIs(t, err, cluster.ErrClosed)
	})
}

// A node that closes runs no room while it releases them, and leaves as soon as they are released.
func TestCloseEndsPermissionsFirst(t *testing.T) {
	inBubble(t, func(t *testing.T, ns *nodes) {
		silent := &cut{Store: ns.store}
		config := ns.config("a")
		config.Store = silent
		a, b := must.Get(cluster.Open(t.Context(), config)), ns.open("b")
		held := must.Get(a.Take(t.Context(), "arena", cluster.AnyBlock))
		time.Sleep(10 * time.Second)

		began := time.Now()
		require.NoError(t, b.Close(t.Context()))
		require.Zero(t, time.Since(began), "b has waited for its next renewal")
		silent.isCut.Store(true)
		closed := make(chan error)
		go func() { closed <- a.Close(context.Background()) }()
		synctest.Wait()
		require.False(t, held.MayRun(), "the swap may have given the room away")
		silent.isCut.Store(false)
		require.NoError(t, <-closed)
	})
}

// Nothing is opened with a configuration that other nodes would not accept.
func TestConfig(t *testing.T) {
	for want, change := range map[string]func(*cluster.Config){
		"needs Store":            func(c *cluster.Config) { c.Store = nil },
		"name \"a b\"":           func(c *cluster.Config) { c.Name = "a b" },
		"0 addresses":            func(c *cluster.Config) { c.Addrs = nil },
		"a lease of 1 ms":        func(c *cluster.Config) { c.Lease = time.Millisecond },
		"directory \"x\"":        func(c *cluster.Config) { c.Past.Directory = "x" },
		"past incarnation \"y\"": func(c *cluster.Config) { c.Past.Incarnations = []string{"y"} },
	} {
		c := (&nodes{t: t, store: cluster.NewMemory()}).config("a")
		change(&c)
		require.ErrorContains(t, must.Fail(cluster.Open(t.Context(), c)), want)
	}
}

// A tick asks MayRun before each of its steps (C10).
func TestMayRunAllocatesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, ns *nodes) {
		a := ns.open("a")
		held := must.Get(a.Take(t.Context(), "arena", cluster.AnyBlock))
		require.Zero(t, testing.AllocsPerRun(100, func() {
			if !held.MayRun() {
				t.Error("it may run")
			}
		}))
		require.NoError(t, a.Close(t.Context()))
	})
}

// The caller of SetImage learns what became of it, and other nodes where the image is.
func TestSetImage(t *testing.T) {
	inBubble(t, func(t *testing.T, ns *nodes) {
		ctx := t.Context()
		a, b := ns.open("a"), ns.open("b")
		image := func(tick uint64) *cluster.Image {
			return &cluster.Image{Epoch: 1, Tick: tick, Sum: strings.Repeat("0a", 32), Nodes: []string{"a", "gone"}}
		}
		held := must.Get(a.Take(ctx, "arena/1", cluster.AnyBlock))
		require.Nil(t, held.Image())
		require.NoError(t, held.SetImage(ctx, image(3)))
		require.Equal(t, image(3), held.Image())
		ended, cancel := context.WithCancel(ctx)
		cancel()
		_ = held.SetImage(ended, image(4)) // the directory may name it
		require.NoError(t, held.SetImage(ctx, image(5)))
		require.NoError(t, held.Release(ctx, false))
		require.ErrorIs(t, held.SetImage(ctx, image(6)), cluster.ErrNotOwner)
		synctest.Wait()
		at := must.Get(b.FindImage("arena/1"))
		require.Equal(t, cluster.ImageLocation{Image: image(5), Addrs: []string{"a.example:4433"}}, at)
		require.Empty(t, must.Get(a.FindImage("arena/1")).Addrs, "it is this node")
		require.Nil(t, must.Get(b.FindImage("arena/2")).Image)
		require.Equal(t, image(5), must.Get(b.Take(ctx, "arena/1", cluster.AnyBlock)).Image())
		require.NoError(t, a.Close(ctx))
		require.NoError(t, b.Close(ctx))
	})
}

// An operator lets a room that nobody runs begin without its newest image.
func TestForgetImage(t *testing.T) {
	inBubble(t, func(t *testing.T, ns *nodes) {
		ctx := t.Context()
		a := ns.open("a")
		forget := func(room string) error {
			_, err := cluster.ForgetImage(ctx, ns.store, room)
			return err
		}
		require.ErrorContains(t, forget("arena/1"), "has no image, and no node")
		require.ErrorContains(t, forget(""), "1 to 128 visible")
		held := must.Get(a.Take(ctx, "arena/1", cluster.AnyBlock))
		require.ErrorContains(t, forget("arena/1"), "runs on node a")
		image := &cluster.Image{Epoch: 1, Sum: strings.Repeat("0a", 32), Nodes: []string{"lost"}}
		copied, other := *image, *image
		copied.Nodes, other.Tick = []string{"lost", "b"}, 1
		require.NoError(t, held.SetImage(ctx, image))
		require.ErrorContains(t, cluster.NameCopies(ctx, ns.store, "arena/1", &copied), "runs on node a", "its next save has copies")
		require.NoError(t, held.Release(ctx, false))
		require.ErrorContains(t, cluster.NameCopies(ctx, ns.store, "arena/1", &other), "another one by now")
		require.NoError(t, cluster.NameCopies(ctx, ns.store, "arena/1", &copied))
		synctest.Wait()
		require.Equal(t, []cluster.ImageStatus{{Room: "arena/1", Image: &copied}}, a.Status().Images)
		require.NoError(t, forget("arena/1"))
		synctest.Wait()
		require.True(t, must.Get(a.Take(ctx, "arena/1", cluster.AnyBlock)).Image().Any)
		require.NoError(t, a.Close(ctx))
	})
}

package cluster_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zaptest"

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
		require.Equal(t, cluster.Location{Node: "a", Addrs: []string{"a.example:4433"}, Epoch: held.Epoch()}, must.Get(b.Find(ctx, "arena/1")))

		time.Sleep(time.Minute)
		require.True(t, held.MayRun())
		require.NoError(t, held.Release(ctx, false))
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
		silent.isCut = true
		began := time.Now()
		time.Sleep(3 * time.Second) // until b waits for the end of the lease, instead of naming the owner
		taken := must.Get(b.Take(ctx, "arena/1", cluster.AnyBlock))
		require.False(t, held.MayRun())
		t.Log("elsewhere after", time.Since(began))
		require.Greater(t, taken.Epoch(), held.Epoch())
		silent.isCut = false
		<-held.Lost()
		require.NoError(t, a.Close(ctx))
		require.NoError(t, b.Close(ctx))
	})
}

// cut is a Store that the node does not reach for a while.
type cut struct {
	cluster.Store
	isCut bool
}

func (c *cut) Swap(ctx context.Context, swaps ...cluster.Swap) (uint64, error) {
	if c.isCut {
		<-ctx.Done()
		return 0, cluster.ErrUnknown
	}
	return c.Store.Swap(ctx, swaps...)
}

func (c *cut) Read(ctx context.Context, prefix string) ([]cluster.Entry, uint64, error) {
	if c.isCut {
		<-ctx.Done()
		return nil, 0, ctx.Err()
	}
	return c.Store.Read(ctx, prefix)
}

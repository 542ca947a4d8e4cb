package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/cluster"
	"github.com/worldd/worldd/server/cluster/link"
	"github.com/worldd/worldd/server/imagefile"
)

// copyNode is a node that keeps copies, with a link to the others. It has no rooms.
type copyNode struct {
	*copies
	dir  string
	logs *observer.ObservedLogs
	end  func() // leaves the cluster
}

// newCopyNode returns a node whose copies lie in dir. change, unless nil, changes it before it serves.
func newCopyNode(t *testing.T, store cluster.Store, name, dir string, change func(*node)) *copyNode {
	core, logs := observer.New(zap.InfoLevel)
	n := &node{log: zap.New(core)}
	n.link = must.Get(link.New(link.Config{FindNode: n.findPeer, FindHolder: n.findHolder, Log: n.log}))
	udp := must.Get(net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}))
	transport := &quic.Transport{Conn: udp}
	port := must.Get(transport.Listen(n.link.TLS(), &quic.Config{MaxIncomingStreams: 1, MaxIncomingUniStreams: -1}))
	n.Node = must.Get(cluster.Open(t.Context(), cluster.Config{
		Store: store, Name: name, Addrs: []string{udp.LocalAddr().String()}, Fingerprint: n.link.Fingerprint(), Lease: time.Minute,
		Random: rand.New(rand.NewPCG(uint64(name[0]), 0)), Now: time.Now, AfterFunc: time.AfterFunc,
	}))
	c := must.Get(n.keepCopies(dir, 2))
	c.directory = store
	if change != nil {
		change(n)
	}
	n.joined.Store(true)
	ctx, stop := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() {
		for {
			conn, err := port.Accept(ctx)
			if err != nil {
				return
			}
			work.Go(func() { n.link.Serve(ctx, conn) })
		}
	})
	end := sync.OnceFunc(func() {
		c.stop()
		require.NoError(t, n.Close(context.Background()))
		stop()
		require.NoError(t, transport.Close())
		require.NoError(t, udp.Close())
		work.Wait()
		require.NoError(t, n.link.Close())
	})
	t.Cleanup(end)
	return &copyNode{c, dir, logs, end}
}

// awaitPeers waits until a node knows so many others.
func (c *copyNode) awaitPeers(t *testing.T, n int) {
	require.Eventually(t, func() bool { return len(c.node.Living()) == n }, soon, time.Millisecond)
}

// newImage returns an image in a file.
func newImage(t *testing.T, nodes ...string) (server.RoomImage, string) {
	text := slices.Repeat([]byte("an image "), 20_000)
	path, sum := filepath.Join(t.TempDir(), "match.image"), sha256.Sum256(text)
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return server.RoomImage{Epoch: 3, Tick: 7, Bytes: int64(len(text)), Sum: hex.EncodeToString(sum[:]), Nodes: nodes}, path
}

// A save waits for a node with a full disk and for one that does not read only so long, keeps its own copy, and says how many others have one.
func TestCopiesOnBadNodes(t *testing.T) {
	full := t.TempDir()
	if !mountSmallDisk(t, full) {
		t.Skip("SKIPPED: NO DISK WAS FULL: mounting one needs Linux and privileges")
	}
	store := cluster.NewMemory()
	a := newCopyNode(t, store, "a", t.TempDir(), nil)
	b := newCopyNode(t, store, "b", full, nil)
	newCopyNode(t, store, "c", t.TempDir(), func(n *node) {
		n.link.HandleStream(link.PutImage, copyRules, func(ctx context.Context, _ string, _ io.Reader, _ io.Writer) error {
			<-ctx.Done()
			return ctx.Err()
		})
	})
	d := newCopyNode(t, store, "d", t.TempDir(), nil)
	a.awaitPeers(t, 3)
	a.patience = 5 * time.Second
	image, path := newImage(t, "a")
	nodes, err := a.PutImage("match/1", image, path)
	require.NoError(t, err)
	require.Equal(t, []string{"d"}, nodes)
	for name, c := range map[string]*copyNode{"a": a, "d": d} {
		require.True(t, c.folder.Has("match/1", image.Name()), name)
	}
	require.Empty(t, must.Get(b.folder.Worlds()), "no part of it")
	reasons := map[any]string{}
	for _, l := range a.logs.FilterMessage("another node has no copy of an image").All() {
		reasons[l.ContextMap()["node"]] = l.ContextMap()["error"].(string)
	}
	require.Len(t, reasons, 2)
	require.Contains(t, reasons["b"], "no space left on device")
	require.Contains(t, reasons["c"], context.DeadlineExceeded.Error())
	require.Equal(t, 1, a.logs.FilterMessage("fewer nodes than wanted have a copy of an image").Len())
}

// If a node is gone that has the image of a room that nobody runs, one of the others brings it to a further node, with its journal, once. The directory then
// names that node.
func TestCopiesAreRepaired(t *testing.T) {
	store := cluster.NewMemory()
	a, b := newCopyNode(t, store, "a", t.TempDir(), nil), newCopyNode(t, store, "b", t.TempDir(), nil)
	c := newCopyNode(t, store, "c", t.TempDir(), nil)
	for _, n := range []*copyNode{a, b, c} {
		n.awaitPeers(t, 2)
		n.wanted = 1
	}
	image, path := newImage(t, "b", "a")
	for _, n := range []*copyNode{a, b} {
		require.NoError(t, n.folder.Put("match/1", image.Name(), path))
		must.Get(n.folder.AppendSegment("match/1", imagefile.SegmentCopy{Epoch: image.Epoch, Run: 9, Tick: image.Tick}, 0, []byte("frames")))
	}
	record := must.Get(json.Marshal(map[string]any{"v": 2, "state": "free", "epoch": 3, "block": -1, "image": cluster.Image(image)}))
	must.Get(store.Swap(t.Context(), cluster.Swap{Key: "room/match/1", Value: record}))
	require.Eventually(t, func() bool { return len(a.node.Node.Status().Images) == 1 }, soon, time.Millisecond)
	require.Zero(t, a.node.Status().FewCopies)
	b.end()
	a.awaitPeers(t, 1)
	c.awaitPeers(t, 1)
	require.Equal(t, 1, a.node.Status().FewCopies)
	begun := time.Now()
	for _, n := range []*copyNode{c, a} {
		n.repair(t.Context(), begun)
		n.repair(t.Context(), begun.Add(repairAfter-1))
	}
	require.Zero(t, c.logs.FilterMessage("further nodes have a copy of an image").Len()+a.logs.FilterMessage("further nodes have a copy of an image").Len(), "b may start again")
	c.repair(t.Context(), begun.Add(repairAfter))
	require.False(t, c.folder.Has("match/1", image.Name()))
	a.repair(t.Context(), begun.Add(repairAfter))
	require.True(t, c.folder.Has("match/1", image.Name()))
	require.Len(t, must.Get(c.folder.ReadSegments("match/1", image.IsOld)), 1)
	require.Equal(t, must.Get(a.folder.ReadSegments("match/1", image.IsOld)), must.Get(c.folder.ReadSegments("match/1", image.IsOld)))
	require.Eventually(t, func() bool { return a.node.Status().FewCopies == 0 }, soon, time.Millisecond)
	require.Equal(t, []server.ClusterImages{{Nodes: []string{"b", "a", "c"}, Rooms: []string{"match/1"}}}, a.node.Status().Images)
	a.repair(t.Context(), begun.Add(2*repairAfter))
	require.Equal(t, 1, a.logs.FilterMessage("further nodes have a copy of an image").Len())
}

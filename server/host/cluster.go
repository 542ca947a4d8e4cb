package host

import (
	"cmp"
	"context"
	"crypto/hmac"
	cryptorand "crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/cluster"
	"github.com/worldd/worldd/server/cluster/etcd"
	"github.com/worldd/worldd/server/cluster/link"
	"github.com/worldd/worldd/server/cluster/nodefile"
)

// directoryFlags say where a cluster's directory is.
type directoryFlags struct {
	Cluster     []string `placeholder:"URL,..." help:"Share the rooms with the other nodes of this directory: the client URLs of an etcd, such as http://127.0.0.1:2379. Off loopback it needs https and a client certificate."`
	ClusterCA   string   `name:"cluster-ca" type:"path" placeholder:"FILE" help:"Authority of the directory's certificates (PEM); the system's if not given (needs --cluster)."`
	ClusterCert string   `name:"cluster-cert" type:"path" placeholder:"FILE" help:"This node's certificate for the directory (PEM; needs --cluster)."`
	ClusterKey  string   `name:"cluster-key" type:"path" placeholder:"FILE" help:"Private key (PEM) of --cluster-cert."`

	ClusterPrefix string `name:"cluster-prefix" placeholder:"TEXT" help:"First part of all keys in the directory, so that several games share an engine (worldd; needs --cluster)."`
}

// require returns an error without a directory, which commands need.
func (f *directoryFlags) require() error {
	if len(f.Cluster) == 0 {
		return errors.New("--cluster URL is missing: where the directory is")
	}
	return nil
}

// open connects to the directory. Mistakes in the flags are usage errors.
func (f *directoryFlags) open(ctx context.Context, log *zap.Logger) (*etcd.Store, error) {
	config, err := etcd.ReadTLS(f.ClusterCA, f.ClusterCert, f.ClusterKey)
	if err != nil {
		return nil, usageError("--cluster-ca, --cluster-cert, --cluster-key: %w", err)
	}
	store, err := etcd.Open(ctx, etcd.Config{Endpoints: f.Cluster, TLS: config, Prefix: f.ClusterPrefix, Log: log})
	if err != nil {
		return nil, fmt.Errorf("--cluster: %w", err)
	}
	return store, nil
}

// clusterFlags make the server a node of a cluster.
type clusterFlags struct {
	directoryFlags
	Node        string        `placeholder:"NAME" help:"This node's name in the cluster; each has its own, and keeps it when it starts again (the host's name; needs --cluster)."`
	Advertise   []string      `placeholder:"HOST:PORT" help:"Address at which clients reach this node, for the redirections of other nodes (--listen, if that names an address; needs --cluster)."`
	ImageShared string        `name:"image-shared" type:"path" placeholder:"DIR" help:"Folder in which all nodes find the newest image of each room, such as one of a file server; --image is each node's own. Without, nodes have copies (needs --cluster and --image)."`
	ImageCopies int           `name:"image-copies" placeholder:"N" help:"Nodes besides this one that have a copy of each room's newest image; fewer if fewer are there. If negative, none (2; needs --cluster and --image, without --image-shared)."`
	Lease       time.Duration `placeholder:"TIME" help:"Time after which other nodes may run the rooms of a node that the directory has not heard; the same on all nodes (5s; needs --cluster)."`
}

const (
	minLease = 2 * time.Second
	maxLease = 5 * time.Minute
	// joinTimeout bounds the wait for the first lease, beyond the end of the lease of a process that had the node's name before.
	joinTimeout        = 15 * time.Second
	defaultImageCopies = 2
	maxImageCopies     = 8
	// leaveTimeout bounds the wait until the directory knows that the node has left.
	leaveTimeout = 5 * time.Second
)

// checkFlags reports contradictions. If the node will learn its address, the flags need not name it.
func (f *clusterFlags) checkFlags(listen string, willLearn bool) error {
	switch {
	case len(f.Cluster) == 0 && (f.ClusterCA != "" || f.ClusterCert != "" || f.ClusterKey != "" || f.ClusterPrefix != "" || f.Node != "" || len(f.Advertise) > 0 || f.Lease != 0 || f.ImageShared != "" || f.ImageCopies != 0):
		return errors.New("--cluster-ca, --cluster-cert, --cluster-key, --cluster-prefix, --node, --advertise, --lease, --image-shared and --image-copies need --cluster URL, where the directory of the nodes is")
	case len(f.Cluster) == 0:
		return nil
	case f.ImageShared != "" && f.ImageCopies > 0:
		return errors.New("--image-shared and --image-copies are two ways to the same end: give one")
	case f.ImageCopies > maxImageCopies:
		return fmt.Errorf("--image-copies is %d, want at most %d", f.ImageCopies, maxImageCopies)
	case f.Lease != 0 && (f.Lease < minLease || f.Lease > maxLease):
		return fmt.Errorf("--lease is %v, want %v to %v, or 0 for %v", f.Lease, minLease, maxLease, cluster.DefaultLease)
	}
	if willLearn && len(f.Advertise) == 0 {
		return nil
	}
	_, err := f.addresses(listen)
	return err
}

// keepCopies makes the node keep images in the game's own store, which open opens unless it is nil. Without a store, the node keeps copies for
// the others, and they for it.
func (f *clusterFlags) keepCopies(ctx context.Context, n *node, r *server.RoomsConfig, open func(context.Context) (server.ImageCopies, error)) error {
	if r == nil || r.Images.Dir == "" || f.ImageShared != "" || f.ImageCopies < 0 {
		return nil
	}
	if open != nil && f.ImageCopies == 0 {
		store, err := open(ctx)
		r.Images.Copies = store
		if err != nil || store != nil {
			return err
		}
	}
	c, err := n.keepCopies(copiesDir(r.Images.Dir), cmp.Or(f.ImageCopies, defaultImageCopies))
	if err != nil {
		return err
	}
	r.Images.Copies = c
	return nil
}

// applyTo sets the folder that the nodes share, and makes it.
func (f *clusterFlags) applyTo(r *server.RoomsConfig) error {
	if f.ImageShared == "" {
		return nil
	}
	if r.Images.Dir == "" {
		return usageError("--image-shared needs --image DIR, where this node saves its rooms")
	}
	if err := os.MkdirAll(f.ImageShared, 0o755); err != nil {
		return usageError("--image-shared must name a folder: %w", err)
	}
	r.Images.Shared = f.ImageShared
	return nil
}

// addresses returns where clients reach the node.
func (f *clusterFlags) addresses(listen string) ([]string, error) {
	for _, a := range f.Advertise {
		host, port, err := net.SplitHostPort(a)
		if err != nil || host == "" || port == "" || port == "0" {
			return nil, fmt.Errorf("--advertise is %q, want HOST:PORT as clients reach this node", a)
		}
	}
	if len(f.Advertise) > 0 {
		return f.Advertise, nil
	}
	host, port, err := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); err != nil || host == "" || port == "0" || ip != nil && ip.IsUnspecified() {
		return nil, fmt.Errorf("--listen %s names no address for clients of other nodes: give --advertise HOST:PORT", listen)
	}
	return []string{listen}, nil
}

// nodeName returns the node's name.
func (f *clusterFlags) nodeName() (string, error) {
	if f.Node != "" {
		return f.Node, nil
	}
	name, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("this host has no name (%w): give --node NAME", err)
	}
	return name, nil
}

// saltResetKey makes the key of stateless resets this node's own: nodes may share the certificate from which it is derived.
func (f *clusterFlags) saltResetKey(key *[32]byte) {
	name, err := f.nodeName()
	if len(f.Cluster) == 0 || err != nil { // joinCluster reports the error
		return
	}
	sum := hmac.New(sha256.New, key[:])
	sum.Write([]byte(name))
	copy(key[:], sum.Sum(nil))
}

// joinCluster makes the process a node, or returns nil without --cluster. folder is where the node keeps its file, or empty.
func (f *clusterFlags) joinCluster(ctx context.Context, listen, folder string, log *zap.Logger) (*node, error) {
	if len(f.Cluster) == 0 {
		return nil, nil
	}
	addresses, err := f.addresses(listen)
	if err != nil {
		return nil, usageError("%w", err)
	}
	name, err := f.nodeName()
	if err != nil {
		return nil, usageError("%w", err)
	}
	random, err := newRandom()
	if err != nil {
		return nil, err
	}
	n := &node{lease: cmp.Or(f.Lease, cluster.DefaultLease), log: log}
	ctx, cancel := context.WithTimeout(ctx, joinTimeout+2*n.lease)
	defer cancel()
	if n.link, err = link.New(link.Config{FindNode: n.findPeer, FindHolder: n.findHolder, Log: log}); err != nil {
		return nil, err
	}
	if n.store, err = f.open(ctx, log); err != nil {
		return nil, errors.Join(err, n.link.Close())
	}
	config := cluster.Config{
		Store: n.store, Name: name, Addrs: addresses, Fingerprint: n.link.Fingerprint(), Lease: n.lease, Random: random, Now: time.Now, AfterFunc: time.AfterFunc, Log: log,
	}
	if err = n.openFile(folder, &config); err == nil {
		n.Node, err = cluster.Open(ctx, config)
	}
	if err != nil {
		n.close()
		return nil, fmt.Errorf("--cluster: %w", err)
	}
	n.joined.Store(true)
	return n, nil
}

// openFile opens the node's file in the folder of its images: a process that starts after a crash need not wait for the lease of
// the one before.
func (n *node) openFile(folder string, config *cluster.Config) (err error) {
	if folder == "" {
		return nil
	}
	n.file, err = nodefile.Open(folder, config.Name)
	if err != nil {
		return err
	}
	if trouble := n.file.Trouble(); trouble != nil {
		config.Log.Warn("the node's file", zap.Error(trouble))
	}
	config.Past, config.Keep = n.file.Past(), n.file.Keep
	return nil
}

// newRandom returns a source of numbers that no other process has.
func newRandom() (*rand.Rand, error) {
	var seed [32]byte
	if _, err := cryptorand.Read(seed[:]); err != nil {
		return nil, fmt.Errorf("no random number for the cluster: %w", err)
	}
	return rand.New(rand.NewChaCha8(seed)), nil
}

// node is server.Config.Cluster of this process.
type node struct {
	*cluster.Node
	store  *etcd.Store
	link   *link.Link
	log    *zap.Logger
	file   *nodefile.File // nil: the node saves no images
	lease  time.Duration
	joined atomic.Bool // Node is set
	copies *copies     // nil: none
	failed sync.Map    // nodes that have not answered, and when
}

func (n *node) close() {
	if n.copies != nil {
		n.copies.stop()
	}
	_ = n.link.Close() // the process ends
	n.store.Close()
	if n.file != nil {
		_ = n.file.Close() // otherwise the system unlocks it
	}
}

// leave releases all rooms, so that other nodes take them at once.
func (n *node) leave(log *zap.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	if err := n.Close(ctx); err != nil {
		log.Warn("the node has left without the directory's answer", zap.Error(err))
	}
	n.close()
}

// FindRoom implements server.Cluster. A node that is silent may have failed: clients wait here for its rooms.
func (n *node) FindRoom(room string) (address string) {
	at, err := n.Find(context.Background(), room)
	if err != nil || at.Here || len(at.Addrs) == 0 || at.Silent > n.lease/2 {
		return ""
	}
	return at.Addrs[0]
}

// IsSilent implements server.Cluster.
func (n *node) IsSilent(room string) bool {
	at, err := n.Find(context.Background(), room)
	return err == nil && !at.Here && at.Node != "" && at.Silent > n.lease/2
}

// TakeRoom implements server.Cluster.
func (n *node) TakeRoom(ctx context.Context, room string, stored int) (server.RoomGrant, error) {
	block := cluster.AnyBlock
	if stored >= 0 {
		block = stored
	}
	h, err := n.Take(ctx, room, block)
	if errors.Is(err, cluster.ErrBlockLost) {
		h, err = n.Take(ctx, room, cluster.AnyBlock)
	}
	if other, elsewhere := errors.AsType[*cluster.ElsewhereError](err); elsewhere && len(other.Addrs) > 0 {
		moved, wrong := wire.MovedTo(other.Addrs[0], nil)
		if wrong != nil {
			return nil, errors.Join(err, wrong)
		}
		return nil, moved
	}
	if err != nil {
		return nil, err
	}
	return grant{h, n}, nil
}

// FindImage implements server.Cluster.
func (n *node) FindImage(room string) (*server.RoomImage, []string, error) {
	at, err := n.Node.FindImage(room)
	return imageOf(at.Image), at.Addrs, err
}

func imageOf(i *cluster.Image) *server.RoomImage {
	if i == nil {
		return nil
	}
	own := server.RoomImage(*i)
	return &own
}

// grant is server.RoomGrant.
type grant struct {
	*cluster.Holding
	node *node
}

// Taking implements server.RoomGrant.
func (g grant) Taking() server.RoomTaking {
	name, directory := g.node.Identity()
	return server.RoomTaking{Node: name, Directory: directory, Epoch: g.Epoch()}
}

// Image implements server.RoomGrant.
func (g grant) Image() *server.RoomImage { return imageOf(g.Holding.Image()) }

// SetImage implements server.RoomGrant.
func (g grant) SetImage(ctx context.Context, image *server.RoomImage) error {
	var own *cluster.Image
	if image != nil {
		i := cluster.Image(*image)
		own = &i
	}
	err := g.Holding.SetImage(ctx, own)
	if errors.Is(err, cluster.ErrNotOwner) {
		return fmt.Errorf("%w: %w", server.ErrNotOwner, err)
	}
	return err
}

// Release implements server.RoomGrant. If the directory does not answer, the node continues to release the room.
func (g grant) Release(ctx context.Context, stored bool) { _ = g.Holding.Release(ctx, stored) }

// HandOver implements server.RoomGrant.
func (g grant) HandOver(ctx context.Context, node string) { _ = g.Holding.HandOver(ctx, node) }

// Status implements server.Cluster.
func (n *node) Status() server.ClusterStatus {
	s := n.Node.Status()
	c, l := s.Counters, n.link.Counters()
	status := server.ClusterStatus{
		Node: s.Node, Directory: s.Directory, Margin: s.Margin, FreeBlocks: s.FreeBlocks,
		Events: map[string]uint64{
			"renewed": c.Renewals, "taken": c.Takes, "lost": c.Lost, "fence": c.Fences, "fenced": c.Fenced, "conflict": c.Conflicts,
			"unanswered": c.Unknown, "late-answer": c.LateAnswers, "stuck-watch": c.WatchesStuck, "replaced-directory": c.Frozen,
			"asked-node": l.Sent, "node-unanswered": l.Failed, "answered-node": l.Served, "refused-node": l.Refused, "node-nonsense": l.Nonsense,
		},
	}
	if s.Foreign != "" {
		status.Trouble = "the directory was replaced, and rooms are frozen: " + s.Foreign
	}
	status.Nodes, status.Stored = nodesOf(s)
	status.Images = imagesOf(s)
	if n.copies != nil {
		status.FewCopies = len(s.FewCopies(n.copies.wanted + 1))
	}
	return status
}

// nodesOf returns the nodes with their rooms, and the rooms that are stored.
func nodesOf(s cluster.Status) (nodes []server.ClusterNode, stored []string) {
	of := map[string]int{}
	for i, n := range s.Nodes {
		nodes = append(nodes, server.ClusterNode{Name: n.Name, Addresses: n.Addrs, Dead: n.Dead, Silent: n.Silent})
		of[n.Name] = i
	}
	for _, r := range s.Rooms {
		i, known := of[r.Node]
		if !known {
			stored = append(stored, r.Name)
			continue
		}
		nodes[i].Rooms = append(nodes[i].Rooms, r.Name)
	}
	return nodes, stored
}

// imagesOf returns the rooms that have images, by the nodes that have these.
func imagesOf(s cluster.Status) (all []server.ClusterImages) {
	of := map[string]int{}
	for _, image := range s.Images {
		key := strings.Join(image.Nodes, " ")
		i, known := of[key]
		if !known {
			i = len(all)
			of[key], all = i, append(all, server.ClusterImages{Nodes: image.Nodes})
		}
		all[i].Rooms = append(all[i].Rooms, image.Room)
	}
	return all
}

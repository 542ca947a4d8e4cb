package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// DefaultLease is the lease of a node whose Config names none.
const DefaultLease = 5 * time.Second

// AnyBlock is the block for a new run: any that is free.
const AnyBlock = noBlock

var (
	// ErrNameInUse: another process renews a lease under this node's name.
	ErrNameInUse = errors.New("cluster: another process runs under this node's name: give each node a name of its own")
	// ErrForeign: the directory was replaced, so that nothing is known of the rooms.
	ErrForeign = errors.New("cluster: the directory was replaced: all rooms stand still until it is adopted")
)

// A LeaseError refuses a node whose lease is not the cluster's.
type LeaseError struct {
	Own, Cluster time.Duration
	Directory    string // its identity
}

func (e *LeaseError) Error() string {
	return fmt.Sprintf("cluster: this node has a lease of %v, and the nodes of this directory have %v: start it with the same; to change the lease, stop all nodes and adopt the directory: worldd cluster adopt --was %s", e.Own, e.Cluster, e.Directory)
}

// Config describes a node of a cluster.
type Config struct {
	Store Store
	// Name is the node's own in the cluster, and stays the same when its process starts again.
	Name string
	// Addrs are where clients reach the node, as other nodes tell them.
	Addrs []string
	// Fingerprint is the SHA-256 of the certificate that this process presents to other nodes, in hexadecimal digits (package link), or empty.
	Fingerprint string
	// Lease is how long the node's rooms run without a renewal, and how long other nodes wait for one. Default: DefaultLease.
	Lease time.Duration
	// Past has what the node knows from before it started.
	Past Past
	// Keep makes what the node knows durable, for the Past of the next process. The node calls it before it uses an incarnation. An
	// error costs the next process time, and nothing else. nil: nothing is kept.
	Keep func(Past) error
	// Random makes incarnations and nonces. No other process may have the same sequence.
	Random *rand.Rand
	// Now and AfterFunc are time.Now and time.AfterFunc, except in tests. The times must have a monotonic clock.
	Now       func() time.Time
	AfterFunc func(time.Duration, func()) *time.Timer
	Log       *zap.Logger // nil: none
}

// Past holds what a node must know of its processes so far. A Past that is older than the node's last process is safe to use.
type Past struct {
	// Directory is the identity of the directory, or empty. In another directory the node does nothing until an operator adopts
	// that.
	Directory string `json:"directory,omitempty"`
	// Incarnations of processes under this name, the newest last. In a Config all of these must have ended for certain:
	// for instance since this process holds the lock that the others had. Nobody waits for the end of their leases.
	Incarnations []string `json:"incarnations,omitempty"`
}

func (p *Past) wrong() error {
	for _, i := range p.Incarnations {
		if err := wrongToken("past incarnation", i); err != nil {
			return err
		}
	}
	return wrongOptionalToken("directory", p.Directory)
}

func (c *Config) check() error {
	if c.Store == nil || c.Random == nil || c.Now == nil || c.AfterFunc == nil {
		return errors.New("cluster: Config needs Store, Random, Now and AfterFunc")
	}
	c.Lease = cmp.Or(c.Lease, DefaultLease)
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	err := cmp.Or(wrongName(c.Name), wrongAddrs(c.Addrs), wrongLease(c.Lease.Milliseconds()), wrongFingerprint(c.Fingerprint), c.Past.wrong())
	if err != nil {
		return fmt.Errorf("cluster: node: %w", err)
	}
	return nil
}

// Node is this process in the cluster. Its methods may be called by several goroutines at once.
type Node struct {
	config Config
	began  time.Time
	ctx    context.Context // of all requests; ends with the node
	cancel context.CancelFunc
	work   sync.WaitGroup

	until atomic.Int64 // end of the time in which rooms may run, since began

	mu       sync.Mutex
	machine  *machine
	timer    *time.Timer
	requests map[uint64]context.CancelFunc // under way
	endWatch context.CancelFunc
	waiting  map[*want]chan taken
	pointing map[*pointing]chan error
	holdings map[string]*Holding
	// followers wait for changes, by room.
	followers map[string]*follower
	ready     chan struct{} // closed by the first lease
	refused   chan error    // why the node cannot have its first lease
	resigned  chan struct{} // closed when the node has left the cluster
}

// taken says what became of a want.
type taken struct {
	holding *Holding
	err     error
}

// Open joins the cluster. It returns when the node has a lease, or with an error when the context ends. Close the node.
func Open(ctx context.Context, c Config) (*Node, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	n := &Node{
		config: c, began: c.Now(), requests: map[uint64]context.CancelFunc{}, waiting: map[*want]chan taken{}, pointing: map[*pointing]chan error{}, holdings: map[string]*Holding{},
		followers: map[string]*follower{},
		ready:     make(chan struct{}), refused: make(chan error, 1), resigned: make(chan struct{}),
	}
	n.ctx, n.cancel = context.WithCancel(context.WithoutCancel(ctx))
	n.machine = newMachine(settings{
		name: c.Name, addrs: slices.Clone(c.Addrs), leaseTime: c.Lease, fingerprint: c.Fingerprint, past: c.Past, keeps: c.Keep != nil, blocks: Blocks,
	}, c.Random)
	n.wake()
	var err error
	select {
	case <-n.ready:
		return n, nil
	case err = <-n.refused:
	case <-ctx.Done():
		err = fmt.Errorf("cluster: node %s has no lease: %w", c.Name, ctx.Err())
		if reason := n.Status().Foreign; reason != "" {
			err = fmt.Errorf("%w (%s): %w", ErrForeign, reason, ctx.Err())
		}
	}
	n.stop()
	return nil, err
}

func (n *Node) sinceBegan() time.Duration { return n.config.Now().Sub(n.began) }

// wake lets the machine do what is due.
func (n *Node) wake() {
	n.update(func(now time.Duration) { n.machine.wake(now) })
}

// update gives the machine an input, and does what it wants.
func (n *Node) update(input func(now time.Duration)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ctx.Err() != nil {
		return
	}
	input(n.sinceBegan())
	out := n.machine.takeOutput()
	n.until.Store(int64(n.machine.until()))
	for _, e := range out.events {
		n.deliver(e)
	}
	for _, id := range out.abandoned {
		if cancel := n.requests[id]; cancel != nil {
			cancel()
		}
	}
	for _, r := range out.requests {
		n.begin(r)
	}
	if out.keep != nil {
		n.keep(*out.keep)
	}
	if out.watch != nil {
		n.watch(*out.watch)
	}
	for _, note := range out.notes {
		n.log(note)
	}
	n.announce()
	n.tellFollowers()
	if n.timer != nil {
		n.timer.Stop()
	}
	n.timer = n.config.AfterFunc(n.machine.wakeAt()-n.machine.now, n.wake)
}

// announce tells Open what it waits for.
func (n *Node) announce() {
	err := n.machine.identity.otherLease(n.machine)
	if n.machine.lease.foreign >= sameName {
		err = ErrNameInUse
	}
	switch {
	case n.machine.lease.born:
		closeOnce(n.ready)
	case err != nil:
		select {
		case n.refused <- err:
		default: // it was told before, or has joined
		}
	}
}

func closeOnce(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}

// begin carries a request to the store. The machine bounds how many are under way, and for how long.
func (n *Node) begin(r request) {
	ctx, cancel := context.WithCancel(n.ctx)
	n.requests[r.id] = cancel
	n.work.Go(func() {
		var a answer
		if r.swaps == nil {
			a.page, a.err = n.config.Store.Read(ctx, r.read)
			a.revision = a.page.Now
		} else {
			a.revision, a.err = n.config.Store.Swap(ctx, r.swaps...)
		}
		a.outcome = outcomeOf(a.err)
		cancel()
		n.update(func(now time.Duration) {
			delete(n.requests, r.id)
			n.machine.receive(now, r.id, a)
		})
	})
}

// keep makes what the node knows durable.
func (n *Node) keep(p Past) {
	n.work.Go(func() {
		err := n.config.Keep(p)
		n.update(func(now time.Duration) { n.machine.kept(now, p, err) })
	})
}

func outcomeOf(err error) outcome {
	switch {
	case err == nil:
		return done
	case errors.Is(err, ErrConflict):
		return conflict
	case errors.Is(err, ErrUnknown), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return unknown
	}
	return refused
}

// watch replaces the watch of the directory.
func (n *Node) watch(w watchRequest) {
	if n.endWatch != nil {
		n.endWatch()
		n.endWatch = nil
	}
	if w.stop {
		return
	}
	ctx, cancel := context.WithCancel(n.ctx)
	n.endWatch = cancel
	n.work.Go(func() {
		err := n.config.Store.Watch(ctx, "", w.from, func(e Entry) {
			n.update(func(now time.Duration) { n.machine.change(now, w.id, e) })
		})
		n.update(func(now time.Duration) { n.machine.endWatch(now, w.id, errors.Is(err, ErrCompacted)) })
	})
}

// deliver tells callers what became of a room.
func (n *Node) deliver(e event) {
	h := n.holdings[e.room]
	switch e.kind {
	case took:
		h = &Holding{node: n, room: e.room, block: e.grant.block, lost: make(chan struct{}), released: make(chan struct{})}
		h.epoch.Store(e.grant.epoch)
		h.image.Store(e.grant.image)
		h.running.Store(true)
		n.holdings[e.room] = h
		n.answer(e.want, taken{holding: h})
	case failed:
		n.answer(e.want, taken{err: e.err})
	case resumed:
		h.epoch.Store(e.grant.epoch)
		h.image.Store(e.grant.image)
		h.running.Store(!h.releasing)
	case suspended:
		h.running.Store(false)
	case pointed, pointFailed:
		n.answerPointing(h, e)
	case lost, released:
		h.running.Store(false)
		delete(n.holdings, e.room)
		if e.kind == lost {
			close(h.lost)
		}
		close(h.released)
	case resigned:
		closeOnce(n.resigned)
	}
}

func (n *Node) answer(w *want, t taken) {
	n.waiting[w] <- t
	delete(n.waiting, w)
}

func (n *Node) log(l note) {
	fields := []zap.Field{zap.String("node", n.config.Name)}
	if l.key != "" {
		fields = append(fields, zap.String("key", l.key))
	}
	if l.err != nil {
		fields = append(fields, zap.Error(l.err))
	}
	if l.trouble {
		n.config.Log.Warn(l.text, fields...)
	} else {
		n.config.Log.Info(l.text, fields...)
	}
}

// Take makes a room this node's. block is the block of a stored run that continues exactly, or AnyBlock. It waits for the end of
// an owner that is silent, and returns an *ElsewhereError if another node runs the room.
func (n *Node) Take(ctx context.Context, room string, block int) (*Holding, error) {
	w := &want{room: room, block: block}
	answered := make(chan taken, 1)
	n.update(func(now time.Duration) {
		n.waiting[w] = answered
		n.machine.take(now, w)
	})
	select {
	case t := <-answered:
		return t.holding, t.err
	case <-n.ctx.Done():
		return nil, ErrClosed
	case <-ctx.Done():
	}
	n.update(func(now time.Duration) {
		if n.waiting[w] != nil {
			delete(n.waiting, w)
			n.machine.giveUp(now, w)
		}
	})
	select {
	case t := <-answered: // at the last moment
		return t.holding, t.err
	default:
		return nil, fmt.Errorf("cluster: taking room %q: %w", room, ctx.Err())
	}
}

// Location is where a room runs, or will run in a moment, after it was handed over or its node has begun again.
type Location struct {
	Node  string // empty: nowhere
	Addrs []string
	Epoch uint64
	Here  bool // it is this node
	// Silent is the time since the node's record changed: clients of a silent node wait here until it answers, or its lease has ended.
	Silent time.Duration
}

// Find returns where a room runs, as far as this node knows. That is no permission to run it.
func (n *Node) Find(ctx context.Context, room string) (Location, error) {
	if err := ctx.Err(); err != nil {
		return Location{}, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.locate(room)
}

// locate is Find for callers that hold mu.
func (n *Node) locate(room string) (Location, error) {
	m := n.machine
	if m.identity.state == identityForeign {
		return Location{}, ErrForeign
	}
	r := m.rooms.all[room]
	if r == nil {
		return Location{}, nil
	}
	p := m.rooms.successorOf(m, r)
	if owner, runs := m.peers.ownerOf(m, r); r.record.State == roomOpen && owner != ownerGone {
		p = runs
	}
	if p == nil {
		return Location{}, nil
	}
	return Location{Node: p.name, Addrs: slices.Clone(p.record.Addrs), Epoch: r.record.Epoch, Here: p.name == n.config.Name, Silent: n.sinceBegan() - p.since}, nil
}

// ImageLocation is where the newest image of a room is.
type ImageLocation struct {
	Image *Image   // nil: the room has none
	Addrs []string // of the other living nodes that have it
}

// FindImage returns where the newest image of a room is, as far as this node knows. A holding tells it for certain (Holding.Image).
func (n *Node) FindImage(room string) (ImageLocation, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.locateImage(room)
}

// locateImage is FindImage for callers that hold mu.
func (n *Node) locateImage(room string) (at ImageLocation, err error) {
	m := n.machine
	if m.identity.state != identityKnown || !m.view.loaded {
		return at, ErrForeign
	}
	r := m.rooms.all[room]
	if r == nil || r.record.Image == nil {
		return at, nil
	}
	at.Image = r.record.Image
	for _, name := range at.Image.Nodes {
		p := m.peers.nodes[name]
		if p != nil && name != n.config.Name && p.err == nil && !p.record.Dead && len(p.record.Addrs) > 0 {
			at.Addrs = append(at.Addrs, p.record.Addrs[0])
		}
	}
	return at, nil
}

// Peer returns the addresses of another living node, and the fingerprint of its process's certificate, if it has one.
func (n *Node) Peer(name string) (addrs []string, fingerprint string, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.machine.peers.nodes[name]
	if p == nil || p.err != nil || p.record.Dead || name == n.config.Name {
		return nil, "", false
	}
	return slices.Clone(p.record.Addrs), p.record.Fingerprint, true
}

// HolderOf returns the other living node whose process has the certificate with the fingerprint.
func (n *Node) HolderOf(fingerprint string) (name string, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range n.machine.peers.list {
		if fingerprint != "" && p.err == nil && !p.record.Dead && p.record.Fingerprint == fingerprint && p.name != n.config.Name {
			return p.name, true
		}
	}
	return "", false
}

// Living returns the names of the other nodes that have not ended, as far as this node knows.
func (n *Node) Living() (names []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range n.machine.peers.list {
		if p.err == nil && !p.record.Dead && p.name != n.config.Name {
			names = append(names, p.name)
		}
	}
	return names
}

// Identity returns the node's name, and the identity of the directory that it knows.
func (n *Node) Identity() (name, directory string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.config.Name, n.machine.identity.known
}

// Status returns what this node knows of the cluster.
func (n *Node) Status() Status {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.machine.status(n.sinceBegan())
}

// Close releases all rooms, keeping their blocks for stored runs, and leaves the cluster: nobody needs to wait for the end of
// this node's lease. If the context ends before, other nodes wait for that.
func (n *Node) Close(ctx context.Context) error {
	n.update(func(now time.Duration) {
		for _, h := range n.holdings { // before others can take the rooms (C1)
			h.running.Store(false)
			h.releasing = true
		}
		n.machine.close(now)
	})
	var err error
	select {
	case <-n.resigned:
	case <-n.ctx.Done():
	case <-ctx.Done():
		err = fmt.Errorf("cluster: node %s has not released its rooms: others take them after its lease: %w", n.config.Name, ctx.Err())
	}
	n.stop()
	return err
}

// stop ends all requests, and waits for their goroutines.
func (n *Node) stop() {
	n.cancel()
	n.mu.Lock()
	n.until.Store(0)
	n.timer.Stop()
	n.mu.Unlock()
	n.work.Wait()
}

package server

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/worldd/worldd/server/session"
)

const (
	// maxQueued and maxQueuedBytes bound the letters that wait for one node.
	maxQueued      = 4096
	maxQueuedBytes = 4 << 20
	// maxBatch bounds the letters of one request, each with letterOverhead for its names.
	maxBatch       = 48 << 10
	letterOverhead = 512
	// batchTimeout bounds a request.
	batchTimeout = 2 * time.Second
	// senderLasts is how long the stamp of a room's newest letter is kept at least, longer than any request. Fewer than minSenders are never forgotten.
	senderLasts = time.Minute
	minSenders  = 1024
)

// letters carries the messages between rooms, of this node and of others (M1 to M4).
type letters struct {
	rooms *rooms

	mu     sync.Mutex // acquired before rooms.mu
	number uint64     // of the newest letter of this process
	queues map[string]*nodeQueue
	failed map[string]bool        // nodes whose newest request has failed
	newest map[string]letterStamp // of the letters that have come, by the room that sent them
	most   int                    // stamps, above which old ones are forgotten
}

// stampedLetter is a letter in a cluster. The letters of a room are ordered by the epoch of its taking, and then by number.
type stampedLetter struct {
	session.Letter
	Epoch  uint64 `json:"epoch"`
	Number uint64 `json:"number"`
}

type letterStamp struct {
	epoch, number uint64
	at            time.Time
}

// nodeQueue holds the letters for a node. One goroutine sends them, and ends when there are none.
type nodeQueue struct {
	waiting []stampedLetter
	bytes   int
}

func newLetters(m *rooms) *letters {
	return &letters{rooms: m, queues: map[string]*nodeQueue{}, failed: map[string]bool{}, newest: map[string]letterStamp{}, most: minSenders}
}

// post implements session.RouterConfig.Post.
func (x *letters) post(l session.Letter) {
	cluster := x.rooms.process.Cluster
	if cluster == nil {
		x.deliver(l)
		return
	}
	from := x.rooms.runningRoom(l.From)
	if from == nil || !from.loop.permit.mayRun() { // another node may run it (C1 of package cluster)
		x.rooms.router.CountLetters(session.LetterEnded, 1)
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.number++
	s := stampedLetter{l, from.loop.permit.grant.Taking().Epoch, x.number}
	switch {
	case l.To == "":
		x.take(s)
		for _, node := range cluster.Living() {
			x.queue(node, s)
		}
	case x.rooms.runningRoom(l.To) != nil:
		x.take(s)
	default:
		x.queue(cluster.HostOf(l.To), s)
	}
}

// queue queues a letter for a node. Callers hold x.mu.
func (x *letters) queue(node string, s stampedLetter) {
	if node == "" {
		x.rooms.router.CountLetters(session.LetterNoRoom, 1)
		return
	}
	q := x.queues[node]
	if q == nil {
		q = &nodeQueue{}
		x.queues[node] = q
		x.rooms.hosting.Go(func() { x.carry(node) }) // beside the room that sends
	}
	if len(q.waiting) >= maxQueued || q.bytes+len(s.Body) > maxQueuedBytes {
		x.rooms.router.CountLetters(session.LetterFull, 1)
		return
	}
	q.waiting = append(q.waiting, s)
	q.bytes += len(s.Body)
}

// carry sends the letters for a node, until there are none. A request that fails is not repeated, since the node may have its letters. The letters
// behind it are dropped: nothing waits for longer than a request, nor does the end of the server.
func (x *letters) carry(node string) {
	for {
		batch := x.takeBatch(node)
		if len(batch) == 0 {
			return
		}
		if err := x.sendBatch(node, batch); err != nil {
			x.dropUnsent(node, len(batch), err)
			continue
		}
		x.mu.Lock()
		delete(x.failed, node)
		x.mu.Unlock()
	}
}

func (x *letters) sendBatch(node string, batch []stampedLetter) error {
	b, err := json.Marshal(batch)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), batchTimeout)
	defer cancel()
	return x.rooms.process.Cluster.Send(ctx, node, b)
}

// takeBatch takes the oldest letters for a node. If there are none, it removes the queue.
func (x *letters) takeBatch(node string) []stampedLetter {
	x.mu.Lock()
	defer x.mu.Unlock()
	q := x.queues[node]
	n, bytes := 0, 0
	for n < len(q.waiting) && (n == 0 || bytes+len(q.waiting[n].Body)+letterOverhead <= maxBatch) {
		bytes += len(q.waiting[n].Body) + letterOverhead
		q.bytes -= len(q.waiting[n].Body)
		n++
	}
	batch := q.waiting[:n:n]
	q.waiting = q.waiting[n:]
	if n == 0 {
		delete(x.queues, node)
	}
	return batch
}

// dropUnsent drops the letters that wait for a node which has not confirmed sent ones. The log has the first such error in a row.
func (x *letters) dropUnsent(node string, sent int, why error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	q := x.queues[node]
	x.rooms.router.CountLetters(session.LetterUnsent, sent+len(q.waiting))
	*q = nodeQueue{}
	if !x.failed[node] {
		x.failed[node] = true
		x.rooms.log.Warn("messages of rooms have perhaps not reached another node", zap.String("node", node), zap.Error(why))
	}
}

// receive takes the letters of another node.
func (x *letters) receive(b []byte) error {
	var batch []stampedLetter
	if err := json.Unmarshal(b, &batch); err != nil {
		return fmt.Errorf("server: not messages of rooms: %w", err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, s := range batch {
		x.take(s)
	}
	return nil
}

// take delivers a letter, unless it is not newer than all letters of its sender so far: then it is late, or has come twice. Callers hold x.mu.
func (x *letters) take(s stampedLetter) {
	now := time.Now()
	was := x.newest[s.From]
	if s.Epoch < was.epoch || s.Epoch == was.epoch && s.Number <= was.number {
		x.rooms.router.CountLetters(session.LetterLate, 1)
		return
	}
	x.newest[s.From] = letterStamp{s.Epoch, s.Number, now}
	if len(x.newest) > x.most {
		maps.DeleteFunc(x.newest, func(_ string, stamp letterStamp) bool { return now.Sub(stamp.at) > senderLasts })
		x.most = max(minSenders, 2*len(x.newest))
	}
	x.deliver(s.Letter)
}

// deliver delivers a letter to the rooms of this server.
func (x *letters) deliver(l session.Letter) {
	if l.To != "" {
		now := x.rooms.runningRoom(l.To)
		if now == nil {
			x.rooms.router.CountLetters(session.LetterNoRoom, 1)
			return
		}
		now.core.Deliver(l)
		return
	}
	for _, r := range x.rooms.sortedRooms() {
		if now := r.run.Load(); now != nil && r.name != l.From && (l.Kind == "" || l.Kind == r.kind) && now.core.Listens(l.Name) {
			now.core.Deliver(l)
		}
	}
}

// runningRoom returns the run of a room of this server, or nil.
func (m *rooms) runningRoom(name string) *run {
	r := m.existingRoom(name)
	if r == nil {
		return nil
	}
	return r.run.Load()
}

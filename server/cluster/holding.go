package cluster

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// Holding is a room that this node has taken. It is the permission to run the room while MayRun says so.
type Holding struct {
	node      *Node
	room      string
	block     int
	epoch     atomic.Uint64
	image     atomic.Pointer[Image]
	running   atomic.Bool // neither suspended nor released nor lost
	releasing bool        // guarded by node.mu
	lost      chan struct{}
	released  chan struct{}
}

// MayRun reports whether the room may step, send and save now (C1). Ask before each of these. If it returns false, keep the room as it
// is: MayRun returns true again after a renewal, unless Lost is closed. It does not wait (C10).
func (h *Holding) MayRun() bool {
	return h.running.Load() && h.node.sinceBegan() < time.Duration(h.node.until.Load())
}

// Lost returns a channel that is closed when the room may be another node's: discard the run, and save nothing.
func (h *Holding) Lost() <-chan struct{} { return h.lost }

// Block returns the block of generations of the run. No other room of the cluster has it.
func (h *Holding) Block() int { return h.block }

// Epoch returns the number of this taking of the room, higher than all before.
func (h *Holding) Epoch() uint64 { return h.epoch.Load() }

// Image returns the room's newest image, with which a run must begin, or nil if the room has none (C5).
func (h *Holding) Image() *Image { return h.image.Load() }

// SetImage makes an image the room's newest, after it was saved; nil says that the room has none any more. The image is the newest if
// the result is nil. After an error the directory may name it or the one before: keep both. ErrNotOwner: this node has lost the room.
func (h *Holding) SetImage(ctx context.Context, image *Image) error {
	p := &pointing{room: h.room, image: image}
	answered := make(chan error, 1)
	h.node.update(func(now time.Duration) {
		if h.node.holdings[h.room] != h {
			answered <- ErrNotOwner
			return
		}
		h.node.pointing[p] = answered
		h.node.machine.point(now, p)
	})
	select {
	case err := <-answered:
		return err
	case <-h.node.ctx.Done():
		return ErrClosed
	case <-ctx.Done():
	}
	h.node.update(func(now time.Duration) {
		delete(h.node.pointing, p)
		h.node.machine.withdraw(now, p)
	})
	return fmt.Errorf("cluster: naming the newest image of room %q: %w", h.room, ctx.Err())
}

// answerPointing tells a caller of SetImage what became of it.
func (n *Node) answerPointing(h *Holding, e event) {
	if e.kind == pointed && h != nil {
		h.image.Store(e.pointing.image)
	}
	if c := n.pointing[e.pointing]; c != nil {
		delete(n.pointing, e.pointing)
		c <- e.err
	}
}

// Release gives the room up: it must not step, send or save from now on. keepsBlock keeps the block for a stored run that continues
// later. If the context ends first, the node continues to release it.
func (h *Holding) Release(ctx context.Context, keepsBlock bool) error {
	return h.release(ctx, keepsBlock, "")
}

// HandOver releases the room for another node, which has a copy of the stored run and may continue it in the block. For a short time the
// other nodes leave the room to that node, and then to this one (C11). The heir may be this node, which takes the room again with another block.
func (h *Holding) HandOver(ctx context.Context, heir string) error {
	if err := wrongName(heir); err != nil {
		return fmt.Errorf("cluster: node: %w", err)
	}
	return h.release(ctx, true, heir)
}

func (h *Holding) release(ctx context.Context, keepsBlock bool, heir string) error {
	h.running.Store(false)
	h.node.update(func(now time.Duration) {
		if h.node.holdings[h.room] == h {
			h.releasing = true
			h.node.machine.release(now, h.room, keepsBlock, heir)
		}
	})
	err := ErrClosed
	select {
	case <-h.released:
	case <-h.node.ctx.Done():
	case <-ctx.Done():
		err = fmt.Errorf("cluster: releasing room %q: %w", h.room, ctx.Err())
	}
	select {
	case <-h.released: // before anything else
		return nil
	default:
		return err
	}
}

// offerPoll bounds how long AwaitHeir takes to notice that the heir has had its time, which no record says. A taking, and the end of the heir, it
// learns at once.
const offerPoll = time.Second

// AwaitHeir waits, after HandOver, until the heir has taken the room, or ctx ends. It returns false if the heir has ended before that, or has not
// come in time: then this node may take its run back, in its block (C11).
func (h *Holding) AwaitHeir(ctx context.Context) bool {
	for {
		changed, later := h.node.Changed(h.room), make(chan struct{})
		waits, comes := h.node.isOffered(h.room)
		if !waits {
			return comes
		}
		timer := h.node.config.AfterFunc(offerPoll, func() { close(later) })
		select {
		case <-changed:
		case <-later:
		case <-h.node.ctx.Done():
			return true
		case <-ctx.Done():
			return true
		}
		timer.Stop()
	}
}

// isOffered reports whether a room that this node hands over waits for its heir, and else whether another node has taken it.
func (n *Node) isOffered(room string) (waits, taken bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	m := n.machine
	r := m.rooms.all[room]
	switch {
	case r == nil:
		return false, true
	case r.holding != nil: // the release has no answer yet
		return true, false
	case r.record.State == roomKept && r.record.Source == n.config.Name:
		return m.rooms.successorOf(m, r) != nil, false
	}
	return false, true
}

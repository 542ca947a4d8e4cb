package session

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/worldd/worldd/replication/wire"
)

// maxHeldStream bounds the stream bytes that a connection holds, like the queue of a transport for a
// client that does not read. The output of a frame is held for about a tick.
const maxHeldStream = 512 << 10

// outputGate holds the output of a Core's frames until Release (Config.HoldOutput). The goroutine that
// calls Tick sends; any other may release.
type outputGate struct {
	frame    atomic.Uint64 // that the output of the present phase belongs to
	released atomic.Uint64 // newest frame whose output may leave
	durable  atomic.Uint64 // newest frame of Release

	releasing sync.Mutex // one Release at a time
	mu        sync.Mutex // acquired after heldConn.mu
	waiting   []*heldConn
	spare     []*heldConn // scratch of visitWaiting
	answers   []frameAnswer
}

// frameAnswer is an answer that waits for its frame.
type frameAnswer struct {
	frame uint64
	heldAnswer
}

// isOpen reports whether the output of a frame may leave. A nil gate is open.
func (g *outputGate) isOpen(frame uint64) bool { return g == nil || frame <= g.released.Load() }

// isDurable reports whether Release has let a frame leave. Without a gate every frame counts as durable.
func (g *outputGate) isDurable(frame uint64) bool { return g == nil || frame <= g.durable.Load() }

// beginFrame makes later output belong to a frame.
func (g *outputGate) beginFrame(frame uint64) {
	if g != nil {
		g.frame.Store(frame)
	}
}

// addWaiting lists a connection that holds output of this gate.
func (g *outputGate) addWaiting(h *heldConn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, h)
}

// holdAnswer passes on the answer of a call once the present frame is released.
func (g *outputGate) holdAnswer(a heldAnswer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	frame := g.frame.Load()
	if g.isOpen(frame) {
		a.pass()
		return
	}
	g.answers = append(g.answers, frameAnswer{frame, a})
}

// freeAnswers returns the number of answers that the gate may take: it holds at most maxCalls. No gate holds none.
func (g *outputGate) freeAnswers() int {
	if g == nil {
		return maxCalls
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return maxCalls - len(g.answers)
}

// takeAnswers calls end for the answers that wait for frames up to frame.
func (g *outputGate) takeAnswers(end func(heldAnswer), frame uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.answers = slices.DeleteFunc(g.answers, func(a frameAnswer) bool {
		if a.frame > frame {
			return false
		}
		end(a.heldAnswer)
		return true
	})
}

// Release lets the output of all frames up to tick leave, in order (Config.HoldOutput): these frames are
// durable. Release(math.MaxUint64) ends the holding, for a world whose last state is saved. It may be called
// from any goroutine.
func (c *Core) Release(tick uint64) {
	c.outputGate.release(tick)
	c.letterBox.release(c.outputGate)
}

// discardHeld drops the output that is still held.
func (c *Core) discardHeld() {
	c.letterBox.discard()
	c.outputGate.discardHeld()
}

// release is Core.Release for clients and calls.
func (g *outputGate) release(tick uint64) {
	if g != nil {
		g.visitWaiting(func(h *heldConn) { h.passReleased(g) }, tick)
		g.noteDurable(tick)
		g.takeAnswers(heldAnswer.pass, tick)
	}
}

// noteDurable notes that the frames up to tick are durable.
func (g *outputGate) noteDurable(tick uint64) {
	g.releasing.Lock()
	defer g.releasing.Unlock()
	g.durable.Store(max(tick, g.durable.Load()))
}

// discardHeld drops the output that is still held, and opens the gate for all later output.
func (g *outputGate) discardHeld() {
	if g != nil {
		g.takeAnswers(heldAnswer.discard, math.MaxUint64)
		g.visitWaiting(func(h *heldConn) { h.discardFrames(g) }, math.MaxUint64)
	}
}

// visitWaiting opens the gate up to frame, and calls visit for each connection that holds output.
func (g *outputGate) visitWaiting(visit func(*heldConn), frame uint64) {
	g.releasing.Lock()
	defer g.releasing.Unlock()
	g.released.Store(max(frame, g.released.Load()))
	g.mu.Lock()
	g.waiting, g.spare = g.spare[:0], g.waiting
	g.mu.Unlock()
	for _, h := range g.spare {
		visit(h)
	}
	clear(g.spare) // closed connections must not stay reachable
}

// heldConn is a Conn whose output waits for its frame's release. Output leaves in the order in which it
// was sent, also if a session moves between rooms, each of which has a gate of its own.
type heldConn struct {
	conn Conn

	mu       sync.Mutex
	gate     *outputGate   // of the room; nil: its output does not wait
	waits    []*outputGate // that list this connection
	entries  []heldEntry
	stream   []byte   // bytes of the entries of kind heldStream
	snapshot [][]byte // datagrams of the held snapshot; buffers are reused
	count    int      // datagrams of the held snapshot; 0: none
	code     wire.Code
	text     string // of heldClose
	slow     bool   // the client does not read: stream bytes were refused
	cut      bool   // output was discarded: nothing may follow
}

// heldEntry is a run of stream bytes, a snapshot or the end of the connection.
type heldEntry struct {
	gate  *outputGate
	frame uint64
	kind  heldKind
	bytes int // of stream
}

type heldKind uint8

const (
	heldStream heldKind = iota
	heldSnapshot
	heldClose
)

// SendStream implements Conn.
func (h *heldConn) SendStream(p []byte) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.cut:
		return true // dropped, as after the end of a connection
	case h.slow:
		return false
	case h.mayPass():
		return h.conn.SendStream(p)
	case len(h.stream)+len(p) > maxHeldStream:
		return false
	}
	h.stream = append(h.stream, p...)
	h.addEntry(heldStream, len(p))
	return true
}

// HasUnsent implements Conn.
func (h *heldConn) HasUnsent() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.count > 0 || h.conn.HasUnsent()
}

// SendSnapshot implements Conn.
func (h *heldConn) SendSnapshot(datagrams [][]byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.cut:
		return
	case h.mayPass():
		h.conn.SendSnapshot(datagrams)
		return
	}
	for len(h.snapshot) < len(datagrams) {
		h.snapshot = append(h.snapshot, make([]byte, 0, wire.MaxDatagram))
	}
	for i, d := range datagrams {
		h.snapshot[i] = append(h.snapshot[i][:0], d...)
	}
	h.count = len(datagrams)
	h.addEntry(heldSnapshot, 0)
}

// Close implements Conn.
func (h *heldConn) Close(code wire.Code, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.cut:
	case h.mayPass():
		h.conn.Close(code, text)
	default:
		h.code, h.text = code, text
		h.addEntry(heldClose, 0)
	}
}

// mayPass reports whether output may leave at once.
func (h *heldConn) mayPass() bool {
	return len(h.entries) == 0 && (h.gate == nil || h.gate.isOpen(h.gate.frame.Load()))
}

// addEntry holds output of the present frame. If the frame is released meanwhile, the output leaves.
func (h *heldConn) addEntry(kind heldKind, bytes int) {
	e := heldEntry{gate: h.gate, kind: kind, bytes: bytes}
	if h.gate != nil {
		e.frame = h.gate.frame.Load()
	}
	if n := len(h.entries); n > 0 && kind == heldStream && h.entries[n-1].continues(e) {
		h.entries[n-1].bytes += bytes
	} else {
		h.entries = append(h.entries, e)
	}
	if e.gate != nil && !slices.Contains(h.waits, e.gate) {
		h.waits = append(h.waits, e.gate)
		e.gate.addWaiting(h)
	}
	h.passEntries()
}

// continues reports whether e and the later stream bytes of next are one run.
func (e *heldEntry) continues(next heldEntry) bool {
	return e.kind == heldStream && e.gate == next.gate && e.frame == next.frame
}

// enterGate makes later output wait for the releases of another room.
func (h *heldConn) enterGate(g *outputGate) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gate = g
}

// passReleased passes on what g has released, and lists the connection again if it still holds output of
// g.
func (h *heldConn) passReleased(g *outputGate) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.passEntries()
	if slices.ContainsFunc(h.entries, func(e heldEntry) bool { return e.gate == g }) {
		g.addWaiting(h)
	} else {
		h.waits = slices.DeleteFunc(h.waits, func(x *outputGate) bool { return x == g })
	}
}

// passEntries passes on the oldest entries up to the first that is not released.
func (h *heldConn) passEntries() {
	n, at := 0, 0
	for ; n < len(h.entries) && h.entries[n].gate.isOpen(h.entries[n].frame); n++ {
		switch e := &h.entries[n]; e.kind {
		case heldStream:
			if !h.slow {
				h.slow = !h.conn.SendStream(h.stream[at : at+e.bytes])
			}
			at += e.bytes
		case heldSnapshot:
			h.conn.SendSnapshot(h.snapshot[:h.count])
			h.count = 0
		case heldClose:
			h.conn.Close(h.code, h.text)
		}
	}
	h.entries = slices.Delete(h.entries, 0, n)
	h.stream = slices.Delete(h.stream, 0, at)
}

// discardFrames drops the output of g, whose frames will never be durable, except the end of the
// connection. The client of a session that has moved on lacks a part of the stream: its connection breaks, and
// the client resumes in the other room.
func (h *heldConn) discardFrames(g *outputGate) {
	h.mu.Lock()
	defer h.mu.Unlock()
	kept, at := h.entries[:0], 0
	for _, e := range h.entries {
		switch {
		case e.gate != g || e.kind == heldClose:
			kept = append(kept, e)
			at += e.bytes
		case e.kind == heldStream:
			h.stream = slices.Delete(h.stream, at, at+e.bytes)
			h.cut = h.cut || h.gate != g
		case e.kind == heldSnapshot:
			h.count = 0
		}
	}
	h.entries = kept
	h.waits = slices.DeleteFunc(h.waits, func(x *outputGate) bool { return x == g })
	if h.cut {
		h.conn.Close(wire.Timeout, "the room ended before its last messages could be sent")
		h.entries, h.stream, h.count = nil, nil, 0
	}
	h.passEntries()
}

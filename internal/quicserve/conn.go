package quicserve

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
)

const (
	// maxUnsentStream bounds the stream bytes queued for a client that does not
	// read. Replication limits enters by itself; only destroys and answers, which
	// cannot be dropped, accumulate this far.
	maxUnsentStream = 512 << 10
	// maxIdleStreamBuffer is the largest stream buffer kept for reuse; a connection
	// has two. The enters of a joining client need forty times that, once.
	maxIdleStreamBuffer = 1 << 10
	// closeGrace is how long the server keeps a connection that it ends, so that
	// the last message on the stream arrives: CONNECTION_CLOSE overtakes it. On a path with a
	// round trip of 200 ms, QUIC repeats the first lost packet after 0.6 s. The grace also bounds
	// clients that block the sender's write and would otherwise never release their
	// connection.
	closeGrace = time.Second
	// resetGrace is how long a page may take to end its session after it reset its stream. A
	// browser does both at once when a page closes the session to leave, but a busy machine
	// handles the end later.
	resetGrace = 2 * time.Second
)

// Conn is a session.Conn over QUIC, WebTransport or WebSocket. The goroutine that owns the world only fills its
// queues. A sender goroutine empties them, since sending may block.
type Conn struct {
	conn   link
	stream stream
	wake   chan struct{} // holds a token while a queue is not empty
	limits receiveLimits
	limit  int // size limit of a datagram on the path; only the sender uses it

	mu       sync.Mutex
	out      []byte    // unsent stream bytes
	snapshot [][]byte  // datagrams of the newest snapshot; buffers are reused
	count    int       // unsent datagrams in snapshot
	made     time.Time // when snapshot was queued
	stamp    uint32    // stamp of the newest input
	stampAt  time.Time // its arrival
	joined   bool      // a snapshot was queued
	gone     bool      // the sender has ended
	ending   bool
	code     wire.Code
	text     string
	counters *traffic
	observe  *Observers
}

// SendStream queues bytes for the stream. It returns false if the queue is full.
func (c *Conn) SendStream(p []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ending || c.gone {
		return true // the bytes are dropped
	}
	if len(c.out)+len(p) > maxUnsentStream {
		return false
	}
	c.out = append(c.out, p...)
	c.counters.unsent.Add(int64(len(p)))
	c.signalSender()
	return true
}

// HasUnsent reports whether the sender has yet to take the datagrams of a snapshot.
func (c *Conn) HasUnsent() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count > 0
}

// SendSnapshot queues datagrams. HasUnsent must be false.
func (c *Conn) SendSnapshot(datagrams [][]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.snapshot) < len(datagrams) {
		c.snapshot = append(c.snapshot, make([]byte, 0, wire.MaxDatagram))
	}
	for i, d := range datagrams {
		c.snapshot[i] = append(c.snapshot[i][:0], d...)
	}
	c.count, c.made, c.joined = len(datagrams), time.Now(), true
	c.signalSender()
}

// Close sends the rest of the stream's queue and ends the connection. Unless code is OK, the client may end it first, within closeGrace.
func (c *Conn) Close(code wire.Code, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ending {
		c.ending, c.code, c.text = true, code, truncateReason(text)
		c.signalSender()
		time.AfterFunc(closeGrace, c.closeNow)
	}
}

// closeReason returns the code and text given to Close, and whether it was called.
func (c *Conn) closeReason() (code wire.Code, text string, decided bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.code, c.text, c.ending
}

// truncateReason returns the beginning of text that fits into a close frame. A frame larger
// than a packet is never sent.
func truncateReason(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), wire.MaxText)], "")
}

// closeNow closes the connection and discards unsent data; blocked writes return.
func (c *Conn) closeNow() {
	_ = c.conn.CloseWithError(quic.ApplicationErrorCode(c.code), c.text)
}

func (c *Conn) signalSender() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// setInputStamp sets the stamp that the next snapshots echo.
func (c *Conn) setInputStamp(stamp uint32, at time.Time) {
	c.mu.Lock()
	c.stamp, c.stampAt = stamp, at
	c.mu.Unlock()
}

// work holds the data that the sender has taken from the queues.
type work struct {
	stream    []byte
	buffers   [][]byte
	datagrams [][]byte // a prefix of buffers
	made      time.Time
	ending    bool
}

// takeQueued exchanges the sender's sent buffers for the queued ones.
func (c *Conn) takeQueued(w *work) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cap(w.stream) > maxIdleStreamBuffer {
		w.stream = nil
	}
	w.stream, c.out = c.out, w.stream[:0]
	for len(w.buffers) < c.count {
		w.buffers = append(w.buffers, make([]byte, 0, wire.MaxDatagram))
	}
	w.datagrams = w.buffers[:c.count]
	hold := time.Since(c.stampAt) / (100 * time.Microsecond)
	for i := range w.datagrams {
		w.datagrams[i], c.snapshot[i] = c.snapshot[i], w.datagrams[i]
		wire.StampState(w.datagrams[i], c.stamp, uint16(min(hold, 1<<16-1)))
	}
	c.count, w.made = 0, c.made
	w.ending = c.ending
	c.counters.unsent.Add(-int64(len(w.stream)))
}

// probeBytes is the size of a datagram that no packet carries. Sending one fails with an error
// that has the present size limit.
const probeBytes = 2 << 10

// learnLimit updates the size limit of datagrams. Path MTU discovery raises it. A change of the
// client's address lowers it, since the path may have changed.
func (c *Conn) learnLimit(peer *session.Peer) {
	limit := wire.MaxDatagram
	err := c.conn.SendDatagram(make([]byte, probeBytes))
	if tooLarge, ok := errors.AsType[*quic.DatagramTooLargeError](err); ok {
		limit = min(int(tooLarge.MaxDatagramPayloadSize), wire.MaxDatagram)
	}
	if limit != c.limit {
		c.limit = limit
		peer.SetMaxDatagram(limit)
	}
}

// sendQueued empties the queues until the connection ends. The stream goes first: the
// datagrams depend on its structure.
func (c *Conn) sendQueued(peer *session.Peer) {
	defer c.discardUnsent()
	stop := context.AfterFunc(c.conn.Context(), c.signalSender) // cheaper than to select at each wake-up
	defer stop()
	var w work
	for {
		<-c.wake
		if c.conn.Context().Err() != nil {
			return
		}
		c.takeQueued(&w)
		switch {
		case len(w.stream) > 0:
			c.observe.Unsent(float64(len(w.stream)))
		case len(w.datagrams) > 0 && !w.ending && c.transport() != tcpTransport:
			w.stream = wire.AppendFrame(w.stream, wire.TypePad, nil) // saves a packet: PROTOCOL.md section 3
		}
		if len(w.stream) > 0 {
			n, err := c.stream.Write(w.stream)
			c.counters.streamBytes.Add(uint64(n))
			if err != nil {
				return // the readers get the cause
			}
			if w.overtakesStream(c.limit) {
				runtime.Gosched() // lets the connection send the stream first
			}
		}
		if w.ending {
			c.awaitClose()
			return
		}
		if len(w.datagrams) > 0 {
			c.counters.snapshots.Add(1)
			c.observe.SnapshotAge(time.Since(w.made).Seconds())
			if tooLarge := c.sendDatagrams(w.datagrams); tooLarge || c.limit < wire.MaxDatagram {
				c.learnLimit(peer)
			}
		}
		if c.conn.flush() != nil {
			return
		}
	}
}

// overtakesStream reports whether datagrams would be sent ahead of the stream: QUIC puts
// datagrams into a packet first, and both do not fit. A client that receives them in that order
// has to keep them until the structure on which they depend arrives. If both fit, the client
// reads both from one packet: waiting would cost a packet and gain 0.1 ms (BENCHMARKS.md).
func (w *work) overtakesStream(limit int) bool {
	return len(w.datagrams) > 0 && len(w.stream)+len(w.datagrams[0]) > limit
}

// discardUnsent drops unsent stream bytes after the sender has ended.
func (c *Conn) discardUnsent() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counters.unsent.Add(-int64(len(c.out)))
	c.out, c.gone = nil, true
}

// sendDatagrams sends what the transport accepts, and reports whether a datagram was too large
// for the path.
func (c *Conn) sendDatagrams(datagrams [][]byte) (tooLarge bool) {
	for _, d := range datagrams {
		if err := c.conn.SendDatagram(d); err != nil {
			c.counters.refused.Add(1)
			_, size := errors.AsType[*quic.DatagramTooLargeError](err)
			tooLarge = tooLarge || size
			continue
		}
		c.counters.datagrams.Add(1)
		c.counters.datagramBytes.Add(uint64(len(d)))
	}
	return tooLarge
}

// awaitClose gives the client time to read the Bye and close the connection.
func (c *Conn) awaitClose() {
	_ = c.stream.Close()
	if c.code == wire.OK {
		c.closeNow()
	}
	<-c.conn.Context().Done()
}

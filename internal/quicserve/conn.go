package quicserve

import (
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/worldd/worldd/replication/wire"
)

const (
	// maxUnsentStream is how many bytes of the stream may wait for a client
	// that does not read: beyond replication's own limit on enters, only
	// destroys and answers, which it must not miss, can pile up this far.
	maxUnsentStream = 512 << 10
	// keptStream is how large a spent buffer of the stream may be to be used
	// again, of which a connection has two. What enters when a client joins takes
	// forty times that, once.
	keptStream = 1 << 10
	// farewellWait is how long a connection that the server ends is kept, so
	// that the goodbye on the stream arrives: CONNECTION_CLOSE overtakes it. It
	// is also all that a client gets which never lets its sender's write end;
	// without it, such clients would keep every place.
	farewellWait = 300 * time.Millisecond
)

// Conn is a session.Conn over QUIC. The goroutine that owns the world only fills
// its queues; one sender empties them, since both ways of sending may block.
type Conn struct {
	conn   *quic.Conn
	stream *quic.Stream
	wake   chan struct{} // holds a token while something waits for the sender
	intake intake

	mu       sync.Mutex
	out      []byte    // of the stream, unsent
	snapshot [][]byte  // the newest one; the buffers are reused
	count    int       // datagrams of it that are unsent
	made     time.Time // when it was queued
	stamp    uint32    // of the newest input
	stampAt  time.Time
	gone     bool // the sender has ended
	ending   bool
	code     wire.Code
	text     string
	counters *traffic
	observe  *Observers
}

// SendStream queues bytes for the stream.
func (c *Conn) SendStream(p []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ending || c.gone {
		return true // it is over anyway
	}
	if len(c.out)+len(p) > maxUnsentStream {
		return false
	}
	c.out = append(c.out, p...)
	c.counters.unsent.Add(int64(len(p)))
	c.signal()
	return true
}

// SendSnapshot queues datagrams in place of unsent ones, whose rows go out
// again when replication finds that nobody acknowledges them.
func (c *Conn) SendSnapshot(datagrams [][]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counters.replaced.Add(uint64(c.count))
	for len(c.snapshot) < len(datagrams) {
		c.snapshot = append(c.snapshot, make([]byte, 0, wire.MaxDatagram))
	}
	for i, d := range datagrams {
		c.snapshot[i] = append(c.snapshot[i][:0], d...)
	}
	c.count, c.made = len(datagrams), time.Now()
	c.signal()
}

// Close ends the connection once the stream's queue is sent, or the client has
// had its time to take it.
func (c *Conn) Close(code wire.Code, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ending {
		c.ending, c.code, c.text = true, code, reason(text)
		c.signal()
		time.AfterFunc(farewellWait, c.cut)
	}
}

// sentence is with what the server ended the connection, or is about to.
func (c *Conn) sentence() (code wire.Code, text string, decided bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.code, c.text, c.ending
}

// reason is the part of text that a close frame carries: one that does not fit
// into a packet is never sent.
func reason(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), wire.MaxText)], "")
}

// cut ends the connection, whatever is unsent: every write on it returns.
func (c *Conn) cut() {
	_ = c.conn.CloseWithError(quic.ApplicationErrorCode(c.code), c.text)
}

func (c *Conn) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// heard notes the stamp that the next snapshots echo.
func (c *Conn) heard(stamp uint32, at time.Time) {
	c.mu.Lock()
	c.stamp, c.stampAt = stamp, at
	c.mu.Unlock()
}

// work is what the sender took out of the queues.
type work struct {
	stream    []byte
	buffers   [][]byte
	datagrams [][]byte // the first of buffers
	made      time.Time
	ending    bool
}

// take swaps the sender's spent buffers for what waits.
func (c *Conn) take(w *work) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cap(w.stream) > keptStream {
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

// send empties the queues until the connection ends. The stream goes first:
// the datagrams stand on it.
func (c *Conn) send() {
	defer c.discard()
	var w work
	for {
		select {
		case <-c.wake:
		case <-c.conn.Context().Done():
			return
		}
		c.take(&w)
		if len(w.datagrams) > 0 && len(w.stream) == 0 && !w.ending {
			w.stream = wire.AppendFrame(w.stream, wire.TypePad, nil) // saves a packet: PROTOCOL.md section 3
		}
		if len(w.stream) > 0 {
			c.observe.Unsent(float64(len(w.stream)))
			n, err := c.stream.Write(w.stream)
			c.counters.streamBytes.Add(uint64(n))
			if err != nil {
				return // the readers see why
			}
			if w.overtakes() {
				runtime.Gosched() // to the connection, which sends what is there
			}
		}
		if w.ending {
			c.farewell()
			return
		}
		if len(w.datagrams) > 0 {
			c.counters.snapshots.Add(1)
			c.observe.SnapshotAge(time.Since(w.made).Seconds())
			c.sendDatagrams(w.datagrams)
		}
	}
}

// overtakes says whether the datagrams would be sent ahead of the stream: QUIC puts
// them into a packet first, and there is no room for both. Who is sent them in that
// order has to keep them until the structure that they stand on is there.
func (w *work) overtakes() bool {
	return len(w.datagrams) > 0 && len(w.stream)+len(w.datagrams[0]) > wire.MaxDatagram
}

// discard drops what nobody will send any more.
func (c *Conn) discard() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counters.unsent.Add(-int64(len(c.out)))
	c.out, c.gone = nil, true
}

func (c *Conn) sendDatagrams(datagrams [][]byte) {
	for _, d := range datagrams {
		if err := c.conn.SendDatagram(d); err != nil {
			c.counters.refused.Add(1)
			continue
		}
		c.counters.datagrams.Add(1)
		c.counters.datagramBytes.Add(uint64(len(d)))
	}
}

// farewell leaves the client time to read the goodbye and close by itself.
func (c *Conn) farewell() {
	_ = c.stream.Close()
	if c.code == wire.OK {
		c.cut()
	}
	<-c.conn.Context().Done()
}

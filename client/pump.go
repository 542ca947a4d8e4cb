package client

import (
	"context"
	"encoding/binary"
	"io"
	"sync"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/worldd/worldd/replication/wire"
)

const (
	// maxUnreadStream bounds the stream bytes that wait for Update; above it the stream is not
	// read, and flow control slows the server. A client applies that many bytes in at most some
	// tens of milliseconds.
	maxUnreadStream = 256 << 10
	// maxUnreadDatagrams bounds the datagrams that wait for Update; above it the oldest is
	// dropped. It holds five seconds of snapshots of two datagrams each.
	maxUnreadDatagrams = 256
	// maxReusedStream bounds the stream buffer kept for reuse. Only a whole interest set is
	// larger, and arrives once.
	maxReusedStream = 16 << 10
	// maxUnsentStream bounds the command bytes that wait for the network.
	maxUnsentStream = 256 << 10
)

// Traffic counts what a Client's connections carried.
type Traffic struct {
	BytesReceived    uint64 // stream and datagrams, without packet headers
	Datagrams        uint64 // received
	DatagramsDropped uint64 // received, then dropped because too many waited for Update
}

// plusLink returns t plus the traffic of link, which may be nil.
func (t Traffic) plusLink(link Conn) Traffic {
	if link == nil {
		return t
	}
	o := link.Traffic()
	return Traffic{t.BytesReceived + o.BytesReceived, t.Datagrams + o.Datagrams, t.DatagramsDropped + o.DatagramsDropped}
}

// transport carries the stream and the datagrams of a connection: quicTransport or *wslink.Link.
type transport interface {
	io.ReadWriter // of the stream
	SendDatagram(d []byte) error
	ReceiveDatagram(ctx context.Context) ([]byte, error)
	// Flush sends what Write holds back.
	Flush() error
	Context() context.Context
	CloseWithError(code quic.ApplicationErrorCode, text string) error
}

// quicTransport is a QUIC connection and its stream.
type quicTransport struct {
	*quic.Conn
	stream *quic.Stream
	wrote  bool // to the stream, since the last datagram
}

func (t *quicTransport) Read(p []byte) (int, error) { return t.stream.Read(p) }

func (t *quicTransport) Write(p []byte) (int, error) {
	t.wrote = true
	return t.stream.Write(p)
}

// SendDatagram sends d behind bytes of the stream, which saves a packet: PROTOCOL.md section 3.
func (t *quicTransport) SendDatagram(d []byte) error {
	if !t.wrote {
		if _, err := t.stream.Write(wire.AppendFrame(nil, wire.TypePad, nil)); err != nil {
			return err
		}
	}
	t.wrote = false
	return t.Conn.SendDatagram(d)
}

func (t *quicTransport) Flush() error { return nil }

// pump moves bytes between a connection and the goroutine that calls Update. Its
// goroutines do not interpret them.
type pump struct {
	conn  transport
	clock func() time.Duration

	arrived chan struct{} // holds a token while something waits for Receive, and once nothing more will arrive
	room    chan struct{} // holds a token after a Receive that readStream waited for
	wake    chan struct{} // holds a token while something waits to be sent
	closing sync.Once
	done    sync.WaitGroup

	mu     sync.Mutex
	in     Arrivals
	full   bool   // readStream waits for Receive
	eager  bool   // structure alone wakes Wait
	out    []byte // stream bytes to send
	input  []byte // the newest Input datagram
	unsent bool   // input is to be sent
	stats  Traffic
}

func newPump(conn transport, clock func() time.Duration) *pump {
	p := &pump{
		conn: conn, clock: clock,
		arrived: make(chan struct{}, 1), room: make(chan struct{}, 1), wake: make(chan struct{}, 1),
	}
	p.done.Go(p.readStream)
	p.done.Go(p.readDatagrams)
	p.done.Go(p.sendQueued)
	return p
}

func putToken(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Receive implements Conn.
func (p *pump) Receive(before Arrivals) Arrivals {
	clear(before.Datagrams)
	if cap(before.Stream) > maxReusedStream {
		before.Stream = nil
	}
	p.mu.Lock()
	in := p.in
	p.in = Arrivals{Stream: before.Stream[:0], Datagrams: before.Datagrams[:0], Err: in.Err}
	if p.full {
		p.full = false
		putToken(p.room)
	}
	if in.Err == nil {
		select {
		case <-p.arrived:
		default:
		}
	}
	p.mu.Unlock()
	return in
}

func (p *pump) failWith(err error) {
	p.mu.Lock()
	if p.in.Err == nil {
		p.in.Err = err
		putToken(p.arrived)
	}
	p.mu.Unlock()
}

// wakeChannel returns the channel that wakes Wait. Structure alone wakes it only if eager is
// set: structure usually precedes the snapshot that needs it, and one Update for both is
// cheaper than two.
func (p *pump) wakeChannel(eager bool) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.eager = eager
	if eager && len(p.in.Stream) > 0 {
		putToken(p.arrived)
	}
	return p.arrived
}

func (p *pump) readStream() {
	buf := make([]byte, 16<<10)
	var frames frameTypes
	for {
		n, err := p.conn.Read(buf)
		wakes := frames.wakesWait(buf[:n])
		p.mu.Lock()
		p.in.Stream = append(p.in.Stream, buf[:n]...)
		p.stats.BytesReceived += uint64(n)
		p.full = len(p.in.Stream) >= maxUnreadStream
		full := p.full
		if wakes || full || p.eager {
			putToken(p.arrived)
		}
		p.mu.Unlock()
		if err == io.EOF {
			// The server has sent everything. Its close frame follows, with the code.
			<-p.conn.Context().Done()
			err = context.Cause(p.conn.Context())
		}
		if err != nil {
			p.failWith(err)
			return
		}
		if full {
			select {
			case <-p.room:
			case <-p.conn.Context().Done():
			}
		}
	}
}

// frameTypes follows the frames of the stream.
type frameTypes struct {
	rest  int  // bytes of the current frame that have not been read
	kind  byte // its type
	blind bool // a frame header was split between pieces: the frames since are unknown
}

// wakesWait reports whether p, the next piece of the stream, has or may have messages other
// than Structure and Pad.
func (f *frameTypes) wakesWait(p []byte) (wakes bool) {
	for !f.blind && len(p) > 0 {
		if f.rest == 0 {
			length, n := binary.Uvarint(p)
			if n <= 0 || n == len(p) || length > wire.MaxStreamMessage {
				f.blind = true
				break
			}
			f.rest, f.kind = n+int(length), p[n]
		}
		wakes = wakes || f.kind != wire.TypeStructure && f.kind != wire.TypePad
		n := min(f.rest, len(p))
		p, f.rest = p[n:], f.rest-n
	}
	return wakes || f.blind
}

func (p *pump) readDatagrams() {
	for {
		d, err := p.conn.ReceiveDatagram(context.Background())
		if err != nil {
			p.failWith(err)
			return
		}
		p.mu.Lock()
		if len(p.in.Datagrams) == maxUnreadDatagrams {
			p.in.Datagrams = append(p.in.Datagrams[:0], p.in.Datagrams[1:]...)
			p.stats.DatagramsDropped++
		}
		p.in.Datagrams = append(p.in.Datagrams, Datagram{d, p.clock()})
		p.stats.BytesReceived += uint64(len(d))
		p.stats.Datagrams++
		putToken(p.arrived)
		p.mu.Unlock()
	}
}

// SendStream implements Conn.
func (p *pump) SendStream(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.out)+len(b) > maxUnsentStream {
		return &wire.Error{Code: wire.TooFast, Detail: "commands are queued faster than the network sends them"}
	}
	p.out = append(p.out, b...)
	putToken(p.wake)
	return nil
}

// SendDatagram implements Conn.
func (p *pump) SendDatagram(d []byte) {
	p.mu.Lock()
	p.input = append(p.input[:0], d...)
	p.unsent = true
	p.mu.Unlock()
	putToken(p.wake)
}

// sendQueued writes the stream and the datagrams on a goroutine of its own, since either
// write may block.
func (p *pump) sendQueued() {
	stop := context.AfterFunc(p.conn.Context(), func() { putToken(p.wake) }) // cheaper than a select at each wake-up
	defer stop()
	var stream, input []byte
	for {
		<-p.wake
		if p.conn.Context().Err() != nil {
			return
		}
		p.mu.Lock()
		stream, p.out = p.out, stream[:0]
		input = append(input[:0], p.input...)
		unsent := p.unsent
		p.unsent = false
		p.mu.Unlock()
		if len(stream) > 0 {
			if _, err := p.conn.Write(stream); err != nil {
				p.failWith(err)
				return
			}
		}
		if unsent {
			// An error means that the datagram is lost, which the protocol allows, or that the
			// connection is gone, which the readers notice.
			_ = p.conn.SendDatagram(input)
		}
		if err := p.conn.Flush(); err != nil {
			p.failWith(err)
			return
		}
	}
}

// Traffic implements Conn.
func (p *pump) Traffic() Traffic {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stats
}

// closeWith runs farewell while the goroutines still move bytes, ends the connection, waits for
// the goroutines, and runs after.
func (p *pump) closeWith(why wire.Code, farewell, after func()) {
	p.closing.Do(func() {
		farewell()
		_ = p.conn.CloseWithError(quic.ApplicationErrorCode(why), "")
		p.done.Wait()
		after()
	})
}

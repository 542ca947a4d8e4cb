package client

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/worldd/worldd/replication/wire"
)

const (
	// maxUnreadStream is how many stream bytes wait for Update before the
	// connection is read no further; flow control then slows the server.
	maxUnreadStream = 1 << 20
	// maxUnreadDatagrams is how many datagrams wait for Update before the
	// oldest are dropped: five seconds of snapshots of two datagrams.
	maxUnreadDatagrams = 256
	// keptStream is how large a buffer of stream bytes is used again: a whole interest
	// set is larger, and comes once.
	keptStream = 16 << 10
	// maxUnsentStream is how many bytes of commands may wait for the network.
	maxUnsentStream = 256 << 10
)

// lanes moves bytes between a connection and the goroutine that calls Update.
// Its goroutines know nothing of what the bytes mean.
type lanes struct {
	conn   *quic.Conn
	stream *quic.Stream
	start  time.Time

	arrived chan struct{} // holds a token while something waits for take
	ended   chan struct{} // closed when nothing more will come
	room    chan struct{} // holds a token after take
	wake    chan struct{} // holds a token while something waits to be sent
	closing sync.Once
	done    sync.WaitGroup

	mu     sync.Mutex
	in     arrivals
	out    []byte
	input  []byte // the newest answer that is not sent
	unsent bool
	stats  Traffic
}

// arrivals is what came since the last take.
type arrivals struct {
	stream    []byte
	datagrams []arrival
	err       error // why nothing more will come
}

type arrival struct {
	bytes []byte
	at    time.Duration // since the connection was made
}

func openLanes(conn *quic.Conn, stream *quic.Stream, start time.Time) *lanes {
	l := &lanes{
		conn: conn, stream: stream, start: start,
		arrived: make(chan struct{}, 1), ended: make(chan struct{}), room: make(chan struct{}, 1), wake: make(chan struct{}, 1),
	}
	l.done.Go(l.readStream)
	l.done.Go(l.readDatagrams)
	l.done.Go(l.send)
	return l
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// take returns what has arrived since. It belongs to the caller, who gives back what he
// took before.
func (l *lanes) take(before arrivals) arrivals {
	clear(before.datagrams)
	if cap(before.stream) > keptStream {
		before.stream = nil
	}
	l.mu.Lock()
	in := l.in
	l.in = arrivals{stream: before.stream[:0], datagrams: before.datagrams[:0], err: in.err}
	l.mu.Unlock()
	signal(l.room)
	return in
}

func (l *lanes) fail(err error) {
	l.mu.Lock()
	if l.in.err == nil {
		l.in.err = err
		close(l.ended)
	}
	l.mu.Unlock()
}

func (l *lanes) readStream() {
	buf := make([]byte, 16<<10)
	for {
		n, err := l.stream.Read(buf)
		l.mu.Lock()
		l.in.stream = append(l.in.stream, buf[:n]...)
		l.stats.BytesReceived += uint64(n)
		full := len(l.in.stream) >= maxUnreadStream
		l.mu.Unlock()
		signal(l.arrived)
		if err == io.EOF {
			// The server has said all. Its close frame follows, with the code.
			<-l.conn.Context().Done()
			err = context.Cause(l.conn.Context())
		}
		if err != nil {
			l.fail(err)
			return
		}
		if full {
			select {
			case <-l.room:
			case <-l.conn.Context().Done():
			}
		}
	}
}

func (l *lanes) readDatagrams() {
	for {
		d, err := l.conn.ReceiveDatagram(context.Background())
		if err != nil {
			l.fail(err)
			return
		}
		l.mu.Lock()
		if len(l.in.datagrams) == maxUnreadDatagrams {
			l.in.datagrams = append(l.in.datagrams[:0], l.in.datagrams[1:]...)
			l.stats.DatagramsDropped++
		}
		l.in.datagrams = append(l.in.datagrams, arrival{d, time.Since(l.start)})
		l.stats.BytesReceived += uint64(len(d))
		l.stats.Datagrams++
		l.mu.Unlock()
		signal(l.arrived)
	}
}

// write queues stream bytes.
func (l *lanes) write(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.out)+len(p) > maxUnsentStream {
		return &wire.Error{Code: wire.TooFast, Detail: "more commands than the network takes"}
	}
	l.out = append(l.out, p...)
	signal(l.wake)
	return nil
}

// answer queues a datagram in place of one that is not sent yet: it says all
// that the older one said.
func (l *lanes) answer(d []byte) {
	l.mu.Lock()
	l.input = append(l.input[:0], d...)
	l.unsent = true
	l.mu.Unlock()
	signal(l.wake)
}

// send is the only goroutine that writes, since both kinds of writing may
// block.
func (l *lanes) send() {
	var stream, input []byte
	for {
		select {
		case <-l.wake:
		case <-l.conn.Context().Done():
			return
		}
		l.mu.Lock()
		stream, l.out = l.out, stream[:0]
		input = append(input[:0], l.input...)
		unsent := l.unsent
		l.unsent = false
		l.mu.Unlock()
		if unsent && len(stream) == 0 {
			stream = wire.AppendFrame(stream, wire.TypePad, nil) // saves a packet: PROTOCOL.md section 3
		}
		if len(stream) > 0 {
			if _, err := l.stream.Write(stream); err != nil {
				l.fail(err)
				return
			}
		}
		if unsent {
			// An error means that the connection is gone, which the readers
			// notice, or that the datagram is lost, which is lawful.
			_ = l.conn.SendDatagram(input)
		}
	}
}

func (l *lanes) counters() Traffic {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stats
}

// close runs farewell while the lanes still work, ends the connection, waits
// for the goroutines, and runs after.
func (l *lanes) close(why wire.Code, farewell, after func()) {
	l.closing.Do(func() {
		farewell()
		_ = l.conn.CloseWithError(quic.ApplicationErrorCode(why), "")
		l.done.Wait()
		after()
	})
}

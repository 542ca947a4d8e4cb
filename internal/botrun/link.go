package botrun

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"time"
)

// Link impairs the UDP packets between a bot and the server, equally in both directions. The
// zero value does nothing. Only the seed and packet numbers decide which packets are lost or
// late.
type Link struct {
	Loss    float64       // share of packets lost, 0 to 1
	Delay   time.Duration // added to every packet, one way
	Jitter  time.Duration // added on top, uniform from 0; packets can overtake each other
	Reorder float64       // share of packets held back for 70 ms, so that later ones overtake them, 0 to 1
	// CutAt and CutFor cut the link: all packets are lost for CutFor, starting CutAt
	// after the start of the run.
	CutAt, CutFor time.Duration
}

// reorderHold is the extra delay of a reordered packet: longer than two snapshot intervals at
// 30 Hz, so that other packets overtake it.
const reorderHold = 70 * time.Millisecond

// longestLink bounds Delay and Jitter: later packets count as lost, for QUIC too.
const longestLink = 2 * time.Second

func (l Link) validate() error {
	var wrong faults
	wrong.addIf(!(l.Loss >= 0 && l.Loss <= 1), "a loss of %v, want a share from 0 to 1", l.Loss)
	wrong.addIf(!(l.Reorder >= 0 && l.Reorder <= 1), "a reorder of %v, want a share from 0 to 1", l.Reorder)
	wrong.addIf(l.Delay < 0 || l.Delay > longestLink || l.Jitter < 0 || l.Jitter > longestLink, "delay %v, jitter %v, want 0 to %v", l.Delay, l.Jitter, longestLink)
	wrong.addIf(l.CutAt < 0 || l.CutFor < 0, "a cut of %v after %v, want no negative times", l.CutFor, l.CutAt)
	wrong.addIf(l.CutAt > 0 && l.CutFor == 0, "a cut after %v has no duration", l.CutAt)
	return errors.Join(wrong...)
}

// String describes the impairments; it is empty if there are none.
func (l Link) String() string {
	var does []string
	describe := func(there bool, format string, args ...any) {
		if there {
			does = append(does, fmt.Sprintf(format, args...))
		}
	}
	describe(l.Loss > 0, "%.4g %% lost", 100*l.Loss)
	describe(l.Delay > 0 && l.Jitter == 0, "%v later", l.Delay)
	describe(l.Jitter > 0, "%v to %v later", l.Delay, l.Delay+l.Jitter)
	describe(l.Reorder > 0, "%.4g %% overtaken", 100*l.Reorder)
	describe(l.CutFor > 0, "cut after %v for %v", l.CutAt, l.CutFor)
	return strings.Join(does, ", ")
}

// isCutAt reports whether the link is cut at a time since the start of the run.
func (l Link) isCutAt(since time.Duration) bool { return since >= l.CutAt && since < l.CutAt+l.CutFor }

// drawFate draws one packet's fate. The number of draws is constant, so that packets do not
// affect each other.
func (l Link) drawFate(dice *rand.Rand) (lost bool, late time.Duration) {
	lost = dice.Float64() < l.Loss
	late = l.Delay + time.Duration(dice.Float64()*float64(l.Jitter))
	if dice.Float64() < l.Reorder {
		late += reorderHold
	}
	return lost, late
}

// packet is a received packet or an error.
type packet struct {
	data []byte
	from net.Addr
	err  error
}

// impaired is a UDP socket behind a Link. It forwards the common methods instead of
// embedding the socket, so that QUIC cannot bypass it for a faster path.
type impaired struct {
	udp   *net.UDPConn
	link  Link
	began time.Time // start of the run

	sending  sync.Mutex
	sendDice *rand.Rand

	mu      sync.Mutex
	come    *sync.Cond
	arrived []packet
	expired bool // the read deadline has passed
}

// openImpaired opens a socket whose packets' fates depend on seed.
func openImpaired(l Link, seed uint64, began time.Time) (*impaired, error) {
	udp, err := net.ListenUDP("udp", nil)
	if err != nil {
		return nil, err
	}
	c := &impaired{udp: udp, link: l, began: began, sendDice: rand.New(rand.NewPCG(seed, 1))}
	c.come = sync.NewCond(&c.mu)
	go c.receivePackets(rand.New(rand.NewPCG(seed, 2)))
	return c, nil
}

// receivePackets reads the socket until it is closed.
func (c *impaired) receivePackets(dice *rand.Rand) {
	buf := make([]byte, 1<<16)
	for {
		n, from, err := c.udp.ReadFrom(buf)
		if err != nil {
			c.queuePacket(packet{err: err})
			return
		}
		lost, late := c.link.drawFate(dice)
		if lost || c.link.isCutAt(time.Since(c.began)) {
			continue
		}
		p := packet{data: append([]byte(nil), buf[:n]...), from: from}
		if late == 0 {
			c.queuePacket(p)
			continue
		}
		time.AfterFunc(late, func() { c.queuePacket(p) })
	}
}

func (c *impaired) queuePacket(p packet) {
	c.mu.Lock()
	c.arrived = append(c.arrived, p)
	c.mu.Unlock()
	c.come.Signal()
}

// ReadFrom waits for a packet, a socket error, or the deadline.
func (c *impaired) ReadFrom(buf []byte) (int, net.Addr, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.arrived) == 0 && !c.expired {
		c.come.Wait()
	}
	if c.expired {
		return 0, nil, os.ErrDeadlineExceeded
	}
	p := c.arrived[0]
	if p.err != nil {
		return 0, nil, p.err // kept: nothing follows an error
	}
	c.arrived = c.arrived[1:]
	return copy(buf, p.data), p.from, nil
}

// SetReadDeadline supports the two deadlines by which QUIC ends a read: now and never.
func (c *impaired) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	c.expired = !t.IsZero()
	c.mu.Unlock()
	c.come.Broadcast()
	return nil
}

// WriteTo sends or loses a packet; the sender cannot tell.
func (c *impaired) WriteTo(p []byte, to net.Addr) (int, error) {
	c.sending.Lock()
	lost, late := c.link.drawFate(c.sendDice)
	c.sending.Unlock()
	switch {
	case lost, c.link.isCutAt(time.Since(c.began)):
		return len(p), nil
	case late == 0:
		return c.udp.WriteTo(p, to)
	}
	copied := append([]byte(nil), p...)
	// On an error the packet is lost: the socket was closed.
	time.AfterFunc(late, func() { _, _ = c.udp.WriteTo(copied, to) })
	return len(p), nil
}

// Close and the methods below forward to the socket.
func (c *impaired) Close() error        { return c.udp.Close() }
func (c *impaired) LocalAddr() net.Addr { return c.udp.LocalAddr() }
func (c *impaired) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}
func (c *impaired) SetWriteDeadline(t time.Time) error { return c.udp.SetWriteDeadline(t) }
func (c *impaired) SetReadBuffer(bytes int) error      { return c.udp.SetReadBuffer(bytes) }
func (c *impaired) SetWriteBuffer(bytes int) error     { return c.udp.SetWriteBuffer(bytes) }

package quicserve

import (
	"net"

	"golang.org/x/sys/unix"
)

// maxUnsentTCP is how many bytes the kernel may hold that TCP has not sent yet: one snapshot, and no stale ones behind it.
const maxUnsentTCP = 1 << 10

// limitUnsent keeps c from holding more than maxUnsentTCP.
func limitUnsent(c *net.TCPConn) {
	raw, err := c.SyscallConn()
	if err != nil {
		return // the connection has ended
	}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, maxUnsentTCP)
	})
}

// retransmissions returns how many segments of c TCP has sent again.
func retransmissions(c *net.TCPConn) (n uint32) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0 // the connection has ended
	}
	_ = raw.Control(func(fd uintptr) {
		if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			n = info.Total_retrans
		}
	})
	return n
}

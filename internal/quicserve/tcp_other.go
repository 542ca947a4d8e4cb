//go:build !linux

package quicserve

import "net"

// unsentBuffer bounds the bytes that the kernel holds of a connection, sent or not.
const unsentBuffer = 16 << 10

// limitUnsent keeps snapshots from waiting in the kernel, as far as this system can.
func limitUnsent(c *net.TCPConn) { _ = c.SetWriteBuffer(unsentBuffer) }

// retransmissions returns 0: this system does not count them for each connection.
func retransmissions(*net.TCPConn) uint32 { return 0 }

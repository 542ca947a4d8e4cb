package server

import "github.com/worldd/worldd/replication/wire"

// Conn is what a session needs of the transport below it: QUIC in a server, a
// seeded link in a simulation. No method may block, since the goroutine that
// owns the world calls them.
type Conn interface {
	// SendStream queues bytes for the reliable stream. It returns false when
	// the peer has left more unread than the connection is willing to queue.
	SendStream(p []byte) bool
	// SendSnapshot queues the datagrams of one snapshot in place of an older
	// one that is still unsent. It copies them.
	SendSnapshot(datagrams [][]byte)
	// Close ends the connection after what is queued on the stream was sent.
	Close(code wire.Code, text string)
}

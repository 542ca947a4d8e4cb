package host

import (
	"syscall"

	"github.com/worldd/worldd/server"
)

// receiveBuffer returns the receive buffer of a server's socket for clients as the kernel and quic-go count it, or 0 if it is unknown.
func receiveBuffer(s *server.Server) (bytes int) {
	sockets, err := s.Sockets()
	if err != nil {
		return 0
	}
	defer sockets.Close()
	raw, err := sockets.Clients.SyscallConn()
	if err != nil {
		return 0
	}
	err = raw.Control(func(fd uintptr) {
		bytes, err = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF)
	})
	if err != nil {
		return 0
	}
	return bytes
}

// Package loopback gives addresses of 127.0.0.1 to tests: reserved ones, for programs that must know their own or each other's
// before they listen or that keep them over restarts, and relays of TCP.
package loopback

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// Systems take the ports of outgoing connections from above 32767, so that nobody gets a reserved port by
// chance while its program does not run.
const lowest, highest = 20000, 32767

// Reserve returns n addresses of 127.0.0.1 that are free for TCP and for UDP, and that no other test
// reserves before t ends.
func Reserve(t testing.TB, n int) (addresses []string) {
	t.Helper()
	for range n {
		addresses = append(addresses, reserve(t))
	}
	return addresses
}

// reserve listens at an odd port until t ends, which reserves the even port below it.
func reserve(t testing.TB) string {
	t.Helper()
	for range 1000 {
		port := lowest + 2*rand.IntN((highest-lowest)/2)
		lock, err := net.Listen("tcp", loopback(port+1))
		if err != nil {
			continue
		}
		if !free(loopback(port)) {
			_ = lock.Close()
			continue
		}
		t.Cleanup(func() { _ = lock.Close() })
		return loopback(port)
	}
	t.Fatalf("no free port from %d to %d", lowest, highest)
	return ""
}

func free(address string) bool {
	stream, err := net.Listen("tcp", address)
	if err != nil {
		return false
	}
	defer func() { _ = stream.Close() }()
	packets, err := net.ListenPacket("udp", address)
	if err != nil {
		return false
	}
	return packets.Close() == nil
}

func loopback(port int) string { return fmt.Sprint("127.0.0.1:", port) }

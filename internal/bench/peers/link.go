//go:build linux

package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// link is an impaired network between servers and clients, for TCP and UDP alike: a TUN
// interface in the namespace, and a goroutine that forwards its packets, late or not at all.
// All processes are on serverHost. No host has the address clientHost, so packets to it come
// out of the interface. link exchanges their source and destination, which leaves all checksums
// right, and writes them back: they then reach their receiver.
//
//	client 10.9.0.1:5000 ──► 10.9.0.2:443 ──► link ──► server 10.9.0.1:443, from 10.9.0.2:5000
//	server 10.9.0.1:443 ──► 10.9.0.2:5000 ──► link ──► client 10.9.0.1:5000, from 10.9.0.2:443
type link struct {
	tun     *os.File
	loss    float64
	delay   time.Duration // one way
	queue   chan delayed
	packets atomic.Int64 // sent, including lost ones
	bytes   atomic.Int64
	ended   sync.WaitGroup
}

// delayed is a packet under way.
type delayed struct {
	due    time.Time
	packet []byte
}

const (
	serverHost = "10.9.0.1"
	clientHost = "10.9.0.2"
	// linkQueue bounds the packets under way; further ones are lost.
	linkQueue = 1 << 15
)

// openLink makes the interface and begins to forward packets. It needs a separate network
// namespace.
func openLink(loss float64, rtt time.Duration) (*link, error) {
	tun, err := openTUN("peers")
	if err != nil {
		return nil, fmt.Errorf("-loss and -rtt need a TUN interface: %w", err)
	}
	return startLink(tun, loss, rtt), nil
}

// startLink forwards packets: it reads them from tun and writes them back.
func startLink(tun *os.File, loss float64, rtt time.Duration) *link {
	l := &link{tun: tun, loss: loss, delay: rtt / 2, queue: make(chan delayed, linkQueue)}
	l.ended.Go(l.receive)
	l.ended.Go(l.deliver)
	return l
}

func (l *link) close() {
	_ = l.tun.Close()
	l.ended.Wait()
}

// receive takes packets from the kernel, and loses some.
func (l *link) receive() {
	defer close(l.queue)
	random := rand.New(rand.NewPCG(5, 6))
	for buffer := make([]byte, 1<<16); ; {
		n, err := l.tun.Read(buffer)
		if err != nil {
			return
		}
		if packet := buffer[:n]; exchange(packet) {
			l.packets.Add(1)
			l.bytes.Add(int64(n))
			if random.Float64() < l.loss {
				continue
			}
			select {
			case l.queue <- delayed{time.Now().Add(l.delay), append([]byte(nil), packet...)}:
			default:
			}
		}
	}
}

// deliver gives packets back to the kernel when they are due.
func (l *link) deliver() {
	for p := range l.queue {
		time.Sleep(time.Until(p.due))
		_, _ = l.tun.Write(p.packet) // fails while the kernel's queue is full: lost
	}
}

// traffic returns what was sent so far.
func (l *link) traffic() traffic { return traffic{l.packets.Load(), l.bytes.Load()} }

// exchange swaps the addresses of an IPv4 packet. It returns false for other packets.
func exchange(packet []byte) bool {
	if len(packet) < 20 || packet[0]>>4 != 4 {
		return false
	}
	for i := 12; i < 16; i++ {
		packet[i], packet[i+4] = packet[i+4], packet[i]
	}
	return true
}

// openTUN makes a TUN interface with the address serverHost.
func openTUN(name string) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if err := configureTUN(fd, name); err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), "/dev/net/tun"), nil // from here on the runtime polls it
}

func configureTUN(fd int, name string) error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	i, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	i.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, i); err != nil {
		return err
	}
	i.SetUint32(linkQueue)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFTXQLEN, i); err != nil {
		return err
	}
	for _, set := range []struct {
		request uint
		address string
	}{{unix.SIOCSIFADDR, serverHost}, {unix.SIOCSIFNETMASK, "255.255.255.0"}} {
		if err := i.SetInet4Addr(net.ParseIP(set.address).To4()); err != nil {
			return err
		}
		if err := unix.IoctlIfreq(socket, set.request, i); err != nil {
			return err
		}
	}
	return raise(socket, i)
}

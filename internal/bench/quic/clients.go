//go:build unix

package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
)

// concurrentDials is the number of handshakes in progress at a time.
const concurrentDials = 16

// clients are the clients of the child process.
type clients struct {
	load     load
	addr     *net.UDPAddr
	received atomic.Uint64 // datagrams
	ended    sync.WaitGroup
}

// runClients connects all clients and writes the line "joined" to out. It then answers each
// line of in with the number of datagrams received, until in ends.
func runClients(ctx context.Context, l load, addr string, in io.Reader, out io.Writer) error {
	resolved, err := net.ResolveUDPAddr("udp", addr)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	c := &clients{load: l, addr: resolved}
	defer c.ended.Wait()
	defer cancel()
	if err := c.join(ctx); err != nil {
		return err
	}
	fmt.Fprintln(out, "joined")
	for lines := bufio.NewScanner(in); lines.Scan(); {
		fmt.Fprintln(out, c.received.Load())
	}
	return nil
}

func (c *clients) join(ctx context.Context) error {
	slots := make(chan struct{}, concurrentDials)
	results := make(chan error, c.load.clients)
	for range c.load.clients {
		slots <- struct{}{}
		go func() {
			results <- c.dial(ctx)
			<-slots
		}()
	}
	var err error
	for range c.load.clients {
		if e := <-results; e != nil {
			err = e
		}
	}
	return err
}

// dial connects a client through its own socket, like a player's.
func (c *clients) dial(ctx context.Context) error {
	udp, err := net.ListenUDP("udp", nil)
	if err != nil {
		return err
	}
	transport := &quic.Transport{Conn: udp}
	conn, err := transport.Dial(ctx, c.addr, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{alpn}}, &quic.Config{
		MaxIdleTimeout: 10 * time.Second, KeepAlivePeriod: 3 * time.Second, EnableDatagrams: true,
	})
	if err != nil {
		return err
	}
	stream, err := conn.OpenStreamSync(ctx)
	if err != nil {
		return err
	}
	if _, err := stream.Write([]byte{1}); err != nil {
		return err
	}
	c.ended.Go(func() {
		<-ctx.Done()
		_ = conn.CloseWithError(0, "")
		_ = transport.Close()
		_ = udp.Close()
	})
	c.ended.Go(func() { _, _ = io.Copy(io.Discard, stream) })
	received := make(chan struct{}, 1)
	c.ended.Go(func() { c.receive(conn, received) })
	c.ended.Go(func() { c.sendInputs(conn, stream, received) })
	return nil
}

// receive counts datagrams and signals each on received.
func (c *clients) receive(conn *quic.Conn, received chan<- struct{}) {
	for {
		if _, err := conn.ReceiveDatagram(context.Background()); err != nil {
			return
		}
		c.received.Add(1)
		select {
		case received <- struct{}{}:
		default:
		}
	}
}

// sendInputs sends an input for each received datagram. Without -answer it sends at the
// snapshot rate with a random phase.
func (c *clients) sendInputs(conn *quic.Conn, stream *quic.Stream, received <-chan struct{}) {
	input := make([]byte, inputBytes)
	var clock <-chan time.Time
	if !c.load.answer {
		interval := time.Second / time.Duration(c.load.hz)
		time.Sleep(time.Duration(rand.Int64N(int64(interval))))
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		clock, received = ticker.C, nil
	}
	for {
		select {
		case <-clock:
		case <-received:
		case <-conn.Context().Done():
			return
		}
		if c.load.clientPads() {
			if _, err := stream.Write(input[:1]); err != nil {
				return
			}
		}
		if err := conn.SendDatagram(input); err != nil {
			return
		}
	}
}

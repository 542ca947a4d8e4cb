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

// dialsAtOnce is how many handshakes the child has under way.
const dialsAtOnce = 16

// crowd is the child process: all clients.
type crowd struct {
	load     load
	addr     *net.UDPAddr
	received atomic.Uint64 // datagrams
	ended    sync.WaitGroup
}

// runCrowd connects everybody, says so in a line on out, and then answers every
// line of in with the number of datagrams received, until in ends.
func runCrowd(ctx context.Context, l load, addr string, in io.Reader, out io.Writer) error {
	resolved, err := net.ResolveUDPAddr("udp", addr)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	c := &crowd{load: l, addr: resolved}
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

func (c *crowd) join(ctx context.Context) error {
	places := make(chan struct{}, dialsAtOnce)
	results := make(chan error, c.load.clients)
	for range c.load.clients {
		places <- struct{}{}
		go func() {
			results <- c.dial(ctx)
			<-places
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

// dial opens a connection with a socket of its own, as each player has.
func (c *crowd) dial(ctx context.Context) error {
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
	heard := make(chan struct{}, 1)
	c.ended.Go(func() { c.listen(conn, heard) })
	c.ended.Go(func() { c.answer(conn, stream, heard) })
	return nil
}

func (c *crowd) listen(conn *quic.Conn, heard chan<- struct{}) {
	for {
		if _, err := conn.ReceiveDatagram(context.Background()); err != nil {
			return
		}
		c.received.Add(1)
		select {
		case heard <- struct{}{}:
		default:
		}
	}
}

// answer sends inputs: one for each snapshot, or on a clock whose phase is the
// client's own.
func (c *crowd) answer(conn *quic.Conn, stream *quic.Stream, heard <-chan struct{}) {
	input := make([]byte, inputBytes)
	var clock <-chan time.Time
	if !c.load.answer {
		interval := time.Second / time.Duration(c.load.hz)
		time.Sleep(time.Duration(rand.Int64N(int64(interval))))
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		clock, heard = ticker.C, nil
	}
	for {
		select {
		case <-clock:
		case <-heard:
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

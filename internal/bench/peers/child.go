//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/pprof"
	"strings"
	"sync"
	"time"
)

// child is a process of this program: a server, or all clients.
type child struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
}

// startChild starts a child, and reads its first line into ready.
func startChild(ctx context.Context, ready any, args ...string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{command: exec.CommandContext(ctx, self, args...)}
	c.command.Stderr = os.Stderr
	if c.in, err = c.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewScanner(out)
	if err := c.command.Start(); err != nil {
		return nil, err
	}
	if err := c.read(ready); err != nil {
		return nil, errors.Join(err, c.end())
	}
	return c, nil
}

func (c *child) read(into any) error {
	if !c.out.Scan() {
		return errors.Join(fmt.Errorf("the process of %s has ended", strings.Join(c.command.Args[1:], " ")), c.out.Err())
	}
	return json.Unmarshal(c.out.Bytes(), into)
}

// ask writes a line, and reads the answer.
func (c *child) ask(line string, into any) error {
	_, err := io.WriteString(c.in, line+"\n")
	return errors.Join(err, c.read(into))
}

// end ends the process.
func (c *child) end() error {
	_ = c.in.Close()
	return c.command.Wait()
}

// Requests to a child.
const (
	beginLine = "begin"
	endLine   = "end"
)

// answer answers the lines begin and end until in ends. profile, unless empty, receives a CPU
// profile of the time between them.
func answer(in io.Reader, out io.Writer, profile string, begin func(), end func() any) error {
	encoder := json.NewEncoder(out)
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var result any
		var err error
		switch lines.Text() {
		case beginLine:
			err = beginProfile(profile)
			begin()
		case endLine:
			result = end()
			pprof.StopCPUProfile()
		}
		if err = errors.Join(err, encoder.Encode(result)); err != nil {
			return err
		}
	}
	return nil
}

func beginProfile(path string) error {
	if path == "" {
		return nil
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return pprof.StartCPUProfile(f)
}

// address is where a server listens.
type address struct{ Address, Fingerprint string }

// serverResult is the cost of a server's process.
type serverResult struct {
	usage
	Resident int64 // bytes
}

// runServer serves a peer until in ends.
func runServer(ctx context.Context, p peer, l load, in io.Reader, out io.Writer) error {
	clock, err := openClock(l.clock)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	ready := make(chan address, 1)
	go func() {
		ended <- serve(ctx, p, l, clock, func(a address) { ready <- a })
	}()
	defer cancel()
	select {
	case a := <-ready:
		if err := json.NewEncoder(out).Encode(a); err != nil {
			return err
		}
	case err := <-ended:
		return err
	}
	var before usage
	err = answer(in, out, l.profile, func() { before = readUsage() }, func() any {
		return serverResult{readUsage().since(before), residentBytes()}
	})
	cancel()
	return errors.Join(err, <-ended)
}

func serve(ctx context.Context, p peer, l load, clock *tickClock, ready func(address)) error {
	if p.bare {
		s, err := listenBare(l)
		if err != nil {
			return err
		}
		ready(address{Address: s.transport.Conn.LocalAddr().String()})
		s.serve(ctx, clock)
		return nil
	}
	if p.encode == nil {
		return serveWorldd(ctx, l, p, clock, ready)
	}
	listener, a, err := listenGame(l, p.tls)
	if err != nil {
		return err
	}
	ready(a)
	return serveGame(ctx, listener, p.encode, clock)
}

// concurrentJoins is the number of clients that join at the same time.
const concurrentJoins = 16

// runClients connects all clients, and plays until in ends.
func runClients(ctx context.Context, p peer, l load, to address, in io.Reader, out io.Writer) error {
	clock, err := openClock(l.clock)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var playing sync.WaitGroup
	defer playing.Wait()
	defer cancel(nil)
	joining := make(chan struct{}, concurrentJoins)
	var meters []*meter
	for range l.clients {
		select {
		case joining <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		m := &meter{clock: clock, step: uint32(p.hz / updateHz), joined: func() { <-joining }}
		meters = append(meters, m)
		playing.Go(func() {
			if err := play(ctx, p, l, to, m); err != nil {
				cancel(fmt.Errorf("a client of %s: %w", p.name, err))
			}
		})
	}
	for range concurrentJoins { // until all have joined
		select {
		case joining <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if err := json.NewEncoder(out).Encode("joined"); err != nil {
		return err
	}
	var before usage
	var began time.Duration
	err = answer(in, out, l.profile, func() {
		began, before = now(), readUsage()
		for _, m := range meters {
			m.begin(began)
		}
	}, func() any {
		spent := readUsage().since(before)
		r := endAll(meters, began)
		r.usage = spent
		return r
	})
	return errors.Join(err, context.Cause(ctx))
}

func play(ctx context.Context, p peer, l load, to address, m *meter) error {
	if p.bare {
		return playBare(ctx, to, l.rtt, m)
	}
	if p.encode == nil {
		return playWorldd(ctx, p, to, m)
	}
	return playGame(ctx, to.Address, p.view(), m)
}

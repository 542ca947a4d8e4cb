//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// bench measures peers.
type bench struct {
	peers    []peer
	profiles string // folder for CPU profiles; empty: none
	link     *link  // between server and clients; nil: loopback
}

// compare measures the peers in turn, and writes the table.
func (b *bench) compare(ctx context.Context, l load, out io.Writer) error {
	runs := map[string][]measurement{}
	for round := range l.rounds {
		for _, p := range b.peers {
			m, err := b.measure(ctx, p, l)
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			runs[p.name] = append(runs[p.name], m)
			fmt.Fprintf(os.Stderr, "round %d %-10s server %.1f us, client %.1f us, %.2f updates/s\n", round+1, p.name, m.serverMicros(), m.clientMicros(), m.updates())
		}
	}
	return writeTables(out, l, b.peers, runs)
}

// measure runs a peer's server and clients, and measures them.
func (b *bench) measure(ctx context.Context, p peer, l load) (m measurement, err error) {
	dir, err := os.MkdirTemp("", "worldd-peers")
	if err != nil {
		return m, err
	}
	defer os.RemoveAll(dir)
	var to address
	server, err := startChild(ctx, &to, b.args("serve", p, l, dir)...)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, server.end()) }()
	if b.link != nil {
		to.Address = strings.Replace(to.Address, serverHost, clientHost, 1)
	}
	var joined string
	clients, err := startChild(ctx, &joined, append(b.args("play", p, l, dir), "-address="+to.Address, "-fingerprint="+to.Fingerprint)...)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, clients.end()) }()
	if err := sleep(ctx, l.warmUp); err != nil {
		return m, err
	}
	m.clients = l.clients
	var none any
	if err := errors.Join(server.ask(beginLine, &none), clients.ask(beginLine, &none)); err != nil {
		return m, err
	}
	before, err := b.traffic()
	if err != nil {
		return m, err
	}
	if err := sleep(ctx, time.Duration(l.seconds)*time.Second); err != nil {
		return m, err
	}
	after, err := b.traffic()
	m.traffic = traffic{after.packets - before.packets, after.bytes - before.bytes}
	return m, errors.Join(err, server.ask(endLine, &m.server), clients.ask(endLine, &m.client))
}

// args returns the arguments of a child with a role.
func (b *bench) args(role string, p peer, l load, dir string) []string {
	list := []string{"-" + role + "=" + p.name, fmt.Sprint("-clients=", l.clients), "-clock=" + filepath.Join(dir, "clock")}
	if b.link != nil {
		list = append(list, "-host="+serverHost, fmt.Sprint("-rtt=", l.rtt))
	}
	if b.profiles != "" {
		list = append(list, "-profile="+filepath.Join(b.profiles, p.name+"."+role+".pprof"))
	}
	return list
}

// traffic returns the traffic on the wire so far.
func (b *bench) traffic() (traffic, error) {
	if b.link != nil {
		return b.link.traffic(), nil
	}
	return readTraffic()
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

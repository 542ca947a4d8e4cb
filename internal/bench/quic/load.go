//go:build unix

package main

import (
	"errors"
	"flag"
	"fmt"
	"time"
)

// load is what server and clients have to agree upon.
type load struct {
	clients int
	hz      int // snapshots a second for each client
	ticks   int // a second; clients are spread over those between two snapshots
	bytes   int // of a snapshot
	answer  bool
	pad     string // who writes a byte to the stream beside each datagram
	seconds int
}

const (
	inputBytes = 60
	// maxDatagram is worldd's: longer snapshots are several.
	maxDatagram = 1200
	// warmUp is between the last handshake and the first measurement: path MTU
	// discovery and congestion windows settle.
	warmUp = 2 * time.Second
)

func (l *load) flags(f *flag.FlagSet) {
	f.IntVar(&l.clients, "clients", 200, "how many")
	f.IntVar(&l.hz, "hz", 20, "snapshots a second for each client")
	f.IntVar(&l.ticks, "ticks", 60, "ticks a second, over which clients are spread")
	f.IntVar(&l.bytes, "bytes", 1150, "size of a snapshot; beyond 1,200 it is several datagrams")
	f.BoolVar(&l.answer, "answer", false, "clients answer each snapshot at once")
	f.StringVar(&l.pad, "pad", "none", "who writes a byte to the stream beside each datagram: none, server, client, both")
	f.IntVar(&l.seconds, "seconds", 10, "how long to measure")
}

func (l *load) validate() error {
	var errs []error
	for name, n := range map[string]int{"clients": l.clients, "hz": l.hz, "bytes": l.bytes, "seconds": l.seconds} {
		if n < 1 {
			errs = append(errs, fmt.Errorf("-%s is %d, want at least 1", name, n))
		}
	}
	if l.ticks < l.hz {
		errs = append(errs, fmt.Errorf("-ticks is %d, want at least -hz, %d", l.ticks, l.hz))
	}
	switch l.pad {
	case "none", "server", "client", "both":
	default:
		errs = append(errs, fmt.Errorf("-pad is %q, want none, server, client or both", l.pad))
	}
	return errors.Join(errs...)
}

func (l *load) serverPads() bool { return l.pad == "server" || l.pad == "both" }
func (l *load) clientPads() bool { return l.pad == "client" || l.pad == "both" }

// args are the flags that make the same load.
func (l *load) args() []string {
	return []string{
		fmt.Sprint("-clients=", l.clients), fmt.Sprint("-hz=", l.hz), fmt.Sprint("-ticks=", l.ticks),
		fmt.Sprint("-bytes=", l.bytes), fmt.Sprint("-answer=", l.answer), fmt.Sprint("-pad=", l.pad), fmt.Sprint("-seconds=", l.seconds),
	}
}

// sizes cuts a snapshot into datagrams.
func (l *load) sizes() (sizes []int) {
	for left := l.bytes; left > 0; left -= maxDatagram {
		sizes = append(sizes, min(left, maxDatagram))
	}
	return sizes
}

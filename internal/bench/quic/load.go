//go:build unix

package main

import (
	"errors"
	"flag"
	"fmt"
	"time"
)

// load is the configuration shared by server and clients.
type load struct {
	clients int
	hz      int    // snapshots per second, to each client
	ticks   int    // per second; clients are spread over the ticks between two snapshots
	bytes   int    // per snapshot
	answer  bool   // clients answer each snapshot immediately
	pad     string // the side that also writes a stream byte with each datagram
	seconds int    // of measurement
}

const (
	inputBytes = 60
	// maxDatagram is worldd's limit. Longer snapshots take several datagrams.
	maxDatagram = 1200
	// warmUp separates the last handshake from the measurement, so that path MTU
	// discovery and congestion windows settle.
	warmUp = 2 * time.Second
)

func (l *load) flags(f *flag.FlagSet) {
	f.IntVar(&l.clients, "clients", 200, "number of clients")
	f.IntVar(&l.hz, "hz", 20, "snapshots per second to each client")
	f.IntVar(&l.ticks, "ticks", 60, "ticks per second, over which clients are spread")
	f.IntVar(&l.bytes, "bytes", 1150, "size of a snapshot; above 1,200 it takes several datagrams")
	f.BoolVar(&l.answer, "answer", false, "clients answer each snapshot immediately")
	f.StringVar(&l.pad, "pad", "none", "side that also writes a stream byte with each datagram: none, server, client, both")
	f.IntVar(&l.seconds, "seconds", 10, "duration of the measurement in seconds")
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

// args returns the flags for this load.
func (l *load) args() []string {
	return []string{
		fmt.Sprint("-clients=", l.clients), fmt.Sprint("-hz=", l.hz), fmt.Sprint("-ticks=", l.ticks),
		fmt.Sprint("-bytes=", l.bytes), fmt.Sprint("-answer=", l.answer), fmt.Sprint("-pad=", l.pad), fmt.Sprint("-seconds=", l.seconds),
	}
}

// sizes returns the sizes of a snapshot's datagrams.
func (l *load) sizes() (sizes []int) {
	for left := l.bytes; left > 0; left -= maxDatagram {
		sizes = append(sizes, min(left, maxDatagram))
	}
	return sizes
}

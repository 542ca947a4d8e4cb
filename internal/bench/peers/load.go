//go:build linux

package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"time"
)

// load configures the measurements.
type load struct {
	clients int
	loss    float64       // percent of packets
	rtt     time.Duration // that the link adds
	seconds int           // of a measurement
	rounds  int
	warmUp  time.Duration // between the last join and a measurement

	// Of child processes:
	clock   string // file of the tick clock
	profile string // file for a CPU profile
	host    string // of the server
}

func (l *load) flags(f *flag.FlagSet) {
	f.IntVar(&l.clients, "clients", 100, "number of clients")
	f.IntVar(&l.seconds, "seconds", 8, "duration of a measurement in seconds")
	f.Float64Var(&l.loss, "loss", 0, "percent of packets that a link between server and clients loses, each way")
	f.DurationVar(&l.rtt, "rtt", 0, "round trip that a link between server and clients adds")
	f.DurationVar(&l.warmUp, "warmup", 3*time.Second, "time between the last join and a measurement")
	f.IntVar(&l.rounds, "rounds", 3, "how often each peer is measured, in turns; the table has medians")
}

func (l *load) validate() error {
	var errs []error
	for name, n := range map[string]int{"clients": l.clients, "seconds": l.seconds, "rounds": l.rounds} {
		if n < 1 {
			errs = append(errs, fmt.Errorf("-%s is %d, want at least 1", name, n))
		}
	}
	if !(l.loss >= 0 && l.loss < 100) {
		errs = append(errs, fmt.Errorf("-loss is %v percent, want 0 to 99", l.loss))
	}
	if l.rtt < 0 || l.rtt > 2*time.Second {
		errs = append(errs, fmt.Errorf("-rtt is %v, want 0 to 2s", l.rtt))
	}
	return errors.Join(errs...)
}

// impaired reports whether the flags request a link between server and clients.
func (l *load) impaired() bool { return l.loss > 0 || l.rtt > 0 }

// loopback is the host of servers without a link.
const loopback = "127.0.0.1"

// listen returns the address for a server.
func (l *load) listen() string { return cmp.Or(l.host, loopback) + ":0" }

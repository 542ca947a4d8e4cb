//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
)

func main() {
	var l load
	l.flags(flag.CommandLine)
	var b bench
	list := flag.String("peers", "worldd,worldd-60,worldd-tcp,full,delta,delta-tls,delta-q", "peers to measure, with commas between them")
	searching := flag.Bool("most", false, "search how many clients of each peer get all updates, from -clients on")
	flag.StringVar(&b.profiles, "cpuprofile", "", "folder for CPU profiles of the last round: PEER.serve.pprof and PEER.play.pprof")
	here := flag.Bool("here", false, "measure in the machine's network namespace: wire and packets then include the traffic of other processes")
	isolated := flag.Bool(isolatedFlag[1:], false, "the process has a network namespace of its own (set by the program itself)")
	// of child processes
	serves := flag.String("serve", "", "run the server of this peer (used for child processes)")
	plays := flag.String("play", "", "run the clients of this peer (used for child processes)")
	flag.StringVar(&l.clock, "clock", "", "file of the tick clock (used for child processes)")
	flag.StringVar(&l.profile, "profile", "", "file for a CPU profile (used for child processes)")
	flag.StringVar(&l.host, "host", "", "of the server (used for child processes)")
	var to address
	flag.StringVar(&to.Address, "address", "", "of the server (used for child processes)")
	flag.StringVar(&to.Fingerprint, "fingerprint", "", "of the server (used for child processes)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	switch {
	case *serves != "":
		err = runRole(*serves, func(p peer) error { return runServer(ctx, p, l, os.Stdin, os.Stdout) })
	case *plays != "":
		err = runRole(*plays, func(p peer) error { return runClients(ctx, p, l, to, os.Stdin, os.Stdout) })
	default:
		if b.peers, err = peersNamed(*list); err == nil {
			err = run(ctx, l, b, *searching, *here, *isolated)
		}
	}
	if _, told := errors.AsType[*exec.ExitError](err); told { // the program in the namespace has reported it
		os.Exit(1)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func runRole(name string, f func(peer) error) error {
	p, err := peerNamed(name)
	if err != nil {
		return err
	}
	return f(p)
}

// run measures the peers, in a separate network namespace unless here is set.
func run(ctx context.Context, l load, b bench, searching, here, isolated bool) error {
	if err := l.validate(); err != nil {
		return err
	}
	switch {
	case isolated:
		if err := raiseLoopback(); err != nil {
			return fmt.Errorf("the network namespace has no loopback: %w; -here does without one", err)
		}
	case !here:
		return isolate(os.Args[1:])
	case l.impaired():
		return errors.New("-loss and -rtt need a network namespace of their own: leave out -here")
	}
	if l.impaired() {
		var err error
		if b.link, err = openLink(l.loss/100, l.rtt); err != nil {
			return err
		}
		defer b.link.close()
	}
	if !searching {
		return b.compare(ctx, l, os.Stdout)
	}
	for _, p := range b.peers {
		if err := b.most(ctx, p, l, os.Stdout); err != nil {
			return err
		}
	}
	return nil
}

// Command play is the arena in a terminal: with bots in this process over a link as bad as you
// like, or over the network.
//
//	play --bots 5 --rtt 150ms --loss 5%
//	arenad serve --listen :4433                    prints a fingerprint
//	play --addr localhost:4433 --fingerprint ...
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/loadtest/rig"
	"github.com/worldd/worldd/server/host/examples/arena"
)

type options struct {
	name, addr, fingerprint string
	bots                    int
	watch                   bool
	seed                    uint64
	link                    rig.Link
}

func main() {
	var o options
	flag.StringVar(&o.name, "name", "you", "your name")
	flag.IntVar(&o.bots, "bots", 5, "number of bots")
	flag.BoolVar(&o.watch, "watch", false, "watch, without a ship")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the arena, the bots and the link")
	flag.Func("rtt", "round trip of the link, like 150ms", func(s string) error {
		d, err := time.ParseDuration(s)
		o.link.Delay = d / 2
		return err
	})
	flag.DurationVar(&o.link.Jitter, "jitter", 0, "how much later than the others a packet may be")
	flag.Func("loss", "share of packets lost, like 0.05 or 5%", func(s string) (err error) {
		number, percent := strings.CutSuffix(s, "%")
		if o.link.Loss, err = strconv.ParseFloat(number, 64); percent {
			o.link.Loss /= 100
		}
		return err
	})
	flag.StringVar(&o.addr, "addr", "", "join the server at this address: arenad serve")
	flag.StringVar(&o.fingerprint, "fingerprint", "", "SHA-256 of its certificate, which it prints at start")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	run := o.playInProcess
	if o.addr != "" {
		run = o.playOverNetwork
	}
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "play:", err)
		os.Exit(1)
	}
}

// playInProcess runs server, bots and the player in one goroutine. The rig's time follows the
// wall clock.
func (o *options) playInProcess(ctx context.Context) error {
	a, err := arena.New(o.seed)
	if err != nil {
		return err
	}
	r, err := rig.New(o.seed, rig.Config{Server: a.Config(), Link: o.link})
	if err != nil {
		return err
	}
	defer r.Close()
	a.Attach(r.Core())
	for i := range o.bots {
		p, c, err := join(r, fmt.Sprint("bot", i+1))
		if err != nil {
			return err
		}
		c.EachFrame(30, arena.NewBot(p, o.seed+uint64(i)).Frame)
	}
	p, c, err := join(r, o.name)
	if err != nil {
		return err
	}
	p.Watch = o.watch
	c.EachFrame(30, p.Frame)
	began, start := time.Now(), r.Now()
	return show(ctx, p, func() error { return r.RunFor(time.Since(began) - (r.Now() - start)) })
}

func join(r *rig.Rig, name string) (*arena.Player, *rig.Client, error) {
	var c *rig.Client
	p, err := arena.Join(name, func(config client.Config) (_ *client.Client, err error) {
		if c, err = r.Dial(config); err != nil {
			return nil, err
		}
		return c.Client, nil
	})
	return p, c, err
}

func (o *options) playOverNetwork(ctx context.Context) error {
	var c *client.Client
	p, err := arena.Join(o.name, func(config client.Config) (_ *client.Client, err error) {
		config.Addr, config.Fingerprint = o.addr, o.fingerprint
		c, err = client.Dial(ctx, config)
		return c, err
	})
	if err != nil {
		return err
	}
	p.Watch = o.watch
	return errors.Join(show(ctx, p, p.Frame), c.Close())
}

// show draws 30 pictures a second until the player quits. advance brings the game up to now.
func show(ctx context.Context, p *arena.Player, advance func() error) error {
	if in := int(os.Stdin.Fd()); term.IsTerminal(in) {
		before, err := term.MakeRaw(in)
		if err != nil {
			return err
		}
		defer func() { _ = term.Restore(in, before) }()
	}
	fmt.Print("\x1b[?1049h\x1b[?25l") // another screen, no cursor
	defer fmt.Print("\x1b[?25h\x1b[?1049l")
	keys := make(chan string)
	go read(ctx, keys)
	t := &arena.Terminal{Player: p}
	tick := time.NewTicker(time.Second / 30)
	defer tick.Stop()
	for {
		select {
		case typed, ok := <-keys:
			if !ok || !t.Keys(typed) {
				return nil
			}
		case <-tick.C:
			if err := advance(); err != nil {
				return err
			}
			fmt.Print("\x1b[H" + t.Picture())
		case <-ctx.Done():
			return nil
		}
	}
}

// read passes on what is typed, until the end of input.
func read(ctx context.Context, keys chan<- string) {
	defer close(keys)
	buf := make([]byte, 64)
	for {
		n, err := os.Stdin.Read(buf)
		if err != nil {
			return
		}
		select {
		case keys <- string(buf[:n]):
		case <-ctx.Done():
			return
		}
	}
}

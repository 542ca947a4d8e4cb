package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/loadtest/bot"
	"github.com/worldd/worldd/loadtest/rig"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/host"
)

// playCommand is the arena in a terminal: with bots in this process over a simulated link, or
// over the network.
type playCommand struct {
	Name        string        `default:"you" help:"Your name."`
	Bots        int           `default:"5" help:"Number of bots (${default})."`
	Watch       bool          `help:"Watch, without a ship."`
	Seed        uint64        `default:"1" help:"Seed of the arena, the bots and the link (${default})."`
	RTT         time.Duration `name:"rtt" placeholder:"TIME" help:"Round trip of the link, like 150ms."`
	Jitter      time.Duration `placeholder:"TIME" help:"How much later than the others a packet may be."`
	Loss        bot.Share     `placeholder:"SHARE" help:"Share of packets lost, like 0.05 or 5%."`
	Addr        string        `placeholder:"HOST:PORT" help:"Join the server at this address: arena serve."`
	Room        string        `placeholder:"NAME" help:"Arena to play in, like arena/7: it is made for the first player."`
	Fingerprint string        `placeholder:"HEX" help:"SHA-256 of its certificate, which it prints at start."`
}

// Run plays until the player quits.
func (o *playCommand) Run(ctx context.Context, std host.Streams) error {
	if o.Addr != "" {
		return o.playOverNetwork(ctx, std)
	}
	return o.playInProcess(ctx, std)
}

// playInProcess runs server, bots and the player in one goroutine. The rig's time follows the
// wall clock.
func (o *playCommand) playInProcess(ctx context.Context, std host.Streams) error {
	a, err := New(o.Seed, server.Generations{})
	if err != nil {
		return err
	}
	r, err := rig.New(o.Seed, rig.Config{Server: server.Config{WorldConfig: a.Config()}, Link: rig.Link{Delay: o.RTT / 2, Jitter: o.Jitter, Loss: float64(o.Loss)}})
	if err != nil {
		return err
	}
	defer r.Close()
	a.Attach(r.Core())
	for i := range o.Bots {
		p, c, err := joinRig(r, fmt.Sprint("bot", i+1))
		if err != nil {
			return err
		}
		c.EachFrame(30, NewBot(p, o.Seed+uint64(i)).Frame)
	}
	p, c, err := joinRig(r, o.Name)
	if err != nil {
		return err
	}
	p.Watch = o.Watch
	c.EachFrame(30, p.Frame)
	began, start := time.Now(), r.Now()
	return show(ctx, std, p, func() error { return r.RunFor(time.Since(began) - (r.Now() - start)) })
}

func joinRig(r *rig.Rig, name string) (*Player, *rig.Client, error) {
	var c *rig.Client
	p, err := Join(name, func(config client.Config) (_ *client.Client, err error) {
		if c, err = r.Dial(config); err != nil {
			return nil, err
		}
		return c.Client, nil
	})
	return p, c, err
}

func (o *playCommand) playOverNetwork(ctx context.Context, std host.Streams) error {
	var c *client.Client
	p, err := Join(o.Name, func(config client.Config) (_ *client.Client, err error) {
		config.Addr, config.Fingerprint, config.Room = o.Addr, o.Fingerprint, o.Room
		c, err = client.Dial(ctx, config)
		return c, err
	})
	if err != nil {
		return err
	}
	p.Watch = o.Watch
	return errors.Join(show(ctx, std, p, p.Frame), c.Close())
}

// show draws 30 pictures a second until the player quits. advance brings the game up to now.
func show(ctx context.Context, std host.Streams, p *Player, advance func() error) error {
	keys, restore, err := std.Keys(ctx)
	if err != nil {
		return err
	}
	defer restore()
	fmt.Fprint(std.Out, "\x1b[?1049h\x1b[?25l") // another screen, no cursor
	defer fmt.Fprint(std.Out, "\x1b[?25h\x1b[?1049l")
	t := &Terminal{Player: p}
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
			fmt.Fprint(std.Out, "\x1b[H"+t.Picture())
		case <-ctx.Done():
			return nil
		}
	}
}

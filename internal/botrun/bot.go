package botrun

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/loadtest/bot"
	"github.com/worldd/worldd/replication/wire"
)

// bot is one client. It coordinates its parts, each of which has its own fields. One goroutine
// owns it; other goroutines read only its board.
type loadBot struct {
	core
	port      *client.Port // shared; nil if the link is impaired
	account   account
	actor     actor
	poker     poker
	exactness exactness
	snapshots uint64 // applied when last checked
	published time.Time
	board     board
}

// board holds a bot's progress for other goroutines.
type board struct {
	mu        sync.Mutex
	connected bool // and has received a snapshot
	lost      bool // lost its connection, and has no snapshot on a new one yet
	failed    bool
	total     outcome
	handles   Handles
	exactness exactness
	counts    map[string]uint64    // of the game's metrics
	samples   map[string][]float64 // of the game's metrics, not collected yet
	latencies []int64              // µs, not collected yet
	visible   []int64              // the same
}

func newBot(number int, c Config) *loadBot {
	rng := rand.New(rand.NewPCG(c.Seed, uint64(number)))
	b := &loadBot{core: core{
		number: number, config: c, rng: rng,
		oracle:     newOracle(number, rememberedHandles, 0, wire.MaxSlots),
		unanswered: map[uint32]bulk.Handle{},
		counts:     newCounts(measuredBy(c.Player, c.Scenario)), samples: map[string][]float64{},
	}, board: board{samples: map[string][]float64{}}}
	b.account = account{core: &b.core}
	b.actor = actor{core: &b.core}
	b.poker = poker{core: &b.core}
	return b
}

// newObserver passes the replica's callbacks to the oracle, and to the behavior.
func (b *loadBot) newObserver() client.Observer {
	own := b.behavior.Observer
	return client.Observer{
		Enter: func(e *client.Entity) {
			b.oracle.checkEntered(e.Handle(), b.identityOf(e))
			if own.Enter != nil {
				own.Enter(e)
			}
		},
		Update: func(e *client.Entity) {
			b.oracle.checkUpdated(e.Handle(), b.identityOf(e))
			if own.Update != nil {
				own.Update(e)
			}
		},
		Leave: func(h bulk.Handle, why wire.Reason) {
			b.oracle.checkLeft(h)
			if own.Leave != nil {
				own.Leave(h, why)
			}
		},
		Destroy: func(h bulk.Handle, cause uint8) {
			if own.Destroy != nil {
				own.Destroy(h, cause)
			}
			b.oracle.noteDestroyed(h)
		},
		Diverge: func(tick uint32, entities []bulk.Handle) {
			b.exactness.recordDivergence(b.number, tick, entities)
			if own.Diverge != nil {
				own.Diverge(tick, entities)
			}
		},
	}
}

func (b *loadBot) dialServer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	b.account.beginDial(time.Now())
	if err := b.actor.newBehavior(); err != nil {
		return err
	}
	config, err := b.clientConfig()
	if err != nil {
		return err
	}
	c, err := client.Dial(ctx, config)
	if err != nil {
		return err
	}
	b.beginVisit(c)
	return b.actor.beginVisit()
}

func (b *loadBot) clientConfig() (client.Config, error) {
	name := nameOf(b.number)
	ticket, err := b.config.newTicket(name)
	room, _ := b.config.RoomOf(b.number) // Validate has checked it
	own := b.behavior
	addrs := b.config.addrsOf(b.number)
	c := client.Config{
		Schema: own.Schema, Version: b.config.Player.Version, Tables: b.config.Tables, Name: name, Token: ticket, Room: room, Observer: b.newObserver(), Events: own.Events, Result: b.checkResult,
		Addr: addrs[0], Addrs: addrs[1:], Fingerprint: b.config.Fingerprint, InsecureDev: b.config.InsecureDev, Log: b.config.Log,
		Simulate: !b.config.Ordinary, PlainRows: b.config.PlainRows, Socket: b.newSocket(), Port: b.port, GiveUp: giveUp, FreshToken: b.config.freshToken(name),
		State: func(s client.StateChange) {
			b.handleState(s)
			if own.State != nil {
				own.State(s)
			}
		},
	}
	return c, err
}

// beginVisit begins a visit with a client that received its Welcome.
func (b *loadBot) beginVisit(c *client.Client) {
	b.client = c
	b.account.beginVisit()
	welcome := c.Welcome()
	b.oracle.floor, b.oracle.slots = welcome.GenerationFloor, welcome.MaxSlots
	b.publishCounters(time.Now(), true)
}

// newSocket returns nil, which means the system's sockets, unless the link is impaired.
func (b *loadBot) newSocket() func() (net.PacketConn, error) {
	if b.config.Link == (Link{}) {
		return nil
	}
	return func() (net.PacketConn, error) { return openImpaired(b.config.Link, b.rng.Uint64(), b.config.began) }
}

// prepareVisit resets everything except counters: the next dial belongs to a new user.
func (b *loadBot) prepareVisit() {
	b.exactness.addClient(b.client)
	b.core.endVisit()
	b.account.endVisit()
	b.actor.endVisit()
	b.snapshots = 0
}

// playUntil runs until ctx ends and returns nil, or the error that broke the session.
func (b *loadBot) playUntil(ctx context.Context) error {
	for ctx.Err() == nil { // tested even if there is always work
		if err := b.waitForWork(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		if err := b.playFrame(time.Now()); err != nil {
			return err
		}
	}
	return nil
}

// waitForWork waits until something arrives, or for the next frame.
func (b *loadBot) waitForWork(ctx context.Context) error {
	hz := time.Duration(frames)
	switch {
	case b.config.Scenario == bot.Restless:
		hz = restlessFrames
	case b.behavior.OnArrival:
		return b.client.Wait(ctx)
	}
	frame, cancel := context.WithTimeout(ctx, time.Second/hz)
	defer cancel()
	if err := b.client.Wait(frame); err != nil && frame.Err() == nil {
		return err
	}
	return ctx.Err()
}

// playFrame applies what has arrived, probes after a snapshot, and plays.
func (b *loadBot) playFrame(now time.Time) error {
	if err := b.client.Update(); err != nil {
		return err
	}
	replica := b.client.Replica()
	if b.client.State() != client.Joined {
		if why, ended := errors.AsType[*wire.Error](b.account.outage.why); ended && why.Code == wire.Internal {
			return fmt.Errorf("the server ended the session: %w", why) // a new session would hide that the game panics
		}
		b.actor.stopWatching()
		b.snapshots = replica.Stats().Snapshots
		b.publishIfDue(now)
		return nil
	}
	b.oracle.tick = replica.Tick()
	n := replica.Stats().Snapshots
	fresh := n != b.snapshots
	if fresh {
		b.snapshots = n
		b.exactness.countBodies(replica.Stats().Motion)
		b.account.endOutage(now)
		b.account.measureSnapshot()
		b.actor.watchInput(now)
		b.probeHandles()
	}
	if err := b.act(&bot.Frame{Client: b.client, Now: now, Fresh: fresh}); err != nil {
		return err
	}
	b.publishIfDue(now)
	return nil
}

// act does what the behavior says, and pokes. Only Check needs a snapshot.
func (b *loadBot) act(f *bot.Frame) error {
	if err := b.actor.holdInput(f); err != nil {
		return err
	}
	if err := b.poker.pokeIfDue(f.Now); err != nil {
		return err
	}
	if err := b.actor.sendCommands(f); err != nil || !b.account.playing() {
		return err
	}
	return b.actor.checkGame(f)
}

// publishIfDue copies the counters to the board at an interval.
func (b *loadBot) publishIfDue(now time.Time) {
	if now.Sub(b.published) >= publishEvery {
		b.publishCounters(now, b.client.State() == client.Joined)
	}
}

// endRun closes the session and returns the outcome of all visits.
func (b *loadBot) endRun(failure error) outcome {
	now := time.Now()
	o := b.account.visitSoFar(now)
	o.failure = failure
	b.publishCounters(now, false)
	if failure != nil {
		b.board.setFailed()
	}
	if b.client != nil {
		_ = b.client.Close() // the error has no recipient
	}
	return b.account.closeVisit(o)
}

func (b *board) setFailed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failed = true
}

// publishCounters copies the counters to the board.
func (b *loadBot) publishCounters(now time.Time, connected bool) {
	b.published = now
	b.handles.Confusions = b.oracle.confusions
	b.board.mu.Lock()
	defer b.board.mu.Unlock()
	b.board.connected, b.board.lost = connected && b.account.playing(), b.account.outage.lost
	b.board.total = b.account.past.plus(b.account.visitSoFar(now))
	b.board.handles, b.board.counts = b.handles, maps.Clone(b.counts)
	b.board.exactness = b.exactness.withClient(b.client)
	for name, values := range b.samples {
		b.board.samples[name] = append(b.board.samples[name], values...)
		b.samples[name] = values[:0]
	}
	b.board.latencies = append(b.board.latencies, b.account.latencies...)
	b.account.latencies = b.account.latencies[:0]
	b.board.visible = append(b.board.visible, b.actor.visible...)
	b.actor.visible = b.actor.visible[:0]
}

// checkResult checks the server's answer to a command (B5).
func (b *loadBot) checkResult(r client.Result) {
	if r.Err == client.ErrUnanswered { // the command may have been executed
		b.oracle.unsure = true // the lost answer may have named handles
		b.account.countUnanswered()
	}
	if !b.poker.takeResult(r) {
		b.actor.takeResult(r)
	}
}

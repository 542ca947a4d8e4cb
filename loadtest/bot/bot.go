package bot

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/scenes/messages"
	"github.com/worldd/worldd/internal/scenes/steering"
	"github.com/worldd/worldd/replication/wire"
)

// bot is one client: it roams, probes and pokes. One goroutine owns it; others read
// only its board.
type bot struct {
	number   int
	config   Config
	port     *client.Port // shared; nil if the link is impaired
	rng      *rand.Rand
	client   *client.Client
	events   client.Events
	behavior Behavior // of a bot that plays no scene
	held     []byte   // its newest input, encoded
	oracle   *oracle
	pilot    pilot
	handles  Handles
	past     outcome // of finished visits, and of this one before an outage
	outage   outage

	unanswered map[uint32]bulk.Handle // command -> its target
	renaming   map[uint32]string      // unanswered rename -> the name
	nextRename time.Time
	nextPoke   time.Time
	poked      int
	snapshots  uint64 // applied when last checked
	rttSeen    uint64
	firstSeq   uint32
	highestSeq uint32
	begun      time.Time
	published  time.Time
	latencies  []int64 // µs, since the last publish
	inputs     inputWatch
	combat     combat
	visible    []int64 // µs, since the last publish
	exactness  exactness
	board      board
}

// board holds a bot's progress for other goroutines.
type board struct {
	mu        sync.Mutex
	connected bool // and has received a snapshot since
	lost      bool // lost its connection, without a snapshot on a new one yet
	failed    bool
	total     outcome
	handles   Handles
	heard     Heard
	combat    CombatChecks
	exactness exactness
	errors    []int64 // of predicted positions, µm, not collected yet
	latencies []int64 // µs, not collected yet
	visible   []int64 // the same
}

// outcome is one bot's part of the report.
type outcome struct {
	failure   error // nil if it played to the end
	connected bool
	seconds   float64
	bytes     uint64
	expected  uint64
	received  uint64
	frames    uint64 // ticks for which it had a snapshot
	rows      uint64
	joins     []time.Duration // from each dial to its first snapshot
	outages   outages
}

// plus merges two consecutive outcomes of one bot.
func (o outcome) plus(next outcome) outcome {
	return outcome{
		failure: next.failure, connected: o.connected || next.connected,
		seconds: o.seconds + next.seconds, bytes: o.bytes + next.bytes,
		expected: o.expected + next.expected, received: o.received + next.received,
		frames: o.frames + next.frames, rows: o.rows + next.rows,
		joins: append(o.joins, next.joins...), outages: o.outages.plus(next.outages),
	}
}

func newBot(number int, c Config) *bot {
	rng := rand.New(rand.NewPCG(c.Seed, uint64(number)))
	b := &bot{
		number: number, config: c, rng: rng,
		oracle:     newOracle(number, rememberedHandles, 0, wire.MaxSlots),
		pilot:      pilot{rng: rng, area: c.AreaMetres, curve: c.Scenario.curve()},
		unanswered: map[uint32]bulk.Handle{},
		renaming:   map[uint32]string{},
		combat:     newCombat(),
	}
	b.oracle.foreign = !c.Player.scenes
	if b.oracle.foreign {
		return b
	}
	b.hear()
	return b
}

// observer passes the replica's callbacks to the oracle.
func (b *bot) observer() client.Observer {
	return client.Observer{
		Enter: func(e *client.Entity) {
			b.oracle.entered(e.Handle(), b.identityOf(e))
			b.checkName(e, true)
			b.sighted(e)
		},
		Update: func(e *client.Entity) {
			b.oracle.updated(e.Handle(), b.identityOf(e))
			b.checkName(e, false)
			b.sighted(e)
		},
		Leave: func(h bulk.Handle, _ wire.Reason) {
			b.oracle.left(h)
			delete(b.combat.avatars, h)
		},
		Destroy: func(h bulk.Handle, cause uint8) {
			b.oracle.destroyed(h, cause)
			delete(b.combat.avatars, h)
		},
		Diverge: b.diverged,
	}
}

func (b *bot) identityOf(e *client.Entity) uint64 {
	if !b.config.Player.scenes {
		return uint64(e.Handle())
	}
	v, _ := client.Of(messages.Identities).Get(e)
	return v.Number()
}

// checkName passes the name of an avatar to the oracle.
func (b *bot) checkName(e *client.Entity, entered bool) {
	if !b.config.Player.scenes {
		return
	}
	name, ok := client.Of(messages.Names).Get(e)
	switch {
	case !ok:
	case isMissile(name.Text):
		b.missileEntered(e, name.Text)
	default:
		b.oracle.named(e.Handle(), b.identityOf(e), name.Text, entered)
	}
}

// hear passes the server's events to the oracle.
func (b *bot) hear() {
	client.OnEvent(&b.events, messages.NamedEvent, func(tick uint32, e messages.Named) { b.oracle.heardName(tick, e.Player, e.Name) })
	client.OnEvent(&b.events, messages.BrokenEvent, func(_ uint32, e messages.Broken) { b.oracle.heardBroken(e.Entity, e.By) })
	client.OnEvent(&b.events, messages.ScoredEvent, func(_ uint32, e messages.Scored) { b.oracle.heardScore(e.Entity, e.Count) })
	client.OnEvent(&b.events, messages.FlashEvent, func(tick uint32, e messages.Flash) {
		f := flash{serial: e.Serial, tick: tick}
		if b.client != nil { // otherwise Dial has not returned
			f.snapshots = b.client.Replica().Stats().Snapshots
		}
		b.oracle.heardFlash(f, e.Tick)
	})
}

func (b *bot) dial(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	b.begun = time.Now()
	if err := b.seat(); err != nil {
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
	b.joined(c)
	if b.config.Player.scenes {
		return nil
	}
	return b.enter()
}

func (b *bot) clientConfig() (client.Config, error) {
	name := nameOf(b.number)
	ticket, err := b.config.ticket(name)
	room, _ := b.config.RoomOf(b.number) // Validate has checked it
	c := client.Config{
		Schema: messages.Schema, Tables: b.config.Tables, Name: name, Token: ticket, Room: room, Observer: b.observer(), Events: &b.events, Result: b.result,
		Addr: b.config.Addr, Fingerprint: b.config.Fingerprint, InsecureDev: b.config.InsecureDev, Log: b.config.Log,
		Simulate: !b.config.Ordinary, Socket: b.socket(), Port: b.port, GiveUp: giveUp, State: b.changed, FreshToken: b.config.freshToken(name),
	}
	if own := b.behavior; !b.config.Player.scenes {
		c.Schema, c.Events, c.Result = own.Schema, own.Events, b.ownResult
		c.State = func(s client.StateChange) {
			b.changed(s)
			if own.State != nil {
				own.State(s)
			}
		}
	}
	return c, err
}

// joined begins a visit with a client that was welcomed.
func (b *bot) joined(c *client.Client) {
	b.client = c
	b.outage = outage{}
	welcome := c.Welcome()
	b.oracle.floor, b.oracle.slots = welcome.GenerationFloor, welcome.MaxSlots
	b.oracle.patience = nameSeconds * uint32(welcome.TickHz)
	b.publish(time.Now(), true)
}

// socket returns nil, for the system's sockets, unless the link is impaired.
func (b *bot) socket() func() (net.PacketConn, error) {
	if b.config.Link == (Link{}) {
		return nil
	}
	return func() (net.PacketConn, error) { return openImpaired(b.config.Link, b.rng.Uint64(), b.config.began) }
}

// renew resets everything except counters: the next dial is a new user's.
func (b *bot) renew() {
	b.exactness.leave(b.client)
	b.forget(0, wire.MaxSlots)
	b.client = nil
	clear(b.unanswered)
	clear(b.renaming)
	b.nextRename = time.Time{}
	b.snapshots, b.rttSeen, b.firstSeq, b.highestSeq = 0, 0, 0, 0
	b.inputs, b.held = inputWatch{}, nil
	b.combat.renew(true)
}

// play runs until ctx ends and returns nil, or the error that broke the session.
func (b *bot) play(ctx context.Context) error {
	for ctx.Err() == nil { // also if something always waits
		if err := b.wait(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		if err := b.step(time.Now()); err != nil {
			return err
		}
	}
	return nil
}

// wait waits until something arrives, and a fighting or restless bot for its next frame.
func (b *bot) wait(ctx context.Context) error {
	hz := time.Duration(fightFrames)
	switch b.config.Scenario {
	case Combat:
	case Restless:
		hz = restlessFrames
	default:
		if b.config.Player.scenes {
			return b.client.Wait(ctx)
		}
	}
	frame, cancel := context.WithTimeout(ctx, time.Second/hz)
	defer cancel()
	if err := b.client.Wait(frame); err != nil && frame.Err() == nil {
		return err
	}
	return ctx.Err()
}

// step applies what has arrived, replies, and after a snapshot probes and steers.
func (b *bot) step(now time.Time) error {
	b.beforeUpdate()
	if err := b.client.Update(); err != nil {
		return err
	}
	replica := b.client.Replica()
	if b.client.State() != client.Joined {
		if why, ended := errors.AsType[*wire.Error](b.outage.why); ended && why.Code == wire.Internal {
			return fmt.Errorf("the server ended the session: %w", why) // a new one would hide that the game panics
		}
		b.inputs.pending = false
		b.snapshots = replica.Stats().Snapshots
		b.oracle.pending = b.oracle.pending[:0]
		b.publishAfter(now)
		return nil
	}
	b.oracle.settleFlashes(replica.Stats().Snapshots, replica.Tick())
	b.oracle.reached(replica.Tick(), replica.StructureTick())
	n := replica.Stats().Snapshots
	fresh := n != b.snapshots
	if fresh {
		b.snapshots = n
		b.exactness.look(replica.Stats().Motion)
		b.outage.over(b, now)
		b.measure()
		b.watchInput(now)
		b.probe()
	}
	if !b.config.Player.scenes {
		if b.firstSeq != 0 {
			if err := b.behave(now, fresh); err != nil {
				return err
			}
		}
		b.publishAfter(now)
		return nil
	}
	if fresh {
		if err := b.steer(now); err != nil {
			return err
		}
	}
	if b.config.Scenario == Restless && !fresh {
		if err := b.steer(now); err != nil {
			return err
		}
	}
	if b.config.Scenario == Combat && b.firstSeq != 0 {
		if err := b.fight(now, fresh); err != nil {
			return err
		}
	}
	if err := errors.Join(b.poke(now), b.rename(now)); err != nil {
		return err
	}
	b.publishAfter(now)
	return nil
}

// publishAfter publishes if it is due.
func (b *bot) publishAfter(now time.Time) {
	if now.Sub(b.published) >= publishEvery {
		b.publish(now, b.client.State() == client.Joined)
	}
}

func (b *bot) steer(now time.Time) error {
	if b.config.Scenario == Idle || b.config.Scenario == Combat {
		return nil
	}
	x, z, seen := b.position()
	input := b.pilot.steer(x, z, seen)
	return b.hold(now, input)
}

// hold sets the input and watches for its effect.
func (b *bot) hold(now time.Time, input steering.Stick) error {
	tick, err := client.SetInput(b.client, messages.Stick, input)
	b.combat.noteInput(tick)
	if input != b.inputs.held {
		b.combat.changed, b.combat.steady = tick, false
		if v, ok := b.look(); ok {
			b.inputs.press(now, tick, v)
		}
		b.inputs.held = input
	}
	return err
}

// position returns the position of the bot's own body if it is in view.
func (b *bot) position() (x, z float64, seen bool) {
	e := b.client.Replica().Entity(b.client.Controlled())
	if e == nil {
		return 0, 0, false
	}
	body, seen := client.Body.Get(e)
	return float64(body.Position[0]), float64(body.Position[2]), seen
}

// measure records the newest round trip and the sequence numbers.
func (b *bot) measure() {
	if rtt := b.client.RTT(); rtt.Count != b.rttSeen {
		b.rttSeen = rtt.Count
		b.latencies = append(b.latencies, (rtt.Newest / 2).Microseconds())
	}
	newest := b.client.Replica().Ack().Newest
	if newest == 0 {
		return // a move has followed the snapshot
	}
	b.highestSeq = newest
	if b.firstSeq == 0 {
		b.firstSeq = newest
		if b.outage.count == 0 {
			b.past.joins = append(b.past.joins, time.Since(b.begun))
		}
	}
}

// visit returns the outcome of the current visit so far.
func (b *bot) visit(now time.Time) outcome {
	if b.client == nil {
		return outcome{}
	}
	o := outcome{connected: true, seconds: now.Sub(b.begun).Seconds(), bytes: b.client.Stats().BytesReceived - b.outage.bytes}
	if b.firstSeq != 0 {
		o.expected = uint64(b.highestSeq - b.firstSeq + 1)
		o.received = min(b.arrived()-b.outage.arrived, o.expected)
		o.frames = b.client.Replica().Stats().Frames - b.outage.frames
		o.rows = b.rows() - b.outage.rows
	}
	return o
}

// arrived counts received snapshots, including those dropped because their slots were
// reused or the queue was full.
func (b *bot) arrived() uint64 {
	s := b.client.Replica().Stats()
	return s.Snapshots + s.Unreadable + s.Overflowed
}

// end closes the session and returns the outcome of all visits.
func (b *bot) end(failure error) outcome {
	now := time.Now()
	o := b.visit(now)
	o.failure = failure
	b.publish(now, false)
	b.past = b.past.plus(o)
	if failure != nil {
		b.fail()
	}
	if b.client != nil {
		_ = b.client.Close() // the error has no recipient
	}
	return b.past
}

func (b *bot) fail() {
	b.board.mu.Lock()
	defer b.board.mu.Unlock()
	b.board.failed = true
}

// publish copies the counters to the board.
func (b *bot) publish(now time.Time, connected bool) {
	b.published = now
	b.handles.Confusions = b.oracle.confusions
	b.board.mu.Lock()
	defer b.board.mu.Unlock()
	b.board.connected, b.board.lost = connected && b.firstSeq != 0, b.outage.lost
	b.board.total = b.past.plus(b.visit(now))
	b.board.handles, b.board.heard, b.board.combat = b.handles, b.oracle.heard, b.combat.checks
	b.board.exactness = b.exactness.with(b.client)
	b.board.errors = append(b.board.errors, b.combat.errors...)
	b.combat.errors = b.combat.errors[:0]
	b.board.latencies = append(b.board.latencies, b.latencies...)
	b.latencies = b.latencies[:0]
	b.board.visible = append(b.board.visible, b.visible...)
	b.visible = b.visible[:0]
}

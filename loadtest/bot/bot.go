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
	"github.com/worldd/worldd/replication/wire"
)

// bot is one client. It coordinates its parts, each of which has its own fields. One goroutine owns
// it; others read only its board.
type bot struct {
	core
	port      *client.Port // shared; nil if the link is impaired
	events    client.Events
	account   account
	helm      helm
	asker     asker
	combat    combat // of the scenario Combat
	guest     guest  // of another game than internal/scenes
	exactness exactness
	snapshots uint64 // applied when last checked
	published time.Time
	board     board
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

func newBot(number int, c Config) *bot {
	rng := rand.New(rand.NewPCG(c.Seed, uint64(number)))
	b := &bot{core: core{
		number: number, config: c, rng: rng,
		oracle:     newOracle(number, rememberedHandles, 0, wire.MaxSlots),
		unanswered: map[uint32]bulk.Handle{},
	}}
	b.account = account{core: &b.core}
	b.helm = helm{core: &b.core, pilot: pilot{rng: rng, area: c.AreaMetres, curve: c.Scenario.curve()}}
	b.asker = asker{core: &b.core, renaming: map[uint32]string{}}
	b.combat = newCombat(&b.helm)
	b.guest = guest{helm: &b.helm}
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
			b.combat.noteSighting(e)
		},
		Update: func(e *client.Entity) {
			b.oracle.updated(e.Handle(), b.identityOf(e))
			b.checkName(e, false)
			b.combat.noteSighting(e)
		},
		Leave: func(h bulk.Handle, _ wire.Reason) {
			b.oracle.left(h)
			delete(b.combat.avatars, h)
		},
		Destroy: func(h bulk.Handle, cause uint8) {
			b.oracle.destroyed(h, cause)
			delete(b.combat.avatars, h)
		},
		Diverge: func(tick uint32, entities []bulk.Handle) { b.exactness.recordDivergence(b.number, tick, entities) },
	}
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
		b.combat.missileEntered(e, name.Text)
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
	b.account.beginDial(time.Now())
	if err := b.guest.newBehavior(); err != nil {
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
	return b.guest.beginVisit()
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
	if own := b.guest.behavior; !b.config.Player.scenes {
		c.Schema, c.Events, c.Result = own.Schema, own.Events, b.guestResult
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
	b.account.beginVisit()
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
	b.core.endVisit()
	b.asker.endVisit()
	b.account.endVisit()
	b.helm.endVisit()
	b.guest.endVisit()
	b.combat.renew(true)
	b.snapshots = 0
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
	b.combat.beforeUpdate()
	if err := b.client.Update(); err != nil {
		return err
	}
	replica := b.client.Replica()
	if b.client.State() != client.Joined {
		if why, ended := errors.AsType[*wire.Error](b.account.outage.why); ended && why.Code == wire.Internal {
			return fmt.Errorf("the server ended the session: %w", why) // a new one would hide that the game panics
		}
		b.helm.stopWatching()
		b.snapshots = replica.Stats().Snapshots
		b.oracle.pending = b.oracle.pending[:0]
		b.publishIfDue(now)
		return nil
	}
	b.oracle.settleFlashes(replica.Stats().Snapshots, replica.Tick())
	b.oracle.reached(replica.Tick(), replica.StructureTick())
	n := replica.Stats().Snapshots
	fresh := n != b.snapshots
	if fresh {
		b.snapshots = n
		b.exactness.look(replica.Stats().Motion)
		b.account.endOutage(now)
		b.account.measureSnapshot()
		b.helm.watchInput(now)
		b.probeHandles()
	}
	if !b.config.Player.scenes {
		if b.account.playing() {
			if err := b.guest.playFrame(now, fresh); err != nil {
				return err
			}
		}
		b.publishIfDue(now)
		return nil
	}
	if err := b.steer(now, fresh); err != nil {
		return err
	}
	if err := errors.Join(b.asker.pokeIfDue(now), b.asker.renameIfDue(now)); err != nil {
		return err
	}
	b.publishIfDue(now)
	return nil
}

// steer sets the input as the scenario has it.
func (b *bot) steer(now time.Time, fresh bool) error {
	switch b.config.Scenario {
	case Idle:
		return nil
	case Combat:
		if !b.account.playing() {
			return nil
		}
		return b.combat.fight(now, fresh)
	case Restless:
		return b.helm.steer(now)
	}
	if !fresh {
		return nil
	}
	return b.helm.steer(now)
}

// publishIfDue copies the counters to the board from time to time.
func (b *bot) publishIfDue(now time.Time) {
	if now.Sub(b.published) >= publishEvery {
		b.publish(now, b.client.State() == client.Joined)
	}
}

// end closes the session and returns the outcome of all visits.
func (b *bot) end(failure error) outcome {
	now := time.Now()
	o := b.account.visitSoFar(now)
	o.failure = failure
	b.publish(now, false)
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

// publish copies the counters to the board.
func (b *bot) publish(now time.Time, connected bool) {
	b.published = now
	b.handles.Confusions = b.oracle.confusions
	b.board.mu.Lock()
	defer b.board.mu.Unlock()
	b.board.connected, b.board.lost = connected && b.account.playing(), b.account.outage.lost
	b.board.total = b.account.past.plus(b.account.visitSoFar(now))
	b.board.handles, b.board.heard, b.board.combat = b.handles, b.oracle.heard, b.combat.checks
	b.board.exactness = b.exactness.with(b.client)
	b.board.errors = append(b.board.errors, b.combat.errors...)
	b.combat.errors = b.combat.errors[:0]
	b.board.latencies = append(b.board.latencies, b.account.latencies...)
	b.account.latencies = b.account.latencies[:0]
	b.board.visible = append(b.board.visible, b.helm.visible...)
	b.helm.visible = b.helm.visible[:0]
}

// result handles what the server answered to a command (B5).
func (b *bot) result(r client.Result) {
	if r.Err == client.ErrUnanswered {
		b.lostResult(r)
		return
	}
	h, ok := b.unanswered[r.ID]
	if !ok || h != r.Target {
		b.oracle.confuse(r.Target, 0, "B5: answer %d names it, but the command named %v", r.ID, h)
		return
	}
	delete(b.unanswered, r.ID)
	code := wire.CodeOf(r.Err)
	if code == wire.OK {
		b.handles.CommandsExecuted++
	} else {
		b.handles.CommandsRejected++
	}
	if b.asker.takeResult(r) || b.combat.takeResult(r) {
		return
	}
	b.oracle.learn(b.client.Controlled()) // a Control named it
	b.oracle.checkAnswer(h, code, r.Verdict)
}

// lostResult handles a command whose connection was lost: it may or may not have been
// executed, and nothing follows for its target.
func (b *bot) lostResult(r client.Result) {
	b.asker.forgetCommand(r.ID)
	b.combat.forgetCommand(r.ID)
	if h, ok := b.unanswered[r.ID]; !ok || h != r.Target || r.Verdict != wire.Pending {
		b.oracle.confuse(r.Target, 0, "B5: command %d about it was reported lost, but never sent", r.ID)
	}
	delete(b.unanswered, r.ID)
	b.oracle.unsure = true // of what its answer named
	b.account.countUnanswered()
}

// guestResult handles what the server answered to a command of a guest.
func (b *bot) guestResult(r client.Result) {
	if r.Err == client.ErrUnanswered {
		b.account.countUnanswered()
	}
	b.guest.checkResult(r)
}

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

// bot is one client. It coordinates its parts, each of which has its own fields. One goroutine
// owns it; other goroutines read only its board.
type bot struct {
	core
	port      *client.Port // shared; nil if the link is impaired
	events    client.Events
	account   account
	helm      helm
	asker     asker
	combat    combat // of the scenario Combat
	guest     guest  // of games other than internal/scenes
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
	heard     Heard
	combat    CombatChecks
	exactness exactness
	errors    []int64 // of predicted positions, µm, not collected yet
	latencies []int64 // µs, not collected yet
	visible   []int64 // µs, not collected yet
}

func newBot(number int, c Config) *bot {
	rng := rand.New(rand.NewPCG(c.Seed, uint64(number)))
	b := &bot{core: core{
		number: number, config: c, rng: rng,
		oracle:     newOracle(number, rememberedHandles, 0, wire.MaxSlots),
		unanswered: map[uint32]bulk.Handle{},
	}}
	b.account = account{core: &b.core}
	b.helm = helm{core: &b.core, pilot: pilot{rng: rng, area: c.AreaMetres, curve: c.Scenario.turnPerStep()}}
	b.asker = asker{core: &b.core, renaming: map[uint32]string{}}
	b.combat = newCombat(&b.helm)
	b.guest = guest{helm: &b.helm}
	b.oracle.foreign = !c.Player.scenes
	if b.oracle.foreign {
		return b
	}
	b.hearEvents()
	return b
}

// newObserver passes the replica's callbacks to the oracle.
func (b *bot) newObserver() client.Observer {
	return client.Observer{
		Enter: func(e *client.Entity) {
			b.oracle.checkEntered(e.Handle(), b.identityOf(e))
			b.checkName(e, true)
			b.combat.noteSighting(e)
		},
		Update: func(e *client.Entity) {
			b.oracle.checkUpdated(e.Handle(), b.identityOf(e))
			b.checkName(e, false)
			b.combat.noteSighting(e)
		},
		Leave: func(h bulk.Handle, _ wire.Reason) {
			b.oracle.checkLeft(h)
			delete(b.combat.avatars, h)
		},
		Destroy: func(h bulk.Handle, cause uint8) {
			b.oracle.noteDestroyed(h, cause)
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
		b.oracle.checkNamed(e.Handle(), b.identityOf(e), name.Text, entered)
	}
}

// hearEvents passes the server's events to the oracle.
func (b *bot) hearEvents() {
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

func (b *bot) dialServer(ctx context.Context) error {
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
	b.beginVisit(c)
	if b.config.Player.scenes {
		return nil
	}
	return b.guest.beginVisit()
}

func (b *bot) clientConfig() (client.Config, error) {
	name := nameOf(b.number)
	ticket, err := b.config.newTicket(name)
	room, _ := b.config.RoomOf(b.number) // Validate has checked it
	c := client.Config{
		Schema: messages.Schema, Tables: b.config.Tables, Name: name, Token: ticket, Room: room, Observer: b.newObserver(), Events: &b.events, Result: b.checkResult,
		Addr: b.config.Addr, Fingerprint: b.config.Fingerprint, InsecureDev: b.config.InsecureDev, Log: b.config.Log,
		Simulate: !b.config.Ordinary, Socket: b.newSocket(), Port: b.port, GiveUp: giveUp, State: b.handleState, FreshToken: b.config.freshToken(name),
	}
	if own := b.guest.behavior; !b.config.Player.scenes {
		c.Schema, c.Events, c.Result = own.Schema, own.Events, b.guestResult
		c.State = func(s client.StateChange) {
			b.handleState(s)
			if own.State != nil {
				own.State(s)
			}
		}
	}
	return c, err
}

// beginVisit begins a visit with a client that received its Welcome.
func (b *bot) beginVisit(c *client.Client) {
	b.client = c
	b.account.beginVisit()
	welcome := c.Welcome()
	b.oracle.floor, b.oracle.slots = welcome.GenerationFloor, welcome.MaxSlots
	b.oracle.patience = nameSeconds * uint32(welcome.TickHz)
	b.publishCounters(time.Now(), true)
}

// newSocket returns nil, which means the system's sockets, unless the link is impaired.
func (b *bot) newSocket() func() (net.PacketConn, error) {
	if b.config.Link == (Link{}) {
		return nil
	}
	return func() (net.PacketConn, error) { return openImpaired(b.config.Link, b.rng.Uint64(), b.config.began) }
}

// prepareVisit resets everything except counters: the next dial belongs to a new user.
func (b *bot) prepareVisit() {
	b.exactness.addClient(b.client)
	b.core.endVisit()
	b.asker.endVisit()
	b.account.endVisit()
	b.helm.endVisit()
	b.guest.endVisit()
	b.combat.forgetSession(true)
	b.snapshots = 0
}

// playUntil runs until ctx ends and returns nil, or the error that broke the session.
func (b *bot) playUntil(ctx context.Context) error {
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

// waitForWork waits until something arrives. A fighting or restless bot also stops at its next
// frame.
func (b *bot) waitForWork(ctx context.Context) error {
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

// playFrame applies what has arrived, replies, and after a snapshot probes and steers.
func (b *bot) playFrame(now time.Time) error {
	b.combat.beforeUpdate()
	if err := b.client.Update(); err != nil {
		return err
	}
	replica := b.client.Replica()
	if b.client.State() != client.Joined {
		if why, ended := errors.AsType[*wire.Error](b.account.outage.why); ended && why.Code == wire.Internal {
			return fmt.Errorf("the server ended the session: %w", why) // a new session would hide that the game panics
		}
		b.helm.stopWatching()
		b.snapshots = replica.Stats().Snapshots
		b.oracle.pending = b.oracle.pending[:0]
		b.publishIfDue(now)
		return nil
	}
	b.oracle.settleFlashes(replica.Stats().Snapshots, replica.Tick())
	b.oracle.settleTick(replica.Tick(), replica.StructureTick())
	n := replica.Stats().Snapshots
	fresh := n != b.snapshots
	if fresh {
		b.snapshots = n
		b.exactness.countBodies(replica.Stats().Motion)
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

// steer sets the input by the scenario.
func (b *bot) steer(now time.Time, fresh bool) error {
	switch b.config.Scenario {
	case Idle:
		return nil
	case Combat:
		if !b.account.playing() {
			return nil
		}
		return b.combat.playFrame(now, fresh)
	case Restless:
		return b.helm.steerByPilot(now)
	}
	if !fresh {
		return nil
	}
	return b.helm.steerByPilot(now)
}

// publishIfDue copies the counters to the board at an interval.
func (b *bot) publishIfDue(now time.Time) {
	if now.Sub(b.published) >= publishEvery {
		b.publishCounters(now, b.client.State() == client.Joined)
	}
}

// endRun closes the session and returns the outcome of all visits.
func (b *bot) endRun(failure error) outcome {
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
func (b *bot) publishCounters(now time.Time, connected bool) {
	b.published = now
	b.handles.Confusions = b.oracle.confusions
	b.board.mu.Lock()
	defer b.board.mu.Unlock()
	b.board.connected, b.board.lost = connected && b.account.playing(), b.account.outage.lost
	b.board.total = b.account.past.plus(b.account.visitSoFar(now))
	b.board.handles, b.board.heard, b.board.combat = b.handles, b.oracle.heard, b.combat.checks
	b.board.exactness = b.exactness.withClient(b.client)
	b.board.errors = append(b.board.errors, b.combat.errors...)
	b.combat.errors = b.combat.errors[:0]
	b.board.latencies = append(b.board.latencies, b.account.latencies...)
	b.account.latencies = b.account.latencies[:0]
	b.board.visible = append(b.board.visible, b.helm.visible...)
	b.helm.visible = b.helm.visible[:0]
}

// checkResult checks the server's answer to a command (B5).
func (b *bot) checkResult(r client.Result) {
	if r.Err == client.ErrUnanswered {
		b.lostResult(r)
		return
	}
	h, ok := b.unanswered[r.ID]
	if !ok || h != r.Target {
		b.oracle.reportConfusion(r.Target, 0, "B5: answer %d names it, but the command named %v", r.ID, h)
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
	b.oracle.learnHandle(b.client.Controlled()) // a Control named it
	b.oracle.checkAnswer(h, code, r.Verdict)
}

// lostResult handles a command whose connection was lost: the server may or may not have
// executed it, so nothing is known of its target.
func (b *bot) lostResult(r client.Result) {
	b.asker.forgetCommand(r.ID)
	b.combat.forgetCommand(r.ID)
	if h, ok := b.unanswered[r.ID]; !ok || h != r.Target || r.Verdict != wire.Pending {
		b.oracle.reportConfusion(r.Target, 0, "B5: command %d about it was reported lost, but never sent", r.ID)
	}
	delete(b.unanswered, r.ID)
	b.oracle.unsure = true // the lost answer may have named handles
	b.account.countUnanswered()
}

// guestResult handles the server's answer to a command of a guest.
func (b *bot) guestResult(r client.Result) {
	if r.Err == client.ErrUnanswered {
		b.account.countUnanswered()
	}
	b.guest.checkResult(r)
}

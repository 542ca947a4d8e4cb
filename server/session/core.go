package session

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// lastRunTick is the last tick of a run. The protocol's 32-bit ticks (828 days at 60 Hz)
// never wrap: the run ends before, and the next run starts below half of the range. The
// margin covers inputs for later ticks.
const lastRunTick = math.MaxUint32 - 1<<16

// WorldConfig configures a world and its rules. server.WorldConfig documents the same
// fields.
type WorldConfig struct {
	World                           *world.World
	Schema                          *schema.Schema
	Replication                     replication.Config
	Hooks                           Hooks
	Epoch                           uint64
	MaxSessions                     int
	CommandsPerSecond, CommandBurst int
	Grace                           time.Duration
	MaxViewAge                      time.Duration
}

// Config configures a Core. server.Config documents the fields that both have.
type Config struct {
	WorldConfig
	Room              string
	Router            *Router // nil: connections come from Core.Open
	Admit             Admit
	OneSessionPerUser bool
	PanicEnds         bool
	Versions          Versions
	Random            io.Reader // required without a Router
	// HoldOutput holds what sessions are sent until Core.Release says that its frame is durable. The
	// output of Receive belongs to the frame of the Step that follows, as the output of Send does.
	HoldOutput bool
}

// Core is the server without sockets, goroutines or a clock: sessions, commands and inputs,
// the world, and its snapshots. One goroutine calls Tick; connections deliver received
// bytes on their own goroutines.
type Core struct {
	roster
	requests
	passages passages
	Gate
	*connectionIDs               // of the Router, if there is one
	redirections   *redirections // of the Router, if there is one
	faultRecord
	*outputGate // nil: output leaves at once
	calls
	letterBox  letterBox
	config     Config // its Schema is the completed one
	schemaText string
	schemaHash uint64
	world      *world.World
	steps      *world.StepClaim
	replicator *replication.Replicator
	ownVisit   visit
	now        time.Time // world time, for rate limits; advances by ticks

	graceTicks int
	viewAge    int // ticks
	hellosLeft int // number of Hellos that this tick may still answer
	schedule   snapshotSchedule
	notes      noteLog
	commands   map[string]commandFunc
	input      inputFunc // nil: inputs are dropped
	stats      Stats
	timer      hookTimer
}

// Validate reports every error in c, except a schema that does not fit the world and a
// missing Random: NewCore reports these.
func (c Config) Validate() error {
	errs := []error{c.WorldConfig.Validate(), c.Versions.Validate()}
	if c.Router != nil && c.Admit != nil {
		errs = append(errs, errors.New("server: Admit with a Router, which checks the tokens of all rooms: set RouterConfig.Admit"))
	}
	if c.Router != nil && c.Versions != (Versions{}) && c.Versions != c.Router.config.Versions {
		errs = append(errs, errors.New("server: Versions differ from the Router's, which checks the clients of all rooms: set RouterConfig.Versions alone"))
	}
	if c.OneSessionPerUser && c.Admit == nil && (c.Router == nil || c.Router.config.Admit == nil) {
		errs = append(errs, errors.New("server: OneSessionPerUser without Admit: no session would have a user"))
	}
	return errors.Join(errs...)
}

// Validate reports every error in c, except a schema that does not fit the world, which
// CompleteSchema and NewCore report.
func (c WorldConfig) Validate() error {
	errs := []error{c.Hooks.validateHooks(c.Schema), validateMaxSessions(c.MaxSessions)}
	if c.CommandsPerSecond < 0 {
		errs = append(errs, fmt.Errorf("server: %d commands per second: want a positive number, or 0 for %d", c.CommandsPerSecond, defaultCommandsPerSecond))
	}
	if c.CommandBurst < 0 {
		errs = append(errs, fmt.Errorf("server: a command burst of %d: want a positive number, or 0 for %d", c.CommandBurst, defaultCommandBurst))
	}
	if c.MaxViewAge < 0 {
		errs = append(errs, fmt.Errorf("server: views of at most %v: want a positive duration, or 0 for %v", c.MaxViewAge, defaultViewAge))
	}
	if c.Schema == nil {
		errs = append(errs, errors.New("server: Schema is nil"))
	}
	if c.World == nil {
		return errors.Join(append(errs, errors.New("server: World is nil"))...)
	}
	if n := c.World.Config().MaxEntities; n > wire.MaxSlots {
		errs = append(errs, fmt.Errorf("server: a world of %d entities, the protocol has room for %d", n, wire.MaxSlots))
	}
	return errors.Join(append(errs, c.Replication.Validate(c.World.TickHz()))...)
}

// NewCore returns a Core, or an error that names every fault of c.
func NewCore(c Config) (*Core, error) {
	if err := errors.Join(c.Validate(), c.checkWorld()); err != nil {
		return nil, err
	}
	if c.Router != nil {
		c.Versions = c.Router.config.Versions
		if c.Random == nil {
			c.Random = (*routerRandom)(c.Router)
		}
	}
	if c.Random == nil {
		return nil, errors.New("server: Random is nil: want a source of secrets, or a seeded one in a simulation")
	}
	c.MaxSessions = cmp.Or(c.MaxSessions, DefaultMaxSessions)
	c.CommandsPerSecond = cmp.Or(c.CommandsPerSecond, defaultCommandsPerSecond)
	c.CommandBurst = cmp.Or(c.CommandBurst, defaultCommandBurst)
	if c.Grace == 0 {
		c.Grace = defaultGrace
	}
	c.MaxViewAge = cmp.Or(c.MaxViewAge, defaultViewAge)
	for c.Epoch == 0 {
		var number [8]byte
		if _, err := io.ReadFull(c.Random, number[:]); err != nil {
			return nil, fmt.Errorf("server: no random number for the epoch: %w", err)
		}
		c.Epoch = binary.LittleEndian.Uint64(number[:])
	}
	if c.Replication.TickBase == 0 {
		c.Replication.TickBase = tickBase(c.World.Tick())
	}
	var err error
	if c.Schema, err = c.CompleteSchema(); err != nil {
		return nil, err
	}
	r, err := replication.New(c.World, c.Schema, c.Replication)
	if err != nil {
		return nil, err
	}
	c.Replication = r.Config()
	ids, redirected := &connectionIDs{}, newRedirections()
	if c.Router != nil {
		ids, redirected = &c.Router.connectionIDs, c.Router.redirections
	}
	own := c.World.Config()
	core := &Core{
		roster: roster{replicator: r, onePerUser: c.OneSessionPerUser || c.Router != nil && c.Router.config.OneSessionPerUser}, connectionIDs: ids, redirections: redirected, ownVisit: visit{own.FirstGeneration, own.LastGeneration, c.Epoch},
		config: c, world: c.World, steps: c.World.ClaimStep("a server"), replicator: r, now: time.Unix(0, 0),
		schemaText: c.Schema.Text(), schemaHash: c.Schema.Hash(),
		graceTicks: ticksOf(c.Grace, c.World.TickHz()),
		viewAge:    ticksOf(c.MaxViewAge, c.World.TickHz()),
		schedule:   snapshotSchedule{maxWait: uint64(c.World.TickHz() / minSnapshotHz)},
		requests:   requests{limits: limits{c.MaxSessions, c.Replication.BudgetBytesPerSecond}, ending: wire.Error{Code: wire.Draining}, places: places{tick: c.World.Tick(), seats: map[string]uint64{}}},
	}
	core.commands, core.input = c.Hooks.bindHooks(c.Schema)
	if c.HoldOutput {
		core.outputGate = &outputGate{}
	}
	core.calls = calls{signals: c.Hooks.Signals, world: c.World, stats: &core.stats, faults: &core.faultRecord, timer: &core.timer, panicEnds: c.PanicEnds, gate: core.outputGate}
	core.letterBox.open(c)
	if c.Admit != nil && !c.PanicEnds {
		core.config.Admit = containAdmit(c.Admit, core.noteAdmitPanic)
	}
	return core, nil
}

// Config returns the configuration, including defaults. Its Schema is the one that clients
// receive, see CompleteSchema.
func (c *Core) Config() Config { return c.config }

// ticksOf converts d to ticks, at least 0. Whole seconds are converted separately:
// nanoseconds times tickHz could overflow.
func ticksOf(d time.Duration, tickHz int) int {
	hz := time.Duration(tickHz)
	return max(int(d/time.Second*hz+d%time.Second*hz/time.Second), 0)
}

// tickBase returns the offset of a run's protocol ticks from the world's, for a run that
// begins at tick. It is 0 for most worlds, so that clients and logs name the same ticks. A
// run has at least half of the 32-bit range left.
func tickBase(tick uint64) uint64 { return tick &^ (1<<31 - 1) }

// TicksLeft returns how many ticks the run has left. At 0 all sessions end with Draining
// and new ones are refused; a Server then stops.
func (c *Core) TicksLeft() uint64 { return TicksLeft(c.world, c.config.Replication.TickBase) }

// TicksLeft returns how many ticks a run with a Replication.TickBase has left.
func TicksLeft(w *world.World, tickBase uint64) uint64 {
	return lastRunTick - min(w.Tick()-tickBase, lastRunTick)
}

// Open registers a new connection. ctx ends with the connection. address identifies the
// client's network: when the server is full, the away sessions of that address end first.
// Open may be called from any goroutine.
func (c *Core) Open(ctx context.Context, address string, conn Conn) *Peer {
	return c.OpenReserved(ctx, c.Reserve(), address, conn)
}

// OpenReserved opens a connection like Open, with an id from Reserve.
func (c *Core) OpenReserved(ctx context.Context, id uint64, address string, conn Conn) *Peer {
	admit := c.config.Admit
	if c.config.Router != nil {
		admit = c.config.Router.config.Admit
	}
	p := newPeer(ctx, id, address, conn, gate{admit: admit, versions: c.config.Versions})
	if !c.requests.addPeer(c, p) {
		p.sendRefused(&wire.Error{Code: wire.Draining}, "")
	}
	return p
}

// Tick processes what arrived, steps the world once, and sends every due snapshot,
// without a time limit.
func (c *Core) Tick() {
	c.Receive()
	c.Step()
	c.Send(func() bool { return false })
}

// Receive is the first phase of a tick. It runs posted calls, delivers the messages of other rooms, processes acknowledgements, inputs
// and commands of each session by ascending id, then the Hellos of new connections.
func (c *Core) Receive() {
	c.now = c.now.Add(time.Second / time.Duration(c.world.TickHz()))
	if c.config.Router == nil {
		c.redirections.expire(c.now)
	}
	c.outputGate.beginFrame(c.world.Tick() + 1)
	if c.TicksLeft() == 0 {
		c.Drain()
	}
	c.requests.beginTick(c.world.Tick())
	c.applyRequests()
	c.calls.runCalls()
	c.readLetters()
	for _, s := range c.sessions {
		s.receiveMessages()
	}
	c.followPassages()
	c.hellosLeft = (joinsPerSecond + c.world.TickHz() - 1) / c.world.TickHz()
	c.receiveTravellers()
	for _, p := range c.peers {
		p.receiveHello()
	}
	c.roster.removeJoined()
	c.moveSessions()
	c.requests.noteSessions(c.Active(), c.Away())
}

// applyRequests applies what other goroutines have asked for since the last tick.
func (c *Core) applyRequests() {
	asked := c.requests.takeForTick()
	c.roster.addPeers(asked.opened)
	for _, k := range asked.kicks {
		if s := c.Session(k.id); s != nil {
			s.endNext(k.reason)
		}
		c.passages.endWaiting(k.id, k.reason)
	}
	c.forgetDeparted(asked.gone)
	c.replicator.SetBudget(asked.budget)
	if asked.bans != nil {
		c.roster.applyBans(asked.bans)
	}
}

// DropInputs drops the inputs that have arrived since the last Receive: the world stood still meanwhile, and their clients have
// steered by an old state. Only the goroutine that calls Tick may call it.
func (c *Core) DropInputs() {
	for _, s := range c.sessions {
		if s.peer != nil {
			s.peer.inbox.dropInputs()
		}
	}
}

// Step is the second phase of a tick: it steps the world once.
func (c *Core) Step() {
	c.steps.Step()
	c.replicator.AfterStep()
}

// Send is the third phase of a tick. It captures one frame and sends due snapshots,
// longest-waiting sessions first, until outOfTime reports true; the remaining sessions wait
// for the next tick. It then removes ended sessions.
func (c *Core) Send(outOfTime func() bool) { c.sendSnapshots(false, outOfTime) }

// SendAll replaces Send in the last tick: it sends a snapshot to every session whose
// connection has sent the previous one.
func (c *Core) SendAll() { c.sendSnapshots(true, func() bool { return false }) }

func (c *Core) sendSnapshots(all bool, outOfTime func() bool) {
	for _, s := range c.sessions {
		if s.entity != s.announced {
			s.sendControl()
		}
		// A waiting session is already due: SendAll does not count it twice.
		if s.state == stateActive && (all && s.turn.state == turnIdle || c.replicator.Due(s.id)) {
			c.schedule.enqueueDue(s, &c.stats)
		}
	}
	c.schedule.dropUnreachable()
	if len(c.schedule.waiting) > 0 {
		c.replicator.Capture()
	}
	c.schedule.serveWaiting(c.replicator, c.world.Tick(), maxOverduePerTick(len(c.sessions), c.world.TickHz()), outOfTime)
	c.outputGate.beginFrame(c.world.Tick() + 1) // also of what is sent between two ticks
	c.endDisconnected()
}

// endDisconnected handles connections that have ended, then removes ended sessions and peers.
func (c *Core) endDisconnected() {
	for _, s := range c.sessions {
		if s.state != stateActive {
			continue
		}
		switch ended, left := s.peer.inbox.hasEnded(); {
		case left:
			s.endSilently(&wire.Error{Code: wire.OK})
		case ended:
			s.loseConnection(&wire.Error{Code: wire.Timeout, Detail: "the connection broke"})
		}
	}
	c.stats.Ended += uint64(c.roster.removeEnded())
}

// SetLimits changes Config.MaxSessions and the replication budget at the next tick; 0 means
// the default. Existing sessions stay, even beyond the new limit. On error nothing changes.
// It may be called from any goroutine.
func (c *Core) SetLimits(maxSessions, budgetBytesPerSecond int) error {
	config := c.config.Replication
	config.BudgetBytesPerSecond = budgetBytesPerSecond
	if err := errors.Join(validateMaxSessions(maxSessions), config.Validate(c.world.TickHz())); err != nil {
		return err
	}
	c.requests.setLimits(limits{cmp.Or(maxSessions, DefaultMaxSessions), config.WithDefaults().BudgetBytesPerSecond})
	return nil
}

// Drain refuses new sessions and calls, and ends the existing sessions with Draining. The next
// Tick removes them.
func (c *Core) Drain() {
	c.requests.setDraining()
	c.calls.refuse(c.requests.endReason())
	for _, s := range c.sessions {
		s.endWithGoodbye(c.requests.endReason())
	}
	for _, p := range c.peers {
		p.refuseHello(c.requests.endReason(), "")
	}
}

// Shutdown ends all sessions without another Tick, including sessions that begin while
// it sends Goodbyes. Connections opened later are refused with Draining.
func (c *Core) Shutdown() {
	c.calls.refuse(c.requests.endReason()) // no step follows whose frame would hold their effects
	for range 2 {
		c.Receive()
		c.Drain()
	}
	c.endDisconnected()
}

// Close refuses connections and sessions that arrived after the last Tick or arrive later,
// with Draining. It stops the worker goroutines (Config.Replication.Workers). Call it after
// the last Tick. Output that Release has not let leave is discarded.
func (c *Core) Close() {
	c.calls.refuse(c.requests.endReason())
	c.letterBox.close()
	c.discardHeld()
	late, travellers := c.requests.close()
	for _, p := range late {
		p.refuseHello(c.requests.endReason(), "")
	}
	for _, t := range travellers {
		c.refuseTraveller(t, c.requests.endReason())
	}
	for _, t := range c.passages.undurable() { // they have ended here
		t.leaveFailed(fateOver)
	}
	c.replicator.Close()
	c.steps.Release()
}

// CloseIfEmpty closes c to new connections if it has neither sessions, connections nor calls, nor the only durable
// notes of sessions that have moved, and
// reports whether it did. The Router calls RouterConfig.Join again for a client that was on
// its way to c. Only the goroutine that calls Tick may call it; call Close afterwards.
func (c *Core) CloseIfEmpty() bool {
	return c.Len() == 0 && len(c.passages.departed) == 0 && c.calls.isEmpty() && c.requests.closeIfNone()
}

// Waiting returns the number of sessions that were due for a snapshot in the last Send and
// did not get one, for lack of time.
func (c *Core) Waiting() int { return len(c.schedule.waiting) - c.schedule.held }

// World returns the world. Only the goroutine that calls Tick may use it.
func (c *Core) World() *world.World { return c.world }

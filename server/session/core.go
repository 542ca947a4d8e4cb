package session

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// lastRunTick is the last tick of a run. The protocol counts ticks in 32 bits: 828 days
// at 60 Hz. They never wrap; the run ends before, and the next one begins below half of
// them. The rest is room for the inputs of later ticks.
const lastRunTick = math.MaxUint32 - 1<<16

// CoreConfig is what a Core is made of.
type CoreConfig struct {
	// World is given over: from NewCore on it belongs to whoever calls Tick, in
	// a Server to Serve and to the functions of Game.
	World *world.World
	// Schema is what of the world clients are sent: schema.Body as
	// schema.BodyComponent, and components that are registered in World
	// under the same name and type. Clients build the same, in the same order.
	Schema      *schema.Schema
	Replication replication.Config
	Game        Game
	// Epoch names this run of the world; handles of another epoch mean nothing
	// here. It must never be that of an earlier run, or clients of that run keep
	// handles which now name other entities. 0 takes a random number.
	Epoch uint64
	// GenerationFloor tells clients that every handle of a lower generation was
	// issued by an earlier run, and is stale (H5). 0 takes the world's
	// FirstGeneration; anything else must be it.
	GenerationFloor uint32
	// Admit takes a client's connect token and returns what it grants; an error
	// refuses the session, as Game.Join's does, Unauthorized if it is no
	// *wire.Error. It is called from the connection's goroutine, so several at a
	// time, and may take a while, as to ask another service: only this client waits
	// for it. ctx is done when the connection has ended, by the client or with the
	// server, whose Serve waits for it; a Server also ends it after HelloTimeout. The
	// client receives Internal if the error is context.DeadlineExceeded.
	// nil lets everybody in, whatever they bring: for development.
	Admit Admit
	// OneSessionPerUser ends a user's session when the same user begins another one:
	// the older one ends with SignedInElsewhere before Game.Join is asked, so that
	// Game.Leave has saved what Join loads. Resuming a session begins none. It needs Admit;
	// sessions without a user are not counted.
	OneSessionPerUser bool
	// MaxSessions bounds the sessions at any one time, those that are away
	// included: they make room for who comes. Default 1,024.
	MaxSessions int
	// CommandsPerSecond and CommandBurst bound the commands of one session; a command
	// beyond them is answered RateLimited. Defaults: 50 a second, 100 at once. Higher
	// rates meet two other bounds (limits.go): a stream is read at 64 KiB a second, and
	// 256 commands in one tick end the session.
	CommandsPerSecond, CommandBurst int
	// Grace is how long a session waits for its client to come again after its
	// connection broke. Meanwhile its entity stays, and what the client knows.
	// 0 takes 15 s; negative: a session ends with its connection.
	Grace time.Duration
	// PanicEnds lets a panic in a function of the game end the process. By default
	// it ends the session that the function was called for, with code Internal, and
	// is counted in Stats.Panics; a Server also logs it with its stack. Game has the
	// rules.
	PanicEnds bool
	// Random is the source of the epoch and of the secrets with which clients resume.
	// A Server takes the system's source for nil; NewCore requires one.
	Random io.Reader
}

// Core is the server without its sockets, its goroutines and its clock:
// sessions, commands and inputs on one side, the world and its snapshots on
// the other. One goroutine calls Tick; connections deliver what they receive
// from goroutines of their own.
type Core struct {
	config     CoreConfig
	world      *world.World
	replicator *replication.Replicator
	now        time.Time // the world's time, for rates: it moves by ticks

	mu       sync.Mutex
	opened   []*Peer // since the last tick
	kicks    []kick  // likewise
	draining bool
	bans     map[string]bool // to replace banned; nil: no change
	// Limits that may change while it runs; the tick hands on the budget.
	maxSessions, budget int

	graceTicks int
	welcomes   int        // how many Hellos more the tick answers
	peers      []*Peer    // without a session, by id, ascending; the tick's own
	sessions   []*Session // by id, ascending
	turns      turns
	banned     map[string]bool // users
	nextID     uint64
	stats      Stats

	panicked    func(HookPanic) // OnPanic's; nil: none
	admitPanics atomic.Uint64
}

// Validate reports everything that is wrong with c, except for a schema that does not
// fit the world and a missing Random, which NewCore reports.
func (c CoreConfig) Validate() error {
	errs := []error{c.Game.validate(), validateMaxSessions(c.MaxSessions)}
	if c.OneSessionPerUser && c.Admit == nil {
		errs = append(errs, errors.New("server: OneSessionPerUser without Admit: no session would have a user"))
	}
	if c.CommandsPerSecond < 0 {
		errs = append(errs, fmt.Errorf("server: %d commands per second: want a positive number, or 0 for %d", c.CommandsPerSecond, DefaultCommandsPerSecond))
	}
	if c.CommandBurst < 0 {
		errs = append(errs, fmt.Errorf("server: a command burst of %d: want a positive number, or 0 for %d", c.CommandBurst, DefaultCommandBurst))
	}
	if c.Schema == nil {
		errs = append(errs, errors.New("server: Schema is nil"))
	}
	if c.World == nil {
		return errors.Join(append(errs, errors.New("server: World is nil"))...)
	}
	own := c.World.Config()
	if n := own.MaxEntities; n > wire.MaxSlots {
		errs = append(errs, fmt.Errorf("server: a world of %d entities, the protocol has room for %d", n, wire.MaxSlots))
	}
	if floor := c.GenerationFloor; floor != 0 && floor != own.FirstGeneration {
		errs = append(errs, fmt.Errorf("server: generation floor is %d, the world's first generation %d: want the same, or 0", floor, own.FirstGeneration))
	}
	return errors.Join(append(errs, c.Replication.Validate(c.World.TickHz()))...)
}

// NewCore makes a Core.
func NewCore(c CoreConfig) (*Core, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Random == nil {
		return nil, errors.New("server: Random is nil: want a source of secrets, or a seeded one in a simulation")
	}
	if c.GenerationFloor == 0 {
		c.GenerationFloor = c.World.Config().FirstGeneration
	}
	c.MaxSessions = cmp.Or(c.MaxSessions, DefaultMaxSessions)
	c.CommandsPerSecond = cmp.Or(c.CommandsPerSecond, DefaultCommandsPerSecond)
	c.CommandBurst = cmp.Or(c.CommandBurst, DefaultCommandBurst)
	if c.Grace == 0 {
		c.Grace = defaultGrace
	}
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
	r, err := replication.New(c.World, c.Schema, c.Replication)
	if err != nil {
		return nil, err
	}
	c.Replication = r.Config()
	core := &Core{
		config: c, world: c.World, replicator: r, now: time.Unix(0, 0),
		graceTicks:  ticksOf(c.Grace, c.World.TickHz()),
		turns:       turns{longest: uint64(c.World.TickHz() / slowestSnapshotHz)},
		maxSessions: c.MaxSessions, budget: c.Replication.BudgetBytesPerSecond,
	}
	if c.Admit != nil && !c.PanicEnds {
		core.config.Admit = core.containAdmit(c.Admit)
	}
	return core, nil
}

// Config returns the configuration with its defaults filled in.
func (c *Core) Config() CoreConfig { return c.config }

// OnPanic has f called for each contained panic of the game, on the goroutine that
// panicked. It is called before the first Open.
func (c *Core) OnPanic(f func(HookPanic)) { c.panicked = f }

// ticksOf is a duration in ticks; 0 if it is negative. Whole seconds count apart: their
// ticks fit where as many nanoseconds times tickHz overflow.
func ticksOf(d time.Duration, tickHz int) int {
	hz := time.Duration(tickHz)
	return max(int(d/time.Second*hz+d%time.Second*hz/time.Second), 0)
}

// tickBase is what to take off a world's ticks in a run that begins at the given
// one: nothing for most worlds, so that clients and logs name the same ticks, and
// else so much that at least half of the numbers are left.
func tickBase(tick uint64) uint64 { return tick &^ (1<<31 - 1) }

// TicksLeft is for how many more ticks the run can go on. At 0 all sessions are
// ended, with Draining, and nobody may join; a Server ends then.
func (c *Core) TicksLeft() uint64 {
	made := c.world.Tick() - c.config.Replication.TickBase
	return lastRunTick - min(made, lastRunTick)
}

// Open takes in a new connection. ctx is done when the connection has ended. address
// names where it comes from: a session that is away gives its place first to a newcomer
// from its own address (Core.makeRoom). Open may be called from any goroutine.
func (c *Core) Open(ctx context.Context, address string, conn Conn) *Peer {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nextID++
	p := &Peer{core: c, id: c.nextID, ctx: ctx, address: address, conn: conn}
	c.opened = append(c.opened, p)
	return p
}

// kick is a session to be ended, and why.
type kick struct {
	id     uint64
	reason string
}

// Kick is Session.Kick for who knows a session by its id only, from any
// goroutine. Of a session that is over it does nothing.
func (c *Core) Kick(id uint64, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kicks = append(c.kicks, kick{id, reason})
}

// Tick takes in what arrived, steps the world once, and sends the sessions
// whose turn it is their snapshots, however long that takes.
func (c *Core) Tick() {
	c.Receive()
	c.Step()
	c.Send(func() bool { return false })
}

// Receive is the first phase of a tick: joins, acknowledgements, inputs and
// commands, by session in the order in which they came; then who is new.
func (c *Core) Receive() {
	c.now = c.now.Add(time.Second / time.Duration(c.world.TickHz()))
	if c.TicksLeft() == 0 {
		c.Drain()
	}
	c.mu.Lock()
	c.peers = append(c.peers, c.opened...)
	c.opened = c.opened[:0]
	for _, k := range c.kicks {
		if s := c.Session(k.id); s != nil {
			s.Kick(k.reason)
		}
	}
	c.kicks = c.kicks[:0]
	budget, bans := c.budget, c.bans
	c.bans = nil
	c.mu.Unlock()
	c.replicator.SetBudget(budget)
	if bans != nil {
		c.ban(bans)
	}
	for _, s := range c.sessions {
		s.receive()
	}
	c.welcomes = (joinsPerSecond + c.world.TickHz() - 1) / c.world.TickHz()
	for _, p := range c.peers {
		p.receive()
	}
	c.peers = slices.DeleteFunc(c.peers, func(p *Peer) bool { return p.session != nil })
}

// place is where the session of an id is among all, or would be.
func (c *Core) place(id uint64) int {
	i, _ := slices.BinarySearchFunc(c.sessions, id, func(s *Session, id uint64) int { return cmp.Compare(s.id, id) })
	return i
}

// Session returns the session of an id, or nil. It belongs to the goroutine that calls
// Tick.
func (c *Core) Session(id uint64) *Session {
	if i := c.place(id); i < len(c.sessions) && c.sessions[i].id == id {
		return c.sessions[i]
	}
	return nil
}

// Step is the second phase: the world moves by one tick.
func (c *Core) Step() {
	c.world.Step()
	c.replicator.AfterStep()
}

// Send is the third phase: one frame, and a snapshot of it for the sessions whose
// turn it is, who was sent one longest ago first, until enough says that the tick has
// no time for more; the others wait for the next tick. Sessions that are over end here.
func (c *Core) Send(enough func() bool) { c.send(false, enough) }

// SendAll is Send of a last tick: everybody who is reached is sent a snapshot.
func (c *Core) SendAll() { c.send(true, func() bool { return false }) }

func (c *Core) send(all bool, enough func() bool) {
	for _, s := range c.sessions {
		if s.entity != s.told {
			s.tellControl()
		}
		// A session that waits is served in a last tick, without another turn.
		if !s.over && s.peer != nil && (all && !s.waits || c.replicator.Due(s.id)) {
			c.turns.call(s, &c.stats)
		}
	}
	c.turns.dismiss()
	if len(c.turns.waiting) > 0 {
		c.replicator.Capture()
	}
	c.turns.serve(c.replicator, c.world.Tick(), overdue(len(c.sessions), c.world.TickHz()), enough)
	c.reap()
}

// reap forgets what is over, and finds the connections that have ended.
func (c *Core) reap() {
	for _, s := range c.sessions {
		if s.over || s.peer == nil {
			continue
		}
		switch ended, left := s.peer.inbox.ended(); {
		case left:
			s.end(&wire.Error{Code: wire.OK})
		case ended:
			s.lose(&wire.Error{Code: wire.Timeout, Detail: "the connection broke"})
		}
	}
	before := len(c.sessions) + len(c.peers)
	c.sessions = slices.DeleteFunc(c.sessions, func(s *Session) bool { return s.over })
	c.peers = slices.DeleteFunc(c.peers, (*Peer).reap)
	c.stats.Ended += uint64(before - len(c.sessions) - len(c.peers))
}

// MaxSessions returns CoreConfig.MaxSessions, or what SetLimits made of it. It may be
// called from any goroutine.
func (c *Core) MaxSessions() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.maxSessions
}

// SetLimits changes CoreConfig.MaxSessions and the replication budget from the next
// tick on; 0 takes the default. Sessions that exist stay, even beyond the new limit. An
// error changes nothing. It may be called from any goroutine.
func (c *Core) SetLimits(maxSessions, budgetBytesPerSecond int) error {
	config := c.config.Replication
	config.BudgetBytesPerSecond = budgetBytesPerSecond
	if err := errors.Join(validateMaxSessions(maxSessions), config.Validate(c.world.TickHz())); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.maxSessions, c.budget = cmp.Or(maxSessions, DefaultMaxSessions), config.WithDefaults().BudgetBytesPerSecond
	return nil
}

// Draining reports whether Drain was called. It may be called from any goroutine.
func (c *Core) Draining() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.draining
}

// count counts sessions.
func (c *Core) count(which func(*Session) bool) (n int) {
	for _, s := range c.sessions {
		if which(s) {
			n++
		}
	}
	return n
}

// Drain refuses new sessions and says goodbye to those that are there. They
// end in the next Tick.
func (c *Core) Drain() {
	c.mu.Lock()
	c.draining = true
	c.mu.Unlock()
	for _, s := range c.sessions {
		s.fail(&wire.Error{Code: wire.Draining})
	}
	for _, p := range c.peers {
		p.refuse(&wire.Error{Code: wire.Draining}, "")
	}
}

// Shutdown ends all sessions without another Tick, including those that join while it
// says goodbye. Connections that Open takes in later find Draining.
func (c *Core) Shutdown() {
	for range 2 {
		c.Receive()
		c.Drain()
	}
	c.reap()
}

// Close ends the goroutines that Config.Replication.Workers asks for. It comes
// after the last Tick.
func (c *Core) Close() { c.replicator.Close() }

// Sessions is the number of sessions that are not ended, whatever their state,
// and of connections that have none.
func (c *Core) Sessions() int { return len(c.sessions) + len(c.peers) }

// Active is the number of sessions that have joined and are reached.
func (c *Core) Active() int {
	return c.count(func(s *Session) bool { return !s.over && s.peer != nil })
}

// Waiting is the number of sessions whose turn for a snapshot has come and that the
// last Send had no time for.
func (c *Core) Waiting() int { return len(c.turns.waiting) }

// Away is the number of sessions that wait for their clients to come again.
func (c *Core) Away() int {
	return c.count(func(s *Session) bool { return !s.over && s.peer == nil })
}

// World returns the world, for the goroutine that calls Tick.
func (c *Core) World() *world.World { return c.world }

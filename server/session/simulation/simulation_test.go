package simulation

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/simtest"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// The simulation runs a script with a server core and its clients over seeded links, in
// one goroutine and without sockets. It keeps the server's full history, and in every tick
// compares it with each verdict on each handle ever issued (oracle_test.go).

// Identity never changes. Target refers to any handle, including dead ones. Purse is sent
// to owners only.
type (
	Identity struct {
		Value uint64 `net:"always"`
	}
	Target struct {
		Handle bulk.Handle `net:"ref"`
	}
	Purse struct {
		Coins int32 `net:"bits=20,owner"`
	}
	// An entity with Beacon is visible from any distance, one with Veil to its owners
	// only. Neither component is sent.
	Beacon struct{}
	Veil   struct{}
)

const (
	tickMs      = 16
	enterRadius = 40
	leaveRadius = 50
	// settleTicks bounds the quiet time at the end of a script.
	settleTicks = 900
	// stalledTicks is the time without a new acknowledgement after which the server may end
	// a session as too slow.
	stalledTicks = 15 * 60
)

// life is the history of one handle.
type life struct {
	handle   bulk.Handle
	number   int // index in sim.order
	identity uint64
	run      int
	cause    uint8 // cause of its death
	named    bool  // some component has named it at some time
	died     int   // tick of the simulation; 0: alive
	diedTick uint32
	states   []state // quantised states, one for each change
	motion   exactLife
}

type state struct {
	tick   uint32
	values []uint32
}

// at returns the quantised state at a tick, or nil before the first.
func (l *life) at(tick uint32) []uint32 {
	i, found := slices.BinarySearchFunc(l.states, tick, func(s state, tick uint32) int { return cmp.Compare(s.tick, tick) })
	if !found {
		i--
	}
	if i < 0 {
		return nil
	}
	return l.states[i].values
}

// failure is a broken invariant.
type failure struct {
	invariant string // H1 to H7, or one of a package
	tick      int    // tick of the simulation
	text      string
}

func (f *failure) Error() string { return f.invariant + ": " + f.text }

type sim struct {
	script *script
	rng    *rand.Rand // source of initial positions, connections and forged handles
	tick   int

	operates  map[string]bool // operations for which script.has is true
	hasEvents bool            // as script.hasEvents

	schema *schema.Schema
	rows   *rowschema.Layout // layout of schema
	values []uint32          // scratch

	core          *session.Core
	pace, paced   int // the pace, and the tick at which setPace set it
	asked         int // calls of enough
	world         *world.World
	identity      *world.Component[Identity]
	target        *world.Component[Target]
	purse         *world.Component[Purse]
	beacon        *world.Component[Beacon]
	veil          *world.Component[Veil]
	seat          *world.Component[Seat] // nil if the script has no rides
	typed         typed
	joining       *session.Session      // argument of the current Join, or nil
	barred        int                   // joins still to refuse
	restartAt     int                   // tick of the restart after Drain; 0: not drained
	tag           *world.Component[Tag] // nil if the script has no renames
	crate, ghost  world.KindID
	run           int
	epoch         uint64
	image         *world.Image
	lastFlip      bulk.Handle
	lives         map[bulk.Handle]*life
	order         []*life            // all lives, in order of issue over all runs
	tenants       map[uint32][]*life // by slot, over all runs
	living        []*life            // live entities of this run
	clients       []*simClient
	left          []*conn // connections that clients abandoned
	over          map[*session.Session]bool
	events        eventOracle
	ownerships    map[*session.Session]*ownership
	gusts         []gust
	waiting       map[string][]op          // operations that wait for a hook, by hook
	stepping      bool                     // the world is stepping
	ruled         map[*session.Session]int // index in rules
	kicked        map[*session.Session]bool
	stalls        map[*session.Session]*stall
	links         simtest.Conditions // conditions of new connections
	coverage      coverage
	recording     *recording // records the first client; may be nil
	unseen        *unseen    // may be nil
	resyncs       uint64     // resyncs in earlier runs
	plain         int        // clients that receive plain rows, by number modulo 8: a set of bits
	interestSlots []bool     // scratch
	exactOracle
}

// coverage counts events of a simulation: a simulation without events proves nothing.
type coverage struct {
	verdicts   [2][4]int // verdicts of client and server, by verdict
	executed   int
	rejected   int
	timed      int // verdicts checked against the deadline of H3
	corrupted  int // datagrams that arrived with a wrong fold
	copies     int // datagrams sent a second time
	faults     uint64
	resyncs    uint64
	leaves     uint64
	retired    int
	boasts     int    // sessions ended for acknowledging something never sent
	lies       int    // sessions that clients ended because a dead entity entered
	refused    int    // clients refused because of handles of another run
	cuts       int    // broken connections
	resumed    int    // sessions resumed over another connection
	thefts     int    // attempts to resume another client's session
	unanswered int    // commands lost with a connection
	steered    int    // changes of a controlled entity
	informed   int    // handles sent outside the protocol
	owned      int    // entities that gained an owner
	disowned   int    // entities that lost an owner
	gusts      int    // effects that ended with their entity
	called     int    // operations inside callbacks
	kicks      int    // sessions ended by the game
	turnedAway int    // sessions refused by the game
	drained    int    // sessions ended or refused because the server drains
	veiled     int    // entities hidden from non-owners
	rides      int    // entities seated on others
	renames    int    // changes of texts
	travels    int    // absences that outlast the rows' pasts
	answered   int    // questions answered
	pushed     int    // typed inputs applied
	plain      int    // snapshots of clients that receive plain rows
	views      int    // view moments checked
	hurried    int    // calls of enough that returned true
	held       int    // snapshots that waited for the previous one to leave
	reliable   int    // reliable events accepted for a client
	unreliable int    // unreliable events that arrived
	newborn    int    // events that followed an Enter
	causes     int    // deaths sent with a cause
	bound      int    // provisional handles bound by the game
	stillborn  int    // bound entities that died in the tick of their spawn
	ends       [3]int // provisional handles, by end; open ones count once per tick
	cleanCoverage
}

// run runs the script and returns the first broken invariant, if any.
func (s *script) run() (coverage, *failure) {
	x := newSim(s)
	f := x.simulate()
	return x.coverage, f
}

func newSim(s *script) *sim {
	return &sim{
		script: s, rng: rand.New(rand.NewPCG(uint64(s.seed), 1)),
		lives: map[bulk.Handle]*life{}, tenants: map[uint32][]*life{}, over: map[*session.Session]bool{},
		ownerships: map[*session.Session]*ownership{}, waiting: map[string][]op{},
		ruled: map[*session.Session]int{}, kicked: map[*session.Session]bool{}, stalls: map[*session.Session]*stall{},
		exactOracle: newExactOracle(s), operates: s.operations(), hasEvents: s.hasEvents(),
	}
}

func (s *sim) simulate() (f *failure) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *failure:
			f = r
		default:
			f = &failure{"panic", s.tick, fmt.Sprintf("%v\n%s", r, debug.Stack())}
		}
	}()
	s.play()
	return nil
}

// fail stops the simulation.
func (s *sim) fail(invariant, format string, args ...any) {
	where := fmt.Sprintf("; seed %d, at %d ms", s.script.seed, s.now())
	panic(&failure{invariant, s.tick, fmt.Sprintf(format, args...) + where})
}

// must stops the simulation if the simulation itself fails.
func (s *sim) must(err error) {
	if err != nil {
		s.fail("simulation", "%v", err)
	}
}

func (s *sim) now() int64 { return int64(s.tick) * tickMs }

func (s *sim) play() {
	s.makeSchema()
	s.begin(s.script.firstGeneration(), nil)
	if s.unseen != nil {
		s.unseen.begin(s)
	}
	for range s.script.entities {
		s.spawn(s.crate, s.scatter(), s.scatter(), 0, 0)
	}
	next := 0
	for ; next < len(s.script.ops) && s.script.ops[next].tick == 0; next++ {
		s.do(s.script.ops[next])
	}
	for range s.script.viewers {
		s.clients = append(s.clients, s.connect(len(s.clients), 0))
	}
	for s.tick < s.script.ticks {
		s.step(func() {
			for ; next < len(s.script.ops) && s.script.ops[next].tick <= s.tick; next++ {
				s.do(s.script.ops[next])
			}
		})
	}
	s.settle()
	s.sum()
}

func (s *sim) makeSchema() {
	s.schema = schema.New()
	schema.Define[schema.Body](s.schema, schema.BodyComponent)
	schema.Define[Identity](s.schema, "identity")
	schema.Define[Target](s.schema, "target")
	schema.Define[Purse](s.schema, "purse")
	if s.script.has("ride") {
		schema.Define[Seat](s.schema, "seat")
	}
	s.declareTyped()
	if s.script.hasEvents() {
		s.events.shout = schema.DefineEvent[Shout](s.schema, "shout")
		s.events.spark = schema.DefineUnreliableEvent[Spark](s.schema, "spark")
	}
	if s.script.has("rename") {
		schema.Define[Tag](s.schema, "tag")
	}
	s.must(s.schema.Err())
	s.rows = rowschema.New(s.schema)
	s.values = make([]uint32, s.rows.Values())
}

func (s *sim) scatter() float32 { return s.rng.Float32()*120 - 60 }

// begin starts a new run, with its own world and server. All handles of earlier runs are
// dead (H5).
func (s *sim) begin(first uint32, image *world.Image) {
	w := must.Get(world.New(world.Config{HistoryTicks: 20, Seed: uint64(s.script.seed), MaxEntities: s.script.slots, FirstGeneration: first}))
	s.world = w
	s.identity = must.Get(world.Register[Identity](w, "identity"))
	s.target = must.Get(world.Register[Target](w, "target"))
	s.purse = must.Get(world.Register[Purse](w, "purse"))
	s.beacon = must.Get(world.Register[Beacon](w, "beacon"))
	s.veil = must.Get(world.Register[Veil](w, "veil"))
	if s.script.has("ride") {
		s.seat = must.Get(world.Register[Seat](w, "seat"))
	}
	if s.script.has("rename") {
		s.tag = must.Get(world.Register[Tag](w, "tag"))
	}
	s.crate = must.Get(w.AddKind(world.Kind{Name: "crate", Exact: s.cleans, Body: &world.BodyDef{Mass: 1, Drag: 0.5, Friction: 0.9, Radius: 0.5}}))
	s.ghost = must.Get(w.AddKind(world.Kind{Name: "ghost"}))
	s.beginClean()
	s.epoch, s.lastFlip = s.rng.Uint64()|1, 0
	s.run++
	s.living = s.living[:0]
	if image != nil {
		s.must(w.RestoreRun(image))
		for slot := range w.Live().All() {
			h := w.Slots().Handle(slot)
			s.issue(h, s.identity.Get(h).Value)
		}
		s.noteNamed()
		s.restoreClean()
	}
	config := session.Config{
		PanicEnds: true, Random: rand.NewChaCha8([32]byte{byte(s.script.seed), byte(s.run)}),
		WorldConfig: session.WorldConfig{
			World: w, Schema: s.schema, Epoch: s.epoch, MaxSessions: 4096, Grace: time.Duration(s.grace()) * time.Second / 60,
			Replication: replication.Config{
				EnterRadius: enterRadius, LeaveRadius: leaveRadius,
				SnapshotHz: s.script.hz, BudgetBytesPerSecond: s.script.budget, SendOnce: s.recording != nil,
			},
			Hooks: s.game(),
		},
	}
	if s.script.has("light") {
		config.Replication.Always = s.beacon.Presence()
	}
	if s.script.has("veil") {
		config.Replication.Private = s.veil.Presence()
	}
	s.core = must.Get(session.NewCore(config))
	s.addSystems()
	s.setPace(fullPace)
}

// noteNamed marks the lives to which live entities refer.
func (s *sim) noteNamed() {
	note := func(h bulk.Handle) {
		if l := s.lives[h]; l != nil {
			l.named = true
		}
	}
	for _, l := range s.living {
		if t := s.target.Get(l.handle); t != nil {
			note(t.Handle)
		}
		if s.seat == nil {
			continue
		}
		if seat := s.seat.Get(l.handle); seat != nil {
			note(seat.On)
		}
	}
}

// restart replaces the server by a new run: from the last image or, without an image, with
// a world whose generations are above all issued ones.
func (s *sim) restart() {
	highest := uint32(0)
	for _, l := range s.order {
		highest = max(highest, l.handle.Generation())
		if l.died == 0 {
			l.died = s.tick
		}
	}
	if highest > bulk.MaxGeneration-8*world.RunGenerations {
		return // too few generations left for another run
	}
	s.resyncs += s.core.Replication().Resyncs
	if s.image != nil {
		s.begin(1, s.image)
		s.image = nil // restoring it twice would issue the same handles in two epochs
	} else {
		s.begin(highest+2, nil)
	}
	s.left = nil
	for _, c := range s.clients {
		if p := c.liveSession(); p != nil {
			s.over[p] = true
		}
		if c.conn.cut { // the client reconnects by itself
			c.was = nil
			continue
		}
		c.rejoin()
	}
}

// leave handles the end of a session of any client.
func (s *sim) leave(p *session.Session) {
	s.call("leave")
	s.over[p] = true
	s.world.Destroy(p.Entity())
}

// avatar spawns the entity that a session controls, or returns 0 in a full world.
func (s *sim) avatar() bulk.Handle { return s.spawn(s.crate, s.scatter(), s.scatter(), 0, 0) }

func (s *sim) spawn(kind world.KindID, x, z, vx, vz float32) bulk.Handle {
	h, err := s.world.Spawn(kind, world.Vec3{X: x, Y: 0.5, Z: z}, world.Vec3{X: vx, Z: vz})
	if err != nil {
		return 0 // full: slots retire
	}
	identity := s.issueNew(h)
	s.identity.Set(h, Identity{identity})
	s.purse.Set(h, Purse{int32(identity & 0xffff)})
	if s.tag != nil {
		s.tag.Set(h, s.tagOf(identity))
	}
	return h
}

// issueNew begins the history of a new handle, with a new identity.
func (s *sim) issueNew(h bulk.Handle) (identity uint64) {
	if l := s.lives[h]; l != nil {
		s.fail("H4", "%v was issued twice", h)
	}
	identity = uint64(h)*0x9e3779b97f4a7c15 ^ uint64(s.script.seed)
	s.issue(h, identity)
	return identity
}

// issue begins the history of a handle.
func (s *sim) issue(h bulk.Handle, identity uint64) {
	if s.lives[h] != nil {
		s.fail("H5", "%v was issued by an earlier run", h)
	}
	l := &life{handle: h, number: len(s.order), identity: identity, run: s.run}
	s.lives[h] = l
	s.order = append(s.order, l)
	s.living = append(s.living, l)
	s.tenants[h.Index()] = append(s.tenants[h.Index()], l)
}

// step runs one server tick.
func (s *sim) step(stir func()) {
	s.tick++
	if s.restartAt != 0 && s.tick >= s.restartAt {
		s.restartAt = 0
		s.restart()
	}
	for _, n := range s.left {
		n.resend()
		n.deliverUp()
	}
	for _, c := range s.clients {
		c.conn.resend()
		c.conn.deliverUp()
	}
	stir()
	if s.unseen != nil && s.tick <= s.script.ticks {
		s.unseen.step(s)
	}
	s.carry()
	s.core.Receive()
	s.core.Step()
	if s.unseen != nil {
		s.unseen.replace(s)
	}
	s.record() // before Send: its hooks may change the world
	s.core.Send(s.enough)
	for i := range s.clients {
		s.clients[i].step()
	}
	if s.tick%s.judgeEvery() == 0 {
		for _, c := range s.clients {
			c.judgeAll()
		}
	}
}

// record records deaths, and the quantised state of living entities.
func (s *sim) record() {
	tick := uint32(s.world.Tick())
	for h := range s.world.Destroyed() {
		l := s.lives[h]
		if l == nil && s.unseen != nil && h.Index() < uint32(len(s.unseen.handles)) {
			continue
		}
		if l == nil || l.died != 0 {
			s.fail("H4", "%v died but was not alive", h)
		}
		l.died, l.diedTick = s.tick, tick
	}
	s.living = slices.DeleteFunc(s.living, func(l *life) bool { return l.died != 0 })
	s.judgeGusts()
	s.noteUntold()
	for _, l := range s.living {
		if values := s.quantised(l.handle); len(l.states) == 0 || !slices.Equal(l.states[len(l.states)-1].values, values) {
			l.states = append(l.states, state{tick, slices.Clone(values)})
		}
		s.recordMotion(l, tick)
	}
}

// quantised returns the state of a handle that its owner must receive, valid until the next
// call.
func (s *sim) quantised(h bulk.Handle) []uint32 {
	values := s.values
	clear(values)
	put := func(name string, v any) {
		n, _ := s.schema.ByName(name)
		spec := s.schema.Components()[n]
		s.rows.Component(n).Quantise(v, values[spec.Offset:spec.Offset+spec.Values])
	}
	if p, v, ok := s.world.Slots().Body(h.Index()); ok {
		put(schema.BodyComponent, &schema.Body{Position: p.Array(), Velocity: v.Array()})
	}
	if c := s.identity.Get(h); c != nil {
		put("identity", c)
	}
	if c := s.target.Get(h); c != nil {
		put("target", c)
	}
	if c := s.purse.Get(h); c != nil {
		put("purse", c)
	}
	if s.seat != nil {
		if c := s.seat.Get(h); c != nil {
			put("seat", c)
		}
	}
	return values
}

// settle lets the links drain, then checks every client's replica and verdicts.
func (s *sim) settle() {
	fair := simtest.Conditions{DelayMin: 1, DelayMax: 1}
	clear(s.waiting)
	s.barred = 0
	s.setPace(fullPace)
	s.links = fair
	for _, c := range s.clients {
		c.setLinks(fair)
		c.starve(0)
	}
	for rest := 0; rest < settleTicks; rest++ {
		s.step(s.stopFans)
		if rest%20 == 19 && s.settled() {
			break
		}
	}
	for _, c := range s.clients {
		c.judgeSettled()
	}
	stats, ended := s.core.Stats(), uint64(0) // a session may end before its resync is sent
	for _, n := range stats.Closed {
		ended += n
	}
	if stats.Resyncs > ended && s.core.Replication().Resyncs == 0 {
		s.fail("R3", "clients requested %d resyncs, and none was sent", stats.Resyncs)
	}
}

// settled reports whether bodies rest, links are empty, and clients are up to date.
func (s *sim) settled() bool {
	if s.world.Stats().Awake != 0 {
		return false
	}
	for _, c := range s.clients {
		if c.unsettled() != nil {
			return false
		}
	}
	return true
}

func (s *sim) sum() {
	s.coverage.resyncs = s.resyncs + s.core.Replication().Resyncs
	s.coverage.retired = s.world.Stats().Retired
	for _, c := range s.clients {
		c.sum()
	}
}

// poked executes a command. args is the client's belief about the target.
func (s *sim) poked(p *session.Session, target world.Entity, args []byte) error {
	s.coverage.executed++
	if s.world.Status(target) != bulk.Live {
		s.fail("H2", "executed on %v, which is not live", target)
	}
	if !slices.Contains(slices.Collect(p.InterestSet()), target) {
		s.fail("H2", "executed on %v, which is not in the interest set", target)
	}
	var believed uint64
	s.must(msgpack.Unmarshal(args, &believed))
	if believed != 0 && believed != s.lives[target].identity { // 0: the client guessed the handle
		s.fail("H2", "executed on %v, which is not the entity that the client meant", target)
	}
	s.world.SetVelocity(target, world.Vec3{Y: 5})
	s.call("command")
	return nil
}

// seen returns the part of a state that a client must receive: everything if it owns the
// entity, otherwise all but owner components.
func (s *sim) seen(values []uint32, owned bool) []uint32 {
	values = slices.Clone(values)
	if !owned && values != nil {
		s.rows.HideOwned(rowschema.Row{Values: values})
	}
	return values
}

// nth maps any i to a number below n.
func nth(i, n int) int {
	if n == 0 {
		return 0
	}
	return int(uint(i) % uint(n) & math.MaxInt)
}

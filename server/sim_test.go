package server_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/simtest"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// The simulation: a server core and its clients over seeded links, in one
// goroutine and without sockets. The oracle keeps everything that ever
// happened on the server; every answer that a client gets is held against it.

// Identity never changes; Target refers to any handle, dead ones too.
type (
	Identity struct {
		Value uint64 `net:"always"`
	}
	Target struct {
		Handle bulk.Handle `net:"ref"`
	}
)

const (
	simTickMs      = 16
	simEnterRadius = 40
	simLeaveRadius = 50
)

// foldOffset is where PROTOCOL.md puts the fold of a State datagram.
const foldOffset = 19

// life is what the oracle knows of one handle.
type life struct {
	identity uint64
	died     int64  // simulated ms; 0: lives
	tick     uint32 // at which it died; 0: in an earlier run
}

type stateKey struct {
	tick   uint32
	handle bulk.Handle
}

type sim struct {
	t      testing.TB
	seed   uint64
	rng    *rand.Rand
	now    int64
	schema *wire.Schema

	core     *server.Core
	world    *world.World
	identity *world.Component[Identity]
	target   *world.Component[Target]
	crate    world.KindID
	ghost    world.KindID

	lives    map[bulk.Handle]*life
	order    []bulk.Handle
	states   map[stateKey][]uint32
	clients  []*simClient
	epoch    uint64
	floor    uint32
	executed int
	links    simtest.Conditions
	churn    bool
	options  simOptions
}

type simOptions struct {
	clients    int
	entities   int
	first      uint32 // generation
	links      simtest.Conditions
	budget     int
	maxSlots   int
	faultyFold bool
}

func newSim(t testing.TB, seed uint64, o simOptions) *sim {
	s := &sim{
		t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 1)), links: o.links, options: o, churn: true,
		lives: map[bulk.Handle]*life{}, states: map[stateKey][]uint32{},
	}
	s.schema = wire.NewSchema()
	require.NoError(t, wire.AddComponent[wire.Body](s.schema, replication.BodyComponent))
	require.NoError(t, wire.AddComponent[Identity](s.schema, "identity"))
	require.NoError(t, wire.AddComponent[Target](s.schema, "target"))
	s.start(o.first)
	for i := range o.clients {
		s.clients = append(s.clients, s.connect(i))
	}
	return s
}

// start makes a world and a server; the generations of all slots begin at first.
func (s *sim) start(first uint32) {
	w, err := world.New(world.Config{Seed: s.seed, MaxEntities: s.options.maxSlots, FirstGeneration: first})
	require.NoError(s.t, err)
	s.world, s.floor = w, first
	s.identity, err = world.Register[Identity](w, "identity")
	require.NoError(s.t, err)
	s.target, err = world.Register[Target](w, "target")
	require.NoError(s.t, err)
	s.crate, err = w.AddKind(world.Kind{Name: "crate", Body: &world.BodyDef{Mass: 1, Drag: 0.5, Friction: 0.9, Radius: 0.5}})
	require.NoError(s.t, err)
	s.ghost, err = w.AddKind(world.Kind{Name: "ghost"})
	require.NoError(s.t, err)
	s.epoch = s.rng.Uint64() | 1
	s.core, err = server.NewCore(server.CoreConfig{
		World: w, Schema: s.schema, Epoch: s.epoch, GenerationFloor: first,
		Replication: replication.Config{EnterRadius: simEnterRadius, LeaveRadius: simLeaveRadius, BudgetBytesPerSecond: s.options.budget},
		Game: server.Game{
			Join:     func(*server.Session) (world.Entity, error) { return s.spawn(s.crate), nil },
			Leave:    func(p *server.Session) { s.world.Destroy(p.Entity()) },
			Commands: map[string]server.Command{"poke": s.poke},
		},
	})
	require.NoError(s.t, err)
	for range s.options.entities {
		s.spawn(s.crate)
	}
}

func (s *sim) spawn(kind world.KindID) bulk.Handle {
	at := world.Vec3{X: s.rng.Float32()*120 - 60, Y: 0.5, Z: s.rng.Float32()*120 - 60}
	h, err := s.world.Spawn(kind, at, world.Vec3{X: s.rng.Float32()*20 - 10, Z: s.rng.Float32()*20 - 10})
	if err != nil {
		require.ErrorIs(s.t, err, bulk.ErrFull, s.where())
		return 0
	}
	require.NotContains(s.t, s.lives, h, "H4: %v was handed out twice; %s", h, s.where())
	identity := uint64(h)*0x9e3779b97f4a7c15 ^ s.seed
	require.True(s.t, s.identity.Set(h, Identity{identity}))
	s.lives[h] = &life{identity: identity}
	s.order = append(s.order, h)
	return h
}

// poke is a command. Its argument is who the client believes its target to be.
func (s *sim) poke(p *server.Session, target world.Entity, args []byte) error {
	s.executed++
	require.Equal(s.t, bulk.Live, s.world.Status(target), "H2: executed on %v; %s", target, s.where())
	shown := false
	p.InterestSet(func(h bulk.Handle) bool { shown = h == target; return !shown })
	require.True(s.t, shown, "H2: executed on %v, not shown; %s", target, s.where())
	var believed uint64
	require.NoError(s.t, msgpack.Unmarshal(args, &believed))
	if believed == 0 {
		return nil // the client guessed a handle that is on its way to it
	}
	require.Equal(s.t, s.lives[target].identity, believed, "H2: %v is not whom the client meant; %s", target, s.where())
	s.world.SetVelocity(target, world.Vec3{Y: 5})
	return nil
}

func (s *sim) where() string {
	return fmt.Sprintf("seed %d, %d ms, tick %d", s.seed, s.now, s.world.Tick())
}

// step moves everything by one server tick.
func (s *sim) step() {
	s.now += simTickMs
	for _, c := range s.clients {
		c.deliverUp()
	}
	if s.churn {
		s.stir()
	}
	s.core.Tick()
	for _, h := range s.world.Destroyed() {
		s.lives[h].died, s.lives[h].tick = s.now, uint32(s.world.Tick())
	}
	s.record()
	for _, c := range s.clients {
		c.step()
	}
}

// stir makes life hard: slots change hands all the time, references go to
// anybody dead or alive, bodies jump in and out of interest.
func (s *sim) stir() {
	live := slices.DeleteFunc(slices.Clone(s.order), func(h bulk.Handle) bool { return s.world.Status(h) != bulk.Live })
	pick := func() bulk.Handle { return live[s.rng.IntN(len(live))] }
	for range s.rng.IntN(4) {
		if h := pick(); !s.controlled(h) || s.rng.IntN(20) == 0 {
			s.world.Destroy(h)
		}
		if s.rng.IntN(5) > 0 {
			s.spawn(s.crate)
		} else {
			s.spawn(s.ghost)
		}
	}
	s.target.Set(pick(), Target{s.order[s.rng.IntN(len(s.order))]})
	if s.rng.IntN(4) == 0 {
		s.target.Remove(pick())
	}
	s.world.SetVelocity(pick(), world.Vec3{X: s.rng.Float32()*30 - 15, Z: s.rng.Float32()*30 - 15})
	s.world.SetPosition(pick(), world.Vec3{X: s.rng.Float32()*120 - 60, Y: 1, Z: s.rng.Float32()*120 - 60})
}

func (s *sim) controlled(h bulk.Handle) bool {
	return slices.ContainsFunc(s.clients, func(c *simClient) bool { return c.server.Entity() == h })
}

// record keeps the whole quantised state of the tick that was replicated.
func (s *sim) record() {
	tick := uint32(s.world.Tick())
	for slot := range s.world.Live().All() {
		h := s.world.HandleAt(slot)
		s.states[stateKey{tick, h}] = s.quantised(h)
	}
}

func (s *sim) quantised(h bulk.Handle) []uint32 {
	words := make([]uint32, s.schema.Words())
	put := func(name string, p unsafe.Pointer) {
		n, _ := s.schema.ByName(name)
		spec := s.schema.Component(n)
		s.schema.Quantise(n, p, words[spec.Offset:spec.Offset+spec.Words])
	}
	if p, v, ok := s.world.Body(h.Index()); ok {
		put("body", unsafe.Pointer(&wire.Body{Position: [3]float32{p.X, p.Y, p.Z}, Velocity: [3]float32{v.X, v.Y, v.Z}}))
	}
	if c := s.identity.Get(h); c != nil {
		put("identity", unsafe.Pointer(c))
	}
	if c := s.target.Get(h); c != nil {
		put("target", unsafe.Pointer(c))
	}
	return words
}

// simClient is one client, its four lanes, and what it ever heard.
type simClient struct {
	sim      *sim
	number   int // in sim.clients
	server   *server.Session
	session  *client.Session
	up, down *simtest.Stream
	upD      *simtest.Link
	downD    *simtest.Link
	heard    map[bulk.Handle]uint64 // identity, 0 if only referred to
	toldDead map[bulk.Handle]bool
	closed   wire.Code
	stamp    uint32
	intents  map[uint32]intent
	results  int
	targets  client.Component[Target]
	names    client.Component[Identity]
}

// intent is a command that waits for its answer.
type intent struct {
	target bulk.Handle
	heard  bool // the client had been sent it
}

func (s *sim) connect(i int) *simClient {
	seed := s.rng.Uint64()
	c := &simClient{
		sim: s, number: i, up: simtest.NewStream(seed, s.links), down: simtest.NewStream(seed+1, s.links),
		upD: simtest.NewLink(seed+2, s.links), downD: simtest.NewLink(seed+3, s.links),
		heard: map[bulk.Handle]uint64{}, toldDead: map[bulk.Handle]bool{}, intents: map[uint32]intent{},
	}
	var err error
	c.targets, err = client.ComponentOf[Target](s.schema, "target")
	require.NoError(s.t, err)
	c.names, err = client.ComponentOf[Identity](s.schema, "identity")
	require.NoError(s.t, err)
	c.session, err = client.NewSession(client.SessionConfig{
		Schema: s.schema, Epoch: s.epoch, Name: fmt.Sprint("sim", i), Result: c.result,
		Observer: client.Observer{Enter: c.check, Update: c.check, Destroy: c.destroyed, Leave: c.left},
	})
	require.NoError(s.t, err)
	c.server = s.core.Open(c)
	return c
}

// The server's end of the connection.
func (c *simClient) SendStream(p []byte) bool { c.down.Send(c.sim.now, p); return true }

func (c *simClient) SendSnapshot(ds [][]byte) {
	for _, d := range ds {
		d = slices.Clone(d)
		wire.StampState(d, c.stamp, 0)
		if c.sim.options.faultyFold && c.sim.rng.IntN(20) == 0 {
			d[foldOffset] ^= 0x40
		}
		require.LessOrEqual(c.sim.t, len(d), wire.MaxDatagram)
		c.downD.Send(c.sim.now, d)
	}
}
func (c *simClient) Close(code wire.Code, _ string) { c.closed = code }

func (c *simClient) deliverUp() {
	s := c.sim
	if p := c.up.Receive(s.now); len(p) > 0 {
		require.NoError(s.t, c.server.ReceiveStream(p), s.where())
	}
	for _, d := range c.upD.Receive(s.now) {
		stamp, err := c.server.ReceiveDatagram(d)
		require.NoError(s.t, err, s.where())
		c.stamp = stamp
	}
}

// step is one frame of the client.
func (c *simClient) step() {
	s := c.sim
	if p := c.down.Receive(s.now); len(p) > 0 {
		err := c.session.ReceiveStream(p)
		if c.closed == wire.Timeout && c.session.Replica() == nil {
			c.again() // its Hello took too long in this weather
			return
		}
		require.NoError(s.t, err, s.where())
	}
	got := false
	for _, d := range c.downD.Receive(s.now) {
		c.datagram(d)
		got = true
	}
	if got {
		require.NoError(s.t, c.session.SetInput([]byte{byte(s.now)}))
		if d := c.session.Input(time.Duration(s.now) * time.Millisecond); d != nil {
			c.upD.Send(s.now, d)
		}
	}
	if c.session.Replica() != nil {
		c.ask()
		if s.churn && s.rng.IntN(8) == 0 {
			c.command()
		}
	}
	if p := c.session.TakeStream(); p != nil {
		c.up.Send(s.now, p)
	}
}

// datagram takes one in. One that is newer than all before it and stands on the
// very structure that is there can always be read: its baselines were
// acknowledged in this life of their rows (R3).
func (c *simClient) datagram(d []byte) {
	s := c.sim
	var r wire.BitReader
	h, err := wire.ParseStateHeader(d, &r)
	require.NoError(s.t, err, s.where())
	replica := c.session.Replica()
	due := replica != nil && h.Seq > replica.Ack().Newest && h.Structure == replica.Structure()
	outcome, err := c.session.ReceiveDatagram(d, time.Duration(s.now)*time.Millisecond)
	require.NoError(s.t, err, s.where())
	if due {
		require.Contains(s.t, []client.Outcome{client.Applied, client.Faulty}, outcome, "R3: snapshot %d; %s", h.Seq, s.where())
	}
}

// check holds an entity's new state against what the server had at that tick.
func (c *simClient) check(e *client.Entity) {
	s, h := c.sim, e.Handle()
	known := s.lives[h]
	require.NotNil(s.t, known, "H1: %v was never issued; %s", h, s.where())
	require.False(s.t, c.toldDead[h], "H3: %v has state after its destroy; %s", h, s.where())
	name, ok := c.names.Get(e)
	require.True(s.t, ok, s.where())
	require.Equal(s.t, known.identity, name.Value, "H1: %v is somebody else; %s", h, s.where())
	want := s.states[stateKey{e.Tick(), h}]
	require.NotNil(s.t, want, "H1: %v did not live at tick %d; %s", h, e.Tick(), s.where())
	got := make([]uint32, 0, len(want))
	got = e.AppendWords(got)
	require.Equal(s.t, want, got, "H1: %v at tick %d; %s", h, e.Tick(), s.where())
	c.heard[h] = name.Value
	if target, ok := c.targets.Get(e); ok && target.Handle != 0 {
		if l := s.lives[target.Handle]; l.died != 0 && l.tick <= e.Tick() {
			require.Equal(s.t, wire.Stale, c.session.Resolve(target.Handle), "R4: %v came before its death; %s", target.Handle, s.where())
		}
		if _, ok := c.heard[target.Handle]; !ok {
			c.heard[target.Handle] = 0
		}
	}
}

func (c *simClient) left(h bulk.Handle, why wire.Reason) {
	require.Equal(c.sim.t, wire.ReasonLeftInterest, why)
	require.Equal(c.sim.t, wire.Hidden, c.session.Resolve(h), c.sim.where())
}

func (c *simClient) destroyed(h bulk.Handle, _ wire.Reason) {
	s := c.sim
	require.NotNil(s.t, s.lives[h], "H3: destroy of %v, never issued; %s", h, s.where())
	require.NotZero(s.t, s.lives[h].died, "H3: destroy of %v, which lives; %s", h, s.where())
	require.False(s.t, c.toldDead[h], "H3: %v died twice; %s", h, s.where())
	c.toldDead[h] = true
}

// ask resolves one handle of every sort.
func (c *simClient) ask() {
	s := c.sim
	for h := range c.heard {
		c.judge(h)
		break
	}
	c.judge(s.order[s.rng.IntN(len(s.order))])
	forged := bulk.Handle(s.rng.Uint64())
	if s.lives[forged] == nil {
		require.NotEqual(s.t, wire.Live, c.session.Resolve(forged), "forged %v; %s", forged, s.where())
		require.NotEqual(s.t, wire.Hidden, c.session.Resolve(forged), "forged %v; %s", forged, s.where())
	}
}

func (c *simClient) judge(h bulk.Handle) wire.Verdict {
	s := c.sim
	verdict := c.session.Resolve(h)
	switch verdict {
	case wire.Stale:
		require.NotZero(s.t, s.lives[h].died, "%v is called stale and lives; %s", h, s.where())
	case wire.Live:
		e := c.session.Replica().Entity(h)
		require.Equal(s.t, h, e.Handle(), s.where())
	case wire.Hidden:
		require.NotZero(s.t, c.heard[h], "%v is called hidden and was never seen; %s", h, s.where())
	}
	return verdict
}

// command asks to poke somebody: in view, gone, dead or made up.
func (c *simClient) command() {
	s := c.sim
	h := s.order[s.rng.IntN(len(s.order))]
	if s.rng.IntN(2) == 0 {
		for e := range c.session.Replica().All() {
			h = e.Handle()
			break
		}
	}
	args, err := msgpack.Marshal(c.heard[h])
	require.NoError(s.t, err)
	id, err := c.session.Command("poke", h, args)
	require.NoError(s.t, err)
	_, heard := c.heard[h]
	c.intents[id] = intent{h, heard}
}

func (c *simClient) result(r client.Result) {
	s := c.sim
	asked, ok := c.intents[r.ID]
	h := asked.target
	require.True(s.t, ok && h == r.Target, "result for %v, asked for %v; %s", r.Target, h, s.where())
	delete(c.intents, r.ID)
	c.results++
	var e *wire.Error
	if errors.As(r.Err, &e) && e.Code == wire.UnknownHandle {
		require.False(s.t, asked.heard, "R2: %v was sent, and is unknown; %s", h, s.where())
	}
	if r.Err != nil && r.Verdict == wire.Stale {
		require.NotZero(s.t, s.lives[h].died, "H2: %v rejected as stale and lives; %s", h, s.where())
	}
}

// settle lets the links come to rest and checks that every client's replica is
// what the server thinks it is, and that no handle lies.
func (s *sim) settle() {
	s.churn = false
	s.setLinks(simtest.Conditions{DelayMin: 1, DelayMax: 1})
	for range 900 {
		s.step()
	}
	for i, c := range s.clients {
		r := c.session.Replica()
		require.NotNil(s.t, r, "client %d never joined; %s", i, s.where())
		want := map[bulk.Handle]bool{}
		c.server.InterestSet(func(h bulk.Handle) bool { want[h] = true; return true })
		got := map[bulk.Handle]bool{}
		for e := range r.All() {
			got[e.Handle()] = true
			final := s.quantised(e.Handle())
			require.Equal(s.t, final, e.AppendWords(nil), "client %d: %v is not up to date; %s", i, e.Handle(), s.where())
		}
		require.Equal(s.t, want, got, "client %d: replica is not the interest set; %s", i, s.where())
		if at, _, ok := s.world.Body(c.server.Entity().Index()); ok && s.world.Status(c.server.Entity()) == bulk.Live {
			s.requireInterest(got, at)
		}
		for h := range c.heard {
			verdict := c.judge(h)
			if s.lives[h].died != 0 {
				require.Equal(s.t, wire.Stale, verdict, "H3: client %d: %v is dead; %s", i, h, s.where())
			}
		}
		require.Empty(s.t, c.intents, "client %d: commands without an answer; %s", i, s.where())
	}
}

// requireInterest holds what a client is shown against where everybody is.
func (s *sim) requireInterest(shown map[bulk.Handle]bool, center world.Vec3) {
	for slot := range s.world.Live().All() {
		h := s.world.HandleAt(slot)
		at, _, placed := s.world.Body(slot)
		switch distance := at.Sub(center).Len(); {
		case !placed || distance < simEnterRadius:
			require.True(s.t, shown[h], "%v is %v m away and not shown; %s", h, distance, s.where())
		case distance > simLeaveRadius:
			require.False(s.t, shown[h], "%v is %v m away and shown; %s", h, distance, s.where())
		}
	}
}

func (s *sim) setLinks(c simtest.Conditions) {
	s.links = c
	for _, x := range s.clients {
		x.up.SetConditions(c)
		x.down.SetConditions(c)
		x.upD.SetConditions(c)
		x.downD.SetConditions(c)
	}
}

// restart replaces the server by a new run that issues no generation of the
// old one again (H5), and connects every client anew.
func (s *sim) restart() {
	highest := uint32(0)
	for _, h := range s.order {
		highest = max(highest, h.Generation())
		l := s.lives[h]
		l.tick = 0
		if l.died == 0 {
			l.died = s.now
		}
	}
	s.start(highest + 2)
	for _, c := range s.clients {
		c.again()
	}
}

// again replaces a client whose connection is over by one that remembers.
func (c *simClient) again() {
	next := c.sim.connect(c.number)
	next.heard, next.toldDead = c.heard, c.toldDead
	c.sim.clients[c.number] = next
}

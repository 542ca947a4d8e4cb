package simulation

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/internal/shorttest"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

var moveSeeds = flag.Int("moves", 8, "number of seeds of the simulation of crashes between rooms")

const (
	moveClientCount = 3
	moveTicks       = 60
	moveSettleTicks = 14
	maxMoveLag      = 3 // frames of a room that are not durable
)

// moveSim is a simulation of rooms with a journal each, between which sessions move, and of a process that crashes at any
// boundary of their ticks. For each crash it recovers every combination of frames that the disks of the rooms may have,
// in several orders, and checks that each session is in exactly one room.
type moveSim struct {
	seed     uint64
	rng      *rand.Rand
	tick     int
	router   *session.Router
	disks    map[string]*moveDisk
	rooms    map[string]*moveRoom // loaded
	opensAt  map[string]int       // rooms that panicked, by the tick at which they open again
	clients  []*moveClient
	refusing bool // Joins after a Move refuse some sessions
	versions map[uint64]int
	heading  map[uint64]string // rooms to which sessions move
	byes     map[uint64]bool   // sessions whose clients may have left between two rooms, where no hook sees it
	wrong    error

	forks, betweenRooms, resumed, returned, letters int
}

// moveDisk holds the frames of a room, of which the first durable survive a crash.
type moveDisk struct {
	name    string
	block   uint32
	frames  []moveFrame
	durable int
	events  []moveEvent
}

type moveFrame struct {
	tick   uint64
	image  *world.Image
	note   []byte
	events int // of the room up to the frame
}

// moveEvent is a step of a session's life, as the hooks of a room see it. The newest one that survives says where the session
// must be.
type moveEvent struct {
	session uint64
	version int
	kind    moveEventKind
	room    string // in which it must be after the event
	value   string // after the event
}

type moveEventKind uint8

const (
	moveJoined moveEventKind = iota
	moveLeft                 // for room
	moveEnded
)

type moveRoom struct {
	s        *moveSim
	disk     *moveDisk
	world    *world.World
	crate    world.KindID
	identity *world.Component[Identity]
	core     *session.Core
}

// moveClient is a client that reconnects until it has its session again.
type moveClient struct {
	stage.Conn
	peer    *session.Peer
	newest  *wire.Welcome // that has arrived; nil: none
	bye     bool
	resumes bool // the connection asked for the session of newest
}

func (s *moveSim) fail(format string, args ...any) {
	if s.wrong == nil {
		s.wrong = fmt.Errorf("seed %d, tick %d: "+format, append([]any{s.seed, s.tick}, args...)...)
	}
}

func newMoveSim(seed uint64, rooms int) *moveSim {
	s := &moveSim{seed: seed, rng: rand.New(rand.NewPCG(seed, 3)), disks: map[string]*moveDisk{}, versions: map[uint64]int{}, heading: map[uint64]string{}, byes: map[uint64]bool{}}
	for i := range rooms {
		name := string(rune('a' + i))
		s.disks[name] = &moveDisk{name: name, block: uint32(i)}
	}
	s.refusing = seed%2 == 1
	s.clients = make([]*moveClient, moveClientCount)
	s.start()
	return s
}

// start begins a process, without rooms.
func (s *moveSim) start() {
	s.rooms, s.opensAt = map[string]*moveRoom{}, map[string]int{}
	s.router = must.Get(session.NewRouter(session.RouterConfig{
		Random: rand.NewChaCha8([32]byte{byte(s.seed), byte(s.tick), byte(s.rng.Uint32())}),
		Join: func(_ context.Context, room, _ string, _ session.Admission) (*session.Core, error) {
			if r := s.load(room); r != nil {
				return r.core, nil
			}
			return nil, &wire.Error{Code: wire.Internal, Detail: "the room failed"}
		},
		Restore: func(_ context.Context, room, _ string, _ uint64) error {
			if s.load(room) == nil {
				return &wire.Error{Code: wire.Internal, Detail: "the room failed"}
			}
			return nil
		},
		Move: func(room string, _ *session.Session) (*session.Core, error) {
			if s.rooms[room] == nil && s.rng.IntN(2) == 0 {
				return nil, nil // it is made
			}
			if r := s.load(room); r != nil {
				return r.core, nil
			}
			return nil, nil
		},
		Post: s.checkLetter,
	}))
	highest := uint64(0)
	for id := range s.versions {
		highest = max(highest, id)
	}
	s.router.SkipIDs(highest + 1)
}

// load returns a room, restored from its disk, or nil if it may not open yet.
func (s *moveSim) load(name string) *moveRoom {
	d := s.disks[name]
	if r := s.rooms[name]; r != nil || s.tick < s.opensAt[name] {
		return r
	}
	r := &moveRoom{s: s, disk: d}
	s.rooms[name] = r
	r.world = must.Get(world.New(world.Config{Seed: 1, MaxEntities: 64, FirstGeneration: d.block*world.RunGenerations + 1, LastGeneration: (d.block+1)*world.RunGenerations - 1}))
	r.crate = must.Get(r.world.AddKind(world.Kind{Name: "crate", Body: &world.BodyDef{Mass: 1, Radius: 0.5, Friction: 1}}))
	r.identity = must.Get(world.Register[Identity](r.world, "identity"))
	notes := &session.Notes{}
	for _, f := range d.frames {
		if err := notes.Add(f.note); err != nil {
			s.fail("notes of room %s: %v", name, err)
		}
	}
	if n := len(d.frames); n > 0 {
		must.Do(r.world.Restore(d.frames[n-1].image))
	}
	own := schema.NewWithBody()
	schema.Define[Identity](own, "identity")
	r.core = must.Get(session.NewCore(session.Config{
		Room: name, Router: s.router, HoldOutput: true,
		WorldConfig: session.WorldConfig{World: r.world, Schema: own, Epoch: 100 + uint64(d.block), Hooks: session.Hooks{
			Join: r.join, Leave: r.leave,
			SaveSession: func(p *session.Session, b []byte) []byte { return append(b, p.Value().(string)...) },
			RestoreSession: func(p *session.Session, saved []byte) error {
				p.SetValue(string(saved))
				return nil
			},
		}},
	}))
	r.core.OnPanic(func(p session.HookPanic) { s.fail("%v: %v\n%s", p.Hook, p.Value, p.Stack) })
	_, err := r.core.RestoreSessions(notes)
	if err != nil {
		s.fail("RestoreSessions of room %s: %v", name, err)
	}
	r.append(true)
	d.durable = len(d.frames)
	r.core.Release(r.world.Tick())
	return r
}

// frames are messages of a room that name the frame in which it has sent them.
var frames = session.DefineRoomMessage[uint64]("frame")

// checkLetter checks that no crash can undo what a message tells.
func (s *moveSim) checkLetter(l session.Letter) {
	d := s.disks[l.From]
	if frame := must.Get(strconv.ParseUint(string(l.Body), 10, 64)); d.durable == 0 || d.frames[d.durable-1].tick < frame {
		s.fail("room %s tells what it has done in frame %d before that is durable", l.From, frame)
	}
	s.letters++
}

func (r *moveRoom) note(p *session.Session, kind moveEventKind, room string) {
	s := r.s
	must.Do(r.core.Announce("", frames.With(r.world.Tick()+1)))
	s.versions[p.ID()]++
	r.disk.events = append(r.disk.events, moveEvent{p.ID(), s.versions[p.ID()], kind, room, p.Value().(string)})
}

func (r *moveRoom) join(p *session.Session) (world.Entity, error) {
	if p.Value() == nil {
		p.SetValue("")
	}
	if r.s.refusing && r.s.heading[p.ID()] == r.disk.name && r.s.rng.IntN(4) == 0 {
		r.s.returned++
		return 0, errors.New("not now")
	}
	h := must.Get(r.world.Spawn(r.crate, world.Vec3{Y: 0.5}, world.Vec3{}))
	r.identity.Set(h, Identity{p.ID()})
	delete(r.s.heading, p.ID())
	r.note(p, moveJoined, r.disk.name)
	return h, nil
}

func (r *moveRoom) leave(p *session.Session) {
	r.world.Destroy(p.Entity())
	p.SetValue(p.Value().(string) + r.disk.name)
	if to := r.s.heading[p.ID()]; p.Ending() == nil {
		r.note(p, moveLeft, to)
	} else {
		r.note(p, moveEnded, "")
	}
}

// append appends a frame to the room's disk.
func (r *moveRoom) append(all bool) {
	img := &world.Image{}
	r.world.TakeImage(img)
	r.disk.frames = append(r.disk.frames, moveFrame{r.world.Tick(), img, r.core.AppendNotes(nil, all), len(r.disk.events)})
}

// release makes frames durable.
func (r *moveRoom) release(n int) {
	d := r.disk
	d.durable = max(d.durable, min(n, len(d.frames)))
	r.core.Release(d.frames[d.durable-1].tick)
}

// cut drops the frames of a disk from the n-th on, and their events.
func (d *moveDisk) cut(n int) {
	d.frames, d.durable = d.frames[:n:n], n
	d.events = d.events[:d.eventsOf(n):d.eventsOf(n)]
}

// eventsOf returns the number of events in the first n frames.
func (d *moveDisk) eventsOf(n int) int {
	if n == 0 {
		return 0
	}
	return d.frames[n-1].events
}

func (s *moveSim) names() []string { return slices.Sorted(maps.Keys(s.disks)) }

// advance runs a tick of each loaded room in a random order. crash is called at each boundary.
func (s *moveSim) advance(crash func()) {
	s.tick++
	names := s.names()
	s.rng.Shuffle(len(names), func(i, k int) { names[i], names[k] = names[k], names[i] })
	for phase := range 4 {
		for _, name := range names {
			r := s.rooms[name]
			if r == nil {
				continue
			}
			switch phase {
			case 0:
				r.core.Receive()
			case 1:
				r.core.Step()
			case 2:
				r.append(false)
			case 3:
				r.core.Send(func() bool { return false })
			}
			crash()
		}
	}
}

// releaseSome makes some frames of each room durable. None is more than maxMoveLag frames late.
func (s *moveSim) releaseSome() {
	for _, name := range s.names() {
		if r := s.rooms[name]; r != nil {
			r.release(max(len(r.disk.frames)-maxMoveLag, r.disk.durable+s.rng.IntN(2)))
		}
	}
}

// act lets a client or the game do something.
func (s *moveSim) act() {
	i := s.rng.IntN(len(s.clients))
	c := s.clients[i]
	if c == nil || len(c.Closed) > 0 {
		s.clients[i] = s.dial(c)
		return
	}
	c.follow(s)
	if c.newest == nil {
		return
	}
	switch p := s.find(c.newest.Session); s.rng.IntN(8) {
	case 0:
		c.peer.Gone()
		s.clients[i] = s.dial(c)
	case 1:
		if s.rng.IntN(3) == 0 && p != nil && !p.Away() {
			must.Do(c.Send(wire.Bye{}))
			c.bye, s.byes[c.newest.Session] = true, true
		}
	case 2:
		must.Do(c.SendInput(wire.Ack{Structure: c.newest.Structure}))
	default:
		if p != nil {
			s.move(p)
		}
	}
}

// move moves a session to another room.
func (s *moveSim) move(p *session.Session) {
	others := slices.DeleteFunc(s.names(), func(n string) bool { return n == p.Room() })
	to := others[s.rng.IntN(len(others))]
	if p.Move(to) == nil {
		s.heading[p.ID()] = to
	}
}

// find returns the session in the room where it is, or nil.
func (s *moveSim) find(id uint64) *session.Session {
	for _, r := range s.rooms {
		if p := r.core.Session(id); p != nil && p.Ending() == nil {
			return p
		}
	}
	return nil
}

// dial opens a connection that resumes the session of a former one, if that has a Welcome.
func (s *moveSim) dial(was *moveClient) *moveClient {
	c := &moveClient{}
	hello := stage.Hello(nil)
	hello.Room = s.names()[s.rng.IntN(len(s.disks))]
	if was != nil {
		was.follow(s)
		c.newest, c.resumes = was.newest, was.newest != nil && !was.bye
	}
	if c.resumes {
		w := c.newest
		hello.Session, hello.Secret, hello.Structure, hello.Room = w.Session, w.Secret, w.Structure, w.Room
	}
	c.peer = s.router.Open(context.Background(), "", c)
	c.Peer = c.peer
	must.Do(c.Send(hello))
	return c
}

// follow takes the Welcomes that have arrived, and answers moves.
func (c *moveClient) follow(s *moveSim) {
	for i, w := range c.Welcomes {
		if i > 0 && len(c.Closed) == 0 {
			must.Do(c.Send(wire.Arrived{}))
		}
		if c.resumes && c.newest != nil && w.Session == c.newest.Session {
			s.resumed++
		}
		c.newest, c.resumes = &w, false
	}
	c.Welcomes = c.Welcomes[:0]
}

// fork returns a process that recovers the first frames of each disk, cuts of them. order says which rooms it
// loads first; the others are loaded when they are needed.
func (s *moveSim) fork(cuts map[string]int, order string) *moveSim {
	f := &moveSim{seed: s.seed, rng: rand.New(rand.NewPCG(s.seed, 4)), tick: s.tick, disks: map[string]*moveDisk{}, versions: maps.Clone(s.versions), heading: maps.Clone(s.heading), byes: s.byes}
	for name, d := range s.disks {
		c := *d
		c.cut(cuts[name])
		f.disks[name] = &c
	}
	f.countVersions()
	f.start()
	for _, name := range order {
		f.load(string(name))
	}
	for _, c := range s.clients {
		f.clients = append(f.clients, f.dial(c))
	}
	return f
}

// settle loads all rooms, and runs them with durable frames until every session has arrived.
func (s *moveSim) settle() {
	for n := range moveSettleTicks {
		if n == moveSettleTicks/3 {
			for _, name := range s.names() {
				s.load(name)
			}
		}
		s.advance(func() {})
		for _, r := range s.rooms {
			r.release(len(r.disk.frames))
		}
		for i, c := range s.clients {
			if c != nil {
				c.follow(s)
				if len(c.Closed) > 0 {
					s.clients[i] = s.dial(c)
				}
			}
		}
	}
}

// surviving returns the newest event of each session on the disks. A later one never survives an earlier one.
func (s *moveSim) surviving() map[uint64]moveEvent {
	newest, counts := map[uint64]moveEvent{}, map[uint64]int{}
	for _, d := range s.disks {
		for _, e := range d.events {
			counts[e.session]++
			if e.version > newest[e.session].version {
				newest[e.session] = e
			}
		}
	}
	return newest
}

// countVersions continues the versions from the newest surviving events.
func (s *moveSim) countVersions() {
	now := s.surviving()
	for id := range s.versions {
		s.versions[id] = now[id].version
	}
}

// verify checks that each session is where its newest surviving event says, with its Value and its avatar, and nowhere else. With
// before it also compares with the events before the process began.
func (s *moveSim) verify(before map[uint64]moveEvent) {
	now := s.surviving()
	for id, was := range before {
		switch e := now[id]; {
		case was.kind == moveEnded && e.version != was.version:
			s.fail("session %d had ended, and is %+v", id, e)
		case was.kind == moveJoined && e.kind != moveEnded && e.version != was.version:
			s.fail("session %d was in room %s, and moved by itself: %+v", id, was.room, e)
		case was.kind == moveLeft && s.byes[id] && e.version == was.version: // ended on its way
			delete(now, id)
		case was.kind == moveLeft && (e.kind != moveJoined || e.version != was.version+1 || e.room != was.room || e.value != was.value):
			s.fail("session %d was on its way: %+v, and is %+v", id, was, e)
		case was.kind == moveJoined && e.kind == moveEnded:
			s.fail("session %d was in room %s, and has ended", id, was.room)
		}
	}
	in, avatars := map[uint64][]string{}, map[uint64][]string{}
	for _, name := range s.names() {
		r := s.rooms[name]
		if r == nil {
			continue
		}
		for p := range r.core.Sessions() {
			in[p.ID()] = append(in[p.ID()], name)
			if e := now[p.ID()]; e.value != p.Value() {
				s.fail("session %d has value %q, want %q", p.ID(), p.Value(), e.value)
			}
		}
		for slot := range r.world.Live().All() {
			id := r.identity.Get(r.world.Slots().Handle(slot)).Value
			avatars[id] = append(avatars[id], name)
		}
	}
	for id, e := range now {
		var want []string
		if e.kind == moveLeft && s.byes[id] {
			continue
		}
		if e.kind != moveEnded {
			want = []string{e.room}
		}
		if !slices.Equal(in[id], want) || !slices.Equal(avatars[id], want) {
			s.fail("session %d is in %v, its avatar in %v, want %v: %+v", id, in[id], avatars[id], want, e)
		}
	}
	for _, c := range s.clients {
		if c == nil || c.newest == nil || c.bye {
			continue
		}
		if e := now[c.newest.Session]; e.kind == moveEnded || e.room != c.newest.Room {
			s.fail("a client is in session %d in room %s, want %+v", c.newest.Session, c.newest.Room, e)
		}
	}
}

// orders returns the orders in which a process may load the rooms.
func (s *moveSim) orders() []string {
	all := []string{""}
	for _, first := range s.names() {
		all = append(all, first)
		for _, second := range s.names() {
			if first != second {
				all = append(all, first+second)
			}
		}
	}
	return all
}

// tryAll recovers every combination of frames that the disks may have.
func (s *moveSim) tryAll() {
	cuts := []map[string]int{{}}
	for _, name := range s.names() {
		d, next := s.disks[name], []map[string]int{}
		for _, c := range cuts {
			for n := d.durable; n <= len(d.frames); n++ {
				c := maps.Clone(c)
				c[name] = n
				next = append(next, c)
			}
		}
		cuts = next
	}
	orders := s.orders()
	for i, c := range cuts {
		for _, order := range []string{orders[0], orders[1+(s.forks+i)%(len(orders)-1)]} {
			s.forks++
			f := s.fork(c, order)
			before := f.surviving()
			for _, e := range before {
				if e.kind == moveLeft {
					s.betweenRooms++
				}
			}
			f.settle()
			f.verify(before)
			f.end()
			s.resumed += f.resumed
			if f.wrong != nil {
				s.fail("crash at frames %v, rooms loaded %q: %w", c, order, f.wrong)
				return
			}
		}
	}
}

func (s *moveSim) end() {
	for _, r := range s.rooms {
		r.core.Close()
		r.world.Close()
	}
}

// panicRoom ends a room as a panic does, and restores it later from some frames.
func (s *moveSim) panicRoom(name string) {
	r := s.rooms[name]
	if r == nil {
		return
	}
	r.core.Abandon(&wire.Error{Code: wire.Internal, Detail: "the room failed"})
	d := r.disk
	if d.eventsOf(len(d.frames)) > 0 || len(d.frames) > 0 {
		d.cut(d.durable + s.rng.IntN(len(d.frames)-d.durable+1))
		r.core.Release(d.frames[len(d.frames)-1].tick) // the rest of the journal was written
	}
	r.core.Close()
	r.world.Close()
	delete(s.rooms, name)
	s.countVersions()
	s.opensAt[name] = s.tick + s.rng.IntN(6)
}

// simulate plays the seed. It crashes at some boundaries of ticks, and some rooms panic.
func (s *moveSim) simulate() error {
	crashEvery := 12
	if len(s.disks) > 2 {
		crashEvery = 100 // each crash leaves more combinations
	}
	for s.tick < moveTicks && s.wrong == nil {
		for range 1 + s.rng.IntN(3) {
			s.act()
		}
		s.advance(func() {
			if s.wrong == nil && s.rng.IntN(crashEvery) == 0 {
				s.tryAll()
			}
		})
		s.releaseSome()
		if s.rng.IntN(20) == 0 {
			s.panicRoom(s.names()[s.rng.IntN(len(s.disks))])
		}
	}
	s.refusing = false
	s.settle()
	s.verify(nil)
	s.end()
	return s.wrong
}

// TestMoveCrashes crashes a process at any boundary of ticks in which sessions move, over seeds: -run MoveCrashes -moves 1000.
func TestMoveCrashes(t *testing.T) {
	racetest.SkipSequential(t)
	seeds := shorttest.Pick(*moveSeeds, min(*moveSeeds, 2))
	var forks, between, resumed, returned, letters int
	for seed := range uint64(seeds) {
		s := newMoveSim(seed, 2+int(seed%4/3))
		require.NoError(t, s.simulate(), strings.Repeat("-", 40))
		forks, between, resumed, returned, letters = forks+s.forks, between+s.betweenRooms, resumed+s.resumed, returned+s.returned, letters+s.letters
	}
	t.Logf("%d recoveries found %d sessions on their way; clients resumed %d times, rooms refused %d", forks, between, resumed, returned)
	require.Greater(t, forks, 200*seeds)
	require.Greater(t, between, 100*seeds)
	require.Greater(t, resumed, 500*seeds)
	require.Positive(t, returned)
	require.Greater(t, letters, 10*seeds)
}

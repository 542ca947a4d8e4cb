package simulation

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/internal/shorttest"
	"github.com/worldd/worldd/internal/simtest"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

var (
	crashSeeds = flag.Int("crashes", 150, "number of seeds of the simulation of crashes")
	crashSeed  = flag.Uint64("crash", 0, "run only this seed of it")
)

const (
	crashClientCount = 3
	crashTicks       = 500
	crashEpoch       = 0xc4a5
)

// Written sums up the commands that a session has executed, on its entity. Asleep is on the entity of a
// session whose connection broke. Neither is sent.
type (
	Written struct {
		Count uint32
		Sum   uint64
	}
	Asleep struct{}
)

// diary is the game's value of a session: the numbers of its executed commands.
type diary struct{ done []uint32 }

// crashSim is a simulation of a server with a journal that crashes at any point of its ticks, and of
// clients over bad links. A frame that was reported as durable survives, a later one may. The
// recovered server continues the run, and nothing that a client has received may be false in it.
type crashSim struct {
	seed      uint64
	rng       *rand.Rand
	tick      int
	links     simtest.Conditions
	world     *world.World
	crate     world.KindID
	identity  *world.Component[Identity]
	written   *world.Component[Written]
	asleep    *world.Component[Asleep]
	core      *session.Core
	restoring bool // RestoreSessions runs

	journal  *world.Journal
	segments []crashSegment
	hashes   map[uint64]uint64 // of the world, by tick
	durable  uint64            // newest tick whose output was released
	ended    []crashEnd        // sessions that the notes say have ended

	ledger     *world.Component[Ledger]
	backend    crashBackend
	clients    []*crashClient
	told       map[bulk.Handle]uint64 // identities of the entities that any client has had in view
	identities uint64                 // given to entities so far
	wrong      error                  // the first failure

	crashes, restored, undone int
}

// crashSegment is a segment of the journal, in memory.
type crashSegment struct {
	tick  uint64
	image *world.Image
	file  []byte
	ends  []int // of the head and of each frame
}

// crashEnd is a session that the frame of a tick says has ended.
type crashEnd struct{ session, tick uint64 }

func (s *crashSim) fail(format string, args ...any) {
	if s.wrong == nil {
		s.wrong = fmt.Errorf("seed %d, tick %d: "+format, append([]any{s.seed, s.tick}, args...)...)
	}
}

func (s *crashSim) now() int64 { return int64(s.tick * tickMs) }

func newCrashSim(seed uint64) *crashSim {
	s := &crashSim{seed: seed, rng: rand.New(rand.NewPCG(seed, 2)), told: map[bulk.Handle]uint64{}, hashes: map[uint64]uint64{}}
	s.links = simtest.Conditions{
		Loss: s.rng.Float64() * 0.2, Duplicate: 0.05, Reorder: 0.1, ReorderExtra: 40,
		DelayMin: 5, DelayMax: 5 + s.rng.Int64N(100),
	}
	s.makeWorld()
	for range 12 {
		s.spawn(0)
	}
	s.backend = crashBackend{s: s, treasury: s.spawnAt(450, 0)}
	s.ledger.Set(s.backend.treasury, Ledger{})
	s.makeCore(0)
	s.journal = must.Get(s.world.StartJournal(world.JournalConfig{Run: crashEpoch, Durable: true}))
	s.beginSegment()
	for i := range crashClientCount {
		s.clients = append(s.clients, s.newClient(i))
	}
	return s
}

// pokes reports whether clients command entities in this seed. In the others each command is executed.
func (s *crashSim) pokes() bool { return s.seed%2 == 1 }

func (s *crashSim) makeWorld() {
	w := must.Get(world.New(world.Config{Seed: s.seed, MaxEntities: 64}))
	s.world = w
	s.crate = must.Get(w.AddKind(world.Kind{Name: "crate", Body: &world.BodyDef{Mass: 1, Radius: 0.5, Friction: 1}}))
	s.identity = must.Get(world.Register[Identity](w, "identity"))
	s.written = must.Get(world.Register[Written](w, "written"))
	s.asleep = must.Get(world.Register[Asleep](w, "asleep"))
	s.ledger = must.Get(world.Register[Ledger](w, "ledger"))
}

func (s *crashSim) makeCore(incarnation int) {
	own := schema.NewWithBody()
	schema.Define[Identity](own, "identity")
	s.core = must.Get(session.NewCore(session.Config{
		Random: rand.NewChaCha8([32]byte{byte(s.seed), byte(s.seed >> 8), byte(incarnation)}), HoldOutput: true,
		WorldConfig: session.WorldConfig{
			World: s.world, Schema: own, Epoch: crashEpoch, CommandsPerSecond: 10_000, CommandBurst: 10_000,
			Replication: replication.Config{EnterRadius: 20, LeaveRadius: 25},
			Hooks: session.Hooks{
				Join: s.join, Leave: func(p *session.Session) { s.world.Destroy(p.Entity()) },
				Away:        func(p *session.Session) { s.asleep.Set(p.Entity(), Asleep{}) },
				Back:        func(p *session.Session) { s.asleep.Remove(p.Entity()) },
				SaveSession: saveDiary, RestoreSession: restoreDiary,
				Commands: []session.Command{session.OnRawCommand("write", s.write), session.OnRawCommand("poke", s.poke)},
			},
		},
	}))
	s.core.OnPanic(func(p session.HookPanic) { s.fail("%v: %v\n%s", p.Hook, p.Value, p.Stack) })
}

func (s *crashSim) join(p *session.Session) (world.Entity, error) {
	if s.restoring {
		s.fail("Join of session %d while sessions are restored", p.ID())
	}
	p.SetValue(&diary{})
	p.Own(s.spawnAt(500, 0))
	return s.spawn(0), nil
}

func saveDiary(p *session.Session, b []byte) []byte {
	for _, n := range p.Value().(*diary).done {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	return b
}

func restoreDiary(p *session.Session, saved []byte) error {
	d := &diary{}
	for ; len(saved) > 0; saved = saved[4:] {
		d.done = append(d.done, binary.LittleEndian.Uint32(saved))
	}
	p.SetValue(d)
	return nil
}

// write executes a command of a client: it notes its number, and spawns an entity for its provisional
// handle.
func (s *crashSim) write(p *session.Session, _ world.Entity, args []byte) error {
	number := crashNumber(args)
	d := p.Value().(*diary)
	if slices.Contains(d.done, number) {
		s.fail("session %d executes command %d twice (J5)", p.ID(), number)
	}
	d.done = append(d.done, number)
	t, _ := s.writtenBy(p.Entity())
	s.written.Set(p.Entity(), Written{t.Count + 1, t.Sum + uint64(number)})
	for h := range p.Provisionals() {
		return p.Bind(h, s.spawn(crashIdentity(number)))
	}
	return nil
}

func (s *crashSim) writtenBy(h bulk.Handle) (Written, bool) {
	if t := s.written.Get(h); t != nil {
		return *t, true
	}
	return Written{}, false
}

// crashIdentity is the identity of the entity that a command spawns.
func crashIdentity(number uint32) uint64 { return 1<<40 | uint64(number) }

// crashArgs encodes a number below 2^21 as msgpack, which crashNumber decodes.
func crashArgs(number uint32) []byte {
	return []byte{0x93, byte(number >> 14 & 127), byte(number >> 7 & 127), byte(number & 127)}
}

func crashNumber(args []byte) uint32 {
	return uint32(args[1])<<14 | uint32(args[2])<<7 | uint32(args[3])
}

// poke executes a command on an entity (H2).
func (s *crashSim) poke(_ *session.Session, target world.Entity, _ []byte) error {
	if want, told := s.told[target]; told && s.identityOf(target) != want {
		s.fail("a command reaches %v with identity %d, and clients know it as %d (H2)", target, s.identityOf(target), want)
	}
	s.world.SetVelocity(target, world.Vec3{Y: 3, X: 1})
	return nil
}

func (s *crashSim) identityOf(h bulk.Handle) uint64 {
	if v := s.identity.Get(h); v != nil {
		return v.Value
	}
	return 0
}

// spawn spawns an entity, with an identity of its own if identity is 0.
func (s *crashSim) spawn(identity uint64) bulk.Handle {
	return s.spawnAs(identity, float32(s.rng.IntN(50)-25), float32(s.rng.IntN(20)))
}

func (s *crashSim) spawnAt(x, z float32) bulk.Handle { return s.spawnAs(0, x, z) }

func (s *crashSim) spawnAs(identity uint64, x, z float32) bulk.Handle {
	h, err := s.world.Spawn(s.crate, world.Vec3{X: x, Y: 0.5, Z: z}, world.Vec3{X: float32(s.rng.IntN(5)) - 2})
	if err != nil {
		return 0
	}
	if identity == 0 {
		s.identities++
		identity = s.identities
	}
	s.identity.Set(h, Identity{identity})
	return h
}

// churn spawns and destroys entities between two ticks.
func (s *crashSim) churn() {
	var others []bulk.Handle
	for slot := range s.world.Live().All() {
		h := s.world.Slots().Handle(slot)
		if at, _ := s.world.Position(h); at.X < 400 && !s.controlled(h) {
			others = append(others, h)
		}
	}
	switch n := s.rng.IntN(10); {
	case n < 4 && len(others) < 30:
		s.spawn(0)
	case n < 8 && len(others) > 6:
		s.world.Destroy(others[s.rng.IntN(len(others))])
	case len(others) > 0:
		s.world.SetVelocity(others[s.rng.IntN(len(others))], world.Vec3{X: float32(s.rng.IntN(9)) - 4})
	}
}

func (s *crashSim) controlled(h bulk.Handle) bool {
	for p := range s.core.Sessions() {
		if p.Entity() == h {
			return true
		}
	}
	return false
}

// beginSegment begins a segment with an image of the present state.
func (s *crashSim) beginSegment() {
	img := &world.Image{}
	s.world.TakeImage(img)
	head := must.Get(s.journal.BeginSegment(s.core.AppendNotes(nil, true)))
	s.segments = append(s.segments, crashSegment{s.world.Tick(), img, bytes.Clone(head), []int{len(head)}})
}

// commit appends the frame of the last step to the journal.
func (s *crashSim) commit() {
	frame := must.Get(s.journal.Commit(s.core.AppendNotes(nil, false)))
	last := &s.segments[len(s.segments)-1]
	last.file = append(last.file, frame...)
	last.ends = append(last.ends, len(last.file))
	s.hashes[s.world.Tick()] = s.world.StateHash()
	for _, c := range s.clients {
		for _, id := range c.leaving {
			if s.core.Session(id) == nil && !slices.ContainsFunc(s.ended, func(e crashEnd) bool { return e.session == id }) {
				s.ended = append(s.ended, crashEnd{id, s.world.Tick()})
			}
		}
	}
}

// release reports some or all frames as durable.
func (s *crashSim) release() {
	if s.rng.IntN(3) == 0 {
		return
	}
	tick := s.world.Tick() - uint64(s.rng.IntN(2))
	s.durable = max(s.durable, min(tick, s.committed()))
	s.core.Release(s.durable)
}

// committed returns the tick of the newest frame.
func (s *crashSim) committed() uint64 {
	last := &s.segments[len(s.segments)-1]
	return last.tick + uint64(len(last.ends)-1)
}

// crash ends the server and recovers another from a state that the disk may have.
func (s *crashSim) crash() {
	s.crashes++
	for _, c := range s.clients {
		c.conn.closed = true
		c.noticeAt = s.tick + 1 + s.rng.IntN(30)
	}
	s.core.Close()
	s.world.Close()
	committed := s.committed()
	to := s.durable + s.rng.Uint64N(committed-s.durable+1)
	s.undone += int(committed - to)
	notes, sum := s.recoverWorld(to)
	if s.wrong != nil {
		return
	}
	s.makeCore(s.crashes)
	s.restoring = true
	restored, err := s.core.RestoreSessions(notes)
	s.restoring = false
	if err != nil {
		s.fail("RestoreSessions: %v", err)
	}
	s.restored += restored
	s.ended = slices.DeleteFunc(s.ended, func(e crashEnd) bool { return e.tick > to })
	for _, e := range s.ended {
		if s.core.Session(e.session) != nil {
			s.fail("session %d has ended, and is restored", e.session)
		}
	}
	for p := range s.core.Sessions() {
		if s.asleep.Get(p.Entity()) == nil {
			s.fail("the entity of restored session %d is awake: Away was not called", p.ID())
		}
	}
	for _, c := range s.clients {
		c.judgeRestored()
	}
	if s.backend.call != nil {
		s.backend.readResult() // the process of the backend is another
	}
	s.backend.verify()
	s.journal = must.Get(s.world.StartJournal(world.JournalConfig{Run: crashEpoch, Durable: true, Chain: sum}))
	s.beginSegment()
	s.durable = to
}

// recoverWorld replaces the world by its state after a tick, from one of the images before, and drops later
// frames. It returns the notes of the sessions at that tick.
func (s *crashSim) recoverWorld(to uint64) (notes *session.Notes, sum uint64) {
	s.segments = slices.DeleteFunc(s.segments, func(x crashSegment) bool { return x.tick > to })
	last := &s.segments[len(s.segments)-1]
	last.ends = last.ends[:to-last.tick+1]
	last.file = last.file[:last.ends[len(last.ends)-1]]
	from := s.segments[s.rng.IntN(len(s.segments)):]
	s.makeWorld()
	if err := s.world.Restore(from[0].image); err != nil {
		s.fail("Restore: %v", err)
		return nil, 0
	}
	replay, notes := must.Get(s.world.ReplayJournal(from[0].image)), &session.Notes{}
	for _, x := range from {
		r := must.Get(world.NewJournalReader(bytes.NewReader(x.file)))
		err := errors.Join(replay.Follow(r), notes.Add(r.Head().Notes))
		for err == nil {
			var frame world.JournalFrame
			if frame, err = r.Next(); err == nil {
				err = errors.Join(replay.Apply(frame), notes.Add(frame.Notes))
			}
		}
		if err != io.EOF {
			s.fail("replay of the segment of tick %d: %v", x.tick, err)
			return nil, 0
		}
	}
	if s.world.Tick() != to || s.hashes[to] != 0 && len(from[len(from)-1].ends) > 1 && s.world.StateHash() != s.hashes[to] {
		s.fail("recovered to tick %d with another state, want tick %d", s.world.Tick(), to)
	}
	return notes, replay.Sum()
}

// advance runs a tick, or the part of one before a crash.
func (s *crashSim) advance(act bool) {
	s.tick++
	for _, c := range s.clients {
		c.conn.Now = s.now()
	}
	if act {
		s.churn()
		s.clients[s.rng.IntN(len(s.clients))].act()
		s.backend.act()
	}
	crash := -1
	if act && s.rng.IntN(60) == 0 {
		crash = s.rng.IntN(5)
	}
	for phase, run := range []func(){
		s.core.Receive, s.core.Step, s.commit, s.release,
		func() { s.core.Send(func() bool { return s.rng.IntN(8) == 0 }) },
	} {
		run()
		if phase == crash {
			break
		}
	}
	switch {
	case crash >= 0:
		s.crash()
	default:
		s.release()
		if s.rng.IntN(20) == 0 {
			s.beginSegment()
		}
	}
	for _, c := range s.clients {
		if s.wrong == nil {
			c.step()
			c.verify()
		}
	}
}

// simulate runs the simulation, and ends it over perfect links without crashes: every client then shows its
// view, and commands are answered.
func (s *crashSim) simulate() error {
	defer func() {
		s.core.Close()
		s.world.Close()
	}()
	for s.tick < crashTicks && s.wrong == nil {
		s.advance(true)
	}
	s.links = simtest.Conditions{}
	for _, c := range s.clients {
		c.drop(1)
	}
	for range 200 {
		if s.wrong != nil {
			return s.wrong
		}
		s.advance(false)
	}
	for _, c := range s.clients {
		c.judgeSettled()
	}
	return s.wrong
}

// TestCrashes crashes a server with a journal at any point, over hundreds of seeds. Thousands:
// -run Crashes -crashes 10000; one: -crash 17.
func TestCrashes(t *testing.T) {
	racetest.SkipSequential(t)
	first, seeds := uint64(1), shorttest.Pick(*crashSeeds, min(*crashSeeds, 15))
	if *crashSeed != 0 {
		first, seeds = *crashSeed, 1
	}
	var crashes, restored, undone, confirmed, begun, bound, answers, unknown, notRun int
	for seed := range uint64(seeds) {
		s := newCrashSim(first + seed)
		require.NoError(t, s.simulate())
		answers, unknown, notRun = answers+s.backend.answers, unknown+s.backend.unknown, notRun+s.backend.notRun
		crashes, restored, undone = crashes+s.crashes, restored+s.restored, undone+s.undone
		for _, c := range s.clients {
			confirmed, begun, bound = confirmed+c.results, begun+c.begunAgain, bound+len(c.bound)
		}
	}
	t.Logf("%d crashes undid %d ticks and restored %d sessions, which clients began again %d times; %d results arrived, %d provisional handles were bound", crashes, undone, restored, begun, confirmed, bound)
	t.Logf("%d orders of a backend were answered; %d calls had an unknown outcome, %d did not run", answers, unknown, notRun)
	if *crashSeed == 0 {
		require.Greater(t, answers, 10*seeds)
		require.Greater(t, unknown, seeds)
		require.Positive(t, notRun)
		require.Greater(t, crashes, 4*seeds)
		require.Greater(t, undone, crashes/4)
		require.Greater(t, restored, 2*crashes)
		require.Greater(t, begun, crashes)
		require.Greater(t, confirmed, 20*seeds)
		require.Greater(t, bound, 5*seeds)
	}
}

package client_test

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/mutate"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

var mutantsFlag = flag.Int("mutants", 6_000, "mutants per TestMutant... test")

// tape is a recording of everything a server sent to a client.
type tape struct {
	schema  *schema.Schema
	codec   *rowcodec.Codec
	welcome wire.Welcome
	steps   []sent
}

// sent is a message of the stream, or a datagram.
type sent struct {
	kind byte // wire.TypeState: a datagram
	body []byte
}

// recorder is a well-behaved client that records what it receives.
type recorder struct {
	t       testing.TB
	tape    *tape
	frames  wire.FrameReader
	session *client.Session
	peer    *session.Peer
	now     time.Duration
}

func (c *recorder) SendStream(p []byte) bool {
	c.frames.Feed(p)
	for {
		kind, body, ok, err := c.frames.Next()
		require.NoError(c.t, err)
		if !ok {
			break
		}
		c.tape.steps = append(c.tape.steps, sent{kind, append([]byte(nil), body...)})
	}
	require.NoError(c.t, c.session.ReceiveStream(p))
	return true
}

func (*recorder) HasUnsent() bool { return false }

func (c *recorder) SendSnapshot(ds [][]byte) {
	for _, d := range ds {
		c.tape.steps = append(c.tape.steps, sent{wire.TypeState, append([]byte(nil), d...)})
		must.Get(c.session.ReceiveDatagram(d, c.now))
	}
}

func (c *recorder) Close(code wire.Code, text string) {
	require.Fail(c.t, "closed", "%v %s", code, text)
}

// record plays two seconds of a small busy world to a client: bodies, riders with
// rotations and parents, references, owner-only fields, deaths.
func record(t testing.TB) *tape {
	s := schema.New()
	schema.Define[schema.Body](s, schema.BodyComponent)
	schema.Define[rider](s, "rider")
	schema.Define[friend](s, "friend")
	schema.Define[vectorPurse](s, "purse")
	require.NoError(t, s.Err())
	w := must.Get(world.New(world.Config{Seed: 1, MaxEntities: 256}))
	crate := must.Get(w.AddKind(world.Kind{Name: "crate", Body: &world.BodyDef{Mass: 1, Drag: 0.5, Friction: 0.9, Radius: 0.5}}))
	riders := must.Get(world.Register[rider](w, "rider"))
	friends := must.Get(world.Register[friend](w, "friend"))
	purses := must.Get(world.Register[vectorPurse](w, "purse"))
	random := rand.New(rand.NewPCG(1, 1))
	var all []bulk.Handle
	spawn := func() bulk.Handle {
		h := must.Get(w.Spawn(crate, world.Vec3{X: random.Float32()*40 - 20, Y: 0.5, Z: random.Float32()*40 - 20}, world.Vec3{}))
		riders.Set(h, rider{Facing: [4]float32{0, 0, 0, 1}})
		purses.Set(h, vectorPurse{int32(len(all))})
		all = append(all, h)
		return h
	}
	core := must.Get(session.NewCore(session.Config{
		Random: rand.NewChaCha8([32]byte{1}),
		WorldConfig: session.WorldConfig{
			World: w, Schema: s, Epoch: 7,
			Replication: replication.Config{EnterRadius: 15, LeaveRadius: 18, SnapshotHz: 30},
			Hooks: server.Hooks{
				Join:     func(*server.Session) (world.Entity, error) { return spawn(), nil },
				Commands: []server.Command{server.OnRawCommand("poke", func(*server.Session, world.Entity, []byte) error { return nil })},
			},
		},
	}))
	for range 50 {
		spawn()
	}
	c := &recorder{t: t, tape: &tape{schema: s, codec: rowcodec.New(s, rowcodec.DefaultTables())}}
	c.session = must.Get(client.NewSession(client.SessionConfig{Schema: s}))
	c.peer = core.Open(context.Background(), "", c)
	for tick := range 120 {
		c.now += time.Second / 60
		if p := c.session.TakeStream(); p != nil {
			require.NoError(t, c.peer.ReceiveStream(p))
		}
		if d := c.session.Input(c.now); d != nil && tick%5 != 4 { // some are lost
			must.Get(c.peer.ReceiveDatagram(d))
		}
		for range 8 {
			h := all[random.IntN(len(all))]
			turn := float32(tick%40) / 40
			r := rider{Position: [3]float32{random.Float32(), turn, 3}, Facing: [4]float32{turn, 0, 1 - turn, 0.5}, Lit: tick%2 == 0}
			if random.IntN(2) == 0 {
				r.On = all[random.IntN(len(all))]
			}
			riders.Set(h, r)
			friends.Set(h, friend{all[random.IntN(len(all))]})
			w.SetVelocity(h, world.Vec3{X: random.Float32()*20 - 10, Z: random.Float32()*20 - 10})
		}
		if i := random.IntN(len(all)); tick%4 == 0 && all[i] != c.session.Controlled() {
			w.Destroy(all[i])
			all[i] = all[len(all)-1]
			all = all[:len(all)-1]
			spawn()
		}
		if tick%20 == 10 {
			must.Get(c.session.DoRaw("poke", 0, nil))
		}
		core.Tick()
	}
	c.tape.welcome, _ = c.session.Welcome()
	return c.tape
}

// of returns the bodies of one kind.
func (p *tape) of(kind byte) (all [][]byte) {
	for _, s := range p.steps {
		if s.kind == kind {
			all = append(all, s.body)
		}
	}
	return all
}

// stream returns the bodies of all stream messages.
func (p *tape) stream() (all [][]byte) {
	for _, s := range p.steps {
		if s.kind != wire.TypeState && len(s.body) > 0 {
			all = append(all, s.body)
		}
	}
	return all
}

// next returns the first step at or after at of a kind, or the last step.
func (p *tape) next(at int, kind byte) int {
	for at < len(p.steps)-1 && p.steps[at].kind != kind {
		at++
	}
	return at
}

// replica returns a replica that has applied the first steps.
func (p *tape) replica(t testing.TB, steps int) *client.Applier {
	r := client.NewApplier(p.codec, p.welcome.GenerationFloor, p.welcome.MaxSlots, client.Observer{})
	for _, s := range p.steps[:steps] {
		var err error
		switch s.kind {
		case wire.TypeStructure:
			err = r.ApplyStructure(s.body)
		case wire.TypeState:
			_, err = r.ApplyState(s.body)
		}
		require.NoError(t, err)
	}
	return r
}

// hostileBatch is how many mutants are applied to one replica.
const hostileBatch = 128

func mutantBatches() int { return (mutate.Count(*mutantsFlag) + hostileBatch - 1) / hostileBatch }

// TestMutantStates applies mutated State datagrams to replicas that hold their
// baselines: rejected ones change nothing, applied ones are applied whole. Half of them
// are made plausible, so that their rows are decoded.
func TestMutantStates(t *testing.T) {
	p := record(t)
	datagrams := p.of(wire.TypeState)
	s := mutate.NewSource(1, datagrams...)
	var outcomes [client.Faulty + 1]int
	refused, whole, passed := 0, 0, 0
	for batch := range mutantBatches() {
		at := len(p.steps)/4 + s.IntN(len(p.steps)*3/4)
		r := p.replica(t, at)
		digest, before := r.Digest(), mutate.Allocated()
		for i := range hostileBatch {
			d := s.Next()
			if s.IntN(4) > 0 {
				at = p.next(at, wire.TypeState)
				d = s.Of(p.steps[at].body)
			}
			correct := false
			if s.IntN(8) > 0 {
				wrong := uint16(0)
				if s.IntN(16) == 0 {
					wrong = 1
				}
				d, correct = plausible(r, d, s.IntN(4), wrong)
			}
			outcome, err := r.ApplyState(d)
			if correct {
				whole++
				require.NotEqual(t, client.Faulty, outcome, "batch %d, mutant %d: %x", batch, i, d)
				if outcome == client.Applied {
					passed++
				}
			}
			require.LessOrEqual(t, r.HeldDatagrams(), client.MaxHeld)
			now := r.Digest()
			switch {
			case err != nil:
				refused++
				require.ErrorIs(t, err, &wire.Error{Code: wire.BadMessage}, "batch %d, mutant %d: %x", batch, i, d)
			case outcome == client.Applied:
				outcomes[outcome]++
				require.Equal(t, r.CountedBytes(), r.KeptBytes())
				digest = now
				continue
			default:
				outcomes[outcome]++
			}
			require.Equal(t, digest, now, "batch %d, mutant %d: outcome %v, %v, but the replica changed: %x", batch, i, outcome, err, d)
		}
		require.Less(t, mutate.Allocated()-before, uint64(4<<20), "bytes allocated for %d datagrams", hostileBatch)
	}
	t.Logf("%d applied, %d held, %d duplicate, %d unreadable, %d faulty, %d refused", outcomes[client.Applied], outcomes[client.Held],
		outcomes[client.Duplicate], outcomes[client.Unreadable], outcomes[client.Faulty], refused)
	for outcome, n := range outcomes {
		require.NotZero(t, n, "outcome %d", outcome)
	}
	require.NotZero(t, refused)
	t.Logf("%d of %d with a correct fold were applied", passed, whole)
	require.Greater(t, passed, whole/20)
}

// plausible returns a datagram with a new sequence number, an applied structure number and the
// correct fold, in which the bits of wrong are inverted. It reports whether the fold is correct
// and there are rows.
func plausible(r *client.Applier, d []byte, ahead int, wrong uint16) ([]byte, bool) {
	var bits bitio.Reader
	h, err := wire.ParseStateHeader(d, &bits)
	if err != nil {
		return d, false
	}
	h.Seq, h.Structure = r.Stats().Ack.Newest+1+uint32(ahead), r.Stats().Ack.Structure
	rows := d[len(d)-bits.Left()/8:]
	coding := wire.ReadRowCoding(&bits, h.Tick)
	var fold uint64
	slot := uint32(0)
	for range h.Rows {
		skip, _ := wire.ReadRowHeader(&bits, coding, h.Tick)
		if bits.Err() != nil {
			return d, false
		}
		slot += skip
		fold = wire.Fold(fold, r.TenantOf(slot))
		slot++
	}
	h.Fold = wire.Fold16(fold) ^ wrong
	return append(wire.AppendStateHeader(nil, h), rows...), h.Rows > 0 && wrong == 0
}

// TestMutantStructure does the same for Structure messages.
func TestMutantStructure(t *testing.T) {
	p := record(t)
	s := mutate.NewSource(2, p.of(wire.TypeStructure)...)
	taken, refused := 0, 0
	for batch := range mutantBatches() {
		at := s.IntN(len(p.steps))
		r := p.replica(t, at)
		digest, before := r.Digest(), mutate.Allocated()
		for i := range hostileBatch {
			body := s.Next()
			if s.IntN(4) > 0 {
				at = p.next(at, wire.TypeStructure)
				body = s.Of(p.steps[at].body)
			}
			if s.IntN(8) > 0 {
				body = renumbered(body, r.Stats().Ack.Structure+1)
			}
			err := r.ApplyStructure(body)
			now := r.Digest()
			if err == nil {
				taken++
				require.Equal(t, r.CountedBytes(), r.KeptBytes())
				digest = now
				continue
			}
			refused++
			require.ErrorIs(t, err, &wire.Error{Code: wire.BadMessage}, "batch %d, mutant %d: %x", batch, i, body)
			require.Equal(t, digest, now, "batch %d, mutant %d: %v, but the replica changed: %x", batch, i, err, body)
		}
		require.Less(t, mutate.Allocated()-before, uint64(hostileBatch*(128<<10)), "bytes allocated for %d messages", hostileBatch)
	}
	t.Logf("%d taken, %d refused", taken, refused)
	require.NotZero(t, taken)
	require.NotZero(t, refused)
}

// renumbered returns a Structure message with another first record number.
func renumbered(body []byte, first uint32) []byte {
	_, n := binary.Uvarint(body)
	if n <= 0 {
		return body
	}
	return append(binary.AppendUvarint(nil, uint64(first)), body[n:]...)
}

// TestMutantStreams applies single mutated messages to running sessions: a rejected one
// ends the session with a code and changes nothing that the game sees.
func TestMutantStreams(t *testing.T) {
	racetest.SkipUnchecked(t)
	p := record(t)
	s := mutate.NewSource(3, p.stream()...)
	taken, refused := 0, 0
	var types [1 << 8]int
	for batch := range mutantBatches() {
		at := s.IntN(len(p.steps))
		for i := range hostileBatch {
			if i%(hostileBatch/8) == 0 {
				at = s.IntN(len(p.steps))
			}
			session := p.session(t, min(at, 4)) // every kind of message is valid by then
			step := p.steps[at]
			for step.kind == wire.TypeState || len(step.body) == 0 {
				step = p.steps[s.IntN(len(p.steps))]
			}
			kind, body := step.kind, s.Of(step.body)
			if s.IntN(16) == 0 {
				kind = byte(s.IntN(32))
			}
			types[kind]++
			before := sessionDigest(session)
			err := session.ReceiveStream(wire.AppendFrame(nil, kind, body))
			if err == nil {
				taken++
				continue
			}
			refused++
			var typed *wire.Error
			require.True(t, errors.As(err, &typed), "%v", err)
			require.Equal(t, before, sessionDigest(session), "batch %d, mutant %d: %v, but the replica changed: type %d, %x", batch, i, err, kind, body)
			require.ErrorIs(t, session.ReceiveStream(nil), err, "an error is final")
		}
	}
	t.Logf("%d taken, %d refused", taken, refused)
	for _, kind := range []byte{wire.TypeWelcome, wire.TypeStructure, wire.TypeResult, wire.TypeControl} {
		require.NotZero(t, types[kind], "type %d", kind)
	}
	require.NotZero(t, taken)
	require.NotZero(t, refused)
}

// session returns a session that received the first steps.
func (p *tape) session(t testing.TB, steps int) *client.Session {
	s := must.Get(client.NewSession(client.SessionConfig{Schema: p.schema}))
	for _, step := range p.steps[:steps] {
		if step.kind == wire.TypeState {
			must.Get(s.ReceiveDatagram(step.body, 0))
		} else {
			require.NoError(t, s.ReceiveStream(wire.AppendFrame(nil, step.kind, step.body)))
		}
	}
	return s
}

// sessionDigest is a digest of what a game sees of a session.
func sessionDigest(s *client.Session) [3]uint64 {
	d := [3]uint64{uint64(s.Controlled())}
	if w, ok := s.Welcome(); ok {
		d[1] = w.Session
	}
	if r := s.Replica(); r != nil {
		d[2] = r.Digest()
	}
	return d
}

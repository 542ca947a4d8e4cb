package simulation

import (
	"strings"
	"time"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// In some seeds, clients ask typed questions and send typed inputs with view moments. The
// game checks that each message arrives unchanged and once. The client checks that it gets
// the answer to its own question. Only scripts with the operation ask declare these
// messages: all others keep the schema of the conformance vectors.

type (
	// Ask and Stick each hold a number that no other message has. About and At are any
	// handle ever issued, and At may be a provisional handle.
	Ask struct {
		Token uint32
		About bulk.Handle `net:"ref"`
		Share float32     `net:"range=-1..1,step=1/512"`
		Words string      `net:"max=40"`
	}
	Told struct {
		Token uint32
		Who   bulk.Handle `net:"ref"`
		Words string      `net:"max=40"`
	}
	Stick struct {
		Seq uint32
		At  bulk.Handle `net:"ref"`
		X   float32     `net:"range=-1..1,step=1/512"`
	}
)

// typed records the messages of clients and the answers of the game.
type typed struct {
	ask     schema.DefinedQuery[Ask, Told]
	summon  schema.DefinedCommand[Summon]
	stick   schema.DefinedInput[Stick]
	on      bool
	asks    map[uint32]*question
	sticks  map[uint32]*pushed
	summons map[uint32]*summons
	touched uint32                      // the newest number
	aimed   map[*session.Session]uint32 // lowest index that is new in an input of the session
}

type question struct {
	client   *simClient
	args     Ask
	executed bool
	told     Told
}

type pushed struct {
	stick       Stick
	provisional *simProvisional // provisional handle in the input; may be nil
	tick        uint32          // tick of the input
	applied     bool
}

// refusedToken reports whether the game refuses the question.
func refusedToken(token uint32) bool { return token%5 == 0 }

func (s *sim) declareTyped() {
	s.typed = typed{
		on:   s.script.has("ask") || s.script.has("name") || s.script.has("aim"),
		asks: map[uint32]*question{}, sticks: map[uint32]*pushed{}, summons: map[uint32]*summons{},
		aimed: map[*session.Session]uint32{},
	}
	if s.typed.on {
		s.typed.summon = schema.DefineCommand[Summon](s.schema, "summon")
		s.typed.ask = schema.DefineQuery[Ask, Told](s.schema, "ask")
		s.typed.stick = schema.DefineInput[Stick](s.schema)
	}
}

// handleTyped gives the game functions for the messages that declareTyped declares.
func (s *sim) handleTyped(g *session.Hooks) {
	if s.typed.on {
		g.Commands = append(g.Commands, session.OnQuery(s.typed.ask, s.answer), session.OnCommand(s.typed.summon, s.summoned))
		g.Input = session.OnInput(s.typed.stick, s.pushed)
	}
}

// asks adds the operation ask to some seeds.
func (g *generator) asks() {
	d := g.rng.IntN
	if d(3) > 0 {
		return
	}
	g.often([]int{10, 40}[d(2)], "ask", func() []int { return []int{g.any(), g.any(), g.any()} })
}

// anyHandle returns any handle ever issued, or none.
func (s *sim) anyHandle(which int) bulk.Handle {
	if which%8 == 0 || len(s.order) == 0 {
		return 0
	}
	return s.order[nth(which, len(s.order))].handle
}

// ask asks a question on any handle ever issued, or on none.
func (c *simClient) ask(target, about int) {
	s := c.sim
	if !c.session.Joined() {
		return
	}
	h := s.anyHandle(target)
	s.typed.touched++
	token := s.typed.touched
	args := Ask{token, s.anyHandle(about), float32(about%1024-512) / 512, strings.Repeat("é", about%21)}
	asked := must.Get(client.Ask(c.session, s.typed.ask, h, args))
	s.typed.asks[token] = &question{client: c, args: args}
	received := false
	if l := s.lives[h]; l != nil {
		received = c.of(l).received
	}
	c.intents[asked.ID()] = intent{target: h, received: received, token: token}
}

// answer is the game's function for questions.
func (s *sim) answer(p *session.Session, target world.Entity, args Ask) (Told, error) {
	q := s.typed.asks[args.Token]
	switch {
	case q == nil || q.args != args:
		s.fail("typed", "the game was asked %+v, which no client sent", args)
	case q.executed:
		s.fail("typed", "question %d was executed twice", args.Token)
	case target != 0 && s.world.Status(target) != bulk.Live:
		s.fail("H2", "executed on %v, which is not live", target)
	}
	q.executed = true
	c := s.clientOf(p)
	if c != nil && c != q.client {
		s.fail("typed", "question %d of client %d was executed for client %d", args.Token, q.client.number, c.number)
	}
	s.judgeView(p, c)
	s.call("command")
	if refusedToken(args.Token) {
		return Told{args.Token, p.Entity(), "secret"}, &session.Rejection{Text: "no"}
	}
	q.told = Told{args.Token, s.anyHandle(int(args.Token * 7)), args.Words}
	told := q.told
	if s.world.Status(told.Who) == bulk.Unissued {
		q.told.Who = 0
	}
	if l := s.lives[q.told.Who]; l != nil && c != nil {
		c.noteSentHandle(l)
		c.ofServer(l).sent = true // the Result follows
	}
	return told, nil
}

// judgeAnswer checks the answer that the client received. The client knows its handle from
// now on.
func (c *simClient) judgeAnswer(asked intent, r client.Result) {
	s, q := c.sim, c.sim.typed.asks[asked.token]
	if asked.token == 0 {
		if r.Answer != nil {
			s.fail("typed", "a poke was answered %+v", r.Answer)
		}
		return
	}
	if r.Answer != q.told || !q.executed {
		s.fail("typed", "question %d was answered %+v, want %+v", asked.token, r.Answer, q.told)
	}
	if l := s.lives[q.told.Who]; l != nil {
		c.of(l).received = true
	}
	s.coverage.answered++
}

// push sends the tick's input.
func (c *simClient) push(at time.Duration) {
	s := c.sim
	if !s.typed.on {
		_ = must.Get(c.session.SetRawInput([]byte{byte(s.tick)}, at))
		return
	}
	c.session.Render(at)
	s.typed.touched++
	stick := Stick{s.typed.touched, s.anyHandle(s.tick), float32(s.tick%1024-512) / 512}
	h, provisional := c.aimAt()
	if provisional != nil {
		stick.At = h
	}
	tick := must.Get(c.session.SetInputValue(&stick, at))
	if provisional != nil {
		stick.At = c.forwarded(h)
		if stick.At != h {
			provisional = nil
		} else {
			provisional.tick = max(provisional.tick, tick)
		}
	}
	s.typed.sticks[stick.Seq] = &pushed{stick: stick, provisional: provisional, tick: tick}
}

// pushed is the game's function for inputs.
func (s *sim) pushed(p *session.Session, tick uint64, in Stick) {
	sent := s.typed.sticks[in.Seq]
	if sent != nil && sent.provisional != nil && sent.provisional.handle.Index() < s.typed.aimed[p] {
		sent.stick.At, sent.provisional = 0, nil // not new: an earlier input named the same provisional handle or a later one
	}
	switch {
	case sent == nil || sent.stick != in:
		s.fail("typed", "the game received the input %+v, which no client sent", in)
	case uint64(sent.tick) != tick:
		s.fail("typed", "input %d is for tick %d, and the game was told %d", in.Seq, sent.tick, tick)
	case sent.applied:
		s.fail("typed", "input %d was applied twice", in.Seq)
	}
	sent.applied = true
	if sent.provisional != nil {
		s.typed.aimed[p] = sent.provisional.handle.Index() + 1
		s.decide(p, sent.provisional, int(in.Seq))
	}
	s.coverage.pushed++
	s.judgeView(p, s.clientOf(p))
	s.call("input")
}

// clientOf returns the client of a session, or nil if the client has left the session.
func (s *sim) clientOf(p *session.Session) *simClient {
	for _, c := range s.clients {
		if c.liveSession() == p {
			return c
		}
	}
	return nil
}

// judgeView checks that a view moment is not newer than the newest snapshot that the client
// has acknowledged, and not older than 250 ms.
func (s *sim) judgeView(p *session.Session, c *simClient) {
	at, ok := p.View()
	tick := at.Tick
	if !ok || c == nil {
		return
	}
	acked := uint64(0)
	for _, n := range c.datagrams {
		if n.acked {
			acked = max(acked, uint64(n.tick))
		}
	}
	oldest := s.world.Tick() - min(s.world.Tick(), 15)
	if tick < oldest || tick > max(acked, oldest) {
		s.fail("typed", "client %d views tick %d in tick %d, and acknowledged %d", c.number, tick, s.world.Tick(), acked)
	}
	s.coverage.views++
}

// refusedByGame reports whether the game refused a question as it should.
func (i intent) refusedByGame(code wire.Code) bool {
	token := i.token
	if i.summons != nil {
		token = i.summons.args.Token
	}
	return code == wire.CommandRefused && token != 0 && refusedToken(token)
}

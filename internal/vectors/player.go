package vectors

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world/motion"
)

// Player applies a case's steps to a session and records the results.
type Player struct {
	session  *client.Session
	handles  []bulk.Handle
	verdicts map[bulk.Handle]string
	entities map[bulk.Handle]Entity
	taken    uint32 // provisional handles
	declared *schema.Schema
	messages *rowschema.Messages // messages of the declared schema
	asked    map[uint32]asked    // commands of Send without a Result, by id
	heard    []Event             // received in this step
	results  []Result            // received in this step
	exact    map[bulk.Handle][8]uint32
}

// NewPlayer returns a session of a client that declares schema and has the abilities of a case.
func NewPlayer(schema *schema.Schema, c *Case) (*Player, error) {
	p := &Player{handles: c.Handles, verdicts: map[bulk.Handle]string{}, entities: map[bulk.Handle]Entity{}, declared: schema, messages: rowschema.NewMessages(schema), asked: map[uint32]asked{}}
	s, err := client.NewSession(client.SessionConfig{Schema: schema, Events: p.events(), Result: p.result, Simulate: c.Simulate, PlainRows: c.PlainRows})
	if err != nil {
		return nil, err
	}
	p.session = s
	return p, nil
}

// outcomes are the names of client.Outcome.
var outcomes = [...]string{
	client.Applied: "applied", client.Held: "held", client.Duplicate: "duplicate",
	client.Unreadable: "unreadable", client.Faulty: "faulty",
}

// Play applies one step and returns the resulting expectation.
func (p *Player) Play(s Step) Expect {
	var e Expect
	var err error
	p.heard, p.results = nil, nil
	if s.Provisional != nil {
		err = p.name(s.Provisional)
	} else if s.Send != nil {
		e.Sent, err = p.send(s.Send)
	} else if s.Lost {
		e.Hello, err = p.reconnect()
	} else if len(s.Datagram) > 0 {
		var outcome client.Outcome
		if outcome, err = p.session.ReceiveDatagram(s.Datagram, 0); err == nil && p.session.Joined() {
			e.Outcome = outcomes[outcome]
		}
	} else {
		p.session.TakeStream() // drop the bytes of earlier steps
		err = p.session.ReceiveStream(s.Stream)
		e.Arrived = p.arrived()
	}
	if err != nil {
		e.Error = wire.CodeOf(err).String()
	}
	e.Events, e.Results = p.heard, p.results
	e.Mask = fmt.Sprintf("%016x", 0)
	r := p.session.Replica()
	if r == nil {
		return e
	}
	ack := r.Stats().Ack
	e.Structure, e.Newest, e.Mask, e.Faults = ack.Structure, ack.Newest, fmt.Sprintf("%016x", ack.Mask), r.Stats().Faults
	for _, h := range p.handles {
		if v := p.session.Resolve(h).String(); v != p.verdicts[h] {
			p.verdicts[h] = v
			if e.Verdicts == nil {
				e.Verdicts = map[bulk.Handle]string{}
			}
			e.Verdicts[h] = v
		}
	}
	e.Entities = p.changed(r)
	e.Exact, e.Audits = p.computed(r), r.Stats().Motion.Audited
	if r.Stats().Motion.Faults > 0 {
		e.Error = "an audit failed"
	}
	return e
}

// reconnect loses the connection, opens another, and returns its Hello.
func (p *Player) reconnect() (*Hello, error) {
	p.session.TakeStream() // unsent bytes are dropped
	clear(p.asked)
	p.session.Lost(&wire.Error{Code: wire.Timeout})
	p.session.Reconnect()
	var frames wire.FrameReader
	frames.Feed(p.session.TakeStream())
	_, body, _, err := frames.Next()
	if err != nil {
		return nil, err
	}
	h, err := wire.Parse[wire.Hello](body)
	if err != nil {
		return nil, err
	}
	return &Hello{h.Session, h.Secret, h.Structure}, nil
}

// arrived returns the number of Arrived messages that the client has sent since the last
// TakeStream.
func (p *Player) arrived() (n int) {
	var frames wire.FrameReader
	frames.Feed(p.session.TakeStream())
	for {
		kind, _, ok, err := frames.Next()
		if err != nil || !ok {
			return n
		}
		if kind == wire.TypeArrived {
			n++
		}
	}
}

// changed returns the entities that are new or have changed.
func (p *Player) changed(r *client.Replica) (changed []Entity) {
	present := map[bulk.Handle]Entity{}
	for x := range r.All() {
		now := Entity{Handle: x.Handle(), Kind: x.Kind(), Tick: x.Tick(), Components: x.Mask(), Owned: x.Owned(), Values: x.AppendValues(nil), Teleported: x.Teleported()}
		now.Texts = bytesOf(r.AppendTexts(nil, x))
		present[now.Handle] = now
		if !reflect.DeepEqual(p.entities[now.Handle], now) {
			changed = append(changed, now)
		}
	}
	p.entities = present
	slices.SortFunc(changed, func(a, b Entity) int { return cmp.Compare(a.Handle, b.Handle) })
	return changed
}

// computed returns the exact entities whose states have changed.
func (p *Player) computed(r *client.Replica) (changed []Exact) {
	present := map[bulk.Handle][8]uint32{}
	for x := range r.All() {
		s, tick, ok := x.Exact()
		if !ok {
			continue
		}
		now := stateBits(&s)
		present[x.Handle()] = now
		if was, known := p.exact[x.Handle()]; !known || was != now {
			changed = append(changed, Exact{x.Handle(), tick, now})
		}
	}
	p.exact = present
	slices.SortFunc(changed, func(a, b Exact) int { return cmp.Compare(a.Handle, b.Handle) })
	return changed
}

func stateBits(s *motion.State) (all [8]uint32) {
	for i, x := range []float32{s.Position.X, s.Position.Y, s.Position.Z, s.Velocity.X, s.Velocity.Y, s.Velocity.Z} {
		all[i] = math.Float32bits(x)
	}
	if s.Awake {
		all[6] = 1
	}
	all[7] = s.Rest
	return all
}

// Check plays a case to a client and compares every step. The client declares the first of
// schemas that fits the case's schema. The error names the step and the difference.
func (c *Case) Check(schemas ...*schema.Schema) error {
	own, err := schema.Parse(c.Schema)
	if err != nil {
		return fmt.Errorf("vectors: case %q: %w", c.Name, err)
	}
	i := slices.IndexFunc(schemas, func(s *schema.Schema) bool {
		changes, misfit := own.Compare(s)
		return misfit == nil && len(changes) == 0
	})
	if c.Protocol != wire.Version || c.SchemaHash != fmt.Sprintf("%016x", own.Hash()) || i < 0 {
		return fmt.Errorf("vectors: case %q has protocol %d and schema %s, want %d and a known schema; regenerate with go test ./server/session/simulation -run Vectors -vectors.update",
			c.Name, c.Protocol, c.SchemaHash, wire.Version)
	}
	p, err := NewPlayer(schemas[i], c)
	if err != nil {
		return err
	}
	for i, s := range c.Steps {
		if got := p.Play(s); !reflect.DeepEqual(got, s.Expect) {
			return fmt.Errorf("vectors: case %q, step %d:\n got %+v\nwant %+v", c.Name, i+1, got, s.Expect)
		}
	}
	return nil
}

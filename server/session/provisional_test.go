package session_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

type (
	launch struct {
		Missile bulk.Handle `net:"ref"`
		Decoy   bulk.Handle `net:"ref"`
	}
	fire struct {
		Missile bulk.Handle `net:"ref"`
		Other   bulk.Handle `net:"ref"`
		Aim     uint8
	}
)

// provisionalServer is a test server whose commands and inputs hold provisional handles.
type provisionalServer struct {
	*testServer
	launched func(s *session.Session, args launch) error
	fired    func(s *session.Session, in fire)
	raw      func(s *session.Session) error
}

func newProvisionalServer(t testing.TB) *provisionalServer {
	d := &provisionalServer{fired: func(*session.Session, fire) {}}
	d.testServer = newTestServerWith(t, func(c *session.Config) {
		launching, firing := schema.DefineCommand[launch](c.Schema, "launch"), schema.DefineInput[fire](c.Schema)
		c.Hooks.Commands = append(c.Hooks.Commands,
			session.OnCommand(launching, func(s *session.Session, _ world.Entity, args launch) error { return d.launched(s, args) }),
			command("raw", func(s *session.Session, _ world.Entity) error { return d.raw(s) }))
		c.Hooks.Input = session.OnInput(firing, func(s *session.Session, _ uint64, in fire) { d.fired(s, in) })
	})
	return d
}

func (d *provisionalServer) args(v launch) []byte {
	i, _ := d.core.Config().Schema.CommandByName("launch")
	return must.Get(rowschema.NewMessage(d.core.Config().Schema.Commands()[i].Args).AppendValue(nil, v))
}

// push sends an input for the next tick.
func (d *provisionalServer) push(c *testClient, in fire) {
	data := must.Get(rowschema.NewMessage(d.core.Config().Schema.Input()).AppendValue(nil, in))
	m := wire.Input{Stamp: 1, Inputs: []wire.TickInput{{Tick: uint32(d.world.Tick()) + 1, Data: data}}}
	must.Get(c.peer.ReceiveDatagram(m.Append(nil)))
	d.tick()
}

// read returns a line for each Answer, Enter, Destroy and Result that arrived.
func (c *testClient) read() (lines []string) {
	c.d.t.Helper()
	for {
		kind, body, ok := c.Next()
		if !ok {
			return lines
		}
		switch kind {
		case wire.TypeStructure:
			m := must.Get(wire.ParseStructure(body))
			for r := range m.Records() {
				line := r.Op.String() + " " + r.Handle.String()
				if r.Op == wire.OpAnswer {
					line = "answer " + wire.ProvisionalHandle(r.Number).String() + " " + r.Handle.String()
				}
				lines = append(lines, line)
			}
		case wire.TypeResult:
			r := must.Get(wire.Parse[wire.Result](body))
			lines = append(lines, "result "+r.Code.String())
		}
	}
}

func provisionalHandle(index uint32) bulk.Handle { return wire.ProvisionalHandle(index) }

// A command's Answers precede its Result and the Enters of the entities.
func TestBind(t *testing.T) {
	d := newProvisionalServer(t)
	c := d.join()
	d.ticks(3)
	c.read()
	s := c.peer.Session()
	old, dead := d.spawn(3), d.spawn(3)
	d.world.Destroy(dead)
	d.ticks(3)
	var missile bulk.Handle
	d.launched = func(s *session.Session, args launch) error {
		require.Equal(t, launch{provisionalHandle(5), provisionalHandle(6)}, args)
		require.True(t, s.IsProvisional(args.Missile))
		require.Equal(t, []bulk.Handle{args.Missile, args.Decoy}, slices.Collect(s.Provisionals()))
		missile = d.spawn(2)
		require.ErrorIs(t, s.Bind(args.Missile, old), session.ErrNotNew, "the client has it")
		require.ErrorIs(t, s.Bind(args.Missile, dead), session.ErrNotNew)
		require.ErrorIs(t, s.Bind(args.Missile, 0), session.ErrNotNew)
		require.ErrorIs(t, s.Bind(args.Missile, bulk.NewHandle(900, 1)), session.ErrNotNew, "never issued")
		require.ErrorIs(t, s.Bind(provisionalHandle(7), missile), session.ErrNotProvisional)
		require.ErrorIs(t, s.Bind(missile, missile), session.ErrNotProvisional)
		require.NoError(t, s.Bind(args.Missile, missile))
		require.ErrorIs(t, s.Bind(args.Missile, missile), session.ErrNotProvisional, "bound")
		require.False(t, s.IsProvisional(args.Missile))
		return nil
	}
	c.read()
	c.send(wire.Command{ID: 1, Name: "launch", Args: d.args(launch{provisionalHandle(5), provisionalHandle(6)}), FirstProvisional: 5, Provisionals: 2})
	require.ErrorIs(t, s.Bind(provisionalHandle(6), d.spawn(1)), session.ErrNotProvisional, "the command is over")
	d.ticks(3)
	got := c.read()
	require.Equal(t, []string{"answer 5v2 " + missile.String(), "result ok"}, got[:2])
	require.Contains(t, got[2:], "enter "+missile.String())
	stats := d.core.Stats()
	require.Equal(t, []uint64{1, 1}, []uint64{stats.ProvisionalsBound, stats.ProvisionalsRejected})

	d.raw = func(s *session.Session) error {
		for provisional := range s.Provisionals() {
			return s.Bind(provisional, d.spawn(1))
		}
		return nil
	}
	c.send(wire.Command{ID: 2, Name: "raw", FirstProvisional: 7, Provisionals: 3})
	require.Contains(t, c.read(), "result ok")
	stats = d.core.Stats()
	require.Equal(t, []uint64{2, 3}, []uint64{stats.ProvisionalsBound, stats.ProvisionalsRejected})
}

// The client learns of the death of a bound entity that never entered (H3, H7).
func TestBoundAndDead(t *testing.T) {
	d := newProvisionalServer(t)
	c := d.join()
	d.ticks(3)
	c.read()
	var missile bulk.Handle
	d.launched = func(s *session.Session, args launch) error {
		missile = d.spawn(2)
		require.NoError(t, s.Bind(args.Missile, missile))
		d.world.Destroy(missile)
		return errors.New("misfire")
	}
	c.send(wire.Command{ID: 1, Name: "launch", Args: d.args(launch{Missile: provisionalHandle(0)}), Provisionals: 1})
	d.ticks(3)
	require.Equal(t, []string{"answer 0v2 " + missile.String(), "result command-refused", "destroy " + missile.String()}, c.read())
}

// Provisional handles that the command does not name are bad arguments; as a target they are
// stale. The game sees none of them.
func TestCommandsWithOtherProvisionals(t *testing.T) {
	d := newProvisionalServer(t)
	c, other := d.join(), d.join()
	seen := 0
	d.launched = func(*session.Session, launch) error { seen++; return nil }
	for name, m := range map[string]wire.Command{
		"not declared":       {Args: d.args(launch{Missile: provisionalHandle(3)})},
		"below":              {Args: d.args(launch{Missile: provisionalHandle(99)}), FirstProvisional: 100, Provisionals: 2},
		"beyond":             {Args: d.args(launch{Decoy: provisionalHandle(112)}), FirstProvisional: 110, Provisionals: 2},
		"another generation": {Args: d.args(launch{Missile: bulk.NewHandle(120, 4)}), FirstProvisional: 120, Provisionals: 1},
	} {
		m.ID, m.Name = 1, "launch"
		d.core.Tick()
		c.read()
		before := d.core.Stats()
		c.send(m)
		require.Contains(t, c.read(), "result bad-arguments", name)
		require.Equal(t, before.ProvisionalsRejected+uint64(m.Provisionals), d.core.Stats().ProvisionalsRejected, name)
	}
	require.Zero(t, seen)
	c.send(wire.Command{ID: 2, Name: "poke", Target: provisionalHandle(3)})
	require.Contains(t, c.read(), "result stale-handle")
	require.EqualValues(t, 1, d.core.Stats().CommandVerdicts[wire.Provisional])

	// No other session may bind a session's provisional handles.
	d.launched = func(s *session.Session, args launch) error {
		require.ErrorIs(t, other.peer.Session().Bind(args.Missile, d.spawn(1)), session.ErrNotProvisional)
		return nil
	}
	c.send(wire.Command{ID: 3, Name: "launch", Args: d.args(launch{Missile: provisionalHandle(500)}), FirstProvisional: 500, Provisionals: 1})
	require.Contains(t, c.read(), "result ok")
}

// A provisional handle belongs to the first applied input that names it.
func TestInputProvisionals(t *testing.T) {
	d := newProvisionalServer(t)
	c := d.join()
	d.ticks(3)
	var seen []fire
	var missile bulk.Handle
	d.fired = func(s *session.Session, in fire) {
		seen = append(seen, in)
		if s.IsProvisional(in.Missile) && in.Aim == 1 {
			missile = d.spawn(2)
			require.NoError(t, s.Bind(in.Missile, missile))
		}
	}
	c.read()
	entity := c.peer.Session().Entity()
	d.push(c, fire{provisionalHandle(8), entity, 1})
	d.push(c, fire{provisionalHandle(8), provisionalHandle(9), 1})
	d.push(c, fire{provisionalHandle(9), provisionalHandle(4), 1})
	d.push(c, fire{provisionalHandle(1<<32 - 1), provisionalHandle(1<<32 - 1), 2})
	d.push(c, fire{provisionalHandle(0), bulk.NewHandle(70, 4), 1})
	none := bulk.Handle(0)
	require.Equal(t, []fire{
		{provisionalHandle(8), entity, 1},
		{none, provisionalHandle(9), 1},
		{none, none, 1},
		{provisionalHandle(1<<32 - 1), provisionalHandle(1<<32 - 1), 2},
		{none, none, 1},
	}, seen)
	d.ticks(3)
	got := slices.DeleteFunc(c.read(), func(s string) bool { return s[:6] != "answer" && s != "enter "+missile.String() })
	require.Equal(t, []string{"answer 8v2 " + missile.String(), "enter " + missile.String(), "answer 9v2 " + none.String(), "answer 4294967295v2 " + none.String()}, got)
	stats := d.core.Stats()
	require.Equal(t, []uint64{1, 2}, []uint64{stats.ProvisionalsBound, stats.ProvisionalsRejected})
}

// Thousands of provisional handles a second cost no more than their commands and inputs.
// Commands beyond the rate are answered with rate-limited, and the other's handles are
// still bound.
func TestManyProvisionals(t *testing.T) {
	d := newProvisionalServer(t)
	c, other := d.join(), d.join()
	d.launched = func(s *session.Session, args launch) error {
		for provisional := range s.Provisionals() {
			if err := s.Bind(provisional, d.spawn(100)); err != nil {
				return err
			}
		}
		return nil
	}
	index := uint32(0)
	for range 60 {
		for range 20 {
			require.NoError(t, c.Send(wire.Command{ID: index, Name: "launch", Args: d.args(launch{}), FirstProvisional: index, Provisionals: wire.MaxProvisionals}))
			index += wire.MaxProvisionals
		}
		d.push(c, fire{Missile: provisionalHandle(index), Other: provisionalHandle(index + 1)})
		require.Empty(t, c.Closed)
	}
	require.Equal(t, 60*20, len(slices.DeleteFunc(c.read(), func(s string) bool { return s[:6] != "result" })), "every command is answered")
	stats := d.core.Stats()
	require.NotZero(t, stats.Rejections[wire.RateLimited])
	require.EqualValues(t, index+2*60, stats.ProvisionalsBound+stats.ProvisionalsRejected)
	require.LessOrEqual(t, stats.ProvisionalsBound, uint64(150*wire.MaxProvisionals), "a burst of 100, and 50 a second")
	other.read()
	other.send(wire.Command{ID: 1, Name: "launch", Args: d.args(launch{}), Provisionals: 1})
	require.Contains(t, other.read(), "result ok")
}

// Answers that were lost with a connection are sent again, even if no snapshot carried
// them.
func TestAnswersOutlastConnections(t *testing.T) {
	d := newProvisionalServer(t)
	c, w := d.enter()
	d.ticks(4)
	var missile bulk.Handle
	d.launched = func(s *session.Session, args launch) error {
		missile = d.spawn(200)
		return s.Bind(args.Missile, missile)
	}
	d.fired = func(s *session.Session, in fire) {
		if s.IsProvisional(in.Missile) {
			require.NoError(t, s.Bind(in.Missile, d.spawn(200)))
		}
	}
	applied := uint32(0)
	for {
		kind, body, ok := c.Next()
		if !ok {
			break
		}
		if kind == wire.TypeStructure {
			m := must.Get(wire.ParseStructure(body))
			applied = m.First + uint32(m.Count) - 1
		}
	}
	require.NoError(t, c.Send(wire.Command{ID: 1, Name: "launch", Args: d.args(launch{Missile: provisionalHandle(0)}), Provisionals: 1}))
	d.push(c, fire{Missile: provisionalHandle(1)})
	c.peer.Gone()
	c, next := d.resume(w, func(h *wire.Hello) { h.Structure = applied })
	require.EqualValues(t, 1, next.Resumed)
	require.EqualValues(t, 1, next.Commands)
	d.ticks(4)
	got := c.read()
	require.Contains(t, got, "answer 0v2 "+missile.String())
	require.NotContains(t, got, "result ok")
	require.Equal(t, 2, len(slices.DeleteFunc(got, func(s string) bool { return s[:6] != "answer" })))
	require.NoError(t, c.Send(wire.Command{ID: 2, Name: "launch", Args: d.args(launch{Missile: provisionalHandle(0)}), Provisionals: 1}))
	d.push(c, fire{Missile: provisionalHandle(1)})
	require.Equal(t, []string{"result bad-arguments"}, c.read(), "the session remembers what was named")
}

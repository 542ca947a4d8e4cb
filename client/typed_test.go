package client_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

type (
	eat struct {
		Bites uint8
		What  bulk.Handle `net:"ref"`
	}
	weigh   struct{}
	weighed struct {
		Kilos float32 `net:"range=0..200,step=0.5"`
	}
	pedals struct {
		Left, Right uint8
	}
)

func dinner(t testing.TB) *schema.Schema {
	s := schema.New()
	schema.DefineCommand[eat](s, "eat")
	schema.DefineQuery[weigh, weighed](s, "weigh")
	schema.DefineInput[pedals](s)
	require.NoError(t, s.Err())
	return s
}

// joinedSession returns a session that has joined, without a server.
func joinedSession(t testing.TB, s *schema.Schema) *client.Session {
	session := must.Get(client.NewSession(client.SessionConfig{Schema: s}))
	require.NoError(t, session.ReceiveStream(wire.AppendMessage(nil, stage.Welcome(s))))
	session.TakeStream()
	return session
}

// takeCommand returns the command that the session sends next.
func takeCommand(s *client.Session) wire.Command {
	return must.Get(wire.Parse[wire.Command](stage.FirstMessage(s.TakeStream(), wire.TypeCommand)))
}

func TestDo(t *testing.T) {
	s := dinner(t)
	session := joinedSession(t, s)
	args := eat{Bites: 3, What: bulk.NewHandle(9, 3)}
	for _, do := range []func() (*client.Future, error){
		func() (*client.Future, error) {
			return client.Do(session, schema.DefineCommand[eat](schema.New(), "eat"), walker, args)
		},
		func() (*client.Future, error) { return session.DoValue(walker, args) },
		func() (*client.Future, error) { return session.DoValue(walker, &args) },
	} {
		must.Get(do())
		sent := takeCommand(session)
		require.Equal(t, "eat", sent.Name)
		require.Equal(t, walker, sent.Target)
		require.Zero(t, sent.View, "nothing was shown")
		require.Zero(t, sent.Provisionals)
		var got eat
		require.NoError(t, rowschema.NewMessage(s.Commands()[0].Args).ReadValue(sent.Args, &got))
		require.Equal(t, args, got)
	}
	for _, v := range []any{nil, 5, pedals{}, weighed{}, "eat", (*eat)(nil)} {
		require.Error(t, must.Fail(session.DoValue(0, v)), "%T", v)
	}
	require.ErrorContains(t, must.Fail(session.DoRaw("eat", 0, nil)), "use client.Do")
	require.Empty(t, session.TakeStream())
	session.Lost(errors.New("the cat"))
	require.ErrorIs(t, must.Fail(session.DoValue(0, args)), client.ErrNotJoined)
}

func TestAsk(t *testing.T) {
	s := dinner(t)
	session := joinedSession(t, s)
	other := schema.New()
	_, err := client.Ask(session, schema.DefineQuery[weigh, weigh](other, "weigh"), 0, weigh{})
	require.ErrorContains(t, err, `command "weigh" without answer client_test.weigh`)
	require.ErrorContains(t, must.Fail(client.Ask(session, schema.DefineQuery[eat, weighed](other, "eat"), 0, eat{})), `command "eat" without answer`)
	require.Empty(t, session.TakeStream())

	weighing := schema.DefineQuery[weigh, weighed](schema.New(), "weigh")
	var queries []*client.Query[weighed]
	for range 4 {
		q := must.Get(client.Ask(session, weighing, walker, weigh{}))
		require.Equal(t, "weigh", takeCommand(session).Name)
		queries = append(queries, q)
	}
	_, _, done := queries[0].Poll()
	require.False(t, done)
	answer := must.Get(rowschema.NewMessage(s.Commands()[1].Answer).AppendValue(nil, weighed{70.5}))
	require.NoError(t, session.ReceiveStream(result(wire.Result{ID: 1, Verdict: wire.Live, Answer: answer})))
	got, r, done := queries[0].Poll()
	require.True(t, done)
	require.Equal(t, weighed{70.5}, got)
	require.Equal(t, client.Result{ID: 1, Target: walker, Verdict: wire.Live, Answer: weighed{70.5}}, r)
	got = must.Get(queries[0].Wait(context.Background()))
	require.Equal(t, weighed{70.5}, got)

	require.NoError(t, session.ReceiveStream(result(wire.Result{ID: 2, Code: wire.CommandRefused, Verdict: wire.Live})))
	got, err = queries[1].Wait(context.Background())
	require.Equal(t, wire.CommandRefused, wire.CodeOf(err))
	require.Zero(t, got)

	require.NoError(t, session.ReceiveStream(result(wire.Result{ID: 1 << 20, Verdict: wire.Live, Answer: []byte("?")})), "answers no command of ours")
	// A malformed answer is a protocol error, and its command still ends (C5).
	err = session.ReceiveStream(result(wire.Result{ID: 3, Verdict: wire.Live, Answer: append(answer, 0)}))
	require.Equal(t, wire.BadMessage, wire.CodeOf(err))
	session.Lost(err)
	for _, q := range queries[2:] {
		require.ErrorIs(t, must.Fail(q.Wait(context.Background())), client.ErrUnanswered)
	}
}

// Every answer is checked by the server's schema, even if the client does not declare it.
func TestAnswersAreAsTheServerDeclares(t *testing.T) {
	served, declared := dinner(t), schema.New()
	require.NoError(t, served.AddRawCommand("burp"))
	schema.DefineCommand[eat](declared, "eat")
	schema.DefineCommand[weigh](declared, "weigh")
	require.NoError(t, declared.Err())
	answer := must.Get(rowschema.NewMessage(served.Commands()[1].Answer).AppendValue(nil, weighed{70.5}))
	for _, c := range []struct {
		name   string
		send   func(*client.Session) (*client.Future, error)
		answer []byte
		wrong  bool
	}{
		{"none is declared", func(s *client.Session) (*client.Future, error) { return s.DoValue(walker, eat{}) }, answer, true},
		{"raw", func(s *client.Session) (*client.Future, error) { return s.DoRaw("burp", walker, nil) }, answer, true},
		{"unknown command", func(s *client.Session) (*client.Future, error) { return s.DoRaw("sing", walker, nil) }, answer, true},
		{"not declared here", func(s *client.Session) (*client.Future, error) { return s.DoValue(walker, weigh{}) }, answer, false},
		{"not declared here, malformed", func(s *client.Session) (*client.Future, error) { return s.DoValue(walker, weigh{}) }, append(answer, 0), true},
	} {
		h := newHandServer(t, served, declared)
		require.NoError(t, h.answer(asIs))
		f := must.Get(c.send(h.session))
		err := h.session.ReceiveStream(result(wire.Result{ID: f.ID(), Verdict: wire.Live, Answer: c.answer}))
		if c.wrong {
			require.Equal(t, wire.BadMessage, wire.CodeOf(err), c.name)
			continue
		}
		require.NoError(t, err, c.name)
		require.Nil(t, must.Have(f.Poll()).Answer)
	}
}

func TestTypedInput(t *testing.T) {
	s := dinner(t)
	session := joinedSession(t, s)
	in := pedals{1, 250}
	for i, v := range []any{in, &in} {
		tick := must.Get(session.SetInputValue(v, time.Second))
		require.EqualValues(t, i+1, tick)
	}
	var datagram wire.Input
	require.NoError(t, datagram.Parse(session.Input(time.Second)))
	require.Len(t, datagram.Inputs, 2)
	for _, input := range datagram.Inputs {
		var got pedals
		require.NoError(t, rowschema.NewMessage(s.Input()).ReadValue(input.Data, &got))
		require.Equal(t, in, got)
	}
	require.ErrorContains(t, must.Fail(session.SetRawInput([]byte{1, 250}, time.Second)), "use client.SetInput")
	for _, v := range []any{nil, weigh{}, []byte{1}} {
		require.Error(t, must.Fail(session.SetInputValue(v, time.Second)))
	}
	require.ErrorContains(t, must.Fail(joinedSession(t, schema.New()).SetInputValue(in, time.Second)), "declares no input")
	allocated := testing.AllocsPerRun(100, func() {
		_, _ = session.SetInputValue(&in, time.Second)
	})
	require.Zero(t, allocated)
}

// A client that declares no input learns so when it sends bytes to a server that declares one.
func TestRawInputToTypedServer(t *testing.T) {
	h := newHandServer(t, servedSchema(t), declare(t, component[armour]("armour")))
	require.NoError(t, h.answer(asIs))
	require.Empty(t, h.session.SchemaChanges(), "what only the server has is no change")
	_, err := h.session.SetRawInput([]byte{1}, time.Second)
	require.ErrorContains(t, err, "the server declares the type of inputs, and Config.Schema declares none")
}

// A command has the moment that was shown when it was made.
func TestCommandTellsTheView(t *testing.T) {
	s := newLinkedServer(t, 1, near, near)
	s.play(time.Second)
	s.session.TakeStream()
	shown := s.session.Render(s.time()).Tick
	must.Get(s.session.DoRaw("eat", walker, nil))
	require.InDelta(t, shown*256, float64(takeCommand(s.session).View), 1)
}

package client_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
)

func result(m wire.Result) []byte {
	m.Target = walker
	return wire.AppendMessage(nil, m)
}

// C5: answered, rejected or unanswered.
func TestFutures(t *testing.T) {
	s := newLinkedServer(t, 1, near, near).session
	var all []*client.Future
	for i := range uint32(wire.MaxUnanswered) {
		f := must.Get(s.DoRaw("eat", walker, nil))
		require.Equal(t, i+1, f.ID())
		all = append(all, f)
	}
	require.ErrorIs(t, must.Fail(s.DoRaw("eat", walker, nil)), client.ErrTooManyCommands)

	require.NoError(t, s.ReceiveStream(result(wire.Result{ID: 1 << 20, Verdict: wire.Live})), "answers no command of ours")
	must.Lack(all[0].Poll())
	require.ErrorContains(t, must.Fail(all[0].Wait(context.Background())), "Poll")
	require.NoError(t, s.ReceiveStream(result(wire.Result{ID: 1, Verdict: wire.Live})))
	require.NoError(t, s.ReceiveStream(result(wire.Result{ID: 2, Code: wire.CommandRefused, Verdict: wire.Live, Text: "not hungry"})))
	r := must.Get(all[0].Wait(context.Background()))
	require.Equal(t, client.Result{ID: 1, Target: walker, Verdict: wire.Live}, r)

	_, err := all[1].Wait(context.Background())
	var refused *client.Rejection
	require.ErrorAs(t, err, &refused)
	require.Equal(t, client.Rejection{Code: wire.CommandRefused, Command: "eat", Target: walker, Verdict: wire.Live, Text: "not hungry"}, *refused)
	require.Equal(t, wire.CommandRefused, wire.CodeOf(err))

	must.Lack(all[2].Poll())
	s.Lost(errors.New("the cat"))
	for _, f := range all[2:] {
		require.ErrorIs(t, must.Fail(f.Wait(context.Background())), client.ErrUnanswered)
	}
	require.ErrorIs(t, must.Fail(s.DoRaw("eat", walker, nil)), client.ErrNotJoined)
	stats := s.Stats()
	require.EqualValues(t, []uint64{256, 1, 254}, []uint64{stats.Commands, stats.Rejected, stats.Unanswered})
}

// A panic of Config.Result leaves no other Future without an end (C5).
func TestResultPanics(t *testing.T) {
	h := newCallbackServer(t, func(*client.Session) {})
	h.session = must.Get(client.NewSession(client.SessionConfig{Schema: h.schema, Result: func(r client.Result) { panic(r.ID) }}))
	require.NoError(t, h.answer(asIs))
	var all []*client.Future
	for range 3 {
		all = append(all, must.Get(h.session.DoRaw("eat", 0, nil)))
	}
	require.PanicsWithValue(t, uint32(1), func() { h.session.Lost(errors.New("the cat")) })
	for _, f := range all {
		r, done := f.Poll()
		require.True(t, done, "command %d", f.ID())
		require.ErrorIs(t, r.Err, client.ErrUnanswered)
	}
	require.EqualValues(t, 3, h.session.Stats().Unanswered)
}

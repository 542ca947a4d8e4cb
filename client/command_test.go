package client_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/replication/wire"
)

func result(id uint32, code wire.Code, v wire.Verdict) []byte {
	return wire.AppendFrame(nil, wire.TypeResult, wire.Result{ID: id, Code: code, Target: walker, Verdict: v}.Append(nil))
}

// C5: answered, rejected or unanswered.
func TestFutures(t *testing.T) {
	s := newStudio(t, 1, near, near).session
	var all []*client.Future
	for i := range uint32(client.MaxUnanswered) {
		f, err := s.Command("eat", walker, nil)
		require.NoError(t, err)
		require.Equal(t, i+1, f.ID())
		all = append(all, f)
	}
	_, err := s.Command("eat", walker, nil)
	require.Equal(t, wire.TooFast, wire.CodeOf(err), "bounded")

	require.NoError(t, s.ReceiveStream(result(3, wire.OK, wire.Live)), "to nothing that was asked next")
	_, done := all[0].Poll()
	require.False(t, done)
	_, err = all[0].Wait(context.Background())
	require.ErrorContains(t, err, "Poll")
	require.NoError(t, s.ReceiveStream(result(1, wire.OK, wire.Live)))
	require.NoError(t, s.ReceiveStream(result(2, wire.StaleHandle, wire.Stale)))
	r, err := all[0].Wait(context.Background())
	require.NoError(t, err)
	require.Equal(t, client.Result{ID: 1, Target: walker, Verdict: wire.Live}, r)

	_, err = all[1].Wait(context.Background())
	var refused *client.Rejection
	require.ErrorAs(t, err, &refused)
	require.Equal(t, client.Rejection{Code: wire.StaleHandle, Target: walker, Verdict: wire.Stale}, *refused)
	require.Equal(t, wire.StaleHandle, wire.CodeOf(err))
	require.ErrorContains(t, err, "0v1 is stale")

	_, done = all[2].Poll()
	require.False(t, done)
	why := errors.New("the cat")
	s.End(why)
	s.End(errors.New("later"))
	for _, f := range all[2:] {
		_, err := f.Wait(context.Background())
		var unanswered *client.Unanswered
		require.ErrorAs(t, err, &unanswered)
		require.ErrorIs(t, err, why)
	}
	_, err = s.Command("eat", walker, nil)
	require.ErrorIs(t, err, why)
	require.ErrorIs(t, s.ReceiveStream(nil), why)
	stats := s.Stats()
	require.EqualValues(t, []uint64{256, 1, 254}, []uint64{stats.Commands, stats.Rejected, stats.Unanswered})
}

// What the server says goodbye with is why a command was not answered.
func TestFuturesEndWithTheSession(t *testing.T) {
	s := newStudio(t, 1, near, near).session
	f, err := s.Command("eat", walker, nil)
	require.NoError(t, err)
	bye := wire.AppendFrame(nil, wire.TypeGoodbye, wire.Goodbye{Code: wire.Draining}.Append(nil))
	require.Error(t, s.ReceiveStream(bye))
	r, done := f.Poll()
	require.True(t, done)
	var unanswered *client.Unanswered
	require.ErrorAs(t, r.Err, &unanswered)
	require.Equal(t, wire.Draining, wire.CodeOf(r.Err))
}

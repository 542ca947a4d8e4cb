package main

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A panic ends its client, and the process continues (E1).
func TestPanic(t *testing.T) {
	var all table
	id := all.add(&hostedClient{cancel: func() {}, dialed: make(chan dialed, 1)})
	require.Equal(t, fault, all.call(id, func(*hostedClient) result { panic("a fault") }))
	require.Equal(t, fault, all.call(id, func(*hostedClient) result { return ok }))
	h := all.find(id)
	require.Contains(t, h.textOf(textError), "a fault")
	require.Equal(t, ok, all.destroy(id))
	all.leaving.Wait()
}

// An id is never used again (E2), and calls for one client do not overlap (E4).
func TestIDs(t *testing.T) {
	var all table
	newIdle := func() *hostedClient {
		return &hostedClient{cancel: func() {}, dialed: make(chan dialed, 1), over: true}
	}
	first := all.add(newIdle())
	require.NotZero(t, first)
	require.Equal(t, ok, all.call(first, func(*hostedClient) result {
		require.Equal(t, busy, all.call(first, func(*hostedClient) result { return ok }))
		require.Equal(t, busy, all.destroy(first))
		return ok
	}))
	require.Equal(t, ok, all.destroy(first))
	second := all.add(newIdle())
	require.NotEqual(t, first, second)
	for _, stale := range []uint64{0, first, second + 1, second | 1<<63, math.MaxUint64} {
		require.Equal(t, badClient, all.call(stale, func(*hostedClient) result { return ok }), "%x", stale)
		require.Equal(t, badClient, all.destroy(stale))
	}
	all.destroyAll()
	require.Equal(t, badClient, all.call(second, func(*hostedClient) result { return ok }))
}

// The clock follows the host's and never goes back.
func TestClock(t *testing.T) {
	c := hostClock{since: time.Now()}
	before := c.now()
	require.True(t, c.set(1e6), "any origin")
	require.GreaterOrEqual(t, c.now(), before)
	require.True(t, c.set(1e6+100))
	late := c.now()
	require.Greater(t, late, 99*time.Second)
	require.True(t, c.set(1e6+50), "a clock that goes back")
	require.GreaterOrEqual(t, c.now(), late)
	for _, none := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e300} {
		require.False(t, c.set(none))
	}
}

// Events that nobody takes are bounded, and their loss is told (E5).
func TestQueue(t *testing.T) {
	q := events{most: 3}
	for range 5 {
		q.add(event{kind: eventEnter})
	}
	for _, want := range []int{eventEnter, eventEnter, eventEnter, eventLost} {
		require.Equal(t, want, q.oldest().kind)
		q.drop()
	}
	require.Nil(t, q.oldest())
	require.EqualValues(t, 2, q.lost)
	q.add(event{kind: eventLeave, body: make([]byte, maxEventBytes+1)})
	require.Equal(t, eventLost, q.oldest().kind)
	q.drop()
	q.add(event{kind: eventLeave})
	require.Equal(t, eventLeave, q.oldest().kind)
}

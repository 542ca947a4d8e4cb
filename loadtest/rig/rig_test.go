package rig_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/shorttest"
	"github.com/worldd/worldd/loadtest/rig"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
)

var rough = rig.Link{Delay: 30 * time.Millisecond, Jitter: 40 * time.Millisecond, Loss: 0.1, Duplicate: 0.1, Reorder: 0.2}

func newPlayersRig(t testing.TB, seed uint64, link rig.Link, change ...func(*server.Config)) *rig.Rig {
	config, attach := newParadeGame()
	for _, f := range change {
		f(&config)
	}
	r := must.Get(rig.New(seed, rig.Config{Server: config, Link: link}))
	attach(r)
	t.Cleanup(r.Close)
	return r
}

func join(r *rig.Rig, name string) *rig.Client {
	return must.Get(r.Join(name))
}

// The same seed gives the same bytes at the same times, another seed gives others.
func TestSameSeedSameBytes(t *testing.T) {
	digest := func(seed uint64) uint64 {
		r := newPlayersRig(t, seed, rough)
		for i := range 4 {
			c := join(r, fmt.Sprint("player", i))
			c.EachFrame(30+10*i, func() error {
				if _, err := client.SetInput(c.Client, walkInput, walk{float32(i)}); err != nil {
					return err
				}
				c.Render()
				return c.Update()
			})
		}
		require.NoError(t, r.RunFor(2*time.Second))
		r.Clients()[1].Break()
		r.Clients()[2].SetLink(rig.Link{Loss: 1})
		require.NoError(t, r.RunFor(8*time.Second))
		require.Equal(t, client.Reconnecting, r.Clients()[2].State())
		return r.Digest()
	}
	first := digest(5)
	require.Equal(t, first, digest(5))
	require.NotEqual(t, first, digest(6))
}

// A client notices by itself that the link is cut, and resumes when it works again.
func TestCutAndHeal(t *testing.T) {
	var states []client.State
	r := newPlayersRig(t, 1, rig.Link{Delay: 20 * time.Millisecond})
	config, _ := newParadeGame()
	c := must.Get(r.Dial(client.Config{Schema: config.Schema, State: func(s client.StateChange) { states = append(states, s.State) }}))
	entity := c.Controlled()
	c.SetLink(rig.Link{Loss: 1})
	require.NoError(t, r.RunFor(6*time.Second))
	require.Equal(t, client.Reconnecting, c.State())
	require.Zero(t, r.Core().Away(), "the server waits longer")
	require.NoError(t, r.RunFor(6*time.Second))
	require.Equal(t, 1, r.Core().Away())
	c.SetLink(rough)
	require.NoError(t, r.RunUntil(10*time.Second, func() bool { return c.State() == client.Joined }))
	require.EqualValues(t, 1, c.Welcome().Resumed)
	require.Equal(t, entity, c.Controlled())
	require.Equal(t, []client.State{client.Joined, client.Reconnecting, client.Joined}, states)
}

// Both directions take the link's delay, and renders lag as over a network.
func TestDelay(t *testing.T) {
	r := newPlayersRig(t, 1, rig.Link{Delay: 100 * time.Millisecond})
	before := r.Now()
	c := join(r, "ada")
	require.GreaterOrEqual(t, r.Now()-before, 200*time.Millisecond)
	require.NoError(t, r.RunFor(2*time.Second))
	require.InDelta(t, 200, c.Stats().Clock.RTT.Milliseconds(), 20)
	require.NoError(t, c.Close())
	require.NoError(t, r.RunFor(time.Second))
	require.Empty(t, r.Clients())
	require.Zero(t, r.Core().Len(), "the Bye arrived")
}

// An error that ends a client ends its frames, and Step returns it once.
func TestFrameErrors(t *testing.T) {
	r := newPlayersRig(t, 1, rig.Link{})
	c := join(r, "ada")
	c.Session().Kick("enough")
	require.Equal(t, wire.Kicked, wire.CodeOf(r.RunFor(time.Second)))
	require.Equal(t, wire.Kicked, wire.CodeOf(c.Err()))
	require.NoError(t, r.Step())

	require.ErrorContains(t, must.Fail(newPlayersRig(t, 1, rig.Link{Loss: 1}).Join("bob")), "the link loses everything")
}

// A client can be closed while it has no connection, and asks for a token before each new one.
func TestCloseWhileReconnecting(t *testing.T) {
	r := newPlayersRig(t, 1, rig.Link{})
	config, _ := newParadeGame()
	tokens := 0
	c := must.Get(r.Dial(client.Config{Schema: config.Schema, FreshToken: func(context.Context) ([]byte, error) {
		tokens++
		return []byte("token"), nil
	}}))
	c.Break()
	require.NoError(t, r.RunUntil(time.Second, func() bool { return c.State() == client.Reconnecting }))
	require.NoError(t, r.RunUntil(time.Second, func() bool { return c.State() == client.Joined }))
	require.Equal(t, 1, tokens)
	c.Break()
	require.NoError(t, r.RunUntil(time.Second, func() bool { return c.State() == client.Reconnecting }))
	require.NoError(t, c.Close())
	require.NoError(t, r.RunFor(20*time.Second))
	require.Zero(t, r.Core().Len(), "its grace is over")
}

// A client that another client's frame closes makes no more frames, even at that moment.
func TestCloseInAnothersFrame(t *testing.T) {
	r := newPlayersRig(t, 1, rig.Link{})
	first, second := join(r, "ada"), join(r, "bob")
	frames, closed := 0, false
	second.EachFrame(1000, func() error {
		frames++
		require.False(t, closed)
		return second.Update()
	})
	require.NoError(t, r.Step())
	require.NotZero(t, frames)
	first.EachFrame(1000, func() error {
		if !closed {
			closed = true
			require.NoError(t, second.Close())
		}
		return first.Update()
	})
	require.NoError(t, r.Step())
	require.True(t, closed)
	require.NoError(t, second.Err())
}

// Waiting inside a frame would never end.
func TestNoWaitingInFrames(t *testing.T) {
	r := newPlayersRig(t, 1, rig.Link{})
	c := join(r, "ada")
	c.EachFrame(60, func() error { return c.Wait(context.Background()) })
	require.ErrorContains(t, r.RunFor(time.Second), "time cannot pass inside a frame")
}

// A failing script shrinks to the necessary actions, and its text fails again.
func TestSearchShrinks(t *testing.T) {
	start := func(seed uint64) (*rig.Run, error) {
		config, attach := newParadeGame()
		r, err := rig.New(seed, rig.Config{Server: config, Link: rough})
		if err != nil {
			return nil, err
		}
		attach(r)
		primed, fired := false, false
		return &rig.Run{
			Rig: r,
			Actions: map[string]func(*rig.Client, int){
				"blow":  func(c *rig.Client, _ int) { _, _ = client.Do(c, blowCommand, 0, blow{}) },
				"prime": func(_ *rig.Client, number int) { primed = primed || number%4 == 0 },
				"fire":  func(*rig.Client, int) { fired = fired || primed },
			},
			Check: func() error {
				if fired {
					return errors.New("boom")
				}
				return nil
			},
		}, nil
	}
	err := rig.Search(20, 120, start)
	require.ErrorContains(t, err, "boom")
	_, text, found := strings.Cut(err.Error(), "does:\n")
	require.True(t, found)
	s := must.Get(rig.ParseScript(text))
	var did []string
	for _, a := range s.Actions {
		did = append(did, a.Do)
	}
	require.Equal(t, []string{"join", "prime", "fire"}, did)
	require.ErrorContains(t, rig.Replay(text, start), "boom")
	s.Actions = s.Actions[:2]
	require.NoError(t, rig.Replay(s.String(), start))
}

// Random scripts of a game without a fault pass: joins, leaves, broken and changing links.
func TestSearchPasses(t *testing.T) {
	seeds := shorttest.Pick[uint64](12, 3)
	heard := 0
	require.NoError(t, rig.Search(seeds, 300, func(seed uint64) (*rig.Run, error) {
		config, attach := newParadeGame()
		r, err := rig.New(seed, rig.Config{Server: config, Link: rig.RandomLink(int(seed))})
		if err != nil {
			return nil, err
		}
		attach(r)
		var events client.Events
		client.OnEvent(&events, hornEvent, func(uint32, horn) { heard++ })
		return &rig.Run{
			Rig: r,
			Join: func(name string) (*rig.Client, error) {
				return r.Dial(client.Config{Name: name, Schema: config.Schema, Events: &events})
			},
			Actions: map[string]func(*rig.Client, int){"blow": func(c *rig.Client, _ int) { _, _ = client.Do(c, blowCommand, 0, blow{}) }},
		}, nil
	}))
	require.Positive(t, heard)
}

func TestParseScript(t *testing.T) {
	s := rig.GenerateScript(3, 100, 60, []string{"blow"})
	require.NotEmpty(t, s.Actions)
	got := must.Get(rig.ParseScript(s.String()))
	require.Equal(t, s, got)
	for _, bad := range []string{"", "seed=1", "seed=1 ticks=2\n@1 join", "seed=1 ticks=2\njoin 1 2 3"} {
		require.Error(t, must.Fail(rig.ParseScript(bad)), "%q", bad)
	}
	require.ErrorContains(t, rig.Replay("seed=1 ticks=9\n@0 join 0 0\n@1 dance 0 0", func(uint64) (*rig.Run, error) {
		return &rig.Run{Rig: newPlayersRig(t, 1, rig.Link{})}, nil
	}), `no action "dance"`)
}

package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// newCallCore returns a core whose output does not wait.
func newCallCore(t *testing.T, signals ...Signal) *Core {
	c, _ := newHeldCore(t)
	own := c.config
	own.World, own.HoldOutput, own.Hooks.Signals = must.Get(world.New(world.Config{Seed: 1})), false, signals
	return must.Get(NewCore(own))
}

// settled returns the result of a call that must have one.
func settled(t *testing.T, k *Call) error {
	t.Helper()
	select {
	case <-k.done:
	default:
		t.Fatal("the call has no result")
	}
	_, err := k.Await()
	return err
}

func isOpen(k *Call) bool {
	select {
	case <-k.done:
		return false
	default:
		return true
	}
}

// A call runs once, in the receive phase of the next tick, in the order of posting.
func TestCallRunsBetweenTicks(t *testing.T) {
	c := newCallCore(t)
	var ran []string
	refused := errors.New("refused")
	note := func(name string, err error) func(w *world.World) error {
		return func(w *world.World) error {
			ran = append(ran, fmt.Sprint(name, w.Tick()))
			return err
		}
	}
	first, second := c.Post(t.Context(), note("a", nil)), c.Post(t.Context(), note("b", refused))
	require.True(t, isOpen(first))
	c.Tick()
	require.NoError(t, settled(t, first))
	require.Equal(t, refused, settled(t, second), "the function's own error")
	c.Tick()
	require.Equal(t, []string{"a0", "b0"}, ran)
	require.Equal(t, []uint64{2, 1}, []uint64{c.Stats().Calls, c.Stats().CallsFailed})
}

// A call that has run never says that it has not, or that its outcome is unknown, also if its function returns what a
// call to another room has said. The rest of this error stays.
func TestCallThatReturnsAnOutcomeOfAnother(t *testing.T) {
	for _, outcome := range []error{ErrNotRun, ErrOutcomeUnknown} {
		c := newCallCore(t)
		other := fmt.Errorf("the other room: %w: %w", outcome, errManyCalls)
		k := c.Post(t.Context(), func(*world.World) error { return other })
		c.Tick()
		err := settled(t, k)
		require.EqualError(t, err, other.Error())
		require.NotErrorIs(t, err, outcome)
		require.ErrorIs(t, err, errManyCalls)
		require.Equal(t, wire.RateLimited, wire.CodeOf(err))
	}
}

// A call never runs if its context has ended when a tick reaches it. If it has begun, its outcome is unknown.
func TestCallEndsWithItsContext(t *testing.T) {
	c := newCallCore(t)
	ctx, cancel := context.WithCancel(t.Context())
	k := c.Post(ctx, func(*world.World) error {
		t.Error("it has run")
		return nil
	})
	cancel()
	c.Tick()
	_, err := k.Await()
	require.ErrorIs(t, err, ErrNotRun)
	require.ErrorIs(t, err, context.Canceled)

	ctx, cancel = context.WithCancel(t.Context())
	given := make(chan error)
	k = c.Post(ctx, func(*world.World) error {
		cancel()
		go func() {
			_, err := k.Await()
			given <- err
		}()
		err = <-given
		return nil
	})
	c.Tick()
	require.ErrorIs(t, err, ErrOutcomeUnknown)
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, ErrNotRun)
}

// The number of waiting calls is bounded, as is the number of calls in a tick. A call whose caller has gone takes no place.
func TestCallsAreBounded(t *testing.T) {
	c := newCallCore(t)
	ctx, cancel := context.WithCancel(t.Context())
	ran := 0
	run := func(*world.World) error {
		ran++
		return nil
	}
	for range maxCalls {
		c.Post(ctx, run)
	}
	err := settled(t, c.Post(t.Context(), run))
	require.ErrorIs(t, err, ErrNotRun)
	require.Equal(t, wire.RateLimited, wire.CodeOf(err))
	c.Tick()
	require.Equal(t, callsPerTick, ran)
	for range callsPerTick {
		c.Post(ctx, run)
	}
	cancel()
	k := c.Post(t.Context(), run)
	c.Tick()
	require.NoError(t, settled(t, k))
	require.Equal(t, callsPerTick+1, ran)
}

// With HoldOutput an answer leaves with the frame that holds its effects (J1). If this frame never becomes durable, the
// outcome is unknown.
func TestCallWaitsForItsFrame(t *testing.T) {
	c, _ := newHeldCore(t)
	k := c.Post(t.Context(), func(*world.World) error { return nil })
	c.Tick()
	require.True(t, isOpen(k))
	c.Release(0)
	require.True(t, isOpen(k))
	c.Release(1)
	require.NoError(t, settled(t, k))

	c.Receive()
	c.Step()
	c.Release(2)
	k = c.Post(t.Context(), func(*world.World) error { return nil })
	c.Send(func() bool { return false })
	c.Tick()
	require.True(t, isOpen(k))
	lost := c.Post(t.Context(), func(*world.World) error { return nil })
	c.Tick()
	c.Release(3)
	require.NoError(t, settled(t, k))
	c.Close()
	require.ErrorIs(t, settled(t, lost), ErrOutcomeUnknown)
}

// A core that ends refuses new calls and the calls in its queue: it runs none of them.
func TestCallToACoreThatEnds(t *testing.T) {
	never := func(*world.World) error { panic("it has run") }
	for name, end := range map[string]func(*Core){
		"drain": (*Core).Drain, "shutdown": (*Core).Shutdown, "close": (*Core).Close,
		"abandon": func(c *Core) { c.Abandon(&wire.Error{Code: wire.Draining}) },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCallCore(t)
			waiting := c.Post(t.Context(), never)
			require.False(t, c.CloseIfEmpty(), "a call waits")
			end(c)
			for _, k := range []*Call{waiting, c.Post(t.Context(), never)} {
				err := settled(t, k)
				require.ErrorIs(t, err, ErrNotRun)
				require.Equal(t, wire.Draining, wire.CodeOf(err))
			}
		})
	}
}

// A panic of the game's own code is the call's error. One of a library ends the tick, and leaves the outcome
// unknown, as the end of the goroutine does.
func TestCallThatPanics(t *testing.T) {
	c := newCallCore(t)
	var reported []HookPanic
	c.OnPanic(func(p HookPanic) { reported = append(reported, p) })
	k := c.Post(t.Context(), func(*world.World) error { panic("own") })
	c.Tick()
	require.Equal(t, errHookPanicked, settled(t, k))
	require.Equal(t, []any{"own", HookCall, uint64(1)}, []any{reported[0].Value, reported[0].Hook, c.Stats().Panics[HookCall]})

	k = c.Post(t.Context(), func(w *world.World) error {
		w.Step()
		return nil
	})
	require.Panics(t, c.Tick)
	require.ErrorIs(t, settled(t, k), ErrOutcomeUnknown)

	k = c.Post(t.Context(), func(*world.World) error {
		runtime.Goexit()
		return nil
	})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.Tick()
	}()
	<-ended
	require.ErrorIs(t, settled(t, k), ErrOutcomeUnknown)

	c = newCallCore(t)
	c.calls.panicEnds = true
	k = c.Post(t.Context(), func(*world.World) error { panic("own") })
	require.PanicsWithValue(t, "own", c.Tick)
	require.ErrorIs(t, settled(t, k), ErrOutcomeUnknown)
}

// A panic that ends a tick leaves the calls behind it in the queue: the end of the core refuses them.
func TestCallsBehindAPanicAreRefused(t *testing.T) {
	c := newCallCore(t)
	c.Post(t.Context(), func(w *world.World) error {
		w.Step()
		return nil
	})
	behind := c.Post(t.Context(), func(*world.World) error { panic("it has run") })
	require.Panics(t, c.Tick)
	require.True(t, isOpen(behind))
	c.Abandon(&wire.Error{Code: wire.Draining})
	require.ErrorIs(t, settled(t, behind), ErrNotRun)
}

// Answers that wait for the disk are bounded: while the journal hangs, no further calls run.
func TestHeldAnswersAreBounded(t *testing.T) {
	c, _ := newHeldCore(t)
	ran := 0
	run := func(*world.World) error {
		ran++
		return nil
	}
	for range 2 * maxCalls / callsPerTick {
		for range callsPerTick {
			require.True(t, isOpen(c.Post(t.Context(), run)))
		}
		c.Tick()
	}
	require.Equal(t, maxCalls, ran)
	err := settled(t, c.Post(t.Context(), run))
	require.ErrorIs(t, err, ErrNotRun)
	require.Equal(t, wire.RateLimited, wire.CodeOf(err))
	c.Release(1)
	c.Tick()
	require.Equal(t, maxCalls+callsPerTick, ran)
}

type grant struct {
	Item  string
	Count uint8
}

type granted struct {
	Entity world.Entity
	Tick   uint64
}

// The arguments and the answer of a signal are typed, and in JSON.
func TestSignal(t *testing.T) {
	var got []grant
	c := newCallCore(t,
		OnSignal("grant", func(w *world.World, g grant) (granted, error) {
			got = append(got, g)
			return granted{7<<32 | 5, w.Tick()}, nil
		}),
		OnSignal("refuse", func(*world.World, struct{}) (struct{}, error) {
			return struct{}{}, &Rejection{Text: "no"}
		}),
		OnSignal("flood", func(*world.World, struct{}) (string, error) { return strings.Repeat("x", MaxSignalBytes), nil }),
	)
	signal := func(name, args string) (string, error) {
		k := c.PostSignal(t.Context(), name, []byte(args))
		c.Tick()
		answer, err := k.Await()
		return string(answer), err
	}
	answer, err := signal("grant", `{"Item": "sword", "Count": 3}`)
	require.NoError(t, err)
	require.Equal(t, []grant{{"sword", 3}}, got)
	var back granted
	require.NoError(t, json.Unmarshal([]byte(answer), &back))
	require.Equal(t, granted{7<<32 | 5, 0}, back)
	must.Get(signal("grant", ""))
	require.Equal(t, grant{}, got[1])

	for args, want := range map[string]string{
		`{"Item": "sword", "count_of": 3}`: "unknown field", `{"Count": 256}`: "256", `{`: "EOF", `{} {}`: "more than one", `nonsense`: "invalid character",
		`"` + strings.Repeat("x", MaxSignalBytes): "at most 65536",
	} {
		_, err = signal("grant", args)
		require.ErrorContains(t, err, want)
		require.ErrorIs(t, err, ErrNotRun)
		require.Equal(t, wire.BadArguments, wire.CodeOf(err))
	}
	_, err = signal("gift", "")
	require.ErrorIs(t, err, ErrNotRun)
	require.Equal(t, wire.UnknownCommand, wire.CodeOf(err))
	require.Len(t, got, 2)
	_, err = signal("refuse", "")
	require.Equal(t, &Rejection{Text: "no"}, err)
	_, err = signal("flood", "")
	require.ErrorContains(t, err, "its answer cannot be sent")
	require.NotErrorIs(t, err, ErrNotRun)
}

// Signals without functions, and with names that are invalid or used twice, are faults of the configuration.
func TestSignalsAreValidated(t *testing.T) {
	f := func(*world.World, struct{}) (struct{}, error) { return struct{}{}, nil }
	c, _ := newHeldCore(t)
	own := c.config
	own.Hooks.Signals = []Signal{OnSignal("twice", f), OnSignal("twice", f), OnSignal("", f), OnSignal[struct{}, struct{}]("nil", nil)}
	_, err := NewCore(own)
	for _, want := range []string{`"twice" has two functions`, `a signal named ""`, `"nil" is nil`} {
		require.ErrorContains(t, err, want)
	}
}

package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

const (
	// maxCalls bounds the calls that wait for a tick. A backend that calls faster than the world ticks
	// must not fill the memory. It also bounds the calls whose answers wait for the disk.
	maxCalls = 256
	// callsPerTick bounds the calls of one tick: each runs a function of the game inside it.
	callsPerTick = 64
)

// Errors of calls, which wrap the reason. Any other error is the function's own, and wraps neither.
var (
	// ErrNotRun: the function has not run, and will not.
	ErrNotRun = errors.New("server: the function has not run")
	// ErrOutcomeUnknown: the function has begun. The caller cannot know whether it returned, or whether its effects
	// survive a crash.
	ErrOutcomeUnknown = errors.New("server: the function has begun, with an unknown outcome")
)

var errManyCalls = &wire.Error{Code: wire.RateLimited, Detail: fmt.Sprintf("%d calls wait for a tick", maxCalls)}

// Call is a function of the game that another goroutine has posted to a Core. It runs once, in the receive
// phase of a tick, on the goroutine that calls Tick.
type Call struct {
	ctx     context.Context
	hook    Hook
	run     func(*world.World) ([]byte, error)
	claimed atomic.Bool   // by the tick that runs it, or by the first that gives it up
	done    chan struct{} // closed when answer and err are final
	answer  []byte
	err     error
}

// Await waits for the result, or until the call's context ends. With Config.HoldOutput the result waits
// until the frame that holds its effects is durable.
func (k *Call) Await() (answer []byte, err error) {
	select {
	case <-k.done:
		return k.answer, k.err
	case <-k.ctx.Done():
	}
	if k.claimed.CompareAndSwap(false, true) {
		return nil, fmt.Errorf("%w: %w", ErrNotRun, context.Cause(k.ctx))
	}
	select {
	case <-k.done:
		return k.answer, k.err
	default:
		return nil, fmt.Errorf("%w: %w", ErrOutcomeUnknown, context.Cause(k.ctx))
	}
}

// settle makes the result final.
func (k *Call) settle(answer []byte, err error) {
	k.answer, k.err = answer, err
	close(k.done)
}

// refuse settles a call that no tick has claimed.
func (k *Call) refuse(why error) {
	if k.claimed.CompareAndSwap(false, true) {
		k.settle(nil, fmt.Errorf("%w: %w", ErrNotRun, why))
	}
}

// calls are the functions that other goroutines have posted to a Core, and everything that runs them.
type calls struct {
	queue     callQueue
	signals   signalFuncs
	world     *world.World
	stats     *Stats
	faults    *faultRecord
	timer     *hookTimer
	panicEnds bool
	gate      *outputGate // holds the results; nil: they leave at once
}

// Post posts f to the next tick. f runs only if ctx has not ended when the tick reaches it; once begun, it
// runs to its end. Post may be called from any goroutine.
func (c *calls) Post(ctx context.Context, f func(*world.World) error) *Call {
	return c.post(ctx, HookCall, func(w *world.World) ([]byte, error) { return nil, f(w) })
}

// PostSignal posts a signal like Post: see Hooks.Signals. The answer is JSON.
func (c *calls) PostSignal(ctx context.Context, name string, args []byte) *Call {
	run, err := c.signals.parse(name, args)
	if err != nil {
		k := &Call{ctx: ctx, done: make(chan struct{})}
		k.refuse(err)
		return k
	}
	return c.post(ctx, HookSignal, run)
}

func (c *calls) post(ctx context.Context, hook Hook, run func(*world.World) ([]byte, error)) *Call {
	k := &Call{ctx: ctx, hook: hook, run: run, done: make(chan struct{})}
	c.queue.add(k)
	return k
}

// runCalls runs the calls of one tick. Those behind a call that ends the tick by a panic stay in the queue.
func (c *calls) runCalls() {
	for range min(c.queue.count(), callsPerTick, c.gate.freeAnswers()) {
		k := c.queue.takeFirst()
		if k != nil && k.ctx.Err() == nil && k.claimed.CompareAndSwap(false, true) {
			c.runCall(k)
		}
	}
}

// runCall runs a call. Its result leaves as the output of this frame does.
func (c *calls) runCall(k *Call) {
	returned := false
	defer func() {
		if !returned { // a library panicked, or the game ended the goroutine: the world may be half changed
			k.settle(nil, fmt.Errorf("%w: the room failed", ErrOutcomeUnknown))
		}
	}()
	c.stats.Calls++
	answer, err := c.callGame(k)
	returned = true
	if err != nil {
		c.stats.CallsFailed++
		err = withoutOutcome(err)
	}
	if c.gate == nil {
		k.settle(answer, err)
		return
	}
	c.gate.holdAnswer(heldAnswer{k, answer, err})
}

// callGame runs the function of a call.
func (c *calls) callGame(k *Call) (answer []byte, err error) {
	defer c.timer.end(k.hook, 0, "", c.timer.begin())
	if !c.panicEnds {
		defer func() {
			if value := recover(); value != nil {
				c.faults.notePanic(k.hook, 0, value)
			}
		}()
		err = errHookPanicked // unless run returns
	}
	return k.run(c.world)
}

// withoutOutcome returns the error of a function that has run, without the outcome of another call that the error wraps.
func withoutOutcome(err error) error {
	if errors.Is(err, ErrNotRun) || errors.Is(err, ErrOutcomeUnknown) {
		return ownError{err}
	}
	return err
}

// ownError hides the outcome in an error of a call's function: a caller would take it for the outcome of the call.
type ownError struct{ err error }

// Error implements error.
func (e ownError) Error() string { return e.err.Error() }

// Is is for errors.Is.
func (e ownError) Is(target error) bool {
	return target != ErrNotRun && target != ErrOutcomeUnknown && errors.Is(e.err, target)
}

// As is for errors.As.
func (e ownError) As(target any) bool { return errors.As(e.err, target) }

// refuse refuses waiting and later calls, since the Core ends.
func (c *calls) refuse(why error) { c.queue.refuseAll(why) }

// isEmpty reports whether no call waits.
func (c *calls) isEmpty() bool { return c.queue.count() == 0 }

// callQueue holds the calls that wait for a tick. Any goroutine may call its methods.
type callQueue struct {
	mu      sync.Mutex
	waiting []*Call
	refusal error // of all later calls; nil: none
}

// add queues k, or refuses it.
func (q *callQueue) add(k *Call) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) >= maxCalls {
		q.waiting = slices.DeleteFunc(q.waiting, func(k *Call) bool { return k.ctx.Err() != nil })
	}
	switch {
	case q.refusal != nil:
		k.refuse(q.refusal)
	case len(q.waiting) >= maxCalls:
		k.refuse(errManyCalls)
	default:
		q.waiting = append(q.waiting, k)
	}
}

// takeFirst returns the call that has waited longest, or nil.
func (q *callQueue) takeFirst() *Call {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		return nil
	}
	k := q.waiting[0]
	q.waiting = slices.Delete(q.waiting, 0, 1)
	return k
}

// count returns the number of waiting calls.
func (q *callQueue) count() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

// refuseAll refuses the waiting calls and all later ones.
func (q *callQueue) refuseAll(why error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.refusal = why
	for _, k := range q.waiting {
		k.refuse(why)
	}
	q.waiting = nil
}

// heldAnswer is the result of a call whose frame is not durable yet.
type heldAnswer struct {
	call   *Call
	answer []byte
	err    error
}

func (a heldAnswer) pass() { a.call.settle(a.answer, a.err) }

// discard settles the call of a frame that will never be durable.
func (a heldAnswer) discard() {
	a.call.settle(nil, fmt.Errorf("%w: the room ended before its effects were durable", ErrOutcomeUnknown))
}

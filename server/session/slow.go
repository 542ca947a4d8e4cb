package session

import "time"

// SlowHook is a call of the game that took longer than a tick, so the tick was late for every session.
type SlowHook struct {
	Hook    Hook
	Session uint64 // session id; 0 for HookCall, HookSignal, HookTold and HookSave, whose calls of a tick are timed together
	Command string // of HookCommand
	Took    time.Duration
}

// hookTimer finds calls of the game that take longer than a tick. Without a clock it does nothing.
type hookTimer struct {
	clock  func() time.Duration
	limit  time.Duration
	report func(SlowHook)
	counts [hooks]uint64
}

// start reports calls that take longer than limit from now on.
func (t *hookTimer) start(clock func() time.Duration, limit time.Duration, report func(SlowHook)) {
	t.clock, t.limit, t.report = clock, limit, report
}

// begin returns the time at which a call begins.
func (t *hookTimer) begin() time.Duration {
	if t.clock == nil {
		return 0
	}
	return t.clock()
}

// end reports a call that began at began if it was slow. It is deferred around the call.
func (t *hookTimer) end(hook Hook, session uint64, command string, began time.Duration) {
	if t.clock == nil {
		return
	}
	took := t.clock() - began
	if took > t.limit {
		t.counts[hook]++
		t.report(SlowHook{hook, session, command, took})
	}
}

// OnSlowHook sets a function to call for each call of the game that takes longer than a tick, by a clock:
// any duration that grows with time. Admit is not timed, since no tick waits for it. It must be set before
// the first Tick.
func (c *Core) OnSlowHook(clock func() time.Duration, f func(SlowHook)) {
	c.timer.start(clock, time.Second/time.Duration(c.world.TickHz()), f)
}

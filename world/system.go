package world

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Phase is the time within a step at which a system runs.
type Phase int

const (
	// Before systems run ahead of the sleep flush and the forces. A velocity that they
	// set takes effect in the same step.
	Before Phase = iota
	// After systems run when bodies have moved and the grid is up to date, ahead of
	// the deferred destroys.
	After
)

// String returns "before" or "after".
func (p Phase) String() string {
	switch p {
	case Before:
		return "before"
	case After:
		return "after"
	}
	return fmt.Sprintf("Phase(%d)", int(p))
}

// system is a registered system and its running costs.
type system struct {
	name     string
	phase    Phase
	run      func(*World)
	follows  []string // names of systems that run first
	runs     uint64
	last     time.Duration
	longest  time.Duration
	duration time.Duration // duration of all runs
	slow     uint64        // runs that took longer than a tick
}

// AddSystem adds f to a phase of every step, under a name used by Stats and
// Quarantined. All Before systems run ahead of all After systems. Within a phase,
// systems run in the order in which they were added, except that each runs after the
// systems that it follows, even if these are added later. Systems named in follows need not
// exist. The error names an unknown phase, an empty or taken name, a missing function, or
// systems whose orders contradict each other.
func (w *World) AddSystem(p Phase, name string, f func(*World), follows ...string) error {
	if p != Before && p != After {
		return fmt.Errorf("%w: system %q: no phase %d; use Before or After", ErrValue, name, int(p))
	}
	if f == nil {
		return fmt.Errorf("%w: system %q has no function", ErrValue, name)
	}
	if name == "" {
		return fmt.Errorf("%w: a system needs a name", ErrName)
	}
	if slices.ContainsFunc(w.added, func(s *system) bool { return s.name == name }) {
		return fmt.Errorf("%w: system %q already exists", ErrName, name)
	}
	added := append(slices.Clip(w.added), &system{name: name, phase: p, run: f, follows: slices.Clone(follows)})
	sorted, err := sortSystems(added)
	if err != nil {
		return err
	}
	w.added, w.systems = added, sorted
	w.noteSetupChange()
	return nil
}

// sortSystems sorts systems topologically. Among systems that are ready, the one added
// first runs first.
func sortSystems(added []*system) ([]*system, error) {
	left, sorted := slices.Clone(added), make([]*system, 0, len(added))
	for len(left) > 0 {
		next := slices.IndexFunc(left, func(s *system) bool {
			return !slices.ContainsFunc(left, func(other *system) bool { return other.precedes(s) })
		})
		if next < 0 {
			return nil, fmt.Errorf("%w: the orders of systems contradict each other, or their phases: %s", ErrValue, findCycle(left))
		}
		sorted = append(sorted, left[next])
		left = slices.Delete(left, next, next+1)
	}
	return sorted, nil
}

func (s *system) precedes(other *system) bool {
	return s.phase < other.phase || slices.Contains(other.follows, s.name)
}

// findCycle describes a cycle among systems that each have a predecessor among them.
func findCycle(left []*system) string {
	path := []*system{left[0]}
	for {
		last := path[len(path)-1]
		i := slices.IndexFunc(left, func(s *system) bool { return s.precedes(last) })
		if start := slices.Index(path, left[i]); start >= 0 {
			path = append(path[start:], left[i])
			break
		}
		path = append(path, left[i])
	}
	slices.Reverse(path)
	names := make([]string, len(path))
	for i, s := range path {
		names[i] = fmt.Sprintf("%q (%v)", s.name, s.phase)
	}
	return strings.Join(names, " before ")
}

// SetClock gives the world a clock to time systems: any duration that grows with time, such
// as the process's uptime. Without a clock, or with nil, systems are not timed. The clock
// affects only Stats.
func (w *World) SetClock(now func() time.Duration) { w.clock = now }

// TraceSystems calls f after each system of every step, once the system's deferred changes are made, and with an
// empty name once bodies have moved, ahead of the After systems. f must not change the world. nil ends the trace.
// If two worlds have the same StateHash before a system and others after it, the system made the difference.
func (w *World) TraceSystems(f func(system string)) { w.trace = f }

// SystemStats is the cost of one system. Durations are zero without a clock.
type SystemStats struct {
	Name    string
	Phase   Phase
	Runs    uint64
	Last    time.Duration // last run, including its deferred changes
	Longest time.Duration
	Total   time.Duration
	Slow    uint64 // runs that took longer than a tick
}

// systemStats describes the systems in running order.
func (w *World) systemStats() []SystemStats {
	w.stats = w.stats[:0]
	for _, s := range w.systems {
		w.stats = append(w.stats, SystemStats{s.name, s.phase, s.runs, s.last, s.longest, s.duration, s.slow})
	}
	return w.stats
}

func (w *World) runSystems(p Phase) {
	for _, s := range w.systems {
		if s.phase == p {
			w.runSystem(s)
		}
	}
}

func (w *World) runSystem(s *system) {
	var from time.Duration
	if w.clock != nil {
		from = w.clock()
	}
	w.current = s.name
	s.run(w)
	w.current = ""
	w.ApplyDeferred()
	w.markSpawned()
	s.runs++
	if w.clock != nil {
		s.last = w.clock() - from
		s.longest = max(s.longest, s.last)
		s.duration += s.last
		if s.last > time.Second/time.Duration(w.cfg.TickHz) {
			s.slow++
		}
	}
	if w.trace != nil {
		w.trace(s.name)
	}
}

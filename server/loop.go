package server

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"go.uber.org/zap"

	"github.com/worldd/worldd/internal/admin"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// After a stall the loop makes up for minDebtTicks, or for the ticks of maxDebt if those are
// more. It skips the rest, and the world falls behind the clock: otherwise a server slightly
// too slow would never catch up.
const (
	minDebtTicks = 5
	maxDebt      = time.Second / 12
)

// runEndNotice is the time before the end of a run in which the coming end is logged once a
// day.
const runEndNotice = 30 * 24 * time.Hour

// ErrTicksSpent ends a run that has exhausted the protocol's tick numbers. The next run, from
// the server's image, starts counting again.
var ErrTicksSpent = errors.New("server: the run has exhausted the protocol's tick numbers: restart the server from its image")

// maxWarned bounds the memory and log lines of warnInterpreted: games choose the names of
// effects.
const maxWarned = 64

// loop ticks a Core in real time, on the goroutine that owns the world.
type loop struct {
	core     *session.Core
	timings  *admin.TickTimings
	saver    *saver
	journal  *journal // nil: none
	permit   *permit  // nil: the server has no cluster
	log      *zap.Logger
	errs     *gameErrors // logs slow systems; may be nil
	trace    *tracer     // receives slow ticks; may be nil
	clock    func() time.Duration
	interval time.Duration
	ticking  uint64        // oldest tick whose frame is not yet committed
	framed   bool          // the frame before it was committed, and its tick has not begun
	until    time.Time     // when the current tick stops encoding snapshots
	enough   func() bool   // reports that until has passed; made once to avoid an allocation per tick
	timer    *time.Timer   // until the next tick
	requests chan func()   // of ask, run between two ticks
	offset   time.Duration // of the first tick
	second   func()        // called once a second; may be nil
	sessions atomic.Int64  // after the newest tick
	expiring atomic.Bool   // the run is in its last month: the next start begins another

	mu       sync.Mutex // guards the fields below that report reads
	ticks    *hdrhistogram.Histogram
	phases   [admin.Phases]time.Duration // total times
	late     uint64
	missed   uint64
	missedBy [admin.Phases + 1]uint64 // by the cause of the stall
	thinned  uint64
	onTime   punctuality
	pace     pace
	lastTick time.Time
	snapshot admin.Report

	warned []string // logged names of interpreted effects
}

func newLoop(core *session.Core, timed *admin.TickTimings, s *saver, log *zap.Logger) *loop {
	hz, full := core.World().TickHz(), float64(core.Config().Replication.SnapshotHz)
	l := &loop{
		core: core, timings: timed, saver: s, requests: make(chan func()), interval: time.Second / time.Duration(hz),
		pace: pace{full: full, hz: full}, onTime: punctuality{window: uint64(hz)}, log: log,
		ticks: newTickHistogram(tickDigits),
	}
	l.enough = func() bool { return !time.Now().Before(l.until) }
	began := time.Now()
	l.clock = func() time.Duration { return time.Since(began) }
	core.World().SetClock(l.clock)
	return l
}

const (
	// tickDigits is the precision of the histogram of tick durations. roomDigits is the
	// precision for one room of many, which takes 20 KB instead of 140.
	tickDigits = 3
	roomDigits = 2
)

// newTickHistogram returns a histogram of durations up to a minute, in microseconds.
func newTickHistogram(digits int) *hdrhistogram.Histogram {
	return hdrhistogram.New(1, int64(time.Minute/time.Microsecond), digits)
}

// tickUntil ticks until ctx is done, and once more if there are active sessions. It returns
// ErrTicksSpent if the run has no ticks left, and errLost at once if the room is lost.
func (l *loop) tickUntil(ctx context.Context) (err error) {
	l.timer = time.NewTimer(0)
	defer l.timer.Stop()
	l.publishReport(0) // otherwise reports would be empty for a second
	due := time.Now().Add(l.offset)
	var spent [admin.Phases]time.Duration
	for n := uint64(1); ; n++ {
		if !l.sleepUntil(ctx, due) {
			break
		}
		now := time.Now()
		may, thawed := l.permit.beginTick(now)
		if !may {
			due = now.Add(l.interval)
			continue
		}
		if thawed {
			l.core.DropInputs() // sent before their clients saw the freeze
		}
		late := time.Since(due)
		debt := late / l.interval
		skipped := max(debt-max(minDebtTicks, maxDebt/l.interval), 0)
		l.countPunctuality(debt > 0, uint64(skipped), stallCause(spent, debt*l.interval))
		if debt > 0 {
			l.core.World().NoteLate(late)
		}
		due = due.Add((1 + skipped) * l.interval)
		left := l.core.TicksLeft()
		l.warnRunEnd(left)
		if left == 0 {
			err = ErrTicksSpent
			break
		}
		spent = l.runTick(due, false)
		spent[admin.PhaseBetween] = l.workBetween(n)
		l.recordPhases(spent)
		if err = l.journal.err(); err != nil {
			break
		}
	}
	if l.permit.isLost() {
		return errLost
	}
	if err == nil && l.core.Active() > 0 && l.permit.mayRun() {
		l.recordPhases(l.runTick(due, true))
	}
	l.publishReport(l.core.World().StateHash())
	return err
}

// stallCause returns the longest phase of the tick before a stall, or admin.Phases if that tick took less
// than half of it: the process did not run.
func stallCause(spent [admin.Phases]time.Duration, stall time.Duration) int {
	longest, whole := 0, time.Duration(0)
	for phase, d := range spent {
		whole += d
		if d > spent[longest] {
			longest = phase
		}
	}
	if whole < stall/2 {
		return admin.Phases
	}
	return longest
}

// workBetween does the work between tick n of the loop and the next, and returns how long it
// took.
func (l *loop) workBetween(n uint64) time.Duration {
	began := time.Now()
	l.answerRequest()
	l.saver.afterTick(began)
	if n%uint64(l.core.World().TickHz()) == 0 {
		l.publishReport(0)
		l.updatePace()
		if l.second != nil {
			l.second()
		}
	}
	return time.Since(began)
}

// warnRunEnd logs the coming end of the run once a day in its last month.
func (l *loop) warnRunEnd(left uint64) {
	hz := uint64(l.core.World().TickHz())
	expires := left <= noticeTicks(l.core.World())
	l.expiring.Store(expires)
	if day := 24 * 3600 * hz; expires && left%day == 0 {
		l.log.Warn("the protocol's tick numbers will be exhausted soon, which ends the server: restart it from its image before that",
			zap.Duration("left", time.Duration(left/hz)*time.Second))
	}
}

// noticeTicks returns runEndNotice in ticks.
func noticeTicks(w *world.World) uint64 { return uint64(runEndNotice.Seconds()) * uint64(w.TickHz()) }

// sleepUntil sleeps until due. It returns false if ctx is done, or the room is lost.
func (l *loop) sleepUntil(ctx context.Context, due time.Time) bool {
	l.timer.Reset(time.Until(due))
	select {
	case <-l.timer.C:
		return ctx.Err() == nil && !l.permit.isLost()
	case <-ctx.Done():
		return false
	case <-l.permit.lost():
		return false
	}
}

// countPunctuality counts a tick and the ticks skipped before it, with their cause. It logs when the server falls
// behind or catches up.
func (l *loop) countPunctuality(late bool, skipped uint64, cause int) {
	l.mu.Lock()
	if late {
		l.late++
	}
	l.missed += skipped
	l.missedBy[cause] += skipped
	changed, behind := l.onTime.countTick(late, skipped), l.onTime.behind
	l.mu.Unlock()
	switch {
	case changed && behind:
		l.log.Warn("ticks are late or missed: not ready for more clients")
	case changed:
		l.log.Info("ticks are on time again: ready")
	}
}

// runTick runs Core.Tick with a time bound for snapshots, and returns the durations of its
// phases. The following tick is due at next. The last tick sends every session a snapshot:
// clients then have seen the world that is saved, except for the effects of ending their
// sessions.
func (l *loop) runTick(next time.Time, last bool) (spent [admin.Phases]time.Duration) {
	began := time.Now()
	l.ticking, l.framed = l.core.World().Tick()+1, false
	l.core.Receive()
	received := time.Now()
	l.core.Step()
	l.journal.commitTick(l.saver.awaitsFirstImage())
	l.ticking, l.framed = l.ticking+1, true // a panic from now on meets the next start after this tick
	stepped := time.Now()
	if l.errs != nil && stepped.Sub(received) > l.interval {
		l.errs.logSlowSystems(l.core.World().Stats().Systems, l.interval)
	}
	switch {
	case !l.permit.mayRun(): // the step took too long, or the process stood still
	case last:
		l.core.SendAll()
	default:
		l.until = snapshotDeadline(next, stepped, l.interval)
		l.core.Send(l.enough)
	}
	l.sessions.Store(int64(l.core.Len()))
	ended := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.core.Waiting() > 0 {
		l.thinned++
	}
	l.lastTick = ended
	return [admin.Phases]time.Duration{admin.PhaseReceive: received.Sub(began), admin.PhaseStep: stepped.Sub(received), admin.PhaseReplicate: ended.Sub(stepped)}
}

// recordPhases records the durations of a tick's phases.
func (l *loop) recordPhases(spent [admin.Phases]time.Duration) {
	whole := l.timings.ObserveTick(spent)
	l.trace.sendTick(whole, l.interval, spent)
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.ticks.RecordValue(max(whole.Microseconds(), 1)) // fails for durations above a minute, which are not recorded
	for phase, d := range spent {
		l.phases[phase] += d
	}
}

// publishReport copies the state that this goroutine owns for report. Hashing takes time
// proportional to the world and would delay a tick, so hash is 0 until the last tick.
func (l *loop) publishReport(hash uint64) {
	c := l.core
	r := admin.Report{
		World: c.World().Stats(), StateHash: hash, Sessions: c.Stats(), Active: c.Active(), Away: c.Away(), Replication: c.Replication(),
	}
	l.warnInterpreted(r.World.Interpreted)
	r.World.Systems, r.World.Interpreted = slices.Clone(r.World.Systems), slices.Clone(r.World.Interpreted) // the world reuses them
	l.mu.Lock()
	defer l.mu.Unlock()
	l.snapshot = r
}

// warnInterpreted logs once each effect that runs interpreted instead of on vector kernels. The
// results are the same, so only the log reveals it.
func (l *loop) warnInterpreted(effects []world.InterpretedEffect) {
	for _, e := range effects {
		if !slices.Contains(l.warned, e.Name) && len(l.warned) < maxWarned {
			l.warned = append(l.warned, e.Name)
			l.log.Warn("an effect is interpreted, which takes about 40 times as long as vector kernels", zap.String("effect", e.Name), zap.Error(e.Reason))
		}
	}
}

// report returns the last published state with current tick figures. Any goroutine may call it.
func (l *loop) report() admin.Report {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.snapshot
	us := func(v int64) time.Duration { return time.Duration(v) * time.Microsecond }
	r.Tick = admin.TickReport{
		RateHz: l.core.World().TickHz(), Count: uint64(l.ticks.TotalCount()), Late: l.late, Missed: l.missed, MissedBy: l.missedBy, Behind: l.onTime.behind,
		P50: us(l.ticks.ValueAtQuantile(50)), P99: us(l.ticks.ValueAtQuantile(99)), Max: us(l.ticks.Max()),
		SnapshotHz: l.pace.hz, Thinned: l.thinned,
		Receive: l.phases[admin.PhaseReceive], Step: l.phases[admin.PhaseStep], Replicate: l.phases[admin.PhaseReplicate], Between: l.phases[admin.PhaseBetween],
	}
	r.Images, r.Journal = l.saver.report(), l.journal.report()
	r.LastTick = l.lastTick
	if l.permit.isFrozen() { // it will tick again: no probe should end the process
		r.LastTick = time.Now()
	}
	return r
}

// silentSince returns the time since the newest tick, or since opened if there was none.
func (l *loop) silentSince(opened time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lastTick.After(opened) {
		opened = l.lastTick
	}
	return time.Since(opened)
}

// tickDurations returns the histogram of all tick durations since the start, in microseconds.
func (l *loop) tickDurations() *hdrhistogram.Histogram {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ticks.Clone()
}

// endSessions ends all sessions. The published hash stays the last tick's, which the replay of
// a recording reaches: the effects of leaving would belong to another tick.
func (l *loop) endSessions() {
	l.core.Shutdown()
	l.publishReport(l.snapshot.StateHash)
}

// abandonSessions ends the connections of all sessions, which another process continues: at another address if moved is not nil.
func (l *loop) abandonSessions(moved *wire.Error) {
	if moved != nil {
		l.core.AbandonMoved(moved)
	} else {
		l.core.Abandon(&wire.Error{Code: wire.Draining})
	}
	l.publishReport(l.snapshot.StateHash)
}

// askTimeout bounds how long a request of the admin port waits for the tick.
const askTimeout = time.Second

var errNoTick = errors.New("the world is not ticking")

// runBetweenTicks runs f between two ticks, on the goroutine that owns the world (S1).
func (l *loop) runBetweenTicks(ctx context.Context, f func()) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	done := make(chan struct{})
	select {
	case l.requests <- func() {
		defer close(done) // also if f panics, which ends the room
		f()
	}:
	case <-ctx.Done():
		return errNoTick
	}
	<-done // f has been received, so it will run
	return nil
}

func (l *loop) answerRequest() {
	select {
	case f := <-l.requests:
		f()
	default:
	}
}

package server

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"go.uber.org/zap"

	"github.com/worldd/worldd/internal/admin"
	"github.com/worldd/worldd/world"
)

// maxDebtTicks is how many ticks the loop makes up for after a stall. Beyond,
// the world falls behind the clock: catching up for ever is how a server that
// is a little too slow becomes one that stands still.
const maxDebtTicks = 5

// endAnnounced is for how long the end of a run is announced, once a day.
const endAnnounced = 30 * 24 * time.Hour

// ErrTicksSpent is the end of a run that has made all ticks that the protocol can
// count. The server's next run, from its image, has as many again.
var ErrTicksSpent = errors.New("server: the run has made all ticks that the protocol can count: start the server again, from its image")

// maxWarned bounds the memory and the log lines of warnInterpreted: games may name
// effects after whatever they like.
const maxWarned = 64

// loop ticks a Core in real time, on the goroutine that owns the world.
type loop struct {
	core     *Core
	timings  *admin.Timings
	saver    *saver
	log      *zap.Logger
	interval time.Duration
	until    time.Time   // when the present tick leaves off making snapshots
	enough   func() bool // whether it is that late; bound once, since binding allocates
	slept    *time.Timer
	asked    chan func() // by the operator, to be run between two ticks

	mu       sync.Mutex // guards what report reads
	ticks    *hdrhistogram.Histogram
	spent    [admin.Phases]time.Duration
	late     uint64
	missed   uint64
	thinned  uint64
	keeping  punctuality
	pace     pace
	lastTick time.Time
	snapshot Report

	warned []string // names of interpreted effects that the log has
}

func newLoop(core *Core, timed *admin.Timings, s *saver, log *zap.Logger) *loop {
	hz, full := core.World().TickHz(), float64(core.Config().Replication.SnapshotHz)
	l := &loop{
		core: core, timings: timed, saver: s, asked: make(chan func()), interval: time.Second / time.Duration(hz),
		pace: pace{full: full, hz: full}, keeping: punctuality{window: uint64(hz)}, log: log,
		ticks: hdrhistogram.New(1, int64(time.Minute/time.Microsecond), 3), // microseconds
	}
	l.enough = func() bool { return !time.Now().Before(l.until) }
	began := time.Now()
	core.World().SetClock(func() time.Duration { return time.Since(began) })
	return l
}

// run ticks until ctx is done, and then once more for those who are there; or until
// there are no more ticks in the run, which is an error.
func (l *loop) run(ctx context.Context) (err error) {
	l.slept = time.NewTimer(0)
	defer l.slept.Stop()
	l.publish(l.core.World().StateHash()) // or the world would seem empty for a second
	due := time.Now()
	for n := uint64(1); ; n++ {
		if !l.sleepUntil(ctx, due) {
			break
		}
		debt := time.Since(due) / l.interval
		skipped := max(debt-maxDebtTicks, 0)
		l.countPunctuality(debt > 0, uint64(skipped))
		due = due.Add((1 + skipped) * l.interval)
		left := l.core.TicksLeft()
		if l.announce(left); left == 0 {
			err = ErrTicksSpent
			break
		}
		l.tick(due, false)
		l.answer()
		l.saver.afterTick(time.Now())
		if n%uint64(l.core.World().TickHz()) == 0 {
			l.publish(l.core.World().StateHash())
			l.lookAtPace()
		}
	}
	if err == nil && l.core.Active() > 0 {
		l.tick(due, true)
	}
	l.publish(l.core.World().StateHash())
	return err
}

// announce warns of the end of the run, once a day in its last month.
func (l *loop) announce(left uint64) {
	hz := uint64(l.core.World().TickHz())
	if day := 24 * 3600 * hz; left <= uint64(endAnnounced.Seconds())*hz && left%day == 0 {
		l.log.Warn("the protocol's ticks are nearly used up, and then the server ends: start it again, from its image, at a time of your choice",
			zap.Duration("left", time.Duration(left/hz)*time.Second))
	}
}

func (l *loop) sleepUntil(ctx context.Context, due time.Time) bool {
	l.slept.Reset(time.Until(due))
	select {
	case <-l.slept.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// countPunctuality counts a tick, and tells the operator if the server is behind from
// now on, or no more.
func (l *loop) countPunctuality(late bool, skipped uint64) {
	l.mu.Lock()
	if late {
		l.late++
	}
	l.missed += skipped
	changed, behind := l.keeping.tick(late, skipped), l.keeping.behind
	l.mu.Unlock()
	switch {
	case changed && behind:
		l.log.Warn("ticks are late or missed: not ready for more clients")
	case changed:
		l.log.Info("ticks are in time again: ready")
	}
}

// tick is Core.Tick with its phases timed, and with an end to the last of them. next
// is when the tick after it is due. In the last one everybody is sent a snapshot: the
// world that is saved is then the one that clients saw last, but for what the ends of
// their sessions do to it.
func (l *loop) tick(next time.Time, last bool) {
	began := time.Now()
	l.core.Receive()
	received := time.Now()
	l.core.Step()
	stepped := time.Now()
	if last {
		l.core.SendAll()
	} else {
		l.until = snapshotsUntil(next, stepped, l.interval)
		l.core.Send(l.enough)
	}
	ended := time.Now()
	spent := [admin.Phases]time.Duration{admin.PhaseReceive: received.Sub(began), admin.PhaseStep: stepped.Sub(received), admin.PhaseReplicate: ended.Sub(stepped)}
	l.timings.ObserveTick(spent)
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.ticks.RecordValue(max(ended.Sub(began).Microseconds(), 1)) // a minute and more is a minute
	for phase, d := range spent {
		l.spent[phase] += d
	}
	if l.core.Waiting() > 0 {
		l.thinned++
	}
	l.lastTick = ended
}

// publish copies what belongs to this goroutine for report.
func (l *loop) publish(hash uint64) {
	c := l.core
	r := Report{
		World: c.World().Stats(), StateHash: hash, Sessions: c.Stats(), Active: c.Active(), Away: c.Away(), Replication: c.Replication(),
	}
	l.warnInterpreted(r.World.Interpreted)
	r.World.Systems, r.World.Interpreted = slices.Clone(r.World.Systems), slices.Clone(r.World.Interpreted) // which the world writes over
	l.mu.Lock()
	defer l.mu.Unlock()
	l.snapshot = r
}

// warnInterpreted logs each effect that vector kernels should run and do not, once: its
// results are right, so nothing else shows it.
func (l *loop) warnInterpreted(effects []world.InterpretedEffect) {
	for _, e := range effects {
		if !slices.Contains(l.warned, e.Name) && len(l.warned) < maxWarned {
			l.warned = append(l.warned, e.Name)
			l.log.Warn("an effect is interpreted, which takes some 40 times as long as vector kernels", zap.String("effect", e.Name), zap.Error(e.Reason))
		}
	}
}

func (l *loop) report() Report {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.snapshot
	us := func(v int64) time.Duration { return time.Duration(v) * time.Microsecond }
	r.Tick = TickReport{
		RateHz: l.core.World().TickHz(), Count: uint64(l.ticks.TotalCount()), Late: l.late, Missed: l.missed, Behind: l.keeping.behind,
		P50: us(l.ticks.ValueAtQuantile(50)), P99: us(l.ticks.ValueAtQuantile(99)), Max: us(l.ticks.Max()),
		SnapshotHz: l.pace.hz, Thinned: l.thinned,
		Receive: l.spent[admin.PhaseReceive], Step: l.spent[admin.PhaseStep], Replicate: l.spent[admin.PhaseReplicate],
	}
	r.Images = l.saver.report()
	r.LastTick = l.lastTick
	return r
}

// durations of all ticks since the start, in microseconds.
func (l *loop) durations() *hdrhistogram.Histogram {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ticks.Clone()
}

// drain ends all sessions. The hash stays that of the last tick: what their leaving
// does to the world is for a tick that will not come, and no replay of a recording
// gets there.
func (l *loop) drain() {
	l.core.Shutdown()
	l.publish(l.snapshot.StateHash)
}

// askTimeout is how long the operator's port waits for the tick.
const askTimeout = time.Second

var errNoTick = errors.New("the world does not tick")

// ask runs f between two ticks, on the goroutine that owns the world (S1).
func (l *loop) ask(ctx context.Context, f func()) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	done := make(chan struct{})
	select {
	case l.asked <- func() { f(); close(done) }:
	case <-ctx.Done():
		return errNoTick
	}
	<-done // whoever took it is running it
	return nil
}

// answer runs one question, if there is one.
func (l *loop) answer() {
	select {
	case f := <-l.asked:
		f()
	default:
	}
}

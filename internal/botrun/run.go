package botrun

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/loadtest/bot"
)

// Run loads the server of c with bots and returns their report. It dials one bot first:
// if that fails, it returns the error. All later failures are part of the report.
//
// If ctx ends early, the report is marked Interrupted. progress, if not nil, is called
// once per second, never concurrently, and may fill in the server's data. All
// goroutines have ended when Run returns.
func Run(ctx context.Context, c Config, progress func(*Progress)) (*Report, error) {
	c = c.withDefaults()
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c.began = time.Now()
	r := &run{config: c, begun: c.began, sampler: newSampler(measuredBy(c.Player, c.Scenario))}
	for i := range c.Bots {
		if c.isAttacker(i) {
			continue
		}
		r.bots = append(r.bots, newBot(i, c))
	}
	if c.Link == (Link{}) {
		defer openPorts(r.bots)()
	}
	timed, cancel := context.WithTimeout(ctx, c.Duration)
	defer cancel()
	if err := r.bots[0].dialServer(timed); err != nil {
		if ctx.Err() != nil {
			return nil, errors.New("interrupted before the first bot had joined")
		}
		return nil, fmt.Errorf("no bot can join: %w", err)
	}
	r.playAll(timed, progress)
	return r.newReport(ctx.Err() != nil), nil
}

// openPorts gives each group of portBots bots a common socket. If the socket cannot be opened,
// each of these bots opens its own, or fails with the cause.
func openPorts(bots []*loadBot) (closeAll func()) {
	var ports []*client.Port
	for group := range slices.Chunk(bots, portBots) {
		p, err := client.OpenPort()
		if err != nil {
			continue
		}
		ports = append(ports, p)
		for _, b := range group {
			b.port = p
		}
	}
	return func() {
		for _, p := range ports {
			_ = p.Close() // the error has no recipient
		}
	}
}

// run is the state of one Run.
type run struct {
	config   Config
	begun    time.Time
	bots     []*loadBot // without attackers
	outcomes []outcome
	sampler  *sampler
	storm    outcome // what the storm's witnesses had seen when it began
	attacks  Attacks
}

// playAll runs all bots until ctx ends.
func (r *run) playAll(ctx context.Context, progress func(*Progress)) {
	r.outcomes = make([]outcome, len(r.bots))
	var playing sync.WaitGroup
	for i, b := range r.bots {
		playing.Go(func() { r.outcomes[i] = r.playBot(ctx, b) })
	}
	r.startAttackers(ctx, &playing)
	over := make(chan struct{})
	go func() {
		playing.Wait()
		close(over)
	}()
	r.watchRun(ctx, over, progress)
}

// watchRun takes a sample each second until the run is over.
func (r *run) watchRun(ctx context.Context, over <-chan struct{}, progress func(*Progress)) {
	second := time.NewTicker(time.Second)
	defer second.Stop()
	var storm <-chan time.Time
	if r.config.Scenario == bot.JoinStorm {
		timer := time.NewTimer(time.Until(r.begun.Add(r.config.stormStart())))
		defer timer.Stop()
		storm = timer.C
	}
	for {
		select {
		case <-over:
			return
		case <-storm:
			r.storm = r.sumWitnessed()
		case now := <-second.C:
			if ctx.Err() != nil { // bots are already leaving
				continue
			}
			p := r.sampler.takeSample(now.Sub(r.begun), r.bots, !r.config.Ordinary)
			if progress != nil {
				progress(&p)
			}
			r.sampler.series = append(r.sampler.series, p)
		}
	}
}

// sumWitnessed adds up what a join storm's first bots have seen so far.
func (r *run) sumWitnessed() (sum outcome) {
	for _, b := range r.bots[:r.config.witnessCount()] {
		b.board.mu.Lock()
		sum = sum.plus(b.board.total)
		b.board.mu.Unlock()
	}
	return sum
}

// startAttackers starts the attackers, which end with ctx.
func (r *run) startAttackers(ctx context.Context, playing *sync.WaitGroup) {
	r.attacks.Closed, r.attacks.Refused = map[string]uint64{}, map[string]uint64{}
	var mu sync.Mutex
	for i := range r.config.Bots {
		if !r.config.isAttacker(i) {
			continue
		}
		a := newAttacker(i, r.config)
		playing.Go(func() {
			pauseFor(ctx, r.config.turnToDial(i))
			done := a.repeatAttack(ctx, i/2)
			mu.Lock()
			r.attacks.add(done)
			mu.Unlock()
		})
	}
}

// playBot runs one bot from its turn to dial to its end.
func (r *run) playBot(ctx context.Context, b *loadBot) outcome {
	if b.number > 0 {
		pauseFor(ctx, r.config.turnToDial(b.number))
		if ctx.Err() != nil {
			return outcome{} // never dialled, so neither connected nor failed
		}
		if err := b.dialServer(ctx); err != nil {
			return r.dialFailed(ctx, b, err)
		}
	}
	for {
		staying, leave := r.startVisit(ctx, b)
		err := b.playUntil(staying)
		leave()
		if err == nil {
			err = b.account.lostError()
			if err != nil && ctx.Err() == nil {
				continue // stay, to see how the outage ends
			}
		}
		if err != nil {
			return r.endBroken(b, err)
		}
		total := b.endRun(nil)
		if ctx.Err() != nil {
			return total
		}
		b.prepareVisit()
		if err := b.dialServer(ctx); err != nil {
			return r.dialFailed(ctx, b, err)
		}
	}
}

// startVisit returns the context of one visit, which Churn ends early.
func (r *run) startVisit(ctx context.Context, b *loadBot) (context.Context, context.CancelFunc) {
	if r.config.Scenario != bot.Churn {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, shortestStay+time.Duration(b.rng.Int64N(int64(longestStay-shortestStay))))
}

// dialFailed returns the outcome of a bot that could not dial. At the end of the run that is no
// failure.
func (r *run) dialFailed(ctx context.Context, b *loadBot, err error) outcome {
	if ctx.Err() != nil {
		return b.account.past
	}
	return r.endBroken(b, err)
}

func (r *run) endBroken(b *loadBot, err error) outcome {
	r.config.Log.Warn("bot failed", zap.Int("bot", b.number), zap.Error(err))
	return b.endRun(err)
}

// newReport adds up the outcomes of all bots after they have ended.
func (r *run) newReport(interrupted bool) *Report {
	report := &Report{
		Scenario: r.config.Scenario, Seed: r.config.Seed, Bots: len(r.bots),
		DurationS: roundDown(time.Since(r.begun).Seconds(), 3), Interrupted: interrupted,
	}
	var total outcome
	counts := newCounts(r.sampler.metrics)
	var exact exactness
	for i, b := range r.bots {
		o := r.outcomes[i]
		if o.connected {
			report.Connected++
		}
		if o.failure != nil {
			report.Failed++
			if len(report.Failures) < ReportedFailures {
				report.Failures = append(report.Failures, Failure{b.number, oneLine(o.failure)})
			}
		}
		total = total.plus(o)
		report.Handles.add(b.board.handles)
		addCounts(counts, b.board.counts)
		exact = exact.plus(b.board.exactness)
		for _, d := range b.exactness.divergences {
			if len(report.Divergences) < ReportedFailures {
				report.Divergences = append(report.Divergences, d)
			}
		}
		report.Forgotten += b.oracle.forgotten
		for _, c := range b.oracle.recorded {
			if len(report.Confusions) < bot.ReportedConfusions {
				report.Confusions = append(report.Confusions, c)
			}
		}
		r.sampler.collectSamples(b)
	}
	report.Net, report.Server = total.netReport(), total.server
	if !r.config.Ordinary {
		report.Motion = exact.motionReport(exact.Owed, total.seconds)
	}
	report.Net.Latency = latencyOf(r.sampler.all)
	report.Input = inputLatencyOf(r.sampler.inputs)
	report.Joins = joinsOf(total.joins)
	report.Outages = total.outages.report()
	report.Series = r.sampler.series
	report.Game = gameReport(r.sampler.metrics, counts, r.sampler.game)
	switch r.config.Scenario {
	case bot.JoinStorm:
		report.Storm = r.stormReport()
	case bot.Hostile:
		report.Attacks = &r.attacks
	}
	return report
}

// stormReport compares what the witnesses had seen at the end with what they had seen when the
// storm began.
func (r *run) stormReport() *Storm {
	first := r.config.witnessCount()
	var end outcome
	for _, o := range r.outcomes[:first] {
		end = end.plus(o)
	}
	n := outcome{expected: end.expected - r.storm.expected, received: end.received - r.storm.received}.netReport()
	s := &Storm{Witnesses: first, SnapshotsExpected: n.SnapshotsExpected, SnapshotsReceived: n.SnapshotsReceived, DeliveredRatio: n.DeliveredRatio}
	var last time.Duration
	for _, o := range r.outcomes[first:] {
		if len(o.joins) == 0 {
			return s
		}
		last = max(last, o.joins[0])
	}
	in := roundDown(last.Seconds(), 3)
	s.AllInS = &in
	return s
}

// oneLine returns the error's text without line breaks, for a table.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

package bot

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"go.uber.org/zap"

	"github.com/worldd/worldd/replication/wire"
)

// Run loads the server of c with bots and returns what they found. It dials
// one bot first: if that cannot join, there is no run, and the error says why.
// From then on everything that goes wrong is part of the report.
//
// The end of ctx ends the run early, and lawfully: the report then says
// Interrupted. progress, if not nil, is called once a second, never twice at a
// time. Nothing is left running when Run returns.
func Run(ctx context.Context, c Config, progress func(Progress)) (*Report, error) {
	c = c.withDefaults()
	if err := c.Validate(); err != nil {
		return nil, err
	}
	schema, err := NewSchema()
	if err != nil {
		return nil, err
	}
	r := &run{config: c, schema: schema, begun: time.Now()}
	for i := range c.Bots {
		b, err := newBot(i, c, schema)
		if err != nil {
			return nil, err
		}
		r.bots = append(r.bots, b)
	}
	timed, cancel := context.WithTimeout(ctx, c.Duration)
	defer cancel()
	if err := r.bots[0].dial(timed, schema); err != nil {
		if ctx.Err() != nil {
			return nil, errors.New("interrupted before the first bot had joined")
		}
		return nil, fmt.Errorf("no bot can join: %w", err)
	}
	r.play(timed, progress)
	return r.report(ctx.Err() != nil), nil
}

// run is one Run.
type run struct {
	config   Config
	schema   *wire.Schema
	begun    time.Time
	bots     []*bot
	outcomes []outcome // by bot; read when all have ended
	bytes    uint64    // at the last progress
	looked   time.Time
}

// play lets all bots join and play until ctx ends.
func (r *run) play(ctx context.Context, progress func(Progress)) {
	r.outcomes = make([]outcome, len(r.bots))
	var playing sync.WaitGroup
	for i, b := range r.bots {
		playing.Go(func() { r.outcomes[i] = r.life(ctx, i, b) })
	}
	over := make(chan struct{})
	go func() {
		playing.Wait()
		close(over)
	}()
	second := time.NewTicker(time.Second)
	defer second.Stop()
	r.looked = r.begun
	for {
		select {
		case <-over:
			return
		case now := <-second.C:
			if progress != nil && ctx.Err() == nil { // at the end bots have left already
				progress(r.progress(now))
			}
		}
	}
}

// life is one bot's, from its turn to dial until its end.
func (r *run) life(ctx context.Context, i int, b *bot) outcome {
	if i > 0 {
		turn := time.NewTimer(time.Duration(i) * time.Second / dialsPerSecond)
		defer turn.Stop()
		select {
		case <-turn.C:
		case <-ctx.Done():
			return outcome{} // never tried: not connected, and not failed
		}
		if err := b.dial(ctx, r.schema); err != nil {
			if ctx.Err() != nil {
				return outcome{}
			}
			return r.broken(b, err)
		}
	}
	if err := b.play(ctx); err != nil {
		return r.broken(b, err)
	}
	return b.end(nil)
}

func (r *run) broken(b *bot, err error) outcome {
	r.config.Log.Warn("bot failed", zap.Int("bot", b.number), zap.Error(err))
	return b.end(err)
}

// progress adds up the boards.
func (r *run) progress(now time.Time) Progress {
	p := Progress{ElapsedS: now.Sub(r.begun).Seconds(), Bots: len(r.bots)}
	var bytes uint64
	for _, b := range r.bots {
		b.board.mu.Lock()
		if b.board.connected {
			p.Connected++
		}
		if b.board.failed {
			p.Failed++
		}
		bytes += b.board.bytes
		p.Handles.add(b.board.handles)
		b.board.mu.Unlock()
	}
	if p.Connected > 0 {
		p.BytesPerClientS = float64(bytes-r.bytes) / now.Sub(r.looked).Seconds() / float64(p.Connected)
	}
	r.bytes, r.looked = bytes, now
	return p
}

// report adds up everything, once all bots have ended.
func (r *run) report(interrupted bool) *Report {
	report := &Report{Bots: len(r.bots), DurationS: rounded(time.Since(r.begun).Seconds(), 3), Interrupted: interrupted}
	latency := hdrhistogram.New(1, latencyHighest, latencyDigits)
	var bytes uint64
	var seconds float64
	for i, b := range r.bots {
		o := r.outcomes[i]
		if o.connected {
			report.Connected++
		}
		if o.failure != nil {
			report.Failed++
			if len(report.Failures) < ReportedFailures {
				report.Failures = append(report.Failures, Failure{i, oneLine(o.failure)})
			}
		}
		bytes += o.bytes
		seconds += o.seconds
		report.Net.SnapshotsExpected += o.expected
		report.Net.SnapshotsReceived += o.received
		report.Handles.add(b.board.handles)
		report.Forgotten += b.oracle.forgotten
		for _, c := range b.oracle.recorded {
			if len(report.Confusions) < ReportedConfusions {
				report.Confusions = append(report.Confusions, c)
			}
		}
		latency.Merge(b.latency)
	}
	report.Net.complete(bytes, seconds, latency)
	return report
}

func (n *Net) complete(bytes uint64, seconds float64, latency *hdrhistogram.Histogram) {
	if seconds > 0 {
		n.BytesPerClientS = rounded(float64(bytes)/seconds, 1)
	}
	if n.SnapshotsExpected > 0 {
		ratio := rounded(float64(n.SnapshotsReceived)/float64(n.SnapshotsExpected), 6)
		n.DeliveredRatio = &ratio
	}
	if latency.TotalCount() > 0 {
		p50 := float64(latency.ValueAtPercentile(50)) / 1000
		p99 := float64(latency.ValueAtPercentile(99)) / 1000
		n.LatencyP50Ms, n.LatencyP99Ms = &p50, &p99
	}
}

// rounded leaves the digits that mean something. It rounds down, so that a
// ratio of 1 says that nothing is missing.
func rounded(v float64, digits int) float64 {
	unit := math.Pow10(digits)
	return math.Floor(v*unit) / unit
}

// oneLine is an error without line breaks: it goes into a table.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

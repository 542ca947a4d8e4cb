package botrun

import (
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/worldd/worldd/loadtest/bot"
)

// sampler reads all bots' boards once per second.
type sampler struct {
	all     *hdrhistogram.Histogram            // latencies of the whole run, µs
	recent  *hdrhistogram.Histogram            // of the last second
	inputs  *hdrhistogram.Histogram            // input latencies of the whole run, µs
	game    map[string]*hdrhistogram.Histogram // samples of metrics, in sampleUnit
	metrics []bot.Metric
	series  []Progress
	before  outcome   // sum at the last sample
	exact   exactness // the same
	looked  time.Duration
}

func newSampler(metrics []bot.Metric) *sampler {
	return &sampler{
		all:    hdrhistogram.New(1, latencyHighest, latencyDigits),
		recent: hdrhistogram.New(1, latencyHighest, latencyDigits),
		inputs: hdrhistogram.New(1, latencyHighest, latencyDigits),
		game:   map[string]*hdrhistogram.Histogram{}, metrics: metrics,
	}
}

// takeSample adds up the boards and collects new latencies.
func (s *sampler) takeSample(elapsed time.Duration, bots []*loadBot, simulate bool) Progress {
	p := Progress{ElapsedS: elapsed.Seconds(), Bots: len(bots)}
	var now outcome
	var exact exactness
	counts := newCounts(s.metrics)
	for _, b := range bots {
		s.collectSamples(b)
		b.board.mu.Lock()
		if b.board.connected {
			p.Connected++
		}
		if b.board.lost {
			p.Lost++
		}
		if b.board.failed {
			p.Failed++
		}
		t := b.board.total
		now.bytes, now.expected, now.received = now.bytes+t.bytes, now.expected+t.expected, now.received+t.received
		now.frames, now.rows = now.frames+t.frames, now.rows+t.rows
		exact = exact.plus(b.board.exactness)
		p.Handles.add(b.board.handles)
		addCounts(counts, b.board.counts)
		b.board.mu.Unlock()
	}
	seconds := (elapsed - s.looked).Seconds() * float64(p.Connected)
	p.Net = outcome{
		bytes: now.bytes - s.before.bytes, expected: now.expected - s.before.expected, received: now.received - s.before.received,
		frames: now.frames - s.before.frames, rows: now.rows - s.before.rows,
		seconds: seconds,
	}.netReport()
	if simulate {
		p.Motion = exact.motionReport(exact.MotionStats.Owed-s.exact.MotionStats.Owed, seconds)
		p.Motion.CleanBodies = meanOf(exact.clean-s.exact.clean, exact.looks-s.exact.looks)
	}
	p.Net.Latency = latencyOf(s.recent)
	p.Game = countReport(s.metrics, counts)
	s.recent.Reset()
	s.before, s.exact, s.looked = now, exact, elapsed
	return p
}

// collectSamples takes the latencies from a bot's board.
func (s *sampler) collectSamples(b *loadBot) {
	b.board.mu.Lock()
	defer b.board.mu.Unlock()
	for _, v := range b.board.latencies {
		v = min(max(v, 1), latencyHighest) // in range: cannot fail
		_ = s.all.RecordValue(v)
		_ = s.recent.RecordValue(v)
	}
	b.board.latencies = b.board.latencies[:0]
	for _, v := range b.board.visible {
		_ = s.inputs.RecordValue(min(max(v, 1), latencyHighest))
	}
	b.board.visible = b.board.visible[:0]
	for name, values := range b.board.samples {
		h := s.game[name]
		if h == nil && len(values) > 0 {
			h = hdrhistogram.New(1, latencyHighest, latencyDigits)
			s.game[name] = h
		}
		for _, v := range values {
			_ = h.RecordValue(min(max(int64(v*sampleUnit), 0), latencyHighest))
		}
	}
	clear(b.board.samples)
}

// netReport returns the network part of an outcome, without latencies.
func (o outcome) netReport() Net {
	n := Net{SnapshotsExpected: o.expected, SnapshotsReceived: min(o.received, o.expected)}
	if o.seconds > 0 {
		n.BytesPerClientS = roundDown(float64(o.bytes)/o.seconds, 1)
		n.RowsPerClientS = roundDown(float64(o.rows)/o.seconds, 1)
		n.SnapshotHz = roundDown(float64(o.frames)/o.seconds, 2)
	}
	if o.expected > 0 {
		ratio := roundDown(float64(n.SnapshotsReceived)/float64(o.expected), 6)
		n.DeliveredRatio = &ratio
	}
	return n
}

func latencyOf(h *hdrhistogram.Histogram) Latency {
	if h.TotalCount() == 0 {
		return Latency{}
	}
	at := func(percentile float64) *float64 {
		v := float64(h.ValueAtPercentile(percentile)) / 1000
		return &v
	}
	return Latency{P50Ms: at(50), P90Ms: at(90), P99Ms: at(99), P999Ms: at(99.9), MaxMs: at(100)}
}

func inputLatencyOf(h *hdrhistogram.Histogram) InputLatency {
	l := latencyOf(h)
	return InputLatency{P50Ms: l.P50Ms, P90Ms: l.P90Ms, P99Ms: l.P99Ms, MaxMs: l.MaxMs}
}

func latencyOfAll(durations []time.Duration) Latency {
	h := hdrhistogram.New(1, latencyHighest, latencyDigits)
	for _, d := range durations {
		_ = h.RecordValue(min(max(d.Microseconds(), 1), latencyHighest)) // in range: cannot fail
	}
	return latencyOf(h)
}

func joinsOf(joins []time.Duration) Joins {
	l := latencyOfAll(joins)
	return Joins{Count: uint64(len(joins)), P50Ms: l.P50Ms, P99Ms: l.P99Ms, MaxMs: l.MaxMs}
}

// roundDown keeps the given number of significant digits. It rounds down, so that a ratio of 1
// means that nothing is missing.
func roundDown(v float64, digits int) float64 {
	unit := math.Pow10(digits)
	return math.Floor(v*unit) / unit
}

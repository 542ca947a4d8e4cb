package admin

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// nativeFactor is how much wider each bucket of a native histogram is than the
// one before: quantiles are right to within 5 %.
const nativeFactor = 1.1

// Phases of a tick.
const (
	PhaseReceive = iota
	PhaseStep
	PhaseReplicate
	Phases
)

// Timings are the distributions of what takes time. Each has classic buckets for
// scrapers that know no native histograms.
type Timings struct {
	ticks *prometheus.HistogramVec
	whole prometheus.Observer
	phase [Phases]prometheus.Observer
	// Snapshots takes the seconds from making a snapshot to handing it to the transport,
	// and Unsent the stream bytes that waited when a sender took them.
	Snapshots, Unsent prometheus.Histogram
}

// NewTimings makes Timings that have seen nothing.
func NewTimings() *Timings {
	histogram := func(name, help string, buckets []float64) prometheus.HistogramOpts {
		return prometheus.HistogramOpts{
			Name: name, Help: help, Buckets: buckets, NativeHistogramBucketFactor: nativeFactor,
			NativeHistogramMaxBucketNumber: 160, NativeHistogramMinResetDuration: time.Hour,
		}
	}
	short := []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1}
	t := &Timings{
		ticks:     prometheus.NewHistogramVec(histogram("worldd_tick_duration_seconds", "Duration of ticks and of their phases.", short), []string{"phase"}),
		Snapshots: prometheus.NewHistogram(histogram("worldd_snapshot_age_seconds", "Time from making a snapshot to handing it to the transport.", short)),
		Unsent: prometheus.NewHistogram(histogram("worldd_send_queue_bytes", "Stream bytes that waited when a sender took them.",
			[]float64{64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10})),
	}
	t.whole = t.ticks.WithLabelValues("all")
	for phase, name := range [Phases]string{"receive", "step", "replicate"} {
		t.phase[phase] = t.ticks.WithLabelValues(name)
	}
	return t
}

// Tick takes the durations of one tick's phases.
func (t *Timings) Tick(spent [Phases]time.Duration) {
	var whole time.Duration
	for phase, d := range spent {
		t.phase[phase].Observe(d.Seconds())
		whole += d
	}
	t.whole.Observe(whole.Seconds())
}

// Describe and Collect make it a prometheus.Collector.
func (t *Timings) Describe(out chan<- *prometheus.Desc) {
	t.ticks.Describe(out)
	t.Snapshots.Describe(out)
	t.Unsent.Describe(out)
}

// Collect reports everything.
func (t *Timings) Collect(out chan<- prometheus.Metric) {
	t.ticks.Collect(out)
	t.Snapshots.Collect(out)
	t.Unsent.Collect(out)
}

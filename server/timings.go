package server

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// nativeFactor is how much wider each bucket of a native histogram is than the
// one before: quantiles are right to within 5 %.
const nativeFactor = 1.1

// timings are the distributions of what takes time. Each has classic buckets for
// scrapers that know no native histograms.
type timings struct {
	ticks     *prometheus.HistogramVec
	whole     prometheus.Observer
	phase     [phases]prometheus.Observer
	snapshots prometheus.Histogram
	unsent    prometheus.Histogram
}

func newTimings() *timings {
	histogram := func(name, help string, buckets []float64) prometheus.HistogramOpts {
		return prometheus.HistogramOpts{
			Name: name, Help: help, Buckets: buckets, NativeHistogramBucketFactor: nativeFactor,
			NativeHistogramMaxBucketNumber: 160, NativeHistogramMinResetDuration: time.Hour,
		}
	}
	short := []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1}
	t := &timings{
		ticks:     prometheus.NewHistogramVec(histogram("worldd_tick_duration_seconds", "Duration of ticks and of their phases.", short), []string{"phase"}),
		snapshots: prometheus.NewHistogram(histogram("worldd_snapshot_age_seconds", "Time from making a snapshot to handing it to the transport.", short)),
		unsent: prometheus.NewHistogram(histogram("worldd_send_queue_bytes", "Stream bytes that waited when a sender took them.",
			[]float64{64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10})),
	}
	t.whole = t.ticks.WithLabelValues("all")
	for phase, name := range [phases]string{"receive", "step", "replicate"} {
		t.phase[phase] = t.ticks.WithLabelValues(name)
	}
	return t
}

// tick takes the durations of one tick's phases.
func (t *timings) tick(spent [phases]time.Duration) {
	var whole time.Duration
	for phase, d := range spent {
		t.phase[phase].Observe(d.Seconds())
		whole += d
	}
	t.whole.Observe(whole.Seconds())
}

// Describe and Collect make it a prometheus.Collector.
func (t *timings) Describe(out chan<- *prometheus.Desc) {
	t.ticks.Describe(out)
	t.snapshots.Describe(out)
	t.unsent.Describe(out)
}

// Collect reports everything.
func (t *timings) Collect(out chan<- prometheus.Metric) {
	t.ticks.Collect(out)
	t.snapshots.Collect(out)
	t.unsent.Collect(out)
}

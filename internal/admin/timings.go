package admin

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// nativeFactor is the ratio of neighbouring bucket bounds in a native histogram. Quantiles
// are then accurate to 5 %.
const nativeFactor = 1.1

// The phases of a tick.
const (
	PhaseReceive = iota
	PhaseStep
	PhaseReplicate
	PhaseBetween // between two ticks: saves, requests of the admin port, reports
	Phases
)

// phaseNames name the phases in metrics, and last the cause of stalls outside of them.
var phaseNames = [Phases + 1]string{"receive", "step", "replicate", "between", "machine"}

// Timings are the distributions of durations and queue lengths. Each also has classic
// buckets, for scrapers without native histograms.
type Timings struct {
	ticks *prometheus.HistogramVec
	// Snapshots observes the seconds from encoding a snapshot to passing it to the transport.
	// Unsent observes the stream bytes queued when a sender takes them.
	Snapshots, Unsent prometheus.Histogram
	syncs, delay      prometheus.Histogram
}

// KindLabel labels a metric with the kind of its rooms.
const KindLabel = "room_kind"

// TickTimings observes tick durations of the server or of one kind of rooms.
type TickTimings struct {
	whole prometheus.Observer
	phase [Phases]prometheus.Observer
	syncs prometheus.Observer // of journals
	delay prometheus.Observer // of their frames
}

// NewTimings returns empty Timings. labels are additional labels of ticks: KindLabel if the
// server has rooms.
func NewTimings(labels ...string) *Timings {
	histogram := func(name, help string, buckets []float64) prometheus.HistogramOpts {
		return prometheus.HistogramOpts{
			Name: name, Help: help, Buckets: buckets, NativeHistogramBucketFactor: nativeFactor,
			NativeHistogramMaxBucketNumber: 160, NativeHistogramMinResetDuration: time.Hour,
		}
	}
	short := []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1}
	t := &Timings{
		ticks:     prometheus.NewHistogramVec(histogram("worldd_tick_duration_seconds", "Duration of ticks and their phases.", short), append([]string{"phase"}, labels...)),
		Snapshots: prometheus.NewHistogram(histogram("worldd_snapshot_age_seconds", "Time from encoding a snapshot to handing it to the transport.", short)),
		Unsent: prometheus.NewHistogram(histogram("worldd_send_queue_bytes", "Stream bytes queued when a sender takes them.",
			[]float64{64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10})),
		syncs: prometheus.NewHistogram(histogram("worldd_journal_sync_seconds", "Duration of syncs of a journal.", short)),
		delay: prometheus.NewHistogram(histogram("worldd_journal_delay_seconds", "Time from the end of a step until the disk has its frame.", short)),
	}
	return t
}

// Ticks returns the distributions of ticks, for values of the additional labels.
func (t *Timings) Ticks(values ...string) *TickTimings {
	of := func(phase string) prometheus.Observer {
		return t.ticks.WithLabelValues(append([]string{phase}, values...)...)
	}
	return &TickTimings{whole: of("all"), phase: [Phases]prometheus.Observer{of("receive"), of("step"), of("replicate"), of("between")}, syncs: t.syncs, delay: t.delay}
}

// ObserveTick records the durations of one tick's phases, and returns their sum.
func (t *TickTimings) ObserveTick(spent [Phases]time.Duration) (whole time.Duration) {
	for phase, d := range spent {
		t.phase[phase].Observe(d.Seconds())
		whole += d
	}
	t.whole.Observe(whole.Seconds())
	return whole
}

// ObserveSync records how long a sync of a journal took, and how long the oldest frame had waited at its end. Any
// goroutine may call it.
func (t *TickTimings) ObserveSync(took, delay time.Duration) {
	t.syncs.Observe(took.Seconds())
	t.delay.Observe(delay.Seconds())
}

// Describe implements prometheus.Collector.
func (t *Timings) Describe(out chan<- *prometheus.Desc) {
	t.ticks.Describe(out)
	t.Snapshots.Describe(out)
	t.Unsent.Describe(out)
	t.syncs.Describe(out)
	t.delay.Describe(out)
}

// Collect implements prometheus.Collector.
func (t *Timings) Collect(out chan<- prometheus.Metric) {
	t.ticks.Collect(out)
	t.Snapshots.Collect(out)
	t.Unsent.Collect(out)
	t.syncs.Collect(out)
	t.delay.Collect(out)
}

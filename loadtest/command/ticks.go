package command

import (
	"fmt"
	"io"
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/worldd/worldd/internal/botrun"
)

// maxHistogramBytes bounds an answer with a histogram, which usually has a few hundred bytes.
const maxHistogramBytes = 1 << 20

// ticks are the server's ticks during the run. The server's answers cover all ticks since its
// start, which may be long before.
type ticks struct {
	run         *hdrhistogram.Histogram // µs
	late        uint64
	total       *hdrhistogram.Histogram // of the last answer, since the server's start
	totalLate   uint64
	first, last time.Time // of the answers
}

// addTotal records the ticks since the last answer and returns their mean in milliseconds,
// or 0.
func (t *ticks) addTotal(total *hdrhistogram.Histogram, late uint64, asked time.Time) (meanMs float64) {
	t.last = asked
	if t.total == nil {
		t.run, t.first = newEmptyLike(total), asked
		t.total, t.totalLate = total, late
		return 0
	}
	if total.TotalCount() < t.total.TotalCount() { // restarted: another server answers
		t.total, t.totalLate = newEmptyLike(total), 0
	}
	recent := subtractHistogram(total, t.total)
	t.run.Merge(recent)
	t.late += late - min(late, t.totalLate)
	t.total, t.totalLate = total, late
	return recent.Mean() / 1000
}

// newReport returns the results, or nil without a completed tick.
func (t *ticks) newReport() *botrun.Tick {
	if t.run == nil || t.run.TotalCount() == 0 {
		return nil
	}
	ms := func(us int64) float64 { return float64(us) / 1000 }
	return &botrun.Tick{
		RateHz: int(math.Round(float64(t.run.TotalCount()) / t.last.Sub(t.first).Seconds())), Count: uint64(t.run.TotalCount()), Late: t.late,
		P50Ms: ms(t.run.ValueAtQuantile(50)), P99Ms: ms(t.run.ValueAtQuantile(99)), MaxMs: ms(t.run.Max()),
	}
}

// newEmptyLike returns an empty histogram of h's shape.
func newEmptyLike(h *hdrhistogram.Histogram) *hdrhistogram.Histogram {
	h = h.Clone()
	h.Reset()
	return h
}

// subtractHistogram returns h minus before.
func subtractHistogram(h, before *hdrhistogram.Histogram) *hdrhistogram.Histogram {
	beyond, less := h.Export(), before.Export()
	for i := range min(len(beyond.Counts), len(less.Counts)) {
		beyond.Counts[i] = max(beyond.Counts[i]-less.Counts[i], 0)
	}
	return hdrhistogram.Import(beyond)
}

// readHistogram reads HdrHistogram's own format: V2, compressed, in base64.
func readHistogram(r io.Reader) (*hdrhistogram.Histogram, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxHistogramBytes))
	if err != nil {
		return nil, err
	}
	h, err := hdrhistogram.Decode(text)
	if err != nil {
		return nil, fmt.Errorf("not in HdrHistogram's format: %w", err)
	}
	return h, nil
}

package main

import (
	"fmt"
	"io"
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/worldd/worldd/loadtest/bot"
)

// maxHistogramBytes bounds the answer that is taken for a histogram: one is some
// hundred bytes long.
const maxHistogramBytes = 1 << 20

// ticks are those that the server made since it was first asked: what it tells of is
// all since its start, which may be long before the run.
type ticks struct {
	run         *hdrhistogram.Histogram // µs
	late        uint64
	told        *hdrhistogram.Histogram // by the last answer: since the server's start
	toldLate    uint64
	first, last time.Time // of the answers
}

// take adds the ticks since the last answer, and returns their mean in milliseconds;
// 0 if there were none.
func (t *ticks) take(told *hdrhistogram.Histogram, late uint64, asked time.Time) (meanMs float64) {
	t.last = asked
	if t.told == nil {
		t.run, t.first = empty(told), asked
		t.told, t.toldLate = told, late
		return 0
	}
	if told.TotalCount() < t.told.TotalCount() { // another server: the one before was killed
		t.told, t.toldLate = empty(told), 0
	}
	recent := difference(told, t.told)
	t.run.Merge(recent)
	t.late += late - min(late, t.toldLate)
	t.told, t.toldLate = told, late
	return recent.Mean() / 1000
}

// report is what there is to tell; nil if no tick was seen to end.
func (t *ticks) report() *bot.Tick {
	if t.run == nil || t.run.TotalCount() == 0 {
		return nil
	}
	ms := func(us int64) float64 { return float64(us) / 1000 }
	return &bot.Tick{
		RateHz: int(math.Round(float64(t.run.TotalCount()) / t.last.Sub(t.first).Seconds())), Count: uint64(t.run.TotalCount()), Late: t.late,
		P50Ms: ms(t.run.ValueAtQuantile(50)), P99Ms: ms(t.run.ValueAtQuantile(99)), MaxMs: ms(t.run.Max()),
	}
}

// empty is a histogram of h's shape that holds nothing.
func empty(h *hdrhistogram.Histogram) *hdrhistogram.Histogram {
	h = h.Clone()
	h.Reset()
	return h
}

// difference is what h holds beyond before.
func difference(h, before *hdrhistogram.Histogram) *hdrhistogram.Histogram {
	beyond, less := h.Export(), before.Export()
	for i := range min(len(beyond.Counts), len(less.Counts)) {
		beyond.Counts[i] = max(beyond.Counts[i]-less.Counts[i], 0)
	}
	return hdrhistogram.Import(beyond)
}

// readHistogram reads one in HdrHistogram's own format: V2, compressed, in base64.
func readHistogram(r io.Reader) (*hdrhistogram.Histogram, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxHistogramBytes))
	if err != nil {
		return nil, err
	}
	h, err := hdrhistogram.Decode(text)
	if err != nil {
		return nil, fmt.Errorf("no histogram in HdrHistogram's format: %w", err)
	}
	return h, nil
}

package botrun

import (
	"errors"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/worldd/worldd/loadtest/bot"
)

// measuredBy returns the metrics that behaviors of p measure in a scenario.
func measuredBy(p *bot.Player, s bot.Scenario) (measured []bot.Metric) {
	for _, m := range p.Metrics {
		if m.Scenario == "" || m.Scenario == s {
			measured = append(measured, m)
		}
	}
	return measured
}

// validateMetrics returns an error for each metric whose name a report has already.
func validateMetrics(p *bot.Player) error {
	var wrong faults
	taken := metricsOf(measuredReport(nil))
	for _, m := range p.Metrics {
		for _, name := range m.Names() {
			_, known := taken[name]
			wrong.addIf(m.Name == "" || known, "metric %q: want a name that no other number of the report has", name)
			taken[name] = 0
		}
	}
	return errors.Join(wrong...)
}

// newCounts returns the counters of a scenario at 0.
func newCounts(metrics []bot.Metric) map[string]uint64 {
	counts := map[string]uint64{}
	for _, m := range metrics {
		if m.Unit == "" {
			counts[m.Name] = 0
		}
	}
	return counts
}

// countReport returns the counters as a report has them, or nil if the game has no metrics.
func countReport(metrics []bot.Metric, counts map[string]uint64) map[string]float64 {
	if len(metrics) == 0 {
		return nil
	}
	report := map[string]float64{}
	for name, n := range counts {
		report[name] = float64(n)
	}
	return report
}

// sampleUnit is the resolution of samples in their unit.
const sampleUnit = 1000

// gameReport returns the counters and the percentiles of samples, which are absent without any.
func gameReport(metrics []bot.Metric, counts map[string]uint64, samples map[string]*hdrhistogram.Histogram) map[string]float64 {
	report := countReport(metrics, counts)
	for _, m := range metrics {
		h := samples[m.Name]
		if h == nil {
			continue
		}
		for i, percentile := range []float64{50, 99, 100} {
			report[m.Names()[i]] = float64(h.ValueAtPercentile(percentile)) / sampleUnit
		}
	}
	return report
}

// addCounts adds the counters of one bot to a sum.
func addCounts(sum, counts map[string]uint64) {
	for name, n := range counts {
		sum[name] += n
	}
}

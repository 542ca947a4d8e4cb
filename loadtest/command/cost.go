package command

import (
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/worldd/worldd/internal/botrun"
)

// meters are the server's counters of resources and work at one moment.
type meters struct {
	asked                              time.Time
	cpuSeconds, resident               float64
	snapshots, stateBytes, packetsBoth float64
}

// metersOf reads the counters from the server's metrics, summed over kinds of rooms. Missing
// counters are 0: some systems have no process metrics.
func metersOf(families map[string]*dto.MetricFamily, asked time.Time) meters {
	m := meters{asked: asked}
	for _, one := range families["process_cpu_seconds_total"].GetMetric() {
		m.cpuSeconds = one.GetCounter().GetValue()
	}
	for _, one := range families["process_resident_memory_bytes"].GetMetric() {
		m.resident = one.GetGauge().GetValue()
	}
	for _, one := range families["worldd_snapshot_age_seconds"].GetMetric() {
		m.snapshots += float64(one.GetHistogram().GetSampleCount())
	}
	for _, one := range families["worldd_bytes_total"].GetMetric() {
		if hasLabel(one, "dir", "out") && hasLabel(one, "component", "state") {
			m.stateBytes += one.GetCounter().GetValue()
		}
	}
	for _, one := range families["worldd_packets_total"].GetMetric() {
		m.packetsBoth += one.GetCounter().GetValue()
	}
	return m
}

func hasLabel(m *dto.Metric, name, value string) bool {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue() == value
		}
	}
	return false
}

// costOf returns the server's cost between two moments. It is nil if either is missing, if
// nothing was sent, or without process metrics.
func costOf(from, to meters) *botrun.Cost {
	snapshots := to.snapshots - from.snapshots
	seconds := to.asked.Sub(from.asked).Seconds()
	if from.asked.IsZero() || snapshots <= 0 || seconds <= 0 || to.cpuSeconds == 0 {
		return nil
	}
	cpu := to.cpuSeconds - from.cpuSeconds
	return &botrun.Cost{
		Snapshots: uint64(snapshots), CPUMicrosPerSnapshot: 1e6 * cpu / snapshots, Cores: cpu / seconds,
		PacketsPerSnapshot: (to.packetsBoth - from.packetsBoth) / snapshots,
		BytesPerSnapshot:   (to.stateBytes - from.stateBytes) / snapshots,
		ResidentBytes:      uint64(to.resident),
	}
}

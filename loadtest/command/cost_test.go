package command

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/botrun"
	"github.com/worldd/worldd/internal/must"
)

func TestCost(t *testing.T) {
	at := func(seconds int, text string) meters {
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families := must.Get(parser.TextToMetricFamilies(strings.NewReader(text)))
		return metersOf(families, time.Unix(int64(seconds), 0))
	}
	from := at(100, `# TYPE process_cpu_seconds_total counter
process_cpu_seconds_total 3
# TYPE process_resident_memory_bytes gauge
process_resident_memory_bytes 5
# TYPE worldd_snapshot_age_seconds histogram
worldd_snapshot_age_seconds_sum 1
worldd_snapshot_age_seconds_count 1000
# TYPE worldd_bytes_total counter
worldd_bytes_total{dir="out",component="state"} 100
worldd_bytes_total{dir="out",component="stream"} 7
# TYPE worldd_packets_total counter
worldd_packets_total{dir="in"} 10
worldd_packets_total{dir="out"} 20
`)
	to := at(110, `# TYPE process_cpu_seconds_total counter
process_cpu_seconds_total 8
# TYPE process_resident_memory_bytes gauge
process_resident_memory_bytes 6000
# TYPE worldd_snapshot_age_seconds histogram
worldd_snapshot_age_seconds_bucket{room_kind="lobby",le="+Inf"} 1000
worldd_snapshot_age_seconds_sum{room_kind="lobby"} 1
worldd_snapshot_age_seconds_count{room_kind="lobby"} 1000
worldd_snapshot_age_seconds_bucket{room_kind="yard",le="+Inf"} 100000
worldd_snapshot_age_seconds_sum{room_kind="yard"} 1
worldd_snapshot_age_seconds_count{room_kind="yard"} 100000
# TYPE worldd_bytes_total counter
worldd_bytes_total{dir="out",component="state",room_kind="yard"} 90000000
worldd_bytes_total{dir="out",component="state",room_kind="lobby"} 100
worldd_bytes_total{dir="out",component="stream"} 8000
# TYPE worldd_packets_total counter
worldd_packets_total{dir="in"} 100010
worldd_packets_total{dir="out"} 200020
`)
	require.Equal(t, &botrun.Cost{
		Snapshots: 100_000, CPUMicrosPerSnapshot: 50, Cores: 0.5, PacketsPerSnapshot: 3, BytesPerSnapshot: 900, ResidentBytes: 6000,
	}, costOf(from, to))
	require.Nil(t, costOf(to, to), "nothing was sent")
	require.Nil(t, costOf(meters{}, to), "the run ended before the plateau began")
	require.Nil(t, costOf(from, at(110, "# TYPE worldd_snapshot_age_seconds histogram\nworldd_snapshot_age_seconds_sum 1\nworldd_snapshot_age_seconds_count 101000\n")),
		"a system without process metrics")
}

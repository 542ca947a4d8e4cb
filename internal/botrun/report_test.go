package botrun

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/printable"
	"github.com/worldd/worldd/loadtest/bot"
)

// TestReportKeys: the keys of the JSON object and their order are a contract.
func TestReportKeys(t *testing.T) {
	ratio, p50, p90, p99, p999, most := 0.99, 1.5, 2.5, 3.5, 4.5, 5.5
	l := Latency{&p50, &p90, &p99, &p999, &most}
	full := Report{
		Scenario: bot.Roam, Seed: 7, Server: "v1", Machine: "m", Bots: 1, Connected: 2, Failed: 3, DurationS: 4.5,
		Tick:    &Tick{RateHz: 60, Count: 5, P50Ms: 6.5, P99Ms: 7.5, MaxMs: 8.5, Late: 9},
		World:   &World{Entities: 10, Awake: 11, Asleep: 12, Spawned: 13, Destroyed: 14, StateHash: "00000000deadbeef", Reused: 99},
		Net:     Net{SnapshotsExpected: 15, SnapshotsReceived: 16, DeliveredRatio: &ratio, SnapshotHz: 29.5, BytesPerClientS: 17.5, RowsPerClientS: 72.5, Latency: l},
		Motion:  &Motion{CleanBodies: 73.5, OwedPerClientS: 74.5, BodyTicks: 75, Rerun: 76, Audits: 77, Faults: 78, Overruns: 79},
		Handles: Handles{Live: 18, Hidden: 19, Pending: 20, Stale: 21, Probes: 22, Confusions: 23, CommandsSent: 24, CommandsExecuted: 25, CommandsRejected: 26},
		Input:   InputLatency{&p50, &p90, &p99, &most},
		Cost:    &Cost{Snapshots: 43, CPUMicrosPerSnapshot: 44.5, Cores: 0.5, PacketsPerSnapshot: 2.5, BytesPerSnapshot: 900, ResidentBytes: 45},
		Joins:   Joins{Count: 27, P50Ms: &p50, P99Ms: &p99, MaxMs: &most},
		Outages: Outages{Lost: 46, Resumed: 47, Anew: 48, NewWorlds: 49, Unanswered: 50, P50Ms: &p50, P99Ms: &p99, MaxMs: &most},
		Storm:   &Storm{Witnesses: 28, SnapshotsExpected: 29, SnapshotsReceived: 30, DeliveredRatio: &ratio, AllInS: &p50},
		Attacks: &Attacks{Attackers: 31, Sessions: 32, HalfOpen: 33, Messages: 34, Closed: map[string]uint64{"too-slow": 35}, Refused: map[string]uint64{"rate-limited": 57}},
		Game:    map[string]float64{"shots": 58, "error_p99_mm": 3.5},
		Series:  []Progress{{ElapsedS: 1.5, Bots: 36, Connected: 37, Lost: 51, Failed: 38, Server: &ServerNow{TickMeanMs: 39, TickP99Ms: 40, Awake: 41, Asleep: 42}}},
	}
	got := must.Get(json.Marshal(full))
	require.Equal(t, `{"scenario":"roam","seed":7,"server_version":"v1","machine":"m","bots":1,"connected":2,"failed":3,"duration_s":4.5,`+
		`"tick":{"rate_hz":60,"count":5,"p50_ms":6.5,"p99_ms":7.5,"max_ms":8.5,"late":9},`+
		`"world":{"entities":10,"awake":11,"asleep":12,"spawned":13,"destroyed":14,"state_hash":"00000000deadbeef"},`+
		`"net":{"snapshots_expected":15,"snapshots_received":16,"delivered_ratio":0.99,"snapshot_hz":29.5,"bytes_per_client_s":17.5,"rows_per_client_s":72.5,"latency_p50_ms":1.5,"latency_p90_ms":2.5,"latency_p99_ms":3.5,"latency_p999_ms":4.5,"latency_max_ms":5.5},`+
		`"input":{"input_visible_p50_ms":1.5,"input_visible_p90_ms":2.5,"input_visible_p99_ms":3.5,"input_visible_max_ms":5.5},`+
		`"motion":{"clean_bodies":73.5,"owed_per_client_s":74.5,"body_ticks":75,"body_ticks_rerun":76,"audits":77,"prediction_faults":78,"motion_overruns":79},`+
		`"handles":{"live":18,"hidden":19,"pending":20,"stale":21,"probes":22,"confusions":23,"commands_sent":24,"commands_executed":25,"commands_rejected":26},`+
		`"joins":{"join_count":27,"join_p50_ms":1.5,"join_p99_ms":3.5,"join_max_ms":5.5},`+
		`"outages":{"connections_lost":46,"sessions_resumed":47,"sessions_anew":48,"worlds_anew":49,"commands_unanswered":50,"recovery_p50_ms":1.5,"recovery_p99_ms":3.5,"recovery_max_ms":5.5},`+
		`"cost":{"snapshots_sent":43,"cpu_us_per_snapshot":44.5,"cores":0.5,"packets_per_snapshot":2.5,"bytes_per_snapshot":900,"resident_bytes":45},`+
		`"storm":{"witnesses":28,"storm_snapshots_expected":29,"storm_snapshots_received":30,"storm_delivered_ratio":0.99,"storm_all_in_s":1.5},`+
		`"attacks":{"attackers":31,"sessions":32,"half_open":33,"messages":34,"closed":{"too-slow":35},"refused":{"rate-limited":57}},`+
		`"game":{"error_p99_mm":3.5,"shots":58},`+
		`"series":[{"elapsed_s":1.5,"bots":36,"connected":37,"lost":51,"failed":38,`+
		`"net":{"snapshots_expected":0,"snapshots_received":0,"delivered_ratio":null,"snapshot_hz":0,"bytes_per_client_s":0,"rows_per_client_s":0,"latency_p50_ms":null,"latency_p90_ms":null,"latency_p99_ms":null,"latency_p999_ms":null,"latency_max_ms":null},`+
		`"handles":{"live":0,"hidden":0,"pending":0,"stale":0,"probes":0,"confusions":0,"commands_sent":0,"commands_executed":0,"commands_rejected":0},`+
		`"game":null,"motion":null,`+
		`"server":{"tick_mean_ms":39,"tick_p99_ms":40,"awake":41,"asleep":42}}]}`,
		string(got))

	remote := must.Get(json.Marshal(Report{}))
	for _, unknown := range []string{`"tick":null`, `"world":null`, `"delivered_ratio":null`, `"latency_p50_ms":null`, `"latency_p99_ms":null`} {
		require.Contains(t, string(remote), unknown)
	}
}

func TestReportOK(t *testing.T) {
	good := Report{Bots: 5, Connected: 5, Motion: &Motion{Audits: 9}}
	require.True(t, good.Passed())
	for name, spoil := range map[string]func(*Report){
		"one did not connect": func(r *Report) { r.Connected = 4 },
		"one failed":          func(r *Report) { r.Failed = 1 },
		"a handle lied":       func(r *Report) { r.Handles.Confusions = 1 },
		"an audit failed":     func(r *Report) { r.Motion = &Motion{Audits: 9, Faults: 1} },
	} {
		bad := good
		spoil(&bad)
		require.False(t, bad.Passed(), name)
	}
}

// sampleReport returns a report with everything that a summary can show.
func sampleReport() *Report {
	ratio, p50, p90, p99, p999, most, all := 0.99723, 0.41, 1.1, 3.2, 5.25, 11.0, 1.75
	return &Report{
		Scenario: bot.JoinStorm, Seed: 1,
		Bots: 50, Connected: 50, Failed: 1, DurationS: 60.04,
		Tick:      &Tick{RateHz: 60, Count: 3602, P50Ms: 1.234, P99Ms: 4.567, MaxMs: 9.1, Late: 2},
		World:     &World{Entities: 10953, Awake: 1210, Asleep: 9743, Spawned: 28050, Destroyed: 17097, StateHash: "0123456789abcdef", Reused: 17001},
		Net:       Net{SnapshotsExpected: 120000, SnapshotsReceived: 119667, DeliveredRatio: &ratio, SnapshotHz: 39.88, BytesPerClientS: 38234, RowsPerClientS: 23.31, Latency: Latency{&p50, &p90, &p99, &p999, &most}},
		Motion:    &Motion{CleanBodies: 215.25, OwedPerClientS: 13.2, BodyTicks: 41234567, Rerun: 12345, Audits: 98765, Faults: 2, Overruns: 1},
		Input:     InputLatency{&p50, &p90, &p99, &most},
		Handles:   Handles{Live: 201220, Hidden: 33100, Pending: 98000, Stale: 80011, Probes: 412331, Confusions: 1, CommandsSent: 11700, CommandsExecuted: 4100, CommandsRejected: 7590},
		Joins:     Joins{Count: 50, P50Ms: &p90, P99Ms: &most, MaxMs: &most},
		Cost:      &Cost{Snapshots: 110000, CPUMicrosPerSnapshot: 61.54, Cores: 0.61, PacketsPerSnapshot: 3.414, BytesPerSnapshot: 987.6, ResidentBytes: 91234567},
		Storm:     &Storm{Witnesses: 10, SnapshotsExpected: 3000, SnapshotsReceived: 2992, DeliveredRatio: &ratio, AllInS: &all},
		Attacks:   &Attacks{Attackers: 4, Sessions: 1200, HalfOpen: 12000, Messages: 34, Closed: map[string]uint64{"too-slow": 35, "bad-message": 1150}, Refused: map[string]uint64{"rate-limited": 4711}},
		Game:      map[string]float64{"reliable_events": 90210, "names": 2718, "causes": 17000, "shots": 2940, "error_p50_mm": 0.412, "error_p99_mm": 3},
		Forgotten: 1201,
		Failures: []Failure{
			{Bot: 7, Why: "wire: timeout: nothing came from the server"},
		},
		Divergences: []Divergence{
			{Bot: 4, Tick: 815, Entities: []bulk.Handle{bulk.NewHandle(17, 3), bulk.NewHandle(49, 1)}},
		},
		Confusions: []bot.Confusion{
			{Bot: 3, Tick: 812, Handle: bulk.NewHandle(17, 3), Remembered: 0xaa, Seen: 0xbb, What: "B1: its identity has changed"},
		},
	}
}

// TestSummaryAndLive compares the output with testdata; WRITE_GOLDEN=1 rewrites it.
func TestSummaryAndLive(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, sampleReport().WriteSummary(&b, false, Threshold{"latency_p99_ms", ">", 3}, Threshold{"tick_p99_ms", ">", 8}, Threshold{"handshakes", "<", 1}))
	golden(t, "summary.txt", b.Bytes())

	b.Reset()
	remote := &Report{Bots: 1, Connected: 0, DurationS: 1.04, Interrupted: true}
	require.NoError(t, remote.WriteSummary(&b, false))
	golden(t, "summary_remote.txt", b.Bytes())
	require.NoError(t, remote.WriteSummary(&b, false, Threshold{"confusions", ">", 3}))
	require.Contains(t, b.String(), "✗ run to its end")

	b.Reset()
	for _, table := range []*Live{NewLive(&b, false), NewLive(&b, true)} {
		table.Row(Progress{ElapsedS: 1.002, Bots: 50, Connected: 49})
		table.Row(Progress{
			ElapsedS: 12.1, Bots: 50, Connected: 49, Failed: 1, Net: Net{BytesPerClientS: 38234},
			Handles: Handles{Live: 201220, Hidden: 33100, Pending: 999, Stale: 1800011, Confusions: 1234},
			Motion:  &Motion{CleanBodies: 215.3, OwedPerClientS: 13.25},
			Server:  &ServerNow{TickP99Ms: 4.567, Awake: 1210, Asleep: 9743},
		})
	}
	golden(t, "live.txt", b.Bytes())
	for line := range strings.Lines(b.String()) {
		require.LessOrEqual(t, len(strings.TrimRight(strings.TrimSuffix(line, "   1 failed\n"), "\n")), 80, line)
	}

	b.Reset()
	require.NoError(t, sampleReport().WriteSummary(&b, true))
	require.Contains(t, b.String(), "\x1b[32m✓")
	require.Contains(t, b.String(), "\x1b[31m✗")
}

// Texts of servers, of names in the world and of an earlier report forge nothing in a terminal.
func TestSummaryIsPrintable(t *testing.T) {
	const forged = "x\x1b[2J\a\r\n\u202e\u200b"
	r := sampleReport()
	r.Server, r.Failures, r.Failed = forged, []Failure{{Bot: 1, Why: forged}}, 1
	r.Confusions = []bot.Confusion{{Bot: 1, What: forged}}
	r.Game = map[string]float64{forged: 1}
	r.Baseline = &Baseline{forged, sampleReport()}
	var b bytes.Buffer
	require.NoError(t, r.WriteSummary(&b, false))
	for line := range strings.Lines(b.String()) {
		require.Equal(t, strings.TrimSuffix(line, "\n"), printable.Text(strings.TrimSuffix(line, "\n")))
	}
	require.Equal(t, 5, strings.Count(b.String(), `x\u001b[2J\u0007\r\n\u202e\u200b`), b.String())
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("WRITE_GOLDEN") != "" {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	require.Equal(t, string(must.Get(os.ReadFile(path))), string(got), path)
}

func TestLiveRepeatsItsHeader(t *testing.T) {
	var b bytes.Buffer
	table := NewLive(&b, false)
	for range 2 * headerEvery {
		table.Row(Progress{})
	}
	require.Equal(t, 2, bytes.Count(b.Bytes(), []byte("time")))
}

func TestNumbers(t *testing.T) {
	for n, want := range map[uint64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		require.Equal(t, want, groupDigits(n))
	}
	for n, want := range map[uint64]string{
		0: "0", 999: "999", 1000: "1.0k", 9949: "9.9k", 99949: "99.9k", 99950: "100k", 123456: "123k",
		999949: "1000k", 999950: "1.0M", 4500000: "4.5M", 7000000000: "7.0G",
	} {
		require.Equal(t, want, shortCount(n), "%d", n)
	}
}

package botrun

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

// A report is compared with the JSON of an earlier one: metrics that both measured, and the conditions that differed.
func TestBaseline(t *testing.T) {
	before := *sampleReport()
	before.Bots, before.DurationS, before.Tick = 10, 20, nil
	before.Game = map[string]float64{"shots": 10, "gone": 1}
	r := sampleReport()
	r.Net.BytesPerClientS = before.Net.BytesPerClientS * 1.25
	r.Game = map[string]float64{"shots": 10, "new": 2}
	r.Baseline = must.Get(ParseBaseline("old.json", must.Get(json.Marshal(before))))

	share := map[string]string{}
	for _, c := range r.Changes() {
		share[c.Metric] = c.Share()
	}
	require.Equal(t, "+25.0 %", share["bytes_per_client_s"])
	require.Equal(t, "=", share["shots"])
	for _, once := range []string{"tick_p99_ms", "gone", "new", "state_hash"} {
		require.NotContains(t, share, once)
	}
	require.Equal(t, "–", Change{"confusions", 0, 1}.Share())
	require.Equal(t, "10 bots, 20 s", r.OtherConditions())

	var text bytes.Buffer
	require.NoError(t, r.WriteSummary(&text, false))
	require.Contains(t, text.String(), "compared with old.json, which had 10 bots, 20 s\n")
	r.Baseline = nil
	text.Reset()
	require.NoError(t, r.WriteSummary(&text, false))
	require.NotContains(t, text.String(), "compared")
}

// A file that is no report is refused: a comparison with zeros would say nothing.
func TestBaselineIsAReport(t *testing.T) {
	for _, text := range []string{"", "null", "[]", "{}", `{"scenario":"roam"}`, `{"duration_s":3}`, `{"scenario":7,"duration_s":3}`, "{} {}"} {
		require.ErrorContains(t, must.Fail(ParseBaseline("x.json", []byte(text))), "x.json is not the --json output of a run", text)
	}
}

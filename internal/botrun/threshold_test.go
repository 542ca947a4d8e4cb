package botrun

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

func TestThresholds(t *testing.T) {
	r := sampleReport() // p99 3.2 ms, 99.723 % delivered
	for text, crossed := range map[string]bool{
		"latency_p99_ms>3.2":       false,
		"latency_p99_ms>=3.2":      true,
		" latency_p99_ms > 3 ":     true,
		"delivered_ratio<0.999":    true,
		"delivered_ratio<=0.99723": true,
		"delivered_ratio<0.99":     false,
		"tick_p99_ms>8":            false,
		"tick_late>1":              true,
		"confusions>0":             true,
		"world_awake<1210":         false,
		"storm_all_in_s>5":         false,
	} {
		threshold, err := ParseThreshold(text)
		require.NoError(t, err, text)
		got, value := threshold.Crossed(r)
		require.Equal(t, crossed, got, text)
		require.NotNil(t, value)
	}
	for text, want := range map[string]string{
		"":                     "METRIC>NUMBER",
		"latency_p99_ms":       "METRIC>NUMBER",
		"latency_p99_ms>slow":  `"slow" is not a number`,
		"latency_p99_ms>nan":   `"nan" is not a number`, // not comparable
		"latency_p99>5":        "did you mean latency_p99_ms?",
		"entirely_different<1": "want one of",
	} {
		require.ErrorContains(t, must.Fail(ParseThreshold(text)), want, text)
	}
}

// TestNotMeasuredFails: a threshold on an unmeasured metric fails the run.
func TestNotMeasuredFails(t *testing.T) {
	threshold := must.Get(ParseThreshold("tick_p99_ms>8"))
	crossed, value := threshold.Crossed(&Report{})
	require.True(t, crossed)
	require.Nil(t, value)
}

// TestMetricNamesAreUnique: a threshold names exactly one number.
func TestMetricNamesAreUnique(t *testing.T) {
	text := must.Get(json.Marshal(sampleReport()))
	var tree any
	require.NoError(t, json.Unmarshal(text, &tree))
	require.Len(t, metricsOf(sampleReport()), numbers(tree))
}

// numbers counts the numbers in decoded JSON.
func numbers(tree any) (n int) {
	switch v := tree.(type) {
	case float64:
		return 1
	case map[string]any:
		for _, inner := range v {
			n += numbers(inner)
		}
	}
	return n
}

package host

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/botrun"
)

// TestReadChild: the demo handles any output of the child.
func TestReadChild(t *testing.T) {
	for _, c := range []struct {
		name, lines string
		progress    int
		bots        int // of the report; 0: no report
		err         string
	}{
		{"nothing", "", 0, 0, ""},
		{"progress alone", `{"progress":{"bots":3}}` + "\n" + `{"progress":{"bots":3}}`, 2, 0, ""},
		{"an error", `{"error":"no bot can join"}`, 0, 0, "no bot can join"},
		{"a result", `{"progress":{"bots":3}}{"result":{"report":{"bots":3,"interrupted":true},"failures":[{"bot":1,"why":"x"}]}}`, 1, 3, ""},
		{"a panic's text", "panic: oh\n", 0, 0, "cannot read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := 0
			report, err := readChild(strings.NewReader(c.lines), func(botrun.Progress) { n++ })
			require.Equal(t, c.progress, n)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			if c.bots == 0 {
				require.Nil(t, report)
				return
			}
			require.Equal(t, c.bots, report.Bots)
			require.True(t, report.Interrupted)
			require.Len(t, report.Failures, 1)
		})
	}
}

// Confused handles that the game itself has found fail the demo.
func TestDemoOfConfusions(t *testing.T) {
	report := &botrun.Report{}
	report.Handles.Confusions = 1
	var out bytes.Buffer
	require.ErrorIs(t, (&demoCommand{JSON: true}).writeResult(report, &out, &out), ErrFailed)
	require.Contains(t, out.String(), `"confusions":1`)
}

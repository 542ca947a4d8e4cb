//go:build faults

package client_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/fault"
	"github.com/worldd/worldd/internal/must"
)

// faultVariable names the fault that a process of this test injects.
const faultVariable = "WORLDD_CLIENT_FAULT"

func init() { fault.Inject(os.Getenv(faultVariable)) }

// TestFaultsOfPrediction runs the tests of the prediction with each of its deliberate faults.
func TestFaultsOfPrediction(t *testing.T) {
	catchFaults(t, "Predict", "Predict|CoPredicted|Correction|Snap|Turns|Input[MHR]|Unmoved|LostRow|Older|Once|Step|Control[M]|Hidden|OverLoss")
}

// TestFaultsOfComputing runs the tests of computed bodies with each deliberate fault that the
// simulation of package session does not catch: its server never causes these cases.
func TestFaultsOfComputing(t *testing.T) {
	catchFaults(t, "Compute", "BodiesIn|BodiesAre")
}

// TestFaultsOfRanges runs the tests of what a client tells its game of handles in another world.
func TestFaultsOfRanges(t *testing.T) {
	catchFaults(t, "Range", "PastRanges")
}

// TestFaultsOfReading plays the conformance vectors to clients that misread one rule for clients that
// simulate. The mutants of package conformance misread all others.
func TestFaultsOfReading(t *testing.T) {
	catchFaults(t, "Misread", "Conformance$")
}

// catchFaults runs tests with each fault whose name has a prefix, in a process of its own. A
// fault that none of them notices is a gap in the tests.
func catchFaults(t *testing.T, prefix, tests string) {
	faults := must.Get(fault.All())
	run := func(name string) (string, error) {
		c := exec.Command(os.Args[0], "-test.run=^Test("+tests+")", "-test.short")
		c.Env = append(os.Environ(), faultVariable+"="+name)
		out, err := c.CombinedOutput()
		return string(out), err
	}
	out, err := run("")
	require.NoError(t, err, out)
	found := 0
	for _, f := range faults {
		if !strings.HasPrefix(f.Name, prefix) {
			continue
		}
		found++
		out, err := run(f.Name)
		_, failed, ok := strings.Cut(out, "--- FAIL: ")
		if err == nil || !ok {
			t.Errorf("no test fails with %s: %s\n%s", f.Name, f.Breaks, out)
			continue
		}
		failed, _, _ = strings.Cut(failed, " ")
		t.Logf("%-20s %s", f.Name, failed)
	}
	require.GreaterOrEqual(t, found, 3)
}

package programtest

import (
	"regexp"
	"testing"
)

// defect matches what no longer run of bots makes good, in their text and in their JSON.
var defect = regexp.MustCompile(`✗ no (handle lied|body diverged)|"confusions":\s*[1-9]`)

// PlayLonger plays a run of bots that is enough on an idle machine, and a longer one if it is not: a busy machine connects bots
// late. The test fails if any of them finds a defect.
func PlayLonger(t testing.TB, short, long string, play func(duration string) (output string, enough bool)) {
	t.Helper()
	for _, duration := range []string{short, long} {
		output, enough := play(duration)
		if defect.MatchString(output) {
			t.Fatalf("a run of %s has found a defect:\n%s", duration, output)
		}
		if enough {
			return
		}
	}
}

package bulk_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/shorttest"
)

// TestHotAccessorsInline asks the compiler whether it inlines the accessors. An accessor
// that exceeds the inlining budget by one unit silently becomes a call, which is twice as
// slow.
func TestHotAccessorsInline(t *testing.T) {
	shorttest.Skip(t, "runs the compiler")
	source := must.Get(os.ReadFile(filepath.Join("testdata", "inlined", "main.go")))
	out := filepath.Join(t.TempDir(), "inlined")
	report, err := exec.Command("go", "build", "-gcflags=-m", "-o", out, "./testdata/inlined").CombinedOutput()
	require.NoError(t, err, "%s", report)

	inlined := map[string][]string{} // line: what was inlined there
	for _, m := range regexp.MustCompile(`(?m)inlined/main\.go:(\d+):\d+: inlining call to (?:.*\.(\w+)|main-(range)\d+)$`).FindAllStringSubmatch(string(report), -1) {
		inlined[m[1]] = append(inlined[m[1]], m[2]+m[3])
	}
	call := regexp.MustCompile(`\.([A-Z]\w*)\(`)
	wanted := 0
	for i, line := range strings.Split(string(source), "\n") {
		line, body := strings.CutSuffix(line, ", and the body")
		if !strings.HasSuffix(line, "// want inline") {
			continue
		}
		for _, m := range call.FindAllStringSubmatch(line, -1) {
			wanted++
			require.Contains(t, inlined[strconv.Itoa(i+1)], m[1], "line %d: %s; the compiler: %s", i+1, line, report)
		}
		if body { // otherwise there is a call per element
			require.Contains(t, inlined[strconv.Itoa(i+1)], "range", "line %d: %s; the compiler: %s", i+1, line, report)
		}
	}
	require.Greater(t, wanted, 10)
}

package host

import (
	"bytes"
	"encoding/json"
	"log"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zapcore"

	"github.com/worldd/worldd/internal/must"
)

// TestRelease: builds of a tag or a commit are named after it, others after the newest
// release in CHANGELOG.md.
func TestRelease(t *testing.T) {
	for module, want := range map[string]string{
		"":        release + "+source",
		"(devel)": release + "+source",
		"v0.1.0":  "v0.1.0",
		"v0.1.1-0.20261201120000-0123456789ab+dirty": "v0.1.1-0.20261201120000-0123456789ab+dirty",
	} {
		require.Equal(t, want, versionOf(module))
	}
	text := must.Get(os.ReadFile(filepath.Join("..", "..", "CHANGELOG.md")))
	newest := regexp.MustCompile(`(?m)^## (v\S+)$`).FindSubmatch(text)
	require.NotNil(t, newest)
	require.Equal(t, release, string(newest[1]))
}

// A program of another module names both versions. A clone in place of a release has no
// version.
func TestVersionsOf(t *testing.T) {
	info := &debug.BuildInfo{Main: debug.Module{Path: "example.com/mine", Version: "(devel)"}}
	info.Deps = []*debug.Module{{Path: module, Version: "v0.1.0"}}
	require.Equal(t, "mine source, worldd v0.1.0", versionsOf("mine", info))
	info.Deps[0] = &debug.Module{Path: module, Version: "v0.0.0-00010101000000-000000000000", Replace: &debug.Module{Path: "../worldd"}}
	require.Equal(t, "mine source, worldd "+release+"+source", versionsOf("mine", info))
}

// TestExposed: the log warns of an admin port that is exposed without a token.
func TestExposed(t *testing.T) {
	for text, want := range map[string]bool{
		"127.0.0.1:1": false, "127.1.2.3:1": false, "[::1]:1": false,
		"0.0.0.0:1": true, "[::]:1": true, "10.1.2.3:1": true, "[fe80::1]:1": true,
	} {
		require.Equal(t, want, isExposed(net.TCPAddrFromAddrPort(netip.MustParseAddrPort(text))), text)
	}
}

// TestLibrariesLog: the standard log becomes log entries.
func TestLibrariesLog(t *testing.T) {
	var out bytes.Buffer
	restore := logLibraries(newLog(&out, zapcore.InfoLevel))
	log.Print("the receive buffer is small")
	restore()
	var line struct{ Level, Msg string }
	require.NoError(t, json.Unmarshal(out.Bytes(), &line))
	require.Equal(t, "warn", line.Level)
	require.Equal(t, "the receive buffer is small", line.Msg)
}

package wire_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/replication/wire"
)

// Versions are compared by their numbers. Suffixes are ignored.
func TestCompareVersions(t *testing.T) {
	ascending := [][]string{
		{"", "latest", "1..2"},
		{"0", "v0.0-rc1"},
		{"0.0.0.1"},
		{"0.9.99"},
		{"1", "1.0", "v1.0.0.0", "1.0+build.7", "1-rc1"},
		{"1.9", "v1.9.0-dirty"},
		{"1.10.0"},
		{"1.10.999999999"},
		{"2"},
		{"999999999.0"},
	}
	for i, as := range ascending {
		for j, bs := range ascending {
			for _, a := range as {
				for _, b := range bs {
					want := map[bool]int{true: -1, false: 1}[i < j]
					if i == j {
						want = 0
					}
					require.Equal(t, want, wire.CompareVersions(a, b), "%q and %q", a, b)
				}
			}
		}
		for _, a := range as {
			if i > 0 || a == "" {
				require.NoError(t, wire.CheckVersion(a))
			}
		}
	}
	for _, bad := range []string{"v", ".", "1.", ".1", "1..2", "1.2.3.4.5", "1234567890", "-rc", "1.x", "1.2 ", "1-rc 1", "1-ü", "V1", "1e3", "+1", "1." + strings.Repeat("0", 40)} {
		require.Error(t, wire.CheckVersion(bad), bad)
		require.Equal(t, wire.BadMessage, wire.CodeOf(parsed(wire.Hello{Protocol: wire.Version, MinServer: bad})), bad)
		require.Equal(t, wire.BadMessage, wire.CodeOf(parsed(wire.Hello{Protocol: wire.Version, Version: bad})), bad)
	}
	require.NoError(t, parsed(wire.Hello{Protocol: wire.Version, Version: "1.2"}))
}

// parsed returns the error of reading a Hello that Append wrote.
func parsed(h wire.Hello) error {
	if len(h.Version) > wire.MaxVersion || len(h.MinServer) > wire.MaxVersion {
		return &wire.Error{Code: wire.BadMessage} // the encoder asserts the limit
	}
	_, err := wire.Parse[wire.Hello](h.Append(nil))
	return err
}

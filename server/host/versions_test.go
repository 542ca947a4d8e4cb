package host

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A server refuses clients before --min-client, with its text for their players. A program's bots and
// tools are clients of its version.
func TestMinClient(t *testing.T) {
	of := func(version string) Definition {
		d := tag()
		d.Version, d.Versions.TooOld = version, "fetch the new tag from our site"
		return d
	}
	addr, pin := serving(t, of("1.10.0"), "--min-client=1.9")
	load := func(d Definition, flags ...string) (int, string) {
		status, out, errs := playLonger(t, "1s", func(duration string) (int, string, string) {
			return playOf(t, d, append([]string{"loadtest", "--addr=" + addr, "--fingerprint=" + pin, "--bots=2", "--duration=" + duration}, flags...)...)
		}, succeeds) // a run that is refused ends at once
		return status, out + errs
	}
	status, text := load(of("1.9.2"))
	require.Equal(t, exitOK, status, text)
	status, text = load(of("1.8.7"))
	require.Equal(t, exitError, status, text)
	require.Contains(t, text, "client-too-old: fetch the new tag from our site")
	status, text = load(of("1.8.7"), "--client-version=v1.9")
	require.Equal(t, exitOK, status, text)
	status, text = load(tag())
	require.Equal(t, exitError, status, text)
	require.Contains(t, text, "client-too-old")
	status, text = load(tag(), "--client-version=now")
	require.Equal(t, exitUsage, status, text)
	require.Contains(t, text, `client: version "now"`)
	status, text, errs := playOf(t, of("1.9.2"), "schema", addr, "--fingerprint="+pin)
	require.Equal(t, exitOK, status, errs)
	require.Contains(t, text, "kind ball")
	for _, tool := range []string{"schema", "watch"} {
		status, _, errs = playOf(t, of("1.8.7"), tool, addr, "--fingerprint="+pin)
		require.Equal(t, exitError, status, tool)
		require.Contains(t, errs, "client-too-old: fetch the new tag from our site")
		require.Contains(t, errs, "--client-version joins with another version")
	}
	status, text, errs = playOf(t, of("1.8.7"), "schema", addr, "--fingerprint="+pin, "--client-version=2")
	require.Equal(t, exitOK, status, errs)
	require.Contains(t, text, "kind ball")

	status, _, errs = playOf(t, tag(), "serve", "--min-client=new")
	require.Equal(t, exitUsage, status)
	require.Contains(t, errs, `--min-client: version "new"`)
}

// A program whose version cannot be compared does not start: its server would have none. Without a
// version it has its module's.
func TestProgramVersion(t *testing.T) {
	d := tag()
	require.Equal(t, buildVersion(), d.versions().Game)
	require.NotEmpty(t, d.versions().Game)
	d.Version = "1.10.0"
	require.Equal(t, "1.10.0", d.versions().Game)

	d.Version = "autumn"
	status, _, errs := playOf(t, d, "version")
	require.Equal(t, exitUsage, status)
	require.Contains(t, errs, `definition: Version: version "autumn": want 1 to 4 numbers`)
	d.Versions.Game = "1.11" // then Version is for people
	require.NoError(t, d.Validate())
	require.Equal(t, "1.11", d.versions().Game)
	d.Versions.MinClient = "spring"
	require.ErrorContains(t, d.Validate(), `version "spring"`)
}

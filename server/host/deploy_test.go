package host

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

// TestDeployment: the program accepts the settings of the unit and the image, and the
// environment overrides them.
func TestDeployment(t *testing.T) {
	for file, command := range map[string]string{"worldd.service": "\nExecStart=/usr/local/bin/worldd serve\n", "Dockerfile": "\nCMD [\"serve\"]\n"} {
		t.Run(file, func(t *testing.T) {
			text := must.Get(os.ReadFile("../../cmd/worldd/deploy/" + file))
			require.Contains(t, string(text), command, "flags would win over anybody's environment")
			set := regexp.MustCompile(`(?m)^(?:Environment=|ENV |    )(?:WORLDD_\w+=\S+ ?)+`).FindAllString(string(text), -1)
			require.NotEmpty(t, set)
			for _, pair := range regexp.MustCompile(`(WORLDD_\w+)=(\S+)`).FindAllStringSubmatch(strings.Join(set, " "), -1) {
				t.Setenv(pair[1], pair[2])
			}
			serve := func() *serveCommand {
				c, status := (&program{Definition: Definition{Name: "worldd"}, out: io.Discard, err: io.Discard}).parseArgs([]string{"serve"})
				require.Equal(t, exitOK, status)
				return c.(*serveCommand)
			}
			c := serve()
			require.Equal(t, []string{"0.0.0.0:4433", "127.0.0.1:4434"}, []string{c.Listen, c.Admin})
			require.Regexp(t, "^/.*/world.image$", c.Image)
			require.Regexp(t, "^/.*/identity.pem$", c.Identity)
			t.Setenv("WORLDD_LISTEN", "127.0.0.1:1")
			t.Setenv("WORLDD_IDENTITY", "")
			t.Setenv("WORLDD_CERT", "mine.pem")
			t.Setenv("WORLDD_KEY", "mine.key")
			c = serve()
			require.Equal(t, "127.0.0.1:1", c.Listen)
			require.Empty(t, c.Identity)
			require.Equal(t, "mine.pem", filepath.Base(c.Cert))
		})
	}
}

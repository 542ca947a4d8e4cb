//go:build unix

package host

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
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
			require.NotContains(t, string(text), "WORLDD_ANYONE=true\n", "nobody joins without a token by default")
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

// TestDeploymentOnOrchestrators: the program accepts the settings of the manifests, beside the settings of
// the Dockerfile, and clients need a token.
func TestDeploymentOnOrchestrators(t *testing.T) {
	image := must.Get(os.ReadFile("../../cmd/worldd/deploy/Dockerfile"))
	for _, file := range []string{"compose.yaml", "kubernetes.yaml", "kubernetes-cluster.yaml", "agones.yaml"} {
		t.Run(file, func(t *testing.T) {
			text := must.Get(os.ReadFile("../../cmd/worldd/deploy/" + file))
			documents := yaml.NewDecoder(bytes.NewReader(text))
			var document map[string]any
			err := documents.Decode(&document)
			for ; err == nil; err = documents.Decode(&document) {
				require.NotEmpty(t, document)
			}
			require.ErrorIs(t, err, io.EOF)
			for _, pair := range regexp.MustCompile(`(WORLDD_\w+)=(\S+)`).FindAllStringSubmatch(string(image), -1) {
				if pair[1] != "WORLDD_ANYONE" { // of a comment
					t.Setenv(pair[1], pair[2])
				}
			}
			set := regexp.MustCompile(`(WORLDD_\w+)(?:, value: "?|: )([^"}\s]*)`).FindAllStringSubmatch(string(text), -1)
			require.Greater(t, len(set), 2)
			for _, pair := range set {
				t.Setenv(pair[1], pair[2])
			}
			if file == "agones.yaml" {
				t.Setenv(agonesPort, "9358")
			}
			c, status := (&program{Definition: Definition{Name: "worldd"}, out: io.Discard, err: io.Discard}).parseArgs([]string{"serve"})
			require.Equal(t, exitOK, status)
			require.Equal(t, "0.0.0.0:4434", c.(*serveCommand).Admin)
			require.NotEmpty(t, c.(*serveCommand).AdminToken)
			require.NotEmpty(t, c.(*serveCommand).TokenKeys)
			require.False(t, c.(*serveCommand).Anyone)
		})
	}
}

// TestNotices: the Docker image has the licence of every module in the program.
func TestNotices(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "./cmd/worldd")
	script := exec.Command("cmd/worldd/deploy/notices.sh", "./cmd/worldd")
	list.Dir, script.Dir = "../..", "../.."
	notices := string(must.Get(script.Output()))
	for module := range strings.FieldsSeq(string(must.Get(list.Output()))) {
		require.Contains(t, notices, "\n==== "+module)
	}
	require.Contains(t, notices, "==== Go go1")
}

package main

import (
	"os"
	"strings"
	"testing"
)

// An error of one platform is found only on that platform, in tests too.
func TestPlatforms(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"go.mod":    "module example.test/m\n\ngo 1.26.0\n",
		"a.go":      "package m\n\nvar Size = len(\"a\")\n",
		"a_test.go": "package m\n\nfunc huge() int { return 1 << 40 }\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("nothing", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{"linux/arm64 ./...", ""},
		{"linux/arm64,linux/386,darwin/arm64 ./...", "errors for linux/386"},
		{"linux/386 ./nothing/...", "matches no package"},
		{"linux/arm64, ./...", "want GOOS/GOARCH"},
		{"linux/386", "want GOOS/GOARCH and packages"},
	} {
		err := check(strings.Fields(c.args))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("typecheck %s: %v, want %q", c.args, err, c.want)
		}
	}
}

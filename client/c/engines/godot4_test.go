package engines

import (
	"archive/zip"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/cstruct"
)

// The module that carries Godot's own header and the description of its interface, and the sum of its files. It is not built.
const (
	godotHeaders    = "github.com/godot-go/godot-go@v0.3.40"
	godotHeadersSum = "h1:5nQzPjdpy4NO1sBl4IDKU8IHz/bVnh/qSetoKAvDt+I="
)

// A host in C plays a session through the GDExtension for Godot 4, which it loads and calls as Godot does. Both are compiled against
// Godot's header. Godot itself is not run.
func TestGodot4(t *testing.T) {
	lib, to := builtLibrary(t), t.TempDir()
	unpackGodotHeaders(t, to)
	header, err := cstruct.Header(plot, "plot", "godot4_test.go")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(to, "plot.h"), []byte(header), 0o600))
	compile := func(args ...string) {
		run(t, nil, "gcc", append([]string{"-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g", "-fsanitize=address,undefined", "-I" + to, "-I" + lib + "/include"}, args...)...)
	}
	compile("-std=c99", "-shared", "-fPIC", "-fvisibility=hidden", "../../godot/worldd_godot4.c", "-o", to+"/libworldd_godot.so", "-L"+lib+"/lib", "-lworldd", "-Wl,-rpath,"+lib+"/lib")
	compile("-std=c11", "../../godot/tests/host4.c", "-o", to+"/host", "-ldl")
	addr, fingerprint := servePlot(t)
	rows := beside(t, addr, fingerprint)
	out := run(t, nil, to+"/host", to+"/libworldd_godot.so", addr, fingerprint)
	checkSession(t, out, rows)
	checkPrediction(t, out)
}

// The GDExtension asks for functions of the published interface by their names and types, and for methods by their hashes. The oldest
// Godot that has them all is the one that worldd.gdextension names.
func TestGodot4Interface(t *testing.T) {
	to := t.TempDir()
	unpackGodotHeaders(t, to)
	read := func(file string) string {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		return string(text)
	}
	source, header, settings := read("../../godot/worldd_godot4.c"), read(to+"/gdextension_interface.h"), read("../../godot/worldd.gdextension")
	oldest := "4.1"
	asked := regexp.MustCompile(`F\((\w+), (\w+)\)`).FindAllStringSubmatch(source, -1)
	require.Greater(t, len(asked), 20)
	for _, f := range asked {
		of := regexp.MustCompile(`@name ` + f[2] + `\n \* @since ([\d.]+)\n[^/]*/\s+typedef [^;]*\(\*GDExtensionInterface` + f[1] + `\)\(`).FindStringSubmatch(header)
		require.NotNil(t, of, f[2])
		oldest = max(oldest, of[1])
	}
	require.Contains(t, settings, `compatibility_minimum = "`+oldest+`"`)
	require.Contains(t, source, "GDExtensionBool "+regexp.MustCompile(`entry_symbol = "(\w+)"`).FindStringSubmatch(settings)[1]+"(")

	var api struct {
		Sizes []struct {
			Build string `json:"build_configuration"`
			Sizes []struct {
				Name string
				Size int
			}
		} `json:"builtin_class_sizes"`
		Classes []struct {
			Name    string
			Methods []struct {
				Name string
				Hash json.Number
			}
		} `json:"builtin_classes"`
	}
	require.NoError(t, json.Unmarshal([]byte(read(to+"/extension_api.json")), &api))
	for _, b := range api.Sizes {
		for _, s := range b.Sizes {
			switch {
			case s.Name == "Variant":
				require.LessOrEqual(t, s.Size, 40, b.Build)
			case strings.HasSuffix(s.Name, "Array") || s.Name == "Dictionary" || strings.HasPrefix(s.Name, "String"):
				require.LessOrEqual(t, s.Size, 16, "%s: %s", b.Build, s.Name)
			}
		}
	}
	hashes := map[string]string{}
	for _, m := range regexp.MustCompile(`builtin\(type, "(\w+)", (\d+)\)`).FindAllStringSubmatch(source, -1) {
		hashes[m[1]] = m[2]
	}
	found := 0
	for _, c := range api.Classes {
		if !strings.HasPrefix(c.Name, "Packed") && c.Name != "Array" {
			continue
		}
		for _, m := range c.Methods {
			if hash, uses := hashes[m.Name]; uses {
				require.Equal(t, m.Hash.String(), hash, "%s.%s", c.Name, m.Name)
				found++
			}
		}
	}
	require.GreaterOrEqual(t, found, 8)
}

// unpackGodotHeaders writes Godot's header and the description of its interface into a folder.
func unpackGodotHeaders(t *testing.T, to string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", godotHeaders)
	c.Dir = to
	c.Env = append(os.Environ(), "GOTOOLCHAIN=local", "GOFLAGS=-mod=mod")
	out, err := c.Output() // fails also since the module is for a newer Go
	var module struct{ Zip, Sum, Error string }
	_ = json.Unmarshal(out, &module)
	if module.Zip == "" {
		require.NotEqual(t, "required", os.Getenv("ENGINES_TEST"), "%s: %v %s", godotHeaders, err, module.Error)
		t.Skipf("NOT TESTED: %s, with Godot's header, cannot be downloaded: %v %s", godotHeaders, err, module.Error)
	}
	require.Equal(t, godotHeadersSum, module.Sum)
	files, err := zip.OpenReader(module.Zip)
	require.NoError(t, err)
	defer func() { require.NoError(t, files.Close()) }()
	for _, name := range []string{"godot/gdextension_interface.h", "extension_api.json"} {
		text, err := fs.ReadFile(files, godotHeaders+"/godot_headers/"+name)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(to, filepath.Base(name)), text, 0o600))
	}
}

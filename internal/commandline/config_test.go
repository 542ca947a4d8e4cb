package commandline_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/commandline"
)

type program struct {
	Serve struct {
		Config  commandline.ConfigFile `type:"path"`
		Listen  string                 `default:"here"`
		Seed    *uint64
		Bots    int           `default:"3"`
		Rest    time.Duration `default:"1s"`
		Web     bool
		Exact   bool     `default:"true" negatable:""`
		Keys    []string `type:"path"`
		Fail    []string `sep:"none"`
		Needed  string   `required:""`
		Another string   `xor:"one"`
		Other   string   `xor:"one"`
	} `cmd:""`
}

// parse parses serve with --config on text, and more arguments.
func parse(t *testing.T, text string, args ...string) (p program, path, complaint string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "c.json")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	var out, err bytes.Buffer
	parsed, status := commandline.Parse(&p, commandline.Program{Name: "p", Variables: "P_"}, append([]string{"serve", "--config", path}, args...), &out, &err, nil)
	require.Equal(t, parsed == nil, status == commandline.Usage)
	_, complaint, _ = strings.Cut(err.String(), "\np: ")
	return p, path, complaint
}

func TestConfigFile(t *testing.T) {
	p, _, err := parse(t, `{
		"listen": "there", "seed": 18446744073709551615, "bots": 5, "rest": "30s", "web": true, "exact": false,
		"keys": ["/a", "/b"], "fail": ["x>1", "y,z<2"], "needed": "n", "other": "o"
	}`)
	require.Empty(t, err)
	s := p.Serve
	require.Equal(t, "there", s.Listen)
	require.Equal(t, ^uint64(0), *s.Seed)
	require.Equal(t, 5, s.Bots)
	require.Equal(t, 30*time.Second, s.Rest)
	require.True(t, s.Web)
	require.False(t, s.Exact)
	require.Equal(t, []string{"/a", "/b"}, s.Keys)
	require.Equal(t, []string{"x>1", "y,z<2"}, s.Fail)
	require.Equal(t, "n", s.Needed)

	p, _, err = parse(t, `{"keys": "/a,/b"}`, "--needed=n")
	require.Empty(t, err)
	require.Equal(t, []string{"/a", "/b"}, p.Serve.Keys)
	_, _, err = parse(t, `{}`)
	require.Equal(t, "missing flags: --needed=STRING\n", err)
}

// Flags override the environment, which overrides the file.
func TestConfigFileIsOverridden(t *testing.T) {
	names := []string{"P_BOTS", "P_LISTEN"}
	for _, name := range names {
		t.Setenv(name, "")
	}
	const text = `{"needed": "n", "listen": "file", "bots": 7, "fail": ["a"]}`
	p, _, err := parse(t, text)
	require.Empty(t, err)
	require.Equal(t, "file", p.Serve.Listen, "an empty variable is none")
	t.Setenv("P_LISTEN", "environment")
	p, _, _ = parse(t, text)
	require.Equal(t, "environment", p.Serve.Listen)
	require.Equal(t, 7, p.Serve.Bots)
	p, _, _ = parse(t, text, "--listen=flag", "--bots=8", "--fail=b")
	require.Equal(t, "flag", p.Serve.Listen)
	require.Equal(t, 8, p.Serve.Bots)
	require.Equal(t, []string{"b"}, p.Serve.Fail)
}

// The environment may name the file.
func TestConfigFileOfTheEnvironment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"needed": "n", "bots": 9}`), 0o600))
	t.Setenv("P_CONFIG", path)
	var p program
	var out, err bytes.Buffer
	_, status := commandline.Parse(&p, commandline.Program{Name: "p", Variables: "P_"}, []string{"serve"}, &out, &err, nil)
	require.Equal(t, commandline.OK, status, err.String())
	require.Equal(t, 9, p.Serve.Bots)
}

// A program without commands reads a file too.
func TestConfigFileWithoutCommands(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"bots": 9, "x": 1}`), 0o600))
	var flags struct {
		Config commandline.ConfigFile
		Bots   int
	}
	var out, err bytes.Buffer
	_, status := commandline.Parse(&flags, commandline.Program{Name: "p", Variables: "P_"}, []string{"--config", path}, &out, &err, nil)
	require.Equal(t, commandline.Usage, status)
	require.Contains(t, err.String(), `unknown key "x": want a flag of p`)
}

func TestWrongConfigFile(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", ":1:1: the file ends within the object"},
		{"no object", "[1]", `:1:1: want an object, as {"listen": "0.0.0.0:4433"}`},
		{"not JSON", "listen: there", ":1:1: invalid character 'l' looking for beginning of value"},
		{"syntax", "{\n  \"bots\": 5\n  \"rest\": \"1s\"\n}", ":3:3: invalid character '\"' after object key:value pair"},
		{"cut off", `{"bots": 5,`, ":1:12: the file ends within the object"},
		{"cut off in a value", `{"bots": "5`, ":1:2: the file ends within the object"},
		{"more", "{}\n{}", ":2:1: want nothing after the object"},
		{"misspelled", "{\n  \"bots\": 5,\n  \"lisen\": \"x\"}", `:3:3: unknown key "lisen"; did you mean "listen"?`},
		{"unknown", `{"colour": 1}`, `:1:2: unknown key "colour": want a flag of serve without its hyphens, as "listen"`},
		{"help", `{"help": true}`, `unknown key "help"`},
		{"itself", `{"config": "x"}`, `unknown key "config"`},
		{"twice", `{"bots": 1, "bots": 2}`, `:1:13: the key "bots" is there twice`},
		{"text for a number", `{"bots": "many"}`, `:1:2: "bots": expected a valid 64 bit int but got "many"`},
		{"fraction", `{"bots": 1.5}`, `"bots": expected a valid 64 bit int but got "1.5"`},
		{"duration without unit", `{"rest": 30}`, `"rest": expected duration but got "30": time: missing unit in duration "30"`},
		{"number for a switch", `{"web": 2}`, `"web": bool value must be true, 1, yes, false, 0 or no but got "2"`},
		{"list for one value", `{"listen": ["a"]}`, `"listen" is a list, want one value`},
		{"list of others", `{"fail": [{}]}`, `:1:2: "fail": want a list of strings`},
		{"null", `{"listen": null}`, `"listen": want a string, a number, true, false or a list`},
		{"object", `{"serve": {"listen": "x"}}`, `unknown key "serve"`},
		{"object as a value", `{"listen": {"a": 1}}`, `"listen": want a string, a number, true, false or a list`},
		{"too long", `{"listen": "` + strings.Repeat("x", 64<<10) + `"}`, "file too long: more than 65536 bytes"},
		{"deep", `{"listen": ` + strings.Repeat("[", 20_000), "exceeded max depth"},
		{"excluding", `{"another": "1", "other": "2"}`, "--another and --other can't be used together"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, path, complaint := parse(t, c.text, "--needed=n")
			require.Contains(t, complaint, c.want)
			if strings.HasPrefix(c.want, ":") {
				require.Equal(t, path+c.want+"\n", complaint)
			}
		})
	}
	for path, want := range map[string]string{
		filepath.Join(t.TempDir(), "none.json"): "no such file or directory",
		t.TempDir():                             "not a regular file: it is a directory",
	} {
		var p program
		var out, err bytes.Buffer
		_, status := commandline.Parse(&p, commandline.Program{Name: "p", Variables: "P_"}, []string{"serve", "--needed=n", "--config", path}, &out, &err, nil)
		require.Equal(t, commandline.Usage, status)
		require.Contains(t, err.String(), "p: cannot read --config: open "+path)
		require.Contains(t, err.String(), want)
	}
}

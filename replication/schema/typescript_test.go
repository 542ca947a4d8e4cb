package schema

import (
	"bufio"
	"encoding/json"
	"flag"
	"math"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
)

var update = flag.Bool("update", false, "rewrite the modules in client/ts/test/generated")

// oddNames has names that are not identifiers, and names that collide.
const oddNames = `worldd schema 2
component late-chime
constructor uint 3
__proto__ int 64
it's bool
Größe float 64
*/ range bff0000000000000 3f60000000000000 1024
Aim.Pitch angle 12 owner
Aim.Turn quat 9
Cells[0] enum 5
Cells[1] enum 5
Cells[2] enum 5
Cells[3] enum 5
Cells[4] enum 5
Legs[0].At[0] float 32
Legs[0].At[1] float 32
Legs[1].At[0] float 32
Legs[1].At[1] float 32
Legs[2].At[0] float 32
Legs[2].At[1] float 32
Legs[3].At[0] float 32
Legs[3].At[1] float 32
Legs[4].At[0] float 32
Legs[4].At[1] float 32
0.1 uint 1
0.B uint 1
constructors[0].__proto__ bool
5 string 3
L[0] string 3 owner
L[1] string 2
component late_chime
Text string 3
component 7
component __proto__
component */` + "`${x}\\`" + `
component handle
To ref
component record
component array
At bool
component Late-Chime2
component ` + "\u2028\"'" + `
kind it's
input raw
command delete
command late-chime
answer
New int 32
event 5
event 名前 unreliable
`

// vectorSchema returns the schema text of a file of vectors.
func vectorSchema(t *testing.T, file string) string {
	t.Helper()
	f := must.Get(os.Open("../wire/testdata/vectors/" + file))
	defer func() { require.NoError(t, f.Close()) }()
	line := must.Get(bufio.NewReader(f).ReadBytes('\n'))
	var head struct{ Schema string }
	require.NoError(t, json.Unmarshal(line, &head))
	return head.Schema
}

type aim struct {
	Pitch float32    `net:"range=-1..1,step=1/127" was:"Tilt"`
	Turn  [4]float32 `net:"quat,bits=9"`
}

type purse struct {
	Copper int32 `was:"Gold,Silver"`
	Total  uint64
	Aims   [2]aim      `was:"Looks"`
	Enemy  bulk.Handle `net:"ref"`
	Half   float64
	Debt   bool
	Note   string `net:"max=16" was:"Text"`
	Seal   []byte `net:"max=4"`
}

type chime struct {
	Loud bool `was:"It's"`
}

// describeVersions returns a schema with former paths and defaults, which its text lacks.
func describeVersions(t *testing.T) *Schema {
	s := New()
	Define[purse](s, `"purse"`).WithDefault(purse{
		Copper: -7, Total: 1 << 63, Aims: [2]aim{{Pitch: 0.5}, {Turn: [4]float32{0, 0, 0, 1}}}, Enemy: 1,
		Half: math.Inf(-1), Debt: true, Note: `it's "x"`, Seal: []byte{1, 2},
	})
	DefineQuery[aim, aim](s, "aim")
	DefineInput[aim](s)
	DefineEvent[chime](s, "chime").WithDefault(chime{true})
	Define[chime](s, "\u2028'\\\"")
	require.NoError(t, s.Err())
	return s
}

// client/ts checks the types of these modules, and reads sessions with them.
func TestTypeScript(t *testing.T) {
	for name, text := range map[string]string{
		"names":      oddNames,
		"texts":      vectorSchema(t, "texts.jsonl"),
		"simulation": vectorSchema(t, "simulation-3.jsonl"),
		"versions":   "",
	} {
		t.Run(name, func(t *testing.T) {
			s := describeVersions(t)
			if text != "" {
				s = must.Get(Parse(text))
			}
			file := "../../client/ts/test/generated/" + name + ".ts"
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(s.TypeScript("worldd schema --lang ts")), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err, "write it with go test -run TypeScript -update")
			require.Equal(t, string(want), s.TypeScript("worldd schema --lang ts"))
		})
	}
}

type team uint8

func (team) String() string { return "red" }

// The literals of defaults do not depend on the String methods of their types.
func TestTypeScriptDefaultsOfNamedTypes(t *testing.T) {
	type shift struct {
		Team  team
		Long  time.Duration
		Part  float32
		Huge  float64
		Turn  [4]float32 `net:"quat,bits=9"`
		Teams [2]team
	}
	s := New()
	Define[shift](s, "shift").WithDefault(shift{
		Team: 2, Long: time.Minute, Part: 0.1, Huge: math.Inf(1), Turn: [4]float32{0.1, 0, 0, 1}, Teams: [2]team{1: 3},
	})
	require.NoError(t, s.Err())
	require.Contains(t, s.TypeScript("worldd"),
		`{ Team: 2, Long: 60000000000n, Part: 0.10000000149011612, Huge: Infinity, Turn: [0.10000000149011612, 0, 0, 1], 'Teams[1]': 3 }`)
}

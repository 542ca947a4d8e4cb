package field

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

func TestFormat(t *testing.T) {
	const untidy = "\n\n  # above \t\n" +
		"effect   a#name\r\n\n\n\n" +
		"param p=.5   in -1 .. 2\n" +
		"param  v = ( 1,-2 , +3e2 )\n" +
		"box(0,0,0) , (1,1,1)\n" +
		"def  f ( a,b )=a*- b+(b.x-1)/2\n" +
		"let x=f (position,-p) * ( v ).y- -1\n" +
		"y=mul x,-2\n" +
		"\ty = cross y,(1,2,-3)   #side\n" +
		"output+=select( x<=-p ,y,y )\n" +
		"output.y -=1e-3*x\n\n\n"
	const tidy = `# above
effect a #name

param p = .5 in -1..2
param v = (1, -2, +3e2)
box (0, 0, 0) (1, 1, 1)
def f(a, b) = a * -b + (b.x - 1) / 2
let x = f(position, -p) * (v).y - -1
y = mul x, -2
y = cross y, (1, 2, -3) #side
output += select(x <= -p, y, y)
output.y -= 1e-3 * x
`
	require.Equal(t, tidy, must.Get(Format(untidy)))
	requireFormat(t, untidy)
}

// requireFormat: Format is idempotent and keeps the meaning.
func requireFormat(t testing.TB, text string) {
	t.Helper()
	formatted, err := Format(text)
	if err != nil {
		return
	}
	again, err := Format(formatted)
	require.NoError(t, err, "%s", formatted)
	require.Equal(t, formatted, again)
	p, err := Compile(text)
	q, other := Compile(formatted)
	require.Equal(t, err == nil, other == nil, "%v and %v\n%s", err, other, formatted)
	if err == nil {
		require.Equal(t, p.Hash(), q.Hash(), "%s", formatted)
	}
}

// TestFormatShipped: the shipped texts are formatted.
func TestFormatShipped(t *testing.T) {
	texts := map[string]string{}
	for _, name := range ShippedNames() {
		texts[name], _ = Shipped(name)
	}
	texts["library"] = libraryText
	for name, text := range texts {
		formatted, err := Format(text)
		require.NoError(t, err, name)
		require.Equal(t, formatted, text, name)
	}
	for seed := range uint64(200) {
		text := randomText(rand.New(rand.NewPCG(seed, 12)), 12)
		must.Get(Format(text))
		requireFormat(t, text)
	}
}

func TestFormatFaults(t *testing.T) {
	for text, message := range map[string]string{
		"let a = (1 + 2\noutput += a":                                    "the line ends here",
		"let a = " + strings.Repeat("1+", 250) + "1\noutput += position": "the formatted line has 1009 bytes",
		strings.Repeat("let a=(1,2,3)+4\n", MaxSourceBytes/16):           "more than 2048 assignments",
	} {
		_, err := Format(text)
		var wrong *SyntaxError
		require.ErrorAs(t, err, &wrong)
		require.Equal(t, message, wrong.Message)
		require.Equal(t, 1, min(wrong.Line, 1))
	}
}

// FuzzFormat applies requireFormat to any text.
func FuzzFormat(f *testing.F) {
	for _, name := range ShippedNames() {
		text, _ := Shipped(name)
		f.Add(text)
	}
	f.Add(libraryText)
	f.Add("param a = 1 in 0. .. 1\noutput += (a, 0, 0)")
	f.Add("param p=.5 in -1 .. 2\nbox(0,0,0),(1,1,1)\ny=mul position,-2#c\r\n\n\noutput.x-=f ( -1 )-(2).x\n")
	f.Fuzz(func(t *testing.T, text string) { requireFormat(t, text) })
}

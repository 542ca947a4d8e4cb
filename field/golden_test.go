package field

import (
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

func golden(t testing.TB, name string) *Program {
	t.Helper()
	text := must.Get(os.ReadFile("testdata/golden/" + name + ".field"))
	p, err := Compile(string(text))
	require.NoError(t, err, "%s", name)
	return p
}

// Golden results, the same on every machine and kernel (F1): FNV-1a of the output's
// bits. They change only with the arithmetic, which must not change.
func TestGoldenResults(t *testing.T) {
	for name, want := range map[string]uint64{
		"explosion": 0x8ce532fba156eb03,
		"whirl":     0x5db5cc0f667d9c02,
		"random1":   0x8f1ab06cf82cd30c,
		"random2":   0x8c9679ef7d82c918,
		"random3":   0xaee9fcdb6ac346fb,
	} {
		h := fnv.New64a()
		for _, bits := range evaluateAt(t, golden(t, name), randomPoints(rand.New(rand.NewPCG(10, 11)), 5000)) {
			h.Write(binary.LittleEndian.AppendUint32(nil, bits))
		}
		if h.Sum64() != want {
			t.Errorf("%s: %#x, not %#x", name, h.Sum64(), want)
		}
	}
}

// TestGoldenProgram pins the program compiled from the article's explosion. A better
// compiler may change the program. States and recordings that hold its hash then change
// too. The results above must not change.
func TestGoldenProgram(t *testing.T) {
	p := golden(t, "explosion")
	require.Equal(t, uint64(0x10e87c955b6f1fd), p.Hash(), "%#x", p.Hash())
	require.Equal(t, explosionPrinted, p.String())
}

const explosionPrinted = `r5 = sub position.x, 2
r6 = sub position.y, 4
r7 = mul r5, r5
r7 = mad r6, r6, r7
r7 = mad position.z, position.z, r7
r8 = rsqrt r7
r8 = mul r8, 50
r7 = select_lt r7, 25, r8, 0
output.x = mad r5, r7, output.x
output.y = mad r6, r7, output.y
output.z = mad position.z, r7, output.z
`

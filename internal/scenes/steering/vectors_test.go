package steering_test

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/scenes/steering"
	"github.com/worldd/worldd/replication/schema"
)

var update = flag.Bool("update", false, "write testdata/steps.txt")

// The TypeScript client's tests move an avatar by the same sticks to the same bits.
func TestSteps(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	m := steering.Motion{TickHz: 60, Speed: 6, HalfX: 3, HalfZ: 2}
	var body schema.Body
	var stick steering.Stick
	var out bytes.Buffer
	for i := range 600 {
		if i%7 == 0 {
			stick = steering.Stick{X: int8(r.IntN(256) - 128), Z: int8(r.IntN(256) - 128)}
		}
		m.Step(&body, stick)
		fmt.Fprintf(&out, "%d %d", stick.X, stick.Z)
		for _, v := range []float32{body.Position[0], body.Position[2], body.Velocity[0], body.Velocity[2]} {
			fmt.Fprintf(&out, " %08x", math.Float32bits(v))
		}
		out.WriteByte('\n')
	}
	if *update {
		require.NoError(t, os.WriteFile("testdata/steps.txt", out.Bytes(), 0o644))
	}
	require.Equal(t, string(must.Get(os.ReadFile("testdata/steps.txt"))), out.String())
}

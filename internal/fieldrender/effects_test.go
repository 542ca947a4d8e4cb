package fieldrender

import (
	"testing"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/must"
)

func compile(t *testing.T, text string) *field.Program {
	t.Helper()
	return must.Get(field.Compile(text))
}

// uniform returns a wind that is the same everywhere.
func uniform(t *testing.T, wind string) *field.Program {
	t.Helper()
	return compile(t, "output = add output, "+wind)
}

// swelling pushes outwards, increasingly.
const swelling = `
effect swelling
param ratio = (1, 0.5, 2)
box (-10, -5, -5) (10, 5, 5)
push = mul position, time
output = mad push, ratio, output
`

const whirl = `
effect whirl
param around = 28
param inward = -9
param upward = (0, 20, 0)
box (-16, 0, -16) (16, 40, 16)
level = mul position, (1, 0, 1)
lensqr = dot level, level
away = normalize level
side = cross (0, 1, 0), away
air = mul side, around
pull = mul away, inward
air = add air, pull
air = add air, upward
air = select_lt lensqr, 256, air, 0
output = add output, air
`

// turning rotates about the y axis at one radian a second.
const turning = `
effect turning
box (-10, -1, -10) (10, 1, 10)
air = cross (0, 1, 0), position
output = add output, air
`

package fieldpicture

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/field"
)

func compile(t *testing.T, text string) *field.Program {
	t.Helper()
	p, err := field.Compile(text)
	require.NoError(t, err)
	return p
}

// uniform is the same wind everywhere.
func uniform(t *testing.T, wind string) *field.Program {
	t.Helper()
	return compile(t, "output = add output, "+wind)
}

const explosion = `
effect explosion
param strength = 50
box (-12, -12, -12) (12, 12, 12)
lensqr = dot position, position
away = normalize position
away = add away, (0, 0.5, 0)
push = mul away, strength
left = nmad time, 2.5, 1
push = mul push, left
push = select_lt lensqr, 144, push, 0
output = add output, push
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

// turning goes round the y axis, a radian a second.
const turning = `
effect turning
box (-10, -1, -10) (10, 1, 10)
air = cross (0, 1, 0), position
output = add output, air
`

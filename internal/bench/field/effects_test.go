//go:build yardstick && cgo && amd64 && linux

package field

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/worldd/worldd/internal/bench/field/fused"
)

// newScene returns sixteen effects spread over some 40 m.
func newScene() *fused.Scene {
	s := &fused.Scene{Time: 1.5}
	for i := range s.Explosions {
		f := float32(i)
		s.Explosions[i] = fused.Effect{X: 5*f - 18, Y: f, Z: 12 - 4*f, Strength: 50 - f, Size: 25 + f}
	}
	for i := range s.Whirls {
		f := float32(i)
		s.Whirls[i] = fused.Effect{X: 8*f - 12, Z: 6 - 3*f, Strength: 12 + f, Size: -0.125, Waves: 0.31 + 0.0625*f}
	}
	for i := range s.Winds {
		f := float32(i)
		s.Winds[i] = fused.Effect{Strength: 3 - f, Z: 1 + f, Waves: 0.05 + 0.0625*f}
	}
	for i := range s.Updrafts {
		f := float32(i)
		s.Updrafts[i] = fused.Effect{X: 10*f - 5, Z: f, Strength: 9, Size: 16 + f}
	}
	return s
}

// The effects' texts, as an author would write them. Numbers are literals rather than
// parameters; the machine treats both alike.

const explosionText = `d = sub position, (%[1]s, %[2]s, %[3]s)
lensqr = dot d, d
d = normalize d
d = mul d, %[4]s
d = select_lt lensqr, %[5]s, d, 0
output = add output, d
`

// vectorText is the article's explosion as six vector operations. Its lanes are not all equal,
// so that the compiler does not turn its products into a vector and a factor.
const vectorText = `d = sub position, (%[1]s, %[2]s, %[3]s)
lensqr = dot d, d
d = normalize d
d = mul d, (%[4]s, %[4]s, %[4]s, 0)
d = select_lt lensqr, %[5]s, d, (0, 0, 0, 1)
output = add output, d
`

const whirlText = `d = sub position, (%[1]s, 0, %[3]s)
d = mul d, (1, 0, 1)
r = length d
fade = mad r, %[5]s, 1
fade = smooth fade
turn = mad r, %[6]s, time
turn = sin turn
k = mul fade, turn
d = normalize d
d = cross (0, 1, 0), d
d = mul d, k
d = mul d, %[4]s
output = add output, d
`

const windText = `wave = mad position.x, %[6]s, time
wave = sin wave
output = mad wave, (%[4]s, 0, %[3]s), output
`

const updraftText = `d = sub position, (%[1]s, 0, %[3]s)
d = mul d, (1, 0, 1)
square = dot d, d
lift = select_lt square, %[5]s, %[4]s, 0
output.y = add output.y, lift
`

// textOf returns the texts of effects of one kind.
func textOf(format string, effects ...fused.Effect) string {
	var b strings.Builder
	for _, e := range effects {
		var numbers []any
		for _, f := range []float32{e.X, e.Y, e.Z, e.Strength, e.Size, e.Waves} {
			numbers = append(numbers, strconv.FormatFloat(float64(f), 'g', -1, 32))
		}
		format := format + "# %[1]s %[2]s %[3]s %[4]s %[5]s %[6]s\n" // uses each number
		fmt.Fprintf(&b, format, numbers...)
	}
	return b.String()
}

// textFor returns the text of one of fused's effects.
func textFor(effect int, s *fused.Scene) string { return textWith(explosionText, effect, s) }

// textWith is textFor with another text for explosions.
func textWith(explosion string, effect int, s *fused.Scene) string {
	switch effect {
	case fused.Explosion:
		return textOf(explosion, s.Explosions[0])
	case fused.Whirl:
		return textOf(whirlText, s.Whirls[0])
	}
	return textOf(explosion, s.Explosions[:]...) + textOf(whirlText, s.Whirls[:]...) +
		textOf(windText, s.Winds[:]...) + textOf(updraftText, s.Updrafts[:]...)
}

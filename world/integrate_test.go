package world

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Columns and rows are the same motion, bit by bit: in the air and on the ground,
// across bounds, at speeds beyond the limit, in winds that are no numbers.
func TestColumnsMoveLikeRows(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	for round := range 200 {
		rule := Bounds(round % 3)
		n := 1 + r.IntN(chunkRows)
		seed := r.Uint64()
		rows, byRow := turbulent(t, rule, n, seed)
		columns, byColumn := turbulent(t, rule, n, seed)
		byRow.windy, byRow.pushed = round&1 == 0, round&2 == 0
		byColumn.windy, byColumn.pushed = byRow.windy, byRow.pushed
		rows.integrateRows(byRow, 0, n)
		columns.integrateColumns(byColumn, 0, n)
		a, b := &rows.bodies, &columns.bodies
		for row := range n {
			for i, pair := range [][2]float32{
				{a.posX[row], b.posX[row]},
				{a.posY[row], b.posY[row]},
				{a.posZ[row], b.posZ[row]},
				{a.velX[row], b.velX[row]},
				{a.velY[row], b.velY[row]},
				{a.velZ[row], b.velZ[row]},
			} {
				if math.Float32bits(pair[0]) != math.Float32bits(pair[1]) {
					require.Fail(t, "bits", "round %d, row %d of %d, column %d: %v by row, %v by column", round, row, n, i, pair[0], pair[1])
				}
			}
		}
		require.Equal(t, a.moved, b.moved)
		require.Equal(t, a.crossed, b.crossed)
		require.Equal(t, a.halted, b.halted)
	}
}

// turbulent returns a world of n awake bodies of several kinds, and a chunk with
// forces on them.
func turbulent(t *testing.T, rule Bounds, n int, seed uint64) (*World, *chunk) {
	r := rand.New(rand.NewPCG(seed, 1))
	w, err := New(Config{HalfExtent: Vec3{20, 20, 20}, CellMetres: 2, Bounds: rule})
	require.NoError(t, err)
	number := func(scale float32) float32 { return float32((2*r.Float32() - 1) * scale) }
	for _, k := range []Kind{
		{Name: "ball", Body: &BodyDef{Radius: 0.5, Restitution: 0.7, Friction: 0.2, Drag: 1}},
		{Name: "brick", Body: &BodyDef{Mass: 3, Radius: 2, Friction: 0.9}},
		{Name: "lift", Body: &BodyDef{Kinematic: true, Radius: 1, Drag: 5}},
	} {
		_, err := w.AddKind(k)
		require.NoError(t, err)
	}
	c := &chunk{}
	for i := range n {
		scale := float32(math.Pow(10, float64(r.IntN(5)-2)))
		at := Vec3{number(21), 10 + number(11), number(21)}
		_, err := w.Spawn(KindID(r.IntN(3)), at, Vec3{number(scale), number(scale), number(scale)})
		require.NoError(t, err)
		c.wind.x[i], c.wind.y[i], c.wind.z[i] = number(30), number(30), number(30)
		c.push.x[i], c.push.y[i], c.push.z[i] = number(30), number(3000), number(30)
		switch r.IntN(30) {
		case 0:
			c.wind.x[i] = float32(math.Inf(1))
		case 1:
			c.push.z[i] = float32(math.NaN())
		case 2:
			w.bodies.setVelocity(i, Vec3{float32(math.Copysign(0, -1)), 0, 0})
		}
	}
	w.flushSleep()
	b := &w.bodies
	b.moved, b.crossed, b.halted = make([]uint64, n/64+1), make([]uint64, n/64+1), make([]uint64, n/64+1)
	require.Equal(t, n, b.awake)
	return w, c
}

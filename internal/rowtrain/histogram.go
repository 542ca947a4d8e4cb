package rowtrain

import "github.com/worldd/worldd/internal/rowcodec"

// histogram accumulates what a training pass observes: symbol counts, and the normal
// equations of the weights.
type histogram struct {
	residuals [rowcodec.Lanes][rowcodec.Scales][rowcodec.ResidualCodes]uint64
	heads     map[rowcodec.HeadKey]*[rowcodec.HeadContexts][]uint64
	position  [3][rowcodec.Zones][rowcodec.Attachments][rowcodec.Speeds]*normal
	rotation  [rowcodec.Zones][rowcodec.Attachments][rowcodec.Speeds]*normal
	scale     [rowcodec.Lanes][rowcodec.Attachments][rowcodec.Speeds]*normal
	width     float64 // errors count in full up to about this many typical errors: see weight
}

func newHistogram(width int) *histogram {
	n := &histogram{heads: map[rowcodec.HeadKey]*[rowcodec.HeadContexts][]uint64{}, width: float64(width)}
	for a := range rowcodec.Attachments {
		for s := range rowcodec.Speeds {
			for z := range rowcodec.Zones {
				for axis := range n.position {
					n.position[axis][z][a][s] = newNormal(4)
				}
				n.rotation[z][a][s] = newNormal(3)
			}
			for lane := range n.scale {
				n.scale[lane][a][s] = newNormal(rowcodec.Features)
			}
		}
	}
	return n
}

// addHead counts a symbol of a head.
func (n *histogram) addHead(key rowcodec.HeadKey, context, symbol int) {
	counts := n.heads[key]
	if counts == nil {
		counts = new([rowcodec.HeadContexts][]uint64)
		for i := range counts {
			counts[i] = make([]uint64, key.Symbols)
		}
		n.heads[key] = counts
	}
	counts[context][symbol]++
}

// addResidual adds a residual to the counts of its code and the fit of its scale.
func (n *histogram) addResidual(r rowcodec.Residual) {
	n.residuals[r.Lane][r.Scale][r.Symbol]++
	var x [rowcodec.Features]float64
	for i := range x {
		x[i] = float64(r.Features[i])
	}
	n.scale[r.Lane][r.Attached][r.Speed].add(x[:], float64(r.Magnitude), 1)
}

// addPosition adds a sample for the weights of a position's prediction.
func (n *histogram) addPosition(axis int, e rowcodec.Equation) {
	n.addEquation(&n.position[axis], e)
}

// addRotation adds a sample for the weights of a rotation's prediction.
func (n *histogram) addRotation(e rowcodec.Equation) { n.addEquation(&n.rotation, e) }

// addEquation adds a sample to its zone and to the last zone, which stands for all.
func (n *histogram) addEquation(fits *[rowcodec.Zones][rowcodec.Attachments][rowcodec.Speeds]*normal, e rowcodec.Equation) {
	weight := n.weight(e.Miss, e.Usual)
	fits[e.Zone][e.Attached][e.Speed].add(e.X, e.Y, weight)
	if e.Zone != rowcodec.Zones-1 {
		fits[rowcodec.Zones-1][e.Attached][e.Speed].add(e.X, e.Y, weight)
	}
}

// weight returns a sample's weight, given the error of the current prediction and the
// typical error at its scale. An error costs bits relative to the typical one: a quantum
// matters where rows are predicted to the quantum, and not where they tumble. Large
// relative errors cost bits only by their logarithm, so they get little weight.
func (n *histogram) weight(off, usual float64) float64 {
	far := off + float64(n.width*usual)
	return 1 / (far * far * far)
}

// normal holds the normal equations of a weighted linear fit.
type normal struct {
	a [][]float64
	b []float64
	n int
}

func newNormal(size int) *normal {
	m := &normal{a: make([][]float64, size), b: make([]float64, size)}
	for i := range m.a {
		m.a[i] = make([]float64, size)
	}
	return m
}

// add adds a sample: y should be the weighted sum of x. Products are converted to
// float64 so that no compiler fuses them and every machine trains the same tables.
func (m *normal) add(x []float64, y, weight float64) {
	m.n++
	for i := range x {
		wx := float64(x[i] * weight)
		m.b[i] += float64(wx * y)
		for j := range x {
			m.a[i][j] += float64(wx * x[j])
		}
	}
}

// solve sets now to the fitted weights, in 1/256 and clamped to MaxWeight. With too few
// samples it leaves now unchanged. A small ridge towards now preserves what the samples
// do not determine.
func (m *normal) solve(now []int32) {
	if m.n < 64 {
		return
	}
	size := len(m.b)
	var trace float64
	for i := range size {
		trace += m.a[i][i]
	}
	rows := make([][]float64, size)
	for i := range size {
		ridge := float64(m.a[i][i]*1e-4) + float64(trace*1e-9) + 1e-9
		rows[i] = append(append([]float64(nil), m.a[i]...), m.b[i]+float64(ridge*float64(now[i])/256))
		rows[i][i] += ridge
	}
	for i := range size {
		most := i
		for j := i + 1; j < size; j++ {
			if max(rows[j][i], -rows[j][i]) > max(rows[most][i], -rows[most][i]) {
				most = j
			}
		}
		rows[i], rows[most] = rows[most], rows[i]
		for j := range size {
			if j == i {
				continue
			}
			k := rows[j][i] / rows[i][i]
			for at := i; at <= size; at++ {
				rows[j][at] -= float64(k * rows[i][at])
			}
		}
	}
	for i := range size {
		now[i] = int32(max(-rowcodec.MaxWeight, min(rowcodec.MaxWeight, rows[i][size]/rows[i][i]*256)))
	}
}

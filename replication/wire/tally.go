package wire

import "math"

// tally is what a Trainer notes while rows are coded.
type tally struct {
	residuals [lanes][scales][residualCodes]uint64
	gaps      [residualCodes]uint64
	heads     map[headKey]*[headContexts][]uint64
	position  [3][zones][attachments][speeds]*normal
	rotation  [zones][attachments][speeds]*normal
	scale     [lanes][attachments][speeds]*normal
	width     float64 // how far off a sample counts in full, in usual misses: see weight
	places    places  // nil if they are not looked for
}

type headKey struct {
	shape string
	group int
	ways  int
}

func newTally(width int) *tally {
	n := &tally{heads: map[headKey]*[headContexts][]uint64{}, width: float64(width)}
	for a := range attachments {
		for s := range zones * speeds {
			for axis := range n.position {
				n.position[axis][s/speeds][a][s%speeds] = newNormal(4)
			}
			n.rotation[s/speeds][a][s%speeds] = newNormal(7)
		}
		for lane := range n.scale {
			for s := range speeds {
				n.scale[lane][a][s] = newNormal(features)
			}
		}
	}
	return n
}

func (n *tally) head(p *part, g, context, symbol int) {
	key := headKey{p.shape, g, p.groups[g].ways}
	counts := n.heads[key]
	if counts == nil {
		counts = new([headContexts][]uint64)
		for i := range counts {
			counts[i] = make([]uint64, key.ways)
		}
		n.heads[key] = counts
	}
	counts[context][symbol]++
}

// residual notes one, m as it is written and d as it is, that f has not been told of.
func (n *tally) residual(lane int, m uint64, d int64, f *forecast) {
	symbol, _ := bucket(m)
	n.residuals[lane][f.scale(lane)][symbol]++
	var x [features]float64
	for i := range x {
		x[i] = float64(f.feature.at(i))
	}
	n.scale[lane][f.attached][f.speed].add(x[:], float64(magnitude(absolute(d))), 1)
}

// see notes how a row moved, for the weights of its forecast.
func (n *tally) see(p *part, words []uint32, past *Past, f *forecast) {
	g := *f // is told of residuals here, and f when they are coded
	if p.position >= 0 {
		if n.places != nil {
			n.places.see(p, words, past, f)
		}
		n.seePosition(p, words, past, &g)
	}
	if p.rotation >= 0 && p.turning {
		n.seeRotation(p, words, past, &g)
	}
}

func (n *tally) seePosition(p *part, words []uint32, past *Past, f *forecast) {
	const unit = 1 << fractionBits
	at := p.units[p.position].word
	now, base := place(words, at).axes(), place(past.Base, at).axes()
	if now == base {
		return
	}
	own, carried, mismatch := f.motion[0].axes(), f.motion[1].axes(), f.motion[2].axes()
	for i := range now {
		f.along(i)
		off := absolute(now[i] - f.position[i])
		weight := n.weight(float64(off), usual(f.scale(lanePosition+i)))
		f.miss(off)
		x := [4]float64{float64(own[i]) / unit, float64(carried[i]) / unit, float64(mismatch[i]) / unit, 8}
		n.position[i][f.zone][f.attached][f.speed].add(x[:], float64(now[i]-base[i]), weight)
		if f.zone != zones-1 {
			n.position[i][zones-1][f.attached][f.speed].add(x[:], float64(now[i]-base[i]), weight)
		}
	}
}

func (n *tally) seeRotation(p *part, words []uint32, past *Past, f *forecast) {
	u := &p.units[p.rotation]
	if words[u.word] == past.Base[u.word] {
		return
	}
	base, turned := u.rotation(past.Base[u.word]), f.turned
	now := u.rotation(words[u.word]).towards(base)
	var s swerve
	if p.swerves() {
		at := place(words, p.units[p.position].word)
		turned = f.swerved(at)
		s, _ = f.swerve(at)
	}
	moved, off := now.minus(base).parts(), now.minus(turned).parts()
	own, ride, twist := f.turning[0].parts(), f.turning[1].parts(), f.turning[2].parts()
	roll := rotation{s.roll.x, s.roll.y, s.roll.z, 0}.times(f.turned).parts()
	swing := rotation{s.swing.x, s.swing.y, s.swing.z, 0}.times(f.turned).parts()
	turns := step(f.turning[0].size(), 100, 500, 2000, 5000)
	size := usual(f.scale(laneRotation)) * 2 * rotationRange / float64(u.wide)
	for i := range moved {
		slowed, yielded := own[i]*float64(s.slowed)/256, (ride[i]-own[i])*float64(s.yielded)/256
		x, weight := [7]float64{own[i], ride[i], twist[i], slowed, yielded, roll[i], swing[i]}, n.weight(math.Abs(off[i]), size)
		n.rotation[f.zone][f.attached][turns].add(x[:], moved[i], weight)
		if f.zone != zones-1 {
			n.rotation[zones-1][f.attached][turns].add(x[:], moved[i], weight)
		}
	}
}

// usual is how far off a residual of a scale is, and 1: what magnitude is of.
func usual(scale int) float64 { return float64((4|scale&3)<<(scale>>2)) / 4 }

// weight is a sample's by how far off the present forecast is, and how far such a
// one usually is. A miss costs bits by how far it is in terms of that: a quantum is
// dear where rows are foreseen to the quantum, and nothing where they fly about. What
// is far off for its kind costs bits by its logarithm only, so it is to weigh little.
func (n *tally) weight(off, usual float64) float64 {
	far := off + float64(n.width*usual)
	return 1 / (far * far * far)
}

func (q rotation) parts() [4]float64 {
	return [4]float64{float64(q.x), float64(q.y), float64(q.z), float64(q.w)}
}

// normal are the normal equations of a weighted linear fit.
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

// add notes a sample: y should be the weighted sum of x. Products are converted
// so that every machine trains the same tables.
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

// solve gives the weights, in 1/256 and in bounds; now, if there is too little
// to go by. A small ridge towards now keeps what is not determined as it is.
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
		now[i] = int32(max(-maxWeight, min(maxWeight, rows[i][size]/rows[i][i]*256)))
	}
}

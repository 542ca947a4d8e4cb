// Package rowtrain makes the tables that a rowcodec.Codec forecasts and codes with,
// of recorded rows, and says what rows cost.
//
// Training takes three kinds of passes over the same samples. The first looks for
// grounds: places between which rows move differently. The next ones fit the weights
// of forecasts and of scales by weighted least squares; each is coded with the
// weights of the one before. The last counts symbols, of which the codes are made.
// All numbers are the same on every machine.
package rowtrain

import (
	"cmp"
	"maps"
	"slices"

	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/replication/schema"
)

// A Sample is one row as it was coded once: what tables are trained on. One
// without a Past is no row, but the end of those that are told of by gaps.
type Sample struct {
	Row  schema.Row
	Past *rowcodec.Past
	// Gap is how many rows that did not change were left out before this one,
	// or -1 if it was not told of by its place.
	Gap int
}

// Train makes tables for rows like the given ones, which are gone through again
// and again: samples must yield the same ones in the same order each time. The
// same samples give the same tables, on any machine.
//
// A row counts by how far off it is in terms of its scale: widely at first, so that
// where weights come to hardly depends on where they began, and then more narrowly.
func Train(s *schema.Schema, samples func(yield func(Sample) bool)) *rowcodec.Tables {
	const rounds, widest, narrowest = 16, 20, 5
	model := rowcodec.Untrained()
	found := places{}
	pass(s, model, samples, rowcodec.Observer{Place: found.add})
	model.Grounds = found.grounds()
	for round := range rounds {
		n := newTally(max(widest>>(round/4), narrowest))
		n.pass(s, model, samples)
		n.fit(&model)
	}
	n := newTally(narrowest)
	n.pass(s, model, samples)
	model.Shapes = rowcodec.New(s, model.Tables()).Shapes()
	n.code(&model)
	return model.Tables()
}

// pass codes all samples by a model, and has o observe it. It returns how often each
// symbol of a gap occurred.
func pass(s *schema.Schema, m rowcodec.Model, samples func(yield func(Sample) bool), o rowcodec.Observer) (gaps [rowcodec.ResidualCodes]uint64) {
	c := rowcodec.New(s, m.Tables()).Observed(o)
	var w bitio.Writer
	var buffer []byte
	for sample := range samples {
		if sample.Past == nil {
			gaps[rowcodec.GapEnd]++
			continue
		}
		w.Reset(buffer[:0])
		c.Append(&w, sample.Row, sample.Past)
		buffer = w.Bytes()
		if sample.Gap >= 0 {
			gaps[rowcodec.GapSymbol(uint32(sample.Gap))]++
		}
	}
	return gaps
}

// pass has n take note of all samples.
func (n *tally) pass(s *schema.Schema, m rowcodec.Model, samples func(yield func(Sample) bool)) {
	n.gaps = pass(s, m, samples, rowcodec.Observer{Head: n.head, Residual: n.residual, Position: n.seePosition, Rotation: n.seeRotation})
}

// fit fits the weights of a model to what was seen.
func (n *tally) fit(m *rowcodec.Model) {
	for a := range rowcodec.Attachments {
		for s := range rowcodec.Speeds {
			for z := range rowcodec.Zones {
				for axis := range n.position {
					n.position[axis][z][a][s].solve(m.Position[z][a][s][axis][:])
				}
				n.rotation[z][a][s].solve(m.Rotation[z][a][s][:])
			}
		}
		for lane := range n.scale {
			for s := range rowcodec.Speeds {
				n.scale[lane][a][s].solve(m.Scale[lane][a][s][:])
			}
		}
	}
}

// code makes the codes of a model for the symbols that were seen.
func (n *tally) code(m *rowcodec.Model) {
	for lane := range n.residuals {
		for s := range n.residuals[lane] {
			m.Residuals[lane][s] = [rowcodec.ResidualCodes]uint8(rowcodec.CodeLengths(n.smoothed(lane, s)))
		}
	}
	m.Heads = nil
	for _, key := range n.frequentHeads() {
		h, counts := rowcodec.Heads{Shape: key.Shape, Group: key.Group, Ways: key.Ways}, n.heads[key]
		for context := range counts {
			h.Lengths[context] = rowcodec.CodeLengths(headCounts(counts, context))
		}
		m.Heads = append(m.Heads, h)
	}
	slices.SortFunc(m.Heads, func(a, b rowcodec.Heads) int {
		return cmp.Or(cmp.Compare(a.Shape, b.Shape), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Ways, b.Ways))
	})
	m.Gaps = [rowcodec.ResidualCodes]uint8(rowcodec.CodeLengths(blend(n.gaps[:], 16)))
}

// frequentHeads are the groups that were seen most often, as many as tables have room
// for.
func (n *tally) frequentHeads() []rowcodec.HeadKey {
	seen := map[rowcodec.HeadKey]uint64{}
	for key, counts := range n.heads {
		for _, context := range counts {
			for _, count := range context {
				seen[key] += count
			}
		}
	}
	keys := slices.SortedFunc(maps.Keys(seen), func(a, b rowcodec.HeadKey) int {
		return cmp.Or(cmp.Compare(seen[b], seen[a]), cmp.Compare(a.Shape, b.Shape), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Ways, b.Ways))
	})
	return keys[:min(len(keys), rowcodec.MaxHeads)]
}

// smoothed are the counts of one code with a little of its neighbours'.
func (n *tally) smoothed(lane, scale int) []uint64 {
	counts := make([]uint64, rowcodec.ResidualCodes)
	for symbol := range counts {
		counts[symbol] = 16 * n.residuals[lane][scale][symbol]
		if scale > 0 {
			counts[symbol] += n.residuals[lane][scale-1][symbol]
		}
		if scale < rowcodec.Scales-1 {
			counts[symbol] += n.residuals[lane][scale+1][symbol]
		}
	}
	return blend(counts, scale)
}

// blend adds what is expected without having seen anything: it is all there is
// for a code that was never used, and keeps symbols that were not seen possible.
func blend(counts []uint64, scale int) []uint64 {
	prior := rowcodec.ExpectedCounts(scale, 256)
	sum := slices.Clone(counts)
	for i := range sum {
		sum[i] = 16*sum[i] + prior[i]
	}
	return sum
}

// headCounts are the counts of one context, with a little of all contexts'.
func headCounts(counts *[rowcodec.HeadContexts][]uint64, context int) []uint64 {
	sum := make([]uint64, len(counts[context]))
	var total uint64
	for _, c := range counts {
		for i, n := range c {
			sum[i] += n
			total += n
		}
	}
	for i := range sum {
		sum[i] = 1 + sum[i]*64/max(total, 1) + 64*counts[context][i]
	}
	return sum
}

// Package rowtrain builds the tables of a rowcodec.Codec from recorded rows, and
// measures what rows cost.
//
// Training makes three kinds of passes over the same samples. The first finds zone
// bounds: positions between which rows move differently. The next passes fit the weights
// of predictions and scales by weighted least squares; each encodes with the weights of
// the previous pass. The last counts symbols to build the codes. The result is the same
// on every machine.
package rowtrain

import (
	"cmp"
	"maps"
	"slices"

	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/schema"
)

// Sample is one encoded row to train on.
type Sample struct {
	Row  rowschema.Row
	Past *rowcodec.Past
}

// Train builds tables for rows like the given samples. It iterates over samples several
// times: each iteration must yield the same samples in the same order. The same samples
// give the same tables on any machine.
//
// Samples are weighted by their error relative to their scale. The weighting is wide in
// the first rounds, so that the result hardly depends on the initial weights, and then
// narrows.
func Train(s *schema.Schema, samples func(yield func(Sample) bool)) *rowcodec.Tables {
	const rounds, widest, narrowest = 16, 20, 5
	model := rowcodec.Untrained()
	found := displacements{}
	pass(s, model, samples, rowcodec.Observer{Displacement: found.add})
	model.ZoneBounds = found.zoneBounds()
	for round := range rounds {
		n := newHistogram(max(widest>>(round/4), narrowest))
		n.pass(s, model, samples)
		n.fit(&model)
	}
	n := newHistogram(narrowest)
	n.pass(s, model, samples)
	model.Shapes = rowcodec.New(s, model.Tables()).Shapes()
	n.code(&model)
	return model.Tables()
}

// pass encodes all samples with a model while o observes.
func pass(s *schema.Schema, m rowcodec.Model, samples func(yield func(Sample) bool), o rowcodec.Observer) {
	c := rowcodec.New(s, m.Tables()).Observed(o)
	var w bitio.Writer
	var buffer []byte
	for sample := range samples {
		w.Reset(buffer[:0])
		c.Append(&w, sample.Row, sample.Past)
		buffer = w.Bytes()
	}
}

// pass adds all samples to n.
func (n *histogram) pass(s *schema.Schema, m rowcodec.Model, samples func(yield func(Sample) bool)) {
	pass(s, m, samples, rowcodec.Observer{Head: n.addHead, Residual: n.addResidual, Position: n.addPosition, Rotation: n.addRotation})
}

// fit fits the weights of a model to the samples.
func (n *histogram) fit(m *rowcodec.Model) {
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

// code builds the codes of a model from the symbol counts.
func (n *histogram) code(m *rowcodec.Model) {
	for lane := range n.residuals {
		for s := range n.residuals[lane] {
			m.Residuals[lane][s] = [rowcodec.ResidualCodes]uint8(rowcodec.CodeLengths(n.smoothed(lane, s)))
		}
	}
	m.Heads = nil
	for _, key := range n.frequentHeads() {
		h, counts := rowcodec.Heads{Shape: key.Shape, Group: key.Group, Symbols: key.Symbols}, n.heads[key]
		for context := range counts {
			h.Lengths[context] = rowcodec.CodeLengths(headCounts(counts, context))
		}
		m.Heads = append(m.Heads, h)
	}
	slices.SortFunc(m.Heads, func(a, b rowcodec.Heads) int {
		return cmp.Or(cmp.Compare(a.Shape, b.Shape), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Symbols, b.Symbols))
	})
}

// frequentHeads returns the most frequent groups, at most MaxHeads.
func (n *histogram) frequentHeads() []rowcodec.HeadKey {
	seen := map[rowcodec.HeadKey]uint64{}
	for key, counts := range n.heads {
		for _, context := range counts {
			for _, count := range context {
				seen[key] += count
			}
		}
	}
	keys := slices.SortedFunc(maps.Keys(seen), func(a, b rowcodec.HeadKey) int {
		return cmp.Or(cmp.Compare(seen[b], seen[a]), cmp.Compare(a.Shape, b.Shape), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Symbols, b.Symbols))
	})
	return keys[:min(len(keys), rowcodec.MaxHeads)]
}

// smoothed returns the counts of one code, smoothed with the counts of adjacent scales.
func (n *histogram) smoothed(lane, scale int) []uint64 {
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

// blend adds the expected counts as a prior. It determines a code that was never used,
// and keeps unseen symbols possible.
func blend(counts []uint64, scale int) []uint64 {
	prior := rowcodec.ExpectedCounts(scale, 256)
	sum := slices.Clone(counts)
	for i := range sum {
		sum[i] = 16*sum[i] + prior[i]
	}
	return sum
}

// headCounts returns the counts of one context, smoothed with the counts of all contexts.
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

package wire

import (
	"cmp"
	"maps"
	"slices"

	"github.com/worldd/worldd/internal/bitio"
)

// A Sample is one row as it was coded once: what tables are trained on. One
// without a Past is no row, but the end of those that are told of by gaps.
type Sample struct {
	Row  Row
	Past *Past
	// Gap is how many rows that did not change were left out before this one,
	// or -1 if it was not told of by its place.
	Gap int
}

// Train makes tables for rows like the given ones, which are gone through again
// and again: samples must yield the same ones in the same order each time. The
// same samples give the same tables, on any machine.
//
// Places between which rows move differently are looked for first. Then weights of
// forecasts are fitted by repeated least squares, in which a row counts by how far off
// it is in terms of its scale: widely at first, so that where they come to hardly
// depends on where they began, and then more narrowly. With them those of the scales
// are, with which codes are chosen, to the magnitude of what is left over; and in the
// end the codes to the symbols.
func Train(s *Schema, samples func(yield func(Sample) bool)) *Tables {
	const rounds, widest, narrowest = 16, 20, 5
	t := UntrainedTables()
	seeking := newTally(widest)
	seeking.places = places{}
	pass(s, t, samples, seeking)
	t.grounds = seeking.places.grounds()
	for round := range rounds {
		n := newTally(max(widest>>(round/4), narrowest))
		pass(s, t, samples, n)
		t = n.fitted(t)
	}
	n := newTally(narrowest)
	pass(s, t, samples, n)
	return n.coded(t, shapes(NewCodec(s, t)))
}

// shapes are those of the components that have residuals, in order, once each.
func shapes(c *Codec) (all []string) {
	for _, parts := range [...][]part{c.parts, c.public} {
		for i := range parts {
			if parts[i].hasResiduals() {
				all = append(all, parts[i].shape)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// pass codes all samples with t, and has n take note of it.
func pass(s *Schema, t *Tables, samples func(yield func(Sample) bool), n *tally) {
	c := NewCodec(s, t)
	c.tally = n
	var w bitio.Writer
	var buffer []byte
	for sample := range samples {
		if sample.Past == nil {
			n.gaps[symbolEscape]++
			continue
		}
		w.Reset(buffer[:0])
		c.Append(&w, sample.Row, sample.Past)
		buffer = w.Bytes()
		if sample.Gap >= 0 {
			symbol, _ := bucket(uint64(sample.Gap))
			n.gaps[symbol]++
		}
	}
}

// fitted is t with its weights fitted to what was seen.
func (n *tally) fitted(t *Tables) *Tables {
	trained, fit := *t, *t.sets[0]
	trained.sets = []*tableSet{&fit}
	for a := range attachments {
		for s := range speeds {
			for z := range zones {
				for axis := range n.position {
					n.position[axis][z][a][s].solve(fit.position[z][a][s][axis][:])
				}
				n.rotation[z][a][s].solve(fit.rotation[z][a][s][:])
			}
		}
		for lane := range n.scale {
			for s := range speeds {
				n.scale[lane][a][s].solve(fit.scale[lane][a][s][:])
			}
		}
	}
	fit.pairWeights()
	return &trained
}

// coded is t with codes for the symbols that were seen, for components of such
// shapes.
func (n *tally) coded(t *Tables, shapes []string) *Tables {
	fit := *t.sets[0]
	fit.shapes = shapes
	for lane := range n.residuals {
		for s := range n.residuals[lane] {
			fit.residuals[lane][s] = [residualCodes]uint8(codeLengths(n.smoothed(lane, s)))
		}
	}
	var heads []headLengths
	for _, key := range n.frequentHeads() {
		h, counts := headLengths{shape: key.shape, group: key.group, ways: key.ways}, n.heads[key]
		for context := range counts {
			h.lengths[context] = codeLengths(headCounts(counts, context))
		}
		heads = append(heads, h)
	}
	slices.SortFunc(heads, func(a, b headLengths) int {
		return cmp.Or(cmp.Compare(a.shape, b.shape), cmp.Compare(a.group, b.group), cmp.Compare(a.ways, b.ways))
	})
	return newTables([]*tableSet{&fit}, [residualCodes]uint8(codeLengths(blend(n.gaps[:], 16))), heads, t.grounds)
}

// frequentHeads are the groups that were seen most often, as many as tables have room
// for.
func (n *tally) frequentHeads() []headKey {
	seen := map[headKey]uint64{}
	for key, counts := range n.heads {
		for _, context := range counts {
			for _, count := range context {
				seen[key] += count
			}
		}
	}
	keys := slices.SortedFunc(maps.Keys(seen), func(a, b headKey) int {
		return cmp.Or(cmp.Compare(seen[b], seen[a]), cmp.Compare(a.shape, b.shape), cmp.Compare(a.group, b.group), cmp.Compare(a.ways, b.ways))
	})
	return keys[:min(len(keys), maxHeads)]
}

// smoothed are the counts of one code with a little of its neighbours'.
func (n *tally) smoothed(lane, scale int) []uint64 {
	counts := make([]uint64, residualCodes)
	for symbol := range counts {
		counts[symbol] = 16 * n.residuals[lane][scale][symbol]
		if scale > 0 {
			counts[symbol] += n.residuals[lane][scale-1][symbol]
		}
		if scale < scales-1 {
			counts[symbol] += n.residuals[lane][scale+1][symbol]
		}
	}
	return blend(counts, scale)
}

// blend adds what is expected without having seen anything: it is all there is
// for a code that was never used, and keeps symbols that were not seen possible.
func blend(counts []uint64, scale int) []uint64 {
	prior := expectedCounts(scale, 256)
	sum := slices.Clone(counts)
	for i := range sum {
		sum[i] = 16*sum[i] + prior[i]
	}
	return sum
}

// headCounts are the counts of one context, with a little of all contexts'.
func headCounts(counts *[headContexts][]uint64, context int) []uint64 {
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

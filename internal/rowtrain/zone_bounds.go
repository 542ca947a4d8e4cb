package rowtrain

import (
	"cmp"
	"slices"

	"github.com/worldd/worldd/internal/rowcodec"
)

// displacements holds, by shape and axis, the positions of rows without a parent and the
// errors of extrapolating their motion.
type displacements map[string]*[3][]displacement

// displacement is one such sample along one axis.
type displacement struct {
	at    int64
	error float64
}

func (n displacements) add(shape string, axis int, at int64, off float64) {
	if n[shape] == nil {
		n[shape] = new([3][]displacement)
	}
	n[shape][axis] = append(n[shape][axis], displacement{at, off})
}

// zoneBounds returns for each shape the axis and bounds that explain most of the errors:
// they maximise the sum over zones of the squared sum of errors divided by their count.
func (n displacements) zoneBounds() (found []rowcodec.ZoneBounds) {
	for shape, axes := range n {
		best := rowcodec.ZoneBounds{Shape: shape}
		most := 0.0
		for axis, all := range axes {
			if len(all) < 1000 {
				continue
			}
			if bounds, explained := splitZones(all); explained > most {
				most, best.Axis, best.Bounds = explained, axis, bounds
			}
		}
		if most > 0 {
			found = append(found, best)
		}
	}
	slices.SortFunc(found, func(a, b rowcodec.ZoneBounds) int { return cmp.Compare(a.Shape, b.Shape) })
	return found
}

// splitZones returns the two bounds, among 64 quantiles, that explain the most, and how
// much more they explain than no bounds.
func splitZones(all []displacement) (bounds [rowcodec.Zones - 2]int64, most float64) {
	const quantiles = 64
	slices.SortFunc(all, func(a, b displacement) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.error, b.error)) })
	var at [quantiles + 1]int
	var sum [quantiles + 1]float64
	running := 0.0
	q := 1
	for i := range all {
		if q < quantiles && i >= q*len(all)/quantiles && all[i].at != all[max(i-1, 0)].at {
			at[q], sum[q] = i, running
			for q++; q < quantiles && i >= q*len(all)/quantiles; q++ {
				at[q], sum[q] = i, running
			}
		}
		running += all[i].error
	}
	for ; q <= quantiles; q++ {
		at[q], sum[q] = len(all), running
	}
	explains := func(from, to int) float64 {
		if at[to] == at[from] {
			return 0
		}
		d := sum[to] - sum[from]
		return float64(d*d) / float64(at[to]-at[from])
	}
	none := explains(0, quantiles)
	for i := 1; i < quantiles-1; i++ {
		for j := i + 1; j < quantiles; j++ {
			if at[j] >= len(all) {
				continue
			}
			if v := explains(0, i) + explains(i, j) + explains(j, quantiles) - none; v > most {
				most, bounds = v, [rowcodec.Zones - 2]int64{all[at[i]].at, all[at[j]].at}
			}
		}
	}
	return bounds, most
}

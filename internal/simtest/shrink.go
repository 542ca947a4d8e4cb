package simtest

import "slices"

// Shrink returns a part of items, in their order, that still fails and from
// which no single item can be taken away without its failing no more. fails
// must be true of items; it is called once for every part that is tried. This is
// delta debugging (Zeller and Hildebrandt, "Simplifying and Isolating
// Failure-Inducing Input", 2002): chunks are left out, halves first, then ever
// smaller ones.
func Shrink[T any](items []T, fails func([]T) bool) []T {
	items = slices.Clone(items)
	for chunk := (len(items) + 1) / 2; chunk > 0; {
		shrunk := false
		// From the end: what came last is the least likely to be what others
		// depend on.
		for at := len(items); at > 0; at -= chunk {
			low := max(at-chunk, 0)
			rest := slices.Delete(slices.Clone(items), low, at)
			if fails(rest) {
				items, shrunk = rest, true
			}
		}
		switch {
		case chunk > 1:
			chunk = (chunk + 1) / 2
		case !shrunk:
			return items
		}
	}
	return items
}

package simtest

import "slices"

// Shrink returns a subsequence of items that still fails and is minimal: removing any
// single item makes it pass. fails must be true of items; it is called once per
// candidate. This is delta debugging (Zeller and Hildebrandt, "Simplifying and
// Isolating Failure-Inducing Input", 2002): it removes chunks, first halves, then ever
// smaller ones.
func Shrink[T any](items []T, fails func([]T) bool) []T {
	items = slices.Clone(items)
	for chunk := (len(items) + 1) / 2; chunk > 0; {
		shrunk := false
		// From the end: other items depend on later items least often.
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

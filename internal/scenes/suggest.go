package scenes

import (
	"fmt"
	"strings"
)

// suggest says what was expected instead of an unknown word: the nearest known
// one, if any is near, and all of them.
func suggest(word string, known []string) string {
	if len(known) == 0 {
		return "nothing: none is defined"
	}
	all := "one of " + strings.Join(known, ", ")
	best, distance := "", min(len(word)/2, 3)+1
	for _, k := range known {
		if d := editDistance(word, k); d < distance {
			best, distance = k, d
		}
	}
	if best == "" {
		return all
	}
	return fmt.Sprintf("%s? (%s)", best, all)
}

// editDistance counts the single-byte edits between two words; words longer
// than a name may be are as far apart as they are long.
func editDistance(a, b string) int {
	if len(a) > MaxNameBytes || len(b) > MaxNameBytes {
		return max(len(a), len(b))
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

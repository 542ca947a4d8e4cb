// Package spelling guesses what a misspelled word was meant to be, for error
// messages that say so.
package spelling

// maxBytes is how long a word may be to be guessed at: the work is the product of
// two lengths, and texts come from strangers.
const maxBytes = 64

// Nearest finds the known word that the fewest edits lead to. It is empty if the
// nearest is farther than half of the word, or than three edits. Of words equally
// far the first is taken.
func Nearest(word string, known []string) string {
	best, distance := "", min(len(word)/2, 3)+1
	for _, k := range known {
		if d := edits(word, k); d < distance {
			best, distance = k, d
		}
	}
	return best
}

// edits counts the single-byte edits between two words (V. Levenshtein, 1966);
// too long ones are as far apart as they are long.
func edits(a, b string) int {
	if len(a) > maxBytes || len(b) > maxBytes {
		return max(len(a), len(b))
	}
	var rows [maxBytes + 1]int
	row := rows[:len(b)+1]
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

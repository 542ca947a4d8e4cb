// Package spelling suggests the intended word for a misspelled one in error messages.
package spelling

// maxBytes bounds the words that are compared: the work is the product of two lengths, and the
// input is untrusted.
const maxBytes = 64

// Nearest returns the known word with the smallest edit distance, or "" if that exceeds three
// edits or half of the word. Among equally near words it returns the first.
func Nearest(word string, known []string) string {
	best, distance := "", min(len(word)/2, 3)+1
	for _, k := range known {
		if d := edits(word, k); d < distance {
			best, distance = k, d
		}
	}
	return best
}

// edits returns the Levenshtein distance between two words in bytes. For words that are too
// long it returns the larger length.
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

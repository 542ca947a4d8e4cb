package scenes

import (
	"fmt"
	"strings"

	"github.com/worldd/worldd/internal/spelling"
)

// suggest says what was expected instead of an unknown word: the nearest known word, if
// one is near, and the list of all.
func suggest(word string, known []string) string {
	if len(known) == 0 {
		return "nothing: none is defined"
	}
	all := "one of " + strings.Join(known, ", ")
	if best := spelling.Nearest(word, known); best != "" {
		return fmt.Sprintf("%s? (%s)", best, all)
	}
	return all
}

package scenes

import (
	"errors"
	"fmt"
	"strings"

	"github.com/worldd/worldd/field"
)

// TimeWarnings names the lines of effects without an end in which time loses its precision
// after days (field.ImpreciseTime).
func (f *File) TimeWarnings() (warnings []string) {
	for i := range f.Effects {
		e := &f.Effects[i]
		if e.Pulse != nil {
			continue
		}
		lines, _ := field.ImpreciseTime(e.source()) // compiled by Build
		for _, l := range lines {
			if at, ok := errors.AsType[*field.SyntaxError](l); ok {
				warnings = append(warnings, fmt.Sprintf("effect %s, line %d: %s: %s", e.Name, at.Line, at.Message, strings.TrimSpace(at.Source)))
			}
		}
	}
	return warnings
}

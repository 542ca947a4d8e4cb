package scenes

import (
	"errors"
	"fmt"
	"strings"

	"github.com/worldd/worldd/field"
)

// TimeWarnings names the lines in which time loses precision after days
// (field.ImpreciseTime), for effects without an end.
func (f *File) TimeWarnings() (warnings []string) {
	for i := range f.Effects {
		e := &f.Effects[i]
		if e.Pulse != nil {
			continue
		}
		lines, _ := field.ImpreciseTime(e.source()) // never fails: Build compiled the text
		for _, l := range lines {
			if at, ok := errors.AsType[*field.SyntaxError](l); ok {
				warnings = append(warnings, fmt.Sprintf("effect %s, line %d: %s: %s", e.Name, at.Line, at.Message, strings.TrimSpace(at.Source)))
			}
		}
	}
	return warnings
}

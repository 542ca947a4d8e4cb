// Package effectfile reads effects from files, for the commands of their authors.
package effectfile

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/regularfile"
)

// Read returns the text of a shipped effect, by name, or of a file of limited size.
func Read(path string) (string, error) {
	if text, ok := field.Shipped(path); ok {
		return text, nil
	}
	file, err := regularfile.Open(path)
	if err != nil {
		return "", fmt.Errorf("%s: cannot read the effect: %w (the shipped effects are %s)",
			path, errors.Unwrap(err), strings.Join(field.ShippedNames(), ", "))
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, field.MaxSourceBytes+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: cannot read the effect: %w", path, err)
	case len(text) > field.MaxSourceBytes:
		return "", fmt.Errorf("%s: the file exceeds the limit of %d bytes for an effect", path, field.MaxSourceBytes)
	case len(strings.TrimSpace(string(text))) == 0:
		return "", fmt.Errorf("%s: the file is empty; an effect has at least a line like \"output += (0, 1, 0)\"", path)
	}
	return strings.TrimPrefix(string(text), "\ufeff"), nil
}

// InFile puts a path in front of an effect's error, in place of its generic prefix. It returns
// other errors unchanged.
func InFile(path string, err error) error {
	if wrong, ok := errors.AsType[*field.SyntaxError](err); ok {
		return errors.New(path + strings.TrimPrefix(wrong.Error(), "effect"))
	}
	return err
}

// Describe returns an effect's name, the number of its parameters, and its box.
func Describe(p *field.Program) string {
	text := "an effect without a name"
	if p.Name() != "" {
		text = "effect " + p.Name()
	}
	text += fmt.Sprintf(", %d parameters", len(p.Params()))
	if len(p.Params()) == 1 {
		text = strings.TrimSuffix(text, "s")
	}
	box, bounded := p.Box()
	if !bounded {
		return text + ", everywhere"
	}
	return text + fmt.Sprintf(", box (%g, %g, %g) (%g, %g, %g)", box.Min[0], box.Min[1], box.Min[2], box.Max[0], box.Max[1], box.Max[2])
}

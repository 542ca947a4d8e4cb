package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/regularfile"
)

// effectCommand is what authors of effects want.
type effectCommand struct {
	Check   effectCheckCommand   `cmd:"" help:"Say what is wrong with effects, by line and column."`
	Render  effectRenderCommand  `cmd:"" help:"Draw an effect: a slice of it, or particles that it carries."`
	Fmt     effectFmtCommand     `cmd:"" help:"Lay out the text of effects."`
	Explain effectExplainCommand `cmd:"" help:"Show what the compiler makes of an effect, stage by stage."`
	Hash    effectHashCommand    `cmd:"" help:"Print the hashes of effects, the same on every machine."`
}

// effectCheckCommand compiles effects, and refuses parameters that do nothing.
type effectCheckCommand struct {
	Files []string `arg:"" name:"file" placeholder:"FILE" help:"Effects: files, or names of those that come with worldd."`
}

// Run prints a line for each effect, or what is wrong with it.
func (c *effectCheckCommand) Run(_ context.Context, std streams) error {
	return eachFile(c.Files, std, func(path string) error {
		source, err := readEffect(path)
		if err != nil {
			return err
		}
		mistakes, err := field.UnusedParams(source)
		if err != nil {
			return inFile(path, err)
		}
		if len(mistakes) > 0 {
			for i := range mistakes {
				mistakes[i] = inFile(path, mistakes[i])
			}
			return errors.Join(mistakes...)
		}
		p, err := field.Compile(source)
		if err != nil {
			return inFile(path, err)
		}
		_, err = fmt.Fprintf(std.out, "%s: ok: %s\n", path, describeEffect(p))
		return err
	})
}

// effectHashCommand prints what names programs.
type effectHashCommand struct {
	Files []string `arg:"" name:"file" placeholder:"FILE" help:"Effects: files, or names of those that come with worldd."`
}

// Run prints a line for each effect, as sha256sum would.
func (c *effectHashCommand) Run(_ context.Context, std streams) error {
	return eachEffect(c.Files, std, func(path string, p *field.Program) error {
		_, err := fmt.Fprintf(std.out, "%016x  %s\n", p.Hash(), path)
		return err
	})
}

// eachEffect compiles all files and does something with those that are right. The
// mistakes of the others are printed; then it fails in the end.
func eachEffect(paths []string, std streams, do func(path string, p *field.Program) error) error {
	return eachFile(paths, std, func(path string) error {
		p, err := compileEffect(path)
		if err != nil {
			return err
		}
		return do(path, p)
	})
}

// eachFile does something with all files. What fails is printed; then it fails in
// the end.
func eachFile(paths []string, std streams, do func(path string) error) error {
	failed := false
	for _, path := range paths {
		if err := do(path); err != nil {
			failed = true
			fmt.Fprintln(std.err, err)
		}
	}
	if failed {
		return errFailed
	}
	return nil
}

// compileEffect makes the program of a file. Errors begin with its path.
func compileEffect(path string) (*field.Program, error) {
	source, err := readEffect(path)
	if err != nil {
		return nil, err
	}
	p, err := field.Compile(source)
	if err != nil {
		return nil, inFile(path, err)
	}
	return p, nil
}

// readEffect reads the text of an effect: of one that comes with worldd by its
// name, and else of a file. It takes no more of that than an effect may have.
func readEffect(path string) (string, error) {
	if text, ok := field.Shipped(path); ok {
		return text, nil
	}
	file, err := regularfile.Open(path)
	if err != nil {
		return "", fmt.Errorf("%s: the effect cannot be read: %w (those that come with worldd are %s)",
			path, errors.Unwrap(err), strings.Join(field.ShippedNames(), ", "))
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, field.MaxSourceBytes+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: the effect cannot be read: %w", path, err)
	case len(text) > field.MaxSourceBytes:
		return "", fmt.Errorf("%s: the file is longer than the %d bytes that an effect may have", path, field.MaxSourceBytes)
	case len(strings.TrimSpace(string(text))) == 0:
		return "", fmt.Errorf("%s: the file is empty; an effect has a line like \"output += (0, 1, 0)\" at least", path)
	}
	return strings.TrimPrefix(string(text), "\ufeff"), nil
}

// inFile puts a path in front of what is wrong with a text, in the place of the
// word that stands for it.
func inFile(path string, err error) error {
	var wrong *field.SyntaxError
	if !errors.As(err, &wrong) {
		return fmt.Errorf("%s: %w", path, err)
	}
	return errors.New(path + strings.TrimPrefix(wrong.Error(), "effect"))
}

// describeEffect says in a line what an effect declares.
func describeEffect(p *field.Program) string {
	text := "an effect without a name"
	if p.Name() != "" {
		text = "effect " + p.Name()
	}
	text += ", " + count(len(p.Params()), "parameter")
	box, bounded := p.Box()
	if !bounded {
		return text + ", everywhere"
	}
	return text + fmt.Sprintf(", box (%g, %g, %g) (%g, %g, %g)", box.Min[0], box.Min[1], box.Min[2], box.Max[0], box.Max[1], box.Max[2])
}

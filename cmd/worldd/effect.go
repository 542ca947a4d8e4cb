package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/atomicfile"
	"github.com/worldd/worldd/internal/regularfile"
	"github.com/worldd/worldd/server/host"
)

// effectCommand holds the commands for authors of effects.
type effectCommand struct {
	Check   effectCheckCommand   `cmd:"" help:"Report mistakes in effects, by line and column."`
	Render  effectRenderCommand  `cmd:"" help:"Draw an effect: a slice, or moving particles."`
	Fmt     effectFmtCommand     `cmd:"" help:"Format the text of effects."`
	Explain effectExplainCommand `cmd:"" help:"Show how an effect is compiled, stage by stage."`
	Hash    effectHashCommand    `cmd:"" help:"Print the hashes of effects, the same on every machine."`
}

// effectCheckCommand compiles effects, rejects unused parameters, and warns of lines where time
// loses its precision.
type effectCheckCommand struct {
	Files []string `arg:"" name:"file" placeholder:"FILE" help:"Effects: files, or names of shipped effects."`
}

// Run prints a line for each effect, or its mistakes.
func (c *effectCheckCommand) Run(_ context.Context, std host.Streams) error {
	return eachEffect(c.Files, std, func(path, source string) error {
		mistakes, err := field.UnusedParams(source)
		if err != nil {
			return err
		}
		if len(mistakes) > 0 {
			for i := range mistakes {
				mistakes[i] = inFile(path, mistakes[i])
			}
			return errors.Join(mistakes...)
		}
		p, err := field.Compile(source)
		if err != nil {
			return err
		}
		warnings, err := field.ImpreciseTime(source)
		for _, w := range warnings {
			fmt.Fprintf(std.Err, "warning: %v\n", inFile(path, w))
		}
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(std.Out, "%s: ok: %s\n", path, describeEffect(p))
		return err
	})
}

// effectHashCommand prints the hashes of programs.
type effectHashCommand struct {
	Files []string `arg:"" name:"file" placeholder:"FILE" help:"Effects: files, or names of shipped effects."`
}

// Run prints a line for each effect, like sha256sum.
func (c *effectHashCommand) Run(_ context.Context, std host.Streams) error {
	return eachEffect(c.Files, std, func(path, source string) error {
		p, err := field.Compile(source)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(std.Out, "%016x  %s\n", p.Hash(), path)
		return err
	})
}

// eachEffect calls do for all files. It prints the errors, and fails at the end if there were
// any.
func eachEffect(paths []string, std host.Streams, do func(path, source string) error) error {
	failed := false
	for _, path := range paths {
		source, err := readEffect(path)
		if err == nil {
			err = inFile(path, do(path, source))
		}
		if err != nil {
			failed = true
			fmt.Fprintln(std.Err, err)
		}
	}
	if failed {
		return host.ErrFailed
	}
	return nil
}

// compileEffect compiles a file. Errors begin with its path.
func compileEffect(path string) (*field.Program, error) {
	source, err := readEffect(path)
	if err != nil {
		return nil, err
	}
	p, err := field.Compile(source)
	return p, inFile(path, err)
}

// readEffect reads the text of a shipped effect, by name, or of a file of limited size.
func readEffect(path string) (string, error) {
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

// inFile puts a path in front of an effect's error, in place of its generic prefix. It returns
// other errors unchanged.
func inFile(path string, err error) error {
	if wrong, ok := errors.AsType[*field.SyntaxError](err); ok {
		return errors.New(path + strings.TrimPrefix(wrong.Error(), "effect"))
	}
	return err
}

func describeEffect(p *field.Program) string {
	text := "an effect without a name"
	if p.Name() != "" {
		text = "effect " + p.Name()
	}
	text += ", " + countOf(len(p.Params()), "parameter")
	box, bounded := p.Box()
	if !bounded {
		return text + ", everywhere"
	}
	return text + fmt.Sprintf(", box (%g, %g, %g) (%g, %g, %g)", box.Min[0], box.Min[1], box.Min[2], box.Max[0], box.Max[1], box.Max[2])
}

// effectFmtCommand formats effects.
type effectFmtCommand struct {
	Write bool     `short:"w" env:"-" help:"Change the files instead of printing the texts."`
	Files []string `arg:"" name:"file" placeholder:"FILE" help:"Effects: files, or names of shipped effects."`
}

// Run prints the texts, or the paths of changed files.
func (c *effectFmtCommand) Run(_ context.Context, std host.Streams) error {
	return eachEffect(c.Files, std, func(path, source string) error {
		text, err := field.Format(source)
		switch {
		case err != nil:
			return err
		case !c.Write:
			_, err = io.WriteString(std.Out, text)
			return err
		case text == source:
			return nil
		}
		if err := atomicfile.Write(path, []byte(text), 0o644); err != nil {
			return fmt.Errorf("%s: the file is unchanged: %w", path, err)
		}
		_, err = fmt.Fprintln(std.Out, path)
		return err
	})
}

// effectExplainCommand shows the stages of compilation.
type effectExplainCommand struct {
	File string `arg:"" placeholder:"FILE" help:"Effect: a file, or the name of a shipped effect."`
}

// Run prints all stages.
func (c *effectExplainCommand) Run(_ context.Context, std host.Streams) error {
	return eachEffect([]string{c.File}, std, func(_, source string) error {
		text, err := field.Explain(source)
		if err != nil {
			return err
		}
		_, err = io.WriteString(std.Out, text)
		return err
	})
}

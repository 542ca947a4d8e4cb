package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/atomicfile"
	"github.com/worldd/worldd/internal/effectfile"
	"github.com/worldd/worldd/server/host"
)

// effectCommand holds the commands for authors of effects.
type effectCommand struct {
	Check   effectCheckCommand   `cmd:"" help:"Report mistakes in effects, by line and column."`
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
				mistakes[i] = effectfile.InFile(path, mistakes[i])
			}
			return errors.Join(mistakes...)
		}
		p, err := field.Compile(source)
		if err != nil {
			return err
		}
		warnings, err := field.ImpreciseTime(source)
		for _, w := range warnings {
			fmt.Fprintf(std.Err, "warning: %v\n", effectfile.InFile(path, w))
		}
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(std.Out, "%s: ok: %s\n", path, effectfile.Describe(p))
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
		source, err := effectfile.Read(path)
		if err == nil {
			err = effectfile.InFile(path, do(path, source))
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

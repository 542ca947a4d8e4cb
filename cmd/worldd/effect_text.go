package main

import (
	"context"
	"fmt"
	"io"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/atomicfile"
)

// effectFmtCommand formats effects.
type effectFmtCommand struct {
	Write bool     `short:"w" env:"-" help:"Change the files instead of printing the texts."`
	Files []string `arg:"" name:"file" placeholder:"FILE" help:"Effects: files, or names of shipped effects."`
}

// Run prints the texts, or the paths of changed files.
func (c *effectFmtCommand) Run(_ context.Context, std streams) error {
	return eachEffect(c.Files, std, func(path, source string) error {
		text, err := field.Format(source)
		switch {
		case err != nil:
			return err
		case !c.Write:
			_, err = io.WriteString(std.out, text)
			return err
		case text == source:
			return nil
		}
		if err := atomicfile.Write(path, []byte(text), 0o644); err != nil {
			return fmt.Errorf("%s: the file is unchanged: %w", path, err)
		}
		_, err = fmt.Fprintln(std.out, path)
		return err
	})
}

// effectExplainCommand shows the stages of compilation.
type effectExplainCommand struct {
	File string `arg:"" placeholder:"FILE" help:"Effect: a file, or the name of a shipped effect."`
}

// Run prints all stages.
func (c *effectExplainCommand) Run(_ context.Context, std streams) error {
	return eachEffect([]string{c.File}, std, func(_, source string) error {
		text, err := field.Explain(source)
		if err != nil {
			return err
		}
		_, err = io.WriteString(std.out, text)
		return err
	})
}

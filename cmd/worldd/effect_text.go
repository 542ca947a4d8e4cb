package main

import (
	"context"
	"fmt"
	"io"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/atomicfile"
)

// effectFmtCommand lays out effects.
type effectFmtCommand struct {
	Write bool     `short:"w" env:"-" help:"Change the files; else the texts are printed."`
	Files []string `arg:"" name:"file" placeholder:"FILE" help:"Effects: files, or names of those that come with worldd."`
}

// Run prints the texts, or the paths of the files that it changed.
func (c *effectFmtCommand) Run(_ context.Context, std streams) error {
	return eachFile(c.Files, std, func(path string) error {
		source, err := readEffect(path)
		if err != nil {
			return err
		}
		text, err := field.Format(source)
		switch {
		case err != nil:
			return inFile(path, err)
		case !c.Write:
			_, err = io.WriteString(std.out, text)
			return err
		case text == source:
			return nil
		}
		if err := atomicfile.Write(path, []byte(text), 0o644); err != nil {
			return fmt.Errorf("%s: the file is as it was: %w", path, err)
		}
		_, err = fmt.Fprintln(std.out, path)
		return err
	})
}

// effectExplainCommand shows the compiler's work.
type effectExplainCommand struct {
	File string `arg:"" placeholder:"FILE" help:"An effect: a file, or the name of one that comes with worldd."`
}

// Run prints all stages.
func (c *effectExplainCommand) Run(_ context.Context, std streams) error {
	return eachFile([]string{c.File}, std, func(path string) error {
		source, err := readEffect(path)
		if err != nil {
			return err
		}
		text, err := field.Explain(source)
		if err != nil {
			return inFile(path, err)
		}
		_, err = io.WriteString(std.out, text)
		return err
	})
}

// Command prosecheck reports wording that STYLE rules out: headless "who"
// clauses, archaic phrases, sentences that are too long, and private words used
// as identifiers. It reads the comments, names and messages of tracked Go files,
// Markdown pages, and the comments of scripts, YAML, Dockerfiles and units.
//
//	prosecheck [-summary] [-allow FILE] [DIR]
//
// DIR is a git work tree, by default the current directory. The exit status is 1
// if there are findings, or allow-list entries that match nothing.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	summary := flag.Bool("summary", false, "print counts per pattern and directory instead of findings; always exit 0")
	allowPath := flag.String("allow", ".ci/tools/prosecheck/allow.txt", "allow list, relative to DIR")
	flag.Parse()
	root := "."
	if flag.NArg() > 0 {
		root = flag.Arg(0)
	}
	clean, err := run(os.Stdout, root, *allowPath, *summary)
	if err != nil {
		fmt.Fprintln(os.Stderr, "prosecheck:", err)
		os.Exit(2)
	}
	if !clean && !*summary {
		os.Exit(1)
	}
}

// run checks the tracked files below root and reports whether there was nothing
// to report.
func run(w io.Writer, root, allowPath string, summary bool) (bool, error) {
	allowText, err := os.ReadFile(filepath.Join(root, allowPath))
	if err != nil {
		return false, err
	}
	allowed, err := parseAllow(string(allowText))
	if err != nil {
		return false, fmt.Errorf("%s: %w", allowPath, err)
	}
	paths, err := trackedFiles(root)
	if err != nil {
		return false, err
	}
	var found []finding
	for _, path := range paths {
		if !isChecked(path) {
			continue
		}
		content, err := os.ReadFile(filepath.Join(root, path))
		if os.IsNotExist(err) {
			continue // deleted, but not yet committed
		}
		if err != nil {
			return false, err
		}
		here, err := checkFile(path, content)
		if err != nil {
			return false, err
		}
		found = append(found, here...)
	}
	found = allowed.filter(found)
	if summary {
		printSummary(w, found)
		return len(found) == 0, nil
	}
	for _, f := range found {
		fmt.Fprintf(w, "%s:%d: %s: %s\n", f.path, f.line, f.pattern, f.excerpt)
	}
	stale := allowed.unused()
	for _, e := range stale {
		fmt.Fprintf(w, "%s:%d: stale entry: nothing matches it\n", allowPath, e.line)
	}
	return len(found) == 0 && len(stale) == 0, nil
}

func trackedFiles(root string) ([]string, error) {
	cmd := exec.Command("git", "ls-files", "-z")
	cmd.Dir = root
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	out = bytes.TrimSuffix(out, []byte{0})
	return strings.Split(string(out), "\x00"), nil
}

// Package fault holds deliberate defects that prove that a test suite can fail: a suite that
// passes with one of them proves nothing.
//
// The product does not contain the defects. faults.diff names each, says what it breaks, and
// lists the lines that it changes. Overlay writes patched copies of these sources for the go
// command. In the copies every fault is a variable that a test sets:
//
//	go run ./internal/fault/overlay /tmp/faults
//	go test -tags faults -overlay /tmp/faults/overlay.json -run Fault ./server/session/simulation ./server/imagefile ./server/cluster ./server ./internal/botrun ./client
//
// The table in replication/README.md says what each fault breaks and what catches it. The prefix of
// a name says which other tests catch it:
//
//	Predict, Compute, Range    package client: prediction, bodies that this server never causes, ranges of generations
//	Misread                    package client: rules of SIMULATING.md, each of which the conformance vectors test
//	Disk                       package imagefile: the files of images and journals
//	Cluster                    package cluster: leases, rooms and blocks
//	Crossing                   package server: sessions that move to other nodes, and passes
package fault

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

//go:embed faults.diff
var diff string

// Fault is one deliberate defect.
type Fault struct {
	Name   string
	Breaks string // the effect on the code
	hunks  []hunk
}

// hunk replaces the lines before by after. before must occur once in the file.
type hunk struct {
	file          string // from the root of the module
	before, after []string
}

// All returns the faults in the order of faults.diff, in which they are applied.
func All() ([]Fault, error) { return parse(diff) }

// parse reads the form of faults.diff: a line "fault Name: what it breaks", then for
// each place "--- file" and lines that begin with a space (kept), - or +.
func parse(text string) (faults []Fault, err error) {
	for n, line := range strings.Split(text, "\n") {
		last := len(faults) - 1
		switch {
		case line == "":
		case strings.HasPrefix(line, "fault "):
			name, breaks, ok := strings.Cut(line[len("fault "):], ": ")
			if !ok {
				return nil, fmt.Errorf("faults.diff:%d: want fault Name: what it breaks", n+1)
			}
			faults = append(faults, Fault{Name: name, Breaks: breaks})
		case last < 0:
			return nil, fmt.Errorf("faults.diff:%d: %q before the first fault", n+1, line)
		case strings.HasPrefix(line, "--- "):
			faults[last].hunks = append(faults[last].hunks, hunk{file: line[len("--- "):]})
		case len(faults[last].hunks) == 0:
			return nil, fmt.Errorf("faults.diff:%d: %q before a file", n+1, line)
		default:
			h := &faults[last].hunks[len(faults[last].hunks)-1]
			if !h.add(line[0], line[1:]) {
				return nil, fmt.Errorf("faults.diff:%d: %q begins with none of space, - and +", n+1, line)
			}
		}
	}
	return faults, nil
}

func (h *hunk) add(mark byte, line string) bool {
	if mark == ' ' || mark == '-' {
		h.before = append(h.before, line)
	}
	if mark == ' ' || mark == '+' {
		h.after = append(h.after, line)
	}
	return mark == ' ' || mark == '-' || mark == '+'
}

// Apply returns the patched sources of the module at root, by path from there.
func Apply(root string) (map[string]string, error) {
	faults, err := All()
	if err != nil {
		return nil, err
	}
	patched := map[string]string{}
	for _, f := range faults {
		for _, h := range f.hunks {
			if patched[h.file] == "" {
				text, err := os.ReadFile(filepath.Join(root, h.file))
				if err != nil {
					return nil, fmt.Errorf("fault %s: %w", f.Name, err)
				}
				patched[h.file] = string(text)
			}
			if patched[h.file], err = h.apply(patched[h.file]); err != nil {
				return nil, fmt.Errorf("fault %s: %w: mend faults.diff", f.Name, err)
			}
		}
	}
	for file, text := range patched {
		patched[file] = withImport(text)
	}
	return patched, nil
}

func (h *hunk) apply(text string) (string, error) {
	before, after := lines(h.before), lines(h.after)
	if n := strings.Count(text, before); n != 1 {
		return "", fmt.Errorf("%s has %d places with the lines\n%s", h.file, n, before)
	}
	return strings.Replace(text, before, after, 1), nil
}

// lines joins lines with the breaks around them, so that they match whole lines only.
func lines(all []string) string { return "\n" + strings.Join(all, "\n") + "\n" }

// withImport adds the import of this package behind the package clause.
func withImport(text string) string {
	at := strings.Index(text, "\npackage ") + 1
	end := at + strings.Index(text[at:], "\n")
	return text[:end] + "\n\nimport \"github.com/worldd/worldd/internal/fault\"" + text[end:]
}

// injected returns the part of this package that only a build with the overlay has.
func injected(faults []Fault) string {
	var b strings.Builder
	b.WriteString("package fault\n\nvar (\n")
	for _, f := range faults {
		fmt.Fprintf(&b, "\t%s bool // %s\n", f.Name, f.Breaks)
	}
	b.WriteString(")\n\n// Inject makes the named fault the only one of this process; none if name is empty.\nfunc Inject(name string) {\n")
	for _, f := range faults {
		fmt.Fprintf(&b, "\t%s = name == %q\n", f.Name, f.Name)
	}
	b.WriteString("}\n")
	return b.String()
}

// Overlay writes the patched sources of the module at root into dir, and the file overlay.json
// for the go command's flag -overlay.
func Overlay(root, dir string) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	faults, err := All()
	if err != nil {
		return err
	}
	sources, err := Apply(root)
	if err != nil {
		return err
	}
	sources["internal/fault/injected.go"] = injected(faults)
	replace := map[string]string{}
	for file, text := range sources {
		to := filepath.Join(dir, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, []byte(text), 0o644); err != nil {
			return err
		}
		replace[filepath.Join(root, filepath.FromSlash(file))] = to
	}
	text, err := json.MarshalIndent(map[string]any{"Replace": replace}, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "overlay.json"), text, 0o644)
}

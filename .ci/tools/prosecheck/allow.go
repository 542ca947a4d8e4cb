package main

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

// allowEntry excuses findings of one pattern in matching files whose excerpt
// contains a text.
type allowEntry struct {
	pattern, glob, text string
	line                int
	used                bool
}

type allowList []*allowEntry

// parseAllow reads lines of the form "PATTERN PATH-GLOB TEXT # REASON". The glob
// is path.Match's; "*" alone matches every path. "pending DIRECTORY # REASON" excuses
// all findings in a directory, until there are none.
func parseAllow(content string) (allowList, error) {
	var list allowList
	for i, line := range strings.Split(content, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		entry, err := parseEntry(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		entry.line = i + 1
		list = append(list, entry)
	}
	return list, nil
}

func parseEntry(line string) (*allowEntry, error) {
	rule, reason, _ := strings.Cut(line, " # ")
	if strings.TrimSpace(reason) == "" {
		return nil, errors.New("an entry ends with # and its reason")
	}
	fields := strings.SplitN(strings.TrimSpace(rule), " ", 3)
	if len(fields) == 2 && fields[0] == pending {
		return &allowEntry{pattern: pending, glob: fields[1]}, nil
	}
	if len(fields) != 3 {
		return nil, errors.New("want PATTERN PATH-GLOB TEXT # REASON, or pending DIRECTORY # REASON")
	}
	if _, err := path.Match(fields[1], ""); err != nil {
		return nil, fmt.Errorf("path glob %q: %w", fields[1], err)
	}
	return &allowEntry{pattern: fields[0], glob: fields[1], text: strings.TrimSpace(fields[2])}, nil
}

func (e *allowEntry) matches(f finding) bool {
	if e.pattern == pending {
		return path.Dir(f.path) == e.glob
	}
	if e.pattern != f.pattern || !strings.Contains(f.excerpt, e.text) {
		return false
	}
	ok, _ := path.Match(e.glob, f.path) // parseEntry has checked the glob
	return ok || e.glob == "*"
}

// pending is a directory whose prose is yet to be rewritten: its findings are excused.
const pending = "pending"

func (l allowList) filter(found []finding) []finding {
	var kept []finding
	for _, f := range found {
		excused := false
		for _, e := range l {
			if e.matches(f) {
				e.used, excused = true, true
			}
		}
		if !excused {
			kept = append(kept, f)
		}
	}
	return kept
}

func (l allowList) unused() []*allowEntry {
	var entries []*allowEntry
	for _, e := range l {
		if !e.used {
			entries = append(entries, e)
		}
	}
	return entries
}

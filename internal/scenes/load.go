package scenes

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/worldd/worldd/internal/regularfile"
)

//go:embed worlds/*.yaml
var worlds embed.FS

//go:embed WORLDS.md
var reference string

// Reference returns the reference of world files, WORLDS.md.
func Reference() string { return reference }

// Parse parses and validates a world file, and compiles its effects. name is the file's
// name in errors. A mistake is a *FileError with line and column; several are joined.
func Parse(name string, data []byte) (*File, error) {
	d := &decoder{complaints: complaints{file: name}, places: map[string]place{}}
	if len(data) > MaxFileBytes {
		d.add(place{}, "", fmt.Sprintf("the file has %d bytes", len(data)), fmt.Sprintf("at most %d", MaxFileBytes))
		return nil, d.err()
	}
	text := strings.ReplaceAll(strings.TrimPrefix(string(data), "\ufeff"), "\r\n", "\n")
	d.lines = strings.Split(text, "\n")
	root := readTree(&d.complaints, text)
	if root == nil {
		return nil, d.err()
	}
	f := &File{}
	d.value(root, "", reflect.ValueOf(f).Elem(), false)
	f.source, f.lines, f.places = name, d.lines, d.places
	if len(d.complaints.list) > 0 {
		// Values are not checked here: after a type error, the remaining zero would
		// cause a second complaint. Texts of effects are complete or absent.
		c := &checker{d.complaints, f}
		c.texts()
		return nil, c.err()
	}
	if err := f.Validate(); err != nil {
		return nil, err
	}
	return f, nil
}

// Load reads and parses the regular file at path.
func Load(path string) (*File, error) {
	file, err := regularfile.Open(path)
	if err != nil {
		return nil, fmt.Errorf("scenes: cannot read the world file: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(file, MaxFileBytes+1))
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("scenes: cannot read the world file: %w", err)
	}
	return Parse(path, data)
}

// Named returns an embedded world, "storm" or "calm"; see Names.
func Named(name string) (*File, error) {
	data, err := worlds.ReadFile("worlds/" + name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("scenes: no world is called %q; expected %s", name, suggest(name, Names()))
	}
	return Parse(name+".yaml", data)
}

// Names lists the embedded worlds.
func Names() []string {
	entries, _ := worlds.ReadDir("worlds") // embedded: cannot fail
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return names
}

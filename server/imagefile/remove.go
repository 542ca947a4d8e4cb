package imagefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/worldd/worldd/internal/atomicfile"
)

// BaseName returns the name of the image to which the file called name belongs: name without
// the suffixes that a Store appends.
func BaseName(name string) string {
	for {
		shorter := reserved.ReplaceAllString(name, "")
		if shorter == name {
			return name
		}
		name = shorter
	}
}

// Remove removes all generations of the image, and damaged ones. It removes the newest last:
// after an interruption Load finds an image that was valid before. Remove fails if the image
// could not be locked, since another process may be saving it.
func (s *Store) Remove() error {
	if s.unlocked != nil {
		return fmt.Errorf("imagefile: not removed: %w", s.unlocked)
	}
	folder, own := filepath.Split(s.path)
	files, err := os.ReadDir(filepath.Clean(folder))
	if err != nil {
		return fmt.Errorf("imagefile: %w", err)
	}
	var older []string
	for _, f := range files {
		path := filepath.Join(folder, f.Name())
		if BaseName(f.Name()) == own && path != s.path && path != s.lock.Path() {
			older = append(older, path)
		}
	}
	for _, path := range slices.Concat(older, []string{s.path}) {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("imagefile: %w", err)
		}
	}
	if err := atomicfile.SyncDir(s.path); err != nil {
		return fmt.Errorf("imagefile: %w", err)
	}
	return nil
}

package imagefile

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/worldd/worldd/internal/disk"
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

// endedPath is the path of FILE.ended.
func (s *Store) endedPath() string { return s.path + ".ended" }

// MarkEnded ends the world for good. Once it has returned nil, no start restores the image, even after a crash: Remove,
// or else the next Open, removes all files. It fails if the image could not be locked.
func (s *Store) MarkEnded() error {
	if s.unlocked != nil {
		return fmt.Errorf("imagefile: not ended: %w", s.unlocked)
	}
	file, err := s.disk.Create(s.endedPath())
	if err == nil {
		err = file.Close()
	}
	if err == nil {
		err = disk.SyncDir(s.disk, s.path)
	}
	if err != nil {
		_ = s.disk.Remove(s.endedPath()) // the caller saves the world instead
		return fmt.Errorf("imagefile: %w", err)
	}
	return nil
}

// finishRemoval removes an image that MarkEnded has ended.
func (s *Store) finishRemoval() error {
	if s.unlocked != nil || !s.exists(s.endedPath()) {
		return nil
	}
	return s.Remove()
}

// Remove removes all generations of the image, damaged ones, and the journal. It removes the newest image last, and
// then the mark of MarkEnded: after an interruption Load finds an image that was valid before, or Open continues the
// removal. Remove fails if the image could not be locked, since another process may be saving it.
func (s *Store) Remove() error { return s.remove() }

// remove removes all files of the image but the kept ones.
func (s *Store) remove(kept ...string) error {
	if s.unlocked != nil {
		return fmt.Errorf("imagefile: not removed: %w", s.unlocked)
	}
	folder, own := filepath.Split(s.path)
	files, err := s.disk.List(folder)
	if err != nil {
		return fmt.Errorf("imagefile: %w", err)
	}
	last := append([]string{s.path, s.lockPath(), s.endedPath()}, kept...)
	var paths []string
	for _, f := range files {
		path := filepath.Join(folder, f.Name)
		if BaseName(f.Name) == own && !slices.Contains(last, path) {
			paths = append(paths, path)
		}
	}
	for _, path := range append(paths, s.path) {
		if err := s.disk.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("imagefile: %w", err)
		}
	}
	if err := disk.SyncDir(s.disk, s.path); err != nil {
		return fmt.Errorf("imagefile: %w", err)
	}
	if err := s.disk.Remove(s.endedPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("imagefile: %w", err)
	}
	return nil
}

package imagefile

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/worldd/worldd/internal/disk"
	"github.com/worldd/worldd/world"
)

var (
	// ErrAllDamaged reports an image without a valid generation.
	ErrAllDamaged = errors.New("imagefile: all generations are damaged")
	// ErrSkipped reports that LoadGeneration or Recover has skipped generations before.
	ErrSkipped = errors.New("imagefile: newer generations have been skipped already")
)

// Loaded is the result of Load.
type Loaded struct {
	// Image is nil if there is none: the world is new.
	Image *world.Image
	// Path is the file of Image, and Generation its number. If Generation is not 0, changes
	// after Saved are lost.
	Path       string
	Generation int
	Saved      time.Time
	Mark       uint64 // world.Image.Mark of the image as it was saved
	// Damaged has an error with its path for each newer generation that failed its
	// checksums, newest first. The next Save renames those files to PATH.damaged. Other newer
	// generations are missing.
	Damaged []error
	// Skipped has the newer generations that LoadGeneration passed over, newest first. The next
	// Save renames them to PATH.skipped.
	Skipped []string
}

// RequireUnchanged makes Load and LoadGeneration refuse the image of a world that was set up differently.
// Otherwise it is mapped to the world: see world.Image.Changes.
func (s *Store) RequireUnchanged() { s.strict = true }

// checkChanges returns an error that names all changes of the image, if the Store must refuse them.
func (s *Store) checkChanges(l *Loaded) error {
	if !s.strict || len(l.Image.Changes()) == 0 {
		return nil
	}
	var all []string
	for _, change := range l.Image.Changes() {
		all = append(all, change.String())
	}
	return fmt.Errorf("%w: %s differs from the world: %s", world.ErrImageWorld, l.Path, strings.Join(all, "; "))
}

// Load returns the newest valid image for w. The error wraps ErrAllDamaged if there are
// images but none is valid; world.ErrImageVersion or world.ErrImageWorld if the newest
// valid one is not for w; otherwise it is one of the file system. No file is changed (G5).
func (s *Store) Load(w *world.World) (Loaded, error) {
	found, damaged, err := s.readNewest(w)
	if err == nil && found.Image != nil {
		found.Image.SkipGenerations(s.newest) // G7
		s.continueFrom(&found, damaged, ".damaged", false)
	}
	return found, err
}

// readNewest reads the newest valid image, and returns the paths of newer ones that are damaged.
func (s *Store) readNewest(w *world.World) (found Loaded, damaged []string, err error) {
	for n := range s.keep + 1 { // an interrupted save leaves one more
		err := found.readFile(s.disk, w, s.generationPath(n))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case errors.Is(err, world.ErrImage):
			found.Damaged = append(found.Damaged, err)
			damaged = append(damaged, found.Path)
			continue
		case err != nil:
			return Loaded{}, nil, errors.Join(append(found.Damaged, err)...)
		}
		if err := s.checkChanges(&found); err != nil {
			return Loaded{}, nil, err
		}
		found.Generation = n
		return found, damaged, nil
	}
	if len(damaged) > 0 {
		return Loaded{}, nil, fmt.Errorf("%w: %w", ErrAllDamaged, errors.Join(found.Damaged...))
	}
	return Loaded{}, nil, nil
}

// LoadGeneration returns the image of generation n for w, and skips newer ones. It is for
// operators who want to return to an older state. The error wraps ErrSkipped if earlier skipped
// generations would be overwritten: so a program that is always started with the same n loses
// only one run. If generation n cannot be read, no other is tried.
func (s *Store) LoadGeneration(w *world.World, n int) (Loaded, error) {
	if n == 0 {
		return s.Load(w)
	}
	var found Loaded
	for newer := range n {
		path := s.generationPath(newer)
		if !s.exists(path) {
			continue
		}
		if s.exists(path + ".skipped") {
			return Loaded{}, fmt.Errorf("%w: %s.skipped exists: start without choosing a generation, or move that file away first", ErrSkipped, path)
		}
		found.Skipped = append(found.Skipped, path)
	}
	if err := found.readFile(s.disk, w, s.generationPath(n)); err != nil {
		return Loaded{}, err
	}
	if err := s.checkChanges(&found); err != nil {
		return Loaded{}, err
	}
	found.Generation = n
	found.Image.SkipGenerations(s.newest) // G7
	s.continueFrom(&found, found.Skipped, ".skipped", false)
	return found, nil
}

// continueFrom prepares the first save of a run that continues an image, after which the files at
// aside have suffix. mapped says that the journal after the image is of another setup.
func (s *Store) continueFrom(l *Loaded, aside []string, suffix string, mapped bool) {
	img := l.Image
	s.loaded, s.setup, s.rotates, s.aside = true, img.Setup(), false, nil
	for _, path := range aside { // the newest is last: the next Load finds it after an interruption
		s.aside = append([]step{{from: path, to: path + suffix}}, s.aside...)
	}
	if mapped || slices.ContainsFunc(img.Changes(), func(c world.ImageChange) bool { return c.Losing }) { // G8
		s.aside = append([]step{{from: l.Path, to: fmt.Sprintf("%s.kept-%08x", s.path, uint32(s.setup)), link: true}}, s.aside...)
	}
}

// readFile reads one generation. A disk error is not damage: it may be temporary.
func (l *Loaded) readFile(d disk.Disk, w *world.World, path string) error {
	l.Path = path
	file, err := d.Open(path)
	if err != nil {
		return fmt.Errorf("imagefile: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("imagefile: %w", err)
	}
	if l.Image, err = w.ReadImage(bufio.NewReaderSize(file, 1<<20)); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	l.Saved, l.Mark = info.ModTime(), l.Image.Mark()
	return nil
}

// Explain adds advice for the operator to an error of Load or LoadGeneration, or of restoring
// the loaded image.
func (s *Store) Explain(err error) error {
	away := fmt.Sprintf("or move it and its older copies (%s*) away to start a new world", s.path)
	switch {
	case errors.Is(err, ErrSkipped):
		return err
	case errors.Is(err, world.ErrImageWorld):
		return fmt.Errorf("%w; nothing was changed: start the program and the world that saved it, or a version that can read it, %s", err, away)
	case errors.Is(err, world.ErrImageVersion):
		return fmt.Errorf("%w; nothing was changed: start the version that saved it, %s", err, away)
	}
	return fmt.Errorf("%w; replace it with a backup, %s", err, away)
}

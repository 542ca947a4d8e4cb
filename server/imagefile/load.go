package imagefile

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/worldd/worldd/internal/atomicfile"
	"github.com/worldd/worldd/internal/regularfile"
	"github.com/worldd/worldd/world"
)

// ErrAllDamaged reports an image without a valid generation.
var ErrAllDamaged = errors.New("imagefile: all generations are damaged")

// Loaded is the result of Load.
type Loaded struct {
	// Image is nil if there is none: the world is new.
	Image *world.Image
	// Path is the file of Image, and Generation its number. If Generation is not 0,
	// changes since Saved are lost.
	Path       string
	Generation int
	Saved      time.Time
	// Damaged has an error with its path for each newer generation that could not be
	// read, newest first. Those files were renamed to PATH.damaged. Other newer
	// generations are missing.
	Damaged []error
}

// Load returns the newest valid image for w. The error wraps ErrAllDamaged if there are
// images but none is valid; world.ErrImageVersion or world.ErrImageWorld if the newest
// valid one is not for w, since older ones would not be either; otherwise it is one of
// the file system.
func (s *Store) Load(w *world.World) (Loaded, error) {
	var found Loaded
	var damaged []string
	for n := range s.keep + 1 { // an interrupted save leaves one more
		path := s.generation(n)
		img, saved, err := read(w, path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case errors.Is(err, world.ErrImage):
			found.Damaged = append(found.Damaged, err)
			damaged = append(damaged, path)
			continue
		case err != nil:
			return Loaded{}, errors.Join(append(found.Damaged, err)...)
		}
		found.Image, found.Path, found.Generation, found.Saved = img, path, n, saved
		return found, setAside(damaged)
	}
	if len(damaged) > 0 {
		return Loaded{}, fmt.Errorf("%w: %w", ErrAllDamaged, errors.Join(found.Damaged...))
	}
	return Loaded{}, nil
}

// read reads one generation. A read error of the disk counts as damage.
func read(w *world.World, path string) (*world.Image, time.Time, error) {
	file, err := regularfile.Open(path)
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("imagefile: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("imagefile: %w", err)
	}
	img, err := w.ReadImage(bufio.NewReaderSize(file, 1<<20))
	if errors.As(err, new(*fs.PathError)) {
		err = fmt.Errorf("%w: %w", world.ErrImage, err)
	}
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("%s: %w", path, err)
	}
	return img, info.ModTime(), nil
}

// setAside renames damaged files, which removes them from the generations (G4). The newest
// is last: if interrupted, the next Load reports it again.
func setAside(damaged []string) error {
	for n := len(damaged) - 1; n >= 0; n-- {
		if err := atomicfile.Replace(damaged[n], damaged[n]+".damaged"); err != nil {
			return fmt.Errorf("imagefile: cannot rename the damaged image: %w", err)
		}
	}
	return nil
}

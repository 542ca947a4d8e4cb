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

// ErrAllDamaged reports an image of which no generation can be read.
var ErrAllDamaged = errors.New("imagefile: no generation is whole")

// Loaded is what Load found.
type Loaded struct {
	// Image is nil if there is none: a world begins.
	Image *world.Image
	// Path is of the file that Image was read from, generation Generation. If that
	// is not 0, what happened since Saved is lost.
	Path       string
	Generation int
	Saved      time.Time
	// Damaged says why newer generations could not be read, the newest first, each
	// with its path. Those files were renamed to PATH.damaged. A newer generation
	// that is neither here nor there is missing.
	Damaged []error
}

// Load returns the newest whole image for w. The error wraps ErrAllDamaged if
// there are images and none is whole; world.ErrImageVersion or world.ErrImageWorld
// if the newest whole one is not for w, since an older one would be no better; or
// is the disk's.
func (s *Store) Load(w *world.World) (Loaded, error) {
	var found Loaded
	var damaged []string
	for n := range s.keep + 1 { // a save that was interrupted leaves one more
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

// read reads one generation. A file that the disk cannot read is a damaged one.
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

// setAside takes damaged files out of the generations, newest last: until then Load
// reports them again (F4).
func setAside(damaged []string) error {
	for n := len(damaged) - 1; n >= 0; n-- {
		if err := atomicfile.Replace(damaged[n], damaged[n]+".damaged"); err != nil {
			return fmt.Errorf("imagefile: the damaged image cannot be set aside: %w", err)
		}
	}
	return nil
}

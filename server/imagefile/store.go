package imagefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/gofrs/flock"

	"github.com/worldd/worldd/internal/atomicfile"
	"github.com/worldd/worldd/internal/regularfile"
	"github.com/worldd/worldd/world"
)

const (
	// DefaultKeep generations are kept unless Open is asked for another number.
	DefaultKeep = 3
	// MaxKeep bounds the generations of an image: each save renames them all.
	MaxKeep = 100
)

// ErrInUse reports an image that another process has open.
var ErrInUse = errors.New("imagefile: in use by another server")

// Store is an open image. Its methods must not be called concurrently.
type Store struct {
	path     string // links resolved
	keep     int
	lock     *flock.Flock
	unlocked error
}

// reserved matches the names that are derived from those of images.
var reserved = regexp.MustCompile(`\.(lock|damaged|old-[1-9][0-9]*|worldd-[0-9a-f]{16}\.tmp)$`)

// Open locks the image at path, which need not exist; its directory must. keep
// generations are kept, 0 meaning DefaultKeep. The error wraps ErrInUse if another
// process has the image open.
func Open(path string, keep int) (*Store, error) {
	if keep < 0 || keep > MaxKeep {
		return nil, fmt.Errorf("imagefile: %d generations to keep, want 1 to %d, or 0 for %d", keep, MaxKeep, DefaultKeep)
	}
	if keep == 0 {
		keep = DefaultKeep
	}
	target, err := atomicfile.Resolve(path)
	if err != nil {
		return nil, fmt.Errorf("imagefile: %w", err)
	}
	if reserved.MatchString(filepath.Base(target)) {
		return nil, fmt.Errorf("imagefile: %s is named like a file beside another image (.lock, .damaged, .old-N or .tmp): choose another name", target)
	}
	if info, err := os.Stat(target); err == nil && !info.Mode().IsRegular() {
		_, err := regularfile.Open(target)
		return nil, fmt.Errorf("imagefile: %w", err)
	}
	s := &Store{path: target, keep: keep, lock: flock.New(target + ".lock")}
	held, err := s.lock.TryLock()
	if err == nil && !held {
		return nil, fmt.Errorf("%w: %s", ErrInUse, target)
	}
	s.unlocked = err
	return s, nil
}

// Path returns the path of the newest generation.
func (s *Store) Path() string { return s.path }

// Unlocked returns why the image could not be locked, such as a file system
// without locks, or nil. Its owner must see to it that no other process saves to it.
func (s *Store) Unlocked() error { return s.unlocked }

// Close lets other processes open the image.
func (s *Store) Close() error { return s.lock.Close() }

// Sweep removes what killed processes left of saves, and returns the paths. Each
// is as large as an image. Under the lock nobody writes them any more (F1, F2).
func (s *Store) Sweep() ([]string, error) {
	if s.unlocked != nil {
		return nil, nil
	}
	left, err := atomicfile.Leftovers(s.path)
	for _, path := range left {
		err = errors.Join(err, os.Remove(path))
	}
	return left, err
}

// generation returns the path of generation n.
func (s *Store) generation(n int) string {
	if n == 0 {
		return s.path
	}
	return s.path + ".old-" + strconv.Itoa(n)
}

// Save makes img the newest generation, and drops the oldest if there are more
// than are kept. The newest one is on the disk when it returns; after an error the
// one before is.
func (s *Store) Save(img *world.Image) error {
	file, err := atomicfile.Create(s.path, 0o644)
	if err != nil {
		return fmt.Errorf("imagefile: %w", err)
	}
	defer file.Discard()
	if _, err := img.WriteTo(file); err != nil {
		return err
	}
	if err := file.Seal(); err != nil {
		return fmt.Errorf("imagefile: %w", err)
	}
	for _, step := range s.rotation(file.Name()) {
		if err := step.do(); err != nil {
			return fmt.Errorf("imagefile: %w", err)
		}
	}
	if err := atomicfile.SyncDir(s.path); err != nil {
		return fmt.Errorf("imagefile: %w", err)
	}
	return nil
}

// A step is one change of names. Between any two of them the process may die (F3).
type step struct {
	from, to string // to is empty: from is removed, if it is there
	link     bool   // from keeps its name, where the file system has hard links
}

func (s step) do() error {
	switch {
	case s.to == "":
		if err := os.Remove(s.from); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	case s.link && os.Link(s.from, s.to) == nil:
		return nil
	}
	return atomicfile.Replace(s.from, s.to)
}

// rotation returns the steps that make the file at written the newest generation.
// The one before gets a second name first, so that path always names a whole image,
// and the oldest goes last: for a moment there is one more than are kept.
func (s *Store) rotation(written string) []step {
	var steps []step
	// The two are one file if the last save died after it had linked them.
	if s.keep > 1 && exists(s.path) && !sameFile(s.path, s.generation(1)) {
		free := 1
		for free < s.keep && exists(s.generation(free)) {
			free++
		}
		for n := free; n > 1; n-- {
			steps = append(steps, step{from: s.generation(n - 1), to: s.generation(n)})
		}
		steps = append(steps, step{from: s.path, to: s.generation(1), link: true})
	}
	steps = append(steps, step{from: written, to: s.path})
	if s.keep > 1 {
		steps = append(steps, step{from: s.generation(s.keep)})
	}
	return steps
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func sameFile(a, b string) bool {
	x, errX := os.Lstat(a)
	y, errY := os.Lstat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

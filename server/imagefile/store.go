package imagefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"

	"github.com/gofrs/flock"

	"github.com/worldd/worldd/internal/atomicfile"
	"github.com/worldd/worldd/internal/regularfile"
	"github.com/worldd/worldd/world"
)

const (
	// DefaultKeep is the default number of generations.
	DefaultKeep = 3
	// maxLocks bounds the attempts to lock a file that other processes remove.
	maxLocks = 100
	// MaxKeep bounds the generations of an image, which each save renames.
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

// reserved matches names that a Store derives from its path.
var reserved = regexp.MustCompile(`\.(lock|damaged|old-[1-9][0-9]*|worldd-[0-9a-f]{16}\.tmp)$`)

// Open locks the image at path. The file need not exist, but its directory must. keep is
// the number of generations, 0 means DefaultKeep. The error wraps ErrInUse if another
// process has the image open.
func Open(path string, keep int) (*Store, error) {
	if keep < 0 || keep > MaxKeep {
		return nil, fmt.Errorf("imagefile: keep is %d generations: want 1 to %d, or 0 for %d", keep, MaxKeep, DefaultKeep)
	}
	if keep == 0 {
		keep = DefaultKeep
	}
	target, err := atomicfile.Resolve(path)
	if err != nil {
		return nil, fmt.Errorf("imagefile: %w", err)
	}
	if reserved.MatchString(filepath.Base(target)) {
		return nil, fmt.Errorf("imagefile: %s has a reserved suffix (.lock, .damaged, .old-N or .tmp): choose another name", target)
	}
	if info, err := os.Stat(target); err == nil && !info.Mode().IsRegular() {
		_, err := regularfile.Open(target)
		return nil, fmt.Errorf("imagefile: %w", err)
	}
	s := &Store{path: target, keep: keep, lock: flock.New(target + ".lock")}
	for range maxLocks {
		held, err := s.lock.TryLock()
		switch {
		case err == nil && !held:
			return nil, fmt.Errorf("%w: %s", ErrInUse, target)
		case err != nil || s.lockExists():
			s.unlocked = err
			return s, nil
		}
		if err := s.lock.Close(); err != nil { // another process has removed the file meanwhile
			return nil, fmt.Errorf("imagefile: %w", err)
		}
	}
	s.unlocked = fmt.Errorf("imagefile: %s is not the same file twice", s.lock.Path())
	return s, nil
}

// lockExists reports whether the locked file is the one that other processes would lock.
func (s *Store) lockExists() bool {
	own, errOwn := s.lock.Stat()
	found, errFound := os.Stat(s.lock.Path())
	return errOwn == nil && errFound == nil && os.SameFile(own, found)
}

// Path returns the path of the newest generation.
func (s *Store) Path() string { return s.path }

// Unlocked returns why the image could not be locked, for example on a file system
// without locks, or nil. The operator must then ensure that no other process saves to it.
func (s *Store) Unlocked() error { return s.unlocked }

// Close unlocks the image for other processes. It removes the lock file if there is no image.
func (s *Store) Close() error {
	empty := s.unlocked == nil && !s.stored()
	if empty && runtime.GOOS != "windows" {
		_ = os.Remove(s.lock.Path()) // while it is locked: Open notices
	}
	err := s.lock.Close()
	if empty && runtime.GOOS == "windows" {
		_ = os.Remove(s.lock.Path()) // fails if another process has opened it
	}
	return err
}

// stored reports whether any generation exists.
func (s *Store) stored() bool {
	for n := range s.keep + 1 { // an interrupted save leaves one more
		if exists(s.generation(n)) {
			return true
		}
	}
	return false
}

// CheckWritable returns an error if no image can be created beside the path of the Store.
func (s *Store) CheckWritable() error {
	file, err := atomicfile.Create(s.path, 0o644)
	if err != nil {
		return fmt.Errorf("imagefile: %w", err)
	}
	file.Discard()
	return nil
}

// Sweep removes the temporary files of killed saves, each as large as an image, and
// returns their paths. The lock ensures that no process is writing them (G1, G2).
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

func (s *Store) generation(n int) string {
	if n == 0 {
		return s.path
	}
	return s.path + ".old-" + strconv.Itoa(n)
}

// Save makes img the newest generation, and removes the oldest beyond the number to keep.
// When it returns, img is durable on disk; after an error, img or its predecessor is.
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

// step is one rename, link or removal. The process may die between any two (G3).
type step struct {
	from, to string // if empty, from is removed if it exists
	link     bool   // keep from, if the file system has hard links
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

// rotation returns the steps that make the file at written the newest generation. The
// previous one is linked to its new name first, so that path always names a valid image.
// The oldest is removed last: until then there is one more than keep.
func (s *Store) rotation(written string) []step {
	var steps []step
	// They are the same file if the last save died after linking them.
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

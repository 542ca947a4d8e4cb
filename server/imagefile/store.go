package imagefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/worldd/worldd/internal/atomicfile"
	"github.com/worldd/worldd/internal/disk"
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
	// runStep is how far FILE.run may lag behind the newest image, so that few saves write it.
	// It is a small part of what RestoreRun skips.
	runStep = world.RunGenerations / 16
	// runBytes exceeds the size of FILE.run.
	runBytes = 64
)

var (
	// ErrInUse reports an image that another process has open.
	ErrInUse = errors.New("imagefile: in use by another server")
	// ErrReplaced reports that FILE is not the image that this Store saved last.
	ErrReplaced = errors.New("imagefile: another program has replaced or removed the image")
)

// Store is an open image. Its methods must not be called concurrently.
type Store struct {
	path     string    // links resolved
	disk     disk.Disk // of journals
	keep     int
	lock     *flock.Flock
	unlocked error
	strict   bool        // see RequireUnchanged
	newest   uint32      // in FILE.run; 0: there is none
	own      os.FileInfo // the newest generation, if this Store has saved it

	// Set until the first save of a world that Load has found.
	loaded  bool
	setup   uint64 // Image.Setup of the loaded image
	rotates bool   // a part of the loaded image's journal was skipped (G15)
	aside   []step // renames of generations that leave the rotation (G4)

	replayed *chain // by Recover; nil: none
}

// reserved matches names that a Store derives from its path.
var reserved = regexp.MustCompile(`\.(lock|run|ended|crash|damaged|skipped|kept-[0-9a-f]{8}|old-[1-9][0-9]*|worldd-[0-9a-f]{16}\.tmp|journal-[0-9a-f]{16}-[0-9a-f]{16}(-[1-9][0-9]{0,8})?(\.lossy)?)$`)

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
		return nil, fmt.Errorf("imagefile: %s has a reserved suffix (.lock, .run, .ended, .crash, .damaged, .skipped, .kept-X, .old-N, .journal-X or .tmp): choose another name", target)
	}
	if info, err := os.Stat(target); err == nil && !info.Mode().IsRegular() {
		_, err := regularfile.Open(target)
		return nil, fmt.Errorf("imagefile: %w", err)
	}
	s := &Store{path: target, disk: disk.OS{}, keep: keep, lock: flock.New(target + ".lock")}
	if err := s.lockFile(); err != nil {
		return nil, err
	}
	if err := s.finishRemoval(); err != nil {
		return nil, errors.Join(err, s.lock.Close())
	}
	if s.newest, err = readRun(s.runPath()); err != nil {
		return nil, errors.Join(err, s.lock.Close())
	}
	return s, nil
}

// lockFile locks the image, or sets unlocked.
func (s *Store) lockFile() error {
	for range maxLocks {
		held, err := s.lock.TryLock()
		switch {
		case err == nil && !held:
			return fmt.Errorf("%w: %s", ErrInUse, s.path)
		case errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE): // this process's fault, not the file system's
			return fmt.Errorf("imagefile: %w", err)
		case err != nil || s.lockExists():
			s.unlocked = err
			return nil
		}
		if err := s.lock.Close(); err != nil { // another process has removed the file meanwhile
			return fmt.Errorf("imagefile: %w", err)
		}
	}
	s.unlocked = fmt.Errorf("imagefile: %s is not the same file twice", s.lock.Path())
	return nil
}

// runPath is the path of FILE.run.
func (s *Store) runPath() string { return s.path + ".run" }

// ReadNewestGeneration returns Store.NewestGeneration of the image at path. It needs no lock.
func ReadNewestGeneration(path string) (uint32, error) {
	target, err := atomicfile.Resolve(path)
	if err != nil {
		return 0, fmt.Errorf("imagefile: %w", err)
	}
	return readRun(target + ".run")
}

// readRun returns the number in FILE.run, or 0 if there is none.
func readRun(path string) (uint32, error) {
	data, err := regularfile.Read(path, runBytes)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(data) == 0 { // the first write failed
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("imagefile: %w", err)
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(data)), 10, 32)
	if err != nil {
		return 0, fmt.Errorf("imagefile: %s holds no generation of handles: remove it (%w)", path, err)
	}
	return uint32(n), nil
}

// BeginRun records that a run which continues the loaded image issues handles of generation
// first (G7). It is for a run whose first save is later. Without an image it does nothing.
func (s *Store) BeginRun(first uint32) error {
	if !s.loaded {
		return nil
	}
	return s.recordRun(first)
}

// recordRun writes newest to FILE.run, unless the file lags by less than runStep. It writes in
// place, which works even on a full disk.
func (s *Store) recordRun(newest uint32) error {
	if s.newest != 0 && uint64(newest) < uint64(s.newest)+runStep { // a new run adds more than runStep
		return nil
	}
	file, err := os.OpenFile(s.runPath(), os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("imagefile: %w", err)
	}
	_, err = fmt.Fprintf(file, "%010d\n", newest) // always the same length
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("imagefile: %w", err)
	}
	s.newest = newest
	return nil
}

// lockExists reports whether the locked file is the one that other processes would lock.
func (s *Store) lockExists() bool {
	own, errOwn := s.lock.Stat()
	found, errFound := os.Stat(s.lock.Path())
	return errOwn == nil && errFound == nil && os.SameFile(own, found)
}

// Path returns the path of the newest generation.
func (s *Store) Path() string { return s.path }

// NewestGeneration returns the newest generation of handles that runs of the world have issued,
// or a slightly older one (G7). It is 0 if unknown: files of an earlier version do not record
// it.
func (s *Store) NewestGeneration() uint32 { return s.newest }

// Unlocked returns why the image could not be locked, for example on a file system without
// locks, or nil. The operator must then ensure that no other process saves to it.
func (s *Store) Unlocked() error { return s.unlocked }

// Close unlocks the image for other processes. It removes its other files if there is no image.
func (s *Store) Close() error {
	empty := s.unlocked == nil && !s.hasImage()
	if empty {
		_ = os.Remove(s.runPath())
		_ = os.Remove(s.crashPath())
		segments, _ := s.Segments() // which no image needs
		for _, segment := range segments {
			_ = s.disk.Remove(segment.Path)
		}
	}
	if empty && runtime.GOOS != "windows" {
		_ = os.Remove(s.lock.Path()) // still locked: Open notices the removal
	}
	err := s.lock.Close()
	if empty && runtime.GOOS == "windows" {
		_ = os.Remove(s.lock.Path()) // fails if another process has opened it
	}
	return err
}

// hasImage reports whether any generation exists.
func (s *Store) hasImage() bool {
	for n := range s.keep + 1 { // an interrupted save leaves one generation more
		if fileExists(s.generationPath(n)) {
			return true
		}
	}
	return false
}

// CheckWritable returns an error if no image can be created in the folder of the Store's path.
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

func (s *Store) generationPath(n int) string {
	if n == 0 {
		return s.path
	}
	return s.path + ".old-" + strconv.Itoa(n)
}

// Save makes img the newest generation. The previous image becomes an older generation, unless
// it was saved less than spacing after the first of the older generations. Saves in quick
// succession thus displace none of them. Save removes the oldest if there are more than keep. The first save after
// Load follows G6. When Save returns, img is durable on disk; after an error, img or its
// predecessor is.
func (s *Store) Save(img *world.Image, spacing time.Duration) error {
	if err := s.recordRun(img.NewestGeneration()); err != nil {
		return err
	}
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
	if err := s.publishFile(file.Name(), img, spacing); err != nil {
		return fmt.Errorf("imagefile: %w", err)
	}
	return nil
}

// publishFile makes the file at written, which holds img, the newest generation.
func (s *Store) publishFile(written string, img *world.Image, spacing time.Duration) error {
	dir, err := atomicfile.OpenDir(s.path) // before anything is renamed
	if err != nil {
		return err
	}
	defer dir.Close()
	own, err := os.Stat(written)
	if err != nil {
		return err
	}
	for ; len(s.aside) > 0; s.aside = s.aside[1:] {
		if err := s.aside[0].apply(); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, step := range s.rotationSteps(written, s.mustRotate(img, spacing)) {
		if err := step.apply(); err != nil {
			return err
		}
	}
	s.own, s.loaded = own, false
	return dir.Sync()
}

// mustRotate reports whether a save of img makes the newest generation an older one.
func (s *Store) mustRotate(img *world.Image, spacing time.Duration) bool {
	if s.loaded {
		return img.Setup() != s.setup || s.rotates // G6, G15
	}
	newest, errNewest := os.Stat(s.path)
	older, errOlder := os.Stat(s.generationPath(1))
	if errNewest != nil || errOlder != nil {
		return true
	}
	apart := newest.ModTime().Sub(older.ModTime())
	return apart < 0 || apart >= spacing // negative: the clock was set back
}

// CheckOwn returns an error that wraps ErrReplaced if this Store has not saved the newest
// generation: another program saves to the same file. It returns nil before the first Save.
func (s *Store) CheckOwn() error {
	if s.own == nil {
		return nil
	}
	found, err := os.Stat(s.path)
	switch {
	case err == nil && os.SameFile(found, s.own) && found.ModTime().Equal(s.own.ModTime()):
		return nil
	case err == nil || errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %s", ErrReplaced, s.path)
	}
	return fmt.Errorf("imagefile: %w", err)
}

// step is one rename, link or removal. The process may die between any two (G3).
type step struct {
	from, to string // if empty, from is removed if it exists
	link     bool   // keep from, if the file system has hard links
	copies   bool   // or else copy it
}

func (s step) apply() error {
	switch {
	case s.to == "":
		if err := os.Remove(s.from); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	case s.link:
		_ = os.Remove(s.to)
		if os.Link(s.from, s.to) == nil {
			return nil
		}
		if s.copies {
			return copyFile(s.from, s.to)
		}
	}
	return atomicfile.Replace(s.from, s.to)
}

// copyFile copies a file. The copy is durable before it has its name.
func copyFile(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close() // only read
	file, err := atomicfile.Create(to, 0o644)
	if err != nil {
		return err
	}
	defer file.Discard()
	if _, err := io.Copy(file, source); err != nil {
		return err
	}
	if err := file.Seal(); err != nil {
		return err
	}
	return atomicfile.Replace(file.Name(), to)
}

// rotationSteps returns the steps that make the file at written the newest generation. If
// rotates is set, the previous one is first linked to its new name, so that path always names a
// valid image. The oldest is removed last, if there are more than keep. A process that dies
// before the link leaves a gap in the numbers; then no generation is removed.
func (s *Store) rotationSteps(written string, rotates bool) []step {
	var steps []step
	older := 0
	for n := 1; n <= s.keep; n++ {
		if fileExists(s.generationPath(n)) {
			older++
		}
	}
	// The names are the same file if the last save died after linking them.
	if rotates && s.keep > 1 && fileExists(s.path) && !sameFile(s.path, s.generationPath(1)) {
		free := 1
		for free < s.keep && fileExists(s.generationPath(free)) {
			free++
		}
		for n := free; n > 1; n-- {
			steps = append(steps, step{from: s.generationPath(n - 1), to: s.generationPath(n)})
		}
		steps = append(steps, step{from: s.path, to: s.generationPath(1), link: true})
		older++
	}
	steps = append(steps, step{from: written, to: s.path})
	if s.keep > 1 && older >= s.keep {
		steps = append(steps, step{from: s.generationPath(s.keep)})
	}
	return steps
}

func fileExists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func sameFile(a, b string) bool {
	x, errX := os.Lstat(a)
	y, errY := os.Lstat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

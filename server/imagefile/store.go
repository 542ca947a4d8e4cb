package imagefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/worldd/worldd/internal/atomicfile"
	"github.com/worldd/worldd/internal/disk"
	"github.com/worldd/worldd/world"
)

const (
	// DefaultKeep is the default number of generations.
	DefaultKeep = 3
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
	path     string // links resolved
	disk     disk.Disk
	keep     int
	lock     io.Closer   // nil: unlocked says why
	unlocked error       // why FILE could not be locked
	strict   bool        // see RequireUnchanged
	newest   uint32      // in FILE.run; 0: there is none
	undo     *uint32     // what FILE.run had before BeginRun, until the first save; nil: the same
	own      fs.FileInfo // the newest generation, if this Store has saved it

	// Set until the first save of a world that Load has found.
	loaded  bool
	setup   uint64 // Image.Setup of the loaded image
	rotates bool   // a part of the loaded image's journal was skipped (G15)
	aside   []step // renames of generations that leave the rotation (G4)

	replayed *chain  // by Recover; nil: none
	confirm  Confirm // nil: Save asks nobody (G18)
}

// reserved matches names that a Store derives from its path.
var reserved = regexp.MustCompile(`\.(lock|run|ended|crash|damaged|skipped|stale|confirmed|pending-[0-9a-f]{16}|kept-[0-9a-f]{8}|old-[1-9][0-9]*|worldd-[0-9a-f]{16}\.tmp|journal-[0-9a-f]{16}-[0-9a-f]{16}(-[1-9][0-9]{0,8})?(\.lossy)?)$`)

// Open locks the image at path. The file need not exist, but its directory must. keep is
// the number of generations, 0 means DefaultKeep. The error wraps ErrInUse if another
// process has the image open.
func Open(path string, keep int) (*Store, error) {
	target, err := atomicfile.Resolve(path)
	if err != nil {
		return nil, fmt.Errorf("imagefile: %w", err)
	}
	return openOn(disk.OS{}, target, keep)
}

// openOn is Open for a file of a disk whose path has no links.
func openOn(d disk.Disk, target string, keep int) (*Store, error) {
	if keep < 0 || keep > MaxKeep {
		return nil, fmt.Errorf("imagefile: keep is %d generations: want 1 to %d, or 0 for %d", keep, MaxKeep, DefaultKeep)
	}
	if keep == 0 {
		keep = DefaultKeep
	}
	if reserved.MatchString(filepath.Base(target)) {
		return nil, fmt.Errorf("imagefile: %s has a reserved suffix (.lock, .run, .ended, .crash, .damaged, .skipped, .stale, .confirmed, .pending-X, .kept-X, .old-N, .journal-X or .tmp): choose another name", target)
	}
	if info, err := d.Stat(target); err == nil && !info.Mode().IsRegular() {
		_, err := d.Open(target)
		return nil, fmt.Errorf("imagefile: %w", err)
	}
	s := &Store{path: target, disk: d, keep: keep}
	err := s.lockFile()
	if err != nil {
		return nil, err
	}
	if err = s.finishRemoval(); err == nil {
		s.newest, err = readRun(d, s.runPath())
	}
	if err != nil {
		return nil, errors.Join(err, s.unlock())
	}
	return s, nil
}

// lockFile locks the image, or sets unlocked.
func (s *Store) lockFile() (err error) {
	s.lock, err = s.disk.Lock(s.lockPath())
	switch {
	case errors.Is(err, disk.ErrLocked):
		return fmt.Errorf("%w: %s", ErrInUse, s.path)
	case errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE): // this process's fault, not the file system's
		return fmt.Errorf("imagefile: %w", err)
	case err != nil:
		s.unlocked = fmt.Errorf("imagefile: %w", err)
	}
	return nil
}

func (s *Store) unlock() error {
	if s.lock == nil {
		return nil
	}
	return s.lock.Close()
}

func (s *Store) lockPath() string { return s.path + ".lock" }

// runPath is the path of FILE.run.
func (s *Store) runPath() string { return s.path + ".run" }

// ReadNewestGeneration returns Store.NewestGeneration of the image at path. It needs no lock.
func ReadNewestGeneration(path string) (uint32, error) {
	target, err := atomicfile.Resolve(path)
	if err != nil {
		return 0, fmt.Errorf("imagefile: %w", err)
	}
	return readRun(disk.OS{}, target+".run")
}

// ReadHead returns the head of the newest image at path (world.ReadImageHead). It needs no lock. The error wraps fs.ErrNotExist if there is no
// image.
func ReadHead(path string) (*world.Image, error) {
	target, err := atomicfile.Resolve(path)
	if err != nil {
		return nil, fmt.Errorf("imagefile: %w", err)
	}
	file, err := disk.OS{}.Open(target)
	if err != nil {
		return nil, fmt.Errorf("imagefile: %w", err)
	}
	defer file.Close() // only read
	return world.ReadImageHead(file)
}

// readRun returns the number in FILE.run, or 0 if there is none.
func readRun(d disk.Disk, path string) (uint32, error) {
	file, err := d.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("imagefile: %w", err)
	}
	defer file.Close() // only read
	data, err := io.ReadAll(io.LimitReader(file, runBytes))
	if err != nil {
		return 0, fmt.Errorf("imagefile: %s: %w", path, err)
	}
	text := strings.TrimSpace(strings.Trim(string(data), "\x00"))
	if text == "" { // the first write was interrupted: no run has relied on it
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 32)
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
	before := s.newest
	err := s.recordRun(first)
	if err == nil && s.newest != before {
		s.undo = &before
	}
	return err
}

// AbandonRun takes BeginRun back after a run whose handles nobody has received, and which was not saved: the next run may have
// its generations.
func (s *Store) AbandonRun() error {
	if s.undo == nil {
		return nil
	}
	before := *s.undo
	s.undo = nil
	return s.writeRun(before)
}

// recordRun writes newest to FILE.run, unless the file lags by less than runStep. It writes in
// place, which works even on a full disk. When it returns nil, the number is durable.
func (s *Store) recordRun(newest uint32) error {
	if s.newest != 0 && uint64(newest) < uint64(s.newest)+runStep { // a new run adds more than runStep
		return nil
	}
	return s.writeRun(newest)
}

// writeRun writes a number to FILE.run.
func (s *Store) writeRun(newest uint32) error {
	file, err := s.disk.Overwrite(s.runPath())
	if err != nil {
		return fmt.Errorf("imagefile: %w", err)
	}
	_, err = fmt.Fprintf(file, "%010d\n", newest) // always the same length
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil && s.newest == 0 { // the file may be new
		err = disk.SyncDir(s.disk, s.path)
	}
	if err != nil {
		return fmt.Errorf("imagefile: %w", err)
	}
	s.newest = newest
	return nil
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
		_ = s.disk.Remove(s.runPath())
		_ = s.disk.Remove(s.crashPath())
		_ = s.disk.Remove(confirmedPath(s.path))
		segments, _ := s.Segments() // which no image needs
		for _, segment := range segments {
			_ = s.disk.Remove(segment.Path)
		}
	}
	if empty && runtime.GOOS != "windows" {
		_ = s.disk.Remove(s.lockPath()) // still locked: Open notices the removal
	}
	err := s.unlock()
	if empty && runtime.GOOS == "windows" {
		_ = s.disk.Remove(s.lockPath()) // fails if another process has opened it
	}
	return err
}

// hasImage reports whether any generation exists, or an image that may be confirmed.
func (s *Store) hasImage() bool {
	if pending, err := s.pendingFiles(); err != nil || len(pending) > 0 {
		return true
	}
	for n := range s.keep + 1 { // an interrupted save leaves one generation more
		if s.exists(s.generationPath(n)) {
			return true
		}
	}
	return false
}

// CheckWritable returns an error if no image can be created in the folder of the Store's path.
func (s *Store) CheckWritable() error {
	file, name, err := s.disk.CreateTemporary(s.path, s.path)
	if err != nil {
		return fmt.Errorf("imagefile: %w", err)
	}
	_ = file.Close()
	_ = s.disk.Remove(name)
	return nil
}

// Sweep removes the temporary files of killed saves, each as large as an image, and
// returns their paths. The lock ensures that no process is writing them (G1, G2).
func (s *Store) Sweep() ([]string, error) {
	if s.unlocked != nil {
		return nil, nil
	}
	folder, own := filepath.Split(s.path)
	files, err := s.disk.List(folder)
	var left []string
	for _, f := range files {
		if f.Regular && atomicfile.IsTemporary(own, f.Name) {
			left = append(left, filepath.Join(folder, f.Name))
			err = errors.Join(err, s.disk.Remove(left[len(left)-1]))
		}
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
	if s.confirm != nil {
		return s.saveConfirmed(img, spacing)
	}
	written, err := s.writeFile(s.path, func(to io.Writer) error {
		_, err := img.WriteTo(to)
		return err
	})
	if err != nil {
		return err
	}
	if err := s.publishFile(written, s.mustRotate(img, spacing)); err != nil {
		_ = s.disk.Remove(written) // unless it has its name
		return fmt.Errorf("imagefile: %w", err)
	}
	return nil
}

// writeFile writes a temporary file with the permissions of the file at like, and returns its name once its content is durable.
func (s *Store) writeFile(like string, write func(io.Writer) error) (name string, err error) {
	file, name, err := s.disk.CreateTemporary(s.path, like)
	if err != nil {
		return "", fmt.Errorf("imagefile: %w", err)
	}
	if err = write(file); err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		_ = s.disk.Remove(name) // otherwise Sweep does
		return "", fmt.Errorf("imagefile: %w", err)
	}
	return name, nil
}

// publishFile makes the file at written, which holds an image, the newest generation.
func (s *Store) publishFile(written string, rotates bool) error {
	dir, err := s.disk.OpenDir(s.path) // before anything is renamed
	if err != nil {
		return err
	}
	defer dir.Close()
	own, err := s.disk.Stat(written)
	if err != nil {
		return err
	}
	for ; len(s.aside) > 0; s.aside = s.aside[1:] {
		if err := s.apply(s.aside[0]); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, step := range s.rotationSteps(written, rotates) {
		if err := s.apply(step); err != nil {
			return err
		}
	}
	s.own, s.loaded, s.undo = own, false, nil
	return dir.Sync()
}

// mustRotate reports whether a save of img makes the newest generation an older one.
func (s *Store) mustRotate(img *world.Image, spacing time.Duration) bool {
	if s.loaded {
		return img.Setup() != s.setup || s.rotates // G6, G15
	}
	newest, err := s.disk.Stat(s.path)
	if err != nil {
		return true
	}
	for n := 1; n <= s.keep; n++ { // a save that died may have left a gap in the numbers
		if older, err := s.disk.Stat(s.generationPath(n)); err == nil {
			apart := newest.ModTime().Sub(older.ModTime())
			return apart < 0 || apart >= spacing // negative: the clock was set back
		}
	}
	return true
}

// CheckOwn returns an error that wraps ErrReplaced if this Store has not saved the newest
// generation: another program saves to the same file. It returns nil before the first Save.
func (s *Store) CheckOwn() error {
	if s.own == nil {
		return nil
	}
	found, err := s.disk.Stat(s.path)
	switch {
	case err == nil && s.disk.SameFile(found, s.own) && found.ModTime().Equal(s.own.ModTime()):
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

func (s *Store) apply(next step) error {
	switch {
	case next.to == "":
		if err := s.disk.Remove(next.from); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	case next.link:
		_ = s.disk.Remove(next.to)
		if s.disk.Link(next.from, next.to) == nil {
			return nil
		}
		if next.copies {
			return s.copyFile(next.from, next.to)
		}
	}
	return s.disk.Rename(next.from, next.to)
}

// copyFile copies a file. The copy is durable before it has its name.
func (s *Store) copyFile(from, to string) error {
	source, err := s.disk.Open(from)
	if err != nil {
		return err
	}
	defer source.Close() // only read
	name, err := s.writeFile(from, func(file io.Writer) error {
		_, err := io.Copy(file, source)
		return err
	})
	if err != nil {
		return err
	}
	return s.disk.Rename(name, to)
}

// rotationSteps returns the steps that make the file at written the newest generation. If
// rotates is set, the previous one is first linked to its new name, so that path always names a
// valid image. The oldest is removed last, if there are more than keep. A process that dies
// before the link leaves a gap in the numbers; then no generation is removed.
func (s *Store) rotationSteps(written string, rotates bool) []step {
	var steps []step
	older := 0
	for n := 1; n <= s.keep; n++ {
		if s.exists(s.generationPath(n)) {
			older++
		}
	}
	// The names are the same file if the last save died after linking them.
	if rotates && s.keep > 1 && s.exists(s.path) && !s.sameFile(s.path, s.generationPath(1)) {
		free := 1
		for free < s.keep && s.exists(s.generationPath(free)) {
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

func (s *Store) exists(path string) bool {
	_, err := s.disk.Stat(path)
	return err == nil
}

func (s *Store) sameFile(a, b string) bool {
	x, errX := s.disk.Stat(a)
	y, errY := s.disk.Stat(b)
	return errX == nil && errY == nil && s.disk.SameFile(x, y)
}

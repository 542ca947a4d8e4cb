package imagefile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/worldd/worldd/internal/atomicfile"
	"github.com/worldd/worldd/internal/disk"
	"github.com/worldd/worldd/world"
)

// Content identifies an image by its bytes.
type Content struct {
	Bytes int64
	Sum   string // SHA-256, hexadecimal
}

// ErrContent reports other bytes than the expected image has.
var ErrContent = errors.New("imagefile: not the bytes of the expected image")

// ErrUnconfirmed is an error of a Confirm that has certainly not confirmed the image.
var ErrUnconfirmed = errors.New("imagefile: the image is not confirmed")

// A Confirm makes the image in the file at path, whose name and content are durable, the newest of its world, for example in a
// cluster's directory. After an error that does not wrap ErrUnconfirmed the image may be the newest.
type Confirm func(path string, tick uint64, c Content) error

// ConfirmBy makes each Save ask confirm before the image becomes the newest generation (G18).
func (s *Store) ConfirmBy(confirm Confirm) { s.confirm = confirm }

// pendingName matches what follows the name of the image in the name of one that awaits its confirmation.
var pendingName = regexp.MustCompile(`^\.pending-[0-9a-f]{16}$`)

// awaitConfirmation gives the file at written the name under which Settle finds it, and confirms the image. It returns the new name. The
// file stays if the image may be confirmed.
func (s *Store) awaitConfirmation(written string, tick uint64, c Content) (string, error) {
	pending := s.path + ".pending-" + c.Sum[:16]
	if err := s.disk.Rename(written, pending); err != nil {
		return "", fmt.Errorf("imagefile: %w", err)
	}
	if err := disk.SyncDir(s.disk, s.path); err != nil {
		return "", fmt.Errorf("imagefile: %w", err)
	}
	err := s.confirm(pending, tick, c)
	if errors.Is(err, ErrUnconfirmed) {
		_ = s.disk.Remove(pending) // or else the next save does
	}
	return pending, err
}

// saveConfirmed is Save with a confirmation.
func (s *Store) saveConfirmed(img *world.Image, spacing time.Duration) error {
	sum, n := sha256.New(), int64(0)
	written, err := s.writeFile(s.path, func(to io.Writer) (err error) {
		n, err = img.WriteTo(io.MultiWriter(to, sum))
		return err
	})
	if err != nil {
		return err
	}
	rotates := s.mustRotate(img, spacing)
	pending, err := s.awaitConfirmation(written, img.Tick(), Content{n, hex.EncodeToString(sum.Sum(nil))})
	if err != nil {
		return err
	}
	if err := s.publishFile(pending, rotates); err != nil {
		return fmt.Errorf("imagefile: %w", err) // Settle publishes it
	}
	return s.DropPending()
}

// pendingFiles returns the paths of images without a confirmation.
func (s *Store) pendingFiles() (all []string, err error) {
	folder, own := filepath.Split(s.path)
	files, err := s.disk.List(folder)
	if err != nil {
		return nil, fmt.Errorf("imagefile: %w", err)
	}
	for _, f := range files {
		if rest, ours := strings.CutPrefix(f.Name, own); ours && f.Regular && pendingName.MatchString(rest) {
			all = append(all, filepath.Join(folder, f.Name))
		}
	}
	return all, nil
}

// DropPending removes the images that have no confirmation, once it is known that they will not get one.
func (s *Store) DropPending() error {
	all, err := s.pendingFiles()
	for _, path := range all {
		if removing := s.disk.Remove(path); removing != nil && !errors.Is(removing, fs.ErrNotExist) {
			err = errors.Join(err, fmt.Errorf("imagefile: %w", removing))
		}
	}
	return err
}

// Settle makes the confirmed image the newest generation, if the Store has it: as a generation, or as one whose confirmation had no
// answer. Call it before Load or Recover. It returns false if the Store does not have the image.
func (s *Store) Settle(c Content) (found bool, err error) {
	paths, err := s.pendingFiles()
	if err != nil {
		return false, err
	}
	paths = append([]string{s.path}, paths...)
	for n := 1; n <= s.keep+1; n++ { // an interrupted save leaves one more
		paths = append(paths, s.generationPath(n))
	}
	for _, path := range paths {
		switch same, err := s.hasContent(path, c); {
		case err != nil:
			return false, err
		case !same:
			continue
		}
		if path != s.path {
			err = s.makeNewest(path)
		}
		return true, errors.Join(err, s.DropPending())
	}
	return false, nil
}

// hasContent reports whether the file at path exists and has the content.
func (s *Store) hasContent(path string, c Content) (bool, error) {
	if info, err := s.disk.Stat(path); err != nil || info.Size() != c.Bytes {
		return false, nil
	}
	file, err := s.disk.Open(path)
	if err != nil {
		return false, fmt.Errorf("imagefile: %w", err)
	}
	defer file.Close() // only read
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return false, fmt.Errorf("imagefile: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)) == c.Sum, nil
}

// makeNewest makes a copy of the file at path the newest generation. The generation before becomes an older one.
func (s *Store) makeNewest(path string) error {
	file, err := s.disk.Open(path)
	if err != nil {
		return fmt.Errorf("imagefile: %w", err)
	}
	defer file.Close() // only read
	return s.Install(file, nil)
}

// Install makes the bytes of from the newest generation, as Settle does. If c is not nil, the error wraps ErrContent if they are others.
func (s *Store) Install(from io.Reader, c *Content) error {
	sum, n := sha256.New(), int64(0)
	written, err := s.writeFile(s.path, func(to io.Writer) (err error) {
		if c != nil {
			from = io.LimitReader(from, c.Bytes+1)
		}
		n, err = io.Copy(io.MultiWriter(to, sum), from)
		if err == nil && c != nil && (n != c.Bytes || hex.EncodeToString(sum.Sum(nil)) != c.Sum) {
			err = ErrContent
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := s.publishFile(written, true); err != nil {
		_ = s.disk.Remove(written)
		return fmt.Errorf("imagefile: %w", err)
	}
	s.own = nil // no save of this process
	return nil
}

// HasSize reports whether a file of the image at path may have a content: one has its size. It needs no lock.
func HasSize(path string, c Content) bool {
	target, err := atomicfile.Resolve(path)
	if err != nil {
		return false
	}
	folder, own := filepath.Split(target)
	files, err := disk.OS{}.List(folder)
	if err != nil {
		return false
	}
	for _, f := range files {
		info, err := disk.OS{}.Stat(filepath.Join(folder, f.Name))
		if err == nil && f.Regular && BaseName(f.Name) == own && info.Size() == c.Bytes {
			return true
		}
	}
	return false
}

// confirmedPath is the path of FILE.confirmed.
func confirmedPath(path string) string { return path + ".confirmed" }

// NoteConfirmed records what has confirmed the newest image, for ReadConfirmed.
func (s *Store) NoteConfirmed(note string) error {
	written, err := s.writeFile(s.path, func(to io.Writer) error {
		_, err := io.WriteString(to, note+"\n")
		return err
	})
	if err != nil {
		return err
	}
	if err = s.disk.Rename(written, confirmedPath(s.path)); err == nil {
		err = disk.SyncDir(s.disk, s.path)
	}
	if err != nil {
		_ = s.disk.Remove(written)
		return fmt.Errorf("imagefile: %w", err)
	}
	return nil
}

// maxNote bounds FILE.confirmed.
const maxNote = 1 << 10

// ReadConfirmed returns the newest note of NoteConfirmed for the image at path, or "" if there is none. It needs no lock.
func ReadConfirmed(path string) (string, error) {
	target, err := atomicfile.Resolve(path)
	if err != nil {
		return "", fmt.Errorf("imagefile: %w", err)
	}
	file, err := disk.OS{}.Open(confirmedPath(target))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("imagefile: %w", err)
	}
	defer file.Close() // only read
	note, err := io.ReadAll(io.LimitReader(file, maxNote))
	if err != nil {
		return "", fmt.Errorf("imagefile: %w", err)
	}
	return strings.TrimSpace(string(note)), nil
}

// SetAside keeps the newest generation as FILE.stale, in place of an earlier one, and removes all other files of the image: its world has
// ended, or continues elsewhere.
func (s *Store) SetAside() error {
	if s.unlocked != nil {
		return fmt.Errorf("imagefile: not set aside: %w", s.unlocked)
	}
	if err := s.disk.Rename(s.path, s.stalePath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("imagefile: %w", err)
	}
	s.newest, s.undo = 0, nil
	return s.remove(s.stalePath())
}

func (s *Store) stalePath() string { return s.path + ".stale" }

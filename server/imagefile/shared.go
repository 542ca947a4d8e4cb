package imagefile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/worldd/worldd/internal/atomicfile"
)

// A SharedFolder keeps immutable images where several nodes find them: in a folder of a file server, or of one machine. The image NAME
// of the world KIND/ID is the file KIND/ID.images/NAME. The same folder
// has the copies of the world's journal (SegmentCopy). Any goroutine may call the methods.
type SharedFolder struct {
	dir     string
	appends sync.Mutex // held while a copy of a segment grows
}

// NewSharedFolder returns the images in a folder, which must exist.
func NewSharedFolder(dir string) *SharedFolder { return &SharedFolder{dir: dir} }

// imageDir returns the folder of a world's images.
func (f *SharedFolder) imageDir(world string) string {
	return filepath.Join(f.dir, filepath.FromSlash(world)+".images")
}

// Put copies the image in the file at from. When it returns nil, the copy is durable. It does not change an image of the same
// name, which a save without an answer has written.
func (f *SharedFolder) Put(world, name, from string) error {
	to := filepath.Join(f.imageDir(world), name)
	if f.Has(world, name) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return fmt.Errorf("imagefile: %w", err)
	}
	if os.Link(from, to) == nil { // on the same disk; nobody writes to an image again
		return syncNames(to)
	}
	source, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("imagefile: %w", err)
	}
	defer source.Close() // only read
	return f.write(to, source, nil)
}

// Receive is Put for the bytes of another node. If they do not have the content, the error wraps ErrContent.
func (f *SharedFolder) Receive(world, name string, c Content, from io.Reader) error {
	if f.Has(world, name) {
		return nil
	}
	return f.write(filepath.Join(f.imageDir(world), name), io.LimitReader(from, c.Bytes+1), &c)
}

// write writes an image whole, or nothing. c is nil for an own one.
func (f *SharedFolder) write(to string, from io.Reader, c *Content) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return fmt.Errorf("imagefile: %w", err)
	}
	written, err := atomicfile.Create(to, 0o644)
	if err != nil {
		return fmt.Errorf("imagefile: %w", err)
	}
	defer written.Discard()
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(written, sum), from)
	if err == nil && c != nil && (n != c.Bytes || hex.EncodeToString(sum.Sum(nil)) != c.Sum) {
		err = ErrContent
	}
	if err == nil {
		err = written.Seal()
	}
	if err == nil {
		err = atomicfile.Replace(written.Name(), to)
	}
	if err != nil {
		return fmt.Errorf("imagefile: %w", err)
	}
	return syncNames(to)
}

// syncNames makes the name of an image durable, and its folders.
func syncNames(path string) error {
	dir := filepath.Dir(path)
	if err := errors.Join(atomicfile.SyncDir(path), atomicfile.SyncDir(dir), atomicfile.SyncDir(filepath.Dir(dir))); err != nil {
		return fmt.Errorf("imagefile: %w", err)
	}
	return nil
}

// Worlds returns the names of the worlds that have images, and when each got its newest.
func (f *SharedFolder) Worlds() (map[string]time.Time, error) {
	newest := map[string]time.Time{}
	err := filepath.WalkDir(f.dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed meanwhile
		}
		if err != nil || d.IsDir() {
			return err
		}
		dir, err := filepath.Rel(f.dir, filepath.Dir(path))
		world, ours := strings.CutSuffix(filepath.ToSlash(dir), ".images")
		if info, failed := d.Info(); err == nil && failed == nil && ours && info.ModTime().After(newest[world]) {
			newest[world] = info.ModTime()
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("imagefile: %w", err)
	}
	return newest, nil
}

// Open returns the bytes of an image. The error wraps fs.ErrNotExist if the folder does not have it.
func (f *SharedFolder) Open(world, name string) (io.ReadCloser, error) {
	file, err := os.Open(filepath.Join(f.imageDir(world), name))
	if err != nil {
		return nil, fmt.Errorf("imagefile: %w", err)
	}
	return file, nil
}

// Has reports whether the folder has an image.
func (f *SharedFolder) Has(world, name string) bool {
	_, err := os.Stat(filepath.Join(f.imageDir(world), name))
	return err == nil
}

// Prune removes the images of a world that isOld reports, and what killed processes have left of them.
func (f *SharedFolder) Prune(world string, isOld func(name string) bool) error {
	files, err := os.ReadDir(f.imageDir(world))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, file := range files {
		name, _, _ := strings.Cut(file.Name(), ".worldd-") // of a temporary file
		if !isOld(name) {
			continue
		}
		if removing := os.Remove(filepath.Join(f.imageDir(world), file.Name())); removing != nil && !errors.Is(removing, fs.ErrNotExist) {
			err = errors.Join(err, removing)
		}
	}
	if err != nil {
		return fmt.Errorf("imagefile: %w", err)
	}
	_ = os.Remove(f.imageDir(world)) // if it is empty
	return nil
}

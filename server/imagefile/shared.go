package imagefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/worldd/worldd/internal/atomicfile"
)

// A SharedFolder keeps immutable images where several nodes find them: in a folder of a file server, or of one machine. The image NAME
// of the world KIND/ID is the file KIND/ID.images/NAME. Any goroutine calls its methods.
type SharedFolder struct{ dir string }

// NewSharedFolder returns the images in a folder, which must exist.
func NewSharedFolder(dir string) *SharedFolder { return &SharedFolder{dir} }

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
	source, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("imagefile: %w", err)
	}
	defer source.Close() // only read
	copied, err := atomicfile.Create(to, 0o644)
	if err != nil {
		return fmt.Errorf("imagefile: %w", err)
	}
	defer copied.Discard()
	if _, err = io.Copy(copied, source); err == nil {
		err = copied.Seal()
	}
	if err == nil {
		err = atomicfile.Replace(copied.Name(), to)
	}
	if err == nil {
		err = errors.Join(atomicfile.SyncDir(to), atomicfile.SyncDir(filepath.Dir(to)), atomicfile.SyncDir(filepath.Dir(filepath.Dir(to))))
	}
	if err != nil {
		return fmt.Errorf("imagefile: %w", err)
	}
	return nil
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

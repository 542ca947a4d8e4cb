// Package atomicfile replaces files atomically: after a crash a path names either the old
// or the new content.
//
// The new content is written and synced under a temporary name beside the file,
//
//	PATH.worldd-<16 hex digits>.tmp
//
// and then renamed to PATH. The name belongs to exactly one PATH and to this program: the
// holder of the lock of PATH may remove the files that Leftovers returns.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"

	"github.com/natefinch/atomic"
)

// Pending is the new content of a file, under its temporary name.
type Pending struct {
	file   *os.File
	sealed bool
}

// Create creates a temporary file for the new content of path: see CreateTemporary.
func Create(path string, perm fs.FileMode) (*Pending, error) {
	file, err := CreateTemporary(path, path, perm)
	if err != nil {
		return nil, err
	}
	return &Pending{file: file}, nil
}

// CreateTemporary creates a temporary file for the new content of path. It has the permissions of
// the file at like, or perm less the umask if there is none. It does not follow links:
// path should come from Resolve.
func CreateTemporary(path, like string, perm fs.FileMode) (*os.File, error) {
	name := fmt.Sprintf("%s.worldd-%016x.tmp", path, rand.Uint64())
	old, err := os.Lstat(like)
	keep := err == nil && old.Mode().IsRegular()
	if keep {
		perm = old.Mode().Perm()
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return nil, err
	}
	if keep {
		if err := file.Chmod(perm); err != nil { // undoes the umask
			return nil, errors.Join(err, file.Close(), os.Remove(name))
		}
	}
	return file, nil
}

// Name returns the temporary file's path.
func (p *Pending) Name() string { return p.file.Name() }

// Write appends to the content.
func (p *Pending) Write(b []byte) (int, error) { return p.file.Write(b) }

// Seal syncs the content to disk and closes the file, which keeps its temporary name until
// Replace.
func (p *Pending) Seal() error {
	p.sealed = true
	return errors.Join(p.file.Sync(), p.file.Close())
}

// Discard removes the temporary file unless Replace has renamed it.
func (p *Pending) Discard() {
	if !p.sealed {
		_ = p.file.Close() // the content is discarded
	}
	_ = os.Remove(p.Name())
}

// Replace renames the file at from to path, replacing an existing file.
func Replace(from, path string) error { return atomic.ReplaceFile(from, path) }

// Write replaces the content of the file at path with data, and follows links. A new file
// has permissions perm less the umask; an existing one keeps its permissions.
func Write(path string, data []byte, perm fs.FileMode) error {
	path, err := Resolve(path)
	if err != nil {
		return err
	}
	p, err := Create(path, perm)
	if err != nil {
		return err
	}
	defer p.Discard()
	if _, err := p.Write(data); err != nil {
		return err
	}
	if err := p.Seal(); err != nil {
		return err
	}
	if err := Replace(p.Name(), path); err != nil {
		return err
	}
	return SyncDir(path)
}

// SyncDir makes renames in the directory of path durable, where the system and the file
// system support it.
func SyncDir(path string) error {
	dir, err := OpenDir(path)
	if err != nil {
		return err
	}
	return dir.Sync()
}

// Dir is an open directory. Callers open it before they rename files in it, so that an error
// appears before anything has changed.
type Dir struct{ file *os.File } // nil: it cannot be synced

// OpenDir opens the directory of path for Sync, where the system and the file system support it.
func OpenDir(path string) (Dir, error) {
	if runtime.GOOS == "windows" { // MoveFileEx writes through
		return Dir{}, nil
	}
	file, err := os.Open(filepath.Dir(path))
	if errors.Is(err, fs.ErrPermission) { // writable directories may be unreadable
		return Dir{}, nil
	}
	return Dir{file}, err
}

// Sync makes the renames in the directory durable, and closes it.
func (d Dir) Sync() error {
	if d.file == nil {
		return nil
	}
	err := d.file.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		err = nil
	}
	return errors.Join(err, d.file.Close())
}

// Close closes the directory, even after Sync.
func (d Dir) Close() {
	if d.file != nil {
		_ = d.file.Close() // only read
	}
}

// maxLinks bounds a chain of links, with the limit of Linux.
const maxLinks = 40

// Resolve returns the absolute path after following all links in path. The file need not
// exist, but its directory must.
func Resolve(path string) (string, error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return filepath.Abs(target)
	}
	for at, n := path, 0; n < maxLinks; n++ {
		dir, err := filepath.EvalSymlinks(filepath.Dir(at))
		if err != nil {
			return "", err
		}
		if dir, err = filepath.Abs(dir); err != nil {
			return "", err
		}
		at = filepath.Join(dir, filepath.Base(at))
		target, err := os.Readlink(at)
		if err != nil { // not a link, or missing
			return at, nil
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(dir, target)
		}
		at = target
	}
	return "", &fs.PathError{Op: "resolve", Path: path, Err: errors.New("too many links")}
}

var temporary = regexp.MustCompile(`^\.worldd-[0-9a-f]{16}\.tmp$`)

// IsTemporary reports whether the file called name is a temporary file of the one called base, in the same directory.
func IsTemporary(base, name string) bool {
	rest, ours := strings.CutPrefix(name, base)
	return ours && temporary.MatchString(rest)
}

// Leftovers returns the temporary files of path. A file that no process is writing was left by
// a killed process.
func Leftovers(path string) ([]string, error) {
	dir, base := filepath.Split(path)
	entries, err := os.ReadDir(filepath.Clean(dir))
	if err != nil {
		return nil, err
	}
	var found []string
	for _, e := range entries {
		if e.Type().IsRegular() && IsTemporary(base, e.Name()) {
			found = append(found, filepath.Join(dir, e.Name()))
		}
	}
	return found, nil
}

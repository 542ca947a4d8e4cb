// Package disk has the few operations on files that images and journals need. The operating system implements them
// here, and a simulated disk that crashes in package disktest.
//
// A crash keeps what is durable:
//
//   - Bytes are durable once a Sync that began after their Write has returned nil.
//   - A file's name is durable once a SyncDir that began after Create, Link, Rename or Remove has returned
//     nil. Sync of a file says nothing about its name.
//   - Before that, anything may remain: nothing, all of it, a part, zeros between parts.
//   - A Sync that fails leaves unknown contents for good: the system may have dropped the bytes, and a
//     second Sync returns nil all the same. Never retry it: give up the file.
package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"github.com/worldd/worldd/internal/atomicfile"
	"github.com/worldd/worldd/internal/regularfile"
)

// ErrLocked reports a file that another process has locked.
var ErrLocked = errors.New("locked by another process")

// Disk is a file system. Its errors wrap package fs's where there is one. It follows no links, except when it opens
// a file.
type Disk interface {
	// Create creates an empty file, which only its owner may read. It fails if there is one.
	Create(path string) (File, error)
	// CreateTemporary creates an empty file for the next content of path, and returns its name, which
	// atomicfile.IsTemporary recognises. The file has the permissions of the one at like, or 0644 less the umask.
	CreateTemporary(path, like string) (file File, name string, err error)
	// Overwrite opens a file for writing at its beginning. It creates the file if there is none.
	Overwrite(path string) (File, error)
	// Append opens an existing file for writing at its end.
	Append(path string) (File, error)
	// Open opens a regular file for reading.
	Open(path string) (fs.File, error)
	// Stat describes a file.
	Stat(path string) (fs.FileInfo, error)
	// SameFile reports whether two results of Stat describe the same file.
	SameFile(a, b fs.FileInfo) bool
	// Rename renames a file, replacing an existing one.
	Rename(from, to string) error
	// Link gives a file a second name. It fails if there is a file of this name, or if the file system has no links.
	Link(from, to string) error
	Remove(path string) error
	// List returns the files of a folder, by name.
	List(folder string) ([]Entry, error)
	// OpenDir opens the folder of path. An error of opening it thus appears before the caller changes names.
	OpenDir(path string) (Dir, error)
	// Lock locks the file at path until the result is closed or the process ends. It creates the file if there is
	// none. The error wraps ErrLocked if another process has locked the file, and is another one if the disk has no locks.
	Lock(path string) (io.Closer, error)
}

// Dir is an open folder.
type Dir interface {
	// Sync makes the names in the folder durable, and closes it.
	Sync() error
	// Close closes the folder, even after Sync.
	Close()
}

// SyncDir makes the names in the folder of path durable.
func SyncDir(d Disk, path string) error {
	dir, err := d.OpenDir(path)
	if err != nil {
		return err
	}
	return dir.Sync()
}

// File is open for writing, by one goroutine.
type File interface {
	io.WriteCloser
	// Sync makes all bytes durable that were written.
	Sync() error
}

// Entry is a file in a folder.
type Entry struct {
	Name    string
	Bytes   int64
	Regular bool // not, for example, a link
}

// OS is the operating system's Disk.
type OS struct{}

// file is an open file of the operating system.
type file struct{ *os.File }

func (f file) Sync() error { return syncData(f.File) }

// Create implements Disk.
func (OS) Create(path string) (File, error) {
	return opened(os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600))
}

// CreateTemporary implements Disk.
func (OS) CreateTemporary(path, like string) (File, string, error) {
	f, err := atomicfile.CreateTemporary(path, like, 0o644)
	if err != nil {
		return nil, "", err
	}
	return file{f}, f.Name(), nil
}

// Overwrite implements Disk.
func (OS) Overwrite(path string) (File, error) {
	return opened(os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644))
}

// Append implements Disk.
func (OS) Append(path string) (File, error) {
	return opened(os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0))
}

func opened(f *os.File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	return file{f}, nil
}

// Open implements Disk.
func (OS) Open(path string) (fs.File, error) {
	f, err := regularfile.Open(path)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Stat implements Disk.
func (OS) Stat(path string) (fs.FileInfo, error) { return os.Lstat(path) }

// SameFile implements Disk.
func (OS) SameFile(a, b fs.FileInfo) bool { return os.SameFile(a, b) }

// Rename implements Disk.
func (OS) Rename(from, to string) error { return atomicfile.Replace(from, to) }

// Link implements Disk.
func (OS) Link(from, to string) error { return os.Link(from, to) }

// Remove implements Disk.
func (OS) Remove(path string) error { return os.Remove(path) }

// List implements Disk.
func (OS) List(folder string) ([]Entry, error) {
	found, err := os.ReadDir(filepath.Clean(folder))
	if err != nil {
		return nil, err
	}
	var all []Entry
	for _, f := range found {
		info, err := f.Info()
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir() {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, Entry{Name: f.Name(), Bytes: info.Size(), Regular: info.Mode().IsRegular()})
	}
	return all, nil
}

// OpenDir implements Disk.
func (OS) OpenDir(path string) (Dir, error) { return atomicfile.OpenDir(path) }

// maxLocks bounds the attempts to lock a file that other processes remove.
const maxLocks = 100

// Lock implements Disk.
func (OS) Lock(path string) (io.Closer, error) {
	lock := flock.New(path)
	for range maxLocks {
		held, err := lock.TryLock()
		switch {
		case err != nil:
			return nil, err
		case !held:
			return nil, ErrLocked
		case isFileAt(lock):
			return lock, nil
		}
		if err := lock.Close(); err != nil { // another process has removed the file meanwhile
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s is not the same file twice", path)
}

// isFileAt reports whether the locked file is the one that other processes would lock.
func isFileAt(lock *flock.Flock) bool {
	own, errOwn := lock.Stat()
	found, errFound := os.Stat(lock.Path())
	return errOwn == nil && errFound == nil && os.SameFile(own, found)
}

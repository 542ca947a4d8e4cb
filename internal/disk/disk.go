// Package disk has the few operations on files that a journal needs. The operating system implements them
// here, and a simulated disk that crashes in package disktest.
//
// A crash keeps what is durable:
//
//   - Bytes are durable once a Sync that began after their Write has returned nil.
//   - A file's name is durable once a SyncDir that began after Create, Rename or Remove has returned
//     nil. Sync of a file says nothing about its name.
//   - Before that, anything may remain: nothing, all of it, a part, zeros between parts.
//   - A Sync that fails leaves unknown contents for good: the system may have dropped the bytes, and a
//     second Sync returns nil all the same. Never retry it: give up the file.
package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/worldd/worldd/internal/atomicfile"
	"github.com/worldd/worldd/internal/regularfile"
)

// Disk is a file system. Its errors wrap package fs's where there is one.
type Disk interface {
	// Create creates an empty file, which only its owner may read. It fails if there is one.
	Create(path string) (File, error)
	// Append opens an existing file for writing at its end.
	Append(path string) (File, error)
	// Open opens a regular file for reading.
	Open(path string) (fs.File, error)
	// Rename renames a file, replacing an existing one.
	Rename(from, to string) error
	Remove(path string) error
	// List returns the regular files of a folder, by name.
	List(folder string) ([]Entry, error)
	// SyncDir makes the names in the folder of path durable.
	SyncDir(path string) error
}

// File is open for writing, by one goroutine.
type File interface {
	io.WriteCloser
	// Sync makes all bytes durable that were written.
	Sync() error
}

// Entry is a file in a folder.
type Entry struct {
	Name  string
	Bytes int64
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

// Rename implements Disk.
func (OS) Rename(from, to string) error { return atomicfile.Replace(from, to) }

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
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, Entry{Name: f.Name(), Bytes: info.Size()})
	}
	return all, nil
}

// SyncDir implements Disk.
func (OS) SyncDir(path string) error { return atomicfile.SyncDir(path) }

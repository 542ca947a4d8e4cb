package host

import (
	"errors"
	"io/fs"
	"os"

	"github.com/worldd/worldd/internal/atomicfile"
	"github.com/worldd/worldd/internal/regularfile"
)

// recordDisk is the file of a recording. Until publishFile it is PATH.new, and the previous
// recording stays at PATH: a server that fails early, or finds the disk full, keeps the
// previous recording.
type recordDisk struct {
	path      string // links resolved
	file      *os.File
	published bool
}

const (
	newRecording      = ".new"
	previousRecording = ".old-1"
)

func createRecordDisk(path string) (*recordDisk, error) {
	if err := regularfile.CheckCreate(path); err != nil {
		return nil, err
	}
	path, err := atomicfile.Resolve(path)
	if err != nil {
		return nil, err
	}
	file, err := regularfile.Create(path + newRecording)
	if err != nil {
		return nil, err
	}
	return &recordDisk{path: path, file: file}, nil
}

// Write implements io.Writer.
func (d *recordDisk) Write(b []byte) (int, error) { return d.file.Write(b) }

// publishFile syncs the data, keeps the previous recording as PATH.old-1, and moves the new one
// to PATH.
func (d *recordDisk) publishFile() error {
	if err := errors.Join(d.file.Sync(), d.file.Close()); err != nil { // Windows does not rename open files
		return err
	}
	if err := os.Rename(d.path, d.path+previousRecording); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(d.path+newRecording, d.path); err != nil {
		return err
	}
	d.published = true
	var err error
	d.file, err = os.OpenFile(d.path, os.O_WRONLY|os.O_APPEND, 0)
	return errors.Join(err, atomicfile.SyncDir(d.path))
}

// closeFile closes the file, and removes it if it was not published.
func (d *recordDisk) closeFile() error {
	err := d.file.Close()
	if errors.Is(err, fs.ErrClosed) || errors.Is(err, os.ErrInvalid) { // publishFile has failed and closed it
		err = nil
	}
	if !d.published {
		_ = os.Remove(d.path + newRecording) // the error that ended the recording says more
	}
	return err
}

package imagefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
)

// MaxSegmentCopy bounds the copy of a segment, far above the ticks between two images.
const MaxSegmentCopy = 64 << 20

// maxSegmentStep bounds SegmentSource.Read, so that no world delays the copies of the others.
const maxSegmentStep = 1 << 20

// SegmentCopy identifies the copy of a segment of a world's journal in a SharedFolder: its beginning, as far as it was copied.
type SegmentCopy struct {
	Epoch uint64 `json:"epoch"` // of the room's taking that has copied it
	Run   uint64 `json:"run"`
	Tick  uint64 `json:"tick"`
	Nth   int    `json:"nth"`
}

// CopiedSegment is the copy of a segment, or of its beginning.
type CopiedSegment struct {
	SegmentCopy
	Content []byte
}

// SegmentSource is a segment in a file of this machine, which grows.
type SegmentSource struct {
	SegmentCopy
	Path  string
	Bytes int64
}

// Read returns the next bytes to copy, from a position on. There are none if the file is gone, since its image is old, or if the
// copy would be too long.
func (s SegmentSource) Read(at int64) ([]byte, error) {
	length := min(s.Bytes, MaxSegmentCopy) - at
	if length <= 0 {
		return nil, nil
	}
	file, err := os.Open(s.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("imagefile: %w", err)
	}
	defer file.Close() // only read
	b := make([]byte, min(length, maxSegmentStep))
	n, err := file.ReadAt(b, at)
	if err != nil {
		err = fmt.Errorf("imagefile: %w", err)
	}
	return b[:n], err
}

// Name returns the name of the copy's file. It begins with the epoch and the tick, as the names of images do: one rule, RoomImage.IsOld of
// package server, says which files are old.
func (c SegmentCopy) Name() string {
	return fmt.Sprintf("%d-%d-journal-%016x-%d", c.Epoch, c.Tick, c.Run, c.Nth)
}

var segmentCopyName = regexp.MustCompile(`^([0-9]{1,20})-([0-9]{1,20})-journal-([0-9a-f]{16})-([0-9]{1,9})$`)

func parseSegmentCopy(name string) (c SegmentCopy, ok bool) {
	parts := segmentCopyName.FindStringSubmatch(name)
	if parts == nil {
		return c, false
	}
	var errs [4]error
	c.Epoch, errs[0] = strconv.ParseUint(parts[1], 10, 64)
	c.Tick, errs[1] = strconv.ParseUint(parts[2], 10, 64)
	c.Run, errs[2] = strconv.ParseUint(parts[3], 16, 64)
	c.Nth, errs[3] = strconv.Atoi(parts[4])
	return c, errors.Join(errs[:]...) == nil && c.Name() == name
}

// AppendSegment appends the bytes of a segment that begin at a position to its copy, and returns the copy's length. A copy of another length than
// that stays as it is. Nothing is synced: the copy is for the end of another machine than the one that has it.
func (f *SharedFolder) AppendSegment(world string, c SegmentCopy, at int64, content []byte) (length int64, err error) {
	f.appends.Lock()
	defer f.appends.Unlock()
	path := filepath.Join(f.imageDir(world), c.Name())
	if at == 0 {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return 0, fmt.Errorf("imagefile: %w", err)
		}
	}
	flags := os.O_WRONLY | os.O_APPEND
	if at == 0 {
		flags |= os.O_CREATE
	}
	file, err := os.OpenFile(path, flags, 0o644)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("imagefile: %w", err)
	}
	info, err := file.Stat()
	if err == nil && info.Size() == at && at+int64(len(content)) <= MaxSegmentCopy {
		if _, err = file.Write(content); err == nil {
			info, err = file.Stat()
		}
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return 0, fmt.Errorf("imagefile: %w", err) // a part may be there, and is right: the next call learns how much
	}
	return info.Size(), nil
}

// ReadSegments returns the copies of a world's segments whose names are not old.
func (f *SharedFolder) ReadSegments(world string, isOld func(name string) bool) (all []CopiedSegment, err error) {
	files, err := os.ReadDir(f.imageDir(world))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, file := range files {
		c, ok := parseSegmentCopy(file.Name())
		if !ok || isOld(file.Name()) {
			continue
		}
		content, failed := readBounded(filepath.Join(f.imageDir(world), file.Name()))
		if failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		all = append(all, CopiedSegment{c, content})
	}
	if err != nil {
		err = fmt.Errorf("imagefile: %w", err)
	}
	return all, err
}

func readBounded(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && info.Size() > MaxSegmentCopy {
		err = fmt.Errorf("%s has %d bytes, at most %d can be a copy", path, info.Size(), MaxSegmentCopy)
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

package imagefile

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/worldd/worldd/world"
)

const (
	// maxKeptSegments and maxKeptBytes, in JournalConfig.MaxBytes, bound what older images keep, for
	// example of a server that ends soon after each start.
	maxKeptSegments = 1000
	maxKeptBytes    = 8
)

// prune removes the segments that no image needs (G12), after the image of a tick was saved. Another process may
// write them if the image is not locked.
func (j *Journal) prune(saved uint64) error {
	s := j.store
	if s.unlocked != nil {
		return nil
	}
	segments, err := s.Segments()
	if err != nil {
		return err
	}
	run := j.queue.newestRun()
	needed, count, bytes := map[string]bool{}, 0, int64(0)
	keep := func(run, from uint64) {
		for _, segment := range segments {
			if segment.Run == run && segment.Tick >= from && !needed[segment.Path] {
				needed[segment.Path] = true
				count, bytes = count+1, bytes+segment.Bytes
			}
		}
	}
	keep(run, saved) // generation 0
	images, err := s.olderImages()
	if err != nil {
		return err
	}
	for _, path := range images {
		full := count >= maxKeptSegments || bytes >= maxKeptBytes*j.writer.config.MaxBytes
		if full && !strings.HasSuffix(path, skippedSuffix) { // the operator removes those
			continue
		}
		first, found, err := s.firstSegment(path, segments)
		if err != nil {
			return err
		}
		if found {
			keep(first.Run, first.Tick)
		}
	}
	for _, segment := range segments {
		if needed[segment.Path] {
			continue
		}
		if removing := s.disk.Remove(segment.Path); removing != nil && !errors.Is(removing, fs.ErrNotExist) {
			err = errors.Join(err, fmt.Errorf("imagefile: %w", removing))
		}
	}
	return err
}

// keptName matches what follows the name of the image in the name of an image of another version (G8), or of one that was
// skipped (G15).
var keptName = regexp.MustCompile(`^(\.kept-[0-9a-f]{8}|(\.old-[1-9][0-9]*)?\.skipped)$`)

// olderImages returns the paths of all images but the newest: older generations, those kept for other versions, and skipped
// ones. Some paths may name no file.
func (s *Store) olderImages() (all []string, err error) {
	for n := 1; n <= s.keep; n++ {
		all = append(all, s.generationPath(n))
	}
	folder, own := filepath.Split(s.path)
	files, err := s.disk.List(folder)
	if err != nil {
		return nil, fmt.Errorf("imagefile: %w", err)
	}
	for _, f := range files {
		if rest, ours := strings.CutPrefix(f.Name, own); ours && f.Regular && keptName.MatchString(rest) {
			all = append(all, filepath.Join(folder, f.Name))
		}
	}
	return all, nil
}

// firstSegment returns the segment that begins with the image at path. An image that cannot be read needs none.
func (s *Store) firstSegment(path string, segments []Segment) (first Segment, found bool, err error) {
	file, err := s.disk.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return first, false, nil
	}
	if err != nil {
		return first, false, fmt.Errorf("imagefile: %w", err)
	}
	defer file.Close()
	head, err := world.ReadImageHead(file)
	switch {
	case errors.Is(err, world.ErrImage) || errors.Is(err, world.ErrImageVersion) || errors.Is(err, world.ErrImageWorld):
		return first, false, nil
	case err != nil:
		return first, false, fmt.Errorf("%s: %w", path, err)
	}
	for _, segment := range segments {
		if segment.Tick != head.Tick() {
			continue
		}
		reader, file, err := s.openSegment(segment)
		if errors.Is(err, world.ErrImageVersion) { // a newer program's, perhaps of this image
			return segment, true, nil
		}
		if err != nil { // it does not show its image
			continue
		}
		_ = file.Close() // only read
		if reader.Head().Mark == head.Mark() {
			return segment, true, nil
		}
	}
	return first, false, nil
}

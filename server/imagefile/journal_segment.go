package imagefile

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/worldd/worldd/internal/atomicfile"
	"github.com/worldd/worldd/internal/disk"
)

const (
	// lossySuffix marks a segment after which output has left that no segment holds (G11).
	lossySuffix = ".lossy"
	// skippedSuffix marks an image that was skipped, or from which Recovery.Until has skipped ticks.
	skippedSuffix = ".skipped"
	// maxSegments bounds the segments of an image. Pruning leaves far fewer.
	maxSegments = 10_000
)

// Segment is one file of the journal: the ticks from one image to the next.
type Segment struct {
	Path  string
	Run   uint64 // that wrote it
	Tick  uint64 // of the world at its head
	Nth   int    // of the segments that begin at Tick: the earlier ones have no frames
	Lossy bool   // ticks are missing after it
	Bytes int64
}

var segmentName = regexp.MustCompile(`^\.journal-([0-9a-f]{16})-([0-9a-f]{16})(?:-([1-9][0-9]{0,8}))?(\.lossy)?$`)

// segmentPath is the path of a segment that is not lossy.
func segmentPath(image string, run, tick uint64, nth int) string {
	path := fmt.Sprintf("%s.journal-%016x-%016x", image, run, tick)
	if nth > 0 {
		path += fmt.Sprintf("-%d", nth)
	}
	return path
}

// Segments returns the segments of the journal, by run and tick, in the order in which they began.
func (s *Store) Segments() ([]Segment, error) { return listSegments(s.disk, s.path) }

// HasRun reports whether the journal of the image at path has a segment of a run. It needs no lock.
func HasRun(path string, run uint64) bool {
	target, err := atomicfile.Resolve(path)
	if err != nil {
		return false
	}
	if _, err := os.Stat(target); err != nil {
		return false
	}
	segments, err := listSegments(disk.OS{}, target)
	return err == nil && slices.ContainsFunc(segments, func(s Segment) bool { return s.Run == run })
}

func listSegments(d disk.Disk, image string) ([]Segment, error) {
	folder, own := filepath.Split(image)
	files, err := d.List(folder)
	if err != nil {
		return nil, fmt.Errorf("imagefile: %w", err)
	}
	var all []Segment
	for _, f := range files {
		if segment, ok := parseSegment(own, f.Name); ok && f.Regular {
			segment.Path, segment.Bytes = filepath.Join(folder, f.Name), f.Bytes
			all = append(all, segment)
		}
	}
	if len(all) > maxSegments {
		return nil, fmt.Errorf("imagefile: %s has %d segments of a journal: more than %d", image, len(all), maxSegments)
	}
	slices.SortFunc(all, func(a, b Segment) int {
		return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(a.Tick, b.Tick), cmp.Compare(a.Nth, b.Nth), cmp.Compare(a.Path, b.Path))
	})
	return all, nil
}

// parseSegment returns what the path of a segment of an image says.
func parseSegment(image, path string) (s Segment, ok bool) {
	rest, ours := strings.CutPrefix(path, image)
	parts := segmentName.FindStringSubmatch(rest)
	if !ours || parts == nil {
		return s, false
	}
	s.Path, s.Lossy = path, parts[4] != ""
	s.Run, _ = strconv.ParseUint(parts[1], 16, 64) // the expression matches numbers alone
	s.Tick, _ = strconv.ParseUint(parts[2], 16, 64)
	s.Nth, _ = strconv.Atoi(parts[3]) // empty: 0
	return s, true
}

// CopySegment returns the bytes of a run's newest segment that begins at a tick, for AddSegment on another machine.
func (s *Store) CopySegment(run, tick uint64, most int) ([]byte, error) {
	segments, err := s.Segments()
	if err != nil {
		return nil, err
	}
	i := -1
	for k, segment := range segments {
		if segment.Run == run && segment.Tick == tick && !segment.Lossy {
			i = k
		}
	}
	switch {
	case i < 0:
		return nil, fmt.Errorf("imagefile: %s has no segment of run %016x at tick %d", s.path, run, tick)
	case segments[i].Bytes > int64(most):
		return nil, fmt.Errorf("imagefile: %s has %d bytes, at most %d can be copied", segments[i].Path, segments[i].Bytes, most)
	}
	file, err := s.disk.Open(segments[i].Path)
	if err != nil {
		return nil, fmt.Errorf("imagefile: %w", err)
	}
	defer file.Close() // only read
	content, err := io.ReadAll(file)
	if err != nil {
		return nil, fmt.Errorf("imagefile: %w", err)
	}
	return content, nil
}

// AddSegment writes a segment of another machine, before Recover. It is durable when AddSegment returns nil. segment.Lossy says that ticks may
// be missing after it, so that its run cannot continue; Path and Bytes do not matter.
func (s *Store) AddSegment(segment Segment, content []byte) error {
	path := segmentPath(s.path, segment.Run, segment.Tick, segment.Nth)
	if segment.Lossy {
		path += lossySuffix
	}
	written, err := s.writeFile(s.path, func(to io.Writer) error {
		_, err := to.Write(content)
		return err
	})
	if err != nil {
		return err
	}
	if err = s.disk.Rename(written, path); err == nil {
		err = disk.SyncDir(s.disk, path)
	}
	if err != nil {
		_ = s.disk.Remove(written)
		return fmt.Errorf("imagefile: %w", err)
	}
	return nil
}

package imagefile

import (
	"cmp"
	"fmt"
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
		rest, ours := strings.CutPrefix(f.Name, own)
		parts := segmentName.FindStringSubmatch(rest)
		if !ours || !f.Regular || parts == nil {
			continue
		}
		run, _ := strconv.ParseUint(parts[1], 16, 64) // the expression matches numbers alone
		tick, _ := strconv.ParseUint(parts[2], 16, 64)
		nth, _ := strconv.Atoi(parts[3]) // empty: 0
		all = append(all, Segment{Path: filepath.Join(folder, f.Name), Run: run, Tick: tick, Nth: nth, Lossy: parts[4] != "", Bytes: f.Bytes})
	}
	if len(all) > maxSegments {
		return nil, fmt.Errorf("imagefile: %s has %d segments of a journal: more than %d", image, len(all), maxSegments)
	}
	slices.SortFunc(all, func(a, b Segment) int {
		return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(a.Tick, b.Tick), cmp.Compare(a.Nth, b.Nth), cmp.Compare(a.Path, b.Path))
	})
	return all, nil
}

package host

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/worldd/worldd/internal/printable"
	"github.com/worldd/worldd/internal/regularfile"
	"github.com/worldd/worldd/world"
)

// segmentReport describes a segment of a journal in JSON.
type segmentReport struct {
	File   string `json:"file"`
	Bytes  int64  `json:"bytes"`
	Run    string `json:"run"` // as in the name of the file
	Begins uint64 `json:"begins_after_tick"`
	Ends   uint64 `json:"ends_with_tick"`
	Frames uint64 `json:"frames"`
	// Always says that output of a tick left once its frame was on the disk.
	Always bool `json:"always"`
	// Lossy says that ticks after the segment are in no file.
	Lossy bool   `json:"lossy"`
	Torn  bool   `json:"torn"` // Error is a frame that was not completely written
	Error string `json:"error,omitempty"`
}

// reportSegment describes the segment of a journal in a file. It returns nil if the file has no head of a segment.
func reportSegment(path string) (*segmentReport, error) {
	file, err := regularfile.Open(path)
	if err != nil {
		return nil, usageError("cannot read the file: %w", err)
	}
	defer file.Close()
	stat, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("cannot read the file: %w", err)
	}
	reader, err := world.NewJournalReader(file)
	if errors.Is(err, world.ErrJournalEnd) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	head := reader.Head()
	r := &segmentReport{
		File: path, Bytes: stat.Size(), Run: fmt.Sprintf("%016x", head.Run), Begins: head.Tick, Ends: head.Tick, Always: head.Durable,
		Lossy: strings.HasSuffix(path, ".lossy"),
	}
	for {
		frame, err := reader.Next()
		switch {
		case errors.Is(err, io.EOF):
			return r, nil
		case errors.Is(err, world.ErrJournalEnd):
			r.Torn, r.Error = errors.Is(err, io.ErrUnexpectedEOF), err.Error()
			if r.Torn {
				return r, nil // as a killed process leaves it
			}
			return r, fmt.Errorf("%s: %w", path, fileError{err})
		case err != nil:
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		r.Frames, r.Ends = r.Frames+1, frame.Tick
	}
}

// write writes the report as text.
func (r *segmentReport) write(to io.Writer) error {
	t := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "file\t%s, %d bytes\n", r.File, r.Bytes)
	fmt.Fprintf(t, "journal\tof run %s, after the image of tick %d: %d frames, to tick %d\n", r.Run, r.Begins, r.Frames, r.Ends)
	how := "once a second: the run continues only if its server ended in an orderly way"
	if r.Always {
		how = "before the output of each tick left: the run can continue"
	}
	if r.Lossy {
		how += ". Later ticks are missing (.lossy): it does not continue"
	}
	fmt.Fprintf(t, "synced\t%s\n", how)
	switch {
	case r.Torn:
		fmt.Fprintf(t, "end\ttorn, as a killed server leaves it: %s\n", printable.Text(r.Error))
	case r.Error != "":
		fmt.Fprintf(t, "end\tdamaged: what follows is lost: %s\n", printable.Text(r.Error))
	default:
		fmt.Fprintln(t, "end\twhole")
	}
	return t.Flush()
}

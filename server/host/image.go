package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/worldd/worldd/internal/printable"
	"github.com/worldd/worldd/internal/regularfile"
	"github.com/worldd/worldd/world"
)

// imageCommand reads images without a server.
type imageCommand struct {
	Info    imageInfoCommand    `cmd:"" help:"Describe an image, a recording or a segment of a journal, of any program."`
	List    imageListCommand    `cmd:"" help:"List the images below a folder, of any program."`
	Verify  imageVerifyCommand  `cmd:"" help:"Check whether this program can restore an image, and what it would change."`
	Migrate imageMigrateCommand `cmd:"" help:"Write an image as this program would save it."`
}

// imageReport describes an image in JSON, or a recording with the image at its head.
type imageReport struct {
	File       string            `json:"file"`
	Bytes      int64             `json:"bytes"`
	Saved      time.Time         `json:"saved"`
	Format     uint32            `json:"format"`
	Program    string            `json:"program"`
	Version    string            `json:"version"`
	Tick       uint64            `json:"tick"`
	Seconds    float64           `json:"seconds"`
	TickHz     int               `json:"tick_hz"`
	Entities   int               `json:"entities"`
	Slots      int               `json:"slots"`
	Effects    int               `json:"effects"`
	Settings   map[string]any    `json:"settings"`
	Kinds      []kindReport      `json:"kinds"`
	Components []componentReport `json:"components"`
	Parts      []partReport      `json:"parts"`
	Recording  *recordingReport  `json:"recording,omitempty"`
	Error      string            `json:"error,omitempty"`
}

type kindReport struct {
	Name     string         `json:"name"`
	Entities int            `json:"entities"`
	Body     *world.BodyDef `json:"body"`
}

type componentReport struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Entities int    `json:"entities"`
	Bytes    int64  `json:"bytes"`
}

type partReport struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

// recordingReport describes what a recording has behind its image.
type recordingReport struct {
	Format   uint32  `json:"format"`
	LastTick uint64  `json:"last_tick"`
	Seconds  float64 `json:"seconds"`
	Every    int     `json:"compared_every"` // in ticks
	Closed   bool    `json:"closed"`
}

// reportImage describes the image or the recording in a file.
func reportImage(path string) (*imageReport, error) {
	r := &imageReport{File: path}
	file, err := regularfile.Open(path)
	if err != nil {
		return nil, usageError("cannot read the image: %w", err)
	}
	defer file.Close()
	stat, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("cannot read the image: %w", err)
	}
	r.Bytes, r.Saved = stat.Size(), stat.ModTime()
	info, err := world.ReadImageInfo(file)
	if err != nil {
		r.Error = err.Error()
		return r, fmt.Errorf("%s: %w", path, fileError{err})
	}
	c := info.Config
	if i := info.Recording; i != nil {
		r.Recording = &recordingReport{i.Format, i.Last, float64(i.Last-info.Tick) / float64(c.TickHz), i.Every, i.Closed}
	}
	r.Format, r.Program, r.Version = info.Format, info.Program.Name, info.Program.Version
	r.Tick, r.TickHz, r.Seconds = info.Tick, c.TickHz, float64(info.Tick)/float64(c.TickHz)
	r.Entities, r.Slots, r.Effects = info.Entities, info.Slots, info.Effects
	r.Settings = map[string]any{
		"seed": c.Seed, "max_entities": c.MaxEntities, "cell_metres": c.CellMetres, "half_extent": [3]float32{c.HalfExtent.X, c.HalfExtent.Y, c.HalfExtent.Z},
		"gravity": c.Gravity, "rest_speed": c.RestSpeed, "bounds": c.Bounds, "compaction": c.Compaction,
	}
	for _, k := range info.Kinds {
		r.Kinds = append(r.Kinds, kindReport{k.Name, k.Entities, k.Body})
	}
	for _, c := range info.Components {
		r.Components = append(r.Components, componentReport(c))
	}
	for _, part := range info.Parts {
		r.Parts = append(r.Parts, partReport(part))
	}
	return r, nil
}

// fileError is an error about the contents of a file, made printable: its names may come from
// anywhere.
type fileError struct{ error }

func (e fileError) Error() string { return printable.Lines(e.error.Error()) }

func (e fileError) Unwrap() error { return e.error }

// saver names the program that saved the image, made printable.
func (r *imageReport) saver() string {
	if r.Program == "" {
		return "a program that is not named"
	}
	return printable.Text(strings.TrimSpace(r.Program + " " + r.Version))
}

// imageInfoCommand describes an image, a recording or a segment of a journal.
type imageInfoCommand struct {
	File string `arg:"" type:"path" placeholder:"FILE" help:"Image or journal from serve --image, or recording from serve --record."`
	JSON bool   `name:"json" help:"Print JSON."`
}

func (c *imageInfoCommand) run(_ context.Context, p *program) error {
	segment, err := reportSegment(c.File)
	if segment != nil {
		write := segment.write
		if c.JSON {
			write = func(to io.Writer) error { return printable.WriteJSON(to, segment, "  ") }
		}
		return errors.Join(write(p.out), err)
	}
	if err != nil {
		return err
	}
	r, err := reportImage(c.File)
	if err != nil {
		return err
	}
	if c.JSON {
		return printable.WriteJSON(p.out, r, "  ")
	}
	t := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "file\t%s, %d bytes, saved %s\n", r.File, r.Bytes, r.Saved.Format(time.DateTime))
	fmt.Fprintf(t, "saved by\t%s, in format %d\n", r.saver(), r.Format)
	fmt.Fprintf(t, "time\ttick %d, %d a second: %v\n", r.Tick, r.TickHz, time.Duration(r.Seconds*float64(time.Second)).Round(time.Second))
	if i := r.Recording; i != nil {
		fmt.Fprintf(t, "recording\t%s\n", i.describe())
	}
	fmt.Fprintf(t, "entities\t%d in %d slots, %d effects\n", r.Entities, r.Slots, r.Effects)
	fmt.Fprintf(t, "settings\tseed %d, gravity %v m/s2, half extent %v m\n", r.Settings["seed"], r.Settings["gravity"], r.Settings["half_extent"])
	for _, k := range r.Kinds {
		body := "no body"
		if k.Body != nil {
			body = fmt.Sprintf("mass %v kg, radius %v m", k.Body.Mass, k.Body.Radius)
		}
		fmt.Fprintf(t, "kind %s\t%d entities, %s\n", printable.Text(k.Name), k.Entities, body)
	}
	for _, k := range r.Components {
		fmt.Fprintf(t, "component %s\t%d entities, %d bytes: %s\n", printable.Text(k.Name), k.Entities, k.Bytes, printable.Text(k.Type))
	}
	for _, part := range r.Parts {
		fmt.Fprintf(t, "part %s\t%d bytes before compression\n", printable.Text(part.Name), part.Bytes)
	}
	return t.Flush()
}

// describe returns a line about the recording.
func (i *recordingReport) describe() string {
	closed := "closed"
	if !i.Closed {
		closed = "not closed: its server died or still runs"
	}
	duration := time.Duration(i.Seconds * float64(time.Second)).Round(time.Second)
	return fmt.Sprintf("to tick %d: %v, compared every %d ticks, in format %d, %s", i.LastTick, duration, i.Every, i.Format, closed)
}

// imageListCommand lists images.
type imageListCommand struct {
	Dir  string `arg:"" type:"path" placeholder:"DIR" help:"Folder of images, like the one that serve --image names for games with rooms."`
	JSON bool   `name:"json" help:"Print JSON."`
}

// run lists all files that begin like an image, damaged ones too.
func (c *imageListCommand) run(ctx context.Context, p *program) error {
	all := []*imageReport{}
	err := filepath.WalkDir(c.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !isImage(path) {
			return err
		}
		if r, _ := reportImage(path); r != nil { // its error is in r
			all = append(all, r)
		}
		return ctx.Err()
	})
	if err != nil {
		return usageError("cannot list the images: %w", err)
	}
	if c.JSON {
		return printable.WriteJSON(p.out, all, "  ")
	}
	t := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "file\tsaved\tbytes\ttick\tentities\tsaved by")
	for _, r := range all {
		name, err := filepath.Rel(c.Dir, r.File)
		if err != nil {
			name = r.File
		}
		what := fmt.Sprintf("%d\t%d\t%s", r.Tick, r.Entities, r.saver())
		if r.Error != "" {
			what = "\t\t" + printable.Text(r.Error)
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\n", name, r.Saved.Format(time.DateTime), r.Bytes, what)
	}
	return t.Flush()
}

// isImage reports whether a file begins like an image.
func isImage(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	var head [8]byte
	n, _ := io.ReadFull(file, head[:]) // shorter files are no images
	return world.IsImage(head[:n])
}

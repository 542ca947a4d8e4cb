package host

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/worldd/worldd/internal/atomicfile"
	"github.com/worldd/worldd/internal/printable"
	"github.com/worldd/worldd/internal/regularfile"
	"github.com/worldd/worldd/world"
)

// restoredReport describes in JSON what this program makes of an image.
type restoredReport struct {
	File     string         `json:"file"`
	Written  string         `json:"written,omitempty"`
	Tick     uint64         `json:"tick"`
	Entities int            `json:"entities"`
	Changes  []changeReport `json:"changes"`
	Error    string         `json:"error,omitempty"`
}

type changeReport struct {
	What   string `json:"what"`
	Losing bool   `json:"losing"`
}

// reportRestored describes an image that was restored.
func reportRestored(path string, img *world.Image) *restoredReport {
	r := &restoredReport{File: path, Tick: img.Tick(), Entities: img.Entities(), Changes: []changeReport{}}
	for _, change := range img.Changes() {
		r.Changes = append(r.Changes, changeReport{change.String(), change.Losing})
	}
	return r
}

// printChanges prints a line for each change.
func (r *restoredReport) printChanges(p *program) {
	for _, change := range r.Changes {
		p.printLine("not as in the image: %s", change.What)
	}
}

// imageVerifyCommand checks whether an image can be restored.
type imageVerifyCommand struct {
	File string `arg:"" type:"path" placeholder:"FILE" help:"Image from serve --image."`
	JSON bool   `name:"json" help:"Print JSON, also for an image that cannot be restored."`

	worldFlags
}

func (c *imageVerifyCommand) run(_ context.Context, p *program) error {
	img, g, err := p.restoreFile(c.File, &c.worldFlags, p.beginRun)
	if err != nil {
		if failed, ok := errors.AsType[fileError](err); ok && c.JSON {
			err = errors.Join(printable.WriteJSON(p.out, restoredReport{File: c.File, Changes: []changeReport{}, Error: failed.Error()}, "  "), err)
		}
		return err
	}
	r := reportRestored(c.File, img)
	if p.Rooms == nil && g.Restored != nil { // RestoreRun was called
		for _, line := range g.Restored() {
			r.Changes = append(r.Changes, changeReport{What: line})
		}
	}
	if c.JSON {
		return printable.WriteJSON(p.out, r, "  ")
	}
	r.printChanges(p)
	p.printLine("%s: can be restored: tick %d, %d entities, changes: %d", r.File, r.Tick, r.Entities, len(r.Changes))
	return nil
}

// beginRun begins a run from an image, as serve does.
func (p *program) beginRun(g *Instance, img *world.Image) error {
	if p.Rooms != nil { // the server keeps a room's listing behind the game's Extra
		return g.World.RestoreRun(img)
	}
	return g.RestoreRun(img)
}

// restoreFile restores the program's world from a file.
func (p *program) restoreFile(path string, flags *worldFlags, restore func(*Instance, *world.Image) error) (*world.Image, *Instance, error) {
	o, err := flags.newOptions(p)
	if err != nil {
		return nil, nil, err
	}
	g, err := p.buildInstance(o)
	if err != nil {
		return nil, nil, err
	}
	file, err := regularfile.Open(path)
	if err != nil {
		return nil, nil, usageError("cannot read the image: %w", err)
	}
	defer file.Close()
	img, err := g.World.ReadImage(bufio.NewReaderSize(file, 1<<20))
	if err == nil {
		err = restore(g, img)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, fileError{err})
	}
	return img, g, nil
}

// imageMigrateCommand writes an image of another version as this program would save it.
type imageMigrateCommand struct {
	File string `arg:"" type:"path" placeholder:"FILE" help:"Image from serve --image. It is not changed."`
	Out  string `required:"" type:"path" placeholder:"FILE" help:"Output file; it must not exist."`
	JSON bool   `name:"json" help:"Print JSON."`

	worldFlags
}

func (c *imageMigrateCommand) run(_ context.Context, p *program) error {
	if _, err := os.Lstat(c.Out); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--out: %s exists: name another file", c.Out)
	}
	was, g, err := p.restoreFile(c.File, &c.worldFlags, func(g *Instance, img *world.Image) error { return g.World.Restore(img) })
	if err != nil {
		return err
	}
	var img world.Image
	g.World.TakeImage(&img)
	img.Extra = was.Extra
	out, err := atomicfile.Create(c.Out, 0o644)
	if err != nil {
		return fmt.Errorf("cannot write the image: %w", err)
	}
	defer out.Discard()
	_, err = img.WriteTo(out)
	if err == nil {
		err = out.Seal()
	}
	if err == nil {
		err = atomicfile.Replace(out.Name(), c.Out)
	}
	if err == nil {
		err = atomicfile.SyncDir(c.Out)
	}
	if err != nil {
		return fmt.Errorf("cannot write the image: %w", err)
	}
	r := reportRestored(c.File, was)
	r.Written = c.Out
	if c.JSON {
		return printable.WriteJSON(p.out, r, "  ")
	}
	r.printChanges(p)
	p.printLine("%s written: tick %d, %d entities, changes: %d", r.Written, r.Tick, r.Entities, len(r.Changes))
	return nil
}

// Command effectrender draws an effect for its author: a slice of the field as colours and arrows,
// or particles that the effect carries.
//
//	go -C internal/fieldrender install ./effectrender
//	effectrender FILE -o out.png
//
// FILE is a file, or the name of a shipped effect. The exit status is 1 if the effect is wrong or
// the picture cannot be written, and 2 for a wrong command line; then nothing is written.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/gif"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/atomicfile"
	"github.com/worldd/worldd/internal/commandline"
	"github.com/worldd/worldd/internal/effectfile"
	"github.com/worldd/worldd/internal/fieldrender"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// renderCommand is the command line. Its flags cannot be set in the environment, since each
// describes one picture.
type renderCommand struct {
	File     string   `arg:"" placeholder:"FILE" help:"Effect: a file, or the name of a shipped effect."`
	Output   string   `short:"o" env:"-" required:"" placeholder:"FILE" help:"Output file: .png or, with --animate, .gif. An existing file is replaced."`
	Plane    string   `env:"-" default:"xz" help:"Plane of the slice: xz (from above), xy or zy (${default})."`
	At       *float32 `env:"-" placeholder:"METRES" help:"Position of the slice on the third axis (the middle of the box)."`
	Region   string   `env:"-" placeholder:"A,B,C,D" help:"Region of the slice in metres: from A to C on its first axis, from B to D on its second (the box with a margin)."`
	Time     float32  `env:"-" placeholder:"SECONDS" help:"Time of the picture, or start of an animation (0)."`
	Params   []string `name:"param" env:"-" sep:"none" placeholder:"NAME=VALUE" help:"Set a parameter to a number or \"(x, y, z)\". May be repeated."`
	Mode     string   `env:"-" default:"wind" help:"Meaning of the vectors: wind (m/s) or acceleration (m/s²) (${default})."`
	Theme    string   `env:"-" default:"dark" help:"Colours of the picture: for dark or for light pages (${default})."`
	Animate  bool     `env:"-" help:"Show particles moved by the effect: a .gif is animated, a .png shows six frames."`
	Duration *float32 `env:"-" placeholder:"SECONDS" help:"Time span shown by an animation; below 2.4 is slow motion (2.4)."`

	plane  fieldrender.Plane
	mode   fieldrender.Mode
	theme  fieldrender.Theme
	region []float32
}

// Validate is called by kong.
func (c *renderCommand) Validate() (err error) {
	if c.plane, err = fieldrender.ParsePlane(c.Plane); err != nil {
		return fmt.Errorf("--plane: %w", err)
	}
	if c.theme, err = fieldrender.ParseTheme(c.Theme); err != nil {
		return fmt.Errorf("--theme: %w", err)
	}
	switch c.Mode {
	case "wind":
		c.mode = fieldrender.Wind
	case "acceleration":
		c.mode = fieldrender.Acceleration
	default:
		return fmt.Errorf("--mode: unknown mode %q: want wind or acceleration", c.Mode)
	}
	switch extension := strings.ToLower(filepath.Ext(c.Output)); {
	case c.Output == "":
		return nil // kong reports it as missing
	case extension == ".gif" && !c.Animate:
		return errors.New("--output: a .gif needs --animate; otherwise write a .png")
	case extension != ".gif" && extension != ".png":
		return fmt.Errorf("--output: %s must end in .png or, with --animate, in .gif", c.Output)
	case c.Duration != nil && !c.Animate:
		return errors.New("--duration needs --animate")
	}
	return c.parseRegion()
}

// parseRegion parses the two corners, if the flag is given.
func (c *renderCommand) parseRegion() error {
	if c.Region == "" {
		return nil
	}
	for part := range strings.SplitSeq(c.Region, ",") {
		f, err := strconv.ParseFloat(strings.TrimSpace(part), 32)
		if err != nil {
			break
		}
		c.region = append(c.region, float32(f))
	}
	if len(c.region) != 4 || strings.Count(c.Region, ",") != 3 {
		return fmt.Errorf("--region: %q must be four numbers, as in --region=-10,-5,10,5", c.Region)
	}
	return nil
}

// run writes the picture, reports what it shows, and returns the exit status.
func run(args []string, stdout, stderr io.Writer) (status int) {
	var c renderCommand
	program := commandline.Program{Name: "effectrender", Description: "Draw an effect: a slice, or moving particles.", Variables: "EFFECTRENDER_"}
	parsed, status := commandline.Parse(&c, program, args, stdout, stderr, nil)
	if parsed == nil {
		return status
	}
	source, err := effectfile.Read(c.File)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return commandline.Error
	}
	p, err := field.Compile(source)
	if err != nil {
		fmt.Fprintln(stderr, effectfile.InFile(c.File, err))
		return commandline.Error
	}
	v, err := c.newView(p)
	if err != nil {
		fmt.Fprintf(stderr, "effectrender: %v\n", err)
		return commandline.Usage
	}
	picture, err := c.drawEffect(p, v)
	if err == nil {
		err = writePicture(c.Output, picture)
	}
	switch {
	case errors.Is(err, fieldrender.ErrView):
		status = commandline.Usage
	case err != nil:
		status = commandline.Error
	default:
		fmt.Fprintf(stdout, "%s: %s, %d bytes\n", c.Output, effectfile.Describe(p), len(picture))
		return commandline.OK
	}
	fmt.Fprintf(stderr, "effectrender: %v\n", err)
	return status
}

func writePicture(path string, picture []byte) error {
	if err := atomicfile.Write(path, picture, 0o644); err != nil {
		return fmt.Errorf("cannot write the picture %s: %w", path, err)
	}
	return nil
}

func (c *renderCommand) newView(p *field.Program) (fieldrender.View, error) {
	v := fieldrender.Around(p, c.plane)
	if v.Title == "" {
		v.Title = strings.TrimSuffix(filepath.Base(c.File), filepath.Ext(c.File))
	}
	v.Time, v.Mode, v.Theme = c.Time, c.mode, c.theme
	if c.At != nil {
		v.At = *c.At
	}
	if c.region != nil {
		v.Min, v.Max = [2]float32(c.region[:2]), [2]float32(c.region[2:])
	}
	return v, setParams(v.Params, p, c.Params)
}

func (c *renderCommand) drawEffect(p *field.Program, v fieldrender.View) ([]byte, error) {
	duration := float32(fieldrender.RealTime)
	if c.Duration != nil {
		duration = *c.Duration
	}
	var file bytes.Buffer
	if strings.EqualFold(filepath.Ext(c.Output), ".gif") {
		film, err := fieldrender.Animation(p, v, duration)
		if err != nil {
			return nil, err
		}
		err = gif.EncodeAll(&file, film)
		return file.Bytes(), err
	}
	still, err := c.drawStill(p, v, duration)
	if err != nil {
		return nil, err
	}
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	err = encoder.Encode(&file, still)
	return file.Bytes(), err
}

func (c *renderCommand) drawStill(p *field.Program, v fieldrender.View, duration float32) (*image.Paletted, error) {
	if c.Animate {
		return fieldrender.Sheet(p, v, duration)
	}
	return fieldrender.Still(p, v)
}

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/gif"
	"image/png"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/atomicfile"
	"github.com/worldd/worldd/internal/fieldrender"
	"github.com/worldd/worldd/server/host"
)

// effectRenderCommand draws an effect. Its flags cannot be set in the environment, since each
// describes one picture.
type effectRenderCommand struct {
	File     string   `arg:"" placeholder:"FILE" help:"Effect: a file, or the name of a shipped effect."`
	Output   string   `short:"o" env:"-" required:"" placeholder:"FILE" help:"Output file: .png or, with --animate, .gif. An existing file is replaced."`
	Plane    string   `env:"-" default:"xz" help:"Plane of the slice: xz (from above), xy or zy (${default})."`
	At       *float32 `env:"-" placeholder:"METRES" help:"Position of the slice on the third axis (the middle of the box)."`
	Region   string   `env:"-" placeholder:"A,B,C,D" help:"Region of the slice in metres: from A to C on its first axis, from B to D on its second (the box with a margin)."`
	Time     float32  `env:"-" placeholder:"SECONDS" help:"Time of the picture, or start of an animation (0)."`
	Params   []string `name:"param" env:"-" sep:"none" placeholder:"NAME=VALUE" help:"Set a parameter to a number or \"(x, y, z)\". May be repeated."`
	Mode     string   `env:"-" default:"wind" help:"Meaning of the vectors: wind (m/s) or acceleration (m/s²) (${default})."`
	Animate  bool     `env:"-" help:"Show particles moved by the effect: a .gif is animated, a .png shows six frames."`
	Duration *float32 `env:"-" placeholder:"SECONDS" help:"Time span shown by an animation; below 2.4 is slow motion (2.4)."`

	plane  fieldrender.Plane
	mode   fieldrender.Mode
	region []float32
}

// Validate is called by kong.
func (c *effectRenderCommand) Validate() (err error) {
	if c.plane, err = fieldrender.ParsePlane(c.Plane); err != nil {
		return fmt.Errorf("--plane: %w", err)
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
func (c *effectRenderCommand) parseRegion() error {
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

// Run writes the picture and reports what it shows.
func (c *effectRenderCommand) Run(_ context.Context, std host.Streams) error {
	p, err := compileEffect(c.File)
	if err != nil {
		fmt.Fprintln(std.Err, err)
		return host.ErrFailed
	}
	v, err := c.newView(p)
	if err != nil {
		return host.WrongUsage(fmt.Errorf("worldd: %w", err))
	}
	picture, err := c.drawEffect(p, v)
	switch {
	case errors.Is(err, fieldrender.ErrView):
		return host.WrongUsage(fmt.Errorf("worldd: %w", err))
	case err != nil:
		return err
	}
	if err := atomicfile.Write(c.Output, picture, 0o644); err != nil {
		return fmt.Errorf("cannot write the picture %s: %w", c.Output, err)
	}
	_, err = fmt.Fprintf(std.Out, "%s: %s, %d bytes\n", c.Output, describeEffect(p), len(picture))
	return err
}

func (c *effectRenderCommand) newView(p *field.Program) (fieldrender.View, error) {
	v := fieldrender.Around(p, c.plane)
	if v.Title == "" {
		v.Title = strings.TrimSuffix(filepath.Base(c.File), filepath.Ext(c.File))
	}
	v.Time, v.Mode = c.Time, c.mode
	if c.At != nil {
		v.At = *c.At
	}
	if c.region != nil {
		v.Min, v.Max = [2]float32(c.region[:2]), [2]float32(c.region[2:])
	}
	return v, setParams(v.Params, p, c.Params)
}

func (c *effectRenderCommand) drawEffect(p *field.Program, v fieldrender.View) ([]byte, error) {
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

func (c *effectRenderCommand) drawStill(p *field.Program, v fieldrender.View, duration float32) (*image.Paletted, error) {
	if c.Animate {
		return fieldrender.Sheet(p, v, duration)
	}
	return fieldrender.Still(p, v)
}

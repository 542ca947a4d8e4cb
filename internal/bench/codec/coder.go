package main

import (
	"fmt"
	"slices"

	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/wire"
)

// coder is one direction of one link.
type coder struct {
	codec  *rowcodec.Codec
	anchor rowcodec.Anchor
	past   rowcodec.Past
	base   []row // frames
	older  []row // nil: none
	moving []int // rows expected to change: the player's, and those that changed before the baseline
	still  []int // the other rows
	chunks rowcodec.Chunks
	parts  []piece
	writer bitio.Writer
	packet []byte
}

// piece is one encoded row of a packet.
type piece struct {
	gap   int // unchanged rows skipped before it; 0 for a row expected to change
	chunk rowcodec.Chunk
}

// A packet holds the rows expected to change, then the number of other changed rows, and before
// each of these the number of rows skipped, in Golomb codes of these orders.
const (
	countOrder = 1
	gapOrder   = 5
)

func (c *coder) begin(r *recording, frame, base, older int) {
	c.past = rowcodec.Past{Age: uint32(frame - base)}
	c.base, c.older = r.frames[base], nil
	if older >= 0 {
		c.past.Gap = uint32(base - older)
		c.older = r.frames[older]
	}
	c.split()
}

// split separates the rows that differ between the baseline and the older state. Whether a row
// differs is unpredictable, so the code does not branch on it.
func (c *coder) split() {
	moving, still := slices.Grow(c.moving[:0], cubes)[:cubes], slices.Grow(c.still[:0], cubes)[:cubes]
	base, older := c.base[:cubes], c.older
	if older == nil {
		older = base
	}
	older = older[:cubes]
	n := 1
	moving[0] = 0
	for i := 1; i < cubes; i++ {
		a, b := &base[i], &older[i]
		differ := (a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3]) | (a[4] ^ b[4]) | (a[5] ^ b[5]) | (a[6] ^ b[6])
		moving[n], still[i-n] = i, i
		n += int((uint64(differ) + 1<<32 - 1) >> 32) // 1 if the rows differ
	}
	c.moving, c.still = moving[:n], still[:cubes-n]
}

// remember sets past to the past of row i.
func (c *coder) remember(i int) {
	c.past.Base = c.base[i][:]
	if c.older != nil {
		c.past.Older = c.older[i][:]
	}
	if i > 0 {
		c.past.Anchor = &c.anchor
	}
}

// each calls f with every row in a frame's packet, and the number of unchanged rows skipped
// before it.
func (c *coder) each(r *recording, frame, base, older int, f func(row rowschema.Row, gap int)) {
	c.begin(r, frame, base, older)
	for _, i := range c.moving {
		c.remember(i)
		f(rowschema.Row{Mask: 1, Values: r.row(frame, i)}, 0)
		if i == 0 {
			c.codec.SetAnchor(&c.anchor, 0, r.row(frame, 0), c.past.Base, c.past.Older)
		}
	}
	gap := 0
	for _, i := range c.still {
		now := r.row(frame, i)
		if row(now) == c.base[i] {
			gap++
			continue
		}
		c.remember(i)
		f(rowschema.Row{Mask: 1, Values: now}, gap)
		gap = 0
	}
}

// encode encodes the rows of a frame, for all receivers with the same baselines.
func (c *coder) encode(r *recording, frame, base, older int) {
	c.chunks.Reset()
	c.parts = c.parts[:0]
	c.each(r, frame, base, older, func(row rowschema.Row, gap int) {
		c.parts = append(c.parts, piece{gap, c.chunks.Add(c.codec, row, &c.past)})
	})
}

// assemble returns the packet of one receiver.
func (c *coder) assemble() []byte {
	c.writer.Reset(c.packet[:0])
	expected := c.parts[:len(c.moving)]
	for _, p := range expected {
		c.chunks.Copy(&c.writer, p.chunk)
	}
	others := c.parts[len(expected):]
	c.writer.WriteGolomb(uint32(len(others)), countOrder)
	for _, p := range others {
		c.writer.WriteGolomb(uint32(p.gap), gapOrder)
		c.chunks.Copy(&c.writer, p.chunk)
	}
	c.packet = c.writer.Bytes()
	return c.packet
}

// decode reads a packet into out. It uses only the baselines of r.
func (c *coder) decode(r *recording, frame, base, older int, packet []byte, out []row) error {
	var reader bitio.Reader
	reader.Reset(packet)
	copy(out, r.frames[base])
	read := func(i int) error {
		row := rowschema.Row{Mask: 1, Values: out[i][:]}
		return c.codec.Read(&reader, &row, &c.past)
	}
	c.begin(r, frame, base, older)
	for _, i := range c.moving {
		c.remember(i)
		if err := read(i); err != nil {
			return err
		}
		if i == 0 {
			c.codec.SetAnchor(&c.anchor, 0, out[0][:], c.past.Base, c.past.Older)
		}
	}
	at := 0
	for range reader.ReadGolomb(countOrder, uint32(len(c.still))) {
		at += int(reader.ReadGolomb(gapOrder, cubes))
		if at >= len(c.still) {
			return fmt.Errorf("a gap extends beyond the last row")
		}
		c.remember(c.still[at])
		if err := read(c.still[at]); err != nil {
			return err
		}
		at++
	}
	return wire.ExpectEnd(&reader)
}

package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/schema"
)

const (
	cubes       = 901
	cubeBytes   = 8 * 4
	frameBytes  = cubes * cubeBytes
	packetsHz   = 60
	middle      = 256 * 512 // the number of position 0
	rotationBit = 9
	rowValues   = 7
)

// cube is one object of the data, as a game would declare it. The holder of every cube except
// the player's is the player's cube, to which it may stick.
type cube struct {
	Position    [3]float32 `net:"range=-256..256,step=1/512,predict=linear,parent=Holder"`
	Orientation [4]float32 `net:"quat,bits=9,predict=linear"`
	Interacting bool
	Holder      bulk.Handle `net:"ref"`
}

// row is the quantised state of a cube, in the order of the fields.
type row [rowValues]uint32

// recording holds frames of quantised rows, one per cube.
type recording struct {
	name   string
	frames [][]row
}

func (r *recording) row(frame, cube int) []uint32 { return r.frames[frame][cube][:] }

// load reads a file of frames, unpacked or as .xz.
func load(name string) (*recording, error) {
	data, err := os.ReadFile(name)
	if err == nil && strings.HasSuffix(name, ".xz") {
		data, err = unpack(data)
	}
	if err != nil {
		return nil, err
	}
	if len(data) == 0 || len(data)%frameBytes != 0 {
		return nil, fmt.Errorf("%s: %d bytes are not a whole number of frames of %d bytes", name, len(data), frameBytes)
	}
	r := &recording{name: name}
	for ; len(data) > 0; data = data[frameBytes:] {
		frame := make([]row, cubes)
		for i := range frame {
			if frame[i], err = newRow(data[i*cubeBytes:], i); err != nil {
				return nil, fmt.Errorf("%s: frame %d: %w", name, len(r.frames), err)
			}
		}
		r.frames = append(r.frames, frame)
	}
	return r, nil
}

func unpack(data []byte) ([]byte, error) {
	var out, complaint bytes.Buffer
	xz := exec.Command("xz", "-dc")
	xz.Stdin, xz.Stdout, xz.Stderr = bytes.NewReader(data), &out, &complaint
	if err := xz.Run(); err != nil {
		return nil, fmt.Errorf("xz -dc: %w: %s", err, complaint.String())
	}
	return out.Bytes(), nil
}

// newRow returns the row of a cube's record.
func newRow(data []byte, i int) (row, error) {
	var v [8]int32
	for j := range v {
		v[j] = int32(binary.LittleEndian.Uint32(data[4*j:]))
	}
	for j, most := range [...]int32{3, 511, 511, 511} {
		if v[j] < 0 || v[j] > most {
			return row{}, fmt.Errorf("cube %d: orientation %v", i, v[:4])
		}
	}
	for _, x := range v[4:7] {
		if x < -middle || x > middle {
			return row{}, fmt.Errorf("cube %d: position %v", i, v[4:7])
		}
	}
	holder := bulk.NewHandle(0, 1)
	if i == 0 {
		holder = 0
	}
	return row{
		uint32(v[4] + middle), uint32(v[5] + middle), uint32(v[6] + middle),
		uint32(v[0]) | uint32(v[1])<<2 | uint32(v[2])<<(2+rotationBit) | uint32(v[3])<<(2+2*rotationBit),
		uint32(v[7] & 1), holder.Index(), holder.Generation(),
	}, nil
}

func newSchema() (*schema.Schema, error) {
	s := schema.New()
	schema.Define[cube](s, "cube")
	if err := s.Err(); err != nil {
		return nil, err
	}
	if s.Values() != rowValues {
		return nil, fmt.Errorf("a row has %d values, want %d", s.Values(), rowValues)
	}
	return s, nil
}

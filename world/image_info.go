package world

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// ImageInfo describes an image without the program that saved it.
type ImageInfo struct {
	Format     uint32 // version of the file format
	Program    Program
	Tick       uint64
	Config     Config // fields that no image has are 0
	Entities   int
	Slots      int // entities, holes and retired slots
	Kinds      []ImageKind
	Components []ImageComponent
	Effects    int
	Parts      []ImagePart
	Recording  *RecordingInfo // nil: the image is not at the head of a recording
}

// RecordingInfo describes the part of a recording behind its image.
type RecordingInfo struct {
	Format uint32 // version of the file format
	Every  int    // ticks between two comparisons of a replay
	Last   uint64 // tick after the last step
	Closed bool   // false: its server died or still runs
}

// ImageKind is a kind in an image.
type ImageKind struct {
	Kind
	Entities int
}

// ImageComponent is a component in an image.
type ImageComponent struct {
	Name     string
	Type     string // names and kinds of its fields
	Entities int    // that have it
	Bytes    int64
}

// ImagePart is a part of an image and its size before compression.
type ImagePart struct {
	Name  string
	Bytes int64
}

// ReadImageInfo reads an image or a recording up to the end of r and checks all its sums. It does not check
// whether a world can be restored from it. The error wraps ErrImage, ErrImageVersion, ErrImageWorld or
// ErrRecording, or is r's error. A recording that was not closed is no error.
func ReadImageInfo(r io.Reader) (*ImageInfo, error) {
	from := bufio.NewReaderSize(r, chunkBytes)
	if head, _ := from.Peek(len(recordMagic)); string(head) == recordMagic { // an error is found by reading
		return readRecordingInfo(from)
	}
	info, err := readImageInfo(from)
	if err == nil {
		err = checkEnd(from)
	}
	if err != nil {
		return nil, err
	}
	return info, nil
}

// ReadImageHead reads the beginning of an image alone, and checks its sums only. Of the Image, it gives Tick, Mark and Setup. It
// returns the errors of ReadImageInfo.
func ReadImageHead(r io.Reader) (*Image, error) {
	chunks, err := newChunkReader(bufio.NewReaderSize(r, chunkBytes))
	if err != nil {
		return nil, err
	}
	defer chunks.close()
	if chunks.version > imageVersion {
		return nil, fmt.Errorf("%w: version %d; this program reads 1 to %d", ErrImageVersion, chunks.version, imageVersion)
	}
	d := newImageDecoder(chunks.version, chunks.read, &World{cfg: Config{MaxEntities: maxMaxEntities}})
	d.setup()
	d.img.entities.FirstGeneration = d.u32()
	if d.err != nil {
		return nil, d.err
	}
	return d.img, nil
}

// readRecordingInfo reads a recording up to the end of r.
func readRecordingInfo(r io.Reader) (*ImageInfo, error) {
	reader, err := newRecordingReader(r)
	if err != nil {
		return nil, err
	}
	info, err := readImageInfo(r)
	if err != nil {
		return nil, err
	}
	reader.tick = info.Tick
	if _, err := reader.readParts(fixedParts + len(info.Components)); err != nil {
		return nil, err
	}
	for err == nil {
		_, err = reader.readStep()
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	info.Recording = &RecordingInfo{reader.version, int(reader.every), reader.tick, errors.Is(err, io.EOF)}
	return info, nil
}

// readImageInfo reads an image, up to its last byte.
func readImageInfo(r io.Reader) (info *ImageInfo, err error) {
	err = readContents(r, func(version uint32, read func([]byte) error) (err error) {
		info, err = decodeInfo(version, read)
		return err
	})
	if err != nil {
		return nil, err
	}
	return info, nil
}

// IsImage reports whether a file that begins with head may be an image.
func IsImage(head []byte) bool { return bytes.HasPrefix(head, []byte(imageMagic)) }

// decodeInfo describes the contents of an image of a version. read fills its argument or returns an error.
func decodeInfo(version uint32, read func([]byte) error) (*ImageInfo, error) {
	i := infoDecoder{info: &ImageInfo{Format: version}}
	i.imageDecoder = newImageDecoder(version, func(b []byte) error {
		i.total += int64(len(b))
		return read(b)
	}, &World{cfg: Config{MaxEntities: maxMaxEntities}})
	return i.info, i.decode()
}

// infoDecoder decodes an image for no world.
type infoDecoder struct {
	*imageDecoder
	info  *ImageInfo
	total int64 // bytes read
}

func (i *infoDecoder) decode() error {
	for _, part := range []struct {
		name string
		read func()
	}{
		{"setup", i.setup},
		{"entities", i.entities},
		{"bodies", i.rows},
		{"components", i.components},
		{"effects", i.effects},
		{"volumes", i.volumes},
		{"events and extra", i.rest},
	} {
		before := i.total
		part.read()
		if i.err != nil {
			return i.err
		}
		i.info.Parts = append(i.info.Parts, ImagePart{part.name, i.total - before})
	}
	file, img := i.mapper.file, i.img
	i.info.Program, i.info.Tick, i.info.Config = img.program, img.tick, file.config
	i.info.Entities, i.info.Slots, i.info.Effects = img.Entities(), len(img.entities.Generations), len(img.effects.records)
	counts := i.mapper.countKinds()
	for k, kind := range file.kinds {
		i.info.Kinds = append(i.info.Kinds, ImageKind{kind, counts[k]})
	}
	return nil
}

// components reads all values and keeps none.
func (i *infoDecoder) components() {
	file := i.mapper.file
	if err := i.img.checkRows(file); err != nil {
		i.fail("%w", err)
		return
	}
	for _, c := range file.components {
		tree, err := parseShape(c.text, c.size)
		if err != nil {
			i.fail("its component %q is %s: %w", c.name, c.text, err)
			return
		}
		before := i.total
		count := i.readColumn(&columnSource{name: c.name, shape: tree.shapeOf(), column: -1})
		if i.err != nil {
			return
		}
		i.info.Components = append(i.info.Components, ImageComponent{c.name, tree.text(), count, i.total - before})
	}
}

// Command codec measures the row codec on recorded physics: 901 quantised cubes are
// encoded relative to an earlier frame, decoded, and compared.
//
// The data has the format of the networked physics data compression challenge of 2015:
// frames of 901 records of 8 int32. A record holds the orientation's largest component
// and smallest three (9 bits), the position in 1/512 m, and whether the cube touches the
// player's.
//
//	go -C internal/bench run ./codec -train one.bin.xz,two.bin.xz -test three.bin.xz
//
// File names are relative to internal/bench, in which -C runs the command.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/rowtrain"
	"github.com/worldd/worldd/replication/schema"
)

type result struct {
	Test         string  `json:"test"`
	Age          int     `json:"age"`
	Loss         float64 `json:"loss"`
	Packets      int     `json:"packets"`
	BytesPacket  float64 `json:"bytes_per_packet"`
	LargestBytes int     `json:"largest_packet_bytes"`
	Kbps         float64 `json:"kbps"`
	Rows         float64 `json:"rows_per_packet"`
	EncodeNs     float64 `json:"encode_ns_per_object"`
	FurtherNs    float64 `json:"further_viewer_ns_per_row"`
	DecodeNs     float64 `json:"decode_ns_per_object"`
	DecodeRowNs  float64 `json:"decode_ns_per_row"`
}

func main() {
	train := flag.String("train", "", "comma-separated `files` to train tables on (default: use the default tables)")
	test := flag.String("test", "", "`file` to measure")
	age := flag.Int("age", 6, "`frames` from the baseline to the coded frame")
	apart := flag.Int("apart", 3, "minimum `frames` from the older state to the baseline")
	loss := flag.Float64("loss", 0, "`fraction` of packets lost at random")
	passes := flag.Int("passes", 3, "`times` each frame is coded; the least time counts")
	tables := flag.String("tables", "", "`file` for the trained tables")
	asJSON := flag.Bool("json", false, "print JSON")
	flag.Parse()
	if err := run(*train, *test, *tables, *age, *apart, *passes, *loss, *asJSON); err != nil {
		fmt.Fprintln(os.Stderr, "codec:", err)
		os.Exit(1)
	}
}

func run(train, test, save string, age, apart, passes int, loss float64, asJSON bool) error {
	s, err := newSchema()
	if err != nil {
		return err
	}
	var tables *rowcodec.Tables
	if train != "" {
		var recordings []*recording
		for _, name := range strings.Split(train, ",") {
			r, err := load(name)
			if err != nil {
				return err
			}
			recordings = append(recordings, r)
		}
		tables = rowtrain.Train(s, samples(s, recordings, age, apart))
		if save != "" {
			if err := os.WriteFile(save, tables.Bytes(), 0o644); err != nil {
				return err
			}
		}
	} else {
		tables = rowcodec.DefaultTables()
	}
	if test == "" {
		return nil
	}
	r, err := load(test)
	if err != nil {
		return err
	}
	res, err := measure(rowcodec.New(s, tables), r, newBaselines(len(r.frames), age, apart, loss), passes)
	if err != nil {
		return err
	}
	res.Loss = loss
	if asJSON {
		return json.NewEncoder(os.Stdout).Encode(res)
	}
	fmt.Printf("%s, age %d, loss %g: %.1f kbps at %d Hz, %.1f bytes a packet (largest %d), %.1f rows\n",
		res.Test, res.Age, res.Loss, res.Kbps, packetsHz, res.BytesPacket, res.LargestBytes, res.Rows)
	fmt.Printf("encode %.1f ns an object (first viewer), %.1f ns a row (further viewer), decode %.1f ns an object, %.0f a row\n",
		res.EncodeNs, res.FurtherNs, res.DecodeNs, res.DecodeRowNs)
	return nil
}

// samples yields every row that coding the recordings as packets produces.
func samples(s *schema.Schema, recordings []*recording, age, apart int) func(yield func(rowtrain.Sample) bool) {
	return func(yield func(rowtrain.Sample) bool) {
		c := coder{codec: rowcodec.New(s, rowcodec.Untrained().Tables())}
		for _, r := range recordings {
			b := newBaselines(len(r.frames), age, apart, 0)
			for frame := age; frame < len(r.frames); frame++ {
				base, older := b.of(frame)
				c.each(r, frame, base, older, func(row rowschema.Row, _ int) {
					yield(rowtrain.Sample{Row: row, Past: &c.past})
				})
			}
		}
	}
}

// measure encodes and decodes every frame several times. It adds up the least times, which
// other processes disturb least.
func measure(codec *rowcodec.Codec, r *recording, b *baselines, passes int) (result, error) {
	res := result{Test: r.name, Age: b.age}
	encoder, decoder := coder{codec: codec}, coder{codec: codec}
	out := make([]row, cubes)
	var spent [3]time.Duration
	total, rows := 0, 0
	for frame := b.age; frame < len(r.frames); frame++ {
		base, older := b.of(frame)
		best := [3]time.Duration{1 << 62, 1 << 62, 1 << 62}
		var packet []byte
		for range passes {
			start := time.Now()
			encoder.encode(r, frame, base, older)
			encoded := time.Now()
			packet = encoder.assemble()
			assembled := time.Now()
			err := decoder.decode(r, frame, base, older, packet, out)
			decoded := time.Now()
			if err != nil {
				return res, fmt.Errorf("frame %d: %w", frame, err)
			}
			if !slices.Equal(out, r.frames[frame]) {
				return res, fmt.Errorf("frame %d does not round-trip", frame)
			}
			for i, d := range [...]time.Duration{encoded.Sub(start), assembled.Sub(encoded), decoded.Sub(assembled)} {
				best[i] = min(best[i], d)
			}
		}
		for i, d := range best {
			spent[i] += d
		}
		total += len(packet)
		rows += len(encoder.parts)
		res.Packets++
		res.LargestBytes = max(res.LargestBytes, len(packet))
	}
	objects := float64(res.Packets * cubes)
	res.BytesPacket = float64(total) / float64(res.Packets)
	res.Kbps = res.BytesPacket * 8 * packetsHz / 1000
	res.Rows = float64(rows) / float64(res.Packets)
	res.EncodeNs = float64(spent[0]) / objects
	res.FurtherNs = float64(spent[1]) / float64(rows)
	res.DecodeNs = float64(spent[2]) / objects
	res.DecodeRowNs = float64(spent[2]) / float64(rows)
	return res, nil
}

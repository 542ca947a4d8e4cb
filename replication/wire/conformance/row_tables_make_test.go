package conformance

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/worldd/worldd/internal/rowcodec"
)

// makeTables makes tables that use everything the format has: weights of all sizes,
// several sets, shapes and heads that occur twice, zones along all axes.
func makeTables() []byte {
	r := rand.New(rand.NewPCG(21, 4))
	b := binary.AppendUvarint([]byte("worldd tables 4\n"), 3)
	shape := func(name string) { b = append(append(b, byte(len(name))), name...) }
	for _, names := range [][]string{{"Pf"}, {"PQbf", "VPQfv", "P", "QQqabb"}, {"PQf", "Pf", "PV", "vPaqb", "PQfqvNnNNffnbbffa", "VnPbfqa", "nNb", "nfNnNNfnNfnNnNfNf", "NNNNaaaPv", "Nb"}} {
		b = binary.AppendUvarint(b, uint64(len(names)))
		for _, name := range names {
			shape(name)
		}
		b = appendSet(b, r, names[0] == "PQf")
	}
	zones := []struct {
		shape string
		axis  byte
		low   uint64
		high  uint64
	}{
		{"PQbf", 0, 100_000, 200_000},
		{"PQbf", 1, 7, 9},
		{"VPQfv", 1, 2000, 5000},
		{"Pf", 2, 20_000, 10_000},
		{"PV", 1, 262_339, 262_397},
		{"PQf", 0, 1 << 20, 1 << 31},
		{"P", 2, 1 << 26, 1 << 28},
	}
	b = binary.AppendUvarint(b, uint64(len(zones)))
	for _, z := range zones {
		shape(z.shape)
		b = binary.AppendUvarint(binary.AppendUvarint(append(b, z.axis), z.low), z.high)
	}
	heads := []struct {
		shape          string
		group, symbols byte
	}{{"PQbf", 0, 99}, {"PQbf", 0, 100}, {"PQbf", 0, 100}, {"VPQfv", 0, 100}, {"VPQfv", 1, 2}, {"QQqabb", 1, 4}, {"Pf", 0, 10}}
	b = binary.AppendUvarint(b, uint64(len(heads)))
	for _, h := range heads {
		shape(h.shape)
		b = append(b, h.group, h.symbols)
		for range 48 {
			b = append(b, randomCode(r, int(h.symbols), 4)...)
		}
	}
	return b
}

// randomCode returns the lengths of a code whose most likely symbols are about spread times
// as likely as the others.
func randomCode(r *rand.Rand, symbols int, spread float64) []byte {
	counts := make([]uint64, symbols)
	for i := range counts {
		counts[i] = 1 + uint64(1000*r.ExpFloat64()*spread)
	}
	return rowcodec.CodeLengths(counts)
}

// cancelling are weights of positions. The weights cancel if the parent is at rest, because
// the row's own motion and the mismatch are then equal. zeroing is a weight of the parent's
// turn with which some rotations are predicted to be 0.
var cancelling = [4]int64{-4095, 0, 4094, 0}

const zeroing = -1024

// appendSet appends random weights and codes. A crafted set has the weights above.
func appendSet(b []byte, r *rand.Rand, crafted bool) []byte {
	weight := func(usual int64) {
		w := r.Int64N(2*usual+1) - usual
		switch r.IntN(12) {
		case 0:
			w = r.Int64N(2*rowcodec.MaxWeight+1) - rowcodec.MaxWeight
		case 1:
			w = rowcodec.MaxWeight * (1 - 2*r.Int64N(2))
		}
		b = binary.AppendVarint(b, w)
	}
	for i := range 4 * 4 * 5 {
		zone, attached, class := i/20, i/5%4, i%5
		for range 3 {
			if crafted && zone > 0 && attached == 3 && class == 4 {
				for _, w := range cancelling {
					b = binary.AppendVarint(b, w)
				}
				continue
			}
			for range 4 {
				weight(300)
			}
		}
		if crafted && zone == 1 && attached == 3 && class == 0 {
			b = append(binary.AppendVarint(append(b, 0), zeroing), 0)
			continue
		}
		for range 3 {
			weight(300)
		}
	}
	for range 8 * 4 * 5 {
		for range 12 {
			w := r.Int64N(61) - 20
			b = binary.AppendVarint(b, w)
		}
	}
	for range 8 * 32 {
		b = append(b, randomCode(r, 43, 1)...)
	}
	return b
}

package main

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowtrain"
)

// drift writes frames in which one cube in ten moves, and returns the file's name.
func drift(t *testing.T, frames int) string {
	r := rand.New(rand.NewPCG(uint64(frames), 0))
	var data []byte
	for frame := range frames {
		for i := range cubes {
			v := [8]int32{3, 255, 256, 255, int32(i * 100), int32(-i * 100), 105, int32(i & 1)}
			if i%10 == 0 {
				v[1] += int32(frame * 3)
				v[4] += int32(frame*i/9) + r.Int32N(3)
			}
			for _, x := range v {
				data = binary.LittleEndian.AppendUint32(data, uint32(x))
			}
		}
	}
	name := filepath.Join(t.TempDir(), "drift.bin")
	require.NoError(t, os.WriteFile(name, data, 0o600))
	return name
}

func TestMeasure(t *testing.T) {
	r := must.Get(load(drift(t, 16)))
	require.Len(t, r.frames, 16)
	s := must.Get(newSchema())
	trained := rowtrain.Train(s, samples(s, []*recording{r}, 6, 3))
	for _, loss := range []float64{0, 0.3} {
		plain := must.Get(measure(rowcodec.New(s, rowcodec.Untrained().Tables()), r, newBaselines(16, 6, 3, loss), 1))
		taught := must.Get(measure(rowcodec.New(s, trained), r, newBaselines(16, 6, 3, loss), 1))
		require.Equal(t, 10, taught.Packets)
		require.Less(t, taught.BytesPacket, plain.BytesPacket)
		require.InDelta(t, 91, taught.Rows, 2, "moving cubes and the player")
	}
}

func TestBaselinesAreReceivedFrames(t *testing.T) {
	b := newBaselines(500, 6, 3, 0.4)
	alone := 0
	for frame := 6; frame < 500; frame++ {
		base, older := b.of(frame)
		require.LessOrEqual(t, base, frame-6)
		require.True(t, b.got[base])
		for i := base + 1; i <= frame-6; i++ {
			require.False(t, b.got[i], "frame %d is newer", i)
		}
		if older < 0 {
			alone++
			continue
		}
		require.True(t, b.got[older])
		require.LessOrEqual(t, older, base-3)
		require.GreaterOrEqual(t, older, base-oldestGap)
	}
	require.Less(t, alone, 40)
}

func TestLoadRejects(t *testing.T) {
	name := drift(t, 1)
	data := must.Get(os.ReadFile(name))
	for what, change := range map[string]func(b []byte) []byte{
		"cut":         func(b []byte) []byte { return b[:len(b)-1] },
		"orientation": func(b []byte) []byte { b[5]++; b[5]++; return b },
		"position":    func(b []byte) []byte { b[19] = 1; return b },
		"empty":       func([]byte) []byte { return nil },
	} {
		require.NoError(t, os.WriteFile(name, change(append([]byte(nil), data...)), 0o600))
		_, err := load(name)
		require.ErrorContains(t, err, "drift.bin", what)
	}
}

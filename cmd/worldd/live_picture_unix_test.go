//go:build unix

package main

import (
	"bytes"
	_ "embed"
	goflag "flag"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/browsertest"
	"github.com/worldd/worldd/internal/must"
)

var drawLive = goflag.Bool("draw-live", false, "write pictures of the live page for the README")

// livePose prepares the live page for its picture.
//
//go:embed testdata/live_pose.js
var livePose string

// pictures is the folder of the README's pictures of the live page.
const pictures = "../../internal/admin"

var liveViews = []struct {
	file string
	view browsertest.View
}{
	{"live-light.png", browsertest.View{Width: 1280, Height: 800}},
	{"live-dark.png", browsertest.View{Width: 1280, Height: 800, Dark: true}},
}

// TestLivePictures: the README's pictures of the live page exist in the sizes in which they
// were taken. With -draw-live Chromium takes them.
func TestLivePictures(t *testing.T) {
	if *drawLive {
		drawLivePictures(t)
	}
	for _, p := range liveViews {
		text := must.Get(os.ReadFile(filepath.Join(pictures, p.file)))
		require.Less(t, len(text), 150_000, p.file)
		c, format, err := image.DecodeConfig(bytes.NewReader(text))
		require.NoError(t, err)
		require.Equal(t, "png", format)
		require.Equal(t, [2]int{p.view.Width, p.view.Height}, [2]int{c.Width, c.Height}, p.file)
	}
}

func drawLivePictures(t *testing.T) {
	admin := serveLive(t)
	browsertest.Each(t, func(t *testing.T, b browsertest.Browser) {
		if b.Name != "chromium" {
			return
		}
		for _, p := range liveViews {
			site := posedSite(t, admin)
			taken := must.Get(png.Decode(bytes.NewReader(b.Picture(t, site, "/live", p.view))))
			var out bytes.Buffer
			require.NoError(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, paletted(taken)))
			require.NoError(t, os.WriteFile(filepath.Join(pictures, p.file), out.Bytes(), 0o644))
			t.Logf("%s: %d bytes", p.file, out.Len())
		}
	})
}

// posedSite serves a live page, which counts as loaded once it is posed.
func posedSite(t *testing.T, admin string) *browsertest.Site {
	var once sync.Once
	posed := make(chan struct{})
	pages := liveHandler(admin, livePose, `<script async src="/wait.js"></script>`)
	mux := http.NewServeMux()
	mux.Handle("/", pages)
	mux.HandleFunc("POST /posed", func(http.ResponseWriter, *http.Request) { once.Do(func() { close(posed) }) })
	mux.HandleFunc("GET /wait.js", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-posed:
		case <-r.Context().Done():
		}
		w.Header().Set("Content-Type", "text/javascript")
	})
	return browsertest.NewSite(t, mux)
}

// paletted reduces a picture to at most 256 colours, the most frequent ones that differ
// visibly, which makes its PNG small.
func paletted(m image.Image) image.Image {
	count := map[color.RGBA]int{}
	b := m.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			count[color.RGBAModel.Convert(m.At(x, y)).(color.RGBA)]++
		}
	}
	var palette color.Palette
	for _, c := range slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int { return count[b] - count[a] }) {
		near := func(o color.Color) bool {
			d := func(a, b uint8) bool { return max(a, b)-min(a, b) < 10 }
			r := o.(color.RGBA)
			return d(c.R, r.R) && d(c.G, r.G) && d(c.B, r.B)
		}
		if len(palette) < 256 && (len(palette) < 12 || !slices.ContainsFunc(palette, near)) {
			palette = append(palette, c)
		}
	}
	out := image.NewPaletted(b, palette)
	draw.Draw(out, b, m, b.Min, draw.Src)
	return out
}

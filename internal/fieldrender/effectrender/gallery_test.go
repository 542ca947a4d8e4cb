package main

import (
	"bytes"
	goflag "flag"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/commandline"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/shorttest"
)

var drawGallery = goflag.Bool("draw", false, "draw the pictures of the shipped effects, and rewrite the gallery in field's README")

// The gallery's directory, and its delimiters in the README.
const (
	fieldFolder    = "../../../field/"
	pictureFolder  = "pictures/"
	galleryBegins  = "<!-- gallery: go -C internal/fieldrender test ./effectrender -run Gallery -draw -->\n"
	galleryEnds    = "<!-- end of gallery -->\n"
	mostPictureLen = 60_000
)

// gallery lists the pictures of shipped effects: a still and an animation each, in both themes.
var gallery = map[string][2][]string{
	"explosion": {
		{"--plane", "xy", "--mode", "acceleration"},
		{"--plane", "xy", "--mode", "acceleration", "--animate", "--duration", "0.4"},
	},
	"gust": {
		{"--at", "4", "--time", "3"},
		{"--at", "4", "--animate", "--duration", "6"},
	},
	"storm_cell": {
		{"--plane", "xy"},
		{"--at", "8", "--animate", "--duration", "4"},
	},
	"updraft": {
		{"--plane", "xy", "--region=-12,-2,12,34"},
		{"--plane", "xy", "--region=-12,-2,12,34", "--param", "depth=1", "--animate", "--duration", "6"},
	},
	"whirl": {
		{"--at", "10"},
		{"--at", "10", "--animate"},
	},
	"wind": {
		{"--param", "eddies=1"},
		{"--param", "eddies=1", "--animate", "--duration", "8"},
	},
}

// TestGallery keeps field's README up to date: it shows all shipped effects, with the
// pictures that its commands produce today.
func TestGallery(t *testing.T) {
	shorttest.Skip(t, "a dozen pictures are slow under the race detector")
	var text strings.Builder
	for _, name := range field.ShippedNames() {
		views, listed := gallery[name]
		require.True(t, listed, "how is %s looked at?", name)
		source, _ := field.Shipped(name)
		fmt.Fprintf(&text, "### %s\n\n```\n%s```\n", name, source)
		for i, suffix := range []string{"", "_motion"} {
			picture, light := name+suffix+".png", name+suffix+"_light.png"
			fmt.Fprintf(&text, "\n    effectrender %s -o %s %s\n\n", name, picture, strings.Join(views[i], " "))
			fmt.Fprintf(&text, "<picture>\n  <source media=\"(prefers-color-scheme: dark)\" srcset=\"%s\">\n  <img src=\"%s\" alt=\"%s\">\n</picture>\n",
				pictureFolder+picture, pictureFolder+light, alt(name, i))
			checkPicture(t, name, picture, views[i])
			checkPicture(t, name, light, append(views[i], "--theme", "light"))
		}
		text.WriteString("\n")
	}
	readme := contents(t, fieldFolder+"README.md")
	before, rest, begun := strings.Cut(readme, galleryBegins)
	_, after, ended := strings.Cut(rest, galleryEnds)
	require.True(t, begun && ended, "the README has a place for the gallery")
	want := before + galleryBegins + "\n" + text.String() + galleryEnds + after
	if *drawGallery {
		require.NoError(t, os.WriteFile(fieldFolder+"README.md", []byte(want), 0o644))
		return
	}
	require.True(t, readme == want, "the gallery in field/README.md is stale: go -C internal/fieldrender test ./effectrender -run Gallery -draw")
}

// alt describes a picture for people who cannot see it.
func alt(name string, view int) string {
	return fmt.Sprintf([]string{"A slice of %s: its strength as colours, its direction as arrows", "Six moments of particles that %s carries"}[view], name)
}

// checkPicture draws a picture and compares it with the repository's.
func checkPicture(t *testing.T, name, picture string, flags []string) {
	t.Helper()
	drawn := filepath.Join(t.TempDir(), picture)
	status, _, err := effectrender(t, append([]string{name, "-o", drawn}, flags...)...)
	require.Equal(t, commandline.OK, status, "%s", err)
	file := fieldFolder + pictureFolder + picture
	if *drawGallery {
		require.NoError(t, os.WriteFile(file, []byte(contents(t, drawn)), 0o644))
	}
	kept := contents(t, file)
	require.Less(t, len(kept), mostPictureLen, "%s", picture)
	require.True(t, samePixels(t, kept, contents(t, drawn)), "%s is stale: go -C internal/fieldrender test ./effectrender -run Gallery -draw", picture)
}

// samePixels reports whether two pictures have the same pixels, with any compression.
func samePixels(t *testing.T, a, b string) bool {
	t.Helper()
	pixels := func(file string) *image.Paletted {
		return must.Get(png.Decode(strings.NewReader(file))).(*image.Paletted)
	}
	x, y := pixels(a), pixels(b)
	return x.Rect == y.Rect && bytes.Equal(x.Pix, y.Pix) && fmt.Sprint(x.Palette) == fmt.Sprint(y.Palette)
}

func contents(t *testing.T, path string) string {
	t.Helper()
	return string(must.Get(os.ReadFile(path)))
}

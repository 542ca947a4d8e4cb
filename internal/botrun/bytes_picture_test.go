package botrun_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/botrun"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/loadtest/bot"
	"github.com/worldd/worldd/loadtest/rig"
)

var drawBytes = flag.Bool("draw", false, "write bytes.svg, a picture in the README")

// The picture: bytes that a client of the storm receives in a second, in virtual time.
const (
	pictureBots    = 10
	pictureSeconds = 12
	pictureStep    = 500 * time.Millisecond
	pictureWidth   = 880
	pictureHeight  = 240
	pictureBytes   = 20_000 // at the top of the picture
)

// lightColors replaces the colors of the picture on light pages.
const lightColors = `<style>@media (prefers-color-scheme: light) {
[fill="#10151c"] { fill: #f6f8fa } [stroke="#2a3442"] { stroke: #d3dbe4 } [fill="#9aa7b8"] { fill: #3a4653 }
[stroke="#ff9f43"] { stroke: #c2620a } [fill="#ff9f43"] { fill: #b45309 }
[stroke="#4fd1a5"] { stroke: #12805c } [fill="#4fd1a5"] { fill: #12805c }
}</style>
`

// TestBytesPicture keeps the README's picture up to date.
func TestBytesPicture(t *testing.T) {
	racetest.SkipUnchecked(t)
	ordinary, simulate := receivedBytes(t, true), receivedBytes(t, false)
	got := drawBytesPicture(ordinary, simulate)
	if *drawBytes {
		require.NoError(t, os.WriteFile("bytes.svg", []byte(got), 0o644))
	}
	want := must.Get(os.ReadFile("bytes.svg"))
	require.True(t, got == string(want), "bytes.svg is not what clients receive: draw it with -draw")
}

// receivedBytes returns the bytes per client and second in each pictureStep.
func receivedBytes(t *testing.T, ordinary bool) (rates []int) {
	s := newBotWorld(t, "storm", rig.Link{Delay: 5 * time.Millisecond, Jitter: 2 * time.Millisecond})
	s.join(pictureBots, botrun.Config{Scenario: bot.Roam, Ordinary: ordinary, Bots: pictureBots, AreaMetres: 90},
		playFrame)
	before := uint64(0)
	for range pictureSeconds * int(time.Second/pictureStep) {
		require.NoError(t, s.RunFor(pictureStep))
		sum := uint64(0)
		for _, b := range s.bots {
			sum += b.Client().Stats().BytesReceived
		}
		rates = append(rates, int((sum-before)*uint64(time.Second/pictureStep)/pictureBots))
		before = sum
	}
	return rates
}

func drawBytesPicture(ordinary, simulate []int) string {
	const left, top, bottom = 56, 16, 28
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13">`+"\n", pictureWidth, pictureHeight)
	b.WriteString(lightColors)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#10151c"/>`+"\n", pictureWidth, pictureHeight)
	y := func(rate int) int {
		return top + (pictureHeight-top-bottom)*(pictureBytes-min(rate, pictureBytes))/pictureBytes
	}
	x := func(step int) int { return left + (pictureWidth-left-16)*step/(len(ordinary)-1) }
	for rate := 0; rate <= pictureBytes; rate += 5_000 {
		fmt.Fprintf(&b, `<path d="M%d %dH%d" stroke="#2a3442"/>`+"\n", left, y(rate), x(len(ordinary)-1))
		fmt.Fprintf(&b, `<text x="%d" y="%d" fill="#9aa7b8" text-anchor="end">%d kB/s</text>`+"\n", left-4, y(rate)+4, rate/1000)
	}
	for _, line := range []struct {
		rates       []int
		color, name string
	}{{ordinary, "#ff9f43", "a row for each change"}, {simulate, "#4fd1a5", "exact bodies computed by the client"}} {
		points := ""
		for i, rate := range line.rates {
			points += fmt.Sprintf("%d,%d ", x(i), y(rate))
		}
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.TrimSpace(points), line.color)
		middle := len(line.rates) / 2
		fmt.Fprintf(&b, `<text x="%d" y="%d" fill="%s">%s</text>`+"\n", x(middle), y(line.rates[middle])-12, line.color, line.name)
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" fill="#9aa7b8">%d s in the storm, one of %d clients; all join in the first second</text>`+"\n", left, pictureHeight-8, pictureSeconds, pictureBots)
	b.WriteString("</svg>\n")
	return b.String()
}

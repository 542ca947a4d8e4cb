//go:build unix

package page

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/browsertest"
)

// valuesScript asks the first plot for values by keys and by the pointer.
const valuesScript = `<script src="/browsertest.js"></script><script type="module">
const svg = document.querySelector('svg'), out = svg.nextElementSibling, said = []
const say = () => said.push(out.textContent + ' ' + svg.querySelectorAll('.rule, .shown').length)
const press = (key) => (svg.dispatchEvent(new KeyboardEvent('keydown', { key })), say())
svg.focus()
for (const key of ['ArrowRight', 'ArrowRight', 'End', 'ArrowRight', 'ArrowLeft', 'Home', 'Tab']) press(key)
const box = svg.getBoundingClientRect()
svg.dispatchEvent(new PointerEvent('pointermove', { clientX: box.right, clientY: box.top + 20 }))
say()
svg.dispatchEvent(new PointerEvent('pointerleave'))
say()
browsertest.report({ said, focused: document.activeElement === svg })
</script></body>`

// The plots show the values of a second, to the keyboard too.
func TestPlotsShowValues(t *testing.T) {
	html := strings.Replace(render(t, sample(4), About{}), "</body>", valuesScript, 1)
	browsertest.Each(t, func(t *testing.T, b browsertest.Browser) {
		site := browsertest.NewSite(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write([]byte(html))
		}))
		var got struct {
			Said    []string
			Focused bool
		}
		require.NoError(t, json.Unmarshal(b.Open(t, site, "/").Next(), &got))
		require.True(t, got.Focused)
		first, second, third, last := got.Said[0], got.Said[1], got.Said[4], got.Said[2]
		require.Regexp(t, `^1.00 s: .+ · .+ [23]$`, first, "the values of all lines, a rule and their dots")
		require.Regexp(t, `^2.00 s: `, second)
		require.Regexp(t, `^3.00 s: `, third)
		require.Regexp(t, `^4.00 s: `, last)
		require.Equal(t, []string{first, second, last, last, third, first, first, last, " 0"}, got.Said)
	})
}

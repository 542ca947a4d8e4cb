package printable_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/printable"
)

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "",
		"plain text, Grüße, 世界 🎈": "plain text, Grüße, 世界 🎈",
		"\x1b[2J\x07\n\r\t\x00":   `\u001b[2J\u0007\n\r\t\u0000`,
		"\u009b31m\x7f":           `\u009b31m\u007f`,
		"a\u202eb\u2066c\u200d":   `a\u202eb\u2066c\u200d`,
		"\U000e0001":              `\udb40\udc01`,
		"\xff\xc3":                `\ufffd\ufffd`,
		`C:\new`:                  `C:\new`,
	} {
		require.Equal(t, want, printable.Text(text))
	}
}

// Lines and WriteJSON keep line ends and values.
func TestLines(t *testing.T) {
	require.Equal(t, "a\nb", printable.Lines("a\nb"))
	require.Equal(t, "\\u001b[2J\n\n  x\\u202e\n", printable.Lines("\x1b[2J\n\n  x\u202e\n"))
	type report struct{ Name string }
	for _, r := range []report{{"ann"}, {"\x1b[2J\a\r\n\u202e\u200b\u009b<\\"}} {
		var text strings.Builder
		require.NoError(t, printable.WriteJSON(&text, r, "  "))
		require.NotContains(t, strings.TrimSuffix(text.String(), "\n"), "\u202e")
		require.Equal(t, 3, strings.Count(text.String(), "\n"), "lines of the JSON alone")
		var back report
		require.NoError(t, json.Unmarshal([]byte(text.String()), &back))
		require.Equal(t, r, back)
	}
	require.Error(t, printable.WriteJSON(&strings.Builder{}, func() {}, ""))
}

// For any text, the result is printable and does not change again. It decodes to the text,
// unless that had backslashes or was not UTF-8. JSON keeps its value.
func FuzzText(f *testing.F) {
	for _, seed := range []string{"", "ann", "\x1b]0;title\x07", "a\nb", "\u202egnp.exe", "\U000e0001\\", "\xf0\x9f"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		safe := printable.Text(text)
		for _, r := range safe {
			require.True(t, unicode.IsPrint(r) && r != unicode.ReplacementChar, "%q", safe)
		}
		require.Equal(t, safe, printable.Text(safe))
		valid := strings.ToValidUTF8(text, "")
		if valid == text && !strings.ContainsAny(text, "\\\uFFFD") {
			var back string
			require.NoError(t, json.Unmarshal([]byte(`"`+strings.ReplaceAll(safe, `"`, `\"`)+`"`), &back), strconv.Quote(safe))
			require.Equal(t, text, back)
		}
		encoded := must.Get(json.Marshal(text))
		var was, is string
		require.NoError(t, json.Unmarshal(encoded, &was))
		require.NoError(t, json.Unmarshal([]byte(printable.Text(string(encoded))), &is))
		require.Equal(t, was, is)
	})
}

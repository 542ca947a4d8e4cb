package schema_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/rowtest"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

type profile struct {
	Level int16  `net:"bits=10"`
	Name  string `net:"max=8"`
	Slots [2]struct {
		Label string
		Count uint8
	} `net:"max=5"`
	Secret []byte `net:"max=3,owner"`
	Cache  string `net:"-"`
}

type sign struct {
	Text string `net:"max=6"`
}

func profileSchema(t testing.TB) *schema.Schema {
	s := schema.New()
	schema.Define[rowtest.Empty](s, "empty")
	schema.Define[profile](s, "profile")
	schema.Define[sign](s, "sign")
	require.NoError(t, s.Err())
	return s
}

func TestTextFieldsOfASchema(t *testing.T) {
	s := profileSchema(t)
	require.True(t, strings.HasSuffix(s.Text(), `
component empty
component profile
Level int 10
Slots[0].Count uint 8
Slots[1].Count uint 8
Name string 8
Slots[0].Label string 5
Slots[1].Label string 5
Secret bytes 3 owner
component sign
Text string 6
input raw
`), s.Text())
	require.Equal(t, 3, s.Values(), "texts are not part of a row")
	require.Zero(t, rowschema.New(s).OwnedMask(), "so a row is the same for everybody")
	fields := rowschema.New(s).TextFields()
	require.Len(t, fields, 5)
	for i, want := range []schema.TextField{
		{Component: 1, Path: "Name", Max: 8},
		{Component: 1, Path: "Slots[0].Label", Max: 5},
		{Component: 1, Path: "Slots[1].Label", Max: 5},
		{Component: 1, Path: "Secret", Max: 3, Bytes: true, Owner: true},
		{Component: 2, Path: "Text", Max: 6},
	} {
		got := fields[i]
		require.Equal(t, want, schema.TextField{Component: got.Component, Path: got.Path, Max: got.Max, Bytes: got.Bytes, Owner: got.Owner})
	}
	for component, want := range [][2]int{{0, 0}, {0, 4}, {4, 5}} {
		first, end := rowschema.New(s).Component(component).TextFields()
		require.Equal(t, want, [2]int{first, end})
	}
}

// A row and its texts restore the struct together, and leave each other's fields alone.
func TestTextsRoundTrip(t *testing.T) {
	s := profileSchema(t)
	in := profile{Level: 7, Name: "Ada", Secret: []byte{0xff, 0}, Cache: "kept"}
	in.Slots[0].Label, in.Slots[1].Label = "häut", ""
	in.Slots[1].Count = 9
	texts := make([]string, 5)
	rowschema.New(s).Component(1).UpdateTexts(&in, texts)
	require.Equal(t, []string{"Ada", "häut", "", "\xff\x00", ""}, texts)
	for _, c := range []struct {
		mask  uint32
		owner bool
		bytes string
		want  []string
	}{
		{7, true, "\x03Ada\x05häut\x00\x02\xff\x00\x00", texts},
		{7, false, "\x03Ada\x05häut\x00\x00", []string{"Ada", "häut", "", "", ""}},
		{2, true, "\x03Ada\x05häut\x00\x02\xff\x00", texts},
		{4, false, "\x00", make([]string, 5)},
		{1, true, "", make([]string, 5)},
	} {
		b := rowschema.New(s).AppendTexts([]byte("before"), c.mask, c.owner, texts)
		require.Equal(t, "before"+c.bytes, string(b))
		got := []string{"old", "old", "old", "old", "old"}
		require.NoError(t, rowschema.New(s).ReadTexts([]byte(c.bytes), c.mask, c.owner, got))
		require.Equal(t, c.want, got)
	}

	out := profile{Cache: "kept", Secret: []byte("own")}
	row := make([]uint32, 3)
	rowschema.New(s).Component(1).Quantise(&in, row)
	rowschema.New(s).Component(1).Restore(row, &out)
	require.Empty(t, out.Name)
	rowschema.New(s).Component(1).SetTexts(false, texts, &out)
	require.Equal(t, []byte("own"), out.Secret, "for owners")
	rowschema.New(s).Component(1).SetTexts(true, texts, &out)
	require.Equal(t, in, out)
	out.Secret[0] = 1
	require.Equal(t, "\xff\x00", texts[3], "a copy")
	again := out
	rowschema.New(s).Component(1).SetTexts(true, make([]string, 5), &out)
	require.Nil(t, out.Secret)
	rowschema.New(s).Component(1).SetTexts(true, nil, &again)
	require.Equal(t, out, again)
}

func TestTextIsCutAndRepaired(t *testing.T) {
	s := profileSchema(t)
	fields, texts := rowschema.New(s).TextFields(), make([]string, 5)
	name := func(p *profile) string {
		rowschema.New(s).Component(1).UpdateTexts(p, texts)
		return texts[0]
	}
	for in, want := range map[string]string{
		"12345678":                       "12345678",
		"123456789":                      "12345678",
		"1234567ä":                       "1234567", // 9 bytes, and a character that does not fit
		"123456ä":                        "123456ä",
		"12345€€":                        "12345€",
		"a\xffb":                         "a\ufffdb",
		"\xff\xfe\xfdab":                 "\ufffdab", // one U+FFFD for a run
		strings.Repeat("\xff", 99):       "\ufffd",
		strings.Repeat("\xff", 99) + "x": "\ufffdx",
		"123456\xff":                     "123456", // U+FFFD takes 3 bytes
		"\xf0\x9f\x98\x80\xf0\x9f":       "😀\ufffd",
		"😀😀😀":                            "😀😀",
	} {
		p := profile{Name: in}
		got := name(&p)
		require.Equal(t, want, got, "%q", in)
		require.NoError(t, rowschema.CheckText(&fields[0], got))
	}
	p := profile{Secret: []byte("\xff\xff\xff\xff")}
	rowschema.New(s).Component(1).UpdateTexts(&p, texts)
	require.Equal(t, "\xff\xff\xff", texts[3])
	rapid.Check(t, func(t *rapid.T) {
		in := string(rapid.SliceOf(rapid.Byte()).Draw(t, "in"))
		p := profile{Name: in}
		got := name(&p)
		require.NoError(t, rowschema.CheckText(&fields[0], got))
		require.True(t, strings.HasPrefix(strings.ToValidUTF8(in, "\ufffd"), got))
	})
}

func TestReadTextsRefuses(t *testing.T) {
	s := profileSchema(t)
	texts := make([]string, 5)
	for name, c := range map[string]struct {
		bytes string
		ok    bool
	}{
		"longest":         {"\x06abcdef", true},
		"one more":        {"\x07abcdefg", false},
		"not UTF-8":       {"\x02a\xff", false},
		"half a rune":     {"\x01\xc3", false},
		"a zero byte":     {"\x01\x00", true},
		"cut off":         {"\x03ab", false},
		"nothing":         {"", false},
		"a byte too many": {"\x01ab", false},
		"long length":     {"\x81\x00a", false},
		"huge length":     {"\xff\xff\xff\xff\x0f", false},
	} {
		err := rowschema.New(s).ReadTexts([]byte(c.bytes), 4, true, texts)
		if c.ok {
			require.NoError(t, err, name)
		} else {
			require.ErrorIs(t, err, &wire.Error{Code: wire.BadMessage}, name)
		}
	}
	require.NoError(t, rowschema.New(s).ReadTexts([]byte("\x00\x00\x00\x01\xff"), 2, true, texts), "bytes need not be UTF-8")
}

func TestTextFormat(t *testing.T) {
	s := profileSchema(t)
	row := rowschema.Row{Mask: 2, Owned: true, Values: make([]uint32, s.Values())}
	got := rowschema.New(s).Format(row, []string{"a\"b\n", "", "", "\x00\xff", ""})
	require.Contains(t, got, `Name="a\"b\n"`)
	require.Contains(t, got, "Secret=00ff")
}

func TestUpdateTexts(t *testing.T) {
	type sign struct {
		Level uint8
		Text  string `net:"max=4"`
		Raw   []byte `net:"max=3"`
	}
	s := schema.New()
	schema.Define[sign](s, "first")
	require.NoError(t, s.Err())
	type second sign
	schema.Define[second](s, "second")
	require.NoError(t, s.Err())
	require.EqualValues(t, 3, rowschema.New(s).TextMask())
	texts := make([]string, 4)
	for _, c := range []struct {
		v       second
		changed uint64
		want    []string
	}{
		{second{}, 0, []string{"", ""}},
		{second{Text: "abcd", Raw: []byte{}}, 1, []string{"abcd", ""}},
		{second{Text: "abcdef", Raw: []byte("xyz")}, 2, []string{"abcd", "xyz"}},
		{second{Text: "ab\xff", Raw: []byte("xyzzy")}, 1, []string{"ab", "xyz"}},
		{second{Text: "ab\xff", Raw: []byte("xyzzy")}, 0, []string{"ab", "xyz"}},
		{second{}, 3, []string{"", ""}},
	} {
		require.Equal(t, c.changed, rowschema.New(s).Component(1).UpdateTexts(&c.v, texts), c.v)
		require.Equal(t, append([]string{"", ""}, c.want...), texts)
	}
	v := second{Text: "abcd", Raw: []byte("xyz")}
	rowschema.New(s).Component(1).UpdateTexts(&v, texts)
	component := rowschema.New(s).Component(1)
	require.Zero(t, testing.AllocsPerRun(100, func() { component.UpdateTexts(&v, texts) }))
}

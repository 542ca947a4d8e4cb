package world

import (
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
)

type oddTypes struct {
	A bool
	B struct {
		C complex128
		_ [3]uint16
		D [2][2]int8
	}
	E bulk.Handle
	F []byte
	G int
	H uint
	I [0]uint64
	J string
	K complex64
	L struct {
		M int32
		N struct{}
	}
	O float32
	_ struct{}
}

// A type is known again by the text of its shape: its fields, offsets and sizes.
func TestShapeTextIsParsed(t *testing.T) {
	for _, of := range []reflect.Type{
		reflect.TypeFor[oddTypes](), reflect.TypeFor[Volume](), reflect.TypeFor[struct{}](), reflect.TypeFor[[3]fuzzed](), reflect.TypeFor[uint8](),
		reflect.TypeFor[timerCall[struct{ X [5]uint16 }]](), reflect.TypeFor[string](),
		reflect.TypeFor[struct {
			A int64
			B [0]int8
		}](),
	} {
		own := newShape(of)
		for _, size := range []uintptr{own.size, 0} {
			n, err := parseShape(own.text, size)
			require.NoError(t, err, own.text)
			require.Equal(t, of.Size(), n.size, own.text)
			require.True(t, n.sameFields(nodeOf(of)), own.text)
			c := newConversion(n, nodeOf(of), own)
			require.Empty(t, append(append(c.misfits, c.added...), c.dropped...))
			got := n.shapeOf()
			require.Equal(t, own.gaps, got.gaps, own.text)
			require.Equal(t, own.textFields, got.textFields)
		}
	}
}

func TestShapeTextIsRefused(t *testing.T) {
	for _, text := range []string{
		"", "{", "}", "{A@0 int32:4", "{A@0 int32:5}", "{A@0 int32}", "{A@0 int32:4;B@4 bool:1}", "{A@0 int32:4; B@3 bool:1}", "{A@x bool:1}",
		"{A@0 bool:1; A@1 bool:1}", "{@0 bool:1}", "uintptr:8", "chan:8", "[2]", "[-1]bool:1", "[99999999]bool:1", "[60000]handle", "handles", "bool:1 ",
		"string:3", "slice:16", "int:2", "{A@70000 bool:1}", strings.Repeat("[1]", 99) + "bool:1", strings.Repeat("{A@0 ", 40) + "bool:1" + strings.Repeat("}", 40),
	} {
		require.ErrorIs(t, must.Fail(parseShape(text, 0)), errShape, text)
	}
	require.ErrorIs(t, must.Fail(parseShape("{A@0 int32:4}", 3)), errShape, "smaller than its fields")
	require.ErrorIs(t, must.Fail(parseShape("{A@0 int32:4}", maxForeignBytes+1)), errShape)
}

// FuzzParseShape converts zeros of any type that parses to types of its own.
func FuzzParseShape(f *testing.F) {
	all := []reflect.Type{reflect.TypeFor[oddTypes](), reflect.TypeFor[fuzzed](), reflect.TypeFor[Volume](), reflect.TypeFor[int64](), reflect.TypeFor[[4]int16]()}
	for _, of := range all {
		f.Add(shapeText(of), uint16(0))
		f.Add(shapeText(of), uint16(of.Size()))
	}
	f.Fuzz(func(t *testing.T, text string, size uint16) {
		n, err := parseShape(text, uintptr(size))
		if err != nil {
			require.ErrorIs(t, err, errShape)
			return
		}
		from := n.shapeOf()
		file := values{make([]byte, 64*from.size), make([]string, 64*len(from.textFields))}
		for _, of := range all {
			c := newConversion(n, nodeOf(of), newShape(of))
			if len(c.misfits) > 0 {
				continue
			}
			to := values{make([]byte, 64*of.Size()), make([]string, 64*len(c.to.textFields))}
			source := columnSource{shape: from, conversion: c}
			require.NoError(t, source.convertTo(to, file, 1<<64-1, func(int) unsafe.Pointer { return nil }))
			for _, b := range to.bytes {
				require.Zero(t, b)
			}
		}
	})
}

// A type that refers to other memory is refused, even in a blank field. An empty array has no references.
func TestReferencesAreRefused(t *testing.T) {
	for _, of := range []reflect.Type{
		reflect.TypeFor[*int](), reflect.TypeFor[[]int](), reflect.TypeFor[map[int]int](), reflect.TypeFor[any](), reflect.TypeFor[func()](),
		reflect.TypeFor[chan int](), reflect.TypeFor[unsafe.Pointer](), reflect.TypeFor[uintptr](), reflect.TypeFor[struct{ _ *int }](),
	} {
		require.ErrorContains(t, must.Fail(layoutOf(of)), "refers to other memory", of)
	}
	must.Get(layoutOf(reflect.TypeFor[struct{ _ [0]*int }]()))
}

// A tag that was meant to name former fields, and does not, is an error: an image would lose the
// field's values.
func TestFormerNamesAreChecked(t *testing.T) {
	type renamed struct {
		Gold int32 `Was:"Coins"`
	}
	w := must.Get(New(Config{HalfExtent: Vec3{X: 1, Y: 1, Z: 1}}))
	_, err := Register[struct{ Purses [2]renamed }](w, "purse")
	require.ErrorContains(t, err, `.Purses[0].Gold: tag `)
	require.ErrorContains(t, err, `the key "Was" is not read: want was`)
	for tag, want := range map[reflect.StructTag]string{
		`was:Coins`:           `want was:"..."`, // go vet rejects it in source
		`was:"Coins, Pieces"`: "separated by commas",
		`was:""`:              "separated by commas",
		`was:"A" was:"B"`:     "twice",
	} {
		require.ErrorContains(t, must.Fail(layoutOf(reflect.StructOf([]reflect.StructField{{Name: "Gold", Type: reflect.TypeFor[int32](), Tag: tag}}))), want)
	}
}

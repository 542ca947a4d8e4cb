package cstruct

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/replication/schema"
)

const text = `worldd schema 2
component mixed-bag
Flags[0] bool
Flags[1] bool
Flags[2] bool
Wide uint 64
Aim.Turn quat 9
Near ref
Slots[0].N enum 5
Label string 5
Data bytes 6
kind ice-cream
input raw
command go
event never
`

// Members lie without padding: the largest first, the number of bytes among the integers.
func TestOf(t *testing.T) {
	s, err := schema.Parse(text)
	require.NoError(t, err)
	of := Of(s.Components()[0].Fields, s.Components()[0].TextFields)
	require.Equal(t, Struct{Size: 56, Members: []Member{
		{Path: "Flags", Type: Bool, Count: 3, IsArray: true, Offset: 40},
		{Path: "Wide", Type: Uint64, Count: 1, Offset: 0},
		{Path: "Aim.Turn", Type: Quaternion, Count: 4, Offset: 16},
		{Path: "Near", Type: Handle, Count: 1, Offset: 8},
		{Path: "Slots[0].N", Type: Uint32, Count: 1, Offset: 32},
		{Path: "Label", Type: Text, Count: 6, Offset: 43},
		{Path: "Data", Type: Bytes, Count: 6, Offset: 49, LengthAt: 36},
	}}, of)
	require.Equal(t, "Flags[2]", of.Members[0].ElementPath(2))
	require.Equal(t, 3, of.Find("Near"))
	require.Equal(t, -1, of.Find("near"))
	require.Equal(t, 8, Of(nil, nil).Size, "C has no empty structs")
}

func TestHeader(t *testing.T) {
	s, err := schema.Parse(text)
	require.NoError(t, err)
	header, err := Header(s, "ice", "worldd schema --lang c")
	require.NoError(t, err)
	require.Contains(t, header, `
/* Component mixed-bag. */
typedef struct ice_mixed_bag {
    uint64_t Wide;
    wd_handle Near;
    float Aim_Turn[4];
    uint32_t Slots_0__N;
    uint32_t Data_size;
    uint8_t Flags[3];
    char Label[6];
    uint8_t Data[6];
    uint8_t reserved_[1];
} ice_mixed_bag;
typedef char ice_mixed_bag_size_[sizeof(ice_mixed_bag) == 56 ? 1 : -1];

enum {
    ICE_MIXED_BAG_FIELD_FLAGS = 0,
`)
	require.Contains(t, header, "    \"component mixed-bag\\n\"\n")
	require.Contains(t, header, "\nenum {\n    ICE_KIND_ICE_CREAM = 0,\n};\n")
	odd, err := schema.Parse("worldd schema 2\ncomponent a\nsmall bool\ninput raw\n")
	require.NoError(t, err)
	_, err = Header(odd, "odd", "")
	require.ErrorContains(t, err, "small")
}

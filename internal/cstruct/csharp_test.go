package cstruct

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/replication/schema"
)

// C# has the structs of C: client/c/engines compiles them and compares each offset.
func TestCSharp(t *testing.T) {
	s, err := schema.Parse(text)
	require.NoError(t, err)
	file, err := CSharp(s, "ice", "ice schema --lang cs")
	require.NoError(t, err)
	require.Contains(t, file, "namespace IceSchema\n")
	require.Contains(t, file, "\n            \"component mixed-bag\\n\" +\n")
	require.Contains(t, file, `
    /// <summary>Component mixed-bag.</summary>
    [StructLayout(LayoutKind.Sequential, Pack = 1, Size = 56)]
    public struct MixedBag
    {
        public ulong Wide;
        public ulong Near;
        public Floats4 AimTurn;
        public uint Slots0N;
        public uint DataSize;
        public Bools3 Flags;
        public Text6 Label;
        public Bytes6 Data;
    }

    public static class MixedBagFields
    {
        public const uint Flags = 0;
`)
	require.Contains(t, file, "        public float X;\n        public float Y;\n        public float Z;\n        public float W;\n")
	odd, err := schema.Parse("worldd schema 2\ncomponent a\nsmall bool\ninput raw\n")
	require.NoError(t, err)
	_, err = CSharp(odd, "odd", "")
	require.ErrorContains(t, err, "small")
}

// Names that C# cannot have twice, or that its runtime has, are changed.
func TestCSharpNames(t *testing.T) {
	s, err := schema.Parse(`worldd schema 2
component array
Array uint 8
GetType uint 8
A.B uint 8
AB uint 8
component 2nd
Text string 3
component Protocol
component protocol
input raw
`)
	require.NoError(t, err)
	file, err := CSharp(s, "4x<é>", "")
	require.NoError(t, err)
	for _, line := range []string{
		"namespace _4xSchema\n", "struct Array_2\n", "uint Array;\n", "uint GetType_;\n", "uint AB;\n", "uint AB_;\n", "struct _2nd\n", "Text4 Text;\n",
		"struct Protocol_2\n", "struct Protocol_3\n",
	} {
		require.Contains(t, file, line)
	}
}

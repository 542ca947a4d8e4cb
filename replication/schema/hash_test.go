package schema

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// 0 asks for the text, so no schema has that hash.
func TestNoHashIsZero(t *testing.T) {
	const zero = "\xd5\x6b\xb9\x53\x42\x87\x08\x36"
	require.Zero(t, fnv(zero))
	require.Equal(t, uint64(1), hashOf(zero))
}

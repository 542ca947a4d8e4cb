package scenes

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/scenes/messages"
	"github.com/worldd/worldd/world"
)

// TestNamesAndCauses: avatars have names, pokes break what emitters make, and both die with
// their cause.
func TestNamesAndCauses(t *testing.T) {
	s := build(t, "storm")
	avatar := must.Get(s.Join())
	crate := s.World.Slots().Handle(0)
	require.True(t, s.Rename(avatar, strings.Repeat("x", messages.MaxNameText)))
	require.False(t, s.Rename(avatar, strings.Repeat("x", messages.MaxNameText+1)))
	require.False(t, s.Rename(crate, "crate"))
	require.Equal(t, strings.Repeat("x", messages.MaxNameText), s.names.Get(avatar).Text)
	require.Nil(t, s.names.Get(crate))
	var spark world.Entity
	for spark == 0 {
		s.World.Step()
		for e := range s.World.Spawned() {
			if kind, _ := s.World.KindOf(e); kind == s.kinds["spark"] {
				spark = e
			}
		}
	}
	require.False(t, s.Break(avatar))
	require.False(t, s.Break(crate))
	require.True(t, s.Break(spark))
	require.False(t, s.Break(spark), "it is dying")
	require.True(t, s.Leave(avatar))
	s.World.Step()
	causes := map[bulk.Handle]uint8{}
	for h, cause := range s.World.Destroyed() {
		causes[h] = cause
	}
	require.Equal(t, messages.CauseLeft, causes[avatar])
	require.Equal(t, messages.CauseBroken, causes[spark])
}

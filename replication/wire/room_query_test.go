package wire_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
)

func TestRoomQuery(t *testing.T) {
	q := must.Get(wire.ParseRoomQuery("match?mode=ranked&map=a=b?"))
	require.Equal(t, wire.RoomQuery{Kind: "match", Attributes: map[string]string{"mode": "ranked", "map": "a=b?"}}, q)
	require.Equal(t, "match?map=a=b?&mode=ranked", q.String(), "keys in order")
	require.True(t, q.Matches(map[string]string{"map": "a=b?", "mode": "ranked", "more": "x"}))
	require.False(t, q.Matches(map[string]string{"mode": "ranked"}))
	all := must.Get(wire.ParseRoomQuery("match?"))
	require.Equal(t, "match", all.Kind)
	require.True(t, all.Matches(nil))
	require.False(t, wire.IsRoomQuery("match/17"))
	require.True(t, wire.IsRoomQuery("match?"))
}

func TestRoomQueryLimits(t *testing.T) {
	many := func(n int) string {
		var items []string
		for i := range n {
			items = append(items, fmt.Sprintf("k%d=v", i))
		}
		return strings.Join(items, "&")
	}
	long := strings.Repeat("v", wire.MaxAttributeValue)
	for _, good := range []string{
		"", many(wire.MaxAttributeCount), strings.Repeat("k", wire.MaxAttributeKey) + "=" + long, "a-b_9=grüße, welt",
	} {
		attributes := must.Get(wire.ParseAttributes(good))
		require.NoError(t, wire.CheckAttributes(attributes))
		require.Equal(t, attributes, must.Get(wire.ParseAttributes(wire.AttributesText(attributes))))
	}
	for _, bad := range []string{
		"&", "a", "a=", "=b", "A=b", "a=b&a=c", "a=b&", "ä=b", "a b=c", "a=\n", "a=\u0085", "a=\xff", many(wire.MaxAttributeCount + 1),
		strings.Repeat("k", wire.MaxAttributeKey+1) + "=v", "k=" + long + "v", "a=" + long + "&b=" + long + "&c=" + long + "&d=" + long,
	} {
		_, err := wire.ParseAttributes(bad)
		require.Equal(t, wire.BadMessage, wire.CodeOf(err), "%q", bad)
	}
	require.ErrorContains(t, must.Fail(wire.ParseRoomQuery(strings.Repeat("k", wire.MaxRoomQuery)+"?")), "at most 256")
}

// Queries and lists of rooms are read as rooms.jsonl says, which foreign clients read.
func TestRoomVectors(t *testing.T) {
	text := must.Get(os.ReadFile("testdata/vectors/rooms.jsonl"))
	valid, invalid := 0, 0
	for line := range bytes.Lines(text) {
		var c struct {
			Query      *string
			Kind       *string
			Attributes map[string]string
			Rooms      string
			Infos      *[]wire.RoomInfo
		}
		require.NoError(t, json.Unmarshal(line, &c))
		if c.Query != nil {
			q, err := wire.ParseRoomQuery(*c.Query)
			if len(*c.Query) <= wire.MaxRoomQuery { // Append takes no longer ones
				_, sent := wire.Parse[wire.ListRooms](wire.ListRooms{Query: *c.Query}.Append(nil))
				require.Equal(t, err == nil, sent == nil, "%s", line)
			}
			if c.Kind == nil {
				require.Equal(t, wire.BadMessage, wire.CodeOf(err), "%s", line)
				invalid++
				continue
			}
			require.NoError(t, err, "%s", line)
			require.Equal(t, *c.Kind, q.Kind)
			require.Equal(t, wire.AttributesText(c.Attributes), wire.AttributesText(q.Attributes))
			valid++
			continue
		}
		list := wire.RoomList{Rooms: c.Rooms}
		infos, err := list.Infos()
		_, received := wire.Parse[wire.RoomList](list.Append(nil))
		require.Equal(t, err == nil, received == nil)
		if c.Infos == nil {
			require.Equal(t, wire.BadMessage, wire.CodeOf(err), "%s", line)
			invalid++
			continue
		}
		require.NoError(t, err, "%s", line)
		require.Len(t, infos, len(*c.Infos))
		var again []byte
		for i, info := range *c.Infos {
			require.Equal(t, info.Name, infos[i].Name)
			again = info.AppendLine(again)
		}
		require.Equal(t, c.Rooms, string(again))
		valid++
	}
	require.Equal(t, []int{12, 36}, []int{valid, invalid})
	require.ErrorContains(t, must.Fail(wire.Parse[wire.RoomList](wire.RoomList{More: 1}.Append(nil))), "more to come")
}

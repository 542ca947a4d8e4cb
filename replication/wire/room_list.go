package wire

import (
	"strconv"
	"strings"
)

// ListRooms is a client's request for a list of rooms, before Hello or after it.
type ListRooms struct {
	Query string // a RoomQuery; its kind may be empty
	After string // the rooms with names above this one
}

// RoomList is the server's answer to a ListRooms: PROTOCOL.md, section 4.4.
type RoomList struct {
	Rooms string // a line for each room, by name: see RoomInfo.AppendLine
	More  uint8  // 1: there are more rooms after these
}

var (
	listRoomsElements = []element{text("query", MaxRoomQuery), text("after", MaxRoom)}
	roomListElements  = []element{text("rooms", MaxRoomList), number("more", 1)}
)

func (ListRooms) messageType() byte { return TypeListRooms }

// Append appends the body.
func (m ListRooms) Append(b []byte) []byte { return appendBody(b, &m, listRoomsElements) }

func (m *ListRooms) parse(body []byte) error {
	if err := decodeBody(body, m, listRoomsElements, exactly); err != nil {
		return err
	}
	_, err := ParseRoomQuery(m.Query)
	return err
}

func (RoomList) messageType() byte { return TypeRoomList }

// Append appends the body.
func (m RoomList) Append(b []byte) []byte { return appendBody(b, &m, roomListElements) }

func (m *RoomList) parse(body []byte) error {
	if err := decodeBody(body, m, roomListElements, exactly); err != nil {
		return err
	}
	infos, err := m.Infos()
	if err == nil && len(infos) == 0 && m.More == 1 {
		return bad("a list without rooms, and more to come")
	}
	return err
}

// RoomInfo describes a room in a list.
type RoomInfo struct {
	Name       string
	Players    int // sessions, away ones included
	Free       int // places that nobody has or has reserved
	Attributes map[string]string
}

// AppendLine appends the line of a room: NAME PLAYERS FREE KEY=VALUE&KEY=VALUE and a line feed.
func (i RoomInfo) AppendLine(b []byte) []byte {
	b = append(append(b, i.Name...), ' ')
	b = append(strconv.AppendInt(b, int64(i.Players), 10), ' ')
	b = append(strconv.AppendInt(b, int64(i.Free), 10), ' ')
	return append(append(b, AttributesText(i.Attributes)...), '\n')
}

// Infos returns the rooms of the list.
func (m *RoomList) Infos() (all []RoomInfo, err error) {
	last := ""
	for line := range strings.Lines(m.Rooms) {
		line, whole := strings.CutSuffix(line, "\n")
		parts := strings.SplitN(line, " ", 4)
		if !whole || len(parts) != 4 {
			return nil, bad("line %d of a list of rooms has another form", len(all)+1)
		}
		info := RoomInfo{Name: parts[0]}
		if info.Name <= last || len(info.Name) > MaxRoom || strings.ContainsFunc(info.Name, isNotInName) {
			return nil, bad("room %.80q in a list after %q", info.Name, last)
		}
		players, free := parseCount(parts[1]), parseCount(parts[2])
		if players < 0 || free < 0 {
			return nil, bad("room %q in a list with %.20q players and %.20q places", info.Name, parts[1], parts[2])
		}
		info.Players, info.Free = players, free
		if info.Attributes, err = ParseAttributes(parts[3]); err != nil {
			return nil, err
		}
		all, last = append(all, info), info.Name
	}
	return all, nil
}

func isNotInName(r rune) bool { return r <= ' ' || r > '~' }

// parseCount parses a decimal number without leading zeros, or returns -1.
func parseCount(text string) int {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || strconv.FormatUint(n, 10) != text {
		return -1
	}
	return int(n)
}

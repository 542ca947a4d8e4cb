package nodefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"

	"github.com/worldd/worldd/server/cluster"
)

const (
	headerStart = "worldd node "
	version     = 1
	maxBytes    = 64 << 10
	lines       = 3
)

var (
	errDamaged = errors.New("it is damaged")
	errNewer   = errors.New("a newer version wrote it")
	errForeign = errors.New("another program wrote it")
)

// content is the content of a file.
type content struct {
	Node  string `json:"node"`
	Place string `json:"place,omitempty"` // where the incarnations were written (N2)
	cluster.Past
}

func (c content) text() []byte {
	body, err := json.Marshal(c)
	if err != nil {
		panic(err) // strings
	}
	text := fmt.Appendf(nil, "%s%d\n%s\n", headerStart, version, body)
	return fmt.Appendf(text, "%08x\n", checksum(text))
}

func checksum(text []byte) uint32 {
	return crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli))
}

// parse reads a file's text. A power loss may have left a part of it, or zeros.
func parse(text []byte) (c content, err error) {
	header, _, whole := strings.Cut(string(text), "\n")
	number, ours := strings.CutPrefix(header, headerStart)
	switch {
	case len(bytes.Trim(text, "\x00")) == 0 || !whole && strings.HasPrefix(headerStart, header):
		return c, errDamaged
	case !ours:
		return c, errForeign
	}
	found, err := strconv.Atoi(number)
	switch {
	case err != nil || !whole:
		return c, errDamaged
	case found > version:
		return c, errNewer
	}
	all := bytes.SplitAfter(text, []byte("\n"))
	if len(all) != lines+1 || len(all[lines]) > 0 {
		return c, errDamaged
	}
	signed := text[:len(all[0])+len(all[1])]
	if string(all[2]) != fmt.Sprintf("%08x\n", checksum(signed)) || json.Unmarshal(all[1], &c) != nil {
		return content{}, errDamaged
	}
	return c, nil
}

package conformance

// The plan of rows and the tables, for the decoder of CODEC.md: sections 2 and 7.

import (
	"fmt"
	"strings"
)

type (
	codecUnit struct {
		kind   string
		fields []pageField
		index  int
		radix  int
	}
	codecPart struct {
		units                    []codecUnit
		shape                    string
		position, rotation, flag int
		groups                   [][2]int
	}
	codingSet struct {
		position  [4][4][5][3][4]int64
		rotation  [4][4][5][3]int64
		scale     [8][4][5][12]int64
		residuals [8][32][]byte
	}
	codingTables struct {
		*probe
		sets       []*codingSet
		ofShape    map[string]*codingSet
		zoneBounds map[string][3]int64
		heads      map[string][48][]byte
	}
	quaternion [4]int64
	vector     [3]int64
	prediction struct { // what is known and predicted of one component
		attached, zone, speed, context, largest int
		feature                                 [12]int64
		own, followed, mismatch, expected       vector
		facing                                  quaternion
		moves                                   int64
		onward, before                          quaternion
		anchor                                  *[3][]uint32 // the past's anchor, if it applies to this component
	}
)

// codecParts derives units, shapes and groups from the schema, section 2.
func codecParts(schema []pageComponent, owned bool) (parts []codecPart) {
	return (*probe)(nil).parts(schema, owned)
}

func (m *probe) parts(schema []pageComponent, owned bool) (parts []codecPart) {
	index := 0
	for _, c := range schema {
		p := codecPart{position: -1, rotation: -1, flag: -1}
		for j := 0; j < len(c.fields); {
			f := c.fields[j]
			if f.owner && !owned && !m.is("every receiver gets owner fields") {
				index += f.values
				j++
				continue
			}
			u := m.unitAt(c, j, p.position < 0)
			u.index = index
			switch {
			case u.kind == "p":
				p.position = len(p.units)
			case f.kind == "bool" && (p.flag < 0 || m.is("the flag is the last bool")) && (u.kind == "b" || m.is("an always bool is the flag")):
				p.flag = index
			case f.kind == "quat" && (p.rotation < 0 || m.is("the rotation is the last one")) && (u.kind == "q" || m.is("an always rotation is the rotation")):
				p.rotation = len(p.units)
			}
			kind := u.kind
			if f.linear && strings.Contains("pqvn", kind) {
				kind = strings.ToUpper(kind)
			}
			if kind != "a" || !m.is("always units have no letter") {
				p.shape += kind
			}
			for range u.fields {
				index += f.values
				j++
			}
			p.units = append(p.units, u)
		}
		p.groups = m.groups(p.units)
		parts = append(parts, p)
	}
	return parts
}

// unitAt returns the unit that begins with field j of a component.
func (m *probe) unitAt(c pageComponent, j int, mayBePosition bool) codecUnit {
	all := c.fields
	f := all[j]
	u := codecUnit{fields: all[j : j+1], radix: 2}
	stem, isArray := strings.CutSuffix(f.path, "[0]")
	vector := isArray && (f.kind == "range" || f.kind == "angle" && m.is("a vector may be of angles")) && j+2 < len(all) && all[j+2].path == stem+"[2]" &&
		(j+3 == len(all) || all[j+3].path != stem+"[3]" || m.is("X[3] does not matter"))
	switch {
	case f.always && !(vector && m.is("an always vector is a vector")):
		u.kind, u.radix = "a", 1
	case f.kind == "bool":
		u.kind = "b"
	case f.kind == "quat":
		u.kind, u.radix = "q", 5
	case vector:
		u.kind, u.fields = "v", all[j:j+3]
		if (f.linear || m.is("a position need not be linear")) && mayBePosition &&
			(c.parent == "" || c.parent == f.path || m.is("the position is the first linear vector")) {
			u.kind, u.radix = "p", 5
		}
	case f.largest > 0 && f.kind != "float" && f.n > int(m.or("numbers of 4 bits are numbers", 3, 4)) && f.n <= 32 &&
		!(f.n == 5 && m.is("numbers of 5 bits are plain")):
		u.kind = "n"
	default:
		u.kind = "f"
	}
	return u
}

// groups divides units into groups.
func (m *probe) groups(units []codecUnit) (groups [][2]int) {
	first, product := 0, 1
	most := int(m.or("groups are below 128", 127, m.or("groups are at most 256", 256, 128)))
	for j, u := range units {
		if product*u.radix > most {
			groups = append(groups, [2]int{first, j})
			first, product = j, 1
		}
		product *= u.radix
	}
	if product > 1 || m.is("a group with product 1 has a symbol") {
		groups = append(groups, [2]int{first, len(units)})
	}
	return groups
}

// readTables reads a file of tables, section 7.
func readTables(b []byte) codingTables { return (*probe)(nil).readTables(b) }

func (m *probe) readTables(b []byte) (t codingTables) {
	s := pageDecoder{b: b, bit: 8 * len("worldd tables 4\n")}
	lengths := func(n int) (all []byte) {
		for range n {
			all = append(all, byte(s.read(8)))
		}
		return all
	}
	shape := func() string { return string(lengths(int(s.read(8)))) }
	t.probe, t.ofShape = m, map[string]*codingSet{}
	for range s.uvarint("sets") {
		var names []string
		for range s.uvarint("shapes") {
			names = append(names, shape())
		}
		set := s.codingSet(lengths)
		t.sets = append(t.sets, set)
		for _, name := range names {
			if t.ofShape[name] == nil || m.is("the last set that names a shape counts") {
				t.ofShape[name] = set
			}
		}
	}
	t.zoneBounds, t.heads = map[string][3]int64{}, map[string][48][]byte{}
	for range s.uvarint("zone bounds") {
		name := shape()
		bounds := [3]int64{int64(s.read(8)), int64(s.uvarint("bound")), int64(s.uvarint("bound"))}
		if _, ok := t.zoneBounds[name]; !ok || m.is("the last zone bounds of a shape count") {
			t.zoneBounds[name] = bounds
		}
	}
	for range s.uvarint("heads") {
		name, group, symbols := shape(), int(s.read(8)), int(s.read(8))
		var h [48][]byte
		for i := range h {
			h[i] = lengths(symbols)
		}
		key := fmt.Sprint(name, group, " ", symbols)
		if m.is("heads of other sizes count") {
			key = fmt.Sprint(name, group)
		}
		if _, ok := t.heads[key]; !ok || m.is("the last head of a group counts") {
			t.heads[key] = h
		}
	}
	s.expectEnd()
	return t
}

// codingSet reads the weights and codes of a set.
func (s *pageDecoder) codingSet(lengths func(int) []byte) *codingSet {
	set := &codingSet{}
	number := func() int64 {
		u, shift := uint64(0), 0
		for {
			c := s.read(8)
			u |= c & 0x7f << shift
			shift += 7
			if c < 0x80 {
				return int64(u>>1) ^ -int64(u&1)
			}
		}
	}
	for i := range 4 * 4 * 5 {
		for axis := range 3 {
			for w := range 4 {
				set.position[i/20][i/5%4][i%5][axis][w] = number()
			}
		}
		for w := range 3 {
			set.rotation[i/20][i/5%4][i%5][w] = number()
		}
	}
	for i := range 8 * 4 * 5 {
		for w := range 12 {
			set.scale[i/20][i/5%4][i%5][w] = number()
		}
	}
	for i := range 8 * 32 {
		set.residuals[i/32][i%32] = lengths(43)
	}
	return set
}

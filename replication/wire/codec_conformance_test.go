package wire_test

// An independent decoder of coded rows, written from CODEC.md alone. It takes the
// tables from their file and the schema from its text, and must read everything that
// package rowcodec writes.

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowtest"
	rowschema "github.com/worldd/worldd/replication/schema"
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
		own, mismatch, expected                 vector
		facing                                  quaternion
	}
)

// codecParts derives units, shapes and groups from the schema, section 2.
func codecParts(schema []pageComponent, owned bool) (parts []codecPart) {
	index := 0
	for _, c := range schema {
		all := c.fields
		p := codecPart{position: -1, rotation: -1, flag: -1}
		for j := 0; j < len(all); {
			f := all[j]
			if f.owner && !owned {
				index += f.values
				j++
				continue
			}
			u := codecUnit{fields: all[j : j+1], index: index, radix: 2}
			stem, isArray := strings.CutSuffix(f.path, "[0]")
			vector := isArray && f.kind == "range" && !f.always && j+2 < len(all) && all[j+2].path == stem+"[2]" && (j+3 == len(all) || all[j+3].path != stem+"[3]")
			switch {
			case f.always:
				u.kind, u.radix = "a", 1
			case f.kind == "bool":
				u.kind = "b"
				if p.flag < 0 {
					p.flag = index
				}
			case f.kind == "quat":
				u.kind, u.radix = "q", 5
				if p.rotation < 0 {
					p.rotation = len(p.units)
				}
			case vector:
				u.kind, u.fields = "v", all[j:j+3]
				if f.linear && p.position < 0 && (c.parent == "" || c.parent == f.path) {
					u.kind, u.radix, p.position = "p", 5, len(p.units)
				}
			case f.largest > 0 && f.kind != "float" && f.n > 4 && f.n <= 32:
				u.kind = "n"
			default:
				u.kind = "f"
			}
			kind := u.kind
			if f.linear && strings.Contains("pqvn", kind) {
				kind = strings.ToUpper(kind)
			}
			p.shape += kind
			for range u.fields {
				index += f.values
				j++
			}
			p.units = append(p.units, u)
		}
		first, product := 0, 1
		for j, u := range p.units {
			if product*u.radix > 128 {
				p.groups = append(p.groups, [2]int{first, j})
				first, product = j, 1
			}
			product *= u.radix
		}
		if product > 1 {
			p.groups = append(p.groups, [2]int{first, len(p.units)})
		}
		parts = append(parts, p)
	}
	return parts
}

// readTables reads a file of tables, section 7.
func readTables(b []byte) (t codingTables) {
	s := pageDecoder{b: b, bit: 8 * len("worldd tables 4\n")}
	number := func() int64 {
		u, shift := uint64(0), 0
		for {
			c := s.read(8)
			u |= c & 0x7f << shift
			if shift += 7; c < 0x80 {
				return int64(u>>1) ^ -int64(u&1)
			}
		}
	}
	lengths := func(n int) (all []byte) {
		for range n {
			all = append(all, byte(s.read(8)))
		}
		return all
	}
	shape := func() string { return string(lengths(int(s.read(8)))) }
	t.ofShape = map[string]*codingSet{}
	for range s.uvarint("sets") {
		set := &codingSet{}
		t.sets = append(t.sets, set)
		for range s.uvarint("shapes") {
			if name := shape(); t.ofShape[name] == nil {
				t.ofShape[name] = set
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
	}
	t.zoneBounds, t.heads = map[string][3]int64{}, map[string][48][]byte{}
	for range s.uvarint("zone bounds") {
		name := shape()
		t.zoneBounds[name] = [3]int64{int64(s.read(8)), int64(s.uvarint("bound")), int64(s.uvarint("bound"))}
	}
	for range s.uvarint("heads") {
		name, group, symbols := shape(), int(s.read(8)), int(s.read(8))
		var h [48][]byte
		for i := range h {
			h[i] = lengths(symbols)
		}
		t.heads[name+strconv.Itoa(group)] = h
	}
	s.expectEnd()
	return t
}

// symbol reads one symbol of a canonical code.
func (s *pageDecoder) symbol(lengths []byte) int {
	code, first := 0, 0
	for n := byte(1); n <= 12; n++ {
		code = code<<1 | int(s.read(1))
		first <<= 1
		for symbol, length := range lengths {
			if length == n {
				if code == first {
					return symbol
				}
				first++
			}
		}
	}
	s.fail("no symbol")
	return 0
}

func mag(v int64) int64 {
	u := min(v+1, 1<<40)
	n := int64(bits.Len64(uint64(u))) - 1
	return 4*n + (u-1<<n)*4/(1<<n)
}

func stepOf(v int64, bounds ...int64) (n int) {
	for _, b := range bounds {
		if b <= v {
			n++
		}
	}
	return n
}

func abs(v int64) int64 { return max(v, -v) }

func (v vector) size() int64     { return abs(v[0]) + abs(v[1]) + abs(v[2]) }
func (q quaternion) size() int64 { return abs(q[0]) + abs(q[1]) + abs(q[2]) + abs(q[3]) }
func (q quaternion) less(p quaternion) quaternion {
	return quaternion{q[0] - p[0], q[1] - p[1], q[2] - p[2], q[3] - p[3]}
}
func (q quaternion) negated() quaternion { return quaternion{-q[0], -q[1], -q[2], -q[3]} }
func (q quaternion) conj() quaternion    { return quaternion{-q[0], -q[1], -q[2], q[3]} }

func (q quaternion) near(p quaternion) quaternion {
	if q[0]*p[0]+q[1]*p[1]+q[2]*p[2]+q[3]*p[3] < 0 {
		return q.negated()
	}
	return q
}

func root(v int64) int64 {
	if v <= 0 {
		return 0
	}
	n := int64(math.Sqrt(float64(v)))
	for n*n > v {
		n--
	}
	for (n+1)*(n+1) <= v {
		n++
	}
	return n
}

func (q quaternion) product(p quaternion) quaternion {
	w := q[3]*p[3] - q[0]*p[0] - q[1]*p[1] - q[2]*p[2]
	x := q[3]*p[0] + q[0]*p[3] + q[1]*p[2] - q[2]*p[1]
	y := q[3]*p[1] - q[0]*p[2] + q[1]*p[3] + q[2]*p[0]
	z := q[3]*p[2] + q[0]*p[1] - q[1]*p[0] + q[2]*p[3]
	const half = 1 << 13
	return quaternion{(x + half) >> 14, (y + half) >> 14, (z + half) >> 14, (w + half) >> 14}
}

func (q quaternion) unit(p quaternion) quaternion {
	length := root(q[0]*q[0] + q[1]*q[1] + q[2]*q[2] + q[3]*q[3])
	if length == 0 {
		return p
	}
	for i := range q {
		q[i] = (q[i]*(1<<38/length) + 1<<23) >> 24
	}
	return q
}

func (q quaternion) power(r int64) quaternion {
	if q[3] < 0 {
		q = q.negated()
	}
	i := (1 << 28) / max(q[3], 2048)
	t := vector{q[0] * i >> 14, q[1] * i >> 14, q[2] * i >> 14}
	s := min(t[0]*t[0]>>14+t[1]*t[1]>>14+t[2]*t[2]>>14, 1<<14)
	k := 1<<14 - s*5461>>14 + (s*s>>14)*3276>>14
	k = min(k*r>>16, 1<<17)
	a := min(((s*k>>14)*k)>>14, 1<<14)
	k = k * (1<<14 + a*5461>>14 + (a*a>>14)*2184>>14) >> 14
	return quaternion{t[0] * k >> 14, t[1] * k >> 14, t[2] * k >> 14, 1 << 14}.unit(quaternion{3: 1 << 14})
}

func (q quaternion) turn(v vector) (out vector) {
	x, y, z, w := q[0], q[1], q[2], q[3]
	const o, h = 1 << 14, 13
	for i, row := range [3]vector{
		{o - (y*y+z*z)>>h, (x*y - z*w) >> h, (x*z + y*w) >> h},
		{(x*y + z*w) >> h, o - (x*x+z*z)>>h, (y*z - x*w) >> h},
		{(x*z - y*w) >> h, (y*z + x*w) >> h, o - (x*x+y*y)>>h},
	} {
		out[i] = (row[0]*v[0] + row[1]*v[1] + row[2]*v[2]) >> 6
	}
	return out
}

func unpacked(packed uint32, largestNumber int64) (q quaternion) {
	n := bits.Len64(uint64(largestNumber))
	rest := int64(1 << 28)
	for i, v := 0, packed>>2; i < 4; i++ {
		if i != int(packed&3) {
			q[i] = (2*(int64(v)&largestNumber) - largestNumber) * 11585 / largestNumber
			rest -= q[i] * q[i]
			v >>= n
		}
	}
	q[packed&3] = root(rest)
	return q
}

// pagePast is a row's past, section 3.
type pagePast struct {
	base, older []uint32
	r           int64
	anchor      *[3][]uint32 // now, base, older
	anchored    int          // the component that it is for
}

func at(values []uint32, i int) vector {
	return vector{int64(values[i]), int64(values[i+1]), int64(values[i+2])}
}

func minus(a, b vector) vector { return vector{a[0] - b[0], a[1] - b[1], a[2] - b[2]} }

// of returns the set that codes a shape.
func (t *codingTables) of(shape string) *codingSet {
	if set := t.ofShape[shape]; set != nil {
		return set
	}
	return t.sets[0]
}

// predict predicts component i, section 5.
func (t *codingTables) predict(i int, p *codecPart, past *pagePast) (f prediction) {
	f.attached, f.zone = 3, 3
	f.feature[0] = 16
	var moves int64
	identity := quaternion{3: 1 << 14}
	onward, before := identity, identity
	a := past.anchor
	if past.anchored != i {
		a = nil
	}
	if a != nil && p.rotation >= 0 {
		u := p.units[p.rotation]
		most := int64(1)<<u.fields[0].n - 1
		now, base := unpacked(a[0][u.index], most), unpacked(a[1][u.index], most)
		onward = now.product(base.conj())
		if a[2] != nil {
			before = base.product(unpacked(a[2][u.index], most).conj())
		}
	}
	if p.position >= 0 {
		u := p.units[p.position]
		B := at(past.base, u.index)
		var followed vector
		if past.older != nil {
			for i, d := range minus(B, at(past.older, u.index)) {
				f.own[i] = d * past.r >> 8
			}
		}
		size := f.own.size()
		if a != nil {
			arm := onward.turn(minus(B, at(a[1], u.index)))
			for i, d := range minus(at(a[0], u.index), B) {
				followed[i] = d*256 + arm[i]
			}
			if past.older != nil {
				arm = before.turn(minus(at(past.older, u.index), at(a[2], u.index)))
				for i, d := range minus(B, at(a[1], u.index)) {
					f.mismatch[i] = (d*256 - arm[i]) * past.r >> 16
				}
				switch m := f.mismatch.size(); {
				case m < size*15/100+768:
					f.attached = 0
				case m < size*40/100+1536:
					f.attached = 1
				case m < size*80/100:
					f.attached = 2
				}
			}
			f.feature[2] = mag(f.mismatch.size() >> 8)
			f.feature[6] = mag(minus(followed, f.own).size() >> 8)
		}
		f.feature[1] = mag(size >> 8)
		if g, ok := t.zoneBounds[p.shape]; ok {
			f.zone = stepOf(B[g[0]], g[1], g[2])
			f.feature[10] = mag(max(B[g[0]]-g[1], 0))
		}
		f.speed = stepOf(size>>8, 8, 40, 160, 500)
		for i, w := range t.of(p.shape).position[f.zone][f.attached][f.speed] {
			v := B[i] + (f.own[i]*w[0]+followed[i]*w[1]+f.mismatch[i]*w[2]+w[3]*2048+1<<15)>>16
			f.expected[i] = min(max(v, 0), int64(u.fields[0].largest))
		}
		moves = size >> 8
	}
	margin := 3
	if p.rotation >= 0 {
		u := p.units[p.rotation]
		most := int64(1)<<u.fields[0].n - 1
		q := unpacked(past.base[u.index], most)
		f.facing = q
		var turns int64
		if u.fields[0].linear {
			var turn, ride, twist quaternion
			o := q
			if past.older != nil && past.older[u.index] != past.base[u.index] {
				o = unpacked(past.older[u.index], most)
				turn = q.product(o.conj()).power(past.r).product(q).near(q).less(q)
			}
			if a != nil {
				ride = onward.product(q).near(q).less(q)
				if past.older != nil {
					for i, d := range q.less(before.product(o).near(q)) {
						twist[i] = d * past.r >> 16
					}
				}
				f.feature[9] = mag(twist.size() >> 3)
				f.feature[11] = mag(turn.less(ride).size() >> 3)
			}
			turns = turn.size()
			w := t.of(p.shape).rotation[f.zone][f.attached][stepOf(turns, 100, 500, 2000, 5000)]
			for i := range f.facing {
				f.facing[i] += (turn[i]*w[0] + ride[i]*w[1] + twist[i]*w[2] + 128) >> 8
			}
			f.facing = f.facing.unit(q)
		}
		f.feature[4] = mag(turns >> 3)
		moves += turns >> 4
		var sizes []int64
		for i, v := range f.facing {
			if sizes = append(sizes, abs(v)); abs(v) > abs(f.facing[f.largest]) {
				f.largest = i
			}
		}
		slices.Sort(sizes)
		margin = stepOf(sizes[3]-sizes[2], 100, 400, 1600)
	}
	if moves > 0 {
		margin += 4 * (1 + stepOf(moves-1, 2, 8, 32, 128))
	}
	f.context = 2 * margin
	if p.flag >= 0 {
		f.context += int(past.base[p.flag])
	}
	return f
}

// codedRow reads a row, section 6.
func (s *pageDecoder) codedRow(t *codingTables, parts []codecPart, mask uint32, past *pagePast, out []uint32) {
	clear(out)
	copy(out, past.base)
	for i := range parts {
		if mask>>i&1 == 0 {
			continue
		}
		p := &parts[i]
		f := t.predict(i, p, past)
		digits := make([]int, len(p.units))
		for g, span := range p.groups {
			symbols := 1
			for _, u := range p.units[span[0]:span[1]] {
				symbols *= u.radix
			}
			head := t.heads[p.shape+strconv.Itoa(g)][f.context]
			if head == nil {
				head = []byte{1}
				k := 1 << (bits.Len(uint(symbols-1)) - 1)
				for n := range symbols - 1 {
					length := byte(bits.Len(uint(k)))
					if n >= symbols-1-2*(symbols-1-k) {
						length++
					}
					head = append(head, length)
				}
			}
			symbol := s.symbol(head)
			for j := span[1] - 1; j >= span[0]; j-- {
				digits[j] = symbol % p.units[j].radix
				symbol /= p.units[j].radix
			}
		}
		var missed, missedTurn int64
		residual := func(lane int, expected, largest int64, n, negative int) uint32 {
			sum := int64(128)
			for i, w := range t.of(p.shape).scale[lane][f.attached][f.speed] {
				sum += w * f.feature[i]
			}
			symbol := s.symbol(t.of(p.shape).residuals[lane][min(max(sum>>8, 0), 31)])
			var d int64
			switch {
			case symbol == 42:
				v := int64(s.read(n))
				if v > largest {
					s.fail("%d above %d", v, largest)
				}
				d = v - expected
				if 2*d > largest+1 {
					d -= largest + 1
				} else if 2*d <= -(largest + 1) {
					d += largest + 1
				}
			case symbol >= 8:
				k := (symbol-8)/2 + 2
				d = int64(2+(symbol-8)%2)<<k + int64(s.read(k))
			default:
				d = int64(symbol)
			}
			switch {
			case symbol == 42:
			case lane < 2:
				if negative == 1 {
					d = -1 - d
				}
			case d != 0 && s.read(1) == 1:
				d = -d
			}
			if 2*abs(d) > largest+1 {
				s.fail("%d in a ring of %d", d, largest+1)
			}
			if lane >= 3 && lane <= 5 {
				missedTurn += abs(d)
				f.feature[5] = mag(missedTurn)
			} else {
				missed += abs(d)
				f.feature[3] = mag(missed)
			}
			return uint32((expected + d + largest + 1) % (largest + 1))
		}
		for j, u := range p.units {
			if digits[j] == 0 && u.kind != "a" {
				continue
			}
			one := u.fields[0]
			switch u.kind {
			case "b":
				out[u.index] = 1 - out[u.index]
			case "p":
				for axis := range 3 {
					f.feature[7], f.feature[8] = mag(abs(f.own[axis])>>8), mag(abs(f.mismatch[axis])>>8)
					negative := (digits[j] - 1) >> axis & 1
					out[u.index+axis] = residual(axis, f.expected[axis], int64(one.largest), one.n, negative)
				}
			case "q":
				most := int64(1)<<one.n - 1
				e, q := f.largest, f.facing
				if j != p.rotation {
					e, q = int(past.base[u.index]&3), unpacked(past.base[u.index], most)
				}
				largest := (e + digits[j] - 1) & 3
				if q[largest] < 0 {
					q = q.negated()
				}
				packed, lane := uint32(largest), 3
				for n, v := range q {
					if n == largest {
						continue
					}
					expected := min(max((v*most+(most+1)*11585)/23170, 0), most)
					packed |= residual(lane, expected, most, one.n, 0) << (2 + (lane-3)*one.n)
					lane++
				}
				out[u.index] = packed
			case "v", "n":
				for n, fd := range u.fields {
					ring := int64(fd.largest) + 1
					expected, lane := int64(past.base[u.index+n]), 7
					var move int64
					if past.older != nil {
						d := expected - int64(past.older[u.index+n])
						if 2*d > ring {
							d -= ring
						} else if 2*d <= -ring {
							d += ring
						}
						move = d * past.r >> 16
					}
					if fd.linear {
						lane = 6
						if expected += move; fd.kind == "range" {
							expected = min(max(expected, 0), ring-1)
						} else {
							expected = (expected%ring + ring) % ring
						}
					}
					f.feature[1] = mag(abs(move))
					out[u.index+n] = residual(lane, expected, ring-1, fd.n, 0)
				}
			default:
				s.full(pageComponent{}, one, out[u.index:u.index+one.values])
			}
		}
	}
}

func TestCodecConformance(t *testing.T) {
	tables := readTables(rowcodec.DefaultTables().Bytes())
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 9))
		s := rowtest.RandomSchema(r)
		c := rowcodec.New(s, rowcodec.DefaultTables())
		rows, carriers := rowtest.States(s, r, 3), rowtest.States(s, r, 3)
		parts := codecParts(parseSchemaText(t, s.Text()), rows[2].Owned)
		past := rowtest.RandomPast(c, r, rows, carriers)
		if past == nil {
			continue // in full, like an Enter
		}
		known := &pagePast{base: past.Base, older: past.Older}
		if past.Older != nil {
			known.r = min(int64(past.Age)<<16/int64(past.Gap), 32<<16)
		}
		if past.Anchor != nil {
			known.anchor = &[3][]uint32{carriers[2].Values, carriers[1].Values, past.Older}
		}
		var w bitio.Writer
		c.Append(&w, rows[2], past)
		decoder := &pageDecoder{b: w.Bytes()}
		out := make([]uint32, s.Values())
		func() {
			defer func() {
				if err := recover(); err != nil {
					require.Fail(t, "page and package differ", "seed %d: %v\n%s", seed, err, s.Text())
				}
			}()
			decoder.codedRow(&tables, parts, rows[2].Mask, known, out)
			decoder.expectEnd()
		}()
		require.Equal(t, rows[2].Values, out, "seed %d: %s", seed, s.Text())
	}
}

func TestCodecConformanceShapes(t *testing.T) {
	s := rowschema.New()
	require.NoError(t, rowschema.Add[rowtest.Everything](s, "everything"))
	parts := codecParts(parseSchemaText(t, s.Text()), true)
	require.Equal(t, "PQfqvNnNNffnbbffa", parts[0].shape)
	require.Equal(t, [][2]int{{0, 3}, {3, 8}, {8, 15}, {15, 17}}, parts[0].groups)
}

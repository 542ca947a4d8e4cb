package conformance

// The notation and the rotations of CODEC.md: its introduction and section 4.

import (
	"math"
	"math/bits"
)

func (m *probe) mag(v int64) int64 {
	u := min(v+m.or("mag of v instead of v + 1", 0, 1), m.or(unboundedMag, 1<<62, 1<<40))
	if u <= 0 {
		return 0
	}
	n := int64(bits.Len64(uint64(u))) - 1
	if m.is("mag has no fraction") {
		return 4 * n
	}
	return 4*n + (u-1<<n)*4/(1<<n)
}

func (m *probe) step(v int64, bounds ...int64) (n int) {
	for _, b := range bounds {
		if b < v || b == v && !m.is("step counts bounds below v") {
			n++
		}
	}
	return n
}

// short is the short way from a to b, among ring numbers.
func (m *probe) short(a, b, ring int64) int64 {
	d := b - a
	switch {
	case m.is("the way is not the short one"):
	case 2*d == ring && m.is("half a ring is negative"):
		d -= ring
	case 2*d > ring:
		d -= ring
	case 2*d <= -ring && !(2*d == -ring && m.is("half a ring has the sign of b - a")):
		d += ring
	}
	return d
}

// shift is v >> n.
func (m *probe) shift(v int64, n int) int64 {
	if m.is(">> rounds towards zero") {
		return v / (1 << n)
	}
	return v >> n
}

// quotient is a / b.
func (m *probe) quotient(a, b int64) int64 {
	if a < 0 && a%b != 0 && m.is("/ rounds down") {
		return a/b - 1
	}
	return a / b
}

func abs(v int64) int64 { return max(v, -v) }

func minus(a, b vector) vector { return vector{a[0] - b[0], a[1] - b[1], a[2] - b[2]} }

// size is |v|.
func (m *probe) size(v ...int64) (sum int64) {
	for _, c := range v {
		sum += abs(c)
		if m.is("|v| is the largest component") {
			sum = max(sum-abs(c), abs(c))
		}
	}
	return sum
}

func (q quaternion) less(p quaternion) quaternion {
	return quaternion{q[0] - p[0], q[1] - p[1], q[2] - p[2], q[3] - p[3]}
}
func (q quaternion) negated() quaternion { return quaternion{-q[0], -q[1], -q[2], -q[3]} }
func (q quaternion) conj() quaternion    { return quaternion{-q[0], -q[1], -q[2], q[3]} }

func (m *probe) near(q, p quaternion) quaternion {
	dot := q[0]*p[0] + q[1]*p[1] + q[2]*p[2] + q[3]*p[3]
	if dot < 0 && !m.is("near keeps q") || dot == 0 && m.is("near negates q at a right angle") {
		return q.negated()
	}
	return q
}

func (m *probe) root(v int64) int64 {
	if v <= 0 {
		if v < 0 && m.is("isqrt of the absolute value") {
			return m.root(-v)
		}
		return 0
	}
	n := int64(math.Sqrt(float64(v)))
	for n*n > v {
		n--
	}
	for (n+1)*(n+1) <= v {
		n++
	}
	if m.is("isqrt rounds to nearest") && v-n*n > n {
		n++
	}
	return n
}

func (m *probe) product(q, p quaternion) quaternion {
	if m.is("product is p·q") {
		q, p = p, q
	}
	w := q[3]*p[3] - q[0]*p[0] - q[1]*p[1] - q[2]*p[2]
	x := q[3]*p[0] + q[0]*p[3] + q[1]*p[2] - q[2]*p[1]
	y := q[3]*p[1] - q[0]*p[2] + q[1]*p[3] + q[2]*p[0]
	z := q[3]*p[2] + q[0]*p[1] - q[1]*p[0] + q[2]*p[3]
	half := m.or("product is not rounded", 0, 1<<13)
	return quaternion{(x + half) >> 14, (y + half) >> 14, (z + half) >> 14, (w + half) >> 14}
}

func (m *probe) unit(q, p quaternion) quaternion {
	length := m.root(q[0]*q[0] + q[1]*q[1] + q[2]*q[2] + q[3]*q[3])
	if length == 0 {
		m.cover("unit of 0")
		if m.is("unit of 0 is 0") {
			return q
		}
		return p
	}
	for i := range q {
		q[i] = (q[i]*(1<<38/length) + m.or("unit is not rounded", 0, 1<<23)) >> 24
	}
	return q
}

func (m *probe) power(q quaternion, r int64) quaternion {
	if q[3] < 0 && !m.is("power of a negative w") {
		q = q.negated()
	}
	w := max(q[3], m.or("power: w is at least 1", 1, 2048))
	if w != q[3] {
		m.cover("power: w below 2048")
	}
	i := (1 << 28) / w
	t := vector{q[0] * i >> 14, q[1] * i >> 14, q[2] * i >> 14}
	s := min(t[0]*t[0]>>14+t[1]*t[1]>>14+t[2]*t[2]>>14, m.or("power: s is not bounded", 1<<20, 1<<14))
	if m.is("power: s is rounded once") {
		s = min((t[0]*t[0]+t[1]*t[1]+t[2]*t[2])>>14, 1<<14)
	}
	k := 1<<14 - s*m.or("power: 5461 is 5462", 5462, 5461)>>14 + (s*s>>14)*m.or("power: 3276 is 3277", 3277, 3276)>>14
	k = min(k*r>>16, m.or("power: k is not bounded", 1<<40, 1<<17))
	a := min(((s*k>>14)*k)>>14, m.or("power: a is not bounded", 1<<20, 1<<14))
	k = k * (1<<14 + a*5461>>14 + (a*a>>14)*m.or("power: 2184 is 2185", 2185, 2184)>>14) >> 14
	return m.unit(quaternion{t[0] * k >> 14, t[1] * k >> 14, t[2] * k >> 14, 1 << 14}, quaternion{3: 1 << 14})
}

// turn applies q to v.
func (m *probe) turn(q quaternion, v vector) (out vector) {
	if m.is("the matrix is transposed") {
		q = q.conj()
	}
	x, y, z, w := q[0], q[1], q[2], q[3]
	const o, h = 1 << 14, 13
	rows := [3]vector{
		{o - (y*y+z*z)>>h, (x*y - z*w) >> h, (x*z + y*w) >> h},
		{(x*y + z*w) >> h, o - (x*x+z*z)>>h, (y*z - x*w) >> h},
		{(x*z - y*w) >> h, (y*z + x*w) >> h, o - (x*x+y*y)>>h},
	}
	if m.is("the matrix is rounded before 2^14") {
		rows[0][0], rows[1][1], rows[2][2] = (o<<h-y*y-z*z)>>h, (o<<h-x*x-z*z)>>h, (o<<h-x*x-y*y)>>h
	}
	for i, row := range rows {
		out[i] = m.shift(m.mul(row[0], v[0])+m.mul(row[1], v[1])+m.mul(row[2], v[2]), 6)
	}
	return out
}

// unpacked unpacks the value of a quat with components of n bits.
func (m *probe) unpacked(packed uint32, n int) (q quaternion) {
	most := int64(1)<<n - 1
	rest := int64(1 << 28)
	for i, v := 0, packed>>2; i < 4; i++ {
		if i != int(packed&3) {
			q[i] = m.quotient((2*(int64(v)&most)-most)*11585, most)
			rest -= q[i] * q[i]
			v >>= n
		}
	}
	if rest < 0 {
		m.cover("a quat without a largest component")
	}
	q[packed&3] = m.root(rest)
	return q
}

//go:build amd64 && !purego

package field

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/cpu"
	"github.com/worldd/worldd/internal/must"
)

// codeOf returns the handlers of bound code by number.
func codeOf(b *bound) (code []handler) {
	for _, in := range b.code {
		for h, address := range handlersOf(b.kernels) {
			if address == in.handler && h > 0 {
				code = append(code, handler(h))
				break
			}
		}
	}
	return code
}

// bindBare is bind without superinstructions. It returns nil if the code needs too many
// planes.
func bindBare(p *Program, k cpu.Kernels, withOrigin bool) *bound {
	b, _ := bindFused(newFuser(p, &bound{kernels: k}, withOrigin))
	return b
}

// codeFor returns the handlers that bind chooses.
func codeFor(t *testing.T, p *Program, k cpu.Kernels, withOrigin bool) []handler {
	t.Helper()
	b := must.Get(bind(p, k, withOrigin))
	return codeOf(b)
}

// TestFusions: the important patterns are found on both paths, with and without an
// origin.
func TestFusions(t *testing.T) {
	for name, c := range map[string]struct {
		text                      string
		withoutOrigin, withOrigin []handler // for vectors in planes; accumulator variants follow
	}{
		"explosion": {
			text:          explosionAt("2,4,0"),
			withoutOrigin: []handler{handlerBeginXYZ, handlerOutExplosion, handlerEndXYZ},
		},
		"explosion at the origin": {
			text:          "q = dot position, position\nd = normalize position\nd = mul d, 50\nd = select_lt q, 25, d, 0\noutput = add output, d",
			withoutOrigin: []handler{handlerBeginXYZ, handlerOutExplosion, handlerEndXYZ},
			withOrigin:    []handler{handlerBeginXYZ, handlerOutExplosion, handlerEndXYZ},
		},
		"wind with a falloff": {
			text:          "d = sub position, (2,4,1)\nq = dot d, d\ns = nmad q, 0.04, 1\ns = saturate s\noutput = mad (2,3,4), s, output",
			withoutOrigin: []handler{handlerBeginXYZ, handlerDistanceSquare, handlerSaturateNmad, handlerOutMadPT, handlerEndXYZ},
		},
		"whirl round an axis": {
			text: "d = sub position, (2,4,1)\nh = dot d, (0.5,0.6,0.7)\nd = nmad (0.5,0.6,0.7), h, d\nr = length d\ns = nmad r, 0.2, 1\ns = smooth s\n" +
				"c = cross (0.5,0.6,0.7), d\noutput = mad c, s, output",
			withoutOrigin: []handler{handlerBeginXYZ, handlerCylinderV, handlerSqrtP, handlerSmoothNmad, handlerOutCrossV, handlerEndXYZ},
		},
		"whirl round the vertical": {
			text: "d = sub position, (2,0,1)\nd = mul d, (1,0,1)\nr = length d\ns = mad r, -0.2, 1\ns = smooth s\nw = mad r, 0.3, time\nw = sin w\n" +
				"s = mul s, w\nd = normalize d\nd = cross (0,1,0), d\nd = mul d, s\nd = mul d, 7\noutput = add output, d",
			withoutOrigin: []handler{handlerBeginXZ, handlerOffsetRootsXZ, handlerSinMad, handlerSmoothMad + 1, handlerMulMulPPC, handlerOutMadXNmadZ, handlerEndXZ},
		},
		"effects that have coordinates in common": {
			text:          explosionAt("2,4,1") + explosionAt("2,0,1") + "d = sub position, (2,0,0)\nd = mul d, (1,0,1)\nq = dot d, d\nq = select_lt q, 9, 3, 0\noutput.y = add output.y, q\n",
			withoutOrigin: []handler{handlerBeginXYZ, handlerOutExplosion, handlerOutExplosion, handlerDistanceSquareXZ, handlerSelectLTPCCC, handlerOutAddYP, handlerEndXYZ},
		},
	} {
		p := must.Get(Compile(c.text))
		for _, k := range kernelsHere() {
			for _, variant := range []struct {
				withOrigin bool
				want       []handler
			}{{false, c.withoutOrigin}, {true, c.withOrigin}} {
				if variant.want == nil {
					continue
				}
				got := codeFor(t, p, k, variant.withOrigin)
				if h := got[0]; h >= handlerPrefetchX && h <= handlerPrefetchXYZ {
					got = got[1:]
				}
				require.Len(t, got, len(variant.want), "%s, %v: %v", name, k, got)
				for i, h := range variant.want {
					accumulator := h == handlerCylinderV || h == handlerOutCrossV || h == handlerSmoothMad
					require.True(t, got[i] == h || accumulator && k == cpu.AVX512 && got[i] == h+1,
						"%s, %v, instruction %d: %d, not %d", name, k, i, got[i], h)
				}
			}
		}
	}
}

func explosionAt(centre string) string {
	return "d = sub position, (" + centre + ")\nq = dot d, d\nd = normalize d\nd = mul d, 50\nd = select_lt q, 25, d, 0\noutput = add output, d\n"
}

// TestFusedParameters: parameters reach a superinstruction's constants, including
// copied ones.
func TestFusedParameters(t *testing.T) {
	p := must.Get(Compile("param strength = 3\nparam centre = (9,9,9)\nparam near = 2\n" +
		"d = sub position, centre\nq = dot d, d\nd = normalize d\nd = mul d, strength\nd = select_lt q, near, d, 0\noutput = add output, d"))
	env := Env{Params: []Vec4{{7}, {1, 2, 3}, {90}}}
	points, start := newFenced(rand.New(rand.NewPCG(1, 2)), 70), newFenced(rand.New(rand.NewPCG(3, 4)), 70)
	want := runOn(p.with(cpu.Go), points, start.clone(), env, false)
	for _, k := range kernelsHere() {
		require.Contains(t, codeFor(t, p, k, false), handlerOutExplosion)
		got := runOn(p.with(k), points, start.clone(), env, false)
		for lane := range want.memory {
			require.NoError(t, firstDifference(want.memory[lane], got.memory[lane]), "%v, lane %d", k, lane)
		}
	}
}

// TestFusedSameBits: superinstructions change no bit (F1).
func TestFusedSameBits(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 31))
		p := must.Get(Compile(randomText(r, 1+r.IntN(20))))
		for _, k := range kernelsHere() {
			q := p.with(k)
			bare := *q
			bare.withoutOrigin, bare.withOrigin = bindBare(p, k, false), bindBare(p, k, true)
			if q.withoutOrigin == nil || bare.withoutOrigin == nil || bare.withOrigin == nil {
				continue
			}
			bare.measure()
			if bare.Scratch() > MaxScratch {
				continue
			}
			points, start := newFenced(r, 64), newFenced(r, 64)
			env := Env{Time: 2, Origin: [3]float32{float32(seed % 2), 0, 3}}
			want, got := runOn(&bare, points, start.clone(), env, false), runOn(q, points, start.clone(), env, false)
			for lane := range want.memory {
				require.NoError(t, firstDifference(want.memory[lane], got.memory[lane]), "seed %d, %v, lane %d", seed, k, lane)
			}
		}
	}
}

// TestFusionsThatWait: a vector with a lane computed from another of its lanes cannot
// be fused; such a program is bound without superinstructions.
func TestFusionsThatWait(t *testing.T) {
	const x, y, z, s = 0, 1, 2, 3
	out := func(lane, v uint8) instruction {
		return instruction{op: opMad, to: planeOutput + lane, operands: [4]uint8{v, s, planeOutput + lane}}
	}
	p := (&Program{code: []instruction{
		{op: opSqrt, to: s, operands: [4]uint8{planePosition}},
		{op: opMul, to: x, operands: [4]uint8{planePosition, s}},
		{op: opMul, to: y, operands: [4]uint8{planePosition + 1, s}},
		{op: opAbs, to: z, operands: [4]uint8{x}},
		{op: opMul, to: z, operands: [4]uint8{z, s}},
		out(0, x), out(1, y), out(2, z),
		{op: opEnd},
	}})
	require.NoError(t, p.verify())
	p.seal()
	for _, k := range kernelsHere() {
		f := newFuser(p, &bound{kernels: k}, false)
		f.fuse()
		require.ErrorIs(t, must.Fail(bindFused(f)), errCycle)
		require.NotContains(t, codeFor(t, p, k, false), handlerScaleVV)
	}
	requirePaths(t, p, rand.New(rand.NewPCG(6, 6)), 100)
}

// TestRootOfCoordinate: the superinstruction for the distance from a vertical line also
// gives the coordinates. A coordinate's root must not be taken for the distance.
func TestRootOfCoordinate(t *testing.T) {
	for _, text := range []string{
		"output.y += axis_distance(position) * sqrt(position.x)",
		"output.y += axis_distance(position) * sqrt(position.z)",
		"output += around(position) * sqrt(position.x)",
	} {
		p := must.Get(Compile(text))
		requirePaths(t, p, rand.New(rand.NewPCG(8, 8)), 100)
	}
}

// TestTooLarge: a program that exceeds the scratch limit is not bound, and Interpreted
// reports it.
func TestTooLarge(t *testing.T) {
	p := &Program{}
	for i := range MaxLiterals {
		p.literals = append(p.literals, float32(i)+1.5)
	}
	for r := range uint8(MaxRegisters - 1) {
		p.code = append(p.code, instruction{op: opLoad, to: 31, uniform: uniformParams + uint16(r)},
			instruction{op: opMul, to: r, operands: [4]uint8{planePosition, 31}})
	}
	for i := range uint16(400) {
		p.code = append(p.code, instruction{op: opLoad, to: 31, uniform: uniformParams + i},
			instruction{op: opMul, to: 0, operands: [4]uint8{0, 31}})
	}
	for r := range uint8(MaxRegisters - 1) {
		p.code = append(p.code, instruction{op: opAdd, to: planeOutput, operands: [4]uint8{planeOutput, r}})
	}
	p.code = append(p.code, instruction{op: opEnd})
	require.NoError(t, p.verify())
	p.seal()
	for _, k := range kernelsOfBuild {
		require.ErrorContains(t, p.with(k).Interpreted(), "scratch, more than 2560")
	}
	require.LessOrEqual(t, p.Scratch(), MaxScratch)
	e := explainer{program: p}
	e.kernels()
	require.Regexp(t, "avx2: interpreted: planes and constants take [0-9]+ float32s of scratch, more than 2560\navx512: interpreted: ", e.b.String())
	requirePaths(t, p, rand.New(rand.NewPCG(7, 7)), 100)
}

// BenchmarkPaths measures a point's cost on each path, with and without
// superinstructions and origin. BenchmarkExplosion and BenchmarkSixteen compare with
// Go, internal/bench/field with C.
func BenchmarkPaths(b *testing.B) {
	for _, name := range []string{"explosion", "whirl", "random2"} {
		p := golden(b, name)
		for _, k := range kernelsHere() {
			bare := *p
			bare.withoutOrigin, bare.withOrigin = bindBare(p, k, false), bindBare(p, k, true)
			bare.measure()
			for _, c := range []struct {
				name    string
				program *Program
				origin  float32
			}{{"fused", p.with(k), 0}, {"withOrigin", p.with(k), 1}, {"bare", &bare, 0}} {
				for _, n := range []int{1_000, 20_000} {
					b.Run(fmt.Sprintf("%s/%v/%s/%d", name, k, c.name, n), func(b *testing.B) { overPath(b, c.program, c.origin, n) })
				}
			}
		}
	}
}

func overPath(b *testing.B, p *Program, origin float32, n int) {
	r := rand.New(rand.NewPCG(1, 1))
	points, out := Planes{}, Planes{X: make([]float32, n), Y: make([]float32, n), Z: make([]float32, n)}
	for range n {
		points.X, points.Y, points.Z = append(points.X, r.Float32()*16-8), append(points.Y, r.Float32()*16-8), append(points.Z, r.Float32()*16-8)
	}
	scratch := make([]float32, MaxScratch)
	for b.Loop() {
		_ = p.Evaluate(points, out, Env{Origin: [3]float32{origin}}, scratch)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/point")
}
